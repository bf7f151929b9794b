"""Learning rates that change from step to step: variables of a program, or decays of `dygraph`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._fault import fault
from ..framework import State, Variable, applied, default_main_program, default_startup_program, in_dygraph_mode

__all__ = [
    "exponential_decay", "natural_exp_decay", "inverse_time_decay", "polynomial_decay", "piecewise_decay", "noam_decay",
    "cosine_decay", "linear_lr_warmup", "autoincreased_step_counter",
]  # fmt: skip


def autoincreased_step_counter(counter_name: str | None = None, begin: int = 1, step: int = 1) -> Variable:
    """How often the program was run.

    Args:
        counter_name: The name of its state; two calls with one name have one counter.
        begin: What it is in the first run.
        step: By how much it grows.
    """
    name = counter_name or "@STEP_COUNTER@"
    block = default_main_program().global_block()
    known = block.vars.get(f"{name}.now")
    if known is not None:
        return known
    counter = State.of(block, name, (1,), "int64", begin - step, startup=default_startup_program())
    counter._stop_gradient = True
    with block.building():
        number = counter.read(block) + step
        counter.assign(block, number)
        var = block.made(number, f"{name}.now")
    var.stop_gradient = True
    return var


def _of_steps(function: Callable[[Any], Any], kind: str, begin: int = 0) -> Variable:
    """A function of the number of the run, as a variable."""
    counter = autoincreased_step_counter("@LR_DECAY_COUNTER@", begin)
    found = applied(lambda step: function(_core.cast(step, "float32")), kind, counter)
    found.stop_gradient = True
    return found


def _decays() -> Any:
    from ..dygraph import learning_rate_scheduler

    return learning_rate_scheduler


def noam_decay(d_model: int, warmup_steps: int, learning_rate: float = 1.0) -> Any:
    """The rate of the first transformer: it rises, and falls with the root of the steps.

    Args:
        d_model: The width of the model.
        warmup_steps: For how many steps it rises.
        learning_rate: A factor.
    """
    if in_dygraph_mode():
        return _decays().NoamDecay(d_model, warmup_steps, learning_rate=learning_rate)

    def rate(step: Any) -> Any:
        falling, rising = _core.pow(step, -0.5), step * warmup_steps**-1.5
        return _core.minimum(falling, rising) * (learning_rate * d_model**-0.5)

    return _of_steps(rate, "noam_decay", 1)


def _whole(step: Any, staircase: bool) -> Any:
    return _core.floor(step) if staircase else step


def exponential_decay(learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False) -> Any:
    """`learning_rate * decay_rate ^ (step / decay_steps)`.

    Args:
        learning_rate: The first rate.
        decay_steps: After how many steps `decay_rate` counts once.
        decay_rate: The factor.
        staircase: Whether only whole multiples count.
    """
    if in_dygraph_mode():
        return _decays().ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase)

    def rate(step: Any) -> Any:
        return _core.pow(_core.full((1,), decay_rate, "float32"), _whole(step / decay_steps, staircase)) * learning_rate

    return _of_steps(rate, "exponential_decay")


def natural_exp_decay(learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False) -> Any:
    """`learning_rate * exp(-decay_rate * step / decay_steps)`.

    Args:
        learning_rate: The first rate.
        decay_steps: After how many steps `decay_rate` counts once.
        decay_rate: The exponent.
        staircase: Whether only whole multiples count.
    """
    if in_dygraph_mode():
        return _decays().NaturalExpDecay(learning_rate, decay_steps, decay_rate, staircase)
    return _of_steps(
        lambda step: _core.exp(_whole(step / decay_steps, staircase) * -decay_rate) * learning_rate, "natural_exp_decay"
    )


def inverse_time_decay(learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False) -> Any:
    """`learning_rate / (1 + decay_rate * step / decay_steps)`.

    Args:
        learning_rate: The first rate.
        decay_steps: After how many steps `decay_rate` counts once.
        decay_rate: The factor.
        staircase: Whether only whole multiples count.
    """
    if in_dygraph_mode():
        return _decays().InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase)
    return _of_steps(
        lambda step: learning_rate / (_whole(step / decay_steps, staircase) * decay_rate + 1.0), "inverse_time_decay"
    )


def polynomial_decay(
    learning_rate: float, decay_steps: int, end_learning_rate: float = 0.0001, power: float = 1.0, cycle: bool = False
) -> Any:
    """From one rate to another, as a power of the share of the steps that is left.

    Args:
        learning_rate: The first rate.
        decay_steps: In how many steps.
        end_learning_rate: The last rate.
        power: The power.
        cycle: Whether it begins anew, over a longer time each time.
    """
    if in_dygraph_mode():
        return _decays().PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power, cycle)

    def rate(step: Any) -> Any:
        if cycle:
            times = _core.ceil(step / decay_steps)
            over: Any = _core.maximum(times, _core.ones_like(times)) * decay_steps
        else:
            over = decay_steps
            step = _core.minimum(step, _core.full((1,), decay_steps, "float32"))
        left = 1.0 - step / over
        return _core.pow(left, power) * (learning_rate - end_learning_rate) + end_learning_rate

    return _of_steps(rate, "polynomial_decay")


def piecewise_decay(boundaries: Sequence[int], values: Sequence[float]) -> Any:
    """Given rates, each up to a number of steps.

    Args:
        boundaries: Where the next rate begins.
        values: The rates, one more than boundaries.
    """
    if len(values) - len(boundaries) != 1:
        raise fault(
            ValueError,
            f"{len(values)} rates do not fit {len(boundaries)} boundaries",
            "give one rate more than boundaries",
        )
    if in_dygraph_mode():
        return _decays().PiecewiseDecay(boundaries, values, 0)

    def rate(step: Any) -> Any:
        found: Any = _core.full((1,), float(values[-1]), "float32")
        for boundary, value in reversed(list(zip(boundaries, values))):
            found = _core.where(step < float(boundary), _core.full((1,), float(value), "float32"), found)
        return found

    return _of_steps(rate, "piecewise_decay")


def cosine_decay(learning_rate: float, step_each_epoch: int, epochs: int) -> Any:
    """To zero by half a wave, epoch by epoch.

    Args:
        learning_rate: The first rate.
        step_each_epoch: How many steps an epoch has.
        epochs: How many epochs.
    """
    if in_dygraph_mode():
        return _decays().CosineDecay(learning_rate, step_each_epoch, epochs)
    return _of_steps(
        lambda step: (_core.cos(_core.floor(step / step_each_epoch) * (math.pi / epochs)) + 1.0) * (0.5 * learning_rate),
        "cosine_decay",
    )


def linear_lr_warmup(learning_rate: Any, warmup_steps: int, start_lr: float, end_lr: float) -> Any:
    """From one rate to another in the first steps, then a given one.

    Args:
        learning_rate: The rate behind them: a number, or a variable.
        warmup_steps: How many steps.
        start_lr: The first rate.
        end_lr: The rate at their end.
    """
    if in_dygraph_mode():
        return _decays().LinearLrWarmup(learning_rate, warmup_steps, start_lr, end_lr)
    counter = autoincreased_step_counter("@LR_DECAY_COUNTER@", 0)

    def rate(step: Any, after: Any) -> Any:
        step = _core.cast(step, "float32")
        rising = step * ((end_lr - start_lr) / float(warmup_steps)) + start_lr
        last = after if isinstance(after, _core.Tensor) else _core.full((1,), float(after), "float32")
        return _core.where(step < float(warmup_steps), rising, last)

    found = applied(rate, "linear_lr_warmup", counter, learning_rate)
    found.stop_gradient = True
    return found
