"""Elementwise functions under the standard's names."""

from __future__ import annotations

from .. import _core
from .._core import Tensor
from .._fault import fault
from .dtypes import finfo, iinfo
from .making import ones_like

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import TensorLike


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


conj, real, imag = _core.conj, _core.real, _core.imag


def signbit(x: TensorLike, /) -> Tensor:
    """Whether the sign is negative, also of zeros.

    Args:
        x: A tensor of floats.
    """
    x = positive(x)
    return _core.lt(_core.copysign(ones_like(x), x), 0)


#: By element type: the bits of the significand, and the exponent of the smallest number.
_PRECISION = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149), "float64": (53, -1074)}


def nextafter(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The next number that the element type has after `x1`, on the way to `x2`.

    Args:
        x1: A tensor of floats.
        x2: A tensor of floats, or a number; it is broadcast against `x1`.

    Example:
        >>> fl.nextafter(fl.tensor([1.0]), 2.0).item() - 1.0 == fl.finfo("float32").eps
        True
    """
    x, y = _core.broadcast_tensors([x1, x2])
    if x.dtype != y.dtype:
        dtype = _core.promote_types(x.dtype, y.dtype)
        x, y = _core.cast(x, dtype), _core.cast(y, dtype)
    if x.dtype.name not in _PRECISION:
        raise fault(TypeError, f"expected floats, found {x.type_text}", "cast first")
    # Numbers beside a number in rounding to nearest, after Rump, Zimmermann, Boldo and Melquiond (2009).
    bits, least = _PRECISION[x.dtype.name]
    unit, smallest = 2.0**-bits, 2.0**least
    up = _core.where(y > x, ones_like(x), -ones_like(x))
    step = unit * (1 + 2 * unit)
    large = x + up * (step * _core.abs(x))
    scaled = x * 2.0**bits
    middle = (scaled + up * (step * _core.abs(scaled))) * unit
    small = x + up * smallest
    found = _core.where(_core.abs(x) < 2.0 ** (least + bits), small, middle)
    found = _core.where(_core.abs(x) >= 2.0 ** (least + 2 * bits - 1), large, found)
    # From an infinity the way leads back to the largest number.
    found = _core.where(_core.isinf(x), _core.sign(x) * finfo(x).max, found)
    found = _core.where(found == 0, _core.copysign(found, x), found)
    found = _core.where(x == y, y, found)
    return _core.where(_core.isnan(x) | _core.isnan(y), x + y, found)


def clip(
    x: TensorLike,
    /,
    low: Any = None,
    high: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Tensor:
    """The elements, but none below or above bounds. Bounds with a fraction make floats of integers.

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
    floats = isinstance(x, Tensor) and x.dtype.is_floating_point
    if floats and not isinstance(low, Tensor) and not isinstance(high, Tensor):
        return _core.clip(x, low, high)
    result = positive(x)
    if result.dtype.name.startswith(("int", "uint")):
        # An int that all elements keep bounds nothing, as in NumPy and PyTorch.
        least, most = iinfo(result.dtype).min, iinfo(result.dtype).max
        low = None if type(low) is int and low < least else low
        high = None if type(high) is int and high > most else high
    if low is not None:
        result = _core.maximum(result, low)
    return result if high is None else _core.minimum(result, high)
