"""Element types: kinds, promotion, limits."""

from __future__ import annotations

import builtins
import math
from collections import namedtuple

from .. import _core
from .._core import DType, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import DTypeLike


INTS = {"int8": _core.int8, "int16": _core.int16, "int32": _core.int32, "int64": _core.int64}
UINTS = {"uint8": _core.uint8, "uint16": _core.uint16, "uint32": _core.uint32, "uint64": _core.uint64}
FLOATS = {
    "float16": _core.float16,
    "bfloat16": _core.bfloat16,
    "float32": _core.float32,
    "float64": _core.float64,
}
COMPLEX = {"complex64": _core.complex64, "complex128": _core.complex128}
#: The kinds that the standard knows, and the element types of each.
KINDS: dict[str, dict[str, DType]] = {
    "bool": {"bool": _core.bool},
    "signed integer": INTS,
    "unsigned integer": UINTS,
    "integral": INTS | UINTS,
    "real floating": FLOATS,
    "complex floating": COMPLEX,
    "numeric": INTS | UINTS | FLOATS | COMPLEX,
}


def on_cpu(device: object) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f'there is no device "{device}"\n  remedy: use "cpu"')


def dtype_of(dtype: DTypeLike) -> DType:
    return _core.full((), 0, dtype).dtype


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
    on_cpu(device)
    if x.dtype == dtype_of(dtype):
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
    own = dtype_of(dtype)
    if isinstance(kind, tuple):
        return builtins.any(isdtype(own, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f'there is no kind "{kind}"\n  remedy: use one of {", ".join(KINDS)}')
        return own.name in KINDS[kind]
    return own == dtype_of(kind)


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

    numbers = (builtins.bool, int, float, complex)
    typed = [item for item in arrays_and_dtypes if not isinstance(item, numbers)]
    found: Any = None
    for item in typed:
        dtype = item.dtype if hasattr(item, "dtype") else item
        found = dtype_of(dtype) if found is None else _core.promote_types(found, dtype)
    for item in arrays_and_dtypes:
        if isinstance(item, numbers):
            found = _beside(item, found)
    return found


def _beside(number: Any, dtype: DType | None) -> DType:
    """The element type of an op on a number of Python and values of this type."""
    if isinstance(number, complex):
        return _core.complex64 if dtype is None else _core.promote_types(dtype, "complex64")
    if isinstance(number, float) and (dtype is None or dtype.name not in FLOATS | COMPLEX):
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
    own = from_.dtype if isinstance(from_, Tensor) else dtype_of(from_)
    return result_type(own, to) == dtype_of(to)


class finfo_object(namedtuple("finfo_object", "bits eps max min smallest_normal dtype")):
    """The limits of a float type."""

    __slots__ = ()

    @property
    def tiny(self) -> float:
        """The smallest positive number with all its digits."""
        return self.smallest_normal

    @property
    def resolution(self) -> float:
        """The power of ten of the last digit that counts."""
        return 10.0 ** -int(-math.log10(self.eps))

iinfo_object = namedtuple("iinfo_object", "bits max min dtype")

#: By element type: the bits of the significand and the largest exponent.
_FORMATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}


def finfo(type: Any, /) -> finfo_object:
    """The limits of a float type, or of the parts of a complex one.

    Args:
        type: An element type or a tensor.

    Example:
        >>> fl.finfo(fl.float32).bits
        32
    """
    dtype = type.dtype if isinstance(type, Tensor) else dtype_of(type)
    if dtype.is_complex:
        # Of a complex type the limits are those of its parts.
        dtype = _core.float32 if dtype == "complex64" else _core.float64
    if dtype.name not in _FORMATS:
        raise TypeError(f"{dtype} is not a float type\n  remedy: use `fl.iinfo`")
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
    dtype = type.dtype if isinstance(type, Tensor) else dtype_of(type)
    if dtype.name not in KINDS["integral"]:
        raise TypeError(f"{dtype} is not an integer type\n  remedy: use `fl.finfo`")
    bits = 8 * dtype.itemsize
    signed = dtype.name in INTS
    low = -(2 ** (bits - 1)) if signed else 0
    return iinfo_object(bits, 2 ** (bits - signed) - 1, low, dtype)
