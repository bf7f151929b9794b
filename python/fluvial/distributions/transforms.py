"""Functions that have an inverse, and distributions of their values."""

from __future__ import annotations

import math

from .. import _core
from .._fault import missing
from .continuous import Normal
from .distribution import Distribution, sum_last

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._core import Tensor, TensorLike
    from .distribution import Shape

__all__ = [
    "AffineTransform", "ComposeTransform", "ExpTransform", "LogNormal", "PowerTransform", "SigmoidTransform",
    "SoftplusTransform", "TanhTransform", "Transform", "TransformedDistribution",
]


class Transform:
    """A function of each element that has an inverse."""

    #: How many axes one value has.
    event_dim = 0

    def __call__(self, x: Tensor) -> Tensor:
        """Its value."""
        raise missing(self, "__call__(self, x)")

    def inv(self, y: Tensor) -> Tensor:
        """What gives `y`."""
        raise missing(self, "inv(self, y)")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of how much it stretches, at `x`, whose value is `y`."""
        raise missing(self, "log_abs_det_jacobian(self, x, y)")


class ExpTransform(Transform):
    """`exp(x)`."""

    def __call__(self, x: Tensor) -> Tensor:
        return _core.exp(x)

    def inv(self, y: Tensor) -> Tensor:
        return _core.log(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(Transform):
    """`1 / (1 + exp(-x))`."""

    def __call__(self, x: Tensor) -> Tensor:
        return _core.sigmoid(x)

    def inv(self, y: Tensor) -> Tensor:
        return _core.log(y) - _core.log1p(-y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -_core.softplus(-x) - _core.softplus(x)


class TanhTransform(Transform):
    """`tanh(x)`.

    Args:
        cache_size: For PyTorch's programs; nothing is kept.
    """

    def __init__(self, cache_size: int = 0) -> None:
        pass

    def __call__(self, x: Tensor) -> Tensor:
        return _core.tanh(x)

    def inv(self, y: Tensor) -> Tensor:
        return _core.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - _core.softplus(-2.0 * x))


class SoftplusTransform(Transform):
    """`log(1 + exp(x))`."""

    def __call__(self, x: Tensor) -> Tensor:
        return _core.softplus(x)

    def inv(self, y: Tensor) -> Tensor:
        return _core.log(-_core.expm1(-y)) + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -_core.softplus(-x)


class AffineTransform(Transform):
    """`loc + scale * x`.

    Args:
        loc: How far it is moved.
        scale: How much it is stretched.
        event_dim: How many axes one value has.
    """

    def __init__(self, loc: TensorLike, scale: TensorLike, event_dim: int = 0) -> None:
        self.loc: Any = loc
        self.scale: Any = scale
        self.event_dim = event_dim

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def inv(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, _core.Tensor) else _core.tensor(self.scale, x.dtype)
        return sum_last(_core.broadcast_to(_core.log(_core.abs(scale)), x.shape), self.event_dim)


class PowerTransform(Transform):
    """`x ^ exponent`, of positive values.

    Args:
        exponent: The exponent.
    """

    def __init__(self, exponent: TensorLike) -> None:
        self.exponent: Any = exponent

    def __call__(self, x: Tensor) -> Tensor:
        return _core.pow(x, self.exponent)

    def inv(self, y: Tensor) -> Tensor:
        return _core.pow(y, 1.0 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _core.log(_core.abs(self.exponent * y / x))


class ComposeTransform(Transform):
    """Functions one after the other.

    Args:
        parts: The functions.
    """

    def __init__(self, parts: Sequence[Transform]) -> None:
        self.parts = list(parts)
        self.event_dim = max((part.event_dim for part in self.parts), default=0)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def inv(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        total: Any = 0.0
        for part in self.parts:
            value = part(x)
            total = total + sum_last(part.log_abs_det_jacobian(x, value), self.event_dim - part.event_dim)
            x = value
        return total


class TransformedDistribution(Distribution):
    """The distribution of the values of functions.

    Args:
        base_distribution: The distribution of what they take.
        transforms: The functions, one after the other.
        validate_args: Whether parameters are checked.

    Example:
        >>> base = fl.distributions.Normal(0.0, 1.0)
        >>> d = fl.distributions.TransformedDistribution(base, [fl.distributions.ExpTransform()])
        >>> round(d.log_prob(1.0).item(), 4)
        -0.9189
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.base_dist: Any = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        self._all = ComposeTransform(self.transforms)
        n_event = len(base_distribution.event_shape)
        #: How many axes of the distributions below become those of one value.
        self._joined = max(0, self._all.event_dim - n_event)
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        split = len(batch) - self._joined
        super().__init__(batch[:split], (*batch[split:], *event), validate_args)
        self.has_rsample = base_distribution.has_rsample

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with _core.no_grad():
            return self._all(self.base_dist.sample(sample_shape)).detach()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._all(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: TensorLike) -> Tensor:
        y = value if isinstance(value, _core.Tensor) else _core.tensor(value)
        x = self._all.inv(y)
        n_event = len(self._event_shape)
        stretched = sum_last(self._all.log_abs_det_jacobian(x, y), n_event - self._all.event_dim)
        return sum_last(self.base_dist.log_prob(x), self._joined) - stretched

    def cdf(self, value: TensorLike) -> Tensor:
        """The probability of values up to this one, if all functions rise."""
        y = value if isinstance(value, _core.Tensor) else _core.tensor(value)
        return self.base_dist.cdf(self._all.inv(y))

    def expand(self, batch_shape: Shape) -> Any:
        own = self._event_shape[: self._joined]
        return TransformedDistribution(self.base_dist.expand((*batch_shape, *own)), self.transforms)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r})"


class LogNormal(TransformedDistribution):
    """The distribution of `exp` of normal values.

    Args:
        loc: The mean of the logarithm.
        scale: Its standard deviation.
        validate_args: Whether parameters are checked.
    """

    def __init__(self, loc: TensorLike, scale: TensorLike, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return _core.exp(self.loc + 0.5 * _core.square(self.scale))

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        return _core.exp(self.loc - _core.square(self.scale))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = _core.square(self.scale)
        return _core.expm1(square) * _core.exp(2.0 * self.loc + square)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc

    def expand(self, batch_shape: Shape) -> Any:
        below = self.base_dist.expand(batch_shape)
        return LogNormal(below.loc, below.scale)
