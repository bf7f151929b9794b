"""The state machines of `while` and `for`."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._reader import Iteration
from .._tree import children
from .errors import Mismatch, log
from .logic import any_of, as_condition, negated, when
from .numbers import Number
from .regions import LOCAL, Meta, Region, abort, begin, end
from .sequences import sequence_of
from .unbound import FLAG
from .trees import (
    OPEN_SIZE,
    UNBOUND,
    Tensor,
    copied,
    flatten,
    is_number,
    is_tensor,
    joined,
    keeps,
    rebuild,
    same,
    tensor_of,
)

#: How often a Python loop may go on after it may have been left, before that is an error.
MAX_GUARDED = 2000


class Loop(Region):
    """A loop runs in Python as long as its condition is plain. When it becomes a tensor, the names
    that the loop changes become values that a loop of the program carries."""

    def __init__(self, meta: Meta) -> None:
        super().__init__(meta)
        self.tracing = False
        self.holds: Any = True
        self.trips = 0
        #: Element types of carried leaves, by name and number, where they differ from the entry's.
        self.types: dict[tuple[str, int], Any] = {}

    # What `for` carries besides the names, and what it knows of its trips.
    def hidden(self) -> list[Tensor]:
        return []

    def take_hidden(self, params: list[Tensor]) -> None: ...

    def next_hidden(self) -> list[Tensor]:
        return []

    def given(self) -> list:
        """What the body takes before the carried values: values of these types."""
        return self.start

    def loop_of(self, block: _core.Block) -> list[Tensor]:
        """The loop over the finished body; gives the carried values after it."""
        return _core.while_of(self.first, [*self.start, *self.carried], block)[len(self.start) :]

    def runs_at_all(self) -> bool:
        return False

    def peel(self) -> bool:
        """Makes the first trip one of Python's, if there certainly is one."""
        return False

    def n_trips(self) -> int | str | None:
        return None

    def enter(self, scope: dict, module: dict | None = None) -> bool:
        """Goes on to the next trip; says whether the names have to be taken over."""
        if not self.tracing:
            if not is_tensor(self.holds):
                self.done = not self.holds
                self.trips += not self.done
                if self.done and self.trips > 1 and _core.is_building():
                    place = (self.meta.file, self.meta.line, self.trips)
                    log("info", "%s:%d: the loop is unrolled, %d trips", *place)
                return False
            self.tracing, self.first = True, self.holds
            self.entry = self.read(scope, module)
            for flag in self.meta.flags:
                self.entry[flag] = self.entry.get(flag, False)
            self.snapshot()
            return self.open()
        after = self.read(scope, module)
        try:
            return self.close(after)
        except Mismatch:
            # What a name holds before the first trip may differ from what it holds after: None, 0.
            if not self.peel():
                raise
        abort()
        self.to_list, self.to_zeros, self.types = {}, {}, {}
        self.again()
        LOCAL.regions.pop()
        self.tracing = False
        log("info", "%s:%d: the first trip is unrolled", self.meta.file, self.meta.line)
        return self.hand({name: copied(value) for name, value in self.entry.items()})

    def carries(self, name: str) -> bool:
        return name in self.meta.live or name in self.meta.head or name in self.meta.flags

    def open(self) -> bool:
        """Opens the body: carried names become its parameters."""
        self.depth = LOCAL.depth
        self.layout: dict[str, tuple[Any, list, list]] = {}
        carried: list[Tensor] = []
        for name in self.meta.names:
            value = self.entry[name]
            if value is UNBOUND or not self.carries(name):
                continue
            if name in self.meta.hints and name not in self.as_tensors and type(value) in (int, float):
                self.as_numbers[name] = "float" if type(value) is float else "int"
                value = self.entry[name] = Number.of(value)
            elif name in self.meta.hints and children(value) and self.numbered(name, value):
                value = self.entry[name] = self.as_number(name, value)
            leaves: list = []
            spec = flatten(value, leaves)
            types: list = []
            for i, leaf in enumerate(leaves):
                dtype = self.types.get((name, i))
                if dtype is None and is_tensor(leaf):
                    dtype = leaf.dtype
                elif dtype is None and (name in self.meta.flags or name in self.meta.hints):
                    dtype = _core.tensor(leaf).dtype
                types.append(dtype)
                if dtype is not None:
                    carried.append(tensor_of(leaf, dtype))
            self.layout[name] = (spec, leaves, types)
        self.start = self.hidden()
        self.carried = carried
        given = self.given()
        params = begin([*given, *carried])
        self.take_hidden(params[: len(given)])
        self.params = list(params[len(given) :])
        values = {n: copied(v) for n, v in self.entry.items()}
        values.update(self.filled(list(self.params)))
        # A trip begins only if no flag is set.
        values.update({flag: False for flag in self.meta.flags if flag in values})
        return self.hand(values)

    def filled(self, tensors: list[Tensor]) -> dict[str, Any]:
        """The carried names, with tensors in the place of carried leaves."""
        values = {}
        for name, (spec, leaves, types) in self.layout.items():
            own = [leaf if dtype is None else tensors.pop(0) for leaf, dtype in zip(leaves, types)]
            value = rebuild(spec, own)
            values[name] = value._fl_begin() if hasattr(value, "_fl_begin") else value
        return values

    def close(self, after: dict[str, Any]) -> bool:
        """Closes the body, or traces it again if the types of names have changed in it."""
        results, retrace = [], False
        tensors, lost = list(self.params), set()
        for name, (spec, leaves, types) in self.layout.items():
            own = [None if dtype is None else tensors.pop(0) for dtype in types]
            value = after[name]
            new: list = []
            if value is UNBOUND or not same(spec, flatten(value, new)):
                if value is not UNBOUND and self.becomes_list(name, value):
                    self.types = {key: t for key, t in self.types.items() if key[0] != name}
                    retrace = True
                elif value is not UNBOUND and name in self.meta.live | self.meta.head:
                    raise self.differs(name, "not of one form", (1, 0))
                lost.add(name)
                results += [tensor for tensor in own if tensor is not None]
                continue
            if self.becomes_number(name, self.entry[name], value):
                self.types = {key: t for key, t in self.types.items() if key[0] != name}
                retrace = True
            elif self.numbers_differ(name, leaves, new):
                self.types = {key: t for key, t in self.types.items() if key[0] != name}
                retrace = True
                continue
            for i, (leaf, dtype) in enumerate(zip(new, types)):
                if dtype is None and keeps(leaf, leaves[i]):
                    continue
                wanted = self.wanted(
                    name, leaves[i] if dtype is None else self.typed(leaves[i], own[i]), leaf
                )
                if dtype is None or wanted != dtype:
                    self.types[name, i], retrace = wanted, True
                else:
                    results.append(tensor_of(leaf, dtype))
        retrace = self.bind_new(after) or retrace
        if retrace:
            abort()
            self.again()
            return self.open()
        block = end([as_condition(self.holds), *self.next_hidden(), *results])
        values = self.after(self.loop_of(block), after, lost)
        self.done = True
        LOCAL.regions.pop()
        return self.hand(values)

    def typed(self, entry: Any, param: Any) -> Any:
        """What a carried leaf began as: a number keeps no type of its own, until it has met one."""
        return entry if is_number(entry) else param

    def wanted(self, name: str, before: Any, leaf: Any) -> Any:
        try:
            return joined(before, leaf)
        except Mismatch as fault:
            raise self.differs(name, str(fault), (1, 0)) from None

    def bind_new(self, after: dict[str, Any]) -> bool:
        """Names that the loop binds first start as zeros, if nobody can see these."""
        found = False
        for name in self.meta.live - self.layout.keys():
            value = after.get(name, UNBOUND)
            if value is UNBOUND or name in self.listed:
                continue
            if name not in self.meta.fill and not self.runs_at_all():
                continue
            leaves: list = []
            self.numbered(name, value)
            spec = flatten(self.as_number(name, value), leaves)
            self.to_zeros[name] = (spec, leaves)
            for i, leaf in enumerate(leaves):
                self.types[name, i] = (
                    leaf.dtype if is_tensor(leaf) else _core.tensor(leaf).dtype
                )
            found = True
        return found

    def after(self, outputs: list[Tensor], last: dict[str, Any], lost: set[str]) -> dict:
        """The names after the loop."""
        values = {}
        tensors = list(outputs)
        for name, (spec, leaves, types) in self.layout.items():
            own = [leaf if dtype is None else tensors.pop(0) for leaf, dtype in zip(leaves, types)]
            if name in lost or not (name in self.meta.live or name in self.meta.flags):
                continue
            if name in self.meta.flags and last[name] is False:
                values[name] = False
            elif name.startswith(FLAG) and last[name] is True and self.runs_at_all():
                values[name] = True
            elif all(dtype is None for dtype in types):
                values[name] = self.entry[name]
            else:
                value = rebuild(spec, own)
                if hasattr(value, "_fl_end"):
                    value = value._fl_end(self.entry[name], last[name], self.n_trips())
                values[name] = value
        for name in self.meta.live - values.keys():
            self.forget(name, "the loop may run no trip, and nothing binds it before")
        return values


class While(Loop):
    """`while`."""

    def asks(self, *flags: Any) -> bool:
        """Whether the test has to be evaluated now."""
        self.flag = any_of(flags)
        if self.flag is True:
            self.holds = False
            return False
        if self.flag is not False:
            begin([])
        return True

    def test(self, value: Any) -> None:
        """Takes the value of the test."""
        value = as_condition(value)
        if self.flag is False:
            self.holds = value
            return
        block = end([value])
        free = negated(self.flag)
        begin([])
        (self.holds,) = _core.cond_of(free, block, end([False]))


class For(Loop):
    """`for`: tensors and ranges of the program are loops of it, other iterables are Python's."""

    def __init__(self, meta: Meta, iterable: Any) -> None:
        super().__init__(meta)
        self.sequence: Any = sequence_of(iterable)
        self.iterator: Any = None if self.sequence else iter(iterable)
        self.plain = self.sequence is None or self.sequence.plain
        self.at = 0
        self.n_guarded = 0
        self.flag: Any = False
        #: The position after a first trip that was unrolled.
        self.base: list[Tensor] | None = None

    def asks(self, *flags: Any) -> None:
        """Finds out whether there is a further trip."""
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

    def advance(self) -> bool:
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

    def runs_at_all(self) -> bool:
        length = self.sequence.length if self.sequence else 0
        if self.plain or self.at:
            return False
        return (
            length in LOCAL.sizes if isinstance(length, OPEN_SIZE) else type(length) is int and length > 0
        )

    def n_trips(self) -> int | str | None:
        if self.flag is not False or self.plain or self.at:
            return None
        return self.sequence.length


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
        return self.batch[0] if len(self.batch) == 1 else tuple(self.batch)

    def loop_of(self, block: _core.Block) -> list[Tensor]:
        return self.iteration.close(self.carried, block)

    def runs_at_all(self) -> bool:
        return bool(self.iteration.epochs and self.iteration.reader._core.length())


def for_loop(meta: Meta, iterable: Any) -> For | ForReader:
    """The state machine of a `for` over this."""
    if isinstance(iterable, Iteration) and _core.is_building():
        return ForReader(meta, iterable)
    return For(meta, iterable)
