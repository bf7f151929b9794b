"""Elementwise functions under the standard's names."""

from __future__ import annotations

from .. import _core
from .._core import Tensor
from .dtypes import FLOATS
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
    floats = isinstance(x, Tensor) and x.dtype.name in FLOATS
    if floats and not isinstance(low, Tensor) and not isinstance(high, Tensor):
        return _core.clip(x, low, high)
    result = positive(x)
    if low is not None:
        result = _core.maximum(result, low)
    return result if high is None else _core.minimum(result, high)
