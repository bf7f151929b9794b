"""The length of a step along a line, by the strong conditions of Wolfe."""

from __future__ import annotations

import math

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import Tensor

#: How much of the slope the loss has to fall by, and how much of it may be left.
_FALLS, _LEFT = 1e-4, 0.9
_MOST = 25


class _Point:
    """A place on the line: its length, loss, gradient and slope."""

    def __init__(self, at: float, loss: float, gradient: Tensor, slope: float) -> None:
        self.at, self.loss, self.gradient, self.slope = at, loss, gradient, slope


def _lowest(a: _Point, b: _Point, least: float | None = None, most: float | None = None) -> float:
    """Where the cubic through two points with these slopes is lowest, between bounds."""
    if least is None or most is None:
        least, most = min(a.at, b.at), max(a.at, b.at)
    d1 = a.slope + b.slope - 3.0 * (a.loss - b.loss) / (a.at - b.at)
    square = d1 * d1 - a.slope * b.slope
    if square < 0.0:
        return (least + most) / 2.0
    d2 = math.sqrt(square)
    low, high = (a, b) if a.at <= b.at else (b, a)
    found = high.at - (high.at - low.at) * ((high.slope + d2 - d1) / (high.slope - low.slope + 2.0 * d2))
    return min(max(found, least), most)


def strong_wolfe(
    evaluate: Callable[[float], tuple[float, Tensor]],
    direction: Tensor,
    length: float,
    loss: float,
    gradient: Tensor,
    slope: float,
    tolerance: float,
) -> tuple[float, Tensor, float, int]:
    """Loss, gradient and length of the step that was found, and how often the function was called."""
    largest = float(_core.max(_core.abs(direction)))
    start = _Point(0.0, loss, gradient, slope)
    calls = 0

    def point(at: float) -> _Point:
        nonlocal calls
        calls += 1
        loss, gradient = evaluate(at)
        return _Point(at, loss, gradient, float(_core.sum(gradient * direction)))

    def too_high(p: _Point) -> bool:
        return p.loss > loss + _FALLS * p.at * slope

    # First an interval that has a good point in it.
    before, now = start, point(length)
    done, n = False, 0
    while n < _MOST:
        if too_high(now) or (n > 1 and now.loss >= before.loss):
            bracket = [before, now]
            break
        if abs(now.slope) <= -_LEFT * slope:
            bracket, done = [now], True
            break
        if now.slope >= 0.0:
            bracket = [before, now]
            break
        least, most = now.at + 0.01 * (now.at - before.at), now.at * 10.0
        before, now = now, point(_lowest(before, now, least, most))
        n += 1
    else:
        bracket = [start, now]
    # Then the point.
    is_slow = False
    low, high = (0, -1) if bracket[0].loss <= bracket[-1].loss else (-1, 0)
    while not done and n < _MOST:
        width = abs(bracket[1].at - bracket[0].at)
        if width * largest < tolerance:
            break
        at = _lowest(bracket[0], bracket[1])
        least, most = sorted((bracket[0].at, bracket[1].at))
        margin = 0.1 * width
        if min(most - at, at - least) < margin:
            # Near an edge: the second time, or at it, it is moved inside.
            if is_slow or at >= most or at <= least:
                at = most - margin if abs(at - most) < abs(at - least) else least + margin
                is_slow = False
            else:
                is_slow = True
        else:
            is_slow = False
        found = point(at)
        n += 1
        if too_high(found) or found.loss >= bracket[low].loss:
            bracket[high] = found
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        if abs(found.slope) <= -_LEFT * slope:
            done = True
        elif found.slope * (bracket[high].at - bracket[low].at) >= 0.0:
            bracket[high] = bracket[low]
        bracket[low] = found
    best = bracket[low] if len(bracket) > 1 else bracket[0]
    return best.loss, best.gradient, best.at, calls
