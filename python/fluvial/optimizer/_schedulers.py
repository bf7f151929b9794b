"""Schedules as objects that are stepped, as PyTorch has them.

They set the rate of an optimizer at each `step()`; programs that were built see it.

Example:
    >>> optimizer = fl.optimizer.SGD(["w"], 1.0)
    >>> scheduler = fl.optimizer.lr.StepLR(optimizer, 2, 0.5)
    >>> for _ in range(5):
    ...     scheduler.step()
    >>> scheduler.get_last_lr(), optimizer.param_groups[0]["lr"]
    ([0.25], 0.25)
"""

from __future__ import annotations

from .. import _core
from . import lr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._core import Schedule
    from ._optimizer import Optimizer

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau",
    "StepLR",
]


class LRScheduler:
    """Sets the rates of an optimizer by a schedule.

    Args:
        optimizer: The optimizer.
        schedule: The rate as a function of the first one and of the number of steps.
        first: The first rate; those that the optimizer has if nothing is said.
    """

    def __init__(self, optimizer: Optimizer, schedule: Schedule, first: float | None = None) -> None:
        self.optimizer, self.schedule, self.last_epoch = optimizer, schedule, 0
        self.base_lrs = [
            group["lr"] if first is None else float(first) for group in optimizer.param_groups
        ]
        self._set()

    def step(self) -> None:
        """One step further."""
        self.last_epoch += 1
        self._set()

    def _set(self) -> None:
        for number, rate in enumerate(self.get_last_lr()):
            self.optimizer.set_learning_rate(rate, number)

    def get_last_lr(self) -> list[float]:
        """The rates of this step, one for each group."""
        return [self.schedule.at(first, self.last_epoch) for first in self.base_lrs]

    def state_dict(self) -> dict[str, Any]:
        """What it remembers."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where another one was.

        Args:
            state_dict: What it remembered.
        """
        self.last_epoch = int(state_dict["last_epoch"])
        self.base_lrs = list(state_dict["base_lrs"])
        self._set()


class StepLR(LRScheduler):
    """The rate times `gamma` after every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer, lr.step(step_size, gamma))


class MultiStepLR(LRScheduler):
    """The rate times `gamma` after each of these numbers of steps."""

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1) -> None:
        super().__init__(optimizer, lr.multi_step(milestones, gamma))


class ExponentialLR(LRScheduler):
    """The rate times `gamma` after each step."""

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        super().__init__(optimizer, lr.exponential(gamma))


class ConstantLR(LRScheduler):
    """A part of the rate for `total_iters` steps."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5) -> None:
        super().__init__(optimizer, lr.delayed(factor, total_iters))


class LinearLR(LRScheduler):
    """From one factor to another in `total_iters` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
    ) -> None:
        super().__init__(optimizer, lr.linear(start_factor, end_factor, total_iters))


class PolynomialLR(LRScheduler):
    """To zero in `total_iters` steps."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0) -> None:
        super().__init__(optimizer, lr.polynomial(total_iters, power))


class CosineAnnealingLR(LRScheduler):
    """To the lowest rate in `T_max` steps, by half a wave."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        super().__init__(optimizer, lr.cosine(T_max, eta_min))


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half waves, each `T_mult` times as long as the one before it."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0
    ) -> None:
        super().__init__(optimizer, lr.cosine_restarts(T_0, T_mult, eta_min))


class OneCycleLR(LRScheduler):
    """Up to `max_lr`, and down to almost nothing, in `total_steps` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float,
        total_steps: int,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
    ) -> None:
        is_linear = anneal_strategy == "linear"
        schedule = lr.one_cycle(
            total_steps, pct_start, div_factor, final_div_factor, is_linear, three_phase
        )
        super().__init__(optimizer, schedule, max_lr)


class LambdaLR(LRScheduler):
    """The first rate times a function of the number of steps, which gets a number."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float]) -> None:
        self._lambda = lr_lambda
        super().__init__(optimizer, lr.constant())

    def get_last_lr(self) -> list[float]:
        factor = float(self._lambda(self.last_epoch))
        return [first * factor for first in self.base_lrs]


class ReduceLROnPlateau(LRScheduler):
    """A rate that falls when a measure that is given to `step` no longer improves."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
    ) -> None:
        self._plateau = lr.Plateau(
            factor=factor,
            patience=patience,
            threshold=threshold,
            absolute=threshold_mode == "abs",
            cooldown=cooldown,
            lowest=min_lr,
            maximize=mode == "max",
        )
        super().__init__(optimizer, self._plateau)

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Shows it a measure.

        Args:
            metrics: A number, or a scalar.
        """
        value = metrics if isinstance(metrics, _core.Tensor) else _core.tensor(float(metrics), "float64")
        self._plateau.observe(value)
        super().step()
