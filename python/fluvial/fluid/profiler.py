"""Where the time goes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .. import _core
from .._fault import fault

__all__ = ["cuda_profiler", "reset_profiler", "profiler", "start_profiler", "stop_profiler"]


class _Current:
    profile: Any = None


_KEYS = (None, "calls", "total", "max", "min", "ave", "default")


def cuda_profiler(*_: Any, **__: Any) -> None:
    """Refused: there are no GPUs."""
    raise fault(RuntimeError, "there is no GPU to look at", "use `fluid.profiler.profiler('CPU')`")


def start_profiler(state: str, tracer_option: str = "Default") -> None:
    """Begins to note times.

    Args:
        state: "CPU" or "All"; "GPU" is refused.
        tracer_option: For Fluid's programs.
    """
    if state not in ("CPU", "All"):
        raise fault(ValueError, f"there is no {state!r} to look at", 'use "CPU"')
    if _Current.profile is None:
        _Current.profile = _core.profile()
        _Current.profile.__enter__()


def stop_profiler(sorted_key: str | None = None, profile_path: str = "/tmp/profile") -> None:
    """Ends it, and prints a table of ops.

    Args:
        sorted_key: "calls", "total", "ave" and others.
        profile_path: The file that gets the trace, which browsers show.
    """
    if sorted_key not in _KEYS:
        raise fault(ValueError, f"a table cannot be sorted by {sorted_key!r}", 'use "total", "calls" or "ave"')
    found, _Current.profile = _Current.profile, None
    if found is None:
        return
    found.__exit__(None, None, None)
    rows = [(op, seconds, count) for op, seconds, count in found.by_op()]
    order = {"calls": lambda row: row[2], "ave": lambda row: row[1] / max(row[2], 1)}.get(
        sorted_key or "", lambda row: row[1]
    )
    print(f"{'Event':30}{'Calls':>10}{'Total (ms)':>14}{'Ave (ms)':>14}")
    for op, seconds, count in sorted(rows, key=order, reverse=True):
        print(f"{op:30}{count:>10}{seconds * 1e3:>14.4f}{seconds * 1e3 / max(count, 1):>14.4f}")
    if profile_path:
        found.write_trace(profile_path)


def reset_profiler() -> None:
    """Forgets what was noted so far."""
    if _Current.profile is not None:
        _Current.profile.__exit__(None, None, None)
        _Current.profile = _core.profile()
        _Current.profile.__enter__()


@contextlib.contextmanager
def profiler(
    state: str, sorted_key: str | None = None, profile_path: str = "/tmp/profile", tracer_option: str = "Default"
) -> Iterator[None]:
    """A scope whose times are noted.

    Args:
        state: "CPU" or "All".
        sorted_key: As for `stop_profiler`.
        profile_path: As for `stop_profiler`.
        tracer_option: For Fluid's programs.
    """
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)
