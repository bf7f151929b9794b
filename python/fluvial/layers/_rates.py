"""Rates under Fluid's names: for an optimizer's `learning_rate`."""

from __future__ import annotations

import math

from .. import _core
from ..optimizer import lr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._core import Tensor


def _number(value: float) -> Tensor:
    return _core.tensor(value, "float64")


def _of(first: float, function: Callable[[Tensor], Tensor]) -> lr.Schedule:
    return lr.Schedule(lambda rate, step: rate * function(step), first)


def exponential_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> lr.Schedule:
    """The rate times `decay_rate` after every `decay_steps` updates.

    Example:
        >>> rate = fl.layers.exponential_decay(0.1, 10, 0.5, staircase=True)
        >>> fl.optimizer.SGD(["w"], rate).learning_rate().item()
        0.1
    """
    whole = _core.floor if staircase else (lambda x: x)
    return _of(
        learning_rate,
        lambda step: _core.pow(_number(decay_rate), whole(step / float(decay_steps))),
    )


def natural_exp_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> lr.Schedule:
    """The rate times `exp(-decay_rate)` after every `decay_steps` updates."""
    return exponential_decay(learning_rate, decay_steps, math.exp(-decay_rate), staircase)


def inverse_time_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> lr.Schedule:
    """The rate divided by `1 + decay_rate · updates / decay_steps`."""
    whole = _core.floor if staircase else (lambda x: x)
    return _of(
        learning_rate, lambda step: 1.0 / (whole(step / float(decay_steps)) * decay_rate + 1.0)
    )


def polynomial_decay(
    learning_rate: float,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
) -> lr.Schedule:
    """From one rate to another, as a power of what is left of so many updates."""
    falling = lr.polynomial(decay_steps, power)

    def rate(first: Tensor, step: Tensor) -> Tensor:
        return falling.rate(first - end_learning_rate, step) + end_learning_rate

    return lr.Schedule(rate, learning_rate)


def piecewise_decay(boundaries: Sequence[int], values: Sequence[float]) -> lr.Schedule:
    """Given rates, each up to a number of updates."""
    return lr.piecewise(boundaries, values).starting_at(values[0])


def cosine_decay(learning_rate: float, step_each_epoch: int, epochs: int) -> lr.Schedule:
    """To zero by half a wave, epoch by epoch."""
    return lr.cosine(epochs).every(step_each_epoch).starting_at(learning_rate)


def noam_decay(d_model: int, warmup_steps: int) -> lr.Schedule:
    """The rate of the first transformer of this width."""
    return lr.noam(d_model, warmup_steps)
