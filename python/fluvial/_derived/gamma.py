"""The incomplete gamma functions."""

from __future__ import annotations

import math

from .. import _core
from .._core import Tensor
from .elementwise import floats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import TensorLike

#: Steps of a series or a fraction at most; near the mean of a great `a`, about six times its root are needed.
_STEPS = 20_000
_TINY = 1e-300


def igamma(a: TensorLike, x: TensorLike) -> Tensor:
    """The regularised lower incomplete gamma function: the share of the gamma function's integral that lies below `x`.

    There is a gradient by `x`, exact to third order; one by `a` is an error.

    Args:
        a: The parameter of the gamma function: positive floats.
        x: The upper end of the integral: floats that are not negative.

    Example:
        >>> round(fl.igamma(fl.tensor(1.0), fl.tensor(2.0)).item(), 5)
        0.86466
    """
    return _regularised(a, x, lower=True)


def igammac(a: TensorLike, x: TensorLike) -> Tensor:
    """The regularised upper incomplete gamma function: `1 - igamma(a, x)`, exact also where it is small.

    There is a gradient by `x`, exact to third order; one by `a` is an error.

    Args:
        a: The parameter of the gamma function: positive floats.
        x: The lower end of the integral: floats that are not negative.

    Example:
        >>> round(fl.igammac(fl.tensor(1.0), fl.tensor(2.0)).item(), 5)
        0.13534
    """
    return _regularised(a, x, lower=False)


def _regularised(a: Any, x: Any, lower: bool) -> Tensor:
    a, x = _core.broadcast_tensors([floats(a), floats(x)])
    dtype = _core.promote_types(a.dtype, x.dtype)
    if a.is_tracked:
        from .._fault import fault

        raise fault(RuntimeError, "there is no gradient by the first argument of `igamma`", "detach it: `a.detach()`")
    a, x = _core.cast(a, "float64"), _core.cast(x, "float64")
    at = _core.stop_gradient(x)
    inside = _core.logical_and(_core.logical_and(a > 0, at > 0), _core.logical_and(_core.isfinite(a), _core.isfinite(at)))
    safe_a, safe_x = _core.where(inside, a, 1.0), _core.where(inside, at, 1.0)
    by_series = safe_x < safe_a + 1.0
    peak = _peak(safe_a, safe_x)
    below = peak * _series(safe_a, _core.where(by_series, safe_x, 0.5 * safe_a))
    above = peak * safe_a * _fraction(safe_a, _core.where(by_series, 2.0 * safe_a + 2.0, safe_x))
    share = _core.where(by_series, below, 1.0 - above) if lower else _core.where(by_series, 1.0 - below, above)
    value = _core.where(inside, share, _edge(a, at, lower))
    slope = _slope(_core.where(inside, x, 1.0), safe_a, inside)
    # The step is zero; its first three derivatives are those of the integral.
    step, g, g1, g2 = x - at, *slope
    step = _core.where(inside, step, 0.0)
    bend = step * g - step * step * g1 / 2.0 + step * step * step * g2 / 6.0
    return _core.cast(value + bend if lower else value - bend, dtype)


def _peak(a: Tensor, x: Tensor) -> Tensor:
    """`x^a e^-x / gamma(a + 1)`, without loss where `a` is great."""
    far = _core.exp(a * _core.log(x) - x - _core.lgamma(a + 1.0))
    great = _core.maximum(a, 10.0)
    mu = _core.maximum((x - great) / great, -1.0 + 1e-300)
    over = 1.0 / (great * great)
    stirling = (1 / 12 - over * (1 / 360 - over * (1 / 1260 - over * (1 / 1680 - over / 1188)))) / great
    near = _core.exp(great * (_core.log1p(mu) - mu) - stirling) / _core.sqrt(2.0 * math.pi * great)
    return _core.where(a > 10.0, near, far)


def _series(a: Tensor, x: Tensor) -> Tensor:
    """`sum of x^n a! / (a + n)!`, for `x` up to about `a`."""

    def step(total: Any, term: Any, n: Any) -> Any:
        term = term * (x / (a + n))
        return total + term, term, n + 1.0

    one = _core.ones_like(x)
    going = lambda total, term, n: _core.logical_and(_core.any(term > total * 1e-17), n < float(_STEPS))  # noqa: E731
    return _core.while_loop(going, step, (one, one, _core.ones((), "float64")))[0]


def _fraction(a: Tensor, x: Tensor) -> Tensor:
    """Legendre's continued fraction, by Lentz' method, for `x` above about `a`."""

    def step(found: Any, c: Any, d: Any, factor: Any, n: Any) -> Any:
        weight = n * (a - n)
        b = x - a + 2.0 * n + 1.0
        d = weight * d + b
        c = b + weight / c
        d = 1.0 / _core.where(_core.abs(d) < _TINY, _TINY, d)
        c = _core.where(_core.abs(c) < _TINY, _TINY, c)
        return found * (c * d), c, d, c * d, n + 1.0

    first = 1.0 / (x - a + 1.0)
    start = (first, _core.ones_like(x) / _TINY, first, _core.zeros_like(x), _core.ones((), "float64"))
    going = lambda found, c, d, factor, n: _core.logical_and(_core.any(_core.abs(factor - 1.0) > 5e-16), n < float(_STEPS))  # noqa: E731
    return _core.while_loop(going, step, start)[0]


def _slope(x: Tensor, a: Tensor, inside: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The density of the gamma distribution, and its first two derivatives."""
    g = _core.where(inside, _core.exp((a - 1.0) * _core.log(x) - x - _core.lgamma(a)), 0.0)
    rate = (a - 1.0) / x - 1.0
    return g, g * rate, g * (rate * rate - (a - 1.0) / (x * x))


def _edge(a: Tensor, x: Tensor, lower: bool) -> Tensor:
    """What stands at the ends of the domain, and outside."""
    none, all_ = (0.0, 1.0) if lower else (1.0, 0.0)
    found = _core.where(_core.eq(x, 0), none, math.nan)
    found = _core.where(_core.logical_and(_core.isinf(x), x > 0), all_, found)
    found = _core.where(_core.logical_and(_core.eq(a, 0), x > 0), all_, found)
    found = _core.where(_core.logical_and(_core.isinf(a), _core.isfinite(x)), none, found)
    bad = _core.logical_or(_core.logical_or(a < 0, x < 0), _core.logical_and(_core.eq(a, 0), _core.eq(x, 0)))
    bad = _core.logical_or(bad, _core.logical_or(_core.isnan(a), _core.isnan(x)))
    bad = _core.logical_or(bad, _core.logical_and(_core.isinf(a), _core.isinf(x)))
    return _core.where(bad, math.nan, found)
