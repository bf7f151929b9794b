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
from .._fault import fault
from . import lr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._core import Schedule
    from ._optimizer import Optimizer

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
    "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
    "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]


class LRScheduler:
    """Sets the rates of an optimizer by a schedule. If another scheduler, or the user, has changed a rate since its last
    step, it changes that one by as much.

    Args:
        optimizer: The optimizer.
        schedule: The rate as a function of the first one and of the number of steps.
        first: The first rate; those with which the optimizer was made if nothing is said.
        last_epoch: The number of steps that were made before, less one.
    """

    #: Whether it sets rates without regard to what others have set.
    _is_absolute = False

    def __init__(
        self,
        optimizer: Optimizer,
        schedule: Schedule,
        first: float | Sequence[float] | None = None,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer, self.schedule, self.last_epoch = optimizer, schedule, last_epoch + 1
        # Another scheduler may have changed the rates already.
        initial = optimizer.__dict__.setdefault("_initial_rates", {})
        for number, group in enumerate(optimizer.param_groups):
            initial.setdefault(number, group["lr"])
        groups = len(optimizer.param_groups)
        if first is None:
            self.base_lrs = [initial[number] for number in range(groups)]
        else:
            self.base_lrs = _for_each(first, groups, "rates")
        self._set(self.base_lrs if last_epoch == -1 else None)

    def step(self, epoch: int | None = None) -> None:
        """One step further.

        Args:
            epoch: The number of steps made, if it is not one more than before.
        """
        before = self._rates()
        self.last_epoch = self.last_epoch + 1 if epoch is None else int(epoch)
        self._set(before)

    def _set(self, before: list[float] | None = None) -> None:
        """Sets the rates of this step; `before` are those that it would have set at the last one."""
        for number, rate in enumerate(self._rates()):
            if before is not None and not self._is_absolute and before[number]:
                now, was = self.optimizer.param_groups[number]["lr"], before[number]
                if abs(now - was) > 1e-12 * abs(was):
                    rate = now * (rate / was)
            self.optimizer.set_learning_rate(rate, number)

    def _rate(self, number: int, first: float, step: int) -> float:
        """The rate of a group after so many steps."""
        return self.schedule.at(first, step)

    def _rates(self) -> list[float]:
        return [self._rate(i, first, self.last_epoch) for i, first in enumerate(self.base_lrs)]

    def get_last_lr(self) -> list[float]:
        """The rates of this step, one for each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    get_lr = get_last_lr

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


def _for_each(value: Any, groups: int, what: str) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise fault(ValueError, f"{len(values)} {what} for {groups} groups", "give one, or one for each group")
    return values


class StepLR(LRScheduler):
    """The rate times `gamma` after every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        super().__init__(optimizer, lr.step(step_size, gamma), last_epoch=last_epoch)


class MultiStepLR(LRScheduler):
    """The rate times `gamma` after each of these numbers of steps."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        super().__init__(optimizer, lr.multi_step(milestones, gamma), last_epoch=last_epoch)


class ExponentialLR(LRScheduler):
    """The rate times `gamma` after each step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        super().__init__(optimizer, lr.exponential(gamma), last_epoch=last_epoch)


class ConstantLR(LRScheduler):
    """A part of the rate for `total_iters` steps."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        super().__init__(optimizer, lr.delayed(factor, total_iters), last_epoch=last_epoch)


class LinearLR(LRScheduler):
    """From one factor to another in `total_iters` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, lr.linear(start_factor, end_factor, total_iters), last_epoch=last_epoch)


class PolynomialLR(LRScheduler):
    """To zero in `total_iters` steps."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        super().__init__(optimizer, lr.polynomial(total_iters, power), last_epoch=last_epoch)


class CosineAnnealingLR(LRScheduler):
    """To the lowest rate in `T_max` steps, by half a wave."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        super().__init__(optimizer, lr.cosine(T_max, eta_min), last_epoch=last_epoch)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half waves, each `T_mult` times as long as the one before it."""

    _is_absolute = True

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        super().__init__(optimizer, lr.cosine_restarts(T_0, T_mult, eta_min), last_epoch=last_epoch)


class LambdaLR(LRScheduler):
    """The first rate times a function of the number of steps, which gets a number; or one for each group."""

    _is_absolute = True

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self._lambdas = _for_each(lr_lambda, len(optimizer.param_groups), "functions")
        super().__init__(optimizer, lr.constant(), last_epoch=last_epoch)

    def _rate(self, number: int, first: float, step: int) -> float:
        return first * float(self._lambdas[number](step))


class MultiplicativeLR(LambdaLR):
    """The rate of the step before times a function of the number of steps; or one for each group."""

    _is_absolute = False

    def _rate(self, number: int, first: float, step: int) -> float:
        for before in range(1, step + 1):
            first *= float(self._lambdas[number](before))
        return first


class _WithMomentum(LRScheduler):
    """A scheduler that moves the momentum of an optimizer against its rate: `momentum`, or the first of `betas`."""

    _is_absolute = True
    _momenta: list[tuple[float, float]] | None = None

    def _cycle(self, optimizer: Optimizer, base: Any, most: Any) -> None:
        known = optimizer.param_groups[0]
        self._option = "beta1" if "betas" in known else "momentum"
        if self._option == "momentum" and "momentum" not in known:
            raise fault(
                ValueError,
                f"`{type(self).__name__}` moves the momentum, and `{type(optimizer).__name__}` was made without one",
                "give the optimizer a momentum, or say `cycle_momentum=False`",
            )
        groups = len(optimizer.param_groups)
        pairs = zip(_for_each(base, groups, "momenta"), _for_each(most, groups, "momenta"))
        self._momenta = list(pairs)

    def _share(self, step: int) -> float:
        """How high the rate is between its bounds, from 0 to 1."""
        raise NotImplementedError

    def _set(self, before: list[float] | None = None) -> None:
        super()._set(before)
        if self._momenta is not None:
            for group, (base, most) in zip(self.optimizer.param_groups, self._momenta):
                group[self._option] = most - (most - base) * self._share(self.last_epoch)


class OneCycleLR(_WithMomentum):
    """Up to `max_lr`, and down to almost nothing, in `total_steps` steps, or in `epochs` of `steps_per_epoch`; the
    momentum goes the other way."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise fault(ValueError, "how many steps there are is not said", "give `total_steps`")
            total_steps = epochs * steps_per_epoch
        if anneal_strategy not in ("cos", "linear"):
            raise fault(ValueError, f"there is no strategy {anneal_strategy!r}", 'use "cos" or "linear"')
        is_linear = anneal_strategy == "linear"

        def schedule(div: float, final: float) -> Schedule:
            return lr.one_cycle(total_steps, pct_start, div, final, is_linear, three_phase)

        # From 0 to 1 and back is how the momentum goes; it does not follow the rate below its initial value.
        self._shares = schedule(1e9, 1.0)
        if cycle_momentum:
            self._cycle(optimizer, base_momentum, max_momentum)
        super().__init__(optimizer, schedule(div_factor, final_div_factor), max_lr, last_epoch)

    def _share(self, step: int) -> float:
        return self._shares.at(1.0, step)


class CyclicLR(_WithMomentum):
    """Up to `max_lr` and down to `base_lr`, again and again; the momentum goes the other way."""

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if mode not in ("triangular", "triangular2", "exp_range"):
            raise fault(ValueError, f"there is no mode {mode!r}", 'use "triangular", "triangular2" or "exp_range"')
        groups = len(optimizer.param_groups)
        self._highest = _for_each(max_lr, groups, "rates")
        self._scale, self._by_cycle = scale_fn, scale_mode == "cycle"
        down = step_size_up if step_size_down is None else step_size_down
        self._length = step_size_up + down
        halves, grows = (mode == "triangular2", gamma if mode == "exp_range" else 1.0)
        if scale_fn is not None:
            halves, grows = False, 1.0
        self._shares = lr.cyclic(0.0, 1.0, step_size_up, down, halves, grows)
        if cycle_momentum:
            self._cycle(optimizer, base_momentum, max_momentum)
        super().__init__(optimizer, self._shares, base_lr, last_epoch)

    def _share(self, step: int) -> float:
        share = self._shares.at(1.0, step)
        if self._scale is not None:
            share *= float(self._scale(step // self._length + 1 if self._by_cycle else step))
        return share

    def _rate(self, number: int, first: float, step: int) -> float:
        return first + (self._highest[number] - first) * self._share(step)


class SequentialLR(LRScheduler):
    """One scheduler after the other, each with a count of its own.

    Args:
        optimizer: The optimizer.
        schedulers: Schedulers of this optimizer.
        milestones: The numbers of steps after which the next one begins.

    Example:
        >>> optimizer = fl.optimizer.SGD(["w"], 1.0)
        >>> rising = fl.optimizer.lr.LinearLR(optimizer, 0.5, total_iters=2)
        >>> falling = fl.optimizer.lr.ExponentialLR(optimizer, 0.5)
        >>> scheduler = fl.optimizer.lr.SequentialLR(optimizer, [rising, falling], [2])
        >>> for _ in range(3):
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    _is_absolute = True

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        _of(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise fault(
                ValueError,
                f"{len(milestones)} milestones between {len(schedulers)} schedulers",
                "give one less than schedulers",
            )
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer, lr.constant(), last_epoch=last_epoch)

    def _rate(self, number: int, first: float, step: int) -> float:
        at = sum(step >= milestone for milestone in self.milestones)
        scheduler = self.schedulers[at]
        begun = self.milestones[at - 1] if at else 0
        scheduler.last_epoch = step - begun
        return scheduler._rate(number, scheduler.base_lrs[number], step - begun)


class ChainedScheduler(LRScheduler):
    """Schedulers together: each changes the rate that the one before it gave.

    Args:
        schedulers: Schedulers of one optimizer.
        optimizer: The optimizer, if there are no schedulers to ask.
    """

    _is_absolute = True

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self.schedulers = list(schedulers)
        optimizer = optimizer or self.schedulers[0].optimizer
        _of(optimizer, self.schedulers)
        super().__init__(optimizer, lr.constant())

    def _rate(self, number: int, first: float, step: int) -> float:
        for scheduler in self.schedulers:
            scheduler.last_epoch = step
            first = scheduler._rate(number, first, step)
        return first


def _of(optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
    for scheduler in schedulers:
        if scheduler.optimizer is not optimizer:
            raise fault(ValueError, "the schedulers are of several optimizers", "give each optimizer its own")
        if isinstance(scheduler, (ReduceLROnPlateau, _WithMomentum)):
            what = f"`{type(scheduler).__name__}` does more than to choose a rate by the number of steps"
            raise fault(TypeError, what, "step it by itself")


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
        eps: float = 1e-8,
    ) -> None:
        for name, value, known in (("mode", mode, ("min", "max")), ("threshold_mode", threshold_mode, ("rel", "abs"))):
            if value not in known:
                raise fault(ValueError, f"there is no {name} {value!r}", f"use {known[0]!r} or {known[1]!r}")
        self.eps = eps
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

    def _set(self, before: list[float] | None = None) -> None:
        for number, rate in enumerate(self._rates()):
            # A change that is next to nothing is not made.
            if abs(self.optimizer.param_groups[number]["lr"] - rate) > self.eps:
                self.optimizer.set_learning_rate(rate, number)

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Shows it a measure.

        Args:
            metrics: A number, or a scalar.
            epoch: The number of steps made, if it is not one more than before.
        """
        value = metrics if isinstance(metrics, _core.Tensor) else _core.tensor(float(metrics), "float64")
        self._plateau.observe(value)
        super().step(epoch)

    def state_dict(self) -> dict[str, Any]:
        """What it remembers."""
        return {**super().state_dict(), "plateau": self._plateau.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where another one was.

        Args:
            state_dict: What it remembered.
        """
        self._plateau.load_state_dict(state_dict["plateau"])
        super().load_state_dict(state_dict)
