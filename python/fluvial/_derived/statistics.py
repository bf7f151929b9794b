"""Statistics, order and sums."""

from __future__ import annotations

import builtins
from collections import namedtuple

from .. import _core
from .._core import Tensor
from .._fault import fault, renamed
from .._tree import is_size
from .elementwise import floats
from .products import as_tensor
from .shapes import known_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Unpack

    from .._core import OtherNames, TensorLike

Found = namedtuple("Found", "values indices")
Ends = namedtuple("Ends", "min max")


def amax(x: TensorLike, axis: Any = None, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Tensor:
    """The greatest element: `max` under a name that means the same everywhere.

    Args:
        x: A tensor.
        axis: An axis, several, or None for all. Also `dim`.
        keepdims: Whether the axes stay, with size one. Also `keepdim`.
    """
    if wrong:
        return renamed(amax, locals())
    return _core.max(x, axis, keepdims)


def amin(x: TensorLike, axis: Any = None, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Tensor:
    """The smallest element: `min` under a name that means the same everywhere.

    Args:
        x: A tensor.
        axis: An axis, several, or None for all. Also `dim`.
        keepdims: Whether the axes stay, with size one. Also `keepdim`.
    """
    if wrong:
        return renamed(amin, locals())
    return _core.min(x, axis, keepdims)


def aminmax(x: TensorLike, *, axis: Any = None, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Any:
    """The smallest and the greatest element.

    Args:
        x: A tensor.
        axis: An axis, or None for all. Also `dim`.
        keepdims: Whether the axis stays, with size one. Also `keepdim`.
    """
    if wrong:
        return renamed(aminmax, locals())
    return Ends(_core.min(x, axis, keepdims), _core.max(x, axis, keepdims))


def std_mean(
    x: TensorLike, axis: Any = None, keepdims: builtins.bool = False, correction: float = 0.0, **wrong: Unpack[OtherNames]
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean; see `std`.

    Args:
        x: A tensor.
        axis: An axis, several, or None for all. Also `dim`.
        keepdims: Whether the axes stay, with size one. Also `keepdim`.
        correction: What is taken off the number of elements. Also `unbiased`.
    """
    if wrong:
        return renamed(std_mean, locals())
    return _core.std(x, axis, keepdims, correction), _core.mean(x, axis, keepdims)


def var_mean(
    x: TensorLike, axis: Any = None, keepdims: builtins.bool = False, correction: float = 0.0, **wrong: Unpack[OtherNames]
) -> tuple[Tensor, Tensor]:
    """The variance and the mean; see `var`.

    Args:
        x: A tensor.
        axis: An axis, several, or None for all. Also `dim`.
        keepdims: Whether the axes stay, with size one. Also `keepdim`.
        correction: What is taken off the number of elements. Also `unbiased`.
    """
    if wrong:
        return renamed(var_mean, locals())
    return _core.var(x, axis, keepdims, correction), _core.mean(x, axis, keepdims)


def nansum(x: TensorLike, axis: Any = None, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Tensor:
    """The sum of the elements that are numbers.

    Args:
        x: A tensor.
        axis: An axis, several, or None for all. Also `dim`.
        keepdims: Whether the axes stay, with size one. Also `keepdim`.
    """
    if wrong:
        return renamed(nansum, locals())
    x = as_tensor(x)
    return _core.sum(_core.where(_core.isnan(x), 0, x) if x.is_floating_point() or x.is_complex() else x, axis, keepdims)


def nanmean(x: TensorLike, axis: Any = None, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Tensor:
    """The mean of the elements that are numbers.

    Args:
        x: A tensor.
        axis: An axis, several, or None for all. Also `dim`.
        keepdims: Whether the axes stay, with size one. Also `keepdim`.

    Example:
        >>> fl.nanmean(fl.tensor([1.0, float("nan"), 3.0])).item()
        2.0
    """
    if wrong:
        return renamed(nanmean, locals())
    x = as_tensor(x)
    count = _core.sum(_core.cast(_core.logical_not(_core.isnan(x)), x.dtype), axis, keepdims)
    return nansum(x, axis, keepdims) / count


def nanmedian(x: TensorLike, axis: int | None = None, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Tensor:
    """The lower median of the elements that are numbers.

    Args:
        x: A tensor.
        axis: The axis; None for all. Also `dim`.
        keepdims: Whether the axis stays, with size one. Also `keepdim`.
    """
    if wrong:
        return renamed(nanmedian, locals())
    x = as_tensor(x)
    return lower_median(x, axis, keepdims, True).values


def lower_median(x: Tensor, axis: int | None, keepdims: builtins.bool, without_nan: builtins.bool) -> Found:
    """The lower of the two middle elements, and where it stands."""
    flat, along = (_core.reshape(x, (-1,)), 0) if axis is None else (x, axis)
    values, places = _core.sort(flat, along)
    size = known_size(flat, along, "median")
    bad = _core.isnan(flat) if x.is_floating_point() else _core.zeros_like(flat) > 0
    n_bad = _core.sum(_core.cast(bad, "int64"), along, True)
    middle = (size - n_bad - 1) // 2 if without_nan else (n_bad * 0 + (size - 1) // 2)
    if without_nan:
        middle = _core.maximum(middle, 0)
    else:
        # What is not a number stands last, and makes all of it one.
        middle = _core.where(n_bad > 0, size - n_bad, middle)
    found = [_core.take_along_axis(part, middle, along) for part in (values, places)]
    if axis is None:
        shape = (1,) * x.ndim if keepdims else ()
        return Found(*(_core.reshape(part, shape) for part in found))
    return Found(*(part if keepdims else _core.squeeze(part, [axis]) for part in found))


def kthvalue(x: TensorLike, k: int, axis: int = -1, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Found:
    """The k-th smallest element along an axis, and where it stands.

    Args:
        x: A tensor.
        k: Which: 1 is the smallest.
        axis: The axis. Also `dim`.
        keepdims: Whether the axis stays, with size one. Also `keepdim`.
    """
    if wrong:
        return renamed(kthvalue, locals())
    parts = [_core.narrow(part, axis, k - 1, 1) for part in _core.sort(x, axis)]
    return Found(*(part if keepdims else _core.squeeze(part, [axis]) for part in parts))


def mode_of(x: TensorLike, axis: int = -1, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Found:
    """The element that stands most often along an axis, the smallest of several, and its last place.

    Args:
        x: A tensor.
        axis: The axis. Also `dim`.
        keepdims: Whether the axis stays, with size one. Also `keepdim`.
    """
    if wrong:
        return renamed(mode_of, locals())
    x = _core.movedim(as_tensor(x), [axis], [-1])
    values, places = _core.sort(x, -1)
    counts = _core.sum(_core.cast(_core.eq(_core.unsqueeze(values, -1), _core.unsqueeze(values, -2)), "int64"), -1)
    best = _core.argmax(counts, -1, True)
    value = _core.take_along_axis(values, best, -1)
    size = _core.take_along_axis(counts, best, -1)
    place = _core.take_along_axis(places, best + size - 1, -1)
    found = [_core.movedim(part, [-1], [axis]) for part in (value, place)]
    return Found(*(part if keepdims else _core.squeeze(part, [axis]) for part in found))


def cov(x: TensorLike, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariances of the rows of a matrix, whose columns are observations.

    Args:
        x: A matrix, or a vector for one row.
        correction: What is taken off the number of observations.
        fweights: How often each observation counts, or None.
        aweights: The weight of each observation, or None.
    """
    x = floats(x)
    rows = _core.reshape(x, (1, -1)) if x.ndim < 2 else x
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            given = _core.cast(as_tensor(given), rows.dtype)
            weights = given if weights is None else weights * given
    if weights is None:
        count = rows.shape[1]
        rows = rows - _core.mean(rows, 1, True)
        product = rows @ rows.mH
        found = product / max(count - correction, 0) if isinstance(count, int) else product / (count - correction)
    else:
        total = _core.sum(weights)
        rows = rows - _core.sum(rows * weights, 1, True) / total
        less = correction if aweights is None else correction * _core.sum(weights * _core.cast(as_tensor(aweights), rows.dtype)) / total
        found = (rows * weights) @ rows.mH / (total - less)
    return _core.reshape(found, ()) if x.ndim < 2 or is_size(x.shape[0], 1) else found


def corrcoef(x: TensorLike) -> Tensor:
    """The correlations of the rows of a matrix, whose columns are observations.

    Args:
        x: A matrix, or a vector for one row.
    """
    found = cov(x)
    if found.ndim == 0:
        return found / found
    deviation = _core.sqrt(_core.diagonal(found, 0, 0, 1).real)
    found = found / _core.unsqueeze(deviation, 1) / deviation
    if not found.is_complex():
        return _core.clip(found, -1.0, 1.0)
    return _core.complex(_core.clip(found.real, -1.0, 1.0), _core.clip(found.imag, -1.0, 1.0))


def trapezoid(y: TensorLike, x: Any = None, *, dx: float = 1, axis: int = -1, **wrong: Unpack[OtherNames]) -> Tensor:
    """The area below the lines between points.

    Args:
        y: The heights.
        x: Where they stand; None for equal distances.
        dx: The distance, if `x` is None.
        axis: Along this axis. Also `dim`.
    """
    if wrong:
        return renamed(trapezoid, locals())
    y = as_tensor(y)
    mean = (_core.slice(y, axis, 1) + _core.slice(y, axis, None, -1)) / 2
    if x is None:
        return _core.sum(mean, axis) * dx
    x = as_tensor(x)
    along = -1 if x.ndim == 1 else axis
    width = _core.slice(x, along, 1) - _core.slice(x, along, None, -1)
    if x.ndim == 1:
        width = _core.reshape(width, (-1,) + (1,) * ((-axis - 1) if axis < 0 else y.ndim - 1 - axis))
    return _core.sum(mean * width, axis)


trapz = trapezoid


def gradient(x: TensorLike, *, spacing: float = 1, axis: Any = None, edge_order: int = 1, **wrong: Unpack[OtherNames]) -> list[Tensor]:
    """The slopes along axes, by differences of neighbours: central ones inside, one-sided at the ends.

    Args:
        x: A tensor.
        spacing: The distance of neighbours.
        axis: An axis, several, or None for all. Also `dim`.
        edge_order: 1 or 2: the order of the formula at the ends.
    """
    if wrong:
        return renamed(gradient, locals())
    x = as_tensor(x)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    found = []
    for one in axes:
        part = lambda a, b=None: _core.slice(x, one, a, b)  # noqa: E731
        middle = (part(2) - part(None, -2)) / 2
        if edge_order == 2:
            first = -1.5 * part(0, 1) + 2 * part(1, 2) - 0.5 * part(2, 3)
            last = 1.5 * part(-1) - 2 * part(-2, -1) + 0.5 * part(-3, -2)
        else:
            first, last = part(1, 2) - part(0, 1), part(-1) - part(-2, -1)
        found.append(_core.concat([first, middle, last], one) / spacing)
    return found


def histc(x: TensorLike, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of several parts of an interval of the same length.

    Args:
        x: A tensor of floats.
        bins: The number of parts.
        min: The lower end; with `max` the same, the ends are those of the elements.
        max: The upper end.
    """
    x = as_tensor(x)
    if min == max:
        if x.is_symbolic:
            raise fault(ValueError, "the ends of the intervals are known only when the program runs", "give `min` and `max`")
        min, max = float(_core.min(x).item()), float(_core.max(x).item())
        if min == max:
            min, max = min - 1, max + 1
    return _core.cast(_core.histogram(x, bins, float(min), float(max))[0], x.dtype)


def bucketize(x: TensorLike, boundaries: TensorLike, *, right: builtins.bool = False) -> Tensor:
    """Between which boundaries each element stands: the number of those below it.

    Args:
        x: The elements.
        boundaries: A sorted vector.
        right: Whether equal ones count as below.
    """
    return _core.searchsorted(boundaries, x, right)


def renorm(x: TensorLike, p: float, axis: int, maxnorm: float, **wrong: Unpack[OtherNames]) -> Tensor:
    """The parts along an axis, each scaled down to a norm if its own is greater.

    Args:
        x: A tensor.
        p: Which norm.
        axis: The axis. Also `dim`.
        maxnorm: The greatest norm.
    """
    if wrong:
        return renamed(renorm, locals())
    x = as_tensor(x)
    others = [i for i in range(x.ndim) if i != axis % x.ndim]
    size = _core.norm(x, p, others, True)
    return x * _core.where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


def normalize(x: TensorLike, p: float = 2.0, axis: int = 1, eps: float = 1e-12, **wrong: Unpack[OtherNames]) -> Tensor:
    """Vectors along an axis, divided by their norms.

    Args:
        x: A tensor.
        p: Which norm.
        axis: The axis. Also `dim`.
        eps: The least that is divided by.

    Example:
        >>> fl.normalize(fl.tensor([[3.0, 4.0]])).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    if wrong:
        return renamed(normalize, locals())
    x = as_tensor(x)
    return x / _core.maximum(_core.norm(x, p, axis, True), eps)


def unique_consecutive(
    x: TensorLike, return_inverse: builtins.bool = False, return_counts: builtins.bool = False
) -> Any:
    """The elements of the flat tensor without those that equal the one before.

    Args:
        x: A tensor.
        return_inverse: Whether the number of its group is given for each element.
        return_counts: Whether the sizes of the groups are given.
    """
    x = as_tensor(x)
    flat = _core.reshape(x, (-1,))
    first = _core.concat([_core.ones_like(_core.slice(flat, 0, 0, 1)) > 0, _core.ne(flat[1:], flat[:-1])], 0)
    values = flat[first]
    group = _core.cumsum(_core.cast(first, "int64"), 0) - 1
    found = [values]
    if return_inverse:
        found.append(_core.reshape(group, x.shape))
    if return_counts:
        found.append(_core.bincount(group))
    return found[0] if len(found) == 1 else tuple(found)
