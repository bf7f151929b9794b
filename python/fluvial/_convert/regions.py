"""Blocks of the program being built, and the state machine of `if`."""

from __future__ import annotations

import os
import threading
from typing import Any

from .. import _core
from .._retrace import SNAPSHOTS
from .._tree import leaves as tree_leaves
from .._tree import mapped
from .errors import Mismatch, log
from .lists import TensorList
from .numbers import Number, has_numbers, kind_of, tensor_among
from .trees import (
    UNBOUND,
    Tensor,
    copied,
    flatten,
    is_tensor,
    joined,
    keeps,
    merged,
    natural,
    rebuild,
    same,
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

    def given(self, part: int, name: str) -> str:
        """Where a block gives a name its value."""
        lines = self.parts[part].get(name) if part < len(self.parts) else None
        return "line " + ", ".join(map(str, sorted(lines))) if lines else f"before line {self.line}"


class _Local(threading.local):
    def __init__(self) -> None:
        self.depth = 0
        #: The control statements being traced, each with the depth it began at.
        self.regions: list[tuple[int, Region]] = []
        #: Symbols of sizes that are never zero.
        self.sizes: frozenset[str] = frozenset()
        #: Why names are unbound, for the note of an `UnboundLocalError`.
        self.lost: dict[str, str] = {}


LOCAL = _Local()


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
    while LOCAL.regions and LOCAL.regions[-1][0] >= depth:
        LOCAL.regions.pop()
    raise Mismatch(
        "an exception left a branch or loop that only the run can take, and is caught here\n"
        "  remedy: catch it inside that branch or loop, or test for its cause with `if`"
    )


class Region:
    """The names of a control statement while its blocks are traced."""

    entry: dict[str, Any]

    def __init__(self, meta: Meta) -> None:
        self.meta = meta
        self.done = False
        self.values: list = []
        self.lost: set[str] = set()
        #: Names whose entry value becomes a list of the program, or zeros, before the next trace.
        self.listed: set[str] = set()
        self.to_list: dict[str, Any] = {}
        self.to_zeros: dict[str, tuple[Any, list]] = {}
        #: Names that hold numbers which only the run knows, and their kind.
        self.as_numbers: dict[str, str] = {}
        #: Names of structures whose numbers are such, and of those that have tensors in their place.
        self.with_numbers: set[str] = set()
        self.with_tensors: set[str] = set()
        #: Names of such numbers that hold a tensor on another path, and its element type.
        self.as_tensors: dict[str, Any] = {}
        self.n_traces = 0

    def read(self, scope: dict, module: dict | None) -> dict[str, Any]:
        """The values of the names now."""
        found = {}
        self.owners: set[tuple[int, str]] = set()
        for name in self.meta.names:
            first, *attributes = name.split(".")
            names = module if module is not None and name in self.meta.globals else scope
            value = names.get(first, UNBOUND)
            for attribute in attributes:
                self.owners.add((id(value), attribute))
                value = UNBOUND if value is UNBOUND else getattr(value, attribute, UNBOUND)
            found[name] = self.as_number(name, value)
        return found

    def as_number(self, name: str, value: Any) -> Any:
        """A number as the other path needs it."""
        if name in self.with_tensors:
            return mapped(lambda x: x.typed("bool") if isinstance(x, Number) else x, value)
        if name in self.with_numbers:
            return mapped(lambda x: Number.of(x) if type(x) in (int, float) else x, value)
        kind, dtype = self.as_numbers.get(name), self.as_tensors.get(name)
        if dtype is not None and isinstance(value, Number):
            return value.typed(dtype)
        is_one = type(value) in (int, float) or isinstance(value, Number)
        return Number.of(value, kind) if kind and is_one else value

    def hand(self, values: dict[str, Any]) -> bool:
        """Has the names take these values."""
        self.lost = {name for name in self.meta.names if values.get(name, UNBOUND) is UNBOUND}
        self.values = [None if name in self.lost else values[name] for name in self.meta.names]
        return True

    def snapshot(self) -> None:
        """Notes, as tracing begins, what a further trace has to put back."""
        LOCAL.regions.append((LOCAL.depth, self))
        self.counters = [take() for take, _ in SNAPSHOTS]

    def again(self) -> None:
        """Prepares for tracing the blocks once more."""
        self.n_traces += 1
        if self.n_traces > 12:
            raise self.fault("the types of its names do not settle", "give them one type before it")
        for (_, put_back), counter in zip(SNAPSHOTS, self.counters):
            put_back(counter)
        for name, like in self.to_list.items():
            self.entry[name] = TensorList.of(self.entry[name], like)
        for name in {*self.as_numbers, *self.as_tensors, *self.with_numbers}:
            self.entry[name] = self.as_number(name, self.entry[name])
        for name, (spec, leaves) in self.to_zeros.items():
            self.entry[name] = rebuild(spec, [zeros_like(leaf) for leaf in leaves])
        self.to_list, self.to_zeros = {}, {}

    def becomes_list(self, name: str, *values: Any) -> bool:
        """A Python list whose length changes becomes a list of the program, and a number its value."""
        entry = self.entry[name]
        every = [entry, *values]
        if self.becomes_number(name, *every):
            return True
        lists = type(entry) is list and all(isinstance(x, (list, TensorList)) for x in values)
        if not lists or name in self.listed:
            return self.becomes_structure(name, every)
        if not any(isinstance(x, TensorList) or x for x in every):
            return False
        made = [x for x in every if isinstance(x, TensorList)]
        self.to_list[name] = made[0] if made else max(every, key=len)[-1]
        self.listed.add(name)
        place = (self.meta.file, self.meta.line, name)
        log("info", "%s:%d: `%s` becomes a list of the program", *place)
        return True

    def becomes_structure(self, name: str, values: list) -> bool:
        """Numbers in a structure become the run's; where the other path has tensors, they become these."""
        if name in self.with_tensors or not any(map(has_numbers, values)):
            return False
        (self.with_tensors if name in self.with_numbers else self.with_numbers).add(name)
        return True

    def becomes_number(self, name: str, *values: Any) -> bool:
        """A number of Python's that differs between paths becomes one that only the run knows."""
        values = tuple(x for x in values if x is not UNBOUND)
        like = tensor_among(*values)
        if like is not None and name not in self.as_tensors:
            self.as_tensors[name] = like.dtype
            self.as_numbers.pop(name, None)
            return True
        kind = kind_of(*values)
        if kind is None or name in self.as_tensors or self.as_numbers.get(name) in (kind, "float"):
            return False
        self.as_numbers[name] = kind
        return True

    def numbers_differ(self, name: str, first: list, second: list) -> bool:
        """Whether numbers in a structure differ between paths, so that they become the run's."""
        pairs = [(a, b) for a, b in zip(first, second) if type(a) is type(b) in (int, float)]
        if name in self.with_numbers | self.with_tensors or all(keeps(a, b) for a, b in pairs):
            return False
        self.with_numbers.add(name)
        return True

    def numbered(self, name: str, value: Any) -> bool:
        """Whether numbers in a value, for which zeros stand elsewhere, have to be the run's."""
        if name in self.with_numbers | self.with_tensors:
            return False
        if not any(type(x) in (int, float) for _, x in tree_leaves(value)):
            return False
        self.with_numbers.add(name)
        return True

    def fault(self, text: str, remedy: str) -> Mismatch:
        return Mismatch(f"{self.meta.file}:{self.meta.line}: {text}\n  remedy: {remedy}")

    def differs(
        self, name: str, what: str, parts: tuple[int, int], lines: tuple[str, str] | None = None
    ):
        """The error for a name whose values cannot be joined."""
        a, b = lines or (self.meta.given(parts[0], name), self.meta.given(parts[1], name))
        shown = "the returned value" if name.startswith("_fl_") else f"`{name}`"
        text = f"{shown} is {what}: {a} gives the one, {b} the other"
        return self.fault(text, "give it one type and shape on both paths")

    def forget(self, name: str, why: str) -> None:
        LOCAL.lost[name] = f"{self.meta.file}:{self.meta.line}: {why}"


class If(Region):
    """`if`: a plain test takes one branch; a symbolic one traces both and joins their names."""

    def __init__(self, meta: Meta, test: Any) -> None:
        super().__init__(meta)
        self.test = test
        self.symbolic = is_tensor(test)
        self.branch = test if not self.symbolic else True
        self.phase = 0
        #: The element types that the first branch has to give, by name, once known.
        self.types: dict[str, list] = {}
        self.fills: dict[str, tuple[Any, list]] = {}

    def enter(self, scope: dict, module: dict | None = None) -> bool:
        """Goes on to the next pass; says whether the names have to be taken over."""
        if not self.symbolic:
            self.done = self.phase == 1
            self.phase = 1
            return False
        if self.phase == 0:
            self.entry = self.read(scope, module)
            self.snapshot()
            return self.open_first()
        if self.phase == 1:
            self.first = self.read(scope, module)
            self.close_first()
            begin([])
            self.branch, self.phase = False, 2
            return self.hand(self.start())
        return self.close_second(self.read(scope, module))

    def start(self) -> dict[str, Any]:
        return {name: copied(value) for name, value in self.entry.items()}

    def open_first(self) -> bool:
        begin([])
        self.branch, self.phase = True, 1
        return self.hand(self.start())

    def close_first(self) -> None:
        """Closes the first branch with the types known so far; the second one may want others."""
        results: list[Any] = []
        self.layout: dict[str, tuple[Any, list, list]] = {}
        for name in sorted(self.meta.live):
            value = self.first[name]
            if value is UNBOUND and name not in self.fills:
                continue
            leaves: list = []
            if value is UNBOUND:
                spec, like = self.fills[name]
                leaves = [zeros_like(leaf) for leaf in like]
            else:
                spec = flatten(value, leaves)
            types = self.types.get(name) or [natural(leaf) for leaf in leaves]
            self.layout[name] = (spec, leaves, types)
            results += map(tensor_of, leaves, types)
        self.block = end(results)

    def close_second(self, second: dict[str, Any]) -> bool:
        results: list[Any] = []
        plan: list[Any] = []
        retrace = False
        for name in sorted(self.meta.live):
            value = second[name]
            if name not in self.layout:
                if value is not UNBOUND and name in self.meta.fill:
                    leaves: list = []
                    self.numbered(name, value)
                    self.fills[name] = (flatten(self.as_number(name, value), leaves), leaves)
                    retrace = True
                continue
            spec, first, types = self.layout[name]
            leaves = []
            if value is UNBOUND and name in self.meta.fill and self.numbered(name, self.first[name]):
                self.types.pop(name, None)
                retrace = True
                continue
            if value is UNBOUND and name in self.meta.fill:
                other, leaves = spec, [zeros_like(leaf) for leaf in first]
            elif value is UNBOUND:
                results += map(tensor_of, first_zeros(first), types)
                plan.append((name, None, len(types), None))
                continue
            else:
                other = flatten(value, leaves)
            if self.becomes_number(name, self.first[name], value):
                self.types.pop(name, None)
                retrace = True
                continue
            if not same(spec, other):
                retrace = self.list_or_fail(name, self.first[name], value) or retrace
                continue
            if self.numbers_differ(name, first, leaves):
                self.types.pop(name, None)
                retrace = True
                continue
            try:
                wanted = [
                    joined(a, b) if not keeps(a, b) else t for a, b, t in zip(first, leaves, types)
                ]
            except Mismatch as fault:
                raise self.differs(name, str(fault), (0, 1)) from None
            if wanted != types:
                self.types[name], retrace = wanted, True
                continue
            results += map(tensor_of, leaves, wanted)
            kept = [a if keeps(a, b) else None for a, b in zip(first, leaves)]
            plan.append((name, merged(spec, other), len(wanted), kept))
        if retrace:
            abort()
            self.again()
            return self.open_first()
        return self.finish(end(results), plan)

    def list_or_fail(self, name: str, a: Any, b: Any) -> bool:
        """Lists of different lengths become lists of the program; other forms are refused."""
        if self.becomes_list(name, a, b):
            self.types.pop(name, None)
            return True
        what = f"{_form(a)} or {_form(b)}"
        raise self.differs(name, what, (0, 1))

    def finish(self, block: _core.Block, plan: list) -> bool:
        outputs = _core.cond_of(self.test, self.block, block)
        values: dict[str, Any] = {}
        for name, spec, count, kept in plan:
            own, outputs = outputs[:count], outputs[count:]
            if spec is None:
                self.forget(name, "only one branch binds it")
                continue
            leaves = [new if old is None else old for new, old in zip(own, kept)]
            unchanged = all(old is not None for old in kept) and _as_before(
                self.entry[name], kept, spec
            )
            values[name] = self.entry[name] if unchanged else rebuild(spec, leaves)
        for name in self.meta.live - values.keys():
            self.forget(name, "only one branch of `if` binds it")
        self.done = True
        LOCAL.regions.pop()
        return self.hand(values)


def first_zeros(leaves: list) -> list:
    return [zeros_like(leaf) for leaf in leaves]


def _as_before(entry: Any, kept: list, spec: Any) -> bool:
    leaves: list = []
    form = flatten(entry, leaves) if entry is not UNBOUND else None
    return form is not None and same(form, spec) and all(map(keeps, leaves, kept))


def _form(value: Any) -> str:
    if type(value) is list or type(value) is tuple:
        return f"a {type(value).__name__} of {len(value)}"
    return getattr(value, "type_text", None) or repr(value)
