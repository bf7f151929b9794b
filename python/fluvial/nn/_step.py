"""The step that runs: how many functional layers it has had."""

from __future__ import annotations

import threading

from .. import _core, _retrace


class _Step(threading.local):
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.building = False


_step = _Step()


def begin() -> None:
    """Begins a step: no parameter was read, and functional layers are counted from zero."""
    _core.begin_step()
    _step.counts.clear()
    _step.building = _core.is_building()


def _enter() -> _Step:
    """The step; a change of mode begins one."""
    if _step.building != _core.is_building():
        begin()
    return _step


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
