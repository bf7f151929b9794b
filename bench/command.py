"""A workload's program run by the command line: without Python.

The program and a batch are written once for each task. A measurement is two processes: `fluvial
bench`, for the time of a step and for memory, and `fluvial run`, which makes one step, for the time
from the start of a process to its first step.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import processes
from processes import HERE, Fault

BUILT = [HERE.parent / "target" / profile / "fluvial" for profile in ("release", "demo")]


def command_line(given: str | None) -> list[str]:
    """The command `fluvial`: as given, or as it was built, or else that of the Python package."""
    if given:
        return shlex.split(given)
    built = next((path for path in BUILT if path.exists()), None)
    return [str(built)] if built else [sys.executable, "-m", "fluvial"]


def busy_seconds() -> float:
    """What all processors have worked since the machine was started."""
    import harness  # of bench/peers, which models.py has put on the path

    return harness.Others._busy()


def measure(
    job: Mapping[str, Any], given: str | None, folder: Path, limit: float
) -> dict[str, Any]:
    """A row of one task, like those of the peers."""
    fluvial, threads = command_line(given), ["--threads", str(job["threads"])]
    task = [job["workload"], job["phase"], str(job["batch"])]
    files = folder / f"program-{'-'.join(task)}"
    if not (files / "feeds.npz").exists():
        processes.run([sys.executable, str(HERE / "export_model.py"), str(files), *task], limit)
    program = [str(files / "program.flb"), "--feed", str(files / "feeds.npz")]
    first = processes.run([*fluvial, "run", *program, "-q", *threads], limit)
    wall, busy = time.perf_counter(), busy_seconds()
    seconds = ["--seconds", str(job["seconds"])]
    done = processes.run([*fluvial, "bench", *program, "--json", *seconds, *threads], limit)
    room = (time.perf_counter() - wall) * (os.cpu_count() or 1)
    others = (busy_seconds() - busy - done.cpu_seconds) / room
    found = timing(done.stdout)
    return {
        "framework": "fluvial",
        **{name: job[name] for name in ("workload", "mode", "phase", "batch", "threads", "fused")},
        "steps": found["runs"],
        "step_ms_min": round(1e3 * found["minimum"], 4),
        "step_ms_median": round(1e3 * found["median"], 4),
        "first_step_s": round(first.seconds, 4),
        "peak_rss_mb": done.peak_mb and round(done.peak_mb, 1),
        "others_cpu": round(min(max(others, 0.0), 1.0), 2),
    }


def timing(text: str) -> dict[str, Any]:
    """The event with the times of `fluvial bench --json`."""
    for line in text.splitlines():
        event = json.loads(line)
        if event.get("event") == "bench":
            return event
    raise Fault(f"`fluvial bench` gave no times: {text[-200:]!r}")
