"""The state machines of `while` and `for`."""

from __future__ import annotations

import sys
from typing import Any

from .. import _core
from . import journal, tags
from .errors import Mismatch, log
from .forms import Form, Kept, Leaf, Node, Rows, form_of, leaves_of, made, same_value
from .journal import Attribute, Global, Slot
from .logic import any_of, as_condition, negated
from .paths import decided, place_of
from .regions import LOCAL, Key, Meta, Region, abort, begin, end, release
from .trees import (
    DOUBTS,
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
#: A loop whose trips make ops, and of which more trips than these follow, becomes a loop of the program, if it can.
LONG = 256


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
        #: Leaves that become objects of before in a trip.
        self.tagged: set[tuple[Key, int]] = set()
        #: Names that a trip gives another container of before, or of the same form.
        self.moved: set[Key] = set()
        #: Leaves that are not carried until a trip changes them.
        self.still: set[tuple[Key, int]] = set()
        #: Whether each trip raises an exception.
        self.raises = False
        #: By key and number of a leaf: floats that it may be behind a trip.
        self.floats: dict[tuple[Key, int], frozenset[tags.Number]] = {}
        #: Places of one object at the entry that a trip gives several.
        self.apart: set[tuple[Key, int]] = set()
        #: Whether Python could make all trips, and the loop is traced only since they are many.
        self.is_tried = False
        #: How many trips of Python's made tensors, and the number of the first that the last one could have made.
        self.n_making, self.number_before = 0, 0
        #: What names and objects held at the entry of a body that is tried, also if that has become a list of the program.
        self.at_first: dict[str, Any] = {}
        self.originals: dict[Key, tuple[Slot, Any]] = {}
        #: Why the body that is tried cannot be one of the program.
        self.obstacle: Exception | None = None

    def note(self, slot: Slot, content: Any) -> None:
        super().note(slot, content)
        if self.is_tried:
            self.originals.setdefault(slot.key, (slot, content))

    def n_kept(self, own: int) -> int:
        return super().n_kept(own) + sum(id(value) == own for value in self.at_first.values())

    def is_long(self) -> bool:
        """Whether many trips follow."""
        return self.n_making > LONG

    def tries(self) -> bool:
        """Whether the loop, which Python could go on with, is to become one of the program."""
        if self.trips == 0 or self.holds is not True or not _core.is_building() or LOCAL.unrolls:
            return False
        self.n_making += _core.number_now() - self.number_before > 1
        return self.n_making > 0 and self.is_long() and self.meta.told

    def failed(self) -> bool:
        """Takes an exception of the trip being traced: no trip comes to its end."""
        error = sys.exc_info()[1]
        if self.is_tried and self.tracing and not self.done and isinstance(error, Exception):
            self.obstacle = error.with_traceback(None)
            return True
        self.raises = self.tracing and not self.done and self.ends_in(sys.exc_info()[1])
        return self.raises

    def as_opened(self) -> dict[str, Any]:
        """Gives objects what they held as the trip began; returns what the names were."""
        names = [key for key in self.layout if key not in self.touched]
        for key, (slot, content) in list(self.touched.items()):
            if key in self.layout:
                slot.put(self.filled(key, self.params, begins=True))
            else:
                slot.put(content)
                del self.touched[key]
        return {**self.entry, **{key: self.filled(key, self.params, begins=True) for key in names}}

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
            if self.obstacle is None and self.tries():
                self.holds, self.is_tried = _core.tensor(True), True
                LOCAL.tried = True
            if not is_tensor(self.holds):
                self.done = not self.holds
                self.trips += not self.done
                self.number_before = _core.number_now() if _core.is_building() else 0
                if self.done and self.trips > 1 and _core.is_building():
                    place = (self.meta.file, self.meta.line, self.trips)
                    log("info", "%s:%d: the loop is unrolled, %d trips", *place)
                return False
            self.tracing, self.first = True, self.holds
            self.entry = self.read(scope, module)
            for flag in self.meta.flags:
                self.entry[flag] = self.entry.get(flag, False)
            self.held = held_elsewhere(self.entry, scope)
            self.at_first = dict(self.entry) if self.is_tried else {}
            self.snapshot(scope)
            return self.open()
        after = self.read(scope, module)
        release(scope)
        if self.obstacle is not None:
            return self.unrolled()
        if self.raises:
            after, self.holds = self.as_opened(), False
        try:
            if self.is_tried and not is_tensor(self.holds):
                # The end of the loop does not depend on what the program would carry.
                raise Mismatch("the condition of the loop is Python's own")
            return self.close(after)
        except Mismatch as error:
            # What a name holds before the first trip may differ from what it holds after: None, 0.
            if self.is_tried:
                self.obstacle = error.with_traceback(None)
                return self.unrolled()
            if not self.peel():
                raise
        except Exception as error:
            if not self.is_tried:
                raise
            self.obstacle = error.with_traceback(None)
            return self.unrolled()
        self.give_up()
        log("info", "%s:%d: the first trip is unrolled", self.meta.file, self.meta.line)
        return self.hand(self.entry)

    def unrolled(self) -> bool:
        """Goes on with trips of Python's, as if the body had not been tried."""
        self.n_traces = 0
        self.give_up()
        for slot, content in self.originals.values():
            slot.put(content)
        self.originals, self.listed = {}, set()
        self.is_tried, self.raises, self.holds = False, False, True
        self.trips += 1
        place = (self.meta.file, self.meta.line, self.obstacle)
        log("info", "%s:%d: the loop is long, and unrolled all the same: %s", *place)
        values, self.at_first = self.at_first, {}
        return self.hand(values)

    def give_up(self) -> None:
        """Forgets the body that was traced."""
        while LOCAL.depth > self.depth:
            abort()
        tracing = journal.LOCAL.tracing
        del tracing[tracing.index(self) + 1 :]  # type: ignore[arg-type]
        if self.is_outer:
            self.is_outer, DOUBTS.found = False, None
        self.to_list, self.to_zeros, self.types = {}, {}, {}
        self.again()
        tracing.remove(self)  # type: ignore[arg-type]
        self.touched = {}
        self.tracing = False

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
            form = self.form(key, value, leaves)
            types: list = []
            for i, leaf in enumerate(leaves):
                dtype = self.types.get((key, i))
                counts = key in self.meta.flags or key in self.meta.hints
                # What stands in an object stays itself until a trip puts something else there.
                stands = isinstance(form, Node) and self.is_from_before(leaf) and self.stands(key, form)
                still = stands or (key, i) in self.still or str(key).startswith("_fl_")
                if dtype is None and (counts or (is_tensor(leaf) and not still)):
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
        self.carry_tags()
        self.start = self.hidden()
        given = self.given()
        params = begin([*given, *self.carried])
        self.take_hidden(params[: len(given)])
        self.params = list(params[len(given) :])
        first = {place: self.layout[key][1][i] for (key, i), place in self.places.items()}
        self.numbers = {place: self.floats[part] for part, place in self.places.items() if part in self.floats}
        for place, tag in self.tags.items():
            tags.note(self.params[place], self.params[tag], first[place], numbers=self.numbers.get(place, frozenset()))
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
        self.raises = False
        return self.hand(values)

    def form(self, key: Key, value: Any, leaves: list) -> Form:
        """The form of what a name or an object is. A list or dict that an attribute has is an object of its own, unless a
        trip puts another one there."""
        if key not in self.touched or key in self.deep:
            return form_of(value, leaves)
        if isinstance(self.touched[key][0], (Attribute, Global)) and journal.can_change(value) and not is_tensor(value):
            return Kept(value)
        return form_of(value, leaves, False)

    def carry_tags(self) -> None:
        """Has values that are objects of before, or become such, carry their tags."""
        #: By place of a carried value: that of its tag.
        self.tags: dict[int, int] = {}
        for (key, i), place in self.places.items():
            if place in self.tags:
                continue
            _, leaves, types = self.layout[key]
            tag = tags.beside(leaves[i], types[i])
            if tag is not None or (key, i) in self.tagged:
                self.tags[place] = len(self.carried)
                self.carried.append(tags.as_value(tag))

    def filled(self, key: Key, tensors: list[Tensor], begins: bool = False) -> Any:
        """A carried value, with tensors in the place of carried leaves."""
        form, leaves, _ = self.layout[key]

        def leaf(i: int) -> Any:
            place = self.places.get((key, i))
            return leaves[i] if place is None else tensors[place]

        if isinstance(form, Rows):
            value = made(form, leaf)
            return value._fl_begin() if begins else value
        is_as_it_was = not any((key, i) in self.places for i in range(len(leaves)))
        if isinstance(form, (Kept, Node)) and is_as_it_was and key not in self.moved:
            return self.at_entry(key)
        if key not in self.touched and key not in self.moved:
            form = self.with_same(key, form)
        return journal.made(made(form, leaf, lambda rows: rows._fl_unknown()))

    def stands(self, key: Key, form: Node) -> bool:
        """Whether the tensors in a container of before stay until a trip puts others there."""
        return key in self.touched or key not in self.moved and self.is_same(form)

    def is_same(self, form: Node) -> bool:
        """Whether a container is one of before, and no tuple, which has no identity that counts."""
        return form.source is not None and not isinstance(form.source, tuple) and self.is_from_before(form.source)

    def with_same(self, key: Key, form: Form) -> Form:
        """A form with containers of before as they are, if no trip changes what stands in them."""
        if not isinstance(form, Node):
            return form
        if self.is_same(form) and not any((key, i) in self.places for i in leaves_of(form)):
            return Kept(form.source)
        return Node(form.kind, form.keys, [self.with_same(key, part) for part in form.parts], form.source)

    def moves(self, key: Key, form: Form, ended: Form) -> bool:
        """Whether a trip ends with another container where one of before would be."""
        if not isinstance(form, Node) or not isinstance(ended, Node):
            return False
        if self.is_same(form) and ended.source is not form.source:
            if not any((key, i) in self.places for i in leaves_of(form)):
                return True
        return any(self.moves(key, *parts) for parts in zip(form.parts, ended.parts))

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
                ended = self.form(key, value, last)
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
                            if place in self.tags:
                                results[self.tags[place]] = self.params[self.tags[place]]
                continue
            if key not in self.touched and key not in self.moved and self.moves(key, form, ended):
                self.moved.add(key)
                retrace = True
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
                tag = tags.beside(leaf, dtype)
                if place in self.tags:
                    results[self.tags[place]] = tags.as_value(tag)
                    more = tags.further_numbers(self.params[place], leaf)
                    if more:
                        self.floats[key, i] = self.floats.get((key, i), frozenset()) | more
                        retrace = True
                elif tag is not None:
                    self.tagged.add((key, i))
                    retrace = True
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
        outputs = self.loop_of(block)
        values = self.after(outputs, after, lost, ends)
        self.leave()
        for place in self.tags:
            tags.own(outputs[place])
        del self.params, self.carried
        self.layout, self.entry, self.at_first, self.originals = {}, {}, {}, {}
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
                if self.is_from_before(leaf):
                    self.still.add((name, i))
                else:
                    self.types[name, i] = natural(leaf)
            found = True
        return found

    def after(
        self, outputs: list[Tensor], last: dict[Key, Any], lost: set[Key], ends: dict[int, Any]
    ) -> dict:
        """The names after the loop; objects get what they hold then."""
        values = {}
        # What each trip leaves in a place is one tensor from before the loop.
        still = {place: leaf for place, leaf in ends.items() if is_tensor(leaf) and self.is_from_before(leaf)}
        left = list(outputs)
        for place, leaf in still.items():
            if self.runs_at_all():
                left[place] = leaf
            else:
                journal.may_be(outputs[place], leaf)
        for key, (_, _, types) in self.layout.items():
            wanted = key in self.touched or key in self.meta.live or key in self.meta.flags
            if key in lost or not wanted:
                continue
            if key in self.meta.flags and last[key] is False:
                value: Any = False
            elif isinstance(key, str) and key.startswith(FLAG) and last[key] is True and self.runs_at_all():
                value = True
            elif all(dtype is None for dtype in types) and key not in self.moved:
                value = self.at_entry(key)
            else:
                value = self.filled(key, left)
                if hasattr(value, "_fl_end"):
                    value = value._fl_end(self.at_entry(key), last[key], self.n_trips())
                if key not in self.touched:
                    first = None if LOCAL.depth else self.first
                    certain = self.runs_at_all()
                    journal.stands_behind(value, self.entry[key], last[key], first, certain, self.number)
            if key in self.touched:
                self.touched[key][0].put(value)
            else:
                values[key] = value
        for name in self.meta.live - values.keys():
            self.forget(name, "the loop may run no trip, and nothing binds it before")
        for output, param in zip(outputs, self.params):
            journal.follows(output, param)
        self.relate(outputs, ends)
        for place, tag in self.tags.items():
            before = () if self.runs_at_all() else (self.params[place],)
            tags.note(outputs[place], outputs[tag], *before, *([ends[place]] if place in ends else []))
        for (key, i), place in self.places.items():
            if is_tensor(self.layout[key][1][i]):
                # The loop may run no trip.
                journal.may_be(outputs[place], self.layout[key][1][i])
        return values


    def relate(self, outputs: list[Tensor], ends: dict[int, Any]) -> None:
        """Notes which values behind the loop are one object, or may be, because the last trip has made them so."""
        tensors = [(place, leaf) for place, leaf in ends.items() if is_tensor(leaf) and not leaf._is_number]
        first = {id(self.params[place]): self.layout[key][1][i] for (key, i), place in self.places.items()}
        for place, leaf in tensors:
            # What a trip has chosen may be what was there before the loop.
            for other in [ref() for ref in journal.LOCAL.perhaps.of(leaf)]:
                other = first.get(id(other), other)
                if is_tensor(other) and not other._is_number and self.is_from_before(other):
                    journal.may_be(outputs[place], other)
        for number, (one, a) in enumerate(tensors):
            for two, b in tensors[number + 1 :]:
                if a is b or any(ref() is b for ref in journal.LOCAL.perhaps.of(a)):
                    journal.may_be(outputs[one], outputs[two])
                    if tags.is_of_trip(a) or tags.is_of_trip(b):
                        journal.LOCAL.perhaps.note_unsure(outputs[one])
                        journal.LOCAL.perhaps.note_unsure(outputs[two])


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
        if self.tracing and self.obstacle is not None:
            return False
        self.flag = any_of(flags)
        if self.flag is True:
            self.holds = False
            return False
        if self.flag is not False:
            begin([])
        return True

    def test(self, value: Any) -> None:
        """Takes the value of the test."""
        value = decided(as_condition(value), place_of(self.meta))
        if self.flag is False:
            self.holds = value
            return
        block = end([value])
        free = negated(self.flag)
        begin([])
        (self.holds,) = _core.cond_of(free, block, end([False]))
