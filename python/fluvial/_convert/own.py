"""Operators of the user's classes: Python calls their methods by itself, so these are looked up here, and converted."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from .._tree import is_tensor
from .source import convert, wanted

_PLAIN = frozenset({int, float, bool, str, bytes, complex, type(None), list, dict, tuple, set, range, slice})
#: The methods of operators, by the names of these in the syntax tree.
_NAMES = dict(
    Add="add", Sub="sub", Mult="mul", Div="truediv", FloorDiv="floordiv", Mod="mod", Pow="pow", MatMult="matmul",
    BitAnd="and", BitOr="or", BitXor="xor", LShift="lshift", RShift="rshift",
)  # fmt: skip
_COMPARED = {"Lt": ("lt", "gt"), "LtE": ("le", "ge"), "Gt": ("gt", "lt"), "GtE": ("ge", "le"), "Eq": ("eq", "eq"), "NotEq": ("ne", "ne")}


def method(value: Any, name: str) -> Callable[..., Any] | None:
    """A method that Python calls for an object of a class of the user's, converted and bound; nothing for others."""
    kind = type(value)
    if kind in _PLAIN or is_tensor(value):
        return None
    found = getattr(kind, name, None)
    if name in ("__getattr__", "__setattr__") and hasattr(kind, "_fl_options"):
        # Layers note their attributes themselves.
        return None
    if not isinstance(found, types.FunctionType) or not wanted(found):
        return None
    if found.__code__.co_filename.startswith("<"):
        # Dataclasses write methods that have no lines.
        return None
    return types.MethodType(convert(found), value)


def has(value: Any, name: str) -> bool:
    """Whether an object has an attribute without asking its `__getattr__`."""
    try:
        object.__getattribute__(value, name)
    except AttributeError:
        return False
    return True


def binary(operator: str, a: Any, b: Any) -> Any:
    """`a + b` and so on by methods of the user's classes; NotImplemented if they have none for it."""
    name = _NAMES.get(operator, "")
    return _either(a, b, f"__{name}__", f"__r{name}__")


def in_place(operator: str, a: Any, b: Any) -> Any:
    """`a += b` and so on by methods of the user's classes; NotImplemented if they have none for it."""
    own = method(a, f"__i{_NAMES.get(operator, '')}__")
    result = NotImplemented if own is None else own(b)
    return binary(operator, a, b) if result is NotImplemented else result


def compared(operator: str, a: Any, b: Any) -> Any:
    """`a < b` and so on by methods of the user's classes; NotImplemented if they have none for it."""
    first, second = _COMPARED.get(operator, ("", ""))
    if operator == "NotEq" and method(a, "__ne__") is None and method(a, "__eq__") is not None:
        return NotImplemented
    return _either(a, b, f"__{first}__", f"__{second}__")


def _either(a: Any, b: Any, first: str, second: str) -> Any:
    own = method(a, first)
    if own is not None:
        result = own(b)
        if result is not NotImplemented:
            return result
    other = method(b, second)
    if other is None:
        return NotImplemented
    if own is None:
        # What stands left is asked first, and does not know the other.
        left: Any = getattr(type(a), first, None)
        result = NotImplemented if left is None else left(a, b)
        if result is not NotImplemented:
            return result
    return other(a)
