"""Special functions, and those of whole numbers."""

from __future__ import annotations

import math

from .. import _core
from .._core import Tensor
from .._fault import fault
from .elementwise import floats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import TensorLike


def erfinv(x: TensorLike) -> Tensor:
    """The inverse of `erf`: infinite at -1 and 1, and not a number beyond.

    Args:
        x: A tensor of floats between -1 and 1.

    Example:
        >>> round(fl.erfinv(fl.tensor(0.5)).item(), 5)
        0.47694
    """
    x = floats(x)
    wide = _core.cast(x, "float64")
    inside = _core.abs(wide) < 1
    y = _core.where(inside, wide, 0.0)
    # A start by Winitzki's formula; then Newton's steps. The steps on the tape make derivatives exact to third order.
    bend, two = _core.log1p(-_core.stop_gradient(y * y)), 2 / (math.pi * 0.147)
    middle = two + bend / 2
    root = _core.sqrt(_core.sqrt(middle * middle - bend / 0.147) - middle)
    start = _core.stop_gradient(_core.where(y < 0, -root, root))
    half = 2 / math.sqrt(math.pi)
    for _ in range(3):
        start = _core.stop_gradient(_step(start, y, half))
    for _ in range(2):
        start = _step(start, y, half)
    beyond = _core.where(_core.eq(wide, 1), math.inf, _core.where(_core.eq(wide, -1), -math.inf, math.nan))
    return _core.cast(_core.where(inside, start, beyond), x.dtype)


def _step(root: Tensor, y: Tensor, half: float) -> Tensor:
    # Near the edges `erf` has lost its digits: the complement has them.
    far = _core.abs(y) > 0.5
    sign = _core.where(y < 0, -1.0, 1.0)
    left = _core.where(far, -sign * (_core.erfc(sign * root) - (1 - sign * y)), _core.erf(root) - y)
    return root - left * _core.exp(root * root) / half


#: Coefficients of Chebyshev's series for the Bessel function, up to 8 and above (Clenshaw, 1962).
LOW = (
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16, 1.71539128555513303061e-15,
    -1.16853328779934516808e-14, 7.67618549860493561688e-14, -4.85644678311192946090e-13, 2.95505266312963983461e-12,
    -1.72682629144155570723e-11, 9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7, 1.11738753912010371815e-6,
    -4.41673835845875056359e-6, 1.64484480707288970893e-5, -5.75419501008210370398e-5, 1.88502885095841655729e-4,
    -5.76375574538582365885e-4, 1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2, 1.71620901522208775349e-1,
    -3.04682672343198398683e-1, 6.76795274409476084995e-1,
)  # fmt: skip
HIGH = (
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17, 3.46122286769746109310e-17,
    -2.82762398051658348494e-16, -3.42548561967721913462e-16, 1.77256013305652638360e-15, 3.81168066935262242075e-15,
    -9.55484669882830764870e-15, -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13,
    7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11, -3.14991652796324136454e-11,
    1.18891471078464383424e-11, 4.94060238822496958910e-10, 3.39623202570838634515e-9, 2.26666899049817806459e-8,
    2.04891858946906374183e-7, 2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)  # fmt: skip


def series(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """A series of Chebyshev's polynomials of half of `x`, the highest coefficient first."""
    first = second = third = _core.zeros_like(x)
    for coefficient in coefficients:
        third, second = second, first
        first = x * second - third + coefficient
    return (first - third) * 0.5


def i0(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind, of order zero.

    Args:
        x: A tensor of floats.
    """
    x = floats(x)
    wide = _core.cast(x, "float64")
    # The function is even: the slope of `abs` at zero, which is zero, is its own.
    size = _core.abs(wide)
    low = _core.exp(_core.minimum(size, 8.0)) * series(_core.minimum(size, 8.0) / 2 - 2, LOW)
    above = _core.maximum(size, 8.0)
    high = _core.exp(above) * series(32.0 / above - 2, HIGH) / _core.sqrt(above)
    return _core.cast(_core.where(size <= 8, low, high), x.dtype)


def gcd(a: TensorLike, b: TensorLike) -> Tensor:
    """The greatest common divisor of whole numbers.

    Args:
        a: A tensor of integers.
        b: A tensor of integers.

    Example:
        >>> fl.gcd(fl.tensor([12, 7]), fl.tensor([18, 0])).tolist()
        [6, 7]
    """
    a, b = (_core.abs(x) for x in _core.broadcast_tensors([a, b]))
    if any(x.is_floating_point() or x.is_complex() for x in (a, b)):
        raise fault(TypeError, f"expected integers, found {a.type_text} and {b.type_text}", "cast first")

    def step(a: Any, b: Any) -> Any:
        rest = _core.remainder(a, _core.where(_core.eq(b, 0), 1, b))
        done = _core.eq(b, 0)
        return _core.where(done, a, b), _core.where(done, 0, rest)

    return _core.while_loop(lambda a, b: _core.any(_core.ne(b, 0)), step, (a, b))[0]


def lcm(a: TensorLike, b: TensorLike) -> Tensor:
    """The least common multiple of whole numbers.

    Args:
        a: A tensor of integers.
        b: A tensor of integers.
    """
    a, b = _core.broadcast_tensors([a, b])
    divisor = gcd(a, b)
    return _core.abs(_core.floor_div(a, _core.where(_core.eq(divisor, 0), 1, divisor)) * b)
