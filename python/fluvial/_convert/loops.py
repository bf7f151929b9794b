"""The state machines of `while` and `for`."""

from __future__ import annotations

import sys
from typing import Any

from .. import _core
from .._reader import Iteration
from . import journal
from .errors import Mismatch, log
from .forms import Form, Kept, Leaf, Node, Rows, form_of, made, same_value
from .logic import any_of, as_condition, negated, when
from .regions import LOCAL, Key, Meta, Region, abort, begin, end, release
from .sequences import sequence_of
from .trees import (
    DOUBTS,
    OPEN_SIZE,
    UNBOUND,
    Tensor,
    is_number,
    is_tensor,
    joined,
    keeps,
    natural,
    tensor_of,
)
from .unbound import FLAG

#: How often a Python loop may go on after it may have been left, before that is an error.
MAX_GUARDED = 2000


class Loop(Region):
    """A loop runs in Python as long as its condition is plain. When it becomes a tensor, the names and
    objects that the loop changes become values that a loop of the program carries."""

    def __init__(self, meta: Meta) -> None:
        super().__init__(meta)
        self.tracing = False
        self.holds: Any = True
        self.trips = 0
        #: Whether no loop around it is traced.
        self.is_outer = False
        #: Element types of carried leaves, by key and number, where they differ from the entry's.
        self.types: dict[tuple[Key, int], Any] = {}
        #: Objects in which other lists and dicts take the place of those of the entry.
        self.deep: set[Key] = set()
        #: Places of one object at the entry that a trip gives several.
        self.apart: set[tuple[Key, int]] = set()

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
            self.held = held_elsewhere(self.entry, scope)
            self.snapshot(scope)
            return self.open()
        after = self.read(scope, module)
        release(scope)
        try:
            return self.close(after)
        except Mismatch:
            # What a name holds before the first trip may differ from what it holds after: None, 0.
            if not self.peel():
                raise
        abort()
        if self.is_outer:
            self.is_outer, DOUBTS.found = False, None
        self.to_list, self.to_zeros, self.types = {}, {}, {}
        self.again()
        journal.LOCAL.tracing.remove(self)  # type: ignore[arg-type]
        self.touched = {}
        self.tracing = False
        log("info", "%s:%d: the first trip is unrolled", self.meta.file, self.meta.line)
        return self.hand(self.entry)

    def carries(self, name: str) -> bool:
        return name in self.meta.live or name in self.meta.head or name in self.meta.flags

    def entries(self) -> dict[Key, Any]:
        """The names and objects that are carried, as they are at the entry."""
        found: dict[Key, Any] = {}
        for name in self.meta.names:
            if self.entry[name] is not UNBOUND and self.carries(name):
                found[name] = self.entry[name]
        found.update({key: content for key, (_, content) in self.touched.items()})
        return found

    def open(self) -> bool:
        """Opens the body: what is carried becomes its parameters."""
        self.is_outer = self.is_outer or DOUBTS.found is None
        if self.is_outer:
            DOUBTS.found = []
        self.n_doubts = len(DOUBTS.found or ())
        #: Forms, leaves, and the element types of those that are carried.
        self.layout = {}
        self.carried: list[Tensor] = []
        #: The number of the parameter for a key and the number of a leaf.
        self.places: dict[tuple[Key, int], int] = {}
        known: dict[tuple[int, Any], int] = {}
        for key, value in self.entries().items():
            leaves: list = []
            form = form_of(value, leaves, key not in self.touched or key in self.deep)
            types: list = []
            for i, leaf in enumerate(leaves):
                dtype = self.types.get((key, i))
                counts = key in self.meta.flags or key in self.meta.hints
                if dtype is None and (counts or is_tensor(leaf)):
                    dtype = natural(leaf)
                types.append(dtype)
                if dtype is None:
                    continue
                one = (id(leaf), dtype)
                if is_tensor(leaf) and one in known and (key, i) not in self.apart:
                    self.places[key, i] = known[one]
                    continue
                self.places[key, i] = known[one] = len(self.carried)
                self.carried.append(tensor_of(leaf, dtype))
            self.layout[key] = (form, leaves, types)
        self.start = self.hidden()
        given = self.given()
        params = begin([*given, *self.carried])
        self.take_hidden(params[: len(given)])
        self.params = list(params[len(given) :])
        values = dict(self.entry)
        for key in self.layout:
            value = self.filled(key, self.params, begins=True)
            if key in self.touched:
                self.touched[key][0].put(value)
            else:
                journal.stands_inside(value, self.entry[key])
                values[key] = value
        # A trip begins only if no flag is set.
        values.update({flag: False for flag in self.meta.flags if flag in values})
        return self.hand(values)

    def filled(self, key: Key, tensors: list[Tensor], begins: bool = False) -> Any:
        """A carried value, with tensors in the place of carried leaves."""
        form, leaves, _ = self.layout[key]

        def leaf(i: int) -> Any:
            place = self.places.get((key, i))
            return leaves[i] if place is None else tensors[place]

        if isinstance(form, Rows):
            value = made(form, leaf)
            return value._fl_begin() if begins else value
        return journal.made(made(form, leaf, lambda rows: rows._fl_unknown()))

    def close(self, names: dict[str, Any]) -> bool:
        """Closes the body; if it changes what is carried, it is traced again."""
        new = [key for key in self.touched if key not in self.layout]
        after: dict[Key, Any] = {**names, **self.contents()}
        retrace = bool(new)
        results: list[Any] = [None] * len(self.carried)
        ends: dict[int, Any] = {}
        lost: set[Key] = set()
        for key, (form, leaves, types) in self.layout.items():
            last: list = []
            value = after[key]
            same_form = value is not UNBOUND
            if same_form:
                ended = form_of(value, last, key not in self.touched or key in self.deep)
                same_form = alike(form, ended)
            if not same_form:
                if value is not UNBOUND and self.becomes_list(key, value):
                    self.types = {place: t for place, t in self.types.items() if place[0] != key}
                    retrace = True
                elif key in self.touched and key not in self.deep:
                    self.deep.add(key)
                    retrace = True
                elif value is not UNBOUND and (key in self.touched or self.carries(key)):
                    raise self.differs(key, "not of one form", (1, 0))
                else:
                    lost.add(key)
                    for i in range(len(leaves)):
                        place = self.places.get((key, i))
                        if place is not None and results[place] is None:
                            results[place] = self.params[place]
                continue
            for i, (leaf, dtype) in enumerate(zip(last, types)):
                if dtype is None and keeps(leaf, leaves[i]):
                    continue
                before = leaves[i] if dtype is None else self.typed(leaves[i], self.params[self.places[key, i]])
                wanted = self.wanted(key, before, leaf)
                if dtype is None or wanted != dtype:
                    self.types[key, i], retrace = wanted, True
                    continue
                place = self.places[key, i]
                if place in ends and ends[place] is not leaf and is_tensor(leaf):
                    # One object at the entry, two at the end of a trip.
                    self.apart.add((key, i))
                    retrace = True
                ends[place] = leaf
                results[place] = tensor_of(leaf, dtype)
        retrace = self.bind_new(names) or retrace
        if retrace:
            abort()
            self.again()
            del (DOUBTS.found or [])[self.n_doubts :]
            return self.open()
        if self.is_outer:
            doubts, DOUBTS.found = DOUBTS.found, None
            if doubts:
                raise doubts[0]
        self.check_aliases(ends)
        block = end([as_condition(self.holds), *self.next_hidden(), *results])
        values = self.after(self.loop_of(block), after, lost)
        self.leave()
        del self.params, self.carried
        self.layout, self.entry = {}, {}
        return self.hand(values)

    def check_aliases(self, ends: dict[int, Any]) -> None:
        """Refuses to change in place what a name carries, if others may have the same object."""
        changed = {id(value) for value in self.changed}
        for i, param in enumerate(self.params):
            if id(param) not in changed:
                continue
            first = [id(self.layout[key][1][j]) for (key, j), place in self.places.items() if place == i]
            shared = any(self.held.get(leaf) for leaf in first)
            twins = [j for j, leaf in ends.items() if j != i and leaf is ends.get(i)]
            if shared or twins or journal.may_be_another(ends.get(i)):
                raise self.fault(
                    "a tensor that the loop changes in place is also bound anew in it, and another name or list has the same one",
                    "make a copy before the loop: `x = x * 1`, or assign the new value: `x = x.setitem(key, value)`",
                )

    def typed(self, entry: Any, param: Any) -> Any:
        """What a carried leaf began as: a number keeps no type of its own, until it has met one."""
        return entry if is_number(entry) else param

    def wanted(self, key: Key, before: Any, leaf: Any) -> Any:
        try:
            return joined(before, leaf)
        except Mismatch as fault:
            raise self.differs(key, str(fault), (1, 0)) from None

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
            self.to_zeros[name] = (form_of(value, leaves), leaves)
            for i, leaf in enumerate(leaves):
                self.types[name, i] = natural(leaf)
            found = True
        return found

    def after(self, outputs: list[Tensor], last: dict[Key, Any], lost: set[Key]) -> dict:
        """The names after the loop; objects get what they hold then."""
        values = {}
        for key, (_, _, types) in self.layout.items():
            wanted = key in self.touched or key in self.meta.live or key in self.meta.flags
            if key in lost or not wanted:
                continue
            if key in self.meta.flags and last[key] is False:
                value: Any = False
            elif isinstance(key, str) and key.startswith(FLAG) and last[key] is True and self.runs_at_all():
                value = True
            elif all(dtype is None for dtype in types):
                value = self.at_entry(key)
            else:
                value = self.filled(key, outputs)
                if hasattr(value, "_fl_end"):
                    value = value._fl_end(self.at_entry(key), last[key], self.n_trips())
                if key not in self.touched:
                    journal.stands_inside(value, self.entry[key])
            if key in self.touched:
                self.touched[key][0].put(value)
            else:
                values[key] = value
        for name in self.meta.live - values.keys():
            self.forget(name, "the loop may run no trip, and nothing binds it before")
        for output, param in zip(outputs, self.params):
            journal.follows(output, param)
        return values


def alike(a: Form, b: Form) -> bool:
    """Whether the end of a trip has the form of its beginning, leaf by leaf."""
    if isinstance(a, Node) and isinstance(b, Node):
        same = a.kind is b.kind and a.keys == b.keys and len(a.parts) == len(b.parts)
        return same and all(map(alike, a.parts, b.parts))
    if isinstance(a, Kept) and isinstance(b, Kept):
        return same_value(a.value, b.value)
    if isinstance(a, Rows) and isinstance(b, Rows):
        return len(a.numbers) == len(b.numbers)
    return isinstance(a, Leaf) and isinstance(b, Leaf)


def held_elsewhere(names: dict[str, Any], scope: dict) -> dict[int, bool]:
    """By identity of tensors that names are bound to: whether something else than local names holds them."""
    found: dict[int, bool] = {}
    for value in names.values():
        if is_tensor(value):
            n_names = sum(other is value for other in scope.values())
            n_own = sum(other is value for other in names.values())
            # The frame and its dict hold one for each name; then this loop and the call.
            known = 2 * n_names + n_own + 2
            found[id(value)] = n_names > n_own or sys.getrefcount(value) > known
    return found


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
            repr(length) in LOCAL.sizes if isinstance(length, OPEN_SIZE) else type(length) is int and length > 0
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
