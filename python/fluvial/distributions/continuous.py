"""Distributions of real numbers."""

from __future__ import annotations

import math

from .. import _core
from .._derived.special import erfinv
from ._gamma import standard_gamma
from .distribution import Distribution, expanded, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor, TensorLike
    from .distribution import Shape

_LOG_2PI = math.log(2.0 * math.pi)
_EULER = 0.5772156649015329


class _LocScale(Distribution):
    """A distribution that is another one, moved and stretched."""

    has_rsample = True

    def __init__(self, loc: TensorLike, scale: TensorLike, validate_args: bool | None = None) -> None:
        self.loc, self.scale = values(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        self._check(self.scale > 0, "`scale` is positive")

    def _standard(self, type: Any) -> Tensor:
        raise NotImplementedError

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = self._standard((self.loc.dtype, self._extended(sample_shape)))
        return self.loc + self.scale * drawn

    def _z(self, value: TensorLike) -> Tensor:
        return (self._given(value, self.loc) - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return self.loc


class Normal(_LocScale):
    """The normal distribution.

    Args:
        loc: The mean.
        scale: The standard deviation.
        validate_args: Whether parameters are checked.

    Example:
        >>> d = fl.distributions.Normal(0.0, 2.0)
        >>> round(d.log_prob(1.0).item(), 4), round(d.entropy().item(), 4)
        (-1.7371, 2.1121)
    """

    def _standard(self, type: Any) -> Tensor:
        return _core.normal(type)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale * self.scale

    def log_prob(self, value: TensorLike) -> Tensor:
        z = self._z(value)
        return -0.5 * z * z - _core.log(self.scale) - 0.5 * _LOG_2PI

    def cdf(self, value: TensorLike) -> Tensor:
        return 0.5 * (1.0 + _core.erf(self._z(value) * math.sqrt(0.5)))

    def icdf(self, value: TensorLike) -> Tensor:
        return self.loc + self.scale * erfinv(2.0 * _core.tensor(value) - 1.0) * math.sqrt(2.0)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * _LOG_2PI + _core.log(self.scale)


class Laplace(_LocScale):
    """The distribution of Laplace, whose logarithm falls in lines.

    Args:
        loc: The mean.
        scale: The mean distance from it.
        validate_args: Whether parameters are checked.
    """

    def _standard(self, type: Any) -> Tensor:
        drawn = _core.exponential(type, 1.0)
        return _core.where(_core.uniform(type) < 0.5, -drawn, drawn)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 2.0 * self.scale * self.scale

    def log_prob(self, value: TensorLike) -> Tensor:
        return -_core.log(2.0 * self.scale) - _core.abs(self._z(value))

    def cdf(self, value: TensorLike) -> Tensor:
        z = self._z(value)
        return 0.5 - 0.5 * _core.sign(z) * _core.expm1(-_core.abs(z))

    def entropy(self) -> Tensor:
        return 1.0 + _core.log(2.0 * self.scale)


class Cauchy(_LocScale):
    """The distribution of Cauchy, which has no mean.

    Args:
        loc: The middle.
        scale: Half the distance between the quartiles.
        validate_args: Whether parameters are checked.
    """

    def _standard(self, type: Any) -> Tensor:
        return _core.tan(math.pi * (_core.uniform(type) - 0.5))

    @property
    def mean(self) -> Tensor:
        """There is none: NaN."""
        return self.loc * float("nan")

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return self.scale * float("inf")

    def log_prob(self, value: TensorLike) -> Tensor:
        z = self._z(value)
        return -math.log(math.pi) - _core.log(self.scale) - _core.log1p(z * z)

    def cdf(self, value: TensorLike) -> Tensor:
        return _core.atan(self._z(value)) / math.pi + 0.5

    def entropy(self) -> Tensor:
        return math.log(4.0 * math.pi) + _core.log(self.scale)


class Gumbel(_LocScale):
    """The distribution of Gumbel, of the largest of many values.

    Args:
        loc: The likeliest value.
        scale: How wide it is.
        validate_args: Whether parameters are checked.
    """

    def _standard(self, type: Any) -> Tensor:
        return -_core.log(_core.exponential(type, 1.0))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * _EULER

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale * self.scale * (math.pi**2 / 6.0)

    def log_prob(self, value: TensorLike) -> Tensor:
        z = self._z(value)
        return -z - _core.exp(-z) - _core.log(self.scale)

    def cdf(self, value: TensorLike) -> Tensor:
        return _core.exp(-_core.exp(-self._z(value)))

    def entropy(self) -> Tensor:
        return _core.log(self.scale) + (1.0 + _EULER)


class Uniform(Distribution):
    """All values between two bounds alike.

    Args:
        low: The lower bound.
        high: The upper bound, which is none of the values.
        validate_args: Whether parameters are checked.

    Example:
        >>> fl.distributions.Uniform(1.0, 3.0).log_prob(fl.tensor([2.0, 4.0])).exp().tolist()
        [0.5, 0.0]
    """

    has_rsample = True

    def __init__(self, low: TensorLike, high: TensorLike, validate_args: bool | None = None) -> None:
        self.low, self.high = values(low, high)
        super().__init__(self.low.shape, (), validate_args)
        self._check(self.low < self.high, "`low` is less than `high`")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.low + self.high) * 0.5

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return _core.square(self.high - self.low) / 12.0

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = _core.uniform((self.low.dtype, self._extended(sample_shape)))
        return self.low + (self.high - self.low) * drawn

    def log_prob(self, value: TensorLike) -> Tensor:
        x = self._given(value, self.low)
        inside = _core.logical_and(x >= self.low, x < self.high)
        density = -_core.log(self.high - self.low)
        return _core.where(inside, density, _core.full_like(density, float("-inf")))

    def cdf(self, value: TensorLike) -> Tensor:
        share = (self._given(value, self.low) - self.low) / (self.high - self.low)
        return _core.clip(share, 0.0, 1.0)

    def icdf(self, value: TensorLike) -> Tensor:
        return self.low + (self.high - self.low) * self._given(value, self.low)

    def entropy(self) -> Tensor:
        return _core.log(self.high - self.low)


class Exponential(Distribution):
    """Waiting times.

    Args:
        rate: How often it happens.
        validate_args: Whether parameters are checked.
    """

    has_rsample = True

    def __init__(self, rate: TensorLike, validate_args: bool | None = None) -> None:
        (self.rate,) = values(rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._check(self.rate > 0, "`rate` is positive")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1.0 / self.rate

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return _core.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 1.0 / _core.square(self.rate)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return _core.exponential((self.rate.dtype, self._extended(sample_shape)), 1.0) / self.rate

    def log_prob(self, value: TensorLike) -> Tensor:
        return _core.log(self.rate) - self.rate * self._given(value, self.rate)

    def cdf(self, value: TensorLike) -> Tensor:
        return -_core.expm1(-self.rate * self._given(value, self.rate))

    def icdf(self, value: TensorLike) -> Tensor:
        return -_core.log1p(-self._given(value, self.rate)) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - _core.log(self.rate)


class Gamma(Distribution):
    """The gamma distribution.

    Args:
        concentration: The shape.
        rate: One over the scale.
        validate_args: Whether parameters are checked.

    Example:
        >>> round(fl.distributions.Gamma(2.0, 3.0).mean.item(), 4)
        0.6667
    """

    has_rsample = True

    def __init__(
        self, concentration: TensorLike, rate: TensorLike, validate_args: bool | None = None
    ) -> None:
        self.concentration, self.rate = values(concentration, rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._check(self.concentration > 0, "`concentration` is positive")
        self._check(self.rate > 0, "`rate` is positive")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return _core.maximum(self.concentration - 1.0, 0.0) / self.rate

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.concentration / _core.square(self.rate)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return standard_gamma(expanded(self.concentration, sample_shape)) / self.rate

    def log_prob(self, value: TensorLike) -> Tensor:
        x, a = self._given(value, self.rate), self.concentration
        return a * _core.log(self.rate) + (a - 1.0) * _core.log(x) - self.rate * x - _core.lgamma(a)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - _core.log(self.rate) + _core.lgamma(a) + (1.0 - a) * _core.digamma(a)


class Chi2(Gamma):
    """The distribution of sums of squared normal values.

    Args:
        df: How many are added up.
        validate_args: Whether parameters are checked.
    """

    def __init__(self, df: TensorLike, validate_args: bool | None = None) -> None:
        (half,) = values(df)
        super().__init__(half * 0.5, 0.5, validate_args)

    @property
    def df(self) -> Tensor:
        """How many are added up."""
        return self.concentration * 2.0


class Beta(Distribution):
    """The beta distribution, of shares.

    Args:
        concentration1: The shape towards one.
        concentration0: The shape towards zero.
        validate_args: Whether parameters are checked.
    """

    has_rsample = True

    def __init__(
        self, concentration1: TensorLike, concentration0: TensorLike, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = values(concentration1, concentration0)
        super().__init__(self.concentration1.shape, (), validate_args)
        self._check(self.concentration1 > 0, "`concentration1` is positive")
        self._check(self.concentration0 > 0, "`concentration0` is positive")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total * total * (total + 1.0))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        a = standard_gamma(expanded(self.concentration1, sample_shape))
        b = standard_gamma(expanded(self.concentration0, sample_shape))
        return a / (a + b)

    def _log_beta(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return _core.lgamma(a) + _core.lgamma(b) - _core.lgamma(a + b)

    def log_prob(self, value: TensorLike) -> Tensor:
        x = self._given(value, self.concentration1)
        a, b = self.concentration1, self.concentration0
        return (a - 1.0) * _core.log(x) + (b - 1.0) * _core.log1p(-x) - self._log_beta()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        spread = (a + b - 2.0) * _core.digamma(a + b)
        return self._log_beta() - (a - 1.0) * _core.digamma(a) - (b - 1.0) * _core.digamma(b) + spread


class StudentT(Distribution):
    """Student's distribution.

    Args:
        df: The degrees of freedom.
        loc: The middle.
        scale: How wide it is.
        validate_args: Whether parameters are checked.
    """

    has_rsample = True

    def __init__(
        self,
        df: TensorLike,
        loc: TensorLike = 0.0,
        scale: TensorLike = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = values(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)
        self._check(self.df > 0, "`df` is positive")
        self._check(self.scale > 0, "`scale` is positive")

    @property
    def mean(self) -> Tensor:
        """The mean; NaN if `df` is 1 or less."""
        return _core.where(self.df > 1, self.loc, self.loc * float("nan"))

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance; infinite if `df` is 2 or less, NaN if it is 1 or less."""
        df = self.df
        known = _core.square(self.scale) * df / _core.where(df > 2, df - 2.0, _core.ones_like(df))
        infinite = _core.where(df > 2, known, _core.full_like(df, float("inf")))
        return _core.where(df > 1, infinite, _core.full_like(df, float("nan")))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = _core.normal((self.df.dtype, self._extended(sample_shape)))
        squares = 2.0 * standard_gamma(expanded(self.df * 0.5, sample_shape))
        return self.loc + self.scale * drawn * _core.rsqrt(squares / self.df)

    def log_prob(self, value: TensorLike) -> Tensor:
        z = (self._given(value, self.loc) - self.loc) / self.scale
        half = self.df * 0.5
        height = _core.lgamma(half + 0.5) - _core.lgamma(half) - 0.5 * _core.log(self.df * math.pi)
        return height - _core.log(self.scale) - (half + 0.5) * _core.log1p(z * z / self.df)

    def entropy(self) -> Tensor:
        half = self.df * 0.5
        log_beta = _core.lgamma(half) + math.lgamma(0.5) - _core.lgamma(half + 0.5)
        spread = (half + 0.5) * (_core.digamma(half + 0.5) - _core.digamma(half))
        return _core.log(self.scale) + spread + 0.5 * _core.log(self.df) + log_beta


class HalfNormal(Distribution):
    """The size of normal values with mean zero.

    Args:
        scale: Their standard deviation.
        validate_args: Whether parameters are checked.
    """

    has_rsample = True

    def __init__(self, scale: TensorLike, validate_args: bool | None = None) -> None:
        (self.scale,) = values(scale)
        super().__init__(self.scale.shape, (), validate_args)
        self._check(self.scale > 0, "`scale` is positive")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2.0 / math.pi)

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return _core.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return _core.square(self.scale) * (1.0 - 2.0 / math.pi)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return _core.abs(_core.normal((self.scale.dtype, self._extended(sample_shape)))) * self.scale

    def log_prob(self, value: TensorLike) -> Tensor:
        x = self._given(value, self.scale)
        z = x / self.scale
        density = 0.5 * math.log(2.0 / math.pi) - _core.log(self.scale) - 0.5 * z * z
        return _core.where(x >= 0, density, _core.full_like(density, float("-inf")))

    def cdf(self, value: TensorLike) -> Tensor:
        return _core.erf(self._given(value, self.scale) / self.scale * math.sqrt(0.5))

    def entropy(self) -> Tensor:
        return 0.5 * math.log(math.pi / 2.0) + 0.5 + _core.log(self.scale)
