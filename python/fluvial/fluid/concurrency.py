"""Tasks and channels as Fluid had them: `Go`, `make_channel`, `channel_send`, `channel_recv`, `channel_close`, `Select`.

A channel of Fluid says nothing of its messages. Here it is made when it is first used: for what is sent, or for what the
variable is that receives.
"""

from __future__ import annotations

from typing import Any

from .. import _core
from .._fault import fault
from .._tasks import listen
from . import unique_name
from .blocks import inner_input
from .core import VarType, dtype_of
from .framework import Block, Variable, default_main_program
from .layers._blocks import Closed, Guard, joined_branches

__all__ = ["Go", "make_channel", "channel_send", "channel_recv", "channel_close", "Select"]


class ChannelVariable(Variable):
    """A channel of a program."""

    capacity = 0
    type: Any
    #: The type of its messages, once it is known.
    message: str | None = None

    def known(self, message: str) -> None:
        """Makes the channel, if this is its first use."""
        home = self.block
        if self.message is not None or home is None:
            return
        self.message = message
        with home.building():
            home._values[self.name] = _core.make_channel(message, self.capacity)


def make_channel(dtype: Any = None, capacity: int = 0) -> ChannelVariable:
    """A channel, by which tasks of a program talk.

    Args:
        dtype: The element type of what is sent, or `VarType.LOD_TENSOR` for any.
        capacity: How many values it holds that nobody has received yet; with 0, a sender waits until its value is received.
    """
    if not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 0:
        raise fault(ValueError, f"a channel cannot hold {capacity!r} values", "give a number of 0 or more")
    listen()
    block = default_main_program().current_block()
    made = ChannelVariable(block, unique_name.generate("channel"))
    made.capacity, made.type = capacity, "channel"
    if dtype not in (None, VarType.LOD_TENSOR):
        made._dtype = dtype_of(dtype)
    block.vars[made.name] = made
    return made


def _channel(channel: Any) -> ChannelVariable:
    if not isinstance(channel, ChannelVariable):
        raise fault(TypeError, f"expected a channel, found {type(channel).__name__}", "make one with `fluid.make_channel`")
    return channel


def _sent(block: Block, channel: Any, value: Variable) -> tuple[Any, Any]:
    """A channel and what is sent on it, as the core has them, in a block that is not being built yet."""
    with block.building():
        tensor = block.value(value)
    asked = _channel(channel)._dtype
    if asked is not None and isinstance(tensor, _core.Tensor) and tensor.dtype.name != str.__str__(asked.value):
        raise fault(
            TypeError,
            f"`{channel.name}` takes {asked.value}, and `{value.name}` has elements {tensor.dtype.name}",
            "write `fluid.layers.cast`, or make the channel with another `dtype`",
        )
    channel.known(tensor.type_text)
    with block.building():
        return block.raw(channel), tensor


def _type_of(out: Variable) -> str:
    """The type of messages that a variable receives; one number, if nothing is said of its sizes."""
    sizes = [str(size) if size >= 0 else f"n{i}" for i, size in enumerate(out._shape or (1,))]
    dtype = "float32" if out._dtype is None else str.__str__(out._dtype.value)
    return f"{_core.full((), 0, dtype).type_text.removesuffix('[]')}[{', '.join(sizes)}]"


def channel_send(channel: ChannelVariable, value: Variable, is_copy: bool = False) -> None:
    """Sends a value, and waits until there is room for it, or until it is received.

    Args:
        channel: The channel.
        value: The value, which stays what it is for the sender.
        is_copy: For Fluid's programs: values cannot be changed by others.
    """
    block = default_main_program().current_block()
    own, tensor = _sent(block, channel, value)
    with block.building():
        _core.channel_send(own, tensor)
    block._version += 1


def channel_recv(channel: ChannelVariable, return_value: Variable) -> tuple[Variable, Variable]:
    """Receives a value.

    Args:
        channel: The channel.
        return_value: The variable that gets it.

    Returns:
        The variable, and whether there was a value: once the channel is closed and empty, it is zeros and false.
    """
    block = default_main_program().current_block()
    with block.building():
        text = _type_of(return_value)
    _channel(channel).known(text)
    with block.building():
        value, ok = _core.channel_recv(block.raw(channel))
        block.write(return_value, value)
        return return_value, block.made(_core.reshape(ok, (1,)), label="status")


def channel_close(channel: ChannelVariable) -> None:
    """Says that nothing more is sent.

    Args:
        channel: The channel.
    """
    block = default_main_program().current_block()
    if _channel(channel).message is None:
        raise fault(RuntimeError, "the channel is closed, and nobody has sent or received anything")
    with block.building():
        _core.channel_close(block.raw(channel))
    block._version += 1


class Go(Guard):
    """A task that does what stands in its block, beside what follows. Variables of outer blocks that it writes have their
    values when somebody reads them, who waits for it, and at the end of the program."""

    def __init__(self) -> None:
        super().__init__(self._start, "Go")

    def _start(self, body: Block) -> None:
        parent = body.parent
        assert parent is not None
        closed = Closed(body)
        with parent.building():
            arguments = closed.arguments(parent)
            _core.begin_task()
            try:
                found = closed.call(arguments, {})
            except BaseException:
                _core.abort_block()
                raise
            task = _core.end_task(found)
        names = [var.name for var in closed.written] + task.states

        def wait() -> None:
            for name in names:
                parent._awaited.pop(name, None)
            with parent.building():
                for var, value in zip(closed.written, task.wait()):
                    parent.write(var, value)

        parent.program._has_tasks = True
        for name in names:
            if name in parent._awaited:
                raise fault(
                    RuntimeError, f"two tasks write `{name}`", "let each task write variables of its own, or use a channel"
                )
            parent._awaited[name] = wait
        parent._version += 1


class _Case(Closed):
    """A block of a case, and what it received."""

    received: Any = None

    def arguments(self, parent: Block) -> dict[str, Any]:
        found = super().arguments(parent)
        if "received" in self.program.inputs:
            found["received"] = self.received
        return found


class Select:
    """Waits until one of its cases can be done, does it, and runs its block."""

    def __init__(self, name: str | None = None) -> None:
        self._cases: list[tuple[Any, Any, Any, _Case]] = []
        self._default: _Case | None = None
        self._inside = False

    def __enter__(self) -> Select:
        self._inside = True
        return self

    def case(self, channel_action_fn: Any, channel: ChannelVariable, value: Variable, is_copy: bool = False) -> Guard:
        """A block that runs if something was sent or received.

        Args:
            channel_action_fn: `fluid.channel_send` or `fluid.channel_recv`.
            channel: The channel.
            value: What is sent, or the variable that receives.
            is_copy: For Fluid's programs.
        """
        if not self._inside:
            raise fault(RuntimeError, "a case stands inside of its select", "write `with Select() as select:` around it")
        if channel_action_fn not in (channel_send, channel_recv):
            raise fault(TypeError, "a case sends or receives", "give `fluid.channel_send` or `fluid.channel_recv`")
        parent = default_main_program().current_block()
        if channel_action_fn is channel_send:
            given = _sent(parent, channel, value)
            return Guard(lambda block: self._cases.append((*given, None, _Case(block))), "Select")
        with parent.building():
            text = _type_of(value)
        _channel(channel).known(text)
        with parent.building():
            own = parent.raw(channel)

        def enter(block: Block) -> None:
            with block.building():
                block.write(value, inner_input("received", own.type_text.removeprefix("chan ").replace("?", "open")))

        return Guard(lambda block: self._cases.append((own, None, value, _Case(block))), "Select", enter)

    def default(self) -> Guard:
        """The block that runs if no case can be done at once."""
        if self._default is not None:
            raise fault(RuntimeError, "a select has one default")

        def leave(block: Block) -> None:
            self._default = _Case(block)

        return Guard(leave, "Select")

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        self._inside = False
        if exception is not None:
            return
        if not self._cases:
            raise fault(RuntimeError, "a select needs a case", "use `with select.case(fluid.channel_recv, ch, x):`")
        parent = default_main_program().current_block()
        with parent.building():
            given = [(channel, value) for channel, value, _, _ in self._cases]
            number, received = _core.channel_select(given, self._default is not None)
            cases: list[tuple[Any, Closed | None]] = []
            for i, ((_, _, _, closed), got) in enumerate(zip(self._cases, received)):
                closed.received = None if got is None else got[0]
                cases.append((_core.eq(number, i), closed))
            if self._default is not None:
                cases.append((None, self._default))
            else:
                cases[-1] = (None, cases[-1][1])
            joined_branches(parent, cases)
        parent._version += 1
