"""Values of gamma distributions, through which gradients reach the shape."""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Tensor

#: Candidates of which the first good one is taken; one is good with a probability of 0.95 at least.
_CANDIDATES = 16
#: Up to this shape the derivative is a sum of so many terms, above it that of an approximation.
_LARGE, _TERMS = 60.0, 320


def standard_gamma(shape: Tensor) -> Tensor:
    """Values of gamma distributions of rate one, by the method of Marsaglia and Tsang (2000)."""
    records = _core.is_recording()
    with _core.no_grad():
        a = shape.detach()
        found = _drawn(a)
        if not records:
            return found
        slope = _slope(_core.cast(a, "float64"), _core.cast(found, "float64"))
        slope = _core.cast(slope, a.dtype)
    # The value is what was drawn; the gradient is that of the value at a fixed probability.
    return found + (shape - a) * slope


def _drawn(a: Tensor) -> Tensor:
    small = a < 1.0
    larger = _core.where(small, a + 1.0, a)
    d = larger - 1.0 / 3.0
    c = 1.0 / _core.sqrt(9.0 * d)
    many = (a.dtype, (_CANDIDATES, *a.shape))
    x, u = _core.normal(many), _core.uniform(many)
    v = 1.0 + c * x
    cube = v * v * v
    positive = cube > 0.0
    log_cube = _core.log(_core.where(positive, cube, _core.ones_like(cube)))
    bound = 0.5 * x * x + d * (1.0 - cube + log_cube)
    good = _core.logical_and(positive, _core.log(u) < bound)
    first = _core.argmax(_core.cast(good, "int32"), 0, True)
    found = d * _core.squeeze(_core.take_along_axis(cube, first, 0), [0])
    # A small shape is a larger one times a power.
    power = _core.exp(-_core.exponential((a.dtype, a.shape), 1.0) / a)
    least = 1e-37 if a.dtype.name in ("float32", "bfloat16") else (1e-7 if a.dtype.name == "float16" else 1e-300)
    return _core.maximum(_core.where(small, found * power, found), least)


def _slope(a: Tensor, z: Tensor) -> Tensor:
    """How a value grows with the shape, at a fixed probability."""
    few = _core.minimum(a, _LARGE)
    at = _core.where(a < _LARGE, z, few)
    n = _core.arange(0, _TERMS, 1, "float64")
    wide = _core.unsqueeze(few, -1)
    exponent = n * _core.log(_core.unsqueeze(at, -1)) + _core.lgamma(wide) - _core.lgamma(wide + n + 1.0)
    terms = _core.exp(exponent)
    digamma = _core.digamma(few)
    growth = _core.digamma(wide + n + 1.0) - _core.unsqueeze(digamma, -1)
    by_sum = -at * (_core.sum(terms, -1) * (_core.log(at) - digamma) - _core.sum(terms * growth, -1))
    # Of Wilson and Hilferty: the cube root is nearly normal.
    many = _core.maximum(a, _LARGE)
    w = _core.pow(_core.where(a < _LARGE, many, z) / many, 1.0 / 3.0)
    x = 3.0 * _core.sqrt(many) * (w - 1.0 + 1.0 / (9.0 * many))
    by_root = w * w * w + 3.0 * many * w * w * (1.0 / (9.0 * many * many) - x / (6.0 * many * _core.sqrt(many)))
    return _core.where(a < _LARGE, by_sum, by_root)
