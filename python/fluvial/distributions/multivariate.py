"""Distributions of vectors, and distributions made of others."""

from __future__ import annotations

import math

from .. import _core
from .._fault import fault
from ._gamma import standard_gamma
from .distribution import Distribution, expanded, sum_last, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor, TensorLike
    from .discrete import Categorical
    from .distribution import Shape

_LOG_2PI = math.log(2.0 * math.pi)


class Dirichlet(Distribution):
    """Shares that add up to one, along the last axis.

    Args:
        concentration: The shape towards each.
        validate_args: Whether parameters are checked.
    """

    has_rsample = True

    def __init__(self, concentration: TensorLike, validate_args: bool | None = None) -> None:
        (self.concentration,) = values(concentration)
        if self.concentration.ndim < 1:
            raise fault(ValueError, "shares stand along an axis, found a scalar", "give a tensor with an axis")
        shape = self.concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)
        self._check(self.concentration > 0, "`concentration` is positive")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / _core.sum(self.concentration, -1, True)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = _core.sum(self.concentration, -1, True)
        return self.concentration * (total - self.concentration) / (total * total * (total + 1.0))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = standard_gamma(expanded(self.concentration, sample_shape))
        return drawn / _core.sum(drawn, -1, True)

    def log_prob(self, value: TensorLike) -> Tensor:
        a = self.concentration
        logs = _core.sum((a - 1.0) * _core.log(self._given(value, a)), -1)
        return logs + _core.lgamma(_core.sum(a, -1)) - _core.sum(_core.lgamma(a), -1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self._event_shape[0]
        total = _core.sum(a, -1)
        log_beta = _core.sum(_core.lgamma(a), -1) - _core.lgamma(total)
        spread = (k - total) * _core.digamma(total) + _core.sum((a - 1.0) * _core.digamma(a), -1)
        return log_beta - spread


class MultivariateNormal(Distribution):
    """The normal distribution of vectors.

    Args:
        loc: The mean.
        covariance_matrix: The covariances.
        precision_matrix: Their inverse, in place of them.
        scale_tril: Their lower Cholesky factor, in place of them.
        validate_args: Whether parameters are checked.

    Example:
        >>> d = fl.distributions.MultivariateNormal(fl.zeros(2), fl.eye(2))
        >>> round(d.log_prob(fl.zeros(2)).item(), 4)
        -1.8379
    """

    has_rsample = True

    def __init__(
        self,
        loc: TensorLike,
        covariance_matrix: TensorLike | None = None,
        precision_matrix: TensorLike | None = None,
        scale_tril: TensorLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = [covariance_matrix, precision_matrix, scale_tril]
        if sum(one is not None for one in given) != 1:
            raise fault(
                ValueError,
                "the covariances have to be said in one way",
                "give `covariance_matrix`, `precision_matrix` or `scale_tril`",
            )
        (loc,) = values(loc)
        (matrix,) = values(next(one for one in given if one is not None))
        if loc.ndim < 1 or matrix.ndim < 2:
            raise fault(ValueError, "the mean is a vector and the covariances are a matrix")
        if covariance_matrix is not None:
            tril = _core.cholesky(matrix)
        elif precision_matrix is not None:
            tril = _core.cholesky(_core.inverse(matrix))
        else:
            tril = matrix
        batch = _core.broadcast_tensors([_core.sum(loc, -1), _core.sum(tril, [-1, -2])])[0].shape
        n = loc.shape[-1]
        self.loc = _core.broadcast_to(loc, (*batch, n))
        self.scale_tril = _core.broadcast_to(tril, (*batch, n, n))
        super().__init__(batch, (n,), validate_args)
        self._check(_core.diagonal(self.scale_tril, 0, -2, -1) > 0, "the diagonal of `scale_tril` is positive")

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        return _core.matmul(self.scale_tril, _core.transpose(self.scale_tril, -1, -2))

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        return _core.inverse(self.covariance_matrix)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variances."""
        return _core.sum(_core.square(self.scale_tril), -1)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = _core.normal((self.loc.dtype, self._extended(sample_shape)))
        return self.loc + _core.squeeze(_core.matmul(self.scale_tril, _core.unsqueeze(drawn, -1)), [-1])

    def _log_root(self) -> Tensor:
        return _core.sum(_core.log(_core.diagonal(self.scale_tril, 0, -2, -1)), -1)

    def log_prob(self, value: TensorLike) -> Tensor:
        away = _core.unsqueeze(self._given(value, self.loc) - self.loc, -1)
        z = _core.squeeze(_core.triangular_solve(self.scale_tril, away), [-1])
        n = self._event_shape[0]
        return -0.5 * (n * _LOG_2PI + _core.sum(z * z, -1)) - self._log_root()

    def entropy(self) -> Tensor:
        return 0.5 * self._event_shape[0] * (1.0 + _LOG_2PI) + self._log_root()


class Independent(Distribution):
    """Distributions whose last axes are seen as those of one value.

    Args:
        base_distribution: The distributions.
        reinterpreted_batch_ndims: How many axes.
        validate_args: Whether parameters are checked.

    Example:
        >>> d = fl.distributions.Independent(fl.distributions.Normal(fl.zeros(3), fl.ones(3)), 1)
        >>> d.event_shape, d.log_prob(fl.zeros(3)).shape
        ((3,), ())
    """

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        n = reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        if not 0 <= n <= len(batch):
            raise fault(ValueError, f"{n} of {len(batch)} axes cannot be those of one value")
        self.base_dist, self._n = base_distribution, n
        split = len(batch) - n
        super().__init__(batch[:split], (*batch[split:], *base_distribution.event_shape), validate_args)
        self.has_rsample = base_distribution.has_rsample

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: TensorLike) -> Tensor:
        return sum_last(self.base_dist.log_prob(value), self._n)

    def entropy(self) -> Tensor:
        return sum_last(self.base_dist.entropy(), self._n)

    def expand(self, batch_shape: Shape) -> Any:
        own = self._event_shape[: self._n]
        return Independent(self.base_dist.expand((*batch_shape, *own)), self._n)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self._n})"


class MixtureSameFamily(Distribution):
    """One of several distributions of one kind, along the last axis of their batch, drawn by weights.

    Args:
        mixture_distribution: The weights.
        component_distribution: The distributions.
        validate_args: Whether parameters are checked.
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        batch = component_distribution.batch_shape
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return _core.reshape(probs, (*probs.shape, *(1,) * len(self._event_shape)))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return _core.sum(self._weights() * self.component_distribution.mean, -1 - len(self._event_shape))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        parts, axis = self.component_distribution, -1 - len(self._event_shape)
        away = parts.mean - _core.unsqueeze(self.mean, axis)
        return _core.sum(self._weights() * (parts.variance + away * away), axis)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with _core.no_grad():
            n = len(self._event_shape)
            drawn = self.component_distribution.sample(sample_shape)
            which = self.mixture_distribution.sample(sample_shape)
            which = _core.broadcast_to(
                _core.reshape(which, (*which.shape, 1, *(1,) * n)), (*which.shape, 1, *self._event_shape)
            )
            axis = drawn.ndim - n - 1
            return _core.squeeze(_core.take_along_axis(drawn, which, axis), [axis])

    def log_prob(self, value: TensorLike) -> Tensor:
        like = self.component_distribution.mean
        value = _core.unsqueeze(self._given(value, like), -1 - len(self._event_shape))
        return _core.logsumexp(self.component_distribution.log_prob(value) + self.mixture_distribution.logits, -1)
