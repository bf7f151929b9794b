"""Tasks that run at the same time, and the channels by which they talk; with the meaning that they have in Go.

Line by line a task is a thread of Python, which lets others run while kernels work and while it waits. In a program it is a
block that the run starts on a thread of its own, without Python.
"""

from __future__ import annotations

from . import _core
from ._fault import fault
from ._tree import REGISTERED, flatten, is_tensor, rebuild
from ._vmap import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ._core import Tensor


class Channel:
    """Where tasks send values and receive them; `fl.make_channel` makes one."""

    def __init__(self, value: Tensor) -> None:
        self._fl_channel = value

    def send(self, value: Any) -> None:
        """Sends a value: waits until there is room for it, or until it is received.

        Values cannot be changed by others, so nothing is copied. A value that gradients pass is refused: messages carry none.

        Args:
            value: What the channel was made for.
        """
        _core.channel_send(self._fl_channel, _message(self._fl_channel, value))

    def recv(self) -> tuple[Tensor, Tensor]:
        """Receives a value, and waits until there is one.

        Returns:
            The value, and whether there was one: once the channel is closed and empty, it is zeros and false.
        """
        return _core.channel_recv(self._fl_channel)

    def close(self) -> None:
        """Says that nothing more is sent. What is in the channel can still be received."""
        _core.channel_close(self._fl_channel)

    def __iter__(self) -> Iterator[Tensor]:
        if _core.is_building():
            raise fault(
                TypeError,
                "a loop over a channel stands where the function that builds the program is not converted",
                "put the loop into the function itself, or into one that it calls",
            )
        while True:
            value, ok = self.recv()
            if not ok.item():
                return
            yield value

    def __repr__(self) -> str:
        return f"<fl.Channel {self._fl_channel.type_text}>"


REGISTERED[Channel] = (
    lambda channel: [("value", channel._fl_channel)],
    lambda _, parts: Channel(parts[0]),
)


def make_channel(type: Any = "f32[]", capacity: int = 0) -> Channel:
    """Makes a channel.

    Args:
        type: The type of its messages, such as "f32[n, 3]". Sizes that are names may differ from message to message.
        capacity: How many values it holds that nobody has received yet. With 0, a sender waits until its value is received.

    Example:
        >>> ch = fl.make_channel("f32[]", capacity=2)
        >>> ch.send(1.0)
        >>> ch.close()
        >>> [x.item() for x in ch]
        [1.0]
    """
    listen()
    if not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 0:
        raise fault(ValueError, f"a channel cannot hold {capacity!r} values", "give a number of 0 or more")
    return Channel(_core.make_channel(type, capacity))


def timeout(seconds: float) -> Channel:
    """A channel on which the number of seconds comes after that time, for `fl.channel_select`.

    Args:
        seconds: How long it takes.

    Example:
        >>> ch = fl.make_channel("f32[]")
        >>> fl.channel_select((fl.channel_recv, ch), (fl.channel_recv, fl.timeout(0.01)))[0]
        1
    """
    listen()
    after = seconds if is_tensor(seconds) else _core.tensor(float(seconds), "float64")
    return Channel(_core.channel_timer(_core.cast(after, "float64")))


def channel_send(channel: Channel, value: Any, is_copy: bool = False) -> None:
    """`channel.send(value)`, as Fluid calls it; also a word for what a case of `fl.channel_select` does.

    Args:
        channel: The channel.
        value: The value.
        is_copy: Changes nothing: what was sent stays what it was for the sender, too.
    """
    _of(channel)
    channel.send(value)


def channel_recv(channel: Channel) -> tuple[Tensor, Tensor]:
    """`channel.recv()`, as Fluid calls it; also a word for what a case of `fl.channel_select` does.

    Args:
        channel: The channel.
    """
    _of(channel)
    return channel.recv()


def channel_close(channel: Channel) -> None:
    """`channel.close()`, as Fluid calls it.

    Args:
        channel: The channel.
    """
    _of(channel)
    channel.close()


def _message(channel: Tensor, value: Any) -> Tensor:
    """A value as a message. Numbers, also those that only the run knows, have the type of the messages, if it holds them."""
    if is_tensor(value) and not value._is_number or not is_tensor(value) and not isinstance(value, (bool, int, float)):
        return value if is_tensor(value) else _core.tensor(value)
    plain, wanted = _core.tensor(value), channel.dtype
    kinds = ("bool", "int", "float", "complex")
    own, its = kinds.index(_kind(plain.dtype)), kinds.index(_kind(wanted))
    if own > its or plain.dtype == wanted:
        return plain
    if not is_tensor(value):
        return _core.tensor(value, wanted)
    # A whole number of the run might not fit into a smaller type.
    return plain if own == its == 1 else _core.cast(plain, wanted)


def _kind(dtype: Any) -> str:
    """Whether numbers of a type are bools, whole, real or complex ones."""
    name = str(dtype).rpartition(".")[2]
    return next((kind for kind in ("bool", "complex", "float") if kind in name), "int")


def _of(channel: Any) -> Tensor:
    if not isinstance(channel, Channel):
        raise fault(TypeError, f"expected a channel, found {type(channel).__name__}", "make one with `fl.make_channel`")
    return channel._fl_channel


def channel_select(*cases: tuple, default: bool = False) -> tuple[Any, Any, Any]:
    """Waits until one of several can be done, and does it: of several that can, any one, at random.

    Args:
        cases: Each is `(fl.channel_send, channel, value)` or `(fl.channel_recv, channel)`.
        default: Whether it goes on, with the number -1, if none can be done at once.

    Returns:
        The number of the case that was done; what it received, as a list by case, None for those that send; and whether there
        was anything, in the same way.

    Example:
        >>> a, b = fl.make_channel("f32[]", capacity=1), fl.make_channel("f32[]")
        >>> fl.channel_select((fl.channel_send, a, 2.0), (fl.channel_recv, b))[0]
        0
        >>> a.recv()[0].item()
        2.0
    """
    listen()
    given: list[tuple[Tensor, Tensor | None]] = []
    for case in cases:
        verb, *rest = case if isinstance(case, tuple) and case else (None,)
        if verb is channel_send and len(rest) == 2:
            channel = _of(rest[0])
            given.append((channel, _message(channel, rest[1])))
        elif verb is channel_recv and len(rest) == 1:
            given.append((_of(rest[0]), None))
        else:
            raise fault(
                TypeError,
                f"{case!r} is not a case of `channel_select`",
                "give (fl.channel_send, channel, value) or (fl.channel_recv, channel)",
            )
    number, received = _core.channel_select(given, default)
    values = [None if each is None else each[0] for each in received]
    flags = [None if each is None else each[1] for each in received]
    return (number if _core.is_building() else int(number.item())), values, flags


class Task:
    """A task that `fl.go` has started."""

    def __init__(self, wait: Callable[[], Any]) -> None:
        self._wait = wait
        self._result: Any = None
        self._is_over = False

    def wait(self) -> Any:
        """Waits until the task has ended, and gives what its function returned. An error of the task is raised here, too."""
        if not self._is_over:
            self._result = self._wait()
            self._is_over = True
        return self._result


def go(function: Callable[..., Any], *args: Any, **options: Any) -> Task:
    """Starts a task: calls a function beside what follows.

    Line by line it is a thread, in a program a block without Python. What the task assigns, such as the parameters of a model
    that it trains, is there for others once it was waited for; in a program, using it before is refused, and so is a task that
    assigns states and that nobody waits for. Its random numbers are its own. Gradients do not pass its results.

    Args:
        function: The function.
        args: What it is called with.
        options: What it is called with by name.

    Example:
        >>> ch = fl.make_channel("f32[]")
        >>> def squares(n):
        ...     for i in range(n):
        ...         ch.send(float(i * i))
        ...     ch.close()
        >>> task = fl.go(squares, 3)
        >>> [x.item() for x in ch]
        [0.0, 1.0, 4.0]
        >>> task.wait()
    """
    if not callable(function):
        raise fault(TypeError, f"`go` takes a function, not {type(function).__name__}")
    if not _core.is_building():
        return _thread(function, args, options)
    _core.begin_task()
    try:
        result = called(function, args, options)
        results: list[Any] = []
        form = flatten(result, results, is_tensor)
    except BaseException:
        _core.abort_block()
        raise
    started = _core.end_task(results)
    return Task(lambda: rebuild(form, started.wait()))


def _thread(function: Callable[..., Any], args: tuple, options: dict[str, Any]) -> Task:
    import threading

    listen()
    task = _core.LineTask()
    outcome: list[Any] = []
    done = _core.make_channel("bool[]", 1)

    def lines() -> None:
        try:
            outcome.append((function(*args, **options), None))
        except BaseException as error:
            outcome.append((None, error))
            raise
        finally:
            if outcome[-1][1] is None:
                _core.channel_send(done, _core.tensor(True))

    def work() -> None:
        try:
            task.run(lines, ())
        except BaseException:
            # Whoever waits for it, or for a channel, is told.
            return

    threading.Thread(target=work, name=f"fl.go {getattr(function, '__name__', function)}", daemon=True).start()

    def wait() -> Any:
        if not outcome:
            try:
                _core.wait_task(done)
            except BaseException:
                if not outcome or outcome[-1][1] is None:
                    raise
        task.settle()
        result, error = outcome[-1]
        if error is not None:
            _told(done)
            raise error
        return result

    return Task(wait)


def _told(done: Tensor) -> None:
    """An error of a task is raised here: those who wait for channels later are not told of it again."""
    try:
        _core.channel_select([(done, None)], True)
    except BaseException:
        return


class Go:
    """`with fl.Go():` starts a task that does what stands in the block, where a program is built.

    Line by line Python runs a block where it stands: give `fl.go` a function instead.

    Example:
        >>> def f(x):
        ...     ch = fl.make_channel("f32[]")
        ...     with fl.Go():
        ...         ch.send(x * 2.0)
        ...     return ch.recv()[0]
        >>> fl.build(f, {"x": "f32[]"}).run(x=fl.tensor(3.0))["out0"].item()
        6.0
    """

    def __enter__(self) -> Go:
        if not _core.is_building():
            raise fault(
                TypeError,
                "line by line a `with` block cannot run beside what follows",
                "put it into a function, and start that with `fl.go(function)`",
            )
        _core.begin_task()
        return self

    def __exit__(self, kind: Any, *exception: object) -> None:
        if kind is not None:
            _core.abort_block()
            return
        self._task = _core.end_task([])

    def wait(self) -> None:
        """Waits until the task has ended."""
        self._task.wait()


_is_listening = False


def listen() -> None:
    """Has deadlocks and tasks that are left told in Python's ways."""
    global _is_listening
    if _is_listening:
        return
    _is_listening = True
    import atexit
    import threading
    import warnings

    _core.count_threads_by(threading.active_count)

    def left(lines: list[str]) -> None:
        shown = "\n  ".join(lines)
        warnings.warn(f"tasks were left waiting when the run ended\n  {shown}", RuntimeWarning, stacklevel=2)

    _core.tell_left_by(left)

    def at_end() -> None:
        import sys

        waiting = _core.tasks_waiting()
        if waiting:
            shown = "\n  ".join(waiting)
            print(f"RuntimeWarning: tasks were left waiting when Python ended\n  {shown}", file=sys.stderr)

    atexit.register(at_end)
