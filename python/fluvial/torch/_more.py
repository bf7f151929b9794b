"""Further functions of PyTorch's, which those of `fluvial` express."""

from __future__ import annotations

import builtins
import itertools
import math

import fluvial as fl

from .. import _core, _derived
from .._core import Tensor
from .._derived import unravel_index
from .._derived.elementwise import floats as _floats
from .._derived.products import as_tensor as _tensor
from .._fault import fault as _fault
from ._functions import chunk as _chunk
from ._functions import split as _split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# Complex numbers and their parts.


def angle(input: Tensor) -> Tensor:
    """The angle in the complex plane; of real numbers pi if they are negative, else zero."""
    return _core.angle(_floats(input))


def real(input: Tensor) -> Tensor:
    """The real part; real numbers themselves."""
    return _core.real(input) if input.is_complex() else input


def conj(input: Tensor) -> Tensor:
    """The conjugate; real numbers themselves."""
    return _core.conj(input) if input.is_complex() else input


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor: conjugates are computed at once."""
    return input


conj_physical, resolve_neg = conj, resolve_conj


def isreal(input: Tensor) -> Tensor:
    """Whether elements have no imaginary part."""
    if input.is_complex():
        return _core.eq(_core.imag(input), 0)
    return _core.broadcast_to(_core.tensor(True), input.shape)


def is_conj(input: Tensor) -> builtins.bool:
    """Whether the elements are yet to be conjugated: False."""
    return False


def square(input: Tensor) -> Tensor:
    """The square."""
    return _core.square(_core.cast(input, "int64") if input.dtype == _core.bool else input)


def _infinite(sign: float) -> Any:
    def function(input: Tensor) -> Tensor:
        if not input.is_floating_point() and not input.is_complex():
            return _core.zeros(input.shape, "bool")
        if input.is_complex():
            raise _fault(TypeError, f"{input.dtype} has no order, so no plus or minus infinity", "look at `.real` and `.imag`")
        return _core.eq(input, sign * math.inf)

    function.__name__ = "isposinf" if sign > 0 else "isneginf"
    function.__doc__ = f"Whether elements are {'plus' if sign > 0 else 'minus'} infinity."
    return function


isposinf, isneginf = _infinite(1.0), _infinite(-1.0)

# Shapes.


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that tensors of these shapes have together."""
    found: list[int] = []
    for shape in shapes:
        sizes = [shape] if isinstance(shape, int) else list(shape)
        found, sizes = ([1] * (builtins.max(len(found), len(sizes)) - len(x)) + x for x in (found, sizes))
        for i, (a, b) in enumerate(zip(found, sizes)):
            if a != b and 1 not in (a, b):
                raise _fault(RuntimeError, f"the shapes {', '.join(map(str, shapes))} do not broadcast", "sizes are equal or one")
            found[i] = b if a == 1 else a
    return tuple(found)


def combinations(input: Tensor, r: int = 2, with_replacement: builtins.bool = False) -> Tensor:
    """All choices of so many elements of a vector, one in each row."""
    n = input.shape[0]
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(n), r))
    if not rows or r == 0:
        return _core.zeros((0,) if r == 0 else (0, r), input.dtype)
    return _core.gather(input, _core.tensor(rows, "int64"), 0)


def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """`F.pad` with a number."""
    from .nn.functional import pad as padded

    return padded(input, pad, "constant", value)


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the elements of the flat tensor on a diagonal."""
    return fl.diag(_core.reshape(input, (-1,)), offset)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """The parts of a tensor along its third axis."""
    return tuple(fl.tensor_split(input, indices_or_sections, 2))


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """The parts of a tensor along its second axis; of a vector, along its first."""
    return tuple(fl.hsplit(input, indices_or_sections))


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """The parts of a tensor along its first axis."""
    return tuple(fl.vsplit(input, indices_or_sections))


def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts of these lengths along an axis."""
    return _split(input, list(split_sizes), dim)


unsafe_split = _split


def flip(input: Tensor, *axes: Any, dims: Any = None) -> Tensor:
    """The elements in reverse order along these axes."""
    found: Any = axes if dims is None else (dims,)
    found = found[0] if len(found) == 1 and isinstance(found[0], (list, tuple)) else found
    return fl.flip(input, list(found)) if found and input.ndim else input


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the same shape and element type, all of one number."""
    return _core.broadcast_to(_core.cast(_tensor(value), input.dtype), input.shape)


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """So many positions of elements that are not zero, filled up with a number."""
    flat = _core.reshape(_core.ne(input, 0), (-1,))
    order = _core.argsort(_core.cast(_core.logical_not(flat), "int64"), 0)
    count, n = _core.sum(_core.cast(flat, "int64")), flat.shape[0]
    line = _core.iota(size, "int64")
    if n == 0 or input.ndim == 0 and not size:
        return _core.full((size, input.ndim), fill_value, "int64")
    place = _core.gather(order, _core.minimum(line, n - 1), 0)
    columns = [_core.where(line < count, part, fill_value) for part in unravel_index(place, input.shape)]
    return _core.stack(columns, 1) if columns else _core.zeros((size, 0), "int64")


def is_same_size(input: Tensor, other: Tensor) -> builtins.bool:
    """Whether two tensors have the same shape."""
    return repr(input.shape) == repr(other.shape)


def is_signed(input: Tensor) -> builtins.bool:
    """Whether elements may be negative."""
    return input.is_floating_point() or input.is_complex() or input.dtype.name.startswith("int")


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The tensor summed over the axes that another shape has not, or has with size one."""
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
    if repr(tuple(input.shape)) == repr(shape):
        return input
    first = input.ndim - len(shape)
    found = fl.sum(input, axis=tuple(range(first))) if first else input
    ones = tuple(axis for axis, (a, b) in enumerate(zip(found.shape, shape)) if b == 1 and a != 1)
    found = fl.sum(found, axis=ones, keepdims=True) if ones else found
    if tuple(found.shape) != shape:
        raise _fault(RuntimeError, f"{input.type_text} is not summed to {shape}", "sizes are equal, or one")
    return found


def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of all elements of two vectors."""
    return _core.outer(input, vec2)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The elements, or zero between `-lambd` and `lambd`."""
    return input if lambd < 0 else _core.hard_shrink(input, lambd)


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A part of an axis."""
    return _core.narrow(input, dim, start, length)


unsafe_chunk, unsafe_split_with_sizes = _chunk, split_with_sizes

# Products, sums and order.


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The product of two vectors, of which the first is conjugated."""
    return _core.dot(conj(input), other)


def _scaled(function: Any) -> Any:
    def product(input: Tensor, *tensors: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
        if not any(isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex()) for t in (input, *tensors)):
            # Factors of whole numbers are whole numbers.
            beta, alpha = int(beta), int(alpha)
        if beta == 0:
            # What is not read may be anything, also not a number.
            input = _core.zeros_like(input)
        return function(input, *tensors, beta=beta, alpha=alpha)

    product.__name__, product.__doc__ = function.__name__, function.__doc__
    return product


addbmm, addmm, addmv, addr, baddbmm = map(_scaled, (fl.addbmm, fl.addmm, fl.addmv, fl.addr, fl.baddbmm))


def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The areas below the lines between points, up to each of them."""
    y = _floats(y)
    mean = (_core.slice(y, dim, 1) + _core.slice(y, dim, None, -1)) / 2
    if x is None:
        return _core.cumsum(mean * dx, dim)
    along = -1 if x.ndim == 1 else dim
    width = _core.slice(x, along, 1) - _core.slice(x, along, None, -1)
    if x.ndim == 1:
        width = _core.reshape(width, (-1,) + (1,) * (y.ndim - 1 - dim % y.ndim))
    return _core.cumsum(mean * width, dim)


def nanquantile(input: Tensor, q: Any, dim: Any = None, keepdim: builtins.bool = False, *, interpolation: str = "linear") -> Tensor:
    """`quantile` of the elements that are numbers."""
    shape = (1,) * input.ndim
    if dim is None:
        found = nanquantile(_core.reshape(input, (-1,)), q, 0, False, interpolation=interpolation)
        return _core.reshape(found, (*found.shape, *shape)) if keepdim else found
    levels = _core.cast(_tensor(q), input.dtype)
    x = _core.movedim(input, [dim], [-1])
    count = _core.sum(_core.cast(_core.logical_not(_core.isnan(x)), x.dtype), -1, True)
    ordered = _core.sort(x, -1)[0]
    # One row of places for each level, in front.
    level = _core.reshape(levels, (-1,) + (1,) * x.ndim)
    place = _core.maximum(level * _core.unsqueeze(count - 1, 0), 0.0)
    low, high = _core.floor(place), _core.ceil(place)
    if interpolation == "nearest":
        low = high = _core.round(place)
    elif interpolation in ("lower", "higher"):
        low = high = low if interpolation == "lower" else high
    elif interpolation not in ("linear", "midpoint"):
        raise _fault(ValueError, f"there is no interpolation {interpolation!r}", 'use "linear", "lower", "higher", "midpoint" or "nearest"')
    rows = _core.broadcast_to(_core.unsqueeze(ordered, 0), (low.shape[0], *ordered.shape))
    first, second = (_core.take_along_axis(rows, _core.cast(at, "int64"), -1) for at in (low, high))
    share = 0.5 if interpolation == "midpoint" else place - low
    found = _core.squeeze(first + (second - first) * share, [-1])
    found = _core.unsqueeze(found, dim if dim < 0 else dim + 1) if keepdim else found
    return found if levels.ndim else _core.squeeze(found, [0])


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of several parts of an interval of the same length."""
    from ._options import histogram

    x = input if input.is_floating_point() else _core.cast(input, "float64")
    range: Any = None if min == max == 0 else (min, max)
    if range is not None and min == max:
        range = (min - 1.0, max + 1.0)
    if range is None and x.numel():
        low, high = _core.min(x), _core.max(x)
        same = _core.eq(low, high)
        range = (_core.where(same, low - 1.0, low), _core.where(same, high + 1.0, high))
    return _core.cast(histogram(x, bins, range=range).hist, input.dtype)


def igamma(input: Any, other: Any) -> Tensor:
    """The regularised lower incomplete gamma function."""
    return _derived.igamma(input, other)


def igammac(input: Any, other: Any) -> Tensor:
    """The regularised upper incomplete gamma function."""
    return _derived.igammac(input, other)


def polygamma(n: int, input: Tensor) -> Tensor:
    """A derivative of `digamma`."""
    return _core.polygamma(n, input)


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of several dimensions."""
    x = _floats(input)
    found = _core.lgamma(x)
    for j in range(1, p):
        found = found + _core.lgamma(x - j / 2)
    return found + p * (p - 1) / 4 * math.log(math.pi)


def frexp(input: Tensor) -> Any:
    """Mantissas between 1/2 and 1, and exponents of two."""
    size = _core.abs(input)
    regular = _core.logical_and(_core.isfinite(input), size > 0)
    exponent = _core.where(regular, _core.floor(_core.log2(_core.where(regular, size, 1.0))) + 1.0, 0.0)
    mantissa = _halved(input, exponent)
    # The logarithm may be off by one next to powers of two.
    exponent = exponent + _core.cast(_core.logical_and(regular, _core.abs(mantissa) >= 1.0), input.dtype)
    exponent = exponent - _core.cast(_core.logical_and(regular, _core.abs(_halved(input, exponent)) < 0.5), input.dtype)
    return _halved(input, exponent), _core.cast(exponent, "int32")


def _halved(x: Tensor, exponent: Tensor) -> Tensor:
    # In two steps: a power of two may be beyond the largest number where the quotient is not.
    first = _core.stop_gradient(_core.floor(exponent / 2.0))
    return x * _core.exp2(-first) * _core.exp2(-(_core.stop_gradient(exponent) - first))


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of an axis, side by side along a new last one."""
    from ._methods import unfold as windows

    return windows(input, dimension, size, step)


# Decompositions by other names.


def lu(A: Tensor, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> Any:
    """The two triangles of matrices in one, and the exchanges of rows."""
    if not pivot:
        raise _fault(ValueError, "rows are always exchanged", "leave `pivot` out")
    found = fl.linalg.lu_factor(A)
    return (*found, _core.zeros(A.shape[:-2], "int32")) if get_infos else tuple(found)


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The `x` with `a x = b`, by what `lu` has found of `a`."""
    return fl.linalg.lu_solve(LU_data, LU_pivots, b)


def cholesky_solve(b: Tensor, L: Tensor, upper: builtins.bool = False) -> Tensor:
    """The `x` with `a x = b`, by the triangular factor of `a`."""
    lower = L.mH if upper else L
    found = fl.linalg.solve_triangular(lower, b, upper=False)
    return fl.linalg.solve_triangular(lower.mH, found, upper=True)


def cholesky_inverse(L: Tensor, upper: builtins.bool = False) -> Tensor:
    """The inverse of matrices, by their triangular factors."""
    one = _core.broadcast_to(_core.eye(L.shape[-1], L.shape[-1], 0, L.dtype), L.shape)
    return cholesky_solve(one, L, upper)


def triangular_solve(b: Tensor, A: Tensor, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False) -> Any:
    """The `x` with `A x = b`, for triangular matrices `A`, and `A`."""
    matrix = A.mT if transpose else A
    return fl.linalg.solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular), A


def matrix_exp(A: Tensor) -> Tensor:
    """The exponentials of square matrices."""
    return fl.linalg.matrix_exp(A)


__all__ = [name for name in dict(globals()) if not name.startswith("_") and name not in (
    "annotations", "builtins", "fl", "itertools", "math", "TYPE_CHECKING", "Tensor", "Any"
)]  # fmt: skip  # pyright: ignore[reportUnsupportedDunderAll]
