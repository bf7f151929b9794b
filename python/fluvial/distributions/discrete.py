"""Distributions of whole numbers and of classes."""

from __future__ import annotations

import math

from .. import _core
from .._fault import fault
from .distribution import Distribution, expanded, sum_last, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor, TensorLike
    from .distribution import Shape


def one_of(probs: TensorLike | None, logits: TensorLike | None) -> tuple[TensorLike, bool]:
    """The one that was given, and whether these are logits."""
    if (probs is None) == (logits is None):
        raise fault(ValueError, "either `probs` or `logits` say how likely it is", "give one of them")
    return (logits, True) if probs is None else (probs, False)  # type: ignore[return-value]


class _Binary(Distribution):
    """A distribution of which probabilities, or their logits, are parameters."""

    def __init__(
        self,
        probs: TensorLike | None = None,
        logits: TensorLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given, self._is_logits = one_of(probs, logits)
        (self._param,) = values(given)
        super().__init__(self._param.shape, (), validate_args)
        if not self._is_logits:
            inside = _core.logical_and(self._param >= 0, self._param <= 1)
            self._check(inside, "`probs` are from 0 to 1")

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return _core.sigmoid(self._param) if self._is_logits else self._param

    @property
    def logits(self) -> Tensor:
        """The logarithms of odds."""
        if self._is_logits:
            return self._param
        least = 1.2e-7 if self._param.dtype.name == "float32" else 2.3e-16
        p = _core.clip(self._param, least, 1.0 - least)
        return _core.log(p) - _core.log1p(-p)


class Bernoulli(_Binary):
    """One or zero.

    Args:
        probs: The probability of one.
        logits: The logarithm of its odds, in place of it.
        validate_args: Whether parameters are checked.

    Example:
        >>> d = fl.distributions.Bernoulli(0.25)
        >>> round(d.log_prob(1.0).exp().item(), 4), round(d.entropy().item(), 4)
        (0.25, 0.5623)
    """

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return _core.cast(self.probs >= 0.5, self._param.dtype)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1.0 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with _core.no_grad():
            return _core.bernoulli(expanded(self.probs.detach(), sample_shape))

    def log_prob(self, value: TensorLike) -> Tensor:
        x = self._given(value, self._param)
        logits, x = _core.broadcast_tensors([self.logits, x])
        return -_core.binary_cross_entropy_with_logits(logits, x, reduction="none")

    def entropy(self) -> Tensor:
        return -self.log_prob(self.probs)


class Geometric(_Binary):
    """How often something fails before it succeeds.

    Args:
        probs: The probability of success.
        logits: The logarithm of its odds, in place of it.
        validate_args: Whether parameters are checked.
    """

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return _core.zeros_like(self._param)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with _core.no_grad():
            waits = _core.exponential((self._param.dtype, self._extended(sample_shape)), 1.0)
            return _core.floor(-waits / _core.log1p(-self.probs.detach()))

    def log_prob(self, value: TensorLike) -> Tensor:
        return self._given(value, self._param) * _core.log1p(-self.probs) + _core.log(self.probs)

    def entropy(self) -> Tensor:
        p = self.probs
        return -(p * _core.log(p) + (1.0 - p) * _core.log1p(-p)) / p


class Binomial(_Binary):
    """How often something succeeds.

    Args:
        total_count: How often it is tried.
        probs: The probability of success.
        logits: The logarithm of its odds, in place of it.
        validate_args: Whether parameters are checked.
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: TensorLike | None = None,
        logits: TensorLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits, validate_args)
        if not isinstance(total_count, int) or total_count < 0:
            raise fault(ValueError, f"{total_count!r} is not a number of trials", "give an int that is zero or more")
        self.total_count = total_count

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs * self.total_count

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return _core.minimum(_core.floor((self.total_count + 1) * self.probs), float(self.total_count))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.total_count * self.probs * (1.0 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with _core.no_grad():
            trials = expanded(self.probs.detach(), (self.total_count, *sample_shape))
            return _core.sum(_core.bernoulli(trials), 0)

    def log_prob(self, value: TensorLike) -> Tensor:
        x, n = self._given(value, self._param), float(self.total_count)
        ways = math.lgamma(n + 1.0) - _core.lgamma(x + 1.0) - _core.lgamma(n - x + 1.0)
        # log(1 + e^l) without overflow.
        return ways + x * self.logits - n * _core.softplus(self.logits)

    def entropy(self) -> Tensor:
        k = _core.arange(0, self.total_count + 1, 1, self._param.dtype)
        each = _core.reshape(k, (-1, *(1,) * self._param.ndim))
        logs = self.log_prob(each)
        return -_core.sum(_core.exp(logs) * logs, 0)


class Poisson(Distribution):
    """How often something happens in a time.

    Args:
        rate: How often it does on average.
        validate_args: Whether parameters are checked.
    """

    def __init__(self, rate: TensorLike, validate_args: bool | None = None) -> None:
        (self.rate,) = values(rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._check(self.rate >= 0, "`rate` is zero or more")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return _core.floor(self.rate)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.rate

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with _core.no_grad():
            rate = _core.cast(expanded(self.rate.detach(), sample_shape), "float64")
            found = _core.where(rate < _LARGE, _counted(rate), _rejected(rate))
            return _core.cast(found, self.rate.dtype)

    def log_prob(self, value: TensorLike) -> Tensor:
        x = self._given(value, self.rate)
        logs = _core.log(_core.where(self.rate > 0, self.rate, _core.ones_like(self.rate)))
        powers = _core.where(self.rate > 0, x * logs, _core.where(x > 0, x * float("-inf"), _core.zeros_like(x)))
        return powers - self.rate - _core.lgamma(x + 1.0)


#: Below this rate counts are found by adding probabilities up, of which so many are more than nothing.
_LARGE, _COUNTS, _CANDIDATES = 10.0, 64, 48


def _counted(rate: Tensor) -> Tensor:
    small = _core.unsqueeze(_core.minimum(rate, _LARGE), -1)
    k = _core.arange(0, _COUNTS, 1, "float64")
    logs = k * _core.log(_core.maximum(small, 1e-300)) - small - _core.lgamma(k + 1.0)
    below = _core.cumsum(_core.exp(logs), -1)
    u = _core.unsqueeze(_core.uniform(("float64", rate.shape)), -1)
    return _core.cast(_core.sum(_core.cast(u >= below, "int64"), -1), "float64")


def _rejected(rate: Tensor) -> Tensor:
    """Transformed rejection (Hörmann, 1993): the first of several candidates that is good."""
    large = _core.maximum(rate, _LARGE)
    b = 0.931 + 2.53 * _core.sqrt(large)
    a = -0.059 + 0.02483 * b
    inverse, height = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0)
    many = ("float64", (_CANDIDATES, *rate.shape))
    u, v = _core.uniform(many) - 0.5, _core.uniform(many)
    us = 0.5 - _core.abs(u)
    k = _core.floor((2.0 * a / us + b) * u + large + 0.43)
    quick = _core.logical_and(us >= 0.07, v <= height)
    known = _core.maximum(k, 0.0)
    bound = known * _core.log(large) - large - _core.lgamma(known + 1.0)
    slow = _core.log(v) + _core.log(inverse) - _core.log(a / (us * us) + b) <= bound
    inside = _core.logical_and(k >= 0, _core.logical_or(us >= 0.013, v <= us))
    good = _core.logical_or(quick, _core.logical_and(inside, slow))
    first = _core.argmax(_core.cast(good, "int32"), 0, True)
    return _core.squeeze(_core.take_along_axis(k, first, 0), [0])


class Categorical(Distribution):
    """One of several classes, along the last axis of the parameters.

    Args:
        probs: The probabilities, which need not add up to one.
        logits: Their logarithms, which need not be normalised, in place of them.
        validate_args: Whether parameters are checked.

    Example:
        >>> d = fl.distributions.Categorical(fl.tensor([1.0, 3.0]))
        >>> d.probs.tolist(), round(d.log_prob(1).exp().item(), 4)
        ([0.25, 0.75], 0.75)
    """

    def __init__(
        self,
        probs: TensorLike | None = None,
        logits: TensorLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given, is_logits = one_of(probs, logits)
        (given,) = values(given)
        if given.ndim < 1:
            raise fault(ValueError, "classes stand along an axis, found a scalar", "give a tensor with an axis")
        super().__init__(given.shape[:-1], (), validate_args)
        if is_logits:
            self.logits = given - _core.logsumexp(given, -1, True)
            self.probs = _core.softmax(given, -1)
        else:
            self._check(given >= 0, "`probs` are zero or more")
            self.probs = given / _core.sum(given, -1, True)
            least = 1.2e-7 if given.dtype.name == "float32" else 2.3e-16
            self.logits = _core.log(_core.clip(self.probs, least, 1.0 - least))
        self._classes: Any = given.shape[-1]

    @property
    def param_shape(self) -> tuple[Any, ...]:
        """The shape of the probabilities."""
        return self.probs.shape

    @property
    def mean(self) -> Tensor:
        """Classes have none: NaN."""
        return _core.sum(self.probs, -1) * float("nan")

    variance = mean

    @property
    def mode(self) -> Tensor:
        """The likeliest class."""
        return _core.argmax(self.probs, -1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with _core.no_grad():
            count = math.prod(sample_shape)
            rows = _core.reshape(self.probs.detach(), (-1, self._classes))
            drawn = _core.transpose(_core.multinomial(rows, count, True), 0, 1)
            return _core.reshape(drawn, self._extended(sample_shape))

    def log_prob(self, value: TensorLike) -> Tensor:
        value = _core.cast(value if isinstance(value, _core.Tensor) else _core.tensor(value), "int64")
        self._check(_core.logical_and(value >= 0, value < self._classes), "a value is the number of a class")
        shape = _core.broadcast_tensors([value, _core.sum(self.logits, -1)])[0].shape
        logits = _core.broadcast_to(self.logits, (*shape, self._classes))
        at = _core.unsqueeze(_core.broadcast_to(value, shape), -1)
        return _core.squeeze(_core.take_along_axis(logits, at, -1), [-1])

    def entropy(self) -> Tensor:
        lowest = _core.maximum(self.logits, -3.0e38)
        return -_core.sum(lowest * self.probs, -1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All classes.

        Args:
            expand: Whether they are there once for each distribution.
        """
        each = _core.reshape(_core.arange(0, self._classes, 1, "int64"), (-1, *(1,) * len(self._batch_shape)))
        return _core.broadcast_to(each, (self._classes, *self._batch_shape)) if expand else each


class OneHotCategorical(Distribution):
    """`Categorical` whose values are vectors with a one at the class.

    Args:
        probs: The probabilities, which need not add up to one.
        logits: Their logarithms, in place of them.
        validate_args: Whether parameters are checked.
    """

    def __init__(
        self,
        probs: TensorLike | None = None,
        logits: TensorLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._of = Categorical(probs, logits, validate_args)
        self.probs, self.logits = self._of.probs, self._of.logits
        super().__init__(self._of.batch_shape, self.probs.shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1.0 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = self._of.sample(sample_shape)
        return _core.cast(_core.one_hot(drawn, self._event_shape[0]), self.probs.dtype)

    def log_prob(self, value: TensorLike) -> Tensor:
        return self._of.log_prob(_core.argmax(self._given(value, self.probs), -1))

    def entropy(self) -> Tensor:
        return self._of.entropy()


class Multinomial(Distribution):
    """How often each class comes up in several draws.

    Args:
        total_count: The number of draws.
        probs: The probabilities, which need not add up to one.
        logits: Their logarithms, in place of them.
        validate_args: Whether parameters are checked.
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: TensorLike | None = None,
        logits: TensorLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._of = Categorical(probs, logits, validate_args)
        self.probs, self.logits, self.total_count = self._of.probs, self._of.logits, total_count
        super().__init__(self._of.batch_shape, self.probs.shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.total_count * self.probs * (1.0 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = self._of.sample((self.total_count, *sample_shape))
        return _core.sum(_core.cast(_core.one_hot(drawn, self._event_shape[0]), self.probs.dtype), 0)

    def log_prob(self, value: TensorLike) -> Tensor:
        x = self._given(value, self.probs)
        ways = _core.lgamma(_core.sum(x, -1) + 1.0) - sum_last(_core.lgamma(x + 1.0), 1)
        none = _core.logical_and(x == 0, self.logits == float("-inf"))
        return ways + _core.sum(_core.where(none, _core.zeros_like(x), self.logits) * x, -1)
