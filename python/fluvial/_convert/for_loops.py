"""The state machines of `for`."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._reader import Iteration
from .._tasks import Channel
from .errors import log
from .lists import rows_of
from .logic import any_of, negated, when
from .loops import LONG, MAX_GUARDED, Loop
from .paths import decided, is_decided, place_of
from .regions import LOCAL, Meta
from .sequences import Messages, sequence_of
from .trees import OPEN_SIZE, Tensor, is_tensor


class For(Loop):
    """`for`: tensors and ranges of the program are loops of it, other iterables are Python's."""

    def __init__(self, meta: Meta, iterable: Any) -> None:
        super().__init__(meta)
        self.sequence: Any = sequence_of(iterable)
        #: What Python's `for` goes through element by element, also through those that the loop adds.
        self.list = iterable if isinstance(iterable, list) else None
        if self.sequence and not self.sequence.plain and is_decided(place_of(meta)):
            self.sequence = self.sequence.decided(lambda value: decided(value, place_of(meta)))
        self.iterator: Any = None if self.sequence else iter(iterable)
        self.plain = self.sequence is None or self.sequence.plain
        self.at = 0
        self.n_guarded = 0
        self.flag: Any = False
        #: The position after a first trip that was unrolled.
        self.base: list[Tensor] | None = None

    def asks(self, *flags: Any) -> None:
        """Finds out whether there is a further trip."""
        if self.tracing and self.obstacle is not None:
            return
        self.flag = any_of(flags)
        if self.tracing:
            self.holds = when(negated(self.flag), self.sequence.more(self.next_hidden()))
        elif self.flag is True:
            self.holds = False
        elif self.sequence is None:
            self.holds = self.advance()
        elif self.plain:
            more = self.at < self.sequence.length
            self.holds = negated(self.flag) if more else False
            if is_tensor(self.holds):
                log(
                    "info",
                    "%s:%d: a loop of the program from trip %d on",
                    self.meta.file,
                    self.meta.line,
                    self.at,
                )
        else:
            length = self.sequence.length
            known = self.at < length if isinstance(length, int) else None
            more = self.sequence.more(self.hidden()) if known is None else known
            self.holds = when(negated(self.flag), more)
            if self.holds is True:
                self.holds = _core.tensor(True)

    def refuse_growth(self) -> None:
        """Refuses a list of the program that the loop changes while it goes through it."""
        columns = rows_of(self.list)
        if columns is None:
            return
        if self.sequence is None or any(slot.owner is self.list or slot.owner is columns for slot, _ in self.touched.values()):
            raise self.fault(
                "the loop goes through a list and changes it, and only the run knows its length",
                "go through a copy, such as `list(rows)`, or collect what is new in another list",
            )

    def close(self, names: dict[str, Any]) -> bool:
        self.refuse_growth()
        return super().close(names)

    def advance(self) -> bool:
        self.refuse_growth()
        if is_tensor(self.flag):
            self.n_guarded += 1
            if self.n_guarded > MAX_GUARDED:
                raise self.fault(
                    f"the loop was unrolled {MAX_GUARDED} times without an end",
                    "go over a `range` or a tensor, so that it becomes a loop of the program",
                )
        try:
            self.current = next(self.iterator)
        except StopIteration:
            return False
        return True

    def item(self) -> Any:
        """The item of this trip."""
        if self.tracing:
            return self.sequence.item(self.position)
        if self.sequence is None:
            return self.current
        self.at += 1
        if not self.plain:
            start = self.sequence.start(0)
            self.base = self.sequence.advance(start)
            return self.sequence.item(start)
        return self.sequence.python_item(self.at - 1)

    def hidden(self) -> list[Tensor]:
        return self.sequence.start(self.at) if self.base is None else self.base

    def peel(self) -> bool:
        return self.at == 0 and self.runs_at_all()

    def take_hidden(self, params: list[Tensor]) -> None:
        self.position = params

    def next_hidden(self) -> list[Tensor]:
        return self.sequence.advance(self.position)

    def is_long(self) -> bool:
        return self.plain and self.sequence is not None and self.sequence.length - self.at > LONG

    def runs_at_all(self) -> bool:
        length = self.sequence.length if self.sequence else 0
        if self.plain or self.at:
            return False
        return (
            repr(length) in LOCAL.sizes if isinstance(length, OPEN_SIZE) else type(length) is int and length > 0
        )

    def n_trips(self) -> int | str | None:
        if self.flag is not False or self.plain or self.at:
            return None
        return self.sequence.length


class ForChannel(For):
    """`for` over a channel, in a program. What was received and whether there was anything are carried: each is asked for
    once."""

    received: list[Tensor] | None = None
    following: list[Tensor] | None = None

    def hidden(self) -> list[Tensor]:
        received = self.received
        if received is None:
            received = self.received = self.sequence.start(0)
        return received

    def take_hidden(self, params: list[Tensor]) -> None:
        super().take_hidden(params)
        self.following = None

    def next_hidden(self) -> list[Tensor]:
        following = self.following
        if following is None:
            following = self.following = self.sequence.advance(self.position)
        return following


class ForReader(Loop):
    """`for` over a reader, in a program: one op, whose body takes what the reader gives."""

    def __init__(self, meta: Meta, iteration: Iteration) -> None:
        super().__init__(meta)
        self.iteration = iteration

    def asks(self, *flags: Any) -> None:
        """Finds out whether to go on after a trip; whether there is a next one, the reader knows."""
        flag = any_of(flags)
        if self.tracing:
            self.holds = negated(flag)
        elif flag is False:
            self.holds = _core.tensor(True)
        else:
            raise self.fault(
                "the loop over a reader stands where it may not be reached",
                "put it into a branch of its own, or return after it",
            )

    def given(self) -> list:
        return self.iteration.begin()

    def take_hidden(self, params: list[Tensor]) -> None:
        self.batch = params

    def item(self) -> Any:
        """What the reader gives in this trip."""
        return self.iteration.reader._given(self.batch)

    def loop_of(self, block: _core.Block) -> list[Tensor]:
        return self.iteration.close(self.carried, block)

    def runs_at_all(self) -> bool:
        return bool(self.iteration.epochs and self.iteration.reader._core.length())


def for_loop(meta: Meta, iterable: Any) -> For | ForReader:
    """The state machine of a `for` over this."""
    if isinstance(iterable, Iteration) and _core.is_building():
        return ForReader(meta, iterable)
    if type(iterable) is Channel and _core.is_building():
        return ForChannel(meta, Messages(iterable))
    return For(meta, iterable)
