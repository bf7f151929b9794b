"""Blocks of the program being built, and the state machine of `if`."""

from __future__ import annotations

import collections
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from .. import _core
from .._retrace import SNAPSHOTS
from .._tree import remade
from . import aliases, journal, tags
from .errors import Mismatch, log
from .forms import Differ, Form, Leaf, Match, Node, form_of, made, n_sources, shown, stand_in
from .journal import Slot
from .lists import TensorList, rows_of
from .raised import in_program, is_of_lines
from .trees import (
    UNBOUND,
    Tensor,
    chosen,
    flatten,
    is_number,
    is_tensor,
    natural,
    tensor_of,
    zeros_like,
)

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


class Meta:
    """What is known of a control statement from its source."""

    def __init__(self, file, line, names, live, parts, head=frozenset(), flags=()) -> None:
        self.file: str = file
        self.line: int = line
        #: The names it binds or changes, those of them read later, and by a further trip.
        self.names: tuple[str, ...] = names
        self.live: frozenset[str] = live
        self.head: frozenset[str] = head
        #: For each block the lines at which it binds its names.
        self.parts: list[dict[str, list[int]]] = parts
        self.flags: tuple[str, ...] = flags
        self.fill: frozenset[str] = frozenset()
        self.globals: frozenset[str] = frozenset()
        self.hints: frozenset[str] = frozenset()
        #: Names of objects that it seems to change in place.
        self.changes: frozenset[str] = frozenset()
        #: Whether exceptions of its blocks are followed.
        self.told = False

    def given(self, part: int, name: str) -> str:
        """Where a block gives a name its value."""
        lines = self.parts[part].get(name) if part < len(self.parts) else None
        return "line " + ", ".join(map(str, sorted(lines))) if lines else f"before line {self.line}"


class _Local(threading.local):
    def __init__(self) -> None:
        self.depth = 0
        #: Symbols of sizes that are never zero.
        self.sizes: frozenset[str] = frozenset()
        #: Whether Python's loops stay Python's, however long they are; whether one was tried as one of the program.
        self.unrolls, self.tried = False, False
        #: Why names are unbound, for the note of an `UnboundLocalError`.
        self.lost: dict[str, str] = {}


LOCAL = _Local()


def with_long_loops(build: Callable[[], Any]) -> Any:
    """Builds something. If it fails with a long loop of Python's as one of the program, loops stay Python's: what comes
    behind may need numbers that they count."""
    former = (LOCAL.unrolls, LOCAL.tried)
    LOCAL.tried = False
    try:
        return build()
    except Exception:
        if not LOCAL.tried:
            raise
        LOCAL.unrolls = True
        return build()
    finally:
        LOCAL.unrolls, LOCAL.tried = former


def begin(types: list) -> list[Tensor]:
    """Opens a block."""
    params = _core.begin_block(types)
    LOCAL.depth += 1
    return params


def end(results: list) -> _core.Block:
    """Closes the block opened last."""
    LOCAL.depth -= 1
    return _core.end_block(results)


def abort() -> None:
    """Gives up the block opened last."""
    LOCAL.depth -= 1
    _core.abort_block()


def unwind(depth: int) -> None:
    """Begins the handler of an exception; one that left a block of the program is refused."""
    if LOCAL.depth <= depth:
        return
    while LOCAL.depth > depth:
        abort()
    tracing = journal.LOCAL.tracing
    while tracing and tracing[-1].depth >= depth:
        tracing.pop()
    raise Mismatch(
        "an exception left a branch or loop that only the run can take, and is caught here\n"
        "  remedy: catch it inside that branch or loop, or test for its cause with `if`"
    )


def release(scope: dict) -> None:
    """Empties what `locals()` gave: before Python 3.13 the frame keeps it, and so all that its names were bound to."""
    if sys.version_info < (3, 13):
        scope.clear()


#: A name, or the key of a slot.
Key = Any


class Region:
    """The names and objects of a control statement while its blocks are traced."""

    entry: dict[str, Any]

    def __init__(self, meta: Meta) -> None:
        self.meta = meta
        self.done = False
        self._values: list = []
        self._scope: dict = {}
        self.lost: set[str] = set()
        #: Keys whose entry value becomes a list of the program, or zeros, before the next trace.
        self.listed: set[Key] = set()
        self.to_list: dict[Key, Any] = {}
        self.to_zeros: dict[str, tuple[Form, list]] = {}
        self.n_traces = 0
        #: What the blocks change of objects from outside: the slot, and its content at the entry.
        self.touched: dict[Key, tuple[Slot, Any]] = {}
        #: All objects that were changed since the last trace began.
        self.changed: list[Any] = []
        #: Forms of names and objects, with more that each kind of statement notes.
        self.layout: dict[Key, tuple] = {}
        self.fills: dict[str, tuple[Form, list]] = {}
        #: What they are at the end of the first branch.
        self.ended: dict[Key, Any] = {}

    def read(self, scope: dict, module: dict | None) -> dict[str, Any]:
        """The values of the names now."""
        found = {}
        self._scope = scope
        for name in self.meta.names:
            names = module if module is not None and name in self.meta.globals else scope
            found[name] = names.get(name, UNBOUND)
        return found

    def hand(self, values: dict[str, Any]) -> bool:
        """Has the names take these values."""
        self.lost = {name for name in self.meta.names if values.get(name, UNBOUND) is UNBOUND}
        self._values = [None if name in self.lost else values[name] for name in self.meta.names]
        for name in self.meta.names:
            # What `locals` gave would keep the former values.
            self._scope.pop(name, None)
        self._scope = {}
        return True

    @property
    def values(self) -> list:
        """What the names are to be bound to; it is given once, so that nothing is kept here."""
        values, self._values = self._values, []
        return values

    def snapshot(self, scope: dict) -> None:
        """Notes, as tracing begins, what a further trace has to put back."""
        self.depth, self.number = LOCAL.depth, _core.number_now()
        self.counters = [take() for take, _ in SNAPSHOTS]
        journal.LOCAL.tracing.append(self)  # type: ignore[arg-type]
        for name in self.meta.changes:
            value = scope.get(name, UNBOUND)
            if name not in self.meta.names and journal.can_change(value):
                journal.touch(value)
        self.changed = []

    def note(self, slot: Slot, content: Any) -> None:
        """Notes what an object held before a block changes it."""
        self.touched[slot.key] = (slot, content)

    def n_kept(self, own: int) -> int:
        """How often the region keeps a container, given by its identity, while it is traced."""
        forms = [layout[0] for layout in (*self.layout.values(), *self.fills.values())]
        n_kept = sum(n_sources(form, own) for form in forms) + sum(id(value) == own for value in self.changed)
        for found in (self.entry, self.ended):
            for key, value in found.items():
                n_kept += id(value) == own
                if key in self.touched:
                    n_kept += journal.times_in(value, own)
        return n_kept

    def contents(self) -> dict[Key, Any]:
        """What the objects hold now."""
        return {key: slot.take() for key, (slot, _) in self.touched.items()}

    def put_back(self) -> None:
        """Gives the objects what they held at the entry."""
        for slot, content in self.touched.values():
            slot.put(content)

    def leave(self) -> None:
        """Ends the region."""
        self.done = True
        journal.LOCAL.tracing.remove(self)  # type: ignore[arg-type]
        # Nothing is kept of objects whose owners may be gone.
        self.touched, self.changed, self.to_zeros = {}, [], {}

    def ends_in(self, error: BaseException | None) -> bool:
        """Takes an exception that a line of the block being traced has raised: where the program gets there, it will
        raise it. Says whether it does: not if the lines would not fail, or a part of an expression did."""
        is_part = hasattr(error, "_fl_in_part") or LOCAL.depth != self.depth + 1
        if error is None or is_part or not is_of_lines(error):
            return False
        tracing = journal.LOCAL.tracing
        if self not in tracing:
            return False
        del tracing[tracing.index(self) + 1 :]  # type: ignore[arg-type]
        in_program(error)
        return True

    def again(self) -> None:
        """Prepares for tracing the blocks once more."""
        self.n_traces += 1
        if self.n_traces > 12:
            raise self.fault("the types of its names do not settle", "give them one type before it")
        self.put_back()
        self.changed = []
        for (_, put_back), counter in zip(SNAPSHOTS, self.counters):
            put_back(counter)
        for key, like in self.to_list.items():
            self._make_list(key, like)
        for name, (form, leaves) in self.to_zeros.items():
            self.entry[name] = self.filling(form, leaves)
        self.to_list, self.to_zeros = {}, {}

    def filling(self, form: Form, leaves: list) -> Any:
        """What a name is bound to on a path where nobody sees it: what it is on the other one, as far as that was there before."""
        source = getattr(form, "source", None)
        if source is not None and not isinstance(source, tuple) and self.is_from_before(source):
            return source
        if isinstance(form, Node):
            return journal.made(remade(form.kind, form.keys, [self.filling(part, leaves) for part in form.parts]))
        if isinstance(form, Leaf) and self.is_from_before(leaves[form.number]):
            return leaves[form.number]
        return made(form, lambda i: zeros_like(leaves[i]))

    def is_from_before(self, value: Any) -> bool:
        """Whether a value was there when the statement began."""
        return is_number(value) or not journal.made_since(value, self.number)

    def _make_list(self, key: Key, like: Any) -> None:
        """A list of Python becomes one of the program, before the statement."""
        rows = TensorList.of(self.at_entry(key), like)
        journal.LOCAL.made[id(rows)] = (rows, self.number - 0.5)  # type: ignore[assignment]
        if key not in self.touched:
            self.entry[key] = journal.made([rows])
            return
        slot, _ = self.touched[key]
        for world in journal.worlds():
            if world is not self and not journal.made_since(slot.owner, world.number):
                if slot.key not in world.touched:
                    world.note(slot, slot.take())
        slot.put([rows])
        self.touched[key] = (slot, [rows])

    def at_entry(self, key: Key) -> Any:
        return self.touched[key][1] if key in self.touched else self.entry.get(key, UNBOUND)

    def becomes_list(self, key: Key, *values: Any) -> bool:
        """A Python list whose length changes becomes a list of the program."""
        entry = self.at_entry(key)
        every = [entry, *values]
        if type(entry) is not list or not all(type(value) is list for value in values):
            return False
        if key in self.listed or not any(every):
            return False
        if key in self.touched and isinstance(self.touched[key][0].owner, collections.deque):
            return False
        rows = [rows_of(value) for value in every]
        found = [row for row in rows if row is not None]
        like = found[0] if found else max(every, key=len)[-1]
        leaves: list = []
        flatten(like, leaves)
        if not found and not leaves:
            # No program has lists of texts.
            return False
        self.to_list[key] = like
        self.listed.add(key)
        place = (self.meta.file, self.meta.line, self.called(key))
        log("info", "%s:%d: %s becomes a list of the program", *place)
        return True

    def fault(self, text: str, remedy: str) -> Mismatch:
        return Mismatch(f"{self.meta.file}:{self.meta.line}: {text}\n  remedy: {remedy}")

    def called(self, key: Key) -> str:
        """What messages call a name or an object."""
        if key in self.touched:
            return self.touched[key][0].text
        return "the returned value" if key.startswith("_fl_") else f"`{key}`"

    def differs(
        self, key: Key, what: str, parts: tuple[int, int], lines: tuple[str, str] | None = None
    ):
        """The error for values that cannot be joined."""
        if key in self.touched:
            line = self.touched[key][0].line
            text = f"{self.called(key)} is {what}: {line} changes it, and only the run knows whether"
            return self.fault(text, "change it to the same form on both paths, or return the new value")
        a, b = lines or (self.meta.given(parts[0], key), self.meta.given(parts[1], key))
        text = f"{self.called(key)} is {what}: {a} gives the one, {b} the other"
        return self.fault(text, "give it one type and shape on both paths")

    def forget(self, name: str, why: str) -> None:
        LOCAL.lost[name] = f"{self.meta.file}:{self.meta.line}: {why}"


class If(Region):
    """`if`: a plain test takes one branch; a symbolic one traces both and joins names and objects."""

    def __init__(self, meta: Meta, test: Any) -> None:
        super().__init__(meta)
        self.test = test
        self.symbolic = is_tensor(test)
        self.branch = test if not self.symbolic else True
        self.phase = 0
        #: The element types that the first branch has to give, once known.
        self.types: dict[Key, list] = {}
        #: The branches that raise an exception, and what the second gives if it is the first.
        self.raising: set[int] = set()
        self.likes: dict[Key, Any] | None = None

    def enter(self, scope: dict, module: dict | None = None) -> bool:
        """Goes on to the next pass; says whether the names have to be taken over."""
        if not self.symbolic:
            self.done = self.phase == 1
            self.phase = 1
            return False
        if self.phase == 0:
            self.entry = self.read(scope, module)
            self.snapshot(scope)
            return self.open_first()
        if self.phase == 1:
            self.close_first(self.read(scope, module))
            begin([])
            self.branch, self.phase = False, 2
            return self.hand(self.entry)
        names = self.read(scope, module)
        release(scope)
        return self.close_second(names)

    def open_first(self) -> bool:
        begin([])
        self.raising = set()
        self.branch, self.phase = True, 1
        return self.hand(self.entry)

    def failed(self) -> bool:
        """Takes an exception of the branch being traced: nothing that the branch gives is seen by anybody."""
        if not self.symbolic or self.done or not self.ends_in(sys.exc_info()[1]):
            return False
        self.raising.add(self.phase)
        return True

    def standing(self, like: dict[Key, Any]) -> dict[Key, Any]:
        """What stands for the end of a branch that raises, given that of the other one."""
        for key, (slot, content) in list(self.touched.items()):
            if key not in like:
                slot.put(content)
                del self.touched[key]
        stands = lambda key: stand_in(like[key], self.number, key in self.touched)  # noqa: E731
        return {key: UNBOUND if value is UNBOUND else stands(key) for key, value in like.items()}

    def ends(self, names: dict[str, Any]) -> dict[Key, Any]:
        """What names and objects are at the end of a branch."""
        return {**{name: names[name] for name in sorted(self.meta.live)}, **self.contents()}

    def close_first(self, names: dict[str, Any]) -> None:
        """Closes the first branch with the types known so far; the second one may want others."""
        if 1 in self.raising:
            if self.likes is None:
                self.block = end([])
                self.put_back()
                return
            self.ended = self.standing(self.likes)
        else:
            self.ended = self.ends(names)
        self.results: list[Any] = []
        #: Forms, leaves, their types, and where they begin among the results.
        self.layout = {}
        for key, value in self.ended.items():
            if value is UNBOUND and key not in self.fills:
                continue
            leaves: list = []
            if value is UNBOUND:
                form = form_of(self.filling(*self.fills[key]), leaves)
            else:
                form = form_of(value, leaves)
            types = self.types.get(key) or [natural(leaf) for leaf in leaves]
            self.layout[key] = (form, leaves, types, len(self.results))
            self.results += map(tensor_of, leaves, types)
        self.add_tags()
        self.block = end(self.results)
        self.put_back()

    def add_tags(self) -> None:
        """Has the first branch give the tags of its values, too."""
        #: By identity and type of values: the numbers of the results that are their tags; and of the one that is none.
        self.tags: dict[tuple[int, Any], int] = {}
        for _, leaves, types, _ in list(self.layout.values()):
            for leaf, dtype in zip(leaves, types):
                tag = tags.beside(leaf, dtype) if (id(leaf), dtype) not in self.tags else None
                if tag is not None:
                    self.tags[id(leaf), dtype] = len(self.results)
                    self.results.append(tags.as_value(tag))
        self.no_tag = len(self.results)
        self.results.append(tags.as_value(None))

    def close_second(self, names: dict[str, Any]) -> bool:
        if 1 in self.raising and 2 in self.raising:
            return self.never_ends()
        if 1 in self.raising and self.likes is None:
            self.likes = self.ends(names)
            abort()
            self.again()
            return self.open_first()
        second = self.standing(self.ended) if 2 in self.raising else self.ends(names)
        retrace = False
        matches: dict[Key, Match] = {}
        for key, value in second.items():
            leaves: list = []
            if key not in self.layout:
                if key in self.touched and self.ended.get(key, None) is UNBOUND:
                    if value is not UNBOUND:
                        raise self.differs(key, "there on one path only", (0, 1))
                elif key in self.touched:
                    retrace = True
                elif value is not UNBOUND and key in self.meta.fill:
                    self.fills[key] = (form_of(value, leaves), leaves)
                    retrace = True
                continue
            form, first, types, _ = self.layout[key]
            if value is UNBOUND and key not in self.meta.fill:
                if key in self.touched:
                    raise self.differs(key, "there on one path only", (0, 1))
                continue
            if value is UNBOUND:
                value = self.filling(form, first)
            other = form_of(value, leaves)
            try:
                match = Match(form, other, first, leaves)
            except Differ as found:
                retrace = self.list_or_fail(key, value, found, first, leaves) or retrace
                continue
            wanted = self.wanted(key, match, types)
            if wanted != types:
                self.types[key], retrace = wanted, True
            matches[key] = match
        if retrace:
            if 1 in self.raising:
                self.likes = self.ends(names)
            abort()
            self.again()
            return self.open_first()
        return self.finish(matches)

    def never_ends(self) -> bool:
        """Both branches raise: nothing that follows is reached."""
        _core.cond_of(self.test, self.block, end([]))
        self.put_back()
        self.leave()
        return self.hand(self.entry)

    def wanted(self, key: Key, match: Match, types: list) -> list:
        """The element types that both branches can give."""
        wanted = list(types)
        for i, j in match.pairs:
            try:
                wanted[i] = chosen(match.first[i], match.second[j])
            except Mismatch as fault:
                raise self.differs(key, str(fault), (0, 1)) from None
        return wanted

    def list_or_fail(self, key: Key, value: Any, found: Differ, first: list, second: list) -> bool:
        """Lists of different lengths become lists of the program; other forms are refused."""
        if self.becomes_list(key, self.ended[key], value):
            self.types.pop(key, None)
            return True
        what = f"{shown(found.a, first)} or {shown(found.b, second)}"
        raise self.differs(key, what, (0, 1))

    def finish(self, matches: dict[Key, Match]) -> bool:
        pairs = aliases.Pairs()
        for key, match in matches.items():
            _, _, types, start = self.layout[key]
            pairs.add(key, match, types, start)
        pairs.add_tags(self.tags, self.no_tag)
        second = end([tensor_of(leaf, dtype) for leaf, dtype in pairs.second])
        outputs = _core.cond_of(self.test, self.block.select(pairs.chosen), second)
        values: dict[str, Any] = {}
        known: dict[tuple[int, ...], Any] = {}
        for key, match in matches.items():
            leaf = lambda i: outputs[pairs.places[key, i]]  # noqa: B023, E731
            value = made(match.form, leaf, known=known, test=None if LOCAL.depth else self.test)
            if key in self.touched:
                self.touched[key][0].put(value)
            else:
                values[key] = value
        for name in self.meta.live - values.keys():
            self.forget(name, "only one branch of `if` binds it")
        self.leave()
        pairs.note(outputs)
        self.ended, self.layout, self.results, self.entry, self.tags = {}, {}, [], {}, {}
        return self.hand(values)
