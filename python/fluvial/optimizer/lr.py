"""Rates as functions of the number of updates, computed with ops: in a program they are part of it.

Example:
    >>> schedule = fl.optimizer.lr.warm_up(10, 0.1, fl.optimizer.lr.cosine(100, 0.0))
    >>> optimizer = fl.optimizer.Adam(["w"], 1e-3, schedule=schedule)
    >>> schedule.at(1.0, 0), schedule.at(1.0, 10)
    (0.1, 1.0)
"""

from __future__ import annotations

import math

from .. import _core
from .._fault import fault
from ._update import number, number_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._core import Tensor

__all__ = [
    "Plateau", "Schedule", "chained", "constant", "cosine", "cosine_restarts", "delayed",
    "exponential", "lambda_", "linear", "multi_step", "noam", "one_cycle", "piecewise",
    "polynomial", "sequential", "step", "warm_up",
]


class Schedule:
    """A rate as a function of the first rate and of the number of updates made.

    Args:
        function: Takes both as scalars of f64, and returns one.
        first: The first rate, for optimizers that get the schedule as their `learning_rate`.
    """

    def __init__(
        self, function: Callable[[Tensor, Tensor], Tensor], first: float = 1.0
    ) -> None:
        self._function, self.first = function, first

    def rate(self, first: Tensor, step: Tensor) -> Tensor:
        """The rate, in both modes.

        Args:
            first: The first rate.
            step: The number of updates made.
        """
        return self._function(first, step)

    def at(self, first: float, step: int) -> float:
        """The rate as a number.

        Args:
            first: The first rate.
            step: The number of updates made.
        """
        with _core.imperative(), _core.no_grad():
            return float(self.rate(number(first), number(float(step))))

    def every(self, n: int) -> Schedule:
        """Counts in epochs of `n` updates.

        Args:
            n: The number of updates in one.
        """
        _positive("the unit of a schedule", n)
        return Schedule(lambda rate, step: self.rate(rate, _core.floor(step / float(n))))


def lambda_(function: Callable[[Tensor], Tensor]) -> Schedule:
    """The first rate times a function of the number of updates."""
    return Schedule(lambda rate, step: rate * function(step))


def constant() -> Schedule:
    """The first rate."""
    return Schedule(lambda rate, step: rate)


def delayed(factor: float, steps: int) -> Schedule:
    """A part of the rate for so many updates."""
    return lambda_(lambda at: _core.where(at < _n(steps), number(factor), number(1.0)))


def step(size: int, gamma: float = 0.1) -> Schedule:
    """The rate times `gamma` after every `size` updates.

    Example:
        >>> fl.optimizer.lr.step(10, 0.5).at(1.0, 25)
        0.25
    """
    return exponential(gamma).every(size)


def multi_step(milestones: Sequence[int], gamma: float = 0.1) -> Schedule:
    """The rate times `gamma` after each of these numbers of updates."""

    def factor(at: Tensor) -> Tensor:
        factor = number(1.0)
        for milestone in milestones:
            factor = _core.where(at >= _n(milestone), factor * gamma, factor)
        return factor

    return lambda_(factor)


def exponential(gamma: float) -> Schedule:
    """The rate times `gamma` after each update."""
    return lambda_(lambda at: _core.pow(number(gamma), at))


def linear(start: float, end: float, steps: int) -> Schedule:
    """From one factor to another in so many updates."""
    return lambda_(lambda at: _part(at, steps) * (end - start) + start)


def polynomial(steps: int, power: float = 1.0) -> Schedule:
    """To zero in so many updates."""
    return lambda_(lambda at: _core.pow(1.0 - _part(at, steps), number(power)))


def cosine(steps: int, lowest: float = 0.0) -> Schedule:
    """To the lowest rate in so many updates, by half a wave."""
    _positive("the length of a schedule", steps)
    return Schedule(lambda rate, at: _half_wave(rate, at / float(steps), lowest))


def cosine_restarts(steps: int, factor: int = 1, lowest: float = 0.0) -> Schedule:
    """Half waves, each `factor` times as long as the one before it."""
    length, growth = float(steps), float(factor)
    _positive("the length of a schedule", length)
    _positive("the growth of a schedule", growth)

    def start(cycle: Tensor) -> Tensor:
        return (_core.pow(number(growth), cycle) - 1.0) * (length / (growth - 1.0))

    def rate(rate: Tensor, at: Tensor) -> Tensor:
        if factor == 1:
            cycle = at / length
            return _half_wave(rate, cycle - _core.floor(cycle), lowest)
        # The logarithm may miss a whole number by a rounding; the starts themselves decide.
        inner = _core.log(at * ((growth - 1.0) / length) + 1.0)
        guess = _core.floor(inner / math.log(growth))
        following = guess + 1.0
        cycle = _core.where(start(following) <= at, following, guess)
        cycle = _core.where(start(cycle) > at, cycle - 1.0, cycle)
        within = at - start(cycle)
        return _half_wave(rate, within / (_core.pow(number(growth), cycle) * length), lowest)

    return Schedule(rate)


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
    _positive("the length of a schedule", steps)
    up, end = rising * float(steps) - 1.0, float(steps) - 1.0

    def between(a: Tensor, b: Tensor, at: Tensor, begin: float, end: float) -> Tensor:
        _positive("the length of a part of the cycle", end - begin)
        part = (at - begin) / (end - begin)
        part = _core.where(part > number(1.0), number(1.0), part)
        if linear:
            return a + (b - a) * part
        return b + (a - b) * 0.5 * (_core.cos(part * math.pi) + 1.0)

    def rate(high: Tensor, at: Tensor) -> Tensor:
        first = high / div_factor
        last = first / final_div_factor
        growing = between(first, high, at, 0.0, up)
        if not three_phases:
            return _core.where(at > number(up), between(high, last, at, up, end), growing)
        down = 2.0 * rising * float(steps) - 2.0
        early = _core.where(at > number(up), between(high, first, at, up, down), growing)
        return _core.where(at > number(down), between(first, last, at, down, end), early)

    return Schedule(rate)


def noam(dim: int, warm_up: int) -> Schedule:
    """The rate of the first transformer of this width: rising, then falling as a root."""
    _positive("the number of steps to warm up", warm_up)

    def factor(at: Tensor) -> Tensor:
        t = at + 1.0
        growing, falling = t * float(warm_up) ** -1.5, _core.pow(t, number(-0.5))
        return _core.where(growing < falling, growing, falling) * float(dim) ** -0.5

    return lambda_(factor)


def warm_up(steps: int, start: float, after: Schedule) -> Schedule:
    """From a part of the rate to all of it, then another schedule."""
    return sequential([linear(start, 1.0, steps), after], [steps])


def piecewise(boundaries: Sequence[int], rates: Sequence[float]) -> Schedule:
    """Given rates, each up to a number of updates.

    Example:
        >>> fl.optimizer.lr.piecewise([10, 20], [1.0, 0.5, 0.1]).at(1.0, 15)
        0.5
    """
    _fit(len(rates), len(boundaries))

    def rate(first: Tensor, at: Tensor) -> Tensor:
        rate = number(rates[0])
        for boundary, following in zip(boundaries, rates[1:]):
            rate = _core.where(at >= _n(boundary), number(following), rate)
        return rate

    return Schedule(rate)


def sequential(schedules: Sequence[Schedule], milestones: Sequence[int]) -> Schedule:
    """One schedule after the other, each with a count of its own."""
    _fit(len(schedules), len(milestones))

    def rate(first: Tensor, at: Tensor) -> Tensor:
        rate = schedules[0].rate(first, at)
        for milestone, schedule in zip(milestones, schedules[1:]):
            # Before its time, a schedule is asked for its beginning.
            own = _core.maximum(at - float(milestone), number(0.0))
            rate = _core.where(at >= _n(milestone), schedule.rate(first, own), rate)
        return rate

    return Schedule(rate)


def chained(schedules: Sequence[Schedule]) -> Schedule:
    """Each schedule changes the rate that the one before it gave."""

    def rate(first: Tensor, at: Tensor) -> Tensor:
        for schedule in schedules:
            first = schedule.rate(first, at)
        return first

    return Schedule(rate)


class Plateau(Schedule):
    """A rate that falls when a measure that is shown to it no longer improves.

    Args:
        name: The name of its states.
        factor: What the rate is multiplied with.
        patience: How many measures without improvement are borne.
        threshold: By how much a measure must be better to count.
        absolute: Whether that is a difference, or a share.
        cooldown: How many measures after a fall do not count.
        lowest: The lowest rate.
        maximize: Whether larger is better.

    Example:
        >>> plateau = fl.optimizer.lr.Plateau(patience=1, factor=0.5)
        >>> for loss in [1.0, 1.0, 1.0]:
        ...     plateau.observe(fl.tensor(loss))
        >>> plateau.at(0.1, 3)
        0.05
    """

    def __init__(
        self,
        name: str = "plateau",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        absolute: bool = False,
        cooldown: int = 0,
        lowest: float = 0.0,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            lambda first, at: _core.maximum(first * self._number("scale", 1.0), number(lowest))
        )
        self.name, self.factor, self.patience = name, factor, patience
        self.threshold, self.absolute = threshold, absolute
        self.cooldown, self.maximize = cooldown, maximize

    def _number(self, what: str, first: float) -> Tensor:
        return number_state(f"{self.name}.{what}", first)

    def _counter(self, what: str) -> Tensor:
        return _core.declare_state(f"{self.name}.{what}", (), "int64", 0, "counter")

    def observe(self, measure: Tensor) -> None:
        """Shows it a measure, in both modes.

        Args:
            measure: A float scalar.
        """
        if measure.ndim != 0 or "float" not in measure.dtype.name:
            raise fault(ValueError, f"a measure of type {measure.type_text}", "give a float scalar")
        with _core.updating():
            measure = _core.cast(measure.detach(), "float64")
            best = self._number("best", -math.inf if self.maximize else math.inf)
            bad, resting = self._counter("bad"), self._counter("cooldown")
            sign = 1.0 if self.maximize else -1.0
            if self.absolute:
                border = best + sign * self.threshold
            else:
                border = best * (1.0 + sign * self.threshold)
            better = measure > border if self.maximize else measure < border
            zero = _core.tensor(0, "int64")
            cooling = resting > zero
            counts = _core.logical_and(_core.logical_not(better), _core.logical_not(cooling))
            bad = _core.where(counts, bad + 1, zero)
            falls = bad > self.patience
            rest = _core.where(cooling, resting - 1, zero)
            scale = self._number("scale", 1.0)
            pause = _core.tensor(self.cooldown, "int64")
            _core.assign_state(f"{self.name}.best", _core.where(better, measure, best))
            _core.assign_state(f"{self.name}.bad", _core.where(falls, zero, bad))
            _core.assign_state(f"{self.name}.cooldown", _core.where(falls, pause, rest))
            scale = _core.where(falls, scale * self.factor, scale)
            _core.assign_state(f"{self.name}.scale", scale)


def _half_wave(rate: Tensor, part: Tensor, lowest: float) -> Tensor:
    height = (_core.cos(part * math.pi) + 1.0) * 0.5
    return (rate - lowest) * height + lowest


def _part(at: Tensor, steps: int) -> Tensor:
    _positive("the length of a schedule", steps)
    return _core.where(at < _n(steps), at, _n(steps)) / float(steps)


def _n(value: int) -> Tensor:
    return number(float(value))


def _positive(what: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise fault(ValueError, f"{what} is {value}, but must be positive")


def _fit(n: int, n_borders: int) -> None:
    if n != n_borders + 1:
        raise fault(
            ValueError,
            f"{n} parts of a schedule do not fit {n_borders} borders between them",
            "give one border less than parts",
        )
