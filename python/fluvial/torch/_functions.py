"""Functions whose positions, names or results differ from those of `fluvial`."""

from __future__ import annotations

import builtins
import functools

import fluvial as fl

from .. import _core
from .._array_api import making as _making
from .._core import Tensor
from .._derived import statistics as _statistics
from .._derived.products import as_tensor as _tensor
from .._fault import fault as _fault
from .._tensor import together as _together
from .._tensor import to as _to
from .._tree import is_size
from ._casts import cast as _cast
from ._results import Svd, Values, pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Making tensors.


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """A tensor with these elements; see `fl.tensor`."""
    return _core.tensor(data, dtype, requires_grad=requires_grad, device=device)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of anything; a tensor stays as it is."""
    return fl.asarray(data, dtype=dtype, device=device)


scalar_tensor = tensor


def empty(*size: Any, **options: Any) -> Tensor:
    """Zeros: memory that nobody has written would not be the same in both modes."""
    options.pop("memory_format", None)
    return _making.zeros(*size, **options)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
    """The same number everywhere."""
    return _making.full(size, fill_value, dtype, device=device, requires_grad=requires_grad)


def _like(make: Any) -> Any:
    def function(input: Tensor, *args: Any, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False, memory_format: Any = None) -> Tensor:
        made = make(input, *args, dtype=dtype, device=device)
        return made.track() if requires_grad else made

    function.__name__ = make.__name__
    function.__doc__ = make.__doc__
    return function


zeros_like, ones_like, full_like = map(_like, (fl.zeros_like, fl.ones_like, fl.full_like))
empty_like = zeros_like


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
    """Ones on the diagonal, else zeros."""
    made = fl.eye(n, m, dtype=dtype, device=device)
    return made.track() if requires_grad else made


def normal(mean: Any, std: Any = 1.0, size: Any = None, **options: Any) -> Tensor:
    """Random numbers of normal distributions."""
    if size is not None:
        return _core.normal(("float32", tuple(size)), float(mean), float(std))
    mean, std = fl.broadcast_tensors([_tensor(mean), _tensor(std)])
    return mean + std * fl.randn_like(mean)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """The coordinates of a grid."""
    return tuple(_core.meshgrid(list(_together(tensors)), indexing))


def tril_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    """The positions on and below a diagonal."""
    return fl.tril_indices(row, col, offset)


def triu_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    """The positions on and above a diagonal."""
    return fl.triu_indices(row, col, offset)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of elements of vectors, one in each row."""
    if len(tensors) == 1:
        return tensors[0]
    return _core.stack([_core.reshape(part, (-1,)) for part in meshgrid(*tensors)], -1)


# Reductions.


def _all_for_none(dim: Any) -> Any:
    """No axes are all of them in PyTorch."""
    return None if isinstance(dim, (list, tuple)) and not dim else dim


def _over_all(function: Any) -> Any:
    @functools.wraps(function)
    def reduced(input: Any, *args: Any, **options: Any) -> Any:
        options = {name: _all_for_none(value) if name in ("dim", "axis") else value for name, value in options.items()}
        return function(input, *map(_all_for_none, args), **options)

    return reduced


amax, amin, sum = _over_all(fl.amax), _over_all(fl.amin), _over_all(fl.sum)
logsumexp, count_nonzero = _over_all(fl.logsumexp), _over_all(fl.count_nonzero)
nansum, nanmean = _over_all(fl.nansum), _over_all(fl.nanmean)


def _dim(dim: Any, named: dict[str, Any]) -> tuple[Any, builtins.bool]:
    """The axis and whether it stays, also by NumPy's names."""
    dim = _all_for_none(named.pop("axis", dim))
    keep = named.pop("keepdims", False)
    if named:
        raise _fault(TypeError, f"there is no argument `{next(iter(named))}`", "the arguments are `dim` and `keepdim`")
    return dim, keep


def max(input: Tensor, dim: Any = None, keepdim: builtins.bool = False, *, other: Any = None, **named: Any) -> Any:
    """The greatest element; with an axis, the greatest along it and where they stand; with a tensor, the greater of each pair."""
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return _core.maximum(input, other)
    dim, keep = _dim(dim, named)
    keepdim = keepdim or keep
    if dim is None:
        return _core.max(input)
    return _extreme(input, dim, keepdim, _core.argmax)


def min(input: Tensor, dim: Any = None, keepdim: builtins.bool = False, *, other: Any = None, **named: Any) -> Any:
    """The smallest element; with an axis, the smallest along it and where they stand; with a tensor, the smaller of each pair."""
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return _core.minimum(input, other)
    dim, keep = _dim(dim, named)
    keepdim = keepdim or keep
    if dim is None:
        return _core.min(input)
    return _extreme(input, dim, keepdim, _core.argmin)


def _extreme(x: Tensor, dim: int, keepdim: builtins.bool, find: Any) -> Values:
    if x.ndim == 0:
        return Values(x, _core.zeros((), "int64"))
    places = find(x, dim, True)
    values = _core.take_along_axis(x, places, dim)
    return Values(*(part if keepdim else _core.squeeze(part, [dim]) for part in (values, places)))


def aminmax(input: Tensor, *, dim: Any = None, keepdim: builtins.bool = False) -> Any:
    """The smallest and the greatest element."""
    return fl.aminmax(input, axis=dim, keepdims=keepdim)


def median(input: Tensor, dim: int | None = None, keepdim: builtins.bool = False) -> Any:
    """The lower of the two middle elements; with an axis, along it, and where they stand."""
    found = _statistics.lower_median(input, dim, keepdim, False)
    return found.values if dim is None else Values(*found)


def nanmedian(input: Tensor, dim: int | None = None, keepdim: builtins.bool = False) -> Any:
    """`median` of the elements that are numbers."""
    found = _statistics.lower_median(input, dim, keepdim, True)
    return found.values if dim is None else Values(*found)


def mode(input: Tensor, dim: int = -1, keepdim: builtins.bool = False) -> Values:
    """The element that stands most often along an axis, and where it stands."""
    return Values(*_statistics.mode_of(input, dim, keepdim))


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: builtins.bool = False) -> Values:
    """The k-th smallest element along an axis, and where it stands."""
    return Values(*_statistics.kthvalue(input, k, dim, keepdim))


def _spread(function: Any) -> Any:
    def reduced(
        input: Tensor,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: builtins.bool = False,
        *,
        correction: float | None = None,
        **named: Any,
    ) -> Any:
        if isinstance(dim, builtins.bool):
            dim, unbiased = None, dim
        dim, keep = _dim(dim, named)
        if correction is None:
            correction = 1.0 if unbiased is None else float(unbiased)
        return function(input, dim, keepdim or keep, correction)

    reduced.__name__ = function.__name__
    reduced.__doc__ = f"`fl.{function.__name__}` with a correction of one by default."
    return reduced


std, var = _spread(_core.std), _spread(_core.var)
std_mean, var_mean = _spread(_statistics.std_mean), _spread(_statistics.var_mean)


def mean(input: Tensor, dim: Any = None, keepdim: builtins.bool = False, *, dtype: Any = None, **named: Any) -> Tensor:
    """The mean."""
    dim, keep = _dim(dim, named)
    x = input if dtype is None else _core.cast(input, dtype)
    if not x.is_floating_point() and not x.is_complex():
        raise _fault(TypeError, f"the mean of {x.dtype} is not a whole number", "give `dtype=torch.float32`, or `x.float()`")
    return _core.mean(x, dim, keepdim or keep)


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: builtins.bool = False, **named: Any) -> Tensor:
    """A norm of vectors, or Frobenius' of matrices."""
    dim, keep = _dim(dim, named)
    keepdim = keepdim or keep
    if p == "nuc":
        return fl.linalg.matrix_norm(input, ord="nuc", keepdims=keepdim)
    p = 2.0 if p in ("fro", None) else float(p)
    return fl.linalg.vector_norm(input, axis=dim, keepdims=keepdim, ord=p)


def quantile(input: Tensor, q: Any, dim: Any = None, keepdim: builtins.bool = False, *, interpolation: str = "linear") -> Tensor:
    """Elements by rank."""
    if isinstance(q, Tensor):
        q = q.tolist()
    if isinstance(q, (list, tuple)):
        return _core.quantiles(input, list(q), dim, keepdim, interpolation)
    return _core.quantile(input, q, dim, keepdim, interpolation)


def argmax(input: Tensor, dim: int | None = None, keepdim: builtins.bool = False, **named: Any) -> Tensor:
    """Where the first greatest element stands."""
    dim, keep = _dim(dim, named)
    return fl.argmax(input, dim, keepdim or keep)


def argmin(input: Tensor, dim: int | None = None, keepdim: builtins.bool = False, **named: Any) -> Tensor:
    """Where the first smallest element stands."""
    dim, keep = _dim(dim, named)
    return fl.argmin(input, dim, keepdim or keep)


def prod(input: Tensor, dim: Any = None, keepdim: builtins.bool = False, *, dtype: Any = None) -> Tensor:
    """The product."""
    found = fl.prod(_wide(input, dtype), _all_for_none(dim), keepdim)
    return found if dtype is None else _core.cast(found, dtype)


def _wide(input: Tensor, dtype: Any) -> Tensor:
    """The tensor with the element type that it is summed in: whole numbers and bools in that of the longest."""
    if dtype is None and not input.is_floating_point() and not input.is_complex():
        dtype = _core.int64
    return input if dtype is None or dtype == input.dtype else _core.cast(input, dtype)


def _summed(function: Any) -> Any:
    def along(input: Tensor, dim: int, *, dtype: Any = None, **named: Any) -> Tensor:
        dim, _ = _dim(named.pop("axis", dim), named)
        return function(_wide(input, dtype), dim)

    along.__name__, along.__doc__ = function.__name__, function.__doc__
    return along


cumsum, cumprod = _summed(fl.cumsum), _summed(fl.cumprod)


def cummax(input: Tensor, dim: int) -> Values:
    """The greatest of the first elements along an axis, and where they stand."""
    return pair(_core.cummax(input, dim))


def cummin(input: Tensor, dim: int) -> Values:
    """The smallest of the first elements along an axis, and where they stand."""
    return pair(_core.cummin(input, dim))


# Order and sets.


def sort(input: Tensor, dim: int = -1, descending: builtins.bool = False, stable: builtins.bool = False) -> Values:
    """The elements in order, and where they stood."""
    return pair(_core.sort(input, dim, descending))


def argsort(input: Tensor, dim: int = -1, descending: builtins.bool = False, stable: builtins.bool = False) -> Tensor:
    """Where the elements stood that are put in order."""
    return _core.argsort(input, dim, descending)


def msort(input: Tensor) -> Tensor:
    """The elements in order along the first axis."""
    return _core.sort(input, 0)[0]


def topk(input: Tensor, k: int, dim: int = -1, largest: builtins.bool = True, sorted: builtins.bool = True) -> Values:
    """The greatest elements along an axis, and where they stand."""
    return pair(_core.topk(input, k, dim, largest))


def unique(input: Tensor, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: Any = None) -> Any:
    """The different elements, in order."""
    if dim is not None:
        raise _fault(ValueError, "different parts along an axis are not found", "leave `dim` out, for elements")
    values, inverse, counts = _core.unique(input)
    found = [values] + [inverse] * return_inverse + [counts] * return_counts
    return values if len(found) == 1 else tuple(found)


def nonzero(input: Tensor, *, as_tuple: builtins.bool = False) -> Any:
    """The positions of the elements that are not zero: one in each row, or a vector for each axis."""
    if input.ndim == 0:
        places = _core.nonzero(_core.reshape(input, (1,)))[0]
        return (places,) if as_tuple else _core.zeros((places.shape[0], 0), "int64")
    return tuple(_core.nonzero(input)) if as_tuple else _core.argwhere(input)


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, else `other`; without these, the positions where it holds."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    chosen: Any = (input, other)
    return fl.where(condition, *chosen)


def equal(input: Tensor, other: Tensor) -> Any:
    """Whether both have the same shape and elements, as a bool; as a tensor where only the run of a program knows."""
    if repr(input.shape) != repr(other.shape):
        return False
    found = _core.all(_core.eq(input, other))
    return found if found.is_symbolic else found.item()


# Parts and positions.


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """The tensor with parts of another one added at positions of an axis."""
    source = source if alpha == 1 else _core.cast(source * alpha, source.dtype)
    if input.ndim == 0:
        return _core.reshape(index_add(_core.reshape(input, (1,)), 0, index, _core.reshape(source, (-1,))), ())
    source = _core.unsqueeze(source, 0) if source.ndim == 0 else source
    index = _core.reshape(index, (1,)) if index.ndim == 0 else index
    return input + _core.cast(_core.index_add(source, index, dim, input.shape[dim]), input.dtype)


def index_put(input: Tensor, indices: Any, values: Any, accumulate: builtins.bool = False) -> Tensor:
    """The tensor with values at positions."""
    key = tuple(indices)
    return input.setitem(key, input[key] + values) if accumulate else input.setitem(key, values)


def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at positions of the flat tensor."""
    return _core.gather(_core.reshape(input, (-1,)), index, 0)


def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None, *, output_size: Any = None) -> Tensor:
    """Each element several times."""
    return fl.repeat(input, repeats, axis=dim)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """The elements moved along axes; what falls off comes in at the other end."""
    return fl.roll(input, shifts, dims)


def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order."""
    return fl.flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order."""
    return fl.flip(input, 0)


def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The tensor turned by right angles."""
    return _core.rot90(input, k, list(dims))


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """The tensor without axes of size one; axes of other sizes stay."""
    if dim is None:
        return input.squeeze()
    axes = [dim] if isinstance(dim, int) else list(dim)
    ones = [axis for axis in axes if input.ndim and isinstance(input.shape[axis], int) and input.shape[axis] == 1]
    return _core.squeeze(input, ones) if ones else input


def permute(input: Tensor, dims: Any) -> Tensor:
    """The axes in another order."""
    return _core.permute(input, dims)


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Axes at other places."""
    return fl.moveaxis(input, source, destination)


def tile(input: Tensor, dims: Any) -> Tensor:
    """The tensor put beside itself."""
    return fl.tile(input, (dims,) if isinstance(dims, int) else dims)


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts of a tensor along an axis."""
    return tuple(fl.split(tensor, split_size_or_sections, dim))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most so many parts of a tensor along an axis, all but the last of the same length."""
    size = input.shape[dim]
    if not isinstance(size, int):
        return tuple(_core.chunk(input, chunks, dim))
    return split(input, builtins.max(-(-size // chunks), 1), dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts along an axis, without it."""
    return tuple(_core.unbind(input, dim))


def broadcast_tensors(*tensors: Any) -> list[Tensor]:
    """The tensors with the shape that they have together."""
    return _core.broadcast_tensors(list(_together(tensors)))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A diagonal of matrices."""
    return _core.diagonal(input, offset, dim1, dim2)


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """The differences of neighbours along an axis."""
    if n == 0:
        return input
    if input.dtype == _core.bool:
        parts = [part for part in (prepend, input, append) if part is not None]
        x = _core.concat(parts, dim) if len(parts) > 1 else input
        for _ in range(n):
            x = _core.ne(_core.slice(x, dim, 1), _core.slice(x, dim, None, -1))
        return x
    return fl.diff(input, axis=dim, n=n, prepend=prepend, append=append)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """A product summed over axes."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if not isinstance(dims, int):
        dims = [list(axes) if isinstance(axes, (list, tuple)) else [axes] for axes in dims]
        # An axis of size one is summed with all of the other one's.
        for i, j in zip(*dims):
            if is_size(a.shape[i], 1) and not is_size(b.shape[j], 1):
                b = fl.sum(b, axis=j, keepdims=True)
            elif is_size(b.shape[j], 1) and not is_size(a.shape[i], 1):
                a = fl.sum(a, axis=i, keepdims=True)
    return fl.tensordot(a, b, dims)


def cross(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """The cross product of vectors of three elements."""
    return fl.linalg.cross(input, other, axis=dim)


def clone(input: Tensor) -> Tensor:
    """A tensor of its own with the same elements."""
    return input.clone()


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix."""
    return input.t()


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def is_floating_point(input: Tensor) -> builtins.bool:
    """Whether the elements are floats."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> builtins.bool:
    """Whether the elements are complex numbers."""
    return input.is_complex()


def is_nonzero(input: Tensor) -> builtins.bool:
    """Whether the only element is not zero."""
    return builtins.bool(input)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest whole numbers, even ones for halves; or numbers with so many digits behind the point."""
    if decimals == 0:
        return _core.round(input)
    scale = 10.0**decimals
    return _core.round(input * scale) / scale


def rsub(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """`other - alpha * input`."""
    return other - alpha * input


def add(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """`input + alpha * other`."""
    return _core.add(input, other if alpha == 1 else _core.mul(other, alpha))


def sub(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """`input - alpha * other`."""
    return _core.sub(input, other if alpha == 1 else _core.mul(other, alpha))


subtract = sub
mul = multiply = _core.mul
divide = true_divide = fl.div
clip = fl.clamp
sgn = _core.sign
nextafter = fl.nextafter


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None, **named: Any) -> Tensor:
    """Exponentials along an axis, divided by their sum."""
    dim, _ = _dim(dim, named)
    return _core.softmax(input if dtype is None else _cast(input, dtype), -1 if dim is None else dim)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _core.log_softmax(input if dtype is None else _cast(input, dtype), -1 if dim is None else dim)


def svd(input: Tensor, some: builtins.bool = True) -> Any:
    """Singular vectors and values: `U`, `S` and `V`."""
    u, s, vh = fl.linalg.svd(input, full_matrices=not some)
    return Svd(u, s, vh.mH)


def qr(input: Tensor, some: builtins.bool = True) -> Any:
    """An orthogonal and a triangular factor."""
    return fl.linalg.qr(input, mode="reduced" if some else "complete")


def cholesky(input: Tensor, upper: builtins.bool = False) -> Tensor:
    """The triangular factor of symmetric, positive definite matrices."""
    return _core.cholesky(input, upper)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The inverse in the sense of least squares."""
    return fl.linalg.pinv(input, rtol=rcond)


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; not a number where it is negative."""
    sign, size = _core.slogdet(input)
    return size + _core.log(sign) if input.is_complex() else _core.where(sign > 0, size, float("nan"))


def slogdet(input: Tensor) -> Any:
    """The sign of the determinant, and the logarithm of its size."""
    return fl.linalg.slogdet(input)


def matrix_power(input: Tensor, n: int) -> Tensor:
    """A power of square matrices."""
    return fl.linalg.matrix_power(input, n)


def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices."""
    return fl.linalg.multi_dot(list(matrices))


__all__ = [name for name in dict(globals()) if not name.startswith("_") and name not in (
    "annotations", "builtins", "fl", "functools", "is_size", "Svd", "Values", "pair", "TYPE_CHECKING", "Tensor", "Any"
)]  # fmt: skip  # pyright: ignore[reportUnsupportedDunderAll]
