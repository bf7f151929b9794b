"""Values of names as trees of tensors and numbers, and how two of them are joined."""

from __future__ import annotations

import functools
from typing import Any

from .. import _core, _tree
from .._tree import Tensor, is_tensor, rebuild
from .errors import Mismatch

# Names that the rest of the package takes from here.
__all__ = ["Tensor", "is_tensor", "rebuild"]


class _Unbound:
    def __repr__(self) -> str:
        return "<unbound>"


#: What stands for a name that is not bound.
UNBOUND = _Unbound()


def is_number(value: Any) -> bool:
    """Whether a value is a Python number, which has no element type of its own."""
    return type(value) in (bool, int, float)


#: The types of sizes that only a run knows.
OPEN_SIZE = (str, _core.Dim)


def is_symbolic(value: Any) -> bool:
    """Whether a value is known only when the program runs."""
    return is_tensor(value) and value.is_symbolic


def is_leaf(value: Any) -> bool:
    """Whether a value is a tensor or a number."""
    return is_tensor(value) or is_number(value)


def flatten(value: Any, leaves: list) -> Any:
    """Appends the tensors and numbers of a value to `leaves`; returns what remains of it."""
    return _tree.flatten(value, leaves, is_leaf)


def same(a: Any, b: Any) -> bool:
    """Whether two trees have the same form."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        if a[0] is not b[0] or a[1] != b[1] or (a[3] is None) != (b[3] is None):
            return False
        if a[3] is not None:
            return a[2] == b[2]
        return len(a[2]) == len(b[2]) and all(map(same, a[2], b[2]))
    return type(a) is type(b) and a == b


def merged(a: Any, b: Any) -> Any:
    """One of two trees of the same form; lists keep a length only if both have it."""
    if not isinstance(a, tuple):
        return a
    if a[3] is None:
        return (a[0], a[1], list(map(merged, a[2], b[2])), None)
    return (*a[:3], a[3]._fl_merged(b[3]))


def copied(value: Any) -> Any:
    """A copy of the lists and dicts in a value, so that changing it leaves the original alone."""
    kind = type(value)
    if kind is list:
        return [copied(part) for part in value]
    if kind is dict:
        return {key: copied(part) for key, part in value.items()}
    if hasattr(value, "_fl_lists"):
        return value._fl_with(list(value._fl_lists))
    return value


def keeps(a: Any, b: Any) -> bool:
    """Whether two leaves are the same, so that nothing has to be chosen at run time."""
    return a is b or (is_number(a) and type(a) is type(b) and a == b)


@functools.lru_cache(maxsize=1024)
def promoted(a: Any, b: Any) -> Any:
    """The element type of two that meet."""
    if a == b:
        return a
    with _core.imperative():
        return _core.where(_core.tensor(True), _core.zeros((), a), _core.zeros((), b)).dtype


def natural(leaf: Any) -> Any:
    """The element type of a leaf by itself."""
    return leaf.dtype if is_tensor(leaf) else _core.tensor(leaf).dtype


def joined(a: Any, b: Any) -> Any:
    """The element type of either leaf, or a `Mismatch` that says what differs."""
    list_a, list_b = _list_type(a), _list_type(b)
    if list_a or list_b:
        if list_a != list_b:
            raise Mismatch(f"{type_text(a)} and {type_text(b)}")
        return a.dtype
    if shape(a) != shape(b):
        raise Mismatch(f"{type_text(a)} and {type_text(b)}")
    if is_number(a) and is_number(b):
        both = a + 0 * b if type(a) is not type(b) or type(a) is not bool else a
        return natural(type(both)(0) if type(both) is not bool else both)
    if is_number(a) or is_number(b):
        number, tensor = (a, b) if is_number(a) else (b, a)
        floats = ("float16", "bfloat16", "float32", "float64")
        if type(number) is bool or tensor.dtype in floats:
            if tensor.dtype == "bool" or type(number) is not bool:
                return tensor.dtype
            raise Mismatch(f"{type_text(a)} and {type_text(b)}")
        if type(number) is float:
            return _core.float32
        return tensor.dtype if tensor.dtype != "bool" else _core.int64
    if (a.dtype == "bool") != (b.dtype == "bool"):
        raise Mismatch(f"{type_text(a)} and {type_text(b)}")
    return a.dtype if a.dtype == b.dtype else promoted(a.dtype, b.dtype)


def _list_type(leaf: Any) -> str | None:
    text = leaf.type_text if is_tensor(leaf) else ""
    return text if text.startswith("list") else None


def shape(leaf: Any) -> tuple:
    """The sizes of a leaf."""
    return leaf.shape if is_tensor(leaf) else ()


def type_text(leaf: Any) -> str:
    """The type of a leaf as messages show it."""
    return leaf.type_text if is_tensor(leaf) else f"the number {leaf!r}"


def tensor_of(leaf: Any, dtype: Any) -> Tensor:
    """A leaf as a tensor of an element type."""
    if not is_tensor(leaf):
        return _core.tensor(leaf, dtype)
    return leaf if leaf.dtype == dtype or _list_type(leaf) else _core.cast(leaf, dtype)


def zeros_like(leaf: Any) -> Any:
    """What stands for a leaf where its value does not matter."""
    if not is_tensor(leaf):
        return type(leaf)(0)
    text = _list_type(leaf)
    if text:
        return _core.list_new(text.removeprefix("list "))
    return _core.zeros(leaf.shape, leaf.dtype)
