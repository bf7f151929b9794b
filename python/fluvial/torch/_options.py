"""Functions of `fluvial` with the options that PyTorch has besides."""

from __future__ import annotations

import builtins
import math
from collections import namedtuple

import fluvial as fl

from .. import _core
from .._core import Tensor
from .._derived import statistics as _statistics
from .._derived.elementwise import floats as _as_floats
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


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
    """Numbers with equal distances, from `start` to before `end`."""
    start, end = (0, start) if end is None else (start, end)
    if dtype is not None and not fl.isdtype(dtype, "real floating") and any(isinstance(value, builtins.float) for value in (start, end, step)):
        # Whole numbers begin at, and go on by, the whole part of a fraction; how many there are, the fractions say.
        count = builtins.max(0, math.ceil((end - start) / step))
        return _core.cast(int(start) + int(step) * _core.iota(count, "int64"), dtype)
    made = fl.arange(start, end, step, dtype, device=device)
    return made.track() if requires_grad else made


def range(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """Numbers at equal distances, with the end among them, as floats. PyTorch itself advises `arange`."""
    if end is None:
        start, end = 0, start
    count = math.floor((end - start) / step) + 1
    return _core.cast(_core.iota(count, "float64") * float(step) + float(start), "float32" if dtype is None else dtype)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The distances between the rows of two matrices."""
    return fl.cdist(x1, x2, p)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
    """Numbers with equal distances between two, the last of which is one of them."""
    if any(isinstance(value, Tensor) and (value.is_symbolic or value.is_tracked) for value in (start, end)):
        made = _between(start, end, steps, dtype)
    else:
        start, end = (value.item() if isinstance(value, Tensor) else value for value in (start, end))
        if dtype is not None and not fl.isdtype(dtype, "real floating"):
            return _core.cast(fl.linspace(start, end, steps, "float64"), dtype)
        made = fl.linspace(start, end, steps, dtype, device=device)
    return made.track() if requires_grad else made


def _between(start: Any, end: Any, steps: int, dtype: Any) -> Tensor:
    """`linspace` between tensors of the program, or of a tape."""
    kind = _core.float32 if dtype is None else dtype
    inner = kind if fl.isdtype(kind, "real floating") else "float64"
    start, end = (_core.cast(_tensor(value), inner) for value in (start, end))
    if steps < 2:
        return _core.cast(_core.reshape(start, (1,))[:steps], kind)
    share = _core.cast(_core.iota(steps, "int64"), inner) / (steps - 1)
    return _core.cast(_core.concat([(start + (end - start) * share)[:-1], _core.reshape(end, (1,))], 0), kind)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
    """Powers of a base, whose exponents have equal distances."""
    inner = dtype if dtype is not None and fl.isdtype(dtype, "real floating") else "float64" if dtype is not None else None
    made = _core.pow(_core.tensor(builtins.float(base), inner or "float32"), linspace(start, end, steps, dtype=inner))
    made = made if dtype is None else _core.cast(made, dtype)
    return made.track() if requires_grad else made


Histogram = namedtuple("Histogram", "hist bin_edges")


def histogram(input: Tensor, bins: Any, *, range: Any = None, weight: Any = None, density: builtins.bool = False) -> Histogram:
    """How many elements, or how much of their weights, fall into each part of an interval, and the ends of the parts.

    Args:
        input: A tensor of floats.
        bins: The number of parts, or a vector of their ends.
        range: The ends of the interval; None for the smallest and the greatest element.
        weight: The weight of each element; None for ones.
        density: Whether the area below the histogram is one.
    """
    x = _core.reshape(input, (-1,))
    if isinstance(bins, Tensor):
        edges = bins
    else:
        low, high = range if range is not None else (_core.min(x), _core.max(x)) if x.numel() else (0.0, 1.0)
        low, high = (_core.cast(_tensor(end), x.dtype) for end in (low, high))
        same = _core.eq(low, high)
        low, high = _core.where(same, low - 0.5, low), _core.where(same, high + 0.5, high)
        steps = _core.cast(_core.iota(bins + 1, "int64"), x.dtype) / bins
        edges = low + (high - low) * steps
        edges = _core.concat([edges[:-1], _core.reshape(high, (1,))], 0)
    n: Any = edges.shape[0] - 1
    place = _core.searchsorted(edges, x, True) - 1
    # The last part has its upper end, too.
    place = _core.where(_core.eq(x, edges[-1]), n - 1, place)
    inside = _core.logical_and(place >= 0, place < n)
    counted = _core.ones_like(x) if weight is None else _core.cast(_core.reshape(weight, (-1,)), x.dtype)
    counted = _core.where(inside, counted, 0.0)
    counts = _core.index_add(counted, _core.clip(place, 0, n - 1), 0, n)
    if density:
        counts = counts / (_core.sum(counts) * (edges[1:] - edges[:-1]))
    return Histogram(counts, edges)


def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each whole number stands there."""
    if weights is not None and not weights.is_floating_point():
        weights = _core.cast(weights, "float64")
    return _core.bincount(input, weights, minlength)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    return fl.sum(_core.diagonal(input, 0, 0, 1))


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> list[Tensor]:
    """The slopes along axes, by differences of neighbours.

    Args:
        input: A tensor.
        spacing: The distance of neighbours; or one for each axis; or vectors of places, one for each axis.
        dim: An axis, several, or None for all.
        edge_order: 1 or 2: the order of the formula at the ends.
    """
    axes = list(builtins.range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    spacing = 1 if spacing is None else spacing
    each = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    if len(each) != len(axes):
        raise _fault(ValueError, f"{len(each)} distances for {len(axes)} axes", "give one for each axis")
    x = _as_floats(input)
    return [_slopes(x, axis, one, edge_order) for axis, one in zip(axes, each)]


def _slopes(x: Tensor, axis: int, spacing: Any, edge_order: int) -> Tensor:
    if not isinstance(spacing, Tensor) or spacing.ndim == 0:
        return fl.gradient(x, axis=axis, edge_order=edge_order)[0] / spacing
    places = _core.reshape(_core.cast(spacing, x.dtype), (-1,) + (1,) * (x.ndim - 1 - axis % x.ndim))
    along = axis % x.ndim - x.ndim
    part = lambda a, b=None: _core.slice(x, along, a, b)  # noqa: E731
    step = _core.slice(places, along, 1) - _core.slice(places, along, None, -1)
    h = lambda a, b=None: _core.slice(step, along, a, b)  # noqa: E731
    before, behind = h(None, -1), h(1)
    middle = (
        part(None, -2) * (-behind / (before * (before + behind)))
        + part(1, -1) * ((behind - before) / (before * behind))
        + part(2) * (before / (behind * (before + behind)))
    )
    if edge_order == 1:
        first, last = (part(1, 2) - part(0, 1)) / h(0, 1), (part(-1) - part(-2, -1)) / h(-1)
    else:
        a, b = h(0, 1), h(1, 2)
        first = part(0, 1) * (-(2.0 * a + b) / (a * (a + b))) + part(1, 2) * ((a + b) / (a * b)) - part(2, 3) * (a / (b * (a + b)))
        a, b = h(-2, -1), h(-1)
        last = part(-3, -2) * (b / (a * (a + b))) - part(-2, -1) * ((a + b) / (a * b)) + part(-1) * ((2.0 * b + a) / (b * (a + b)))
    return _core.concat([first, middle, last], along)


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The element type of an operation on two tensors or numbers; one without axes counts as a number beside one that has some."""
    pair = [tensor1, tensor2]
    if builtins.any(isinstance(one, Tensor) and one.ndim for one in pair):
        pair = [_number(one) if isinstance(one, Tensor) and not one.ndim else one for one in pair]
    return fl.result_type(*pair)


def _number(x: Tensor) -> Any:
    """A number of Python's of the kind of a tensor."""
    if x.dtype == _core.bool:
        return True
    return 1j if x.is_complex() else 1.0 if x.is_floating_point() else 1


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """The same number everywhere, in the shape of a tensor."""
    kind = input.dtype if dtype is None else dtype
    value = _core.cast(_core.tensor(fill_value, "float64") if isinstance(fill_value, builtins.float) else _tensor(fill_value), kind)
    made = _core.broadcast_to(value, input.shape)
    return made.track() if requires_grad else made


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


def cat(tensors: Any, dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors one after the other; empty vectors count for nothing."""
    parts = [part for part in tensors if not (isinstance(part, Tensor) and part.shape == (0,))] or list(tensors)
    return _core.concat(parts, dim if axis is None else axis)


concat = concatenate = cat


__all__ = [name for name in dict(globals()) if not name.startswith("_") and name not in (
    "annotations", "builtins", "fl", "math", "namedtuple", "TYPE_CHECKING", "Tensor", "Any"
)]  # fmt: skip  # pyright: ignore[reportUnsupportedDunderAll]
