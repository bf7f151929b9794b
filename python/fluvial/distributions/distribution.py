"""What a distribution is."""

from __future__ import annotations

from .. import _core
from .._fault import fault, missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._core import Tensor, TensorLike

    Shape = Sequence[Any]


def values(*given: TensorLike) -> list[Tensor]:
    """Parameters as tensors of one float type and of one shape."""
    tensors = [x for x in given if isinstance(x, _core.Tensor)]
    dtypes = [x.dtype for x in tensors if "float" in x.dtype.name]
    dtype = dtypes[0] if dtypes else _core.float32
    for other in dtypes[1:]:
        dtype = _core.promote_types(dtype, other)
    made = [_core.cast(x if isinstance(x, _core.Tensor) else _core.tensor(x, dtype), dtype) for x in given]
    return list(_core.broadcast_tensors(made)) if len(made) > 1 else made


def must(holds: Tensor, what: str) -> None:
    """Refuses parameters of which something does not hold, in both modes."""
    _core.assert_(_core.all(holds), what, [])


class Distribution:
    """A distribution of random values. Parameters may be tensors of any shape: there is one for each element.

    Args:
        batch_shape: How many distributions there are.
        event_shape: The shape of one value.
        validate_args: Whether parameters and values are checked.
    """

    #: Whether gradients reach the parameters through `rsample`.
    has_rsample = False

    def __init__(
        self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)
        self._validates = validate_args is not False

    @property
    def batch_shape(self) -> tuple[Any, ...]:
        """How many distributions there are."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[Any, ...]:
        """The shape of one value."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise missing(self, "mean")

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        raise missing(self, "mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise missing(self, "variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return _core.sqrt(self.variance)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Random values, through which gradients reach the parameters.

        Args:
            sample_shape: How many for each distribution.
        """
        raise fault(
            NotImplementedError,
            f"no gradient passes through values of `{type(self).__name__}`",
            "use `sample`, and `log_prob` for the gradient of their probability",
        )

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Random values, without gradients.

        Args:
            sample_shape: How many for each distribution.
        """
        with _core.no_grad():
            return self.rsample(sample_shape).detach()

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`."""
        return self.sample((n,))

    def log_prob(self, value: TensorLike) -> Tensor:
        """The logarithm of the density, or of the probability, of a value.

        Args:
            value: The value.
        """
        raise missing(self, "log_prob(self, value)")

    def cdf(self, value: TensorLike) -> Tensor:
        """The probability of values up to this one.

        Args:
            value: The value.
        """
        raise missing(self, "cdf(self, value)")

    def icdf(self, value: TensorLike) -> Tensor:
        """The value up to which there is this probability.

        Args:
            value: The probability.
        """
        raise missing(self, "icdf(self, value)")

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise missing(self, "entropy(self)")

    def perplexity(self) -> Tensor:
        """`exp` of the entropy."""
        return _core.exp(self.entropy())

    def expand(self, batch_shape: Shape) -> Any:
        """The same distributions for a larger shape.

        Args:
            batch_shape: The shape.
        """
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        for name, kept in self._parameters().items():
            own = kept.shape[len(self._batch_shape) :]
            made.__dict__[name] = _core.broadcast_to(kept, (*batch_shape, *own))
        made._batch_shape = tuple(batch_shape)
        return made

    def _parameters(self) -> dict[str, Tensor]:
        """The parameters by the names of attributes."""
        return {name: x for name, x in self.__dict__.items() if isinstance(x, _core.Tensor)}

    def _extended(self, sample_shape: Shape = ()) -> tuple[Any, ...]:
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def _given(self, value: TensorLike, like: Tensor) -> Tensor:
        value = value if isinstance(value, _core.Tensor) else _core.tensor(value, like.dtype)
        return value if "float" in value.dtype.name else _core.cast(value, like.dtype)

    def _check(self, holds: Tensor, what: str) -> None:
        if self._validates:
            must(holds, f"{type(self).__name__}: {what}")

    def __repr__(self) -> str:
        shown = ", ".join(f"{name.lstrip('_')}: {list(x.shape)}" for name, x in self._parameters().items())
        return f"{type(self).__name__}({shown})"


def expanded(x: Tensor, sample_shape: Shape) -> Tensor:
    """The parameter, once for each sample."""
    return _core.broadcast_to(x, (*sample_shape, *x.shape)) if len(sample_shape) else x


def sum_last(x: Tensor, n: int) -> Tensor:
    """The sum over the last `n` axes."""
    return _core.sum(x, list(range(-n, 0))) if n else x
