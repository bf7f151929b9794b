"""Nested values: what is a tensor, what is a container, and how trees of them are taken apart and made again.

Containers are lists, tuples (also named ones), dicts, `OrderedDict`s, dataclasses, and classes that were registered. Everything
else is a leaf, or an object that only Python knows.
"""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeGuard

Tensor = _core.Tensor

#: What stands for a leaf in the form of a tree.
LEAF = "*"


class Size(int):
    """The number of elements of a tensor. Called as PyTorch's `x.size(0)`, it gives sizes."""

    shape: tuple

    def __new__(cls, number: int, shape: tuple) -> Size:
        size = int.__new__(cls, number)
        size.shape = shape
        return size

    def __call__(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def __reduce__(self) -> Any:
        return int, (int(self),)


def is_tensor(value: Any) -> TypeGuard[Tensor]:
    """Whether a value is a tensor, also one of a class derived from it."""
    return isinstance(value, Tensor)


def is_parameter(value: Any) -> bool:
    """Whether a tensor is a parameter."""
    return type(value) is not Tensor and hasattr(value, "is_trainable")


def is_size(size: Any, number: int) -> bool:
    """Whether a size is this number; one that a program leaves open is none."""
    return isinstance(size, int) and size == number


def same_sizes(a: Any, b: Any) -> bool:
    """Whether sizes or shapes are the same; open ones only if they are always."""
    return repr(a) == repr(b)


def is_array(value: Any) -> bool:
    """Whether a value is an array of numpy, which need not be loaded."""
    kind = type(value)
    return kind.__module__ == "numpy" and kind.__name__ == "ndarray"


def children(value: Any) -> list[tuple[Any, Any]] | None:
    """The parts of a container, each with its key or place; None for what is none.

    Example:
        >>> from fluvial._tree import children
        >>> children({"a": 1}), children((2, 3)), children(4)
        ([('a', 1)], [(0, 2), (1, 3)], None)
    """
    kind = type(value)
    if kind is list or isinstance(value, tuple):
        return list(enumerate(value))
    if kind is dict or kind.__name__ == "OrderedDict":
        return list(value.items())
    if hasattr(kind, "__dataclass_fields__"):
        return [(name, getattr(value, name)) for name in kind.__dataclass_fields__ if hasattr(value, name)]
    if kind in REGISTERED:
        return list(REGISTERED[kind][0](value))
    return None


#: By class: what gives the parts of an object with their keys, and what makes one of keys and parts.
REGISTERED: dict[type, tuple[Callable[[Any], Any], Callable[[list, list], Any]]] = {}


def register_container(
    kind: type, parts: Callable[[Any], Any], make: Callable[[list, list], Any]
) -> None:
    """Has objects of a class taken apart where they are arguments or results of functions, as lists and dicts are.

    Args:
        kind: The class.
        parts: Gives the parts of an object: pairs of a key and a value.
        make: Makes an object of keys and values, both lists.

    Example:
        >>> class Pair:
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        >>> fl.register_container(Pair, lambda p: [("a", p.a), ("b", p.b)], lambda keys, parts: Pair(*parts))
        >>> @fl.function
        ... def swapped(pair):
        ...     return Pair(pair.b, pair.a)
        >>> swapped(Pair(fl.tensor(1.0), fl.tensor(2.0))).a.item()
        2.0
    """
    REGISTERED[kind] = (parts, make)


def remade(kind: Any, keys: Any, parts: list) -> Any:
    """A container of a kind, from keys and parts as `children` gives them."""
    if hasattr(kind, "_fields"):
        return kind(*parts)
    if hasattr(kind, "__dataclass_fields__"):
        made = object.__new__(kind)
        for key, part in zip(keys, parts):
            object.__setattr__(made, key, part)
        return made
    if kind in REGISTERED:
        return REGISTERED[kind][1](list(keys), parts)
    return kind(parts) if issubclass(kind, (list, tuple)) else kind(zip(keys, parts))


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same containers with what a function makes of each leaf.

    Example:
        >>> from fluvial._tree import mapped
        >>> mapped(lambda x: x + 1, {"a": [1, (2,)]})
        {'a': [2, (3,)]}
    """
    parts = children(value)
    if parts is None:
        return function(value)
    made = [mapped(function, part) for _, part in parts]
    return remade(type(value), [key for key, _ in parts], made)


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """All leaves, each with the keys and places that lead to it.

    Example:
        >>> from fluvial._tree import leaves
        >>> list(leaves({"a": [1, (2,)]}))
        [(('a', 0), 1), (('a', 1, 0), 2)]
    """
    parts = children(value)
    if parts is None:
        yield path, value
        return
    for key, part in parts:
        yield from leaves(part, (*path, key))


def with_tensors(values: Any) -> Any:
    """Containers with tensors in the place of arrays of numpy.

    Example:
        >>> from fluvial._tree import with_tensors
        >>> with_tensors((np.zeros(2), 3))[0].dtype
        fluvial.float64
    """
    if not values or not any(is_array(leaf) for _, leaf in leaves(values)):
        return values
    return mapped(lambda leaf: _core.tensor(leaf) if is_array(leaf) else leaf, values)


class Opaque:
    """An object that only Python knows, in the form of a tree."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Opaque):
            return False
        if self.value is other.value:
            return True
        plain = (str, bytes, type(None), range, slice, frozenset)
        return type(self.value) is type(other.value) in plain and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


def flatten(value: Any, found: list, is_leaf: Callable[[Any], bool]) -> Any:
    """Appends the leaves of a value to `found`; returns its form: what remains of it.

    A list whose elements a program keeps (it has `_fl_lists`) is as many leaves as these are.
    """
    if is_leaf(value):
        found.append(value)
        return LEAF
    if hasattr(type(value), "_fl_with"):
        found += value._fl_lists
        return (type(value), value._fl_spec, len(value._fl_lists), value)
    parts = children(value)
    if parts is None:
        return Opaque(value)
    keys = None if isinstance(value, (list, tuple)) else tuple(key for key, _ in parts)
    return (type(value), keys, [flatten(part, found, is_leaf) for _, part in parts], None)


def rebuild(form: Any, found: list) -> Any:
    """The value of a form, from leaves that are taken from the front of `found`."""
    if isinstance(form, str):
        return found.pop(0)
    if isinstance(form, Opaque):
        return form.value
    kind, keys, parts, value = form
    if value is not None:
        return value._fl_with([found.pop(0) for _ in range(parts)])
    return remade(kind, keys, [rebuild(part, found) for part in parts])
