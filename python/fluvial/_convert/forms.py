"""The forms of values: what stands where in nested containers, and how the values of two paths are matched.

A form refers to tensors and numbers by their place in a list of leaves, so that the leaves of a block can be
chosen after it was traced. It remembers the containers it was made of: a container that both paths have is
the same object afterwards, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tree import children, remade
from . import journal
from .errors import Mismatch
from .fixed import Fixed
from .trees import is_leaf, is_tensor, keeps, zeros_like


class Leaf:
    """A tensor or a number: the leaf of this number."""

    def __init__(self, number: int) -> None:
        self.number = number


class Kept:
    """A value that stays what it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Node:
    """A container, made of the parts with these keys."""

    def __init__(self, kind: Any, keys: tuple | None, parts: list, source: Any) -> None:
        self.kind, self.keys, self.parts, self.source = kind, keys, parts, source
        #: The containers that it may be, if only the run knows which.
        self.sources: tuple = ()


class Rows:
    """A list of the program, whose columns are leaves."""

    def __init__(self, numbers: range, source: Any) -> None:
        self.numbers, self.source = numbers, source
        self.sources: tuple = ()


Form = Leaf | Kept | Node | Rows


def form_of(value: Any, leaves: list, deep: bool = True) -> Form:
    """The form of a value; its tensors and numbers are appended to `leaves`.

    Args:
        value: The value.
        leaves: What the form refers to.
        deep: Whether to look into lists and dicts inside of it, too. Without, they stay the objects they are.
    """
    return _form(value, leaves, deep, ())


def _form(value: Any, leaves: list, deep: bool, above: tuple) -> Form:
    if is_leaf(value):
        leaves.append(value)
        return Leaf(len(leaves) - 1)
    if hasattr(type(value), "_fl_with") and (deep or not above):
        first = len(leaves)
        leaves += value._fl_lists
        return Rows(range(first, len(leaves)), value)
    parts = children(value)
    if parts is None or (not deep and above and not isinstance(value, tuple)):
        return Kept(value)
    if any(value is other for other in above):
        raise Mismatch(f"a {type(value).__name__} contains itself")
    inner = [_form(part, leaves, deep, (*above, value)) for _, part in parts]
    keys = None if isinstance(value, (list, tuple)) else tuple(key for key, _ in parts)
    return Node(type(value), keys, inner, value)


class Differ(Exception):
    """Two forms differ: `a` and `b` are the parts that do."""

    def __init__(self, a: Form, b: Form) -> None:
        super().__init__()
        self.a, self.b = a, b


class Match:
    """Two forms of one value, part by part."""

    def __init__(self, a: Form, b: Form, first: list, second: list) -> None:
        self.first, self.second = first, second
        #: The numbers of leaves that differ, one of each form.
        self.pairs: list[tuple[int, int]] = []
        self.form = self._joined(a, b)

    def _joined(self, a: Form, b: Form) -> Form:
        if isinstance(a, Leaf) and isinstance(b, Leaf):
            one, two = self.first[a.number], self.second[b.number]
            if keeps(one, two):
                return Kept(one)
            return self._pair(a.number, b.number)
        if isinstance(a, Kept) and isinstance(b, Kept):
            if same_value(a.value, b.value):
                return a
        elif isinstance(a, Node) and isinstance(b, Node):
            if a.source is b.source:
                return Kept(a.source)
            if a.kind is b.kind and a.keys == b.keys and len(a.parts) == len(b.parts):
                parts = list(map(self._joined, a.parts, b.parts))
                node = Node(a.kind, a.keys, parts, None)
                node.sources = (a.source, b.source)
                return node
        elif isinstance(a, Rows) and isinstance(b, Rows):
            if a.source is b.source:
                return Kept(a.source)
            if len(a.numbers) == len(b.numbers):
                source = a.source._fl_merged(b.source)
                pairs = [self._pair(i, j).number for i, j in zip(a.numbers, b.numbers)]
                rows = Rows(range(pairs[0], pairs[0] + len(pairs)), source)
                rows.sources = (a.source, b.source)
                return rows
        raise Differ(a, b)

    def _pair(self, a: int, b: int) -> Leaf:
        self.pairs.append((a, b))
        return Leaf(len(self.pairs) - 1)


def same_value(a: Any, b: Any) -> bool:
    """Whether two values that are not leaves are the same to whoever looks."""
    if a is b:
        return True
    plain = (str, bytes, type(None), range, slice, frozenset, Fixed)
    return type(a) is type(b) in plain and a == b


def made(
    form: Form,
    leaf: Callable[[int], Any],
    rows: Callable[[Any], Any] = lambda rows: rows,
    known: dict[tuple[int, ...], Any] | None = None,
    test: Any = None,
) -> Any:
    """The value of a form, given its leaves by number. Its containers are new.

    Args:
        form: The form.
        leaf: Gives a leaf.
        rows: What becomes of lists of the program.
        known: By identity of the containers that one may be: what stands for them. It is filled.
        test: Says which of two containers one is, where that is known outside of all blocks.
    """
    if isinstance(form, Leaf):
        return leaf(form.number)
    if isinstance(form, Kept):
        return form.value
    both = tuple(map(id, form.sources))
    if both and known is not None and both in known:
        return known[both]
    if isinstance(form, Rows):
        value = rows(form.source._fl_with([leaf(number) for number in form.numbers]))
    else:
        value = remade(form.kind, form.keys, [made(part, leaf, rows, known, test) for part in form.parts])
    if both and known is not None:
        known[both] = value
        journal.stands_for(value, *form.sources, test=test)
    return journal.made(value)


def with_kept(form: Form, number: int, is_content: bool = False) -> Form:
    """The form with containers from before a moment as they are: what changes in them is noted by itself.

    Args:
        form: The form.
        number: The number of the moment.
        is_content: Whether it is the form of an object's content, of which only the parts count.
    """
    if isinstance(form, (Leaf, Kept)):
        return form
    source: Any = form.source
    if not is_content and not isinstance(source, tuple) and not journal.made_since(source, number):
        return Kept(source)
    if isinstance(form, Node):
        form.parts = [with_kept(part, number) for part in form.parts]
    return form


def leaves_of(form: Form) -> set[int]:
    """The numbers of the leaves that a form refers to."""
    if isinstance(form, Leaf):
        return {form.number}
    if isinstance(form, Node):
        return {number for part in form.parts for number in leaves_of(part)}
    return set(form.numbers) if isinstance(form, Rows) else set()


def stand_in(value: Any, number: int, is_content: bool = False) -> Any:
    """What stands for a value of another block where nobody sees it: what was there before is the same, and zeros
    stand for tensors that were made since the moment of this number."""
    leaves: list = []
    form = with_kept(form_of(value, leaves, not is_content), number, is_content)

    def leaf(i: int) -> Any:
        is_new = is_tensor(leaves[i]) and journal.made_since(leaves[i], number)
        return zeros_like(leaves[i]) if is_new else leaves[i]

    return made(form, leaf)


def n_sources(form: Form, own: int) -> int:
    """How often a form keeps a container that it was made of, given by its identity."""
    if isinstance(form, Node):
        return (id(form.source) == own) + sum(n_sources(part, own) for part in form.parts)
    if isinstance(form, Leaf):
        return 0
    return int(id(form.value if isinstance(form, Kept) else form.source) == own)


def shown(form: Form, leaves: list) -> str:
    """A form as messages show it."""
    if isinstance(form, Node):
        return f"a {form.kind.__name__} of {len(form.parts)}"
    if isinstance(form, Rows):
        return repr(form.source)
    value = leaves[form.number] if isinstance(form, Leaf) else form.value
    if isinstance(value, Fixed):
        return "with some elements"
    if isinstance(value, frozenset):
        return repr(set(value))
    return getattr(value, "type_text", None) or repr(value)
