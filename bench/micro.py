"""Micro benchmarks: the cases of peers/micro_torch.py, ours beside PyTorch's, in turns.

    python bench/micro.py [--only TEXT] [--malloc default|kept|both] [--seconds 0.4]

Both sides are in one process. Ours runs line by line, and compiled where PyTorch's side is
compiled, and for Adam, whose step is then one program. Times are microseconds per call. Ops on tens
of MB pay for fresh pages under the default malloc; `kept` starts this script again with settings
under which malloc keeps freed memory, for both sides. Rows are added to bench/results/micro.jsonl,
and the table of bench/RESULTS.md is made of them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import results
import sections
from results import Row
from sections import markdown, number, ratio

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "peers"))
sys.path.append(str(HERE.parent / "python"))

KEPT = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "2147483648"}
TURN = 5e-3  # seconds of one side before the other has its turn
PAUSE = 2e-3  # between turns, until the other side's threads have stopped spinning

Call = Callable[[], object]


def seconds_of(call: Call, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start


def in_turns(sides: Mapping[str, Call], budget: float) -> dict[str, list[float]]:
    """Seconds of a call of each side, in samples of milliseconds, for `budget` seconds each."""
    calls: dict[str, int] = {}
    for name, call in sides.items():
        call()
        once = seconds_of(call, 2) / 2
        calls[name] = max(1, int(TURN / max(once, 1e-9)))
        calls[name] = max(1, int(TURN * calls[name] / max(seconds_of(call, calls[name]), 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in sides}
    end = time.perf_counter() + budget * len(sides)
    while time.perf_counter() < end or len(times[next(iter(sides))]) < 3:
        for name, call in sides.items():
            time.sleep(PAUSE)
            call()  # after the pause: threads awake, data in the cache
            times[name].append(seconds_of(call, calls[name]) / calls[name])
    return times


def measure(only: str, budget: float, threads: int, out: Path) -> None:
    """Measures the cases whose group or name contains `only`, and adds a row for each."""
    import harness
    import micro_cases
    import micro_torch
    import torch

    import fluvial

    torch.set_num_threads(threads)
    fluvial.set_num_threads(threads)
    kept = all(os.environ.get(name) == value for name, value in KEPT.items())
    session = time.strftime("%Y-%m-%dT%H:%M:%S")
    commit = results.commit()
    for case in (case for group in micro_torch.GROUPS for case in group()):
        if only not in f"{case.group} {case.name}":
            continue
        torch.manual_seed(0)
        key = case.group, case.name
        is_compiled = case.mode == "compile"
        if key not in micro_cases.IMPERATIVE:
            raise SystemExit(f"bench/micro_cases.py has no case {case.name!r} of {case.group!r}")
        sides: dict[str, Call] = {"torch": case.prepare()}
        if not is_compiled:
            sides["imperative"] = micro_cases.IMPERATIVE[key]()
        if is_compiled or case.group == "adam":
            sides["compiled"] = micro_cases.COMPILED[key]()
        others = harness.Others()
        times = in_turns(sides, budget)
        row: Row = {
            "session": session,
            "commit": commit,
            "group": case.group,
            "case": case.name,
            "mode": case.mode,
            "malloc": "kept" if kept else "default",
            "threads": threads,
            "us_min": {name: round(1e6 * min(t), 3) for name, t in times.items()},
            "us_median": {name: round(1e6 * median(t), 3) for name, t in times.items()},
            "others_cpu": others.share(),
        }
        results.append(out, row)
        figures = "  ".join(f"{name} {us:10.2f}" for name, us in row["us_min"].items())
        what = label(*key, case.mode, "")
        print(f"{what:60} {figures}  others {row['others_cpu']:.0%}", flush=True)


def label(group: str, case: str, mode: str, side: str) -> str:
    """A case on its line: what PyTorch's side is if not eager, what ours is if not line by line."""
    theirs = ", torch.compile" if mode == "compile" else ""
    ours = ", ours compiled" if side == "compiled" else ""
    return f"{group}: {case}{theirs}{ours}"


def table(rows: Sequence[Row]) -> list[str]:
    """A line for each case and each of our modes, from the latest rows, and the geometric means."""
    latest: dict[tuple[str, str, str, str], dict[str, Row]] = {}
    for row in rows:
        for side in row["us_min"]:
            if side != "torch":
                key = row["group"], row["case"], row["mode"], side
                latest.setdefault(key, {})[row["malloc"]] = row
    ways = [way for way in ("default", "kept") if any(way in lines for lines in latest.values())]
    found: dict[str, list[float]] = {way: [] for way in ways}
    body = []
    for key, of_case in latest.items():
        line = [label(*key)]
        for way in ways:
            if way not in of_case:
                line += ["", "", ""]
                continue
            times = of_case[way]["us_min"]
            ours, theirs = times[key[-1]], times["torch"]
            noisy = "~" if of_case[way]["others_cpu"] >= results.QUIET else ""
            found[way].append(theirs / ours)
            line += [noisy + number(ours, 4), noisy + number(theirs, 4), ratio(theirs / ours)]
        body.append(line)
    means = ["geometric mean"]
    head = [""]
    for way in ways:
        rows_of_way = [lines[way] for lines in latest.values() if way in lines]
        noisy = any(row["others_cpu"] >= results.QUIET for row in rows_of_way)
        means += ["", "", ("~" if noisy else "") + ratio(results.geomean(found[way]))]
        what = "" if way == "default" else "malloc keeps: "
        head += [f"{what}ours, us", "torch, us", "torch / ours"]
    return markdown(head, [*body, means])


def section(rows: Sequence[Row]) -> list[str]:
    return [
        "## Micro benchmarks beside PyTorch",
        "",
        "`make bench-micro`. Both sides in one process, in turns, two threads each; the least time",
        "of a call. Ours is line by line, unless it says compiled. The last columns are of a run",
        "in which malloc keeps what was freed, for both sides. `~`: others used a tenth of the",
        "cores or more.",
        "",
        *table(rows),
    ]


def main() -> None:
    cli = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_argument("--only", default="", help="cases whose group or name contains this")
    cli.add_argument("--malloc", choices=["default", "kept", "both"], default="both")
    cli.add_argument("--seconds", type=float, default=0.4, help="for each side of each case")
    cli.add_argument("--threads", type=int, default=2)
    cli.add_argument("--out", type=Path, default=results.FOLDER / "micro.jsonl")
    cli.add_argument("--no-report", action="store_true", help="leave bench/RESULTS.md as it is")
    options = cli.parse_args()
    has_kept = all(os.environ.get(name) == value for name, value in KEPT.items())
    if options.malloc != "kept" or has_kept:
        measure(options.only, options.seconds, options.threads, options.out)
    if options.malloc != "default" and not has_kept:
        again = [sys.executable, *sys.argv, "--malloc", "kept"]  # of two, the last one counts
        os.execve(sys.executable, again, {**os.environ, **KEPT})
    if not options.no_report:
        sections.write("micro", section(results.load(options.out)))


if __name__ == "__main__":
    main()
