"""The step that runs: which parameters it has read, and how many functional layers it has had."""

from __future__ import annotations

import itertools
import threading
import weakref

from .. import _core, _retrace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._parameter import Parameter


class _Step(threading.local):
    def __init__(self) -> None:
        # A model that is gone must not keep its name by having been used.
        self.used: weakref.WeakValueDictionary[str, Parameter] = weakref.WeakValueDictionary()
        self.counts: dict[str, int] = {}
        self.building = False
        self.number = next(_numbers)


_numbers = itertools.count(1)
_step = _Step()


def begin() -> None:
    """Begins a step: nothing was read, and functional layers are counted from zero."""
    _step.used.clear()
    _step.counts.clear()
    _step.building = _core.is_building()
    _step.number = next(_numbers)


def _enter() -> _Step:
    """The step; a change of mode begins one."""
    if _step.building != _core.is_building():
        begin()
    return _step


def note_use(parameter: Parameter) -> None:
    """Notes that a parameter was read."""
    step = _enter()
    if parameter.noted_in != step.number:
        parameter.noted_in = step.number
        step.used[parameter.name] = parameter


def used_in_step() -> list[Parameter]:
    """The parameters that the step has read."""
    return list(_enter().used.values())


def count(kind: str) -> int:
    """How many of a kind the step has had before."""
    counts = _enter().counts
    counts[kind] = counts.get(kind, -1) + 1
    return counts[kind]


def _take() -> tuple[dict[str, int], bool]:
    return dict(_step.counts), _step.building


def _put_back(taken: tuple[dict[str, int], bool]) -> None:
    counts, _step.building = taken
    _step.counts = dict(counts)


_retrace.SNAPSHOTS.append((_take, _put_back))
_retrace.BEGINNINGS.append(begin)
