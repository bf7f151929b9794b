"""Functions of `fluvial` with the options that PyTorch has besides."""

from __future__ import annotations

import builtins

import fluvial as fl

from .. import _core
from .._core import Tensor
from .._derived import statistics as _statistics
from .._derived.products import as_tensor as _tensor
from .._fault import fault as _fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _refuse(function: str, **options: Any) -> None:
    for name, value in options.items():
        if value:
            raise _fault(ValueError, f"`{function}` does not take `{name}={value!r}`", f"leave `{name}` out")


def unique_consecutive(input: Tensor, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: int | None = None) -> Any:
    """The elements without those that equal the one before."""
    if dim is not None and (input.ndim != 1 or dim not in (0, -1)):
        raise _fault(ValueError, "different parts along an axis are not found", "leave `dim` out, for elements")
    return _statistics.unique_consecutive(input, return_inverse, return_counts)


def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: builtins.bool = False, right: builtins.bool = False,
    side: str | None = None, sorter: Any = None,
) -> Tensor:  # fmt: skip
    """Where elements would have to be put into sorted vectors."""
    input = _tensor(input)
    right = right or side == "right"
    if sorted_sequence.ndim == 1:
        found = fl.searchsorted(sorted_sequence, input, right, sorter=sorter)
    else:
        ordered = sorted_sequence if sorter is None else _core.take_along_axis(sorted_sequence, sorter, -1)
        compare = _core.le if right else _core.lt
        below = compare(_core.unsqueeze(ordered, -2), _core.unsqueeze(input, -1))
        found = _core.sum(_core.cast(below, "int64"), -1)
    return _core.cast(found, "int32") if out_int32 else found


def bucketize(input: Any, boundaries: Tensor, *, out_int32: builtins.bool = False, right: builtins.bool = False) -> Tensor:
    """Between which boundaries each element stands."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The distances between the rows of two matrices."""
    return fl.cdist(x1, x2, p)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
    """Numbers with equal distances between two, the last of which is one of them."""
    start, end = (value.item() if isinstance(value, Tensor) else value for value in (start, end))
    if dtype is not None and not fl.isdtype(dtype, "real floating"):
        return _core.cast(fl.linspace(start, end, steps, "float64"), dtype)
    made = fl.linspace(start, end, steps, dtype, device=device)
    return made.track() if requires_grad else made


def histogram(input: Tensor, bins: int, *, range: Any = None, weight: Any = None, density: builtins.bool = False) -> Any:
    """How many elements fall into each part of an interval, and the ends of the parts."""
    _refuse("histogram", weight=weight, density=density)
    if range is None:
        range = (_core.min(input).item(), _core.max(input).item())
        range = (range[0] - 0.5, range[1] + 0.5) if range[0] == range[1] else range
    counts, edges = _core.histogram(input, bins, *map(float, range))
    return _core.cast(counts, input.dtype), edges


def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each whole number stands there."""
    if weights is not None and not weights.is_floating_point():
        weights = _core.cast(weights, "float64")
    return _core.bincount(input, weights, minlength)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    return fl.sum(_core.diagonal(input, 0, 0, 1))


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> list[Tensor]:
    """The slopes along axes, by differences of neighbours."""
    return fl.gradient(input, spacing=1 if spacing is None else spacing, axis=dim, edge_order=edge_order)


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
        return _core.broadcast_to(_core.tensor(src, like.dtype), index.shape)
    for axis in range(src.ndim):
        if repr(src.shape[axis]) != repr(index.shape[axis]):
            src = _core.narrow(src, axis, 0, index.shape[axis])
    return src


def _scattered(input: Tensor, dim: int, index: Tensor, src: Any, combine: Any) -> Tensor:
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


def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True) -> Tensor:
    """The tensor with elements of another one combined at positions along an axis."""
    if not include_self:
        raise _fault(ValueError, "the elements of the tensor itself count", "start from zeros, ones or infinities")
    if reduce == "sum":
        return scatter_add(input, dim, index, src)
    if reduce == "mean":
        counts = scatter_add(_core.ones_like(input), dim, index, 1)
        return scatter_add(input, dim, index, src) / counts
    name = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    return _scattered(input, dim, index, src, lambda x, d, i, s: _core.scatter_reduce(x, d, i, s, name))


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: builtins.bool = False) -> Tensor:
    """The elements at these positions, for each line along an axis."""
    if input.ndim == 0:
        return _core.broadcast_to(input, index.shape)
    if index.dtype != _core.int64:
        index = _core.cast(index, "int64")
    if index.ndim == 0:
        return _core.reshape(gather(input, dim, _core.reshape(index, (1,))), ())
    key = _region(input, dim, index)
    return _core.take_along_axis(input if key is None else input[key], index, dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts of a tensor along an axis, of nearly the same lengths or between positions."""
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    return tuple(fl.tensor_split(input, indices_or_sections, dim))


def _of_many(function: Any) -> Any:
    def mapped(*tensors: Any) -> Any:
        if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
            return function(tensors[0])
        return tuple(map(function, tensors[0] if len(tensors) == 1 else tensors))

    mapped.__name__, mapped.__doc__ = function.__name__, function.__doc__
    return mapped


atleast_1d, atleast_2d, atleast_3d = map(_of_many, (fl.atleast_1d, fl.atleast_2d, fl.atleast_3d))


def flip(input: Tensor, dims: Any) -> Tensor:
    """The elements in reverse order."""
    return fl.flip(input, dims) if isinstance(dims, int) or len(dims) else input


def cat(tensors: Any, dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors one after the other; empty vectors count for nothing."""
    parts = [part for part in tensors if not (isinstance(part, Tensor) and part.shape == (0,))] or list(tensors)
    return _core.concat(parts, dim if axis is None else axis)


concat = concatenate = cat


__all__ = [name for name in dict(globals()) if not name.startswith("_") and name not in (
    "annotations", "builtins", "fl", "TYPE_CHECKING", "Tensor", "Any"
)]  # fmt: skip  # pyright: ignore[reportUnsupportedDunderAll]
