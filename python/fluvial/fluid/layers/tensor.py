"""Tensors made and put together, under Fluid's names."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from .._lists import listed
from ...layers._arguments import one, size_of, sizes_of
from ...layers._inplace import assign_to
from ...layers import _math
from ...layers._math import argmax, argmin, argsort, assign, cast, fill_constant, ones, sums, zeros
from ...layers._shapes import concat
from ...layers._variables import create_global_var, create_parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import DTypeLike, Tensor, TensorLike

__all__ = [
    "arange", "argmax", "argmin", "argsort", "assign", "cast", "concat", "create_global_var",
    "create_parameter", "diag", "eye", "fill_constant", "fill_constant_batch_size_like", "full",
    "full_like", "has_inf", "has_nan", "isfinite", "kron", "linspace", "ones", "ones_like", "range",
    "reverse", "sums", "trace", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def sizes_like(
    input: Tensor, shape: Sequence[Any], input_dim_idx: int, output_dim_idx: int
) -> list[Any]:
    """Sizes of which one is that of another tensor: the size of the batch."""
    sizes = sizes_of(shape)
    sizes[output_dim_idx] = input.shape[input_dim_idx]
    return sizes


def fill_constant_batch_size_like(
    input: Tensor,
    shape: Sequence[int],
    dtype: DTypeLike,
    value: float,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    force_cpu: bool = False,
) -> Tensor:
    """One number everywhere, in a tensor as large as another one along an axis.

    Args:
        input: The other tensor.
        shape: The sizes; the one at `output_dim_idx` does not count.
        dtype: The element type.
        value: The number.
        input_dim_idx: The axis of `input` whose size is taken.
        output_dim_idx: The axis that gets it.
        force_cpu: For Fluid's programs; there is one device, the CPU.
    """
    return _core.full(sizes_like(input, shape, input_dim_idx, output_dim_idx), value, dtype)


def full(
    shape: Any,
    fill_value: float | Tensor,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stop_gradient: bool = True,
    name: str | None = None,
) -> Tensor:
    """One number everywhere; see `fill_constant`."""
    return _math.fill_constant(shape, dtype or "float32", fill_value, False, out, name)


def full_like(
    input: Tensor,
    fill_value: float,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stop_gradient: bool = True,
    name: str | None = None,
) -> Tensor:
    """One number everywhere, in the shape of `input`."""
    return assign_to(_core.full(input.shape, fill_value, dtype or input.dtype), out)


def zeros_like(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Zeros in the shape of `x`; `out` gets them."""
    return assign_to(_core.zeros_like(x), out)


def ones_like(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Ones in the shape of `x`; `out` gets them."""
    return assign_to(_core.ones_like(x), out)


def _listed(numbers: Any) -> list[Any]:
    return [] if numbers is None else list(numbers) if isinstance(numbers, (list, tuple)) else [str(numbers)]


def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: Sequence[int] | None = None,
    dtype: DTypeLike = "float32",
) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere; so many of them as `batch_shape` says."""
    columns = num_rows if num_columns is None else num_columns
    for what, number in (("num_rows", num_rows), ("num_columns", columns), *(("batch_shape", n) for n in _listed(batch_shape))):
        if not isinstance(number, int) or number < (1 if what == "batch_shape" else 0):
            raise fault(TypeError, f"`{what}` is {number!r}", "give positive integers")
    one_of_them = _core.eye(num_rows, columns, 0, dtype)
    if not batch_shape:
        return one_of_them
    return _core.broadcast_to(one_of_them, (*batch_shape, num_rows, columns))


def reverse(x: Tensor, axis: int | Sequence[int]) -> Tensor:
    """The elements in the other order along axes."""
    return _core.flip(x, [axis] if isinstance(axis, int) else listed(axis, "axes"))


def has_inf(x: Tensor) -> Tensor:
    """Whether an element is infinite, of shape [1]."""
    return one(_core.any(_core.isinf(x)))


def has_nan(x: Tensor) -> Tensor:
    """Whether an element is NaN, of shape [1]."""
    return one(_core.any(_core.isnan(x)))


def isfinite(x: Tensor) -> Tensor:
    """Whether all elements are finite, of shape [1]."""
    return one(_core.all(_core.isfinite(x)))


def _number(value: Any) -> Any:
    """A number given as one, or as a tensor of one element; with whether only the run knows it."""
    if not isinstance(value, _core.Tensor):
        return value
    return value.item() if not value.is_symbolic else value


def range(start: Any, end: Any, step: Any, dtype: DTypeLike) -> Tensor:
    """Numbers from `start` on, in steps, up to `end`, which does not count.

    Args:
        start: A number, or a tensor of one.
        end: Another one.
        step: Another one, not zero.
        dtype: The element type.
    """
    first, last, by = (_number(value) for value in (start, end, step))
    if not any(isinstance(value, _core.Tensor) for value in (first, last, by)):
        return _core.arange(first, last, by, dtype)
    ends = [
        _core.cast(_core.reshape(value, ()), "float64") if isinstance(value, _core.Tensor) else _core.tensor(value, "float64")
        for value in (first, last, by)
    ]  # fmt: skip
    count = _core.maximum(_core.ceil((ends[1] - ends[0]) / ends[2]), 0.0)
    places = _core.iota(size_of(_core.cast(count, "int64")), "float64")
    return _core.cast(ends[0] + places * ends[2], dtype)


#: The same over tensors, once `range` takes variables.
_steps = range


def arange(
    start: Any, end: Any = None, step: Any = 1, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor:
    """Numbers from `start` on, in steps, up to `end`, which does not count."""
    first, last = (0, start) if end is None else (start, end)
    return _steps(first, last, step, dtype or "int64")


def linspace(start: Any, stop: Any, num: Any, dtype: DTypeLike = "float32") -> Tensor:
    """So many numbers at equal distances from `start` to `stop`.

    Args:
        start: A number, or a tensor of one.
        stop: Another one, which is the last of the result.
        num: How many, or a tensor of that.
        dtype: The element type.
    """
    first, last, count = _number(start), _number(stop), size_of(num)
    if not isinstance(first, _core.Tensor) and not isinstance(last, _core.Tensor):
        return _core.linspace(first, last, count, dtype)
    line = _core.linspace(0.0, 1.0, count, "float64")
    ends = [
        _core.cast(_core.reshape(x, ()), "float64") if isinstance(x, _core.Tensor) else _core.tensor(x, "float64")
        for x in (first, last)
    ]  # fmt: skip
    return _core.cast(ends[0] + line * (ends[1] - ends[0]), dtype)


def diag(diagonal: TensorLike) -> Tensor:
    """A matrix with these numbers on its diagonal."""
    line = diagonal if isinstance(diagonal, _core.Tensor) else _core.tensor(diagonal)
    if line.ndim != 1:
        raise fault(ValueError, f"a diagonal of {line.ndim} axes", "give one axis")
    return _core.diag(line)


def tril(input: Tensor, diagonal: int = 0, name: str | None = None) -> Tensor:
    """The elements of matrices on a diagonal and below it, zeros elsewhere."""
    return _core.tril(input, diagonal)


def triu(input: Tensor, diagonal: int = 0, name: str | None = None) -> Tensor:
    """The elements of matrices on a diagonal and above it, zeros elsewhere."""
    return _core.triu(input, diagonal)


def kron(x: Tensor, y: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """Kronecker's product."""
    return assign_to(_core.kron(x, y), out)


def trace(
    input: Tensor,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
    out: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """The sum of a diagonal of matrices, of shape [1] for one matrix."""
    total = _core.sum(_core.diagonal(input, offset, dim1, dim2), axis=-1)
    return assign_to(one(total), out)
