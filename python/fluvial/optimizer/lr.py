"""Rates as functions of the number of updates, computed with ops: in a program they are part of it.

Example:
    >>> schedule = fl.optimizer.lr.warm_up(10, 0.1, fl.optimizer.lr.cosine(100, 0.0))
    >>> optimizer = fl.optimizer.Adam(["w"], 1e-3, schedule=schedule)
    >>> schedule.at(1.0, 0), schedule.at(1.0, 10)
    (0.1, 1.0)
"""

from __future__ import annotations

from .. import _core
from .._core import Plateau, Schedule
from .._sequence import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._core import Tensor

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
    "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
    "Plateau", "PolynomialLR", "ReduceLROnPlateau", "Schedule", "SequentialLR", "StepLR",
    "chained", "constant", "cosine", "cosine_restarts", "cyclic", "delayed",
    "exponential", "lambda_", "linear", "multi_step", "noam", "one_cycle", "piecewise",
    "polynomial", "sequential", "step", "warm_up",
]


def _made(
    kind: str, counts: Sequence[int], *numbers: float, parts: Sequence[Schedule] = ()
) -> Schedule:
    given: list[Any] = listed(counts, "numbers of updates")
    whole: list[Any] = [int(n) if isinstance(n, float) and n.is_integer() else n for n in given]
    return _core.schedule(kind, whole, list(numbers), listed(parts, "schedules"))


def lambda_(function: Callable[[Tensor], Tensor]) -> Schedule:
    """The first rate times a function of the number of updates."""
    return _core.schedule_by(function)


def constant() -> Schedule:
    """The first rate."""
    return _made("constant", [])


def delayed(factor: float, steps: int) -> Schedule:
    """A part of the rate for so many updates."""
    return _made("delayed", [steps], factor)


def step(size: int, gamma: float = 0.1) -> Schedule:
    """The rate times `gamma` after every `size` updates.

    Example:
        >>> fl.optimizer.lr.step(10, 0.5).at(1.0, 25)
        0.25
    """
    return _made("step", [size], gamma)


def multi_step(milestones: Sequence[int], gamma: float = 0.1) -> Schedule:
    """The rate times `gamma` after each of these numbers of updates."""
    return _made("multi_step", milestones, gamma)


def exponential(gamma: float) -> Schedule:
    """The rate times `gamma` after each update."""
    return _made("exponential", [], gamma)


def linear(start: float, end: float, steps: int) -> Schedule:
    """From one factor to another in so many updates."""
    return _made("linear", [steps], start, end)


def polynomial(steps: int, power: float = 1.0) -> Schedule:
    """To zero in so many updates."""
    return _made("polynomial", [steps], power)


def cosine(steps: int, lowest: float = 0.0) -> Schedule:
    """To the lowest rate in so many updates, by half a wave."""
    return _made("cosine", [steps], lowest)


def cosine_restarts(steps: int, factor: int = 1, lowest: float = 0.0) -> Schedule:
    """Half waves, each `factor` times as long as the one before it."""
    return _made("cosine_restarts", [steps, factor], lowest)


def one_cycle(
    steps: int,
    rising: float = 0.3,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
    linear: bool = False,
    three_phases: bool = False,
) -> Schedule:
    """Up to the rate, and down to almost nothing.

    Args:
        steps: The number of updates.
        rising: The share of them in which the rate rises.
        div_factor: The rate divided by the first one.
        final_div_factor: The first rate divided by the last one.
        linear: Whether it changes by lines, not by waves.
        three_phases: Whether it falls to the first rate as fast as it rose, and then further.
    """
    counts = [steps, int(linear), int(three_phases)]
    return _made("one_cycle", counts, rising, div_factor, final_div_factor)


def cyclic(
    lowest: float,
    highest: float,
    up: int,
    down: int | None = None,
    halves: bool = False,
    gamma: float = 1.0,
) -> Schedule:
    """Up and down between two rates, again and again, whatever the first rate is.

    Args:
        lowest: The lower one.
        highest: The higher one.
        up: The number of updates in which it rises.
        down: The number of updates in which it falls; as many if nothing is said.
        halves: Whether each cycle is half as high as the one before it.
        gamma: What the height is multiplied with in each update.

    Example:
        >>> fl.optimizer.lr.cyclic(0.0, 0.5, 4).at(1.0, 2)
        0.25
    """
    counts = [up, up if down is None else down, int(halves)]
    return _made("cyclic", counts, lowest, highest, gamma)


def noam(dim: int, warm_up: int) -> Schedule:
    """The rate of the first transformer of this width: rising, then falling as a root."""
    return _made("noam", [dim, warm_up])


def warm_up(steps: int, start: float, after: Schedule) -> Schedule:
    """From a part of the rate to all of it, then another schedule."""
    return _made("warm_up", [steps], start, parts=[after])


def piecewise(boundaries: Sequence[int], rates: Sequence[float]) -> Schedule:
    """Given rates, each up to a number of updates.

    Example:
        >>> fl.optimizer.lr.piecewise([10, 20], [1.0, 0.5, 0.1]).at(1.0, 15)
        0.5
    """
    return _made("piecewise", boundaries, *listed(rates, "rates"))


def sequential(schedules: Sequence[Schedule], milestones: Sequence[int]) -> Schedule:
    """One schedule after the other, each with a count of its own."""
    return _made("sequential", milestones, parts=schedules)


def chained(schedules: Sequence[Schedule]) -> Schedule:
    """Each schedule changes the rate that the one before it gave."""
    return _made("chained", [], parts=schedules)


from ._schedulers import (  # noqa: E402
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)
