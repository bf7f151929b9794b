"""The signature of a call: what about its arguments decides which program it takes."""

from __future__ import annotations

from ._core import Tensor
from ._tree import children, is_tensor, leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    #: Numbers among arguments, by the keys and places that lead to them.
    Numbers: TypeAlias = list[tuple[tuple, int | float]]

PLAIN = (int, bool, str, bytes, type(None))


def quick_key(args: tuple, kwargs: dict[str, Any], tensors: list[Tensor]) -> tuple | None:
    """The signature of arguments without structure, as they were given, or nothing."""
    parts: list = [*kwargs]
    for value in (*args, *kwargs.values()) if kwargs else args:
        if is_tensor(value):
            tensors.append(value)
            parts.append(value.type_text)
        elif type(value).__module__ == "numpy" or children(value) is not None:
            return None
        else:
            parts.append(own_key(value))
    if len(tensors) > 1 and len(set(map(id, tensors))) < len(tensors):
        return None
    return tuple(parts)


class _Mark:
    """What stands for an open number in a signature."""


_MARKS = {int: _Mark(), float: _Mark()}


def without_numbers(args: tuple, kwargs: dict[str, Any], opens: set, numbers: list) -> tuple[tuple, dict[str, Any]]:
    """The arguments with marks in the place of open numbers.

    Args:
        args: The arguments by place.
        kwargs: The arguments by name.
        opens: The places and names of numbers that are open.
        numbers: Gets all numbers.
    """

    def marked(place: Any, value: Any) -> Any:
        if type(value) not in _MARKS:
            return value
        numbers.append(value)
        return _MARKS[type(value)] if place in opens else value

    return tuple(map(marked, range(len(args)), args)), {name: marked(name, x) for name, x in kwargs.items()}


def own_key(value: Any) -> tuple:
    """The signature of an object without parts: a value, or itself and what about it changes the program."""
    kind = type(value)
    if kind in PLAIN:
        return (kind, value)
    if kind is float:
        return (kind, exact(value))
    if hasattr(value, "_fl_key"):
        return (id(value), value._fl_key())
    return (id(value), getattr(value, "training", None))


def exact(number: Any) -> Any:
    """A number so that equal ones are the same: zero has two signs, which are equal."""
    return repr(number) if type(number) is float else number


def full_key(arguments: dict[str, Any], tensors: list[Tensor], numbers: Numbers | None = None) -> tuple:
    """The signature of arguments by name: types of tensors and numbers, and everything else by value or identity. A tensor, or
    a container, that is given twice counts as such.

    Args:
        arguments: The arguments.
        tensors: Gets the tensors.
        numbers: Gets the numbers.
    """
    known: dict[int, int] = {}
    key = _key(arguments, (), tensors, [] if numbers is None else numbers, known)
    first = {id(tensor): i for i, tensor in reversed(list(enumerate(tensors)))}
    twice = tuple((i, first[id(tensor)]) for i, tensor in enumerate(tensors) if first[id(tensor)] != i)
    return (key, twice) if twice else (key,)


def _key(value: Any, path: tuple, tensors: list[Tensor], numbers: Numbers, known: dict[int, int]) -> Any:
    if is_tensor(value):
        tensors.append(value)
        return (Tensor, value.dtype, value.ndim)
    parts = children(value)
    if parts is None:
        if type(value) in _MARKS:
            numbers.append((path, value))
            return type(value)
        return own_key(value)
    if id(value) in known and not isinstance(value, tuple):
        return ("again", known[id(value)])
    known[id(value)] = len(known)
    return (type(value), *[(key, _key(part, (*path, key), tensors, numbers, known)) for key, part in parts])


class Given:
    """The arguments of a call, taken apart."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.tensors: list[Tensor] = []
        self.numbers: Numbers = []
        #: The signature without the values of numbers.
        self.form = full_key(values, self.tensors, self.numbers)
        self.shapes = tuple(tensor.shape for tensor in self.tensors)

    @property
    def all_numbers(self) -> list:
        """The values of the numbers."""
        return [number for _, number in self.numbers]

    def key(self, opens: frozenset[int]) -> tuple:
        """The signature, in which some numbers are left open."""
        return (self.form, tuple(None if i in opens else exact(x) for i, (_, x) in enumerate(self.numbers)))

    def changed_since(self, former: list) -> frozenset[int]:
        """The numbers that had other values before."""
        pairs = enumerate(zip(self.all_numbers, former))
        return frozenset(i for i, (now, before) in pairs if exact(now) != exact(before))

    def shown(self, number: int) -> str:
        """What messages call a number."""
        name, *keys = self.numbers[number][0]
        return name + "".join(f"[{key!r}]" for key in keys)


def input_names(arguments: dict[str, Any]) -> list[str]:
    """Names for the tensors of arguments: that of the argument, with the place of a part behind it."""
    names: list[str] = []
    for path, value in leaves(arguments):
        if not is_tensor(value):
            continue
        name = "_".join(map(str, path))
        name = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        # Tensors from outside are `captured0`, `captured1`, …
        name += "_" * name.startswith("captured")
        while name in names:
            name += "_"
        names.append(name)
    return names


def open_sizes(pattern: tuple, shapes: Iterable[tuple]) -> dict[str, int]:
    """The sizes of a call that a pattern leaves open."""
    pairs = [pair for p, shape in zip(pattern, shapes) for pair in zip(p, shape)]
    return {name: size for name, size in pairs if isinstance(name, str)}


def size_places(pattern: tuple, names: Iterable[str]) -> set[tuple[int, int]]:
    """Where sizes of these names stand in a pattern: the number of the input and of the axis."""
    sizes = [(i, axis, size) for i, p in enumerate(pattern) for axis, size in enumerate(p)]
    return {(i, axis) for i, axis, size in sizes if size in names}


def pattern_of(seen: list[tuple], shapes: tuple, fixed: set[tuple[int, int]]) -> tuple:
    """Sizes that were different before become symbols; those that went together share one."""
    usable = [
        other
        for other in seen
        if all(
            a == b or (a > 1 and b > 1) for one, two in zip(other, shapes) for a, b in zip(one, two)
        )
    ]
    symbols: dict[tuple, str] = {}
    pattern = []
    for i, shape in enumerate(shapes):
        dims: list[int | str] = []
        for axis, size in enumerate(shape):
            sizes = tuple(other[i][axis] for other in usable)
            if len(set(sizes)) == 1 or (i, axis) in fixed:
                dims.append(size)
            else:
                dims.append(symbols.setdefault(sizes, f"n{len(symbols)}"))
        pattern.append(tuple(dims))
    return tuple(pattern)
