"""What a metric is, and metrics that are means."""

from __future__ import annotations

from .. import _core
from .._fault import fault, missing
from ..nn import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor


class Metric(Layer):
    """A measure over many batches. What it has seen are buffers of its own, so it works inside programs, too, and is a
    part of `state_dict`.

    `update` takes a batch in, `compute` gives the measure of all of them, `reset` forgets them; calling the metric
    updates and gives the measure so far. One of one's own adds its buffers by `count`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        object.__setattr__(self, "_counts", [])

    def count(self, name: str, shape: tuple[int, ...] = (), dtype: str = "float64") -> None:
        """Adds a buffer of zeros, in which something is added up.

        Args:
            name: The name of the attribute.
            shape: Its sizes.
            dtype: The element type.
        """
        self.register_buffer(name, _core.full(shape, 0.0, dtype=dtype))
        self._counts.append(name)

    def add(self, name: str, value: Tensor) -> None:
        """Adds to a buffer.

        Args:
            name: The name of the attribute.
            value: What is added.
        """
        buffer = self._buffers[name]
        buffer.set(buffer.detach() + _core.cast(value.detach(), buffer.dtype))

    def update(self, *inputs: Any, **options: Any) -> None:
        """Takes a batch in."""
        raise missing(self, "update(self, ...)")

    def compute(self) -> Any:
        """The measure of all batches since the last `reset`."""
        raise missing(self, "compute(self)")

    def reset(self) -> None:
        """Forgets all batches."""
        with _core.no_grad():
            for name in self._counts:
                buffer = self._buffers[name]
                buffer.set(_core.zeros_like(buffer.detach()))

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Takes a batch in, and gives the measure so far."""
        with _core.no_grad():
            self.update(*inputs, **options)
            return self.compute()


def ratio(part: Tensor, whole: Tensor, none: float = 0.0) -> Tensor:
    """A part of a whole; `none` where the whole is zero."""
    some = whole != 0
    return _core.where(some, part / _core.where(some, whole, _core.ones_like(whole)), _core.full_like(part, none))


def classes_of(preds: Tensor, target: Tensor, threshold: float) -> Tensor:
    """The classes that predictions say: scores along the axis that the target has not, probabilities, or numbers."""
    if preds.ndim == target.ndim + 1:
        return _core.argmax(preds, 1 if preds.ndim > 2 else -1)
    if preds.ndim != target.ndim:
        raise fault(
            ValueError,
            f"predictions {list(preds.shape)} do not fit targets {list(target.shape)}",
            "give scores of all classes, in axis 1, or one number for each target",
        )
    if "float" in preds.dtype.name:
        return _core.cast(preds > threshold, "int64")
    return _core.cast(preds, "int64")


class Mean(Metric):
    """The mean of values, perhaps with weights.

    Example:
        >>> mean = fl.metrics.Mean()
        >>> mean.update(fl.tensor([1.0, 2.0]))
        >>> mean.update(6.0)
        >>> mean.compute().item()
        3.0
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.count("total")
        self.count("weight")

    def update(self, values: Any, weights: Any = None) -> None:
        """Takes values in.

        Args:
            values: A tensor or a number.
            weights: How much each counts.
        """
        values = _core.cast(values if isinstance(values, _core.Tensor) else _core.tensor(values), "float64")
        if weights is None:
            counts = _core.ones_like(values)
        else:
            weights = weights if isinstance(weights, _core.Tensor) else _core.tensor(weights)
            counts = _core.broadcast_to(_core.cast(weights, "float64"), values.shape)
        self.add("total", _core.sum(values * counts))
        self.add("weight", _core.sum(counts))

    def compute(self) -> Tensor:
        """The mean; NaN if there was nothing."""
        return self.total / self.weight


class _Errors(Mean):
    def update(self, preds: Tensor, target: Tensor) -> None:  # type: ignore[override]
        """Takes a batch in.

        Args:
            preds: The predictions.
            target: What they should have been.
        """
        super().update(self._error(_core.cast(preds, "float64") - _core.cast(target, "float64")))

    def _error(self, difference: Tensor) -> Tensor:
        raise NotImplementedError


class MeanSquaredError(_Errors):
    """The mean of squared differences."""

    def _error(self, difference: Tensor) -> Tensor:
        return difference * difference


class MeanAbsoluteError(_Errors):
    """The mean of differences without their signs."""

    def _error(self, difference: Tensor) -> Tensor:
        return _core.abs(difference)


class Perplexity(Metric):
    """`exp` of the mean loss of tokens.

    Args:
        ignore_index: A target that does not count.

    Example:
        >>> metric = fl.metrics.Perplexity(ignore_index=-100)
        >>> metric.update(fl.zeros((2, 3, 5)), fl.tensor([[1, 2, -100], [0, 4, 3]]))
        >>> round(metric.compute().item(), 4)
        5.0
    """

    def __init__(self, ignore_index: int | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self.ignore_index = ignore_index
        self.count("total")
        self.count("tokens")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Takes a batch in.

        Args:
            preds: Scores of all tokens along the last axis, not normalised.
            target: The tokens.
        """
        target = _core.cast(target, "int64")
        counts = target != self.ignore_index if self.ignore_index is not None else target == target
        safe = _core.where(counts, target, _core.zeros_like(target))
        logs = _core.log_softmax(_core.cast(preds, "float64"), -1)
        found = _core.squeeze(_core.take_along_axis(logs, _core.unsqueeze(safe, -1), -1), [-1])
        self.add("total", -_core.sum(_core.where(counts, found, _core.zeros_like(found))))
        self.add("tokens", _core.sum(_core.cast(counts, "float64")))

    def compute(self) -> Tensor:
        """The perplexity."""
        return _core.exp(self.total / self.tokens)
