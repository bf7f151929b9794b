"""Making tensors."""

from __future__ import annotations

import builtins

from .. import _core
from .._core import Tensor
from .._fault import fault, renamed
from .dtypes import dtype_of, on_cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Unpack

    from .._core import Dim, DTypeLike, OtherNames, Shape, TensorLike


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
    on_cpu(device)
    if isinstance(obj, Tensor):
        if dtype is None or obj.dtype == dtype_of(dtype):
            return obj if not copy else obj.__copy__()
    if copy is False:
        if dtype is None and hasattr(obj, "__dlpack__"):
            return _core.from_dlpack(obj, copy=False)
        raise ValueError("this needs a copy\n  remedy: leave `copy` out")
    if isinstance(obj, (list, tuple)) and _has_tensors(obj):
        joined = _core.stack([asarray(part) for part in obj], 0)
        return joined if dtype is None else _core.cast(joined, dtype)
    return _core.tensor(obj, dtype)


def _has_tensors(obj: Any) -> builtins.bool:
    """Whether a tensor is among nested lists of numbers; the first elements tell."""
    while isinstance(obj, (list, tuple)) and obj:
        if builtins.any(isinstance(part, Tensor) for part in obj):
            return True
        obj = obj[0]
    return False


def arange(
    start: float | Dim | Tensor,
    /,
    stop: float | Dim | Tensor | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """Numbers with equal distances, from `start` to before `stop`. In a program, these may be sizes or integers of it.

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
    on_cpu(device)
    if stop is None:
        start, stop = 0, start
    whole = all_ints(start, stop, step)
    if dtype is None:
        dtype = _core.int64 if whole else _core.float32
    if whole and (is_open(start) or is_open(stop) or is_open(step)):
        return _core.cast(_between(start, stop, step), dtype)
    return _core.arange(start, stop, step, dtype)  # type: ignore[arg-type]


def _between(start: Any, stop: Any, step: Any) -> Tensor:
    """Whole numbers from `start` to before `stop`, which only the run knows."""
    if is_open(step):
        raise fault(
            TypeError,
            "the distance of the numbers is known only when the program runs",
            "scale `fl.arange(count)` by it",
        )
    numbers = _core.iota(n_between(start, stop, step), "int64")
    numbers = numbers if step == 1 else numbers * step
    return numbers if isinstance(start, int) and start == 0 else numbers + start


def n_between(start: Any, stop: Any, step: int) -> Any:
    """How many numbers `range(start, stop, step)` has, where only the run knows its ends. Sizes give a size; where it
    cannot be decided whether that is negative, the run has to."""
    if step == 0:
        raise ValueError("numbers at a distance of zero have no end")
    distance = stop - start if step > 0 else start - stop
    length = builtins.abs(step)
    count = distance if length == 1 else (distance + (length - 1)) // length
    if isinstance(count, Tensor):
        return _core.maximum(count, 0)
    if isinstance(count, _core.Dim) and count.never_negative():
        return count
    some = count > 0
    return count if isinstance(some, Tensor) or some else 0


def is_open(number: object) -> builtins.bool:
    """Whether a whole number is known only when the program runs."""
    return isinstance(number, _core.Dim) or (isinstance(number, Tensor) and number.is_symbolic)


def all_ints(*numbers: object) -> builtins.bool:
    """Whether all of these are ints of Python, sizes or integer tensors."""
    return builtins.all(
        number.dtype.is_integer if isinstance(number, Tensor) else isinstance(number, (int, _core.Dim))
        for number in numbers
    )


def is_dtype(value: Any) -> builtins.bool:
    """Whether a value is an element type, and no size."""
    if isinstance(value, str):
        return value in _DTYPES
    return isinstance(value, (_core.DType, type)) or type(value).__module__ == "numpy.dtypes"


_DTYPES = {
    *("bool", "float", "int", "double", "half", "long", "f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32"),
    *("u32", "i64", "u64", "float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32"),
    *("uint32", "int64", "uint64", "c64", "c128", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"),
}


def _of_sizes(function: Any, sizes: tuple[Any, ...], named: Any, dtype: Any, requires_grad: builtins.bool) -> Tensor:
    """Calls a function with sizes one by one or as a sequence, and an element type that may stand behind them."""
    if named is not None:
        if sizes and not is_dtype(sizes[0]):
            raise fault(TypeError, "sizes are given twice, by place and by name", "give them once")
        sizes = (named, *sizes)
    if len(sizes) > 1 and dtype is None and is_dtype(sizes[-1]):
        *sizes, dtype = sizes  # type: ignore[assignment]
    shape = sizes[0] if len(sizes) == 1 else tuple(sizes)
    made = function(shape, dtype or _core.float32)
    return made.track() if requires_grad else made


def zeros(
    *sizes: Any,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: builtins.bool = False,
    shape: Shape | None = None,
    size: Shape | None = None,
) -> Tensor:
    """Zeros.

    Args:
        *sizes: Sizes, one by one or as a sequence: ints and, in a program, symbols. An element type may follow.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        requires_grad: Whether the tensor is a leaf.
        shape: The sizes, by name.
        size: Another name of `shape`.

    Example:
        >>> fl.zeros(2, 3).shape, fl.zeros((2, 3), fl.int64).dtype
        ((2, 3), fluvial.int64)
    """
    on_cpu(device)
    return _of_sizes(_core.zeros, sizes, size if shape is None else shape, dtype, requires_grad)


def ones(
    *sizes: Any,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: builtins.bool = False,
    shape: Shape | None = None,
    size: Shape | None = None,
) -> Tensor:
    """Ones.

    Args:
        *sizes: Sizes, one by one or as a sequence: ints and, in a program, symbols. An element type may follow.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        requires_grad: Whether the tensor is a leaf.
        shape: The sizes, by name.
        size: Another name of `shape`.
    """
    on_cpu(device)
    return _of_sizes(_core.ones, sizes, size if shape is None else shape, dtype, requires_grad)


#: Memory that nobody has written would not be the same in both modes.
empty = zeros


def full(
    shape: Shape,
    fill_value: float,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
    requires_grad: builtins.bool = False,
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The same number everywhere.

    Args:
        shape: Sizes: ints and, in a program, symbols.
        fill_value: The number.
        dtype: The element type: by default bool for bools, int64 for ints, complex64 for complex numbers, else float32.
        device: None or "cpu".
        requires_grad: Whether the tensor is a leaf.

    Example:
        >>> fl.full((2,), 0.5).tolist(), fl.full((2,), 1).dtype
        ([0.5, 0.5], fluvial.int64)
    """
    if wrong:
        return renamed(full, locals())
    on_cpu(device)
    if dtype is None:
        kinds = {builtins.bool: _core.bool, int: _core.int64, _core.Dim: _core.int64, complex: _core.complex64}
        dtype = kinds.get(type(fill_value), _core.float32)
    made = _core.full(shape, fill_value, dtype)
    return made.track() if requires_grad else made


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
    /,
    fill_value: complex,
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
    on_cpu(device)
    if dtype is not None or isinstance(fill_value, complex):
        x = asarray(x)
        return _core.full(x.shape, fill_value, dtype or x.dtype)
    return _core.full_like(x, fill_value)


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
    on_cpu(device)
    columns = n_rows if n_cols is None else n_cols
    # So far away there is no element, however far.
    return _core.eye(n_rows, columns, max(-(2**62), min(k, 2**62)), dtype or _core.float32)


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
    on_cpu(device)
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


def tril(x: TensorLike, /, k: int = 0, **wrong: Unpack[OtherNames]) -> Tensor:
    """The part of matrices on and below a diagonal, else zeros.

    Args:
        x: Matrices.
        k: Which diagonal: above the main one if positive. Also `diagonal`.
    """
    if wrong:
        return renamed(tril, locals())
    return _core.tril(x, k)


def triu(x: TensorLike, /, k: int = 0, **wrong: Unpack[OtherNames]) -> Tensor:
    """The part of matrices on and above a diagonal, else zeros.

    Args:
        x: Matrices.
        k: Which diagonal: above the main one if positive. Also `diagonal`.
    """
    if wrong:
        return renamed(triu, locals())
    return _core.triu(x, k)
