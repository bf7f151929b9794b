"""One measurement of one model, in a process of its own: the child of models.py and curves.py.

    python bench/measure_model.py PEER JOB CLOCK

PEER is a module of bench/peers; JOB is a JSON object with the fields of `harness.Job`, with
`changes` to the workload, and with `seconds`, the time to measure for; CLOCK is what the parent's
monotonic clock showed when it started this process. The last line of the output is the row.
"""

import sys
import time


def main() -> None:
    peer_name, job_text, clock = sys.argv[1:]
    import dataclasses
    import importlib
    import json
    import pathlib
    from statistics import median

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
    import harness
    import workloads

    fields = json.loads(job_text)
    budget, changes = fields.pop("seconds"), fields.pop("changes")
    job = harness.Job(**fields)
    if changes:
        plain = {k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()}
        spec = dataclasses.replace(workloads.WORKLOADS[job.workload], **plain)
        workloads.WORKLOADS[job.workload] = spec

    spec_class = type(workloads.WORKLOADS[job.workload])
    make_batch, making = spec_class.make_batch, []

    def timed_batch(*args, **kwargs):
        start = time.perf_counter()
        batch = make_batch(*args, **kwargs)
        making.append(time.perf_counter() - start)
        return batch

    spec_class.make_batch = timed_batch

    def measure(call, job: harness.Job) -> harness.Row:
        """Like `harness.measure`, for as many steps as the time allows, but at least `job.steps`."""
        warmup = [harness.seconds(call, 0)]
        since_start = time.monotonic() - float(clock)
        warmup += [harness.seconds(call, i) for i in range(1, harness.WARMUP)]
        fitting = min(int(budget / max(warmup[-1], 1e-6)), 2000)
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
            "first_step_s": round(since_start - sum(making), 4),
            "data_s": round(sum(making), 4),
            "peak_rss_mb": harness.status_mb("VmHWM"),
            "others_cpu": share,
        }

    harness.measure = measure
    row = importlib.import_module(peer_name).run(job)
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
