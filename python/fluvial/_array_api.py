"""Names and signatures of the Python array API standard, 2024.12, where the ops have others.

Complex numbers and unsigned integers above 8 bits are not there; neither is int16.
"""

from __future__ import annotations

import builtins
import math
from collections import namedtuple

from . import _core
from ._core import DType, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._core import DTypeLike, Shape, TensorLike

e = math.e
inf = math.inf
nan = math.nan
pi = math.pi
newaxis = None

#: The version of the standard.
__array_api_version__ = "2024.12"

_INTS = {"int8": _core.int8, "int32": _core.int32, "int64": _core.int64}
_UINTS = {"uint8": _core.uint8}
_FLOATS = {
    "float16": _core.float16,
    "bfloat16": _core.bfloat16,
    "float32": _core.float32,
    "float64": _core.float64,
}
#: The kinds that the standard knows, and the element types of each.
_KINDS: dict[str, dict[str, DType]] = {
    "bool": {"bool": _core.bool},
    "signed integer": _INTS,
    "unsigned integer": _UINTS,
    "integral": _INTS | _UINTS,
    "real floating": _FLOATS,
    "complex floating": {},
    "numeric": _INTS | _UINTS | _FLOATS,
}


def _on_cpu(device: object) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f'there is no device "{device}"\n  remedy: use "cpu"')


def _dtype(dtype: DTypeLike) -> DType:
    return _core.full((), 0, dtype).dtype


# Making tensors.


def asarray(
    obj: Any,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    copy: builtins.bool | None = None,
) -> Tensor:
    """A tensor of anything: numbers, nested lists, arrays, tensors.

    Args:
        obj: The elements.
        dtype: The element type, if another one is wanted.
        device: None or "cpu".
        copy: True to copy; False to refuse what needs a copy; None to copy what has to be.

    Example:
        >>> fl.asarray([1, 2]).dtype
        fluvial.int64
    """
    _on_cpu(device)
    if isinstance(obj, Tensor):
        if dtype is None or obj.dtype == _dtype(dtype):
            return obj if not copy else obj.__copy__()
    if copy is False:
        if dtype is None and hasattr(obj, "__dlpack__"):
            return _core.from_dlpack(obj, copy=False)
        raise ValueError("this needs a copy\n  remedy: leave `copy` out")
    return _core.tensor(obj, dtype)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """Numbers with equal distances, from `start` to before `stop`.

    Args:
        start: The first one; or the end, from zero, if `stop` is missing.
        stop: The end, which is not reached.
        step: The distance.
        dtype: The element type: by default int64 for ints, else float32.
        device: None or "cpu".

    Example:
        >>> fl.arange(3).tolist()
        [0, 1, 2]
    """
    _on_cpu(device)
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        whole = all_ints(start, stop, step)
        dtype = _core.int64 if whole else _core.float32
    return _core.arange(start, stop, step, dtype)


def all_ints(*numbers: object) -> builtins.bool:
    """Whether all of these are ints of Python."""
    return builtins.all(isinstance(number, int) for number in numbers)


def zeros(
    shape: Shape, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Tensor:
    """Zeros.

    Args:
        shape: Sizes: ints and, in a program, symbols.
        dtype: The element type; float32 by default.
        device: None or "cpu".
    """
    _on_cpu(device)
    return _core.zeros(shape, dtype or _core.float32)


def ones(
    shape: Shape, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Tensor:
    """Ones.

    Args:
        shape: Sizes: ints and, in a program, symbols.
        dtype: The element type; float32 by default.
        device: None or "cpu".
    """
    _on_cpu(device)
    return _core.ones(shape, dtype or _core.float32)


#: Memory that nobody has written would not be the same in both modes.
empty = zeros


def full(
    shape: Shape,
    fill_value: float,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """The same number everywhere.

    Args:
        shape: Sizes: ints and, in a program, symbols.
        fill_value: The number.
        dtype: The element type; float32 by default, also for ints: `full((2,), 0)` is a float tensor.
        device: None or "cpu".

    Example:
        >>> fl.full((2,), 0.5).tolist()
        [0.5, 0.5]
    """
    _on_cpu(device)
    return _core.full(shape, fill_value, dtype or _core.float32)


def zeros_like(
    x: TensorLike, /, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Zeros in the shape of `x`.

    Args:
        x: A tensor.
        dtype: The element type; that of `x` by default.
        device: None or "cpu".
    """
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(
    x: TensorLike, /, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Ones in the shape of `x`.

    Args:
        x: A tensor.
        dtype: The element type; that of `x` by default.
        device: None or "cpu".
    """
    return full_like(x, 1, dtype=dtype, device=device)


def full_like(
    x: TensorLike,
    fill_value: float,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """The same number everywhere, in the shape of `x`.

    Args:
        x: A tensor.
        fill_value: The number.
        dtype: The element type; that of `x` by default.
        device: None or "cpu".
    """
    _on_cpu(device)
    made = _core.full_like(x, fill_value)
    return made if dtype is None else _core.cast(made, dtype)


empty_like = zeros_like


def eye(
    n_rows: int | str,
    n_cols: int | str | None = None,
    /,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """Ones on a diagonal, else zeros.

    Args:
        n_rows: The number of rows.
        n_cols: The number of columns; that of the rows by default.
        k: Which diagonal: above the main one if positive.
        dtype: The element type; float32 by default.
        device: None or "cpu".

    Example:
        >>> fl.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    _on_cpu(device)
    columns = n_rows if n_cols is None else n_cols
    return _core.eye(n_rows, columns, k, dtype or _core.float32)


def linspace(
    start: float,
    stop: float,
    /,
    num: int,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
    endpoint: builtins.bool = True,
) -> Tensor:
    """Numbers with equal distances between two.

    Args:
        start: The first one.
        stop: The last one, or the end that is not reached.
        num: How many.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        endpoint: Whether `stop` is the last one.
    """
    _on_cpu(device)
    dtype = dtype or _core.float32
    if endpoint:
        return _core.linspace(start, stop, num, dtype)
    return _core.linspace(start, stop, num + 1, dtype)[:-1]


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid.

    Args:
        *arrays: Vectors.
        indexing: "xy" or "ij": whether the first two axes are exchanged.
    """
    if arrays and isinstance(arrays[-1], str):
        *arrays, indexing = arrays  # type: ignore[assignment]
    if len(arrays) == 1 and isinstance(arrays[0], (tuple, list)):
        arrays = tuple(arrays[0])
    return _core.meshgrid(list(arrays), indexing)


def tril(x: TensorLike, /, k: int = 0) -> Tensor:
    """The part of matrices on and below a diagonal, else zeros.

    Args:
        x: Matrices.
        k: Which diagonal: above the main one if positive.
    """
    return _core.tril(x, k)


def triu(x: TensorLike, /, k: int = 0) -> Tensor:
    """The part of matrices on and above a diagonal, else zeros.

    Args:
        x: Matrices.
        k: Which diagonal: above the main one if positive.
    """
    return _core.triu(x, k)


# Element types.


def astype(
    x: Tensor,
    dtype: DTypeLike,
    /,
    *,
    copy: builtins.bool = True,
    device: str | None = None,
) -> Tensor:
    """The tensor with another element type.

    Args:
        x: A tensor.
        dtype: The element type.
        copy: Whether the result is a new object even if nothing changes.
        device: None or "cpu".
    """
    _on_cpu(device)
    if x.dtype == _dtype(dtype):
        return x.__copy__() if copy else x
    return _core.cast(x, dtype)


def isdtype(dtype: DTypeLike, kind: Any) -> builtins.bool:
    """Whether an element type is of a kind.

    Args:
        dtype: The element type.
        kind: Another one, "bool", "signed integer", "unsigned integer", "integral",
            "real floating", "complex floating", "numeric", or a tuple of these.

    Example:
        >>> fl.isdtype(fl.float32, "real floating")
        True
    """
    own = _dtype(dtype)
    if isinstance(kind, tuple):
        return builtins.any(isdtype(own, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f'there is no kind "{kind}"\n  remedy: use one of {", ".join(_KINDS)}')
        return own.name in _KINDS[kind]
    return own == _dtype(kind)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The element type of an op on these.

    Args:
        *arrays_and_dtypes: Tensors, element types, and Python numbers, which take the type of others.

    Example:
        >>> fl.result_type(fl.int32, fl.float32, 1.0)
        fluvial.float32
    """
    if not arrays_and_dtypes:
        raise ValueError("the type of nothing was asked for\n  remedy: pass tensors or dtypes")

    numbers = (builtins.bool, int, float)
    typed = [item for item in arrays_and_dtypes if not isinstance(item, numbers)]
    found: Any = None
    for item in typed:
        dtype = item.dtype if hasattr(item, "dtype") else item
        found = _dtype(dtype) if found is None else _core.promote_types(found, dtype)
    for item in arrays_and_dtypes:
        if isinstance(item, numbers):
            found = _beside(item, found)
    return found


def _beside(number: Any, dtype: DType | None) -> DType:
    """The element type of an op on a number of Python and values of this type."""
    if isinstance(number, float) and (dtype is None or dtype.name not in _FLOATS):
        return _core.float32
    if isinstance(number, builtins.bool):
        return dtype or _core.bool
    if dtype is None or dtype == _core.bool:
        return _core.int64
    return dtype


def can_cast(from_: Any, to: DTypeLike, /) -> builtins.bool:
    """Whether promotion leads from one element type to another.

    Args:
        from_: An element type or a tensor.
        to: An element type.

    Example:
        >>> fl.can_cast(fl.int32, fl.int64), fl.can_cast(fl.int64, fl.int32)
        (True, False)
    """
    own = from_.dtype if isinstance(from_, Tensor) else _dtype(from_)
    return result_type(own, to) == _dtype(to)


finfo_object = namedtuple("finfo_object", "bits eps max min smallest_normal dtype")
iinfo_object = namedtuple("iinfo_object", "bits max min dtype")

#: By element type: the bits of the significand and the largest exponent.
_FORMATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}


def finfo(type: Any, /) -> finfo_object:
    """The limits of a float type.

    Args:
        type: An element type or a tensor.

    Example:
        >>> fl.finfo(fl.float32).bits
        32
    """
    dtype = type.dtype if isinstance(type, Tensor) else _dtype(type)
    if dtype.name not in _FORMATS:
        raise TypeError(f"{dtype} is no float type\n  remedy: use `fl.iinfo`")
    bits, top = _FORMATS[dtype.name]
    largest = (2.0 - 2.0**-bits) * 2.0**top
    return finfo_object(8 * dtype.itemsize, 2.0**-bits, largest, -largest, 2.0 ** (1 - top), dtype)


def iinfo(type: Any, /) -> iinfo_object:
    """The limits of an integer type.

    Args:
        type: An element type or a tensor.

    Example:
        >>> fl.iinfo(fl.uint8).max
        255
    """
    dtype = type.dtype if isinstance(type, Tensor) else _dtype(type)
    if dtype.name not in _KINDS["integral"]:
        raise TypeError(f"{dtype} is no integer type\n  remedy: use `fl.finfo`")
    bits = 8 * dtype.itemsize
    signed = dtype.name in _INTS
    low = -(2 ** (bits - 1)) if signed else 0
    return iinfo_object(bits, 2 ** (bits - signed) - 1, low, dtype)


# Elementwise functions under the standard's names.

bitwise_left_shift = _core.left_shift
bitwise_right_shift = _core.right_shift
bitwise_invert = _core.bitwise_not
divide = _core.div
equal = _core.eq
floor_divide = _core.floor_div
greater = _core.gt
greater_equal = _core.ge
less = _core.lt
less_equal = _core.le
multiply = _core.mul
negative = _core.neg
not_equal = _core.ne
subtract = _core.sub


def positive(x: TensorLike, /) -> Tensor:
    """The tensor itself.

    Args:
        x: A tensor.
    """
    return x if isinstance(x, Tensor) else _core.tensor(x)


#: Real numbers are their own conjugates.
conj = real = positive


def signbit(x: TensorLike, /) -> Tensor:
    """Whether the sign is negative, also of zeros.

    Args:
        x: A tensor of floats.
    """
    x = positive(x)
    return _core.lt(_core.copysign(ones_like(x), x), 0)


def clip(
    x: TensorLike,
    /,
    low: Any = None,
    high: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Tensor:
    """The elements, but none below or above bounds.

    Args:
        x: A tensor.
        low: The lower bound: a number, a tensor or None.
        high: The upper bound: a number, a tensor or None.
        min: The standard's name of `low`.
        max: The standard's name of `high`.

    Example:
        >>> fl.clip(fl.tensor([-2.0, 0.5, 3.0]), 0.0, max=1.0).tolist()
        [0.0, 0.5, 1.0]
    """
    low = min if low is None else low
    high = max if high is None else high
    floats = isinstance(x, Tensor) and x.dtype.name in _FLOATS
    if floats and not isinstance(low, Tensor) and not isinstance(high, Tensor):
        return _core.clip(x, low, high)
    result = positive(x)
    if low is not None:
        result = _core.maximum(result, low)
    return result if high is None else _core.minimum(result, high)


# Shapes.


def broadcast_arrays(*arrays: TensorLike) -> list[Tensor]:
    """The tensors with the shape that they have together.

    Args:
        *arrays: Tensors.
    """
    return _core.broadcast_tensors(arrays)


def concat(arrays: Sequence[TensorLike], /, axis: int | None = 0) -> Tensor:
    """Tensors one after the other.

    Args:
        arrays: The parts.
        axis: Along this axis; None for flat ones.
    """
    if axis is None:
        return _core.concat([_core.flatten(part) for part in arrays], 0)
    return _core.concat(arrays, axis)


def stack(arrays: Sequence[TensorLike], /, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis.

    Args:
        arrays: The parts.
        axis: Where the new axis stands.
    """
    return _core.stack(arrays, axis)


def expand_dims(x: TensorLike, /, axis: int = 0) -> Tensor:
    """The tensor with a new axis of size one.

    Args:
        x: A tensor.
        axis: Where the new axis stands.
    """
    return _core.unsqueeze(x, axis)


def _axes(axis: Any) -> Any:
    return (axis,) if isinstance(axis, int) else axis


def squeeze(x: Tensor, /, axis: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without axes of size one.

    Args:
        x: A tensor.
        axis: Which; None for all.
    """
    return x.squeeze() if axis is None else _core.squeeze(x, _axes(axis))


def flip(x: Tensor, /, axis: int | Sequence[int] | None = None) -> Tensor:
    """The elements in reverse order.

    Args:
        x: A tensor.
        axis: Along which axes; None for all.
    """
    return _core.flip(x, range(x.ndim) if axis is None else _axes(axis))


def moveaxis(x: TensorLike, source: Any, destination: Any, /) -> Tensor:
    """The axes in another order: some moved, the others as they were.

    Args:
        x: A tensor.
        source: Which axes.
        destination: Where to.
    """
    return _core.movedim(x, _axes(source), _axes(destination))


def permute_dims(x: TensorLike, /, axes: Sequence[int]) -> Tensor:
    """The axes in another order.

    Args:
        x: A tensor.
        axes: The old axes in their new order.
    """
    return _core.permute(x, axes)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged.

    Args:
        x: Matrices.
    """
    return x.mT


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element several times.

    Args:
        x: A tensor.
        repeats: How often: an int, or a tensor with a number for each place of the axis.
        axis: Along this axis; None for the flat tensor.
    """
    if axis is None:
        x, axis = _core.flatten(x), 0
    if isinstance(repeats, int):
        return _core.repeat_interleave(x, repeats, axis)
    counts = repeats if isinstance(repeats, Tensor) else _core.tensor(repeats)
    if counts.size == 1:
        counts = _core.broadcast_to(counts, (x.shape[axis],))
    return _core.repeat_interleave_counts(x, _core.cast(counts, "int64"), axis)


def roll(x: Tensor, /, shift: Any, axis: Any = None) -> Tensor:
    """The elements moved along axes; what falls off comes in at the other end.

    Args:
        x: A tensor.
        shift: By how many places.
        axis: Along which axes; None for the flat tensor.
    """
    if axis is None:
        return _core.reshape(_core.roll(_core.flatten(x), _axes(shift), (0,)), x.shape)
    axes = _axes(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else shift
    return _core.roll(x, shifts, axes)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """The tensor put beside itself.

    Args:
        x: A tensor.
        repetitions: How often along each axis.
    """
    repeats = (1,) * (x.ndim - len(repetitions)) + tuple(repetitions)
    return _core.tile(_core.reshape(x, (1,) * (len(repeats) - x.ndim) + x.shape), repeats)


def unstack(x: TensorLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts of a tensor along an axis, without it.

    Args:
        x: A tensor.
        axis: The axis.
    """
    return tuple(_core.unbind(x, axis))


def take(x: TensorLike, indices: TensorLike, /, *, axis: int | None = None) -> Tensor:
    """The parts at these positions of an axis.

    Args:
        x: A tensor.
        indices: The positions; negative ones count from the end.
        axis: The axis; None for the only one.
    """
    key = (slice(None),) * ((axis or 0) % x.ndim) + (indices,)  # type: ignore[union-attr]
    return x[key]  # type: ignore[index]


def take_along_axis(x: TensorLike, indices: TensorLike, /, axis: int = -1) -> Tensor:
    """The elements at these positions, for each line along an axis.

    Args:
        x: A tensor.
        indices: The positions.
        axis: The axis.
    """
    return _core.take_along_axis(x, indices, axis)


# Products.


def tensordot(x1: Tensor, x2: Tensor, /, axes: Any = 2, x2_axes: Any = None) -> Tensor:
    """A product summed over axes.

    Args:
        x1: A tensor.
        x2: A tensor.
        axes: How many of the last axes of `x1` meet the first of `x2`; or two sequences of axes.
        x2_axes: The second of the two sequences, if it stands apart.
    """
    if x2_axes is not None:
        axes = (axes, x2_axes)
    if isinstance(axes, int):
        axes = (range(x1.ndim - axes, x1.ndim), range(axes))
    return _core.tensordot(x1, x2, list(axes[0]), list(axes[1]))


def vecdot(x1: TensorLike, x2: TensorLike, /, axis: int = -1) -> Tensor:
    """The products of vectors along an axis.

    Args:
        x1: A tensor.
        x2: A tensor.
        axis: The axis.
    """
    return _core.vecdot(x1, x2, axis)


# Searching, sorting, sets.


def _over_all(function: Any, x: Tensor, axis: int | None, keepdims: builtins.bool) -> Tensor:
    if axis is not None:
        return function(x, axis, keepdims)
    found = function(_core.flatten(x), 0, False)
    return _core.reshape(found, (1,) * x.ndim) if keepdims else found


def argmax(x: Tensor, /, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    """The position of the first greatest element.

    Args:
        x: A tensor.
        axis: Along this axis; None for the flat tensor.
        keepdims: Whether the axis stays, with size one.
    """
    return _over_all(_core.argmax, x, axis, keepdims)


def argmin(x: Tensor, /, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    """The position of the first smallest element.

    Args:
        x: A tensor.
        axis: Along this axis; None for the flat tensor.
        keepdims: Whether the axis stays, with size one.
    """
    return _over_all(_core.argmin, x, axis, keepdims)


def argsort(
    x: TensorLike, /, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True
) -> Tensor:
    """The positions of the elements in order; equal ones keep theirs.

    Args:
        x: A tensor.
        axis: The axis.
        descending: Whether the greatest come first.
        stable: It always is.
    """
    return _core.argsort(x, axis, descending)


def sort(
    x: TensorLike, /, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True
) -> Tensor:
    """The elements in order. `x.sort(axis)` gives their former positions besides.

    Args:
        x: A tensor.
        axis: The axis.
        descending: Whether the greatest come first.
        stable: It always is.

    Example:
        >>> fl.sort(fl.tensor([3.0, 1.0, 2.0])).tolist()
        [1.0, 2.0, 3.0]
    """
    return _core.sort(x, axis, descending)[0]


def nonzero(x: TensorLike, /) -> tuple[Tensor, ...]:
    """The positions of the elements that are not zero, one tensor per axis.

    Args:
        x: A tensor.
    """
    return tuple(_core.nonzero(x))


def searchsorted(
    x1: Tensor,
    x2: TensorLike,
    /,
    right: builtins.bool = False,
    *,
    side: str = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Where elements would have to be put into a sorted vector.

    Args:
        x1: The vector.
        x2: The elements.
        right: Whether after equal ones.
        side: "left" or "right": the standard's form of `right`.
        sorter: Positions that bring `x1` in order.
    """
    if side not in ("left", "right"):
        raise ValueError(f'there is no side "{side}"\n  remedy: use "left" or "right"')
    ordered = x1 if sorter is None else take(x1, sorter, axis=0)
    return _core.searchsorted(ordered, x2, right or side == "right")


unique_all_result = namedtuple("unique_all_result", "values indices inverse_indices counts")
unique_counts_result = namedtuple("unique_counts_result", "values counts")
unique_inverse_result = namedtuple("unique_inverse_result", "values inverse_indices")


def unique_values(x: TensorLike, /) -> Tensor:
    """The different elements, in order.

    Args:
        x: A tensor.
    """
    return _core.unique(x)[0]


def unique_counts(x: TensorLike, /) -> unique_counts_result:
    """The different elements, and how often each stands there.

    Args:
        x: A tensor.

    Example:
        >>> fl.unique_counts(fl.tensor([2, 1, 2])).counts.tolist()
        [1, 2]
    """
    values, _, counts = _core.unique(x)
    return unique_counts_result(values, counts)


def unique_inverse(x: Tensor, /) -> unique_inverse_result:
    """The different elements, and which one stands at each place.

    Args:
        x: A tensor.
    """
    values, inverse, _ = _core.unique(x)
    return unique_inverse_result(values, _core.reshape(inverse, x.shape))


def unique_all(x: Tensor, /) -> unique_all_result:
    """The different elements, the place of the first of each, which one stands at each place, and
    how often each stands there.

    Args:
        x: A tensor.
    """
    values, inverse, counts = _core.unique(x)
    flat = _core.flatten(inverse)
    order = _core.argsort(flat, 0)
    starts = _core.cumsum(counts, 0) - counts
    first = order[starts]
    return unique_all_result(values, first, _core.reshape(inverse, x.shape), counts)


# Reductions.


def _wide(x: Any, dtype: DTypeLike | None) -> Any:
    """The values as they are summed: small integers as int64, and what was asked for."""
    if dtype is not None:
        return _core.cast(x, dtype)
    small = isinstance(x, Tensor) and x.dtype.name in ("bool", "uint8", "int8", "int32")
    return _core.cast(x, "int64") if small else x


def sum(
    x: TensorLike,
    /,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The sum.

    Args:
        x: A tensor. Bools and small integers are summed as int64.
        axis: An axis, several, or None for all.
        keepdims: Whether the axes stay, with size one.
        dtype: The element type to sum in.
    """
    return _reduced(_core.sum, x, axis, keepdims, dtype)


def prod(
    x: TensorLike,
    /,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The product.

    Args:
        x: A tensor. Bools and small integers are multiplied as int64.
        axis: An axis, several, or None for all.
        keepdims: Whether the axes stay, with size one.
        dtype: The element type to multiply in.
    """
    return _reduced(_core.prod, x, axis, keepdims, dtype)


def _reduced(function: Any, x: Any, axis: Any, keepdims: builtins.bool, dtype: Any) -> Tensor:
    x = _wide(x, dtype)
    return x if axis == () else function(x, axis, keepdims)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: builtins.bool = False,
) -> Tensor:
    """The sums of the first elements along an axis.

    Args:
        x: A tensor.
        axis: The axis; None for the only one.
        dtype: The element type to sum in.
        include_initial: Whether the sum of none stands first.
    """
    return _cumulative(_core.cumsum, x, axis, dtype, include_initial, 0)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: builtins.bool = False,
) -> Tensor:
    """The products of the first elements along an axis.

    Args:
        x: A tensor.
        axis: The axis; None for the only one.
        dtype: The element type to multiply in.
        include_initial: Whether the product of none stands first.
    """
    return _cumulative(_core.cumprod, x, axis, dtype, include_initial, 1)


def _cumulative(
    function: Any, x: Tensor, axis: int | None, dtype: Any, include_initial: builtins.bool, first: int
) -> Tensor:
    if axis is None:
        if x.ndim > 1:
            raise ValueError("several axes, and none was named\n  remedy: pass `axis`")
        axis = 0
    found = function(_wide(x, dtype), axis)
    if not include_initial:
        return found
    shape = list(found.shape)
    shape[axis] = 1
    return _core.concat([_core.full(shape, first, found.dtype), found], axis)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along an axis.

    Args:
        x: A tensor.
        axis: The axis.
        n: How many times.
        prepend: What stands before.
        append: What stands after.
    """
    parts = [part for part in (prepend, x, append) if part is not None]
    x = parts[0] if len(parts) == 1 else _core.concat(parts, axis)
    for _ in range(n):
        x = _core.slice(x, axis, 1) - _core.slice(x, axis, None, -1)
    return x


class _Info:
    """What this namespace has of the standard; see `fl.__array_namespace_info__`."""

    def capabilities(self) -> dict[str, Any]:
        """What is optional, and there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> str:
        """Where tensors are made."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The element types of numbers that have none. There are no complex ones."""
        _on_cpu(device)
        return {
            "real floating": _core.float32,
            "integral": _core.int64,
            "indexing": _core.int64,
        }

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """The element types of the standard that are there, by name."""
        _on_cpu(device)
        kinds = ("bool", "numeric") if kind is None else kind
        kinds = (kinds,) if isinstance(kinds, str) else kinds
        found = {name: dtype for kind in kinds for name, dtype in _KINDS[kind].items()}
        return {name: d for name, d in found.items() if name not in ("float16", "bfloat16")}


def __array_namespace_info__() -> _Info:
    """What this namespace has of the array API standard.

    Example:
        >>> fl.__array_namespace_info__().default_dtypes()["real floating"]
        fluvial.float32
    """
    return _Info()


__all__ = [
    "__array_api_version__", "__array_namespace_info__", "arange", "argmax", "argmin", "argsort",
    "asarray", "astype", "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift",
    "broadcast_arrays", "can_cast", "clip", "concat", "conj", "cumulative_prod", "cumulative_sum",
    "diff", "divide", "e", "empty", "empty_like", "equal", "expand_dims", "eye", "finfo", "flip",
    "floor_divide", "full", "full_like", "greater", "greater_equal", "iinfo", "inf", "isdtype",
    "less", "less_equal", "linspace", "matrix_transpose", "meshgrid", "moveaxis", "multiply", "nan",
    "negative", "newaxis", "nonzero", "not_equal", "ones", "ones_like", "permute_dims", "pi",
    "positive", "prod", "real", "repeat", "result_type", "roll", "searchsorted", "signbit", "sort",
    "squeeze", "stack", "subtract", "sum", "take", "take_along_axis", "tensordot", "tile", "tril",
    "triu", "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "vecdot",
    "zeros", "zeros_like",
]  # fmt: skip
