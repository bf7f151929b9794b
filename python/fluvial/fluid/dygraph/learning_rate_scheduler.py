"""Learning rates that change from step to step, for `dygraph.guard`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._fault import fault, missing
from .._lists import listed
from ..framework import Variable
from .base import to_variable

__all__ = [
    "NoamDecay", "PiecewiseDecay", "NaturalExpDecay", "ExponentialDecay", "InverseTimeDecay", "PolynomialDecay",
    "CosineDecay", "LinearLrWarmup", "ReduceLROnPlateau", "StepDecay", "MultiStepDecay", "LambdaDecay",
]  # fmt: skip


def _number(value: Any) -> float:
    return float(value.numpy()[0]) if isinstance(value, Variable) else float(value)


class LearningRateDecay:
    """A rate by the number of the step; each call gives the next one.

    Args:
        begin: The number of the first step.
        step: By how much it grows.
        dtype: For Fluid's programs.
    """

    #: The attributes that `state_dict` has.
    keys: list[str] = ["step_num"]

    def __init__(self, begin: int = 0, step: int = 1, dtype: str = "float32") -> None:
        self.step_num, self.step_size, self.dtype = begin, step, dtype

    def __call__(self) -> Variable:
        return self.create_lr_var(self._next())

    def _next(self) -> float:
        """The rate of this step, which is over then."""
        rate = float(self.step())
        self.step_num += self.step_size
        return rate

    def create_lr_var(self, lr: float) -> Variable:
        """A rate as a variable of one element.

        Args:
            lr: The rate.
        """
        import numpy as np

        return to_variable(np.array([lr], self.dtype))

    def step(self) -> float:
        """The rate of this step. A decay of one's own says it."""
        raise missing(self, "step(self)")

    def state_dict(self) -> dict[str, Any]:
        """What it remembers."""
        return {key: getattr(self, key) for key in self.keys}

    def set_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what another one remembered.

        Args:
            state_dict: What `state_dict` gave.
        """
        for key in self.keys:
            if key not in state_dict:
                raise fault(RuntimeError, f"`{key}` is missing in what was remembered", "use a decay of the same kind")
            value = state_dict[key]
            setattr(self, key, value.item() if hasattr(value, "item") else value)

    set_state_dict = set_dict


class PiecewiseDecay(LearningRateDecay):
    """Given rates, each up to a number of steps.

    Args:
        boundaries: Where the next rate begins.
        values: The rates, one more than boundaries.
        begin: The number of the first step.
    """

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], begin: int = 0, step: int = 1, dtype: str = "float32"
    ) -> None:
        super().__init__(begin, step, dtype)
        self.boundaries = listed(boundaries, "boundaries")
        self.values = [float(value) for value in listed(values, "values")]

    def step(self) -> float:
        for boundary, value in zip(self.boundaries, self.values):
            if self.step_num < boundary:
                return value
        return self.values[len(self.boundaries)]


class _ByRate(LearningRateDecay):
    def __init__(
        self, learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False, begin: int = 0,
        step: int = 1, dtype: str = "float32",
    ) -> None:  # fmt: skip
        super().__init__(begin, step, dtype)
        self.learning_rate, self.decay_steps, self.decay_rate = _number(learning_rate), decay_steps, decay_rate
        self.staircase = staircase

    def _times(self) -> float:
        times = self.step_num / self.decay_steps
        return math.floor(times) if self.staircase else times


class NaturalExpDecay(_ByRate):
    """`learning_rate * exp(-decay_rate * step / decay_steps)`."""

    def step(self) -> float:
        return self.learning_rate * math.exp(-self.decay_rate * self._times())


class ExponentialDecay(_ByRate):
    """`learning_rate * decay_rate ^ (step / decay_steps)`."""

    def step(self) -> float:
        return self.learning_rate * self.decay_rate ** self._times()


class InverseTimeDecay(_ByRate):
    """`learning_rate / (1 + decay_rate * step / decay_steps)`."""

    def step(self) -> float:
        return self.learning_rate / (1 + self.decay_rate * self._times())


class PolynomialDecay(LearningRateDecay):
    """From one rate to another, as a power of the share of the steps that is left."""

    def __init__(
        self, learning_rate: float, decay_steps: int, end_learning_rate: float = 0.0001, power: float = 1.0,
        cycle: bool = False, begin: int = 0, step: int = 1, dtype: str = "float32",
    ) -> None:  # fmt: skip
        super().__init__(begin, step, dtype)
        self.learning_rate, self.decay_steps = _number(learning_rate), decay_steps
        self.end_learning_rate, self.power, self.cycle = end_learning_rate, power, cycle

    def step(self) -> float:
        number, over = float(self.step_num), float(self.decay_steps)
        if self.cycle:
            over *= max(1.0, math.ceil(number / over))
        else:
            number = min(number, over)
        return (self.learning_rate - self.end_learning_rate) * (1 - number / over) ** self.power + self.end_learning_rate


class CosineDecay(LearningRateDecay):
    """To zero by half a wave, epoch by epoch."""

    def __init__(
        self, learning_rate: float, step_each_epoch: int, epochs: int, begin: int = 0, step: int = 1,
        dtype: str = "float32",
    ) -> None:  # fmt: skip
        super().__init__(begin, step, dtype)
        self.learning_rate, self.step_each_epoch, self.epochs = _number(learning_rate), step_each_epoch, epochs

    def step(self) -> float:
        epoch = math.floor(self.step_num / self.step_each_epoch)
        return self.learning_rate * 0.5 * (math.cos(epoch * math.pi / self.epochs) + 1)


class NoamDecay(LearningRateDecay):
    """The rate of the first transformer: it rises, and falls with the root of the steps."""

    def __init__(
        self, d_model: int, warmup_steps: int, begin: int = 1, step: int = 1, dtype: str = "float32",
        learning_rate: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(begin, step, dtype)
        self.learning_rate, self.d_model, self.warmup_steps = _number(learning_rate), d_model, warmup_steps

    def step(self) -> float:
        rising = self.warmup_steps**-1.5 * self.step_num
        return self.learning_rate * self.d_model**-0.5 * min(self.step_num**-0.5, rising)


class LinearLrWarmup(LearningRateDecay):
    """From one rate to another in the first steps, then a given one."""

    def __init__(
        self, learning_rate: Any, warmup_steps: int, start_lr: float, end_lr: float, begin: int = 1, step: int = 1,
        dtype: str = "float32",
    ) -> None:  # fmt: skip
        super().__init__(begin, step, dtype)
        if start_lr > end_lr:
            raise fault(ValueError, f"the rate would fall from {start_lr} to {end_lr}", "give `start_lr < end_lr`")
        self.learning_rate, self.warmup_steps, self.start_lr, self.end_lr = learning_rate, warmup_steps, start_lr, end_lr

    def step(self) -> float:
        after = self.learning_rate
        base = after._next() if isinstance(after, LearningRateDecay) else _number(after)
        if self.step_num < self.warmup_steps:
            return (self.end_lr - self.start_lr) / self.warmup_steps * self.step_num + self.start_lr
        return base


class ReduceLROnPlateau(LearningRateDecay):
    """A rate that falls when a loss falls no more; call `step(loss)`."""

    keys = ["cooldown_counter", "best_loss", "num_bad_epochs", "epoch_num", "learning_rate"]

    def __init__(
        self, learning_rate: float, mode: str = "min", decay_rate: float = 0.1, patience: int = 10,
        verbose: bool = False, threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
        min_lr: float = 0, eps: float = 1e-8, dtype: str = "float32",
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype)
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise fault(ValueError, f"mode {mode!r} with {threshold_mode!r}", 'use "min" or "max", "rel" or "abs"')
        if decay_rate >= 1.0:
            raise fault(ValueError, f"the rate would grow by {decay_rate}", "give a factor below 1")
        self.learning_rate, self.mode, self.decay_rate, self.patience = _number(learning_rate), mode, decay_rate, patience
        self.verbose, self.threshold, self.threshold_mode, self.cooldown = verbose, threshold, threshold_mode, cooldown
        self.min_lr, self.eps = min_lr, eps
        self.cooldown_counter, self.num_bad_epochs, self.epoch_num = 0, 0, 0
        self.best_loss: float | None = None

    def _next(self) -> float:
        return self.learning_rate

    def step(self, loss: Any = None) -> float:
        """Notes a loss, and lowers the rate if need be.

        Args:
            loss: A variable of one element.
        """
        if loss is None:
            return self.learning_rate
        value = _number(loss)
        self.epoch_num += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
        else:
            if self.best_loss is None or self._is_better(value, self.best_loss):
                self.best_loss, self.num_bad_epochs = value, 0
            else:
                self.num_bad_epochs += 1
            if self.num_bad_epochs > self.patience:
                self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
                lower = max(self.learning_rate * self.decay_rate, self.min_lr)
                if self.learning_rate - lower > self.eps:
                    if self.verbose:
                        print(f"Epoch {self.epoch_num}: reducing learning rate from {self.learning_rate} to {lower}.")
                    self.learning_rate = lower
        return self.learning_rate

    def _is_better(self, value: float, best: float) -> bool:
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return value < best - margin if self.mode == "min" else value > best + margin


class _ByEpoch(LearningRateDecay):
    keys = ["epoch_num", "learning_rate"]

    def __init__(self, learning_rate: float) -> None:
        super().__init__()
        if not isinstance(learning_rate, (int, float)):
            raise fault(TypeError, f"the first rate is a number, not {learning_rate!r}", "give a float")
        if learning_rate < 0:
            raise fault(ValueError, f"a rate of {learning_rate}", "give a positive number")
        self.base_lr = self.learning_rate = float(learning_rate)
        self.epoch_num = -1
        self.epoch()

    def _next(self) -> float:
        return self.learning_rate

    def epoch(self, epoch: int | None = None) -> None:
        """Goes on to the next epoch.

        Args:
            epoch: Its number, if it is not the next one.
        """
        self.epoch_num = self.epoch_num + 1 if epoch is None else epoch
        self.learning_rate = self.get_lr()

    def step(self) -> float:
        return self.learning_rate

    def get_lr(self) -> float:
        """The rate of this epoch."""
        raise missing(self, "get_lr(self)")


class StepDecay(_ByEpoch):
    """`learning_rate * decay_rate ^ (epoch // step_size)`."""

    def __init__(self, learning_rate: float, step_size: int, decay_rate: float = 0.1) -> None:
        if not isinstance(step_size, int):
            raise fault(TypeError, f"`step_size` is a number of epochs, not {step_size!r}", "give an integer")
        if decay_rate >= 1.0:
            raise fault(ValueError, f"the rate would grow by {decay_rate}", "give a factor below 1")
        self._every, self.decay_rate = step_size, decay_rate
        super().__init__(learning_rate)

    def get_lr(self) -> float:
        return self.base_lr * self.decay_rate ** (self.epoch_num // self._every)


class MultiStepDecay(_ByEpoch):
    """`learning_rate * decay_rate ^ (how many milestones are behind)`."""

    def __init__(self, learning_rate: float, milestones: Sequence[int], decay_rate: float = 0.1) -> None:
        milestones = listed(milestones, "milestones")
        if milestones != sorted(set(milestones)):
            raise fault(ValueError, f"{milestones} do not rise", "give milestones in order")
        if decay_rate >= 1.0:
            raise fault(ValueError, f"the rate would grow by {decay_rate}", "give a factor below 1")
        self.milestones, self.decay_rate = milestones, decay_rate
        super().__init__(learning_rate)

    def get_lr(self) -> float:
        return self.base_lr * self.decay_rate ** sum(self.epoch_num >= place for place in self.milestones)


class LambdaDecay(_ByEpoch):
    """`learning_rate * lr_lambda(epoch)`."""

    def __init__(self, learning_rate: float, lr_lambda: Callable[[int], float]) -> None:
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate)

    def get_lr(self) -> float:
        return self.base_lr * self.lr_lambda(self.epoch_num)
