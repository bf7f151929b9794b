"""Elements at positions: taken, put, and combined."""

from __future__ import annotations

import builtins
import math

import fluvial as fl

from .. import _core
from .._core import Tensor
from .._derived.products import as_tensor as _tensor
from .._fault import fault as _fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The elements at positions along an axis, other axes broadcast; without an axis, those of the flat tensor."""
    if dim is None:
        return _core.gather(_core.reshape(input, (-1,)), _core.reshape(indices, (-1,)), 0)
    return fl.take_along_axis(input, indices, dim)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """The tensor with a number where a mask holds, both broadcast."""
    input, mask = _core.broadcast_tensors([input, mask])
    return _core.where(mask, _core.cast(_tensor(value), input.dtype), input)


def _region(input: Tensor, dim: int, index: Tensor) -> Any:
    """The part of a tensor that positions along an axis speak of, where other axes of theirs are shorter; None for all."""
    key = [slice(None)] * input.ndim
    for axis in range(input.ndim):
        if axis != dim % input.ndim and repr(index.shape[axis]) != repr(input.shape[axis]):
            key[axis] = slice(0, index.shape[axis])
    return tuple(key) if any(part != slice(None) for part in key) else None


def _source(src: Any, index: Tensor, like: Tensor) -> Tensor:
    if not isinstance(src, Tensor) or src.ndim == 0:
        return _core.broadcast_to(_core.cast(_tensor(src), like.dtype), index.shape)
    for axis in range(src.ndim):
        if repr(src.shape[axis]) != repr(index.shape[axis]):
            src = _core.narrow(src, axis, 0, index.shape[axis])
    return src


def _scattered(input: Tensor, dim: int, index: Tensor, src: Any, combine: Any) -> Tensor:
    src = src if isinstance(src, Tensor) else _core.cast(_core.tensor(src), input.dtype)
    if input.ndim == 0:
        return _core.reshape(_scattered(_core.reshape(input, (1,)), 0, _core.reshape(index, (-1,)), _core.reshape(_tensor(src), (-1,)), combine), ())
    if index.ndim == 0:
        index = _core.reshape(index, (1,))
        src = _core.reshape(_tensor(src), (1,))
    if index.dtype != _core.int64:
        index = _core.cast(index, "int64")
    source, key = _source(src, index, input), _region(input, dim, index)
    if key is None:
        return combine(input, dim, index, source)
    return input.setitem(key, combine(input[key], dim, index, source))


def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
    """The tensor with elements of another one, or a number, at positions along an axis."""
    src = value if src is None else src
    if reduce is not None:
        return scatter_reduce(input, dim, index, _source(src, index, input), {"add": "sum", "multiply": "prod"}[reduce])
    return _scattered(input, dim, index, src, _core.scatter)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    """The tensor with elements of another one added at positions along an axis."""
    return _scattered(input, dim, index, src, _core.scatter_add)


#: What combining begins with, by the name of the combination.
_FIRST = {"sum": 0, "mean": 0, "prod": 1, "amax": None, "amin": None}


def _word(function: str, reduce: str) -> str:
    if reduce not in _FIRST:
        raise _fault(ValueError, f"`{function}` does not know `reduce={reduce!r}`", 'use "sum", "prod", "mean", "amax" or "amin"')
    return {"amax": "max", "amin": "min"}.get(reduce, reduce)


def _first(input: Tensor, reduce: str) -> Any:
    """The number that changes nothing when others are combined with it."""
    if _FIRST[reduce] is not None:
        return _FIRST[reduce]
    if input.is_floating_point():
        return -math.inf if reduce == "amax" else math.inf
    if input.dtype == _core.bool:
        return reduce == "amin"
    info = fl.iinfo(input.dtype)
    return info.min if reduce == "amax" else info.max


def _combined(input: Tensor, counts: Any, reduce: str, include_self: builtins.bool, combine: Any) -> Tensor:
    """What combining gives where the tensor's own elements may not count where others stand.

    Args:
        input: The tensor.
        counts: A function that gives how many others stand at each place, added to a tensor.
        reduce: The combination.
        include_self: Whether the tensor's own elements count.
        combine: A function that combines others with a tensor.
    """
    start = input
    if not include_self:
        hit = counts(_core.zeros(input.shape, "int64")) > 0
        first = _core.cast(_core.tensor(_first(input, reduce)), input.dtype)
        start = _core.where(hit, first, input)
    found = combine(start)
    if reduce == "mean":
        number = counts((_core.ones if include_self else _core.zeros)(input.shape, "int64"))
        number = _core.maximum(number, 1)
        # Whole numbers are rounded down.
        number, is_whole = _core.cast(number, found.dtype), not (found.is_floating_point() or found.is_complex())
        found = _core.floor_div(found, number) if is_whole else found / number
    return found


def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True) -> Tensor:
    """The tensor with elements of another one combined at positions along an axis."""
    name = _word("scatter_reduce", reduce)
    if reduce in ("sum", "mean"):
        combine = lambda x: scatter_add(x, dim, index, src)  # noqa: E731
    else:
        combine = lambda x: _scattered(x, dim, index, src, lambda x, d, i, s: _core.scatter_reduce(x, d, i, s, name))  # noqa: E731
    return _combined(input, lambda x: scatter_add(x, dim, index, 1), reduce, include_self, combine)


def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: builtins.bool = True) -> Tensor:
    """The tensor with parts of another one combined at positions of an axis."""
    if input.ndim == 0:
        source = _core.reshape(source, (-1,))
        return _core.reshape(index_reduce(_core.reshape(input, (1,)), 0, index, source, reduce, include_self=include_self), ())
    name = _word("index_reduce", reduce)
    index = _core.reshape(index, (1,)) if index.ndim == 0 else index
    size = input.shape[dim]
    shape = [1] * input.ndim
    shape[dim] = -1

    def counts(x: Tensor) -> Tensor:
        return x + _core.reshape(_core.index_add(_core.ones_like(_core.cast(index, "int64")), index, 0, size), shape)

    if reduce in ("sum", "mean"):
        return _combined(input, counts, reduce, include_self, lambda x: x + _core.cast(_core.index_add(source, index, dim, size), x.dtype))
    return _combined(input, counts, reduce, include_self, lambda x: _core.index_reduce(x, index, source, dim, name))


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """The tensor with parts of another one at positions of an axis."""
    if input.ndim == 0:
        return _core.reshape(index_copy(_core.reshape(input, (1,)), 0, index, _core.reshape(source, (-1,))), ())
    index = _core.reshape(index, (1,)) if index.ndim == 0 else index
    return fl.index_copy(input, dim, index, _core.unsqueeze(source, 0) if source.ndim == 0 else source)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """The tensor with elements of another one at positions of the flat tensor."""
    flat, places, values = (_core.reshape(part, (-1,)) for part in (input, index, source))
    if accumulate:
        size = flat.shape[0]
        places = _core.where(places < 0, places + size, places)
        return _core.reshape(flat + _core.cast(_core.index_add(values, places, 0, size), flat.dtype), input.shape)
    return _core.reshape(_core.index_put(flat, places, values, 0), input.shape)


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """The tensor with another one in a part of it."""
    return input.setitem((slice(None),) * (dim % input.ndim) + (index,), src)


def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """The tensor with another one in a slice of it."""
    return input.setitem((slice(None),) * (dim % input.ndim) + (slice(start, end, step),), src)


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The tensor with another one on a diagonal of it."""
    moved = _core.movedim(input, [dim1, dim2], [-2, -1])
    rows, columns = moved.shape[-2:]
    size = src.shape[-1]
    line = _core.iota(size, "int64")
    key = (..., line + builtins.max(-offset, 0), line + builtins.max(offset, 0))
    return _core.movedim(moved.setitem(key, src), [-2, -1], [dim1, dim2])


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: builtins.bool = False) -> Tensor:
    """The elements at these positions, for each line along an axis."""
    if input.ndim == 0:
        return _core.broadcast_to(input, index.shape)
    if index.dtype != _core.int64:
        index = _core.cast(index, "int64")
    if index.ndim == 0:
        return _core.reshape(gather(input, dim, _core.reshape(index, (1,))), ())
    if index.numel() == 0:
        # Nothing is taken, whatever the other axes are.
        return _core.zeros(index.shape, input.dtype)
    key = _region(input, dim, index)
    return _core.take_along_axis(input if key is None else input[key], index, dim)


__all__ = [name for name in dict(globals()) if not name.startswith("_") and name not in (
    "annotations", "builtins", "fl", "math", "TYPE_CHECKING", "Tensor", "Any"
)]  # fmt: skip  # pyright: ignore[reportUnsupportedDunderAll]
