"""One measurement of one model, in a process of its own: the child of models.py and curves.py.

    python bench/measure_model.py PEER JOB CLOCK

PEER is a module of bench/peers; JOB is a JSON object with the fields of `harness.Job`, with
`changes` to the workload, and with `seconds`, the time to measure for; CLOCK is what the parent's
monotonic clock showed when it started this process. The last line of the output is the row.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
import harness  # noqa: E402
import workloads  # noqa: E402

MOST_STEPS = 2000


def change(workload: str, changes: dict[str, Any]) -> None:
    """Puts another specification in the place of a workload's own."""
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()}
    changed = dataclasses.replace(workloads.WORKLOADS[workload], **plain)
    workloads.WORKLOADS[workload] = changed


class Making:
    """The time that batches take to be made up, which is not work of a framework."""

    def __init__(self, workload: str) -> None:
        self.seconds = 0.0
        kind = type(workloads.WORKLOADS[workload])
        make_batch = kind.make_batch

        def timed(*args: Any, **options: Any) -> workloads.Batch:
            start = time.perf_counter()
            batch = make_batch(*args, **options)
            self.seconds += time.perf_counter() - start
            return batch

        kind.make_batch = timed


def measure(
    call: Callable[[int], object], job: harness.Job, budget: float, started: float, making: Making
) -> harness.Row:
    """Like `harness.measure`, for as many steps as the time allows, but at least `job.steps`."""
    warmup = [harness.seconds(call, 0)]
    since_start = time.monotonic() - started
    warmup += [harness.seconds(call, i) for i in range(1, harness.WARMUP)]
    fitting = min(int(budget / max(warmup[-1], 1e-6)), MOST_STEPS)
    steps = range(harness.WARMUP, harness.WARMUP + max(job.steps, fitting))
    times, share = harness.quietest(
        lambda: [harness.seconds(call, i) for i in steps], job.patience
    )
    return {
        "workload": job.workload,
        "mode": job.mode,
        "phase": job.phase,
        "batch": job.batch,
        "threads": job.threads,
        "fused": job.fused,
        "steps": len(steps),
        "step_ms_min": round(1e3 * min(times), 4),
        "step_ms_median": round(1e3 * median(times), 4),
        "first_call_s": round(warmup[0], 4),
        "first_step_s": round(since_start - making.seconds, 4),
        "data_s": round(making.seconds, 4),
        "peak_rss_mb": harness.status_mb("VmHWM"),
        "others_cpu": share,
    }


def main() -> None:
    peer, text, clock = sys.argv[1:]
    fields = json.loads(text)
    budget, changes = fields.pop("seconds"), fields.pop("changes")
    job = harness.Job(**fields)
    change(job.workload, changes)
    making = Making(job.workload)
    # The peers call it by this name.
    harness.measure = lambda call, job: measure(call, job, budget, float(clock), making)
    row = importlib.import_module(peer).run(job)
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
