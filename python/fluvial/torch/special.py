"""PyTorch's `torch.special`."""

from __future__ import annotations

import functools
import math

import fluvial as fl

from .. import _core
from .._core import Tensor
from .._core import digamma, erf, erfc, exp2, expm1, lgamma, log1p, logsumexp, sigmoid
from .._derived import erfinv, i0, igamma, igammac, logit, sinc, xlogy
from .._derived.elementwise import floats
from .._derived.special import HIGH, LOW, series
from ._functions import log_softmax, round, softmax
from ._more import mvlgamma, polygamma

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

expit, gammaln, psi, gammainc, gammaincc, multigammaln = sigmoid, lgamma, digamma, igamma, igammac, mvlgamma


def entr(input: Tensor) -> Tensor:
    """`-x log x`, zero at zero, and minus infinity below."""
    x = floats(input)
    inside = x > 0
    found = _core.where(inside, -x * _core.log(_core.where(inside, x, 1.0)), _core.where(_core.eq(x, 0), 0.0, -math.inf))
    return _core.where(_core.isnan(x), x, found)


def xlog1py(input: Any, other: Any) -> Tensor:
    """`x log(1 + y)`, which is zero where `x` is, unless `y` is not a number."""
    a, b = _core.broadcast_tensors([floats(input), floats(other)])
    zero = _core.logical_and(_core.eq(a, 0), _core.logical_not(_core.isnan(b)))
    return a * _core.log1p(_core.where(zero, 0.0, b))


def ndtr(input: Tensor) -> Tensor:
    """The share of a standard normal distribution below `x`."""
    x = floats(input)
    return 0.5 * _core.erfc(-x / math.sqrt(2))


def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of `ndtr`, exact also far below zero."""
    x = floats(input)
    wide = _core.cast(x, "float64")
    low = _core.minimum(wide, -1.0)
    far = _core.log(erfcx(-low / math.sqrt(2)) / 2.0) - low * low / 2.0
    near = _core.log1p(-0.5 * _core.erfc(_core.maximum(wide, -1.0) / math.sqrt(2)))
    return _core.cast(_core.where(wide < -1.0, far, near), x.dtype)


def ndtri(input: Tensor) -> Tensor:
    """The inverse of `ndtr`."""
    x = floats(input)
    wide = _core.cast(x, "float64")
    return _core.cast(math.sqrt(2) * erfinv(2.0 * wide - 1.0), x.dtype)


def erfcx(input: Tensor) -> Tensor:
    """`exp(x^2) erfc(x)`, without overflow."""
    x = floats(input)
    wide = _core.cast(x, "float64")
    near = _core.minimum(wide, 4.0)
    close = _core.exp(near * near) * _core.erfc(near)
    # A continued fraction, from the inside.
    far = _core.maximum(wide, 4.0)
    below = far
    for n in range(60, 0, -1):
        below = far + n / 2.0 / below
    return _core.cast(_core.where(wide < 4.0, close, 1.0 / (below * math.sqrt(math.pi))), x.dtype)


@functools.cache
def _derivative(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    """The coefficients of the derivative of a series of Chebyshev's, the highest first and the last one doubled."""
    terms = coefficients[::-1]
    found = [0.0] * (len(terms) + 1)
    for k in range(len(terms) - 1, 0, -1):
        found[k - 1] = found[k + 1] + 2 * k * terms[k]
    return tuple(found[: len(terms)][::-1])


def _scaled(input: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """The modified Bessel function of the first kind times `exp(-|x|)`, and `|x|`, in float64."""
    wide = _core.cast(floats(input), "float64")
    # As `abs`, but with a slope at zero, which an odd function has there.
    size = _core.where(wide < 0, -wide, wide)
    near, far = _core.minimum(size, 8.0), _core.maximum(size, 8.0)
    # The argument of a series stands for twice that of Chebyshev's polynomials.
    low, high = near / 2.0 - 2.0, 32.0 / far - 2.0
    if order == 0:
        small, great = series(low, LOW), series(high, HIGH) / _core.sqrt(far)
    else:
        small = series(low, LOW) + series(low, _derivative(LOW)) / 4.0
        bend = series(high, HIGH) - series(high, HIGH) / (2.0 * far) - series(high, _derivative(HIGH)) * 16.0 / (far * far)
        great = bend / _core.sqrt(far)
    found = _core.where(size <= 8.0, small, great)
    return (_core.where(wide < 0, -found, found) if order else found), size


def i0e(input: Tensor) -> Tensor:
    """`i0`, times `exp(-|x|)`."""
    return _core.cast(_scaled(input, 0)[0], floats(input).dtype)


def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order one."""
    found, size = _scaled(input, 1)
    return _core.cast(found * _core.exp(size), floats(input).dtype)


def i1e(input: Tensor) -> Tensor:
    """`i1`, times `exp(-|x|)`."""
    return _core.cast(_scaled(input, 1)[0], floats(input).dtype)


def zeta(input: Any, other: Any) -> Tensor:
    """Hurwitz' zeta function: the sum of `(other + k) ** -input` over `k`, for `input` above one."""
    s, q = _core.broadcast_tensors([floats(input), floats(other)])
    dtype = _core.promote_types(s.dtype, q.dtype)
    s, q = _core.cast(s, "float64"), _core.cast(q, "float64")
    whole = _core.logical_and(q <= 0, _core.eq(q, _core.floor(q)))
    good = _core.logical_and(s > 1.0, q > 0)
    s_, q_ = _core.where(good, s, 2.0), _core.where(good, q, 1.0)
    terms = 12
    total = _core.zeros_like(q_)
    for k in range(terms):
        total = total + _core.pow(q_ + float(k), -s_)
    end = q_ + float(terms)
    total = total + _core.pow(end, 1.0 - s_) / (s_ - 1.0) + _core.pow(end, -s_) / 2.0
    # Euler's and Maclaurin's correction, by Bernoulli's numbers.
    factor, power = s_, _core.pow(end, -s_ - 1.0)
    for k, number in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510), 1):
        total = total + number / math.factorial(2 * k) * factor * power
        factor = factor * (s_ + (2 * k - 1.0)) * (s_ + 2.0 * k)
        power = power / (end * end)
    edge = _core.where(_core.eq(s, 1.0), math.inf, _core.where(_core.logical_and(s > 1.0, whole), math.inf, math.nan))
    return _core.cast(_core.where(good, total, edge), dtype)


def __getattr__(name: str) -> object:
    from ._missing import missing

    raise missing(__name__, name)
