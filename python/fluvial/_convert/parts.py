"""Parts of tensors at places that only the run knows: `x[i:i + 2]`, `x[:n]`, `x[i, j:] = v`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._checks import must
from .._fault import fault
from .trees import Tensor, is_symbolic, is_tensor

_WHOLE = slice(None)


class Window:
    """`start:start + size`, where the size is known."""

    def __init__(self, start: Any, size: int) -> None:
        self.start, self.size = start, size


def window(start: Any, stop: Any, size: Callable[[], Any]) -> Any:
    """`start:stop`, of which the source says that `size` lies between them."""
    if not is_symbolic(start) or not is_symbolic(stop):
        return slice(start, stop)
    known = size()
    return Window(start, known) if type(known) is int else slice(start, stop)


def position(value: Any) -> Tensor:
    """A position as a whole number without axes."""
    if not value.dtype.is_integer or any(n != 1 for n in value.shape):
        raise fault(
            TypeError,
            f"a position is a whole number, not {value.type_text}",
            "use `int(x)`, or a tensor of whole numbers",
        )
    return _core.cast(_core.reshape(_core.tensor(value, value.dtype), ()), "int64")


def fresh(count: Tensor) -> Any:
    """A size of the program with this value."""
    counts = _core.reshape(count, (1,))
    # The sum of counts gives the size a symbol of its own.
    return _core.repeat_interleave_counts(_core.zeros((1,), "float32"), counts, 0).shape[0]


def is_open(part: Any) -> bool:
    """Whether a part of an index is a range that only the run knows."""
    if isinstance(part, Window):
        return True
    return isinstance(part, slice) and any(map(is_symbolic, (part.start, part.stop, part.step)))


def chosen(size: Any, part: Any, axis: int = 0) -> Tensor:
    """The positions, or the mask, of a range on an axis of a size."""
    count = _core.dim_size(size, "int64")
    if isinstance(part, Window):
        start = position(part.start)
        stop = start + part.size
        front = _core.logical_and(start >= 0, stop <= count)
        back = _core.logical_and(start >= -count, stop < 0)
        must(
            _core.logical_or(front, back),
            IndexError,
            f"a range of {part.size} does not lie within axis {axis}, and a shorter one has another size\n"
            "  remedy: keep the start away from the end",
        )
        return start + _core.iota(part.size, "int64")
    step = 1 if part.step is None else part.step
    if type(step) is not int or step < 1:
        raise fault(
            TypeError,
            "a range of a program goes forward, by a step that is known when it is built",
            "use `fl.flip` for the other direction",
        )
    places = _core.iota(size, "int64")
    start = _bound(part.start, count, 0)
    mask = _core.logical_and(places >= start, places < _bound(part.stop, count, count))
    if step > 1:
        mask = _core.logical_and(mask, (places - start) % step == 0)
    return mask


def _bound(value: Any, count: Tensor, default: Any) -> Any:
    if value is None:
        return default
    bound = position(value) if is_symbolic(value) else _core.tensor(value, "int64")
    return _core.where(bound < 0, _core.maximum(bound + count, 0), bound)


def get(x: Tensor, key: Any) -> Tensor:
    """`x[key]`."""
    parts = _parts(x, key)
    if parts is None or not any(isinstance(part, Window) for part in parts):
        return x[key]
    for axis, i, part in _placed(parts):
        if is_open(part):
            at = (*(_WHOLE,) * axis, chosen(x.shape[axis], part, axis))
            x = x[at]
            parts[i] = _WHOLE
    return x if all(_is_whole(part) for part in parts) else x[tuple(parts)]


def put(x: Tensor, key: Any, value: Any) -> Tensor:
    """`x` after `x[key] = value`."""
    parts = _parts(x, key)
    if parts is None:
        return x.setitem(key, value)
    at, rest = _first_open(x, parts)
    return x.setitem(at, value if rest is None else put(x[at], rest, value))


def put_in_place(x: Tensor, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    parts = _parts(x, key)
    if parts is None:
        x[key] = value
        return
    at, rest = _first_open(x, parts)
    x[at] = value if rest is None else put(x[at], rest, value)


def _first_open(x: Tensor, parts: list) -> tuple[tuple, tuple | None]:
    """The index of the first range of the run, and the index that remains for what it gives."""
    axis, i, part = next(found for found in _placed(parts) if is_open(found[2]))
    at = (*(_WHOLE,) * axis, chosen(x.shape[axis], part, axis))
    rest = [*parts[:i], _WHOLE, *parts[i + 1 :]]
    return at, None if all(map(_is_whole, rest)) else tuple(rest)


def _parts(x: Tensor, key: Any) -> list | None:
    """The parts of an index, one for each axis that it names, if one is a range of the run."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not any(map(is_open, parts)):
        return None
    if any(part is Ellipsis for part in parts):
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        n_left = x.ndim - sum(map(_width, parts))
        parts[at : at + 1] = [_WHOLE] * n_left
    return parts


def _width(part: Any) -> int:
    """How many axes a part of an index is for."""
    if part is None or part is Ellipsis:
        return 0
    is_mask = (is_tensor(part) or hasattr(part, "ndim")) and str(part.dtype) == "bool"
    return part.ndim if is_mask else 1


def _placed(parts: list) -> list[tuple[int, int, Any]]:
    """The parts with their axes and numbers."""
    found, axis = [], 0
    for i, part in enumerate(parts):
        found.append((axis, i, part))
        axis += _width(part)
    return found


def _is_whole(part: Any) -> bool:
    return isinstance(part, slice) and part == _WHOLE
