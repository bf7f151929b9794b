"""Measured rows, and what follows from them: minima, medians, ratios, means, targets.

Rows are JSON objects, one per line of bench/results/*.jsonl, to which they are added. Those of one
`session` were measured in turns and may be compared with each other; of several sessions that
measured the same thing, the newest that has both sides counts. Nothing here needs PyTorch.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]

FOLDER = Path(__file__).resolve().parent / "results"
QUIET = 0.1  # share of the cores used by others, from which on a figure is marked

IMPERATIVE, COMPILED, COMMAND = "fluvial imperative", "fluvial compiled", "fluvial command"
EAGER, COMPILE, JAX = "torch eager", "torch compile", "jax jit"
FUSED = " fused"
CONTESTANTS = (IMPERATIVE, COMPILED, COMMAND, EAGER, COMPILE, JAX)


def load(path: Path) -> list[Row]:
    """The rows of a file; none if there is no such file."""
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as fault:
            remedy = "remove the line: a run that was cut off leaves half a row"
            raise SystemExit(f"{path}:{number}: no JSON: {fault}\n  remedy: {remedy}") from None
    return rows


def append(path: Path, row: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def commit() -> str:
    """The commit that is measured; empty where git does not know."""
    git = ["git", "-C", str(FOLDER.parent), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip()


def rewrite(path: Path, rows: Iterable[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def geomean(values: Iterable[float]) -> float:
    """The geometric mean; NaN of nothing."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


@dataclass(frozen=True)
class Cell:
    """What all rounds say of one contestant at one task.

    Memory and the time to the first step are the least of the rounds, too: noise only adds.
    """

    ms: float  # a step, the least
    median_ms: float  # the median of the medians of the rounds
    rounds: int
    noisy: bool  # others were at work when the least was measured
    peak_mb: float | None = None
    base_mb: float | None = None  # after the imports
    first_call_s: float | None = None
    first_step_s: float | None = None  # since the start of the process

    @property
    def beyond_mb(self) -> float | None:
        """The peak beyond what the imports take."""
        if self.peak_mb is None or self.base_mb is None:
            return None
        return self.peak_mb - self.base_mb


def cell(rows: Sequence[Row]) -> Cell:
    """The rounds of one contestant at one task; there must be one at least.

    What a compiler keeps from an earlier process would hide what it costs: times of a first call
    count from cold rounds alone, where there are any.
    """
    best = min(rows, key=lambda row: row["step_ms_min"])
    cold = [row for row in rows if row.get("cold", True)] or list(rows)

    def least(field: str, among: Sequence[Row]) -> float | None:
        values = [row[field] for row in among if row.get(field) is not None]
        return min(values) if values else None

    return Cell(
        ms=best["step_ms_min"],
        median_ms=median(row["step_ms_median"] for row in rows),
        rounds=len(rows),
        noisy=best["others_cpu"] >= QUIET,
        peak_mb=least("peak_rss_mb", rows),
        base_mb=least("base_rss_mb", rows),
        first_call_s=least("first_call_s", cold),
        first_step_s=least("first_step_s", cold),
    )


def better(cells: Sequence[Cell]) -> Cell | None:
    """One column out of several settings of a contestant: each figure the best of any of them."""
    if not cells:
        return None
    best = min(cells, key=lambda c: c.ms)

    def least(field: str) -> float | None:
        values = [getattr(c, field) for c in cells if getattr(c, field) is not None]
        return min(values) if values else None

    return Cell(
        ms=best.ms,
        median_ms=min(c.median_ms for c in cells),
        rounds=min(c.rounds for c in cells),
        noisy=best.noisy,
        peak_mb=least("peak_mb"),
        base_mb=least("base_mb"),
        first_call_s=least("first_call_s"),
        first_step_s=least("first_step_s"),
    )


Task = tuple[str, str, int]  # workload, phase, batch
Table = dict[Task, dict[str, Cell]]  # by task and contestant; fused settings are merged


def by_task(rows: Iterable[Row]) -> dict[Task, dict[str, list[Row]]]:
    """Rows that hold a time, by task and contestant, each task from one session."""
    sessions: dict[Task, dict[str, dict[str, list[Row]]]] = {}
    for row in rows:
        if "step_ms_min" not in row:
            continue
        task = (row["workload"], row["phase"], row["batch"])
        session = sessions.setdefault(task, {}).setdefault(row["session"], {})
        session.setdefault(row["contestant"], []).append(row)
    chosen = {}
    for task, of_task in sessions.items():
        newest_first = sorted(of_task, reverse=True)
        whole = (name for name in newest_first if has_both_sides(of_task[name]))
        chosen[task] = of_task[next(whole, newest_first[0])]
    return chosen


def that_count(rows: Sequence[Row]) -> list[Row]:
    """The rows that tables are made of: without those of sessions that newer ones have replaced."""
    chosen = by_task(rows)
    sessions = {task: next(iter(of.values()))[0]["session"] for task, of in chosen.items()}
    latest = {row["footprint"]: row for row in rows if "footprint" in row}

    def counts(row: Row) -> bool:
        if "footprint" in row:
            return row is latest[row["footprint"]]
        if "about" in row:
            return row["session"] in sessions.values()
        task = (row["workload"], row["phase"], row["batch"])
        return sessions.get(task, row["session"]) == row["session"]

    return [row for row in rows if counts(row)]


def has_both_sides(contestants: Iterable[str]) -> bool:
    names = list(contestants)
    return any(n.startswith("fluvial") for n in names) and any(n.startswith("torch") for n in names)


def table(rows: Iterable[Row], order: Sequence[str]) -> Table:
    """The cells of each task, the workloads in this order; fused settings join their column."""
    grouped = by_task(rows)
    place = {name: index for index, name in enumerate(order)}
    tasks = sorted(grouped, key=lambda t: (place.get(t[0], len(place)), t[1] != "train", -t[2]))
    made: Table = {}
    for task in tasks:
        cells = {name: cell(of_name) for name, of_name in grouped[task].items()}
        columns = {}
        for name in CONTESTANTS:
            column = better([cells[n] for n in (name, name + FUSED) if n in cells])
            if column is not None:
                columns[name] = column
        made[task] = columns
    return made


def part(
    made: Table, phase: str, batch: int | Mapping[str, int] | None = None
) -> dict[str, dict[str, Cell]]:
    """The tasks of a phase by workload, at this batch (one for all, or by workload)."""
    chosen: dict[str, dict[str, Cell]] = {}
    for (workload, of_phase, of_batch), columns in made.items():
        wanted = batch.get(workload) if isinstance(batch, Mapping) else batch
        if of_phase == phase and wanted in (None, of_batch):
            chosen[workload] = columns
    return chosen


Value = Callable[[Cell], float | None]


def ratios(
    tasks: dict[str, dict[str, Cell]], ours: str, theirs: str, value: Value
) -> dict[str, float]:
    """Theirs / ours by workload, where both are there."""
    found = {}
    for workload, columns in tasks.items():
        if ours not in columns or theirs not in columns:
            continue
        mine, other = value(columns[ours]), value(columns[theirs])
        if mine and other:
            found[workload] = other / mine
    return found


@dataclass(frozen=True)
class Target:
    """A row of the table of targets: what must hold of our ratios to a peer."""

    what: str
    ours: str
    phase: str
    batch: int | None  # None: the workload's own
    value: Value
    wanted: dict[str, float]  # by peer
    worst: bool = False  # of the worst workload rather than the geometric mean
    ours_over_theirs: bool = False  # at most `wanted`, rather than theirs / ours at least that


def ms(c: Cell) -> float | None:
    return c.ms


def peak(c: Cell) -> float | None:
    return c.peak_mb


def first_step(c: Cell) -> float | None:
    return c.first_step_s


TARGETS = (
    Target("imperative, training", IMPERATIVE, "train", None, ms, {EAGER: 1.0}),
    Target("compiled, training", COMPILED, "train", None, ms, {EAGER: 1.5, COMPILE: 1.3}),
    Target(
        "compiled, training, worst",
        COMPILED, "train", None, ms, {EAGER: 1.0, COMPILE: 0.9}, worst=True,
    ),
    Target(
        "compiled, inference at batch 1", COMPILED, "infer", 1, ms, {EAGER: 2.0, COMPILE: 1.3}
    ),
    Target(
        "compiled, peak memory in training, ours / theirs",
        COMPILED, "train", None, peak, {EAGER: 0.7, COMPILE: 0.7}, ours_over_theirs=True,
    ),
    Target(
        "compiled, from the start of the process to the first training step",
        COMPILED, "train", None, first_step, {EAGER: 5.0, COMPILE: 20.0},
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """What became of a target against one peer."""

    target: Target
    peer: str
    wanted: float
    found: float  # NaN if nothing was measured
    workloads: int  # of how many
    noisy: int  # in how many of them a time was measured while others were at work
    worst: str  # the workload with the least ratio

    @property
    def met(self) -> bool:
        """Whether it holds; never if nothing was measured."""
        if self.target.ours_over_theirs:
            return self.found <= self.wanted
        return self.found >= self.wanted


def verdicts(made: Table) -> list[Verdict]:
    found = []
    for target in TARGETS:
        tasks = part(made, target.phase, target.batch)
        for peer, wanted in target.wanted.items():
            by_workload = ratios(tasks, target.ours, peer, target.value)
            worst = min(by_workload, key=lambda name: by_workload[name], default="")
            if not by_workload:
                number = math.nan
            elif target.worst:
                number = by_workload[worst]
            else:
                number = geomean(by_workload.values())
            if target.ours_over_theirs:
                number = 1 / number
            pairs = [(tasks[name][target.ours], tasks[name][peer]) for name in by_workload]
            noisy = sum(mine.noisy or other.noisy for mine, other in pairs)
            n = len(by_workload)
            found.append(Verdict(target, peer, wanted, number, n, noisy, worst))
    return found
