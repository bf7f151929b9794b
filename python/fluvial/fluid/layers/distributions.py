"""Distributions: numbers drawn, probabilities, entropies, and how far two are apart."""

from __future__ import annotations

import math
from typing import Any

from ... import _core
from ..._fault import fault
from ...layers._arguments import one, sizes_of
from ...layers._inplace import drawing
from ..framework import applied

__all__ = ["Categorical", "MultivariateNormalDiag", "Normal", "Uniform"]


def _value(x: Any) -> Any:
    return x if isinstance(x, _core.Tensor) else one(_core.cast(_core.tensor(x), "float32"))


def _same(kind: type, other: Any) -> None:
    if not isinstance(other, kind):
        raise fault(TypeError, f"a {kind.__name__} and {type(other).__name__}", f"give another {kind.__name__}")


class Uniform:
    """Numbers evenly distributed from `low` to `high`.

    Args:
        low: The lower ends: a number, an array or a variable.
        high: The upper ends.
    """

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high

    def sample(self, shape: Any, seed: int = 0) -> Any:
        """Numbers of the sizes `shape` for each pair of ends."""

        def draw(low: Any, high: Any) -> Any:
            low, high = _value(low), _value(high)
            with drawing(seed or None):
                share = _core.uniform((low.dtype, (*sizes_of(shape), *(low + high).shape)), 0.0, 1.0)
            return low + share * (high - low)

        return applied(draw, "uniform_sample", self.low, self.high)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density; minus infinity outside."""

        def density(value: Any, low: Any, high: Any) -> Any:
            low, high = _value(low), _value(high)
            inside = _core.logical_and(low < value, value < high)
            return _core.where(inside, -_core.log(high - low), -math.inf)

        return applied(density, "uniform_log_prob", value, self.low, self.high)

    def entropy(self) -> Any:
        """`log(high - low)`."""
        return applied(lambda low, high: _core.log(_value(high) - _value(low)), "uniform_entropy", self.low, self.high)


class Normal:
    """Normally distributed numbers.

    Args:
        loc: The means: a number, an array or a variable.
        scale: The standard deviations.
    """

    def __init__(self, loc: Any, scale: Any) -> None:
        self.loc, self.scale = loc, scale

    def sample(self, shape: Any, seed: int = 0) -> Any:
        """Numbers of the sizes `shape` for each mean and deviation."""

        def draw(loc: Any, scale: Any) -> Any:
            loc, scale = _value(loc), _value(scale)
            with drawing(seed or None):
                noise = _core.normal((loc.dtype, (*sizes_of(shape), *(loc + scale).shape)))
            return loc + noise * scale

        return applied(draw, "normal_sample", self.loc, self.scale)

    def entropy(self) -> Any:
        """`0.5 + 0.5 · log(2π) + log(scale)`."""
        first = 0.5 + 0.5 * math.log(2.0 * math.pi)
        return applied(
            lambda loc, scale: first + _core.log(_value(scale) + _value(loc) * 0.0), "normal_entropy", self.loc, self.scale
        )

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""

        def density(value: Any, loc: Any, scale: Any) -> Any:
            loc, scale = _value(loc), _value(scale)
            distance = (value - loc) / scale
            return distance * distance * -0.5 - _core.log(scale) - 0.5 * math.log(2.0 * math.pi)

        return applied(density, "normal_log_prob", value, self.loc, self.scale)

    def kl_divergence(self, other: Normal) -> Any:
        """How much is lost if this is taken for `other`."""
        _same(Normal, other)

        def lost(loc: Any, scale: Any, other_loc: Any, other_scale: Any) -> Any:
            loc, scale, other_loc, other_scale = (_value(x) for x in (loc, scale, other_loc, other_scale))
            ratio = _core.square(scale / other_scale)
            shift = _core.square((loc - other_loc) / other_scale)
            return (ratio + shift - 1.0 - _core.log(ratio)) * 0.5

        return applied(lost, "normal_kl", self.loc, self.scale, other.loc, other.scale)


class Categorical:
    """One of several classes.

    Args:
        logits: A number for each class, `[..., classes]`: logarithms of weights.
    """

    def __init__(self, logits: Any) -> None:
        self.logits = logits

    def kl_divergence(self, other: Categorical) -> Any:
        """How much is lost if this is taken for `other`, with size 1 last."""
        _same(Categorical, other)

        def lost(a: Any, b: Any) -> Any:
            logs = _core.log_softmax(_value(a), -1)
            return _core.sum(_core.exp(logs) * (logs - _core.log_softmax(_value(b), -1)), axis=-1, keepdims=True)

        return applied(lost, "categorical_kl", self.logits, other.logits)

    def entropy(self) -> Any:
        """How uncertain it is, with size 1 last."""

        def uncertain(logits: Any) -> Any:
            logs = _core.log_softmax(_value(logits), -1)
            return -_core.sum(_core.exp(logs) * logs, axis=-1, keepdims=True)

        return applied(uncertain, "categorical_entropy", self.logits)


class MultivariateNormalDiag:
    """Normally distributed vectors whose numbers are independent.

    Args:
        loc: The mean, `[size]`.
        scale: A matrix with the deviations' squares on its diagonal, `[size, size]`, as Fluid has it.
    """

    def __init__(self, loc: Any, scale: Any) -> None:
        self.loc, self.scale = loc, scale

    def entropy(self) -> Any:
        """How uncertain it is, of shape [1]."""

        def uncertain(loc: Any, scale: Any) -> Any:
            size = scale.shape[0]
            diagonal = _core.diagonal(scale, 0, 0, 1)
            return one((size * (1.0 + math.log(2.0 * math.pi)) + _core.sum(_core.log(diagonal))) * 0.5)

        return applied(uncertain, "normal_diag_entropy", self.loc, self.scale)

    def kl_divergence(self, other: MultivariateNormalDiag) -> Any:
        """How much is lost if this is taken for `other`, of shape [1]."""
        _same(MultivariateNormalDiag, other)

        def lost(loc: Any, scale: Any, other_loc: Any, other_scale: Any) -> Any:
            own, theirs = (_core.diagonal(x, 0, 0, 1) for x in (scale, other_scale))
            shift = _core.reshape(other_loc - loc, (-1,))
            logs = _core.sum(_core.log(theirs)) - _core.sum(_core.log(own))
            return one((_core.sum(own / theirs) + _core.sum(shift * shift / theirs) - own.shape[0] + logs) * 0.5)

        return applied(lost, "normal_diag_kl", self.loc, self.scale, other.loc, other.scale)
