"""Values of names as trees of tensors and numbers, and how two of them are joined."""

from __future__ import annotations

import functools
import math
import threading
from typing import Any

from .. import _core, _numbers, _tree
from .._fault import fault
from .._opens import Open, closed
from .._tree import Tensor, is_tensor, rebuild
from .errors import Mismatch

# Names that the rest of the package takes from here.
__all__ = ["Tensor", "is_tensor", "rebuild"]


class _Unbound:
    def __repr__(self) -> str:
        return "<unbound>"


#: What stands for a name that is not bound.
UNBOUND = _Unbound()


class Doubts(threading.local):
    """Numbers that met tensors in the trace of a loop. They are faults only if they are still numbers when the
    types of the loop have settled."""

    def __init__(self) -> None:
        self.found: list[Mismatch] | None = None


DOUBTS = Doubts()


def is_number(value: Any) -> bool:
    """Whether a value is a Python number that is known now, or open, or an open size."""
    return type(value) in (bool, int, float, _core.Dim, Open)


#: The type of sizes that only a run knows.
OPEN_SIZE = _core.Dim


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


def keeps(a: Any, b: Any) -> bool:
    """Whether two leaves are the same, so that nothing has to be chosen at run time."""
    if a is b:
        return True
    if type(a) is Open or type(b) is Open:
        return False
    if type(a) is _core.Dim:
        return type(b) is _core.Dim and repr(a) == repr(b)
    same = is_number(a) and type(a) is type(b) and a == b
    # Zero has two signs, which are equal.
    return same and math.copysign(1.0, a) == math.copysign(1.0, b)


@functools.lru_cache(maxsize=1024)
def promoted(a: Any, b: Any) -> Any:
    """The element type of two that meet."""
    if a == b:
        return a
    with _core.imperative():
        return _core.where(_core.tensor(True), _core.zeros((), a), _core.zeros((), b)).dtype


def natural(leaf: Any) -> Any:
    """The type of a leaf by itself: `bool`, `int` or `float` for a number, the element type of a tensor."""
    return _numbers.kind(leaf) if _numbers.is_number(leaf) else leaf.dtype


def joined(a: Any, b: Any) -> Any:
    """The type of either leaf, as `natural` has it, or a `Mismatch` that says what differs."""
    a, b = closed(a), closed(b)
    list_a, list_b = _list_type(a), _list_type(b)
    if list_a or list_b:
        if list_a != list_b:
            raise Mismatch(f"{type_text(a)} and {type_text(b)}")
        return a.dtype
    if shape(a) != shape(b):
        raise Mismatch(f"{type_text(a)} and {type_text(b)}")
    # A size is a number of the program.
    a, b = (_numbers.number(x, int) if type(x) is _core.Dim else x for x in (a, b))
    if _numbers.is_number(a) and _numbers.is_number(b):
        kinds = _numbers.kind(a), _numbers.kind(b)
        if (kinds[0] is bool) != (kinds[1] is bool):
            raise Mismatch(f"{type_text(a)} and {type_text(b)}")
        return _numbers.widest(*kinds)
    if _numbers.is_number(a) or _numbers.is_number(b):
        number, tensor = (a, b) if _numbers.is_number(a) else (b, a)
        if is_exact(number, tensor.dtype):
            return tensor.dtype
        if not is_tensor(number) or _numbers.kind(number) is bool or tensor.dtype == "bool":
            raise Mismatch(f"{type_text(a)} and {type_text(b)}")
        if DOUBTS.found is None:
            raise Mismatch(f"{type_text(a)} and {type_text(b)}")
        what = f"a value is {type_text(a)} or {type_text(b)}, and only the run knows which"
        DOUBTS.found.append(fault(Mismatch, what, "make a tensor of the number with `fl.tensor`"))
        to_float = _numbers.kind(number) is not int and not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
        return _core.float32 if to_float else tensor.dtype
    if (a.dtype == "bool") != (b.dtype == "bool"):
        raise Mismatch(f"{type_text(a)} and {type_text(b)}")
    return a.dtype if a.dtype == b.dtype else promoted(a.dtype, b.dtype)


def chosen(a: Any, b: Any) -> Any:
    """`joined`, for values of which a choice gives one: two tensors have one element type, which is that of the result."""
    dtype = joined(a, b)
    if is_tensor(a) and is_tensor(b) and not (a._is_number or b._is_number) and a.dtype != b.dtype:
        raise Mismatch(f"{type_text(a)} and {type_text(b)}")
    return dtype


def is_exact(number: Any, dtype: Any) -> bool:
    """Whether a tensor of this element type can stand for a number, and nobody sees a difference in its value."""
    kind = _numbers.kind(number)
    if kind is bool or dtype == "bool":
        return kind is bool and dtype == "bool"
    if kind not in (int, bool) and not dtype.is_floating_point:
        return False
    if is_tensor(number):
        return dtype == ("int64" if kind is int else "float64")
    return _survives(repr(number), dtype)


@functools.lru_cache(maxsize=1024)
def _survives(number: str, dtype: Any) -> bool:
    value = float(number)
    try:
        with _core.imperative():
            kept = _core.tensor(float(number) if "." in number or "e" in number else int(number), dtype)
    except ValueError:
        return math.isnan(value) or math.isinf(value)
    return kept.item() == value


def _list_type(leaf: Any) -> str | None:
    text = leaf.type_text if is_tensor(leaf) else ""
    return text if text.startswith("list") else None


def shape(leaf: Any) -> tuple:
    """The sizes of a leaf; open ones by name, which are equal only if they are always."""
    if not is_tensor(leaf):
        return ()
    return tuple(repr(size) if type(size) is _core.Dim else size for size in leaf.shape)


def type_text(leaf: Any) -> str:
    """The type of a leaf as messages show it."""
    leaf = closed(leaf)
    if not is_tensor(leaf):
        return f"the number {leaf!r}"
    if not leaf._is_number:
        return leaf.type_text
    kind = _numbers.kind(leaf)
    return "a Python int or float" if kind is _numbers.Either else f"a Python {kind.__name__}"


def tensor_of(leaf: Any, dtype: Any) -> Tensor:
    """A leaf as a value of the program: a number of a kind, or a tensor of an element type."""
    if dtype in _numbers.DTYPES:
        return _numbers.number(leaf, dtype)
    if _numbers.is_number(leaf):
        return _core.tensor(closed(leaf), dtype)
    return leaf if leaf.dtype == dtype or _list_type(leaf) else _core.cast(leaf, dtype)


def zeros_like(leaf: Any) -> Any:
    """What stands for a leaf where its value does not matter."""
    if _numbers.is_number(leaf):
        return _numbers.kind(leaf)(0)
    text = _list_type(leaf)
    if text:
        return _core.list_new(text.removeprefix("list "))
    return _core.zeros(leaf.shape, leaf.dtype)
