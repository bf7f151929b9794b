"""How the time of a training step grows with the batch and with the depth: mlp and gpt.

    python bench/curves.py [--compile] [--rounds 2]

The batch goes from 1 to 512, the depth (hidden layers of the mlp, blocks of gpt) from 2 to 64 at a
smaller width. Ours, line by line and compiled, beside PyTorch's eager mode, and torch.compile if
`--compile` asks for it, which takes a while. Each point is a process of its own, with the
contestants in turns. A curve ends where a step takes longer than `--longest` seconds. Rows are added
to bench/results/curves.jsonl, and the tables of bench/RESULTS.md and bench/curves.svg made of them.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import processes
import results
import sections
from results import Row
from sections import markdown, number, ratio

SIZES = {"batch": [2**i for i in range(10)], "depth": [2**i for i in range(1, 7)]}
CONTESTANTS = {  # peer and mode
    results.IMPERATIVE: ("fluvial_peer", "imperative"),
    results.COMPILED: ("fluvial_peer", "compiled"),
    results.EAGER: ("torch_peer", "eager"),
    results.COMPILE: ("torch_peer", "compile"),
}
DEEP_BATCH = {"mlp": 64, "gpt": 4}


@dataclass(frozen=True)
class Point:
    """One size of one curve."""

    workload: str
    axis: str
    size: int

    @property
    def batch(self) -> int:
        return self.size if self.axis == "batch" else DEEP_BATCH[self.workload]

    @property
    def changes(self) -> dict[str, Any]:
        """What differs from the workload's specification."""
        if self.axis == "batch":
            return {"batch": self.size}
        if self.workload == "mlp":
            return {"batch": self.batch, "hidden": [128] * self.size}
        return {"batch": self.batch, "layers": self.size, "d_model": 96, "heads": 3, "length": 64}


def measure(point: Point, name: str, seconds: float, limit: float) -> Row:
    peer, mode = CONTESTANTS[name]
    job = {
        "workload": point.workload,
        "mode": mode,
        "phase": "train",
        "batch": point.batch,
        "steps": 3,
        "threads": 2,
        "fused": False,
        "patience": 0,
        "seconds": seconds,
        "changes": point.changes,
    }
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        return processes.measure_model(peer, job, Path(cache), limit)


def run(options: argparse.Namespace) -> None:
    """Measures all points, the small sizes first, and stops a curve that has become too slow."""
    names = [n for n in CONTESTANTS if options.compile or n != results.COMPILE]
    head = {"session": time.strftime("%Y-%m-%dT%H:%M:%S"), "commit": results.commit()}
    curves = [(w, axis) for w in options.workloads for axis in options.axis]
    for number_of_round in range(options.rounds):
        for workload, axis in curves:
            slow: set[str] = set()
            for size in SIZES[axis]:
                if size > options.largest:
                    break
                order = [name for name in names if name not in slow]
                random.Random(number_of_round).shuffle(order)
                for name in order:
                    what = {**head, "contestant": name, "axis": axis, "size": size}
                    point = Point(workload, axis, size)
                    try:
                        row = measure(point, name, options.seconds, options.limit)
                    except processes.Fault as fault:
                        row = {"workload": workload, "error": str(fault)}
                    results.append(options.out, what | row)
                    text = row.get("error") or f"{row['step_ms_min']:10.3f} ms"
                    print(f"{workload:4} {axis} {size:4}  {name:20} {text}", flush=True)
                    if "error" in row or row["step_ms_min"] > 1e3 * options.longest:
                        slow.add(name)


Curves = dict[tuple[str, str], dict[str, dict[int, Row]]]  # workload, axis; contestant; size


def newest(rows: Sequence[Row]) -> Curves:
    """The least row of each point, each curve from the newest session that measured it."""
    timed = [row for row in rows if "step_ms_min" in row]
    sessions: dict[tuple[str, str], str] = {}
    for row in timed:
        key = row["workload"], row["axis"]
        sessions[key] = max(sessions.get(key, ""), row["session"])
    found: Curves = {}
    for row in timed:
        key = row["workload"], row["axis"]
        if row["session"] != sessions[key]:
            continue
        points = found.setdefault(key, {}).setdefault(row["contestant"], {})
        if row["size"] not in points or row["step_ms_min"] < points[row["size"]]["step_ms_min"]:
            points[row["size"]] = row
    return found


def table(of_curve: Mapping[str, Mapping[int, Row]], axis: str) -> list[str]:
    names = [name for name in CONTESTANTS if name in of_curve]
    sizes = sorted({size for points in of_curve.values() for size in points})
    both = results.COMPILED in names and results.EAGER in names
    body = []
    for size in sizes:
        line = [str(size)]
        for name in names:
            row = of_curve[name].get(size)
            noisy = "~" if row is not None and row["others_cpu"] >= results.QUIET else ""
            line.append("" if row is None else noisy + number(row["step_ms_min"]))
        if both:
            pair = [of_curve[name].get(size) for name in (results.EAGER, results.COMPILED)]
            quotient = None if None in pair else pair[0]["step_ms_min"] / pair[1]["step_ms_min"]
            line.append(ratio(quotient))
        body.append(line)
    return markdown([axis, *names, *(["eager / compiled"] if both else [])], body, left=0)


def section(found: Curves) -> list[str]:
    lines = [
        "## Step time over batch and depth",
        "",
        "`make bench-curves`. Milliseconds of a training step, the least of all rounds; two",
        "threads. Depth: hidden layers of 128 of the mlp (batch 64), blocks of width 96 of gpt",
        "(batch 4, 64 tokens). `~`: others used a tenth of the cores or more. A curve ends where",
        "a step takes too long.",
    ]
    for (workload, axis), of_curve in found.items():
        lines += ["", f"### {workload}, {axis}", "", *table(of_curve, axis)]
    return [*lines, "", "![Step time over batch and depth](curves.svg)"]


def main() -> None:
    cli = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="mlp, gpt or both")
    cli.add_argument("--axis", nargs="+", choices=list(SIZES), default=list(SIZES))
    cli.add_argument("--compile", action="store_true", help="torch.compile, too")
    cli.add_argument("--rounds", type=int, default=2)
    cli.add_argument("--largest", type=int, default=512, help="size")
    cli.add_argument("--longest", type=float, default=5.0, help="seconds of a step to stop after")
    cli.add_argument("--seconds", type=float, default=0.5, help="of steps, for each point")
    cli.add_argument("--limit", type=float, default=600, help="seconds a child may take")
    cli.add_argument("--out", type=Path, default=results.FOLDER / "curves.jsonl")
    cli.add_argument("--no-report", action="store_true", help="print, and write no report")
    options = cli.parse_args()
    options.workloads = options.workloads or list(DEEP_BATCH)
    for name in options.workloads:
        if name not in DEEP_BATCH:
            cli.error(f"no curves of {name!r}; known: {', '.join(DEEP_BATCH)}")
    run(options)
    found = newest(results.load(options.out))
    if options.no_report:
        print("\n".join(section(found)))
        return
    import plots

    sections.write("curves", section(found))
    drawn = {}
    for (workload, axis), of_curve in found.items():
        drawn[f"{workload}, {axis}"] = {
            name: [(size, row["step_ms_min"]) for size, row in sorted(points.items())]
            for name, points in of_curve.items()
        }
    plots.curves(drawn, sections.RESULTS.with_name("curves.svg"))


if __name__ == "__main__":
    main()
