"""The tables of the ten models in bench/RESULTS.md and the plot bench/results.svg.

    python bench/report.py [--rows bench/results/models.jsonl] [--print] [--prune]

Made of the rows that bench/models.py and bench/footprint.py measured. Ratios are theirs / ours, of
the least times of all rounds, so above 1 ours is faster; PyTorch's column is the better of its
default and its fused optimizer. A `~` marks figures measured while others were at work.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import results
import sections
from results import COMMAND, COMPILE, COMPILED, EAGER, IMPERATIVE, JAX, Cell, Row, Table
from sections import markdown, number, ratio

sys.path.append(str(Path(__file__).resolve().parent / "peers"))
from workloads import WORKLOADS  # noqa: E402

HEADS = {
    IMPERATIVE: "imperative",
    COMPILED: "compiled",
    COMMAND: "command line",
    EAGER: "torch eager",
    COMPILE: "torch.compile",
    JAX: "JAX",
}
RATIOS = {
    "eager / imperative": (IMPERATIVE, EAGER),
    "eager / compiled": (COMPILED, EAGER),
    "torch.compile / compiled": (COMPILED, COMPILE),
    "JAX / compiled": (COMPILED, JAX),
}
Tasks = Mapping[str, Mapping[str, Cell]]


def columns_of(tasks: Tasks) -> list[str]:
    """The contestants that there are figures of, in the usual order."""
    there = {name for columns in tasks.values() for name in columns}
    return [name for name in HEADS if name in there]


def step_times(tasks: Tasks, batches: Mapping[str, int]) -> list[str]:
    """Milliseconds of a step, least and median, with the ratios of the least, mean and worst."""
    names = columns_of(tasks)
    shown = {head: both for head, both in RATIOS.items() if set(both) <= set(names)}
    found = {
        head: results.ratios(tasks, ours, theirs, results.ms)
        for head, (ours, theirs) in shown.items()
    }
    rows = []
    for workload, cells in tasks.items():
        row = [workload, str(batches[workload])]
        for name in names:
            c = cells.get(name)
            mark = "~" if c is not None and c.noisy else ""
            row.append("" if c is None else f"{mark}{number(c.ms)} / {number(c.median_ms)}")
        rows.append([*row, *(ratio(found[head].get(workload)) for head in shown)])
    if not found:
        return markdown(["", "batch", *(HEADS[n] for n in names)], rows)
    blank = [""] * len(names)
    means = []
    for head, both in shown.items():
        noisy = any(tasks[workload][name].noisy for workload in found[head] for name in both)
        means.append(("~" if noisy else "") + ratio(results.geomean(found[head].values())))
    worst = [ratio(min(of_head.values(), default=None)) for of_head in found.values()]
    rows.append(["geometric mean", "", *blank, *means])
    rows.append(["worst", "", *blank, *worst])
    return markdown(["", "batch", *(HEADS[n] for n in names), *shown], rows)


def single(tasks: Tasks, text: Callable[[Cell], str]) -> list[str]:
    """One figure of each contestant."""
    names = columns_of(tasks)
    rows = [
        [workload, *(text(cells[n]) if n in cells else "" for n in names)]
        for workload, cells in tasks.items()
    ]
    return markdown(["", *(HEADS[n] for n in names)], rows)


def memory(c: Cell) -> str:
    beyond = "" if c.beyond_mb is None else f" ({c.beyond_mb:.0f})"
    return "" if c.peak_mb is None else f"{c.peak_mb:.0f}{beyond}"


def first_steps(c: Cell) -> str:
    call = "" if c.first_call_s is None else f" ({number(c.first_call_s)})"
    return "" if c.first_step_s is None else f"{number(c.first_step_s)}{call}"


def targets(made: Table) -> list[str]:
    """Each target against each peer; neither met nor missed if workloads are missing."""
    rows = []
    for v in results.verdicts(made):
        sign = "at most" if v.target.ours_over_theirs else "at least"
        of = f"{v.workloads} of {len(WORKLOADS)}" + (f", {v.noisy} noisy" if v.noisy else "")
        whole = v.workloads == len(WORKLOADS)
        met = "incomplete" if not whole else "met" if v.met else "missed"
        found = ("~" if v.noisy else "") + ratio(v.found)
        rows.append([v.target.what, HEADS[v.peer], f"{sign} {v.wanted}", found, of, v.worst, met])
    head = ["theirs / ours, geometric mean unless said", "against", "target", "found"]
    return markdown([*head, "workloads", "worst", ""], rows)


def about(rows: Sequence[Row]) -> str:
    """Where and when the figures were measured."""
    used = {
        row["session"]
        for task in results.by_task(rows).values()
        for of_name in task.values()
        for row in of_name
    }
    heads = {row["session"]: row["about"] for row in rows if "about" in row}
    texts = []
    for session in sorted(used):
        a = heads.get(session, {})
        versions = ", ".join(f"{k} {v}" for k, v in a.get("versions", {}).items())
        machine = f"{a.get('cores', '?')} cores of {a.get('processor', 'an unknown processor')}"
        commit = f"commit {a.get('commit') or 'unknown'}"
        texts.append(f"{session}: {machine}, Python {a.get('python', '?')}, {versions}, {commit}")
    return "; ".join(texts)


def failures(rows: Sequence[Row]) -> list[str]:
    """Measurements that never succeeded, so that a hole in a table is explained."""
    texts: dict[str, str | None] = {}
    for r in rows:
        if "step_ms_min" in r or "error" in r:
            what = f"{r['contestant']}, {r['workload']}, {r['phase']}, batch {r['batch']}"
            texts[what] = None if "step_ms_min" in r else texts.get(what, r["error"])
    return [f"- {what}: {text}" for what, text in texts.items() if text is not None]


def footprint(rows: Sequence[Row]) -> list[str]:
    """The latest figures of imports and sizes."""
    latest = {row["footprint"]: row for row in rows if "footprint" in row}
    figures = ("import_ms", "import_cpu_ms", "mb")
    body = [
        [name, *(number(row.get(figure)) for figure in figures), row.get("of", "")]
        for name, row in latest.items()
    ]
    return markdown(["", "import, ms", "of the processor", "installed, MB", "of which"], body)


def section(rows: Sequence[Row]) -> list[str]:
    """The whole part of bench/RESULTS.md."""
    made = results.table(rows, list(WORKLOADS))
    own = {name: spec.batch for name, spec in WORKLOADS.items()}
    ones = dict.fromkeys(WORKLOADS, 1)
    train, infer = results.part(made, "train"), results.part(made, "infer", own)
    infer_one = results.part(made, "infer", 1)
    lines = ["## Ten models beside PyTorch and JAX", "", "`make bench-models`. " + about(rows), ""]
    lines += [
        "Two threads, float32. Each figure is of processes of its own, in turns. Times are the",
        "least and the median; ratios are theirs / ours, of the least. PyTorch has the better of its",
        "default and its fused optimizer. `~`: others used a tenth of the cores or more.",
    ]
    lines += ["", "### Targets", "", *targets(made)]
    parts = (
        ("Training, ms for a step", step_times(train, own), train),
        ("Inference, ms for a batch", step_times(infer, own), infer),
        ("Inference of one sample, ms", step_times(infer_one, ones), infer_one),
        ("Training, peak memory in MB (beyond the imports)", single(train, memory), train),
        (
            "Training, seconds from the start of the process to the first finished step, without"
            " the time to make up the batches (of which the first call, with compiling)",
            single(train, first_steps),
            train,
        ),
    )
    for title, body, tasks in parts:
        if tasks:
            lines += ["", f"### {title}", "", *body]
    if any("footprint" in row for row in rows):
        lines += ["", "### Imports and sizes", "", *footprint(rows)]
    failed = failures(rows)
    if failed:
        lines += ["", "### Failed", "", *failed]
    return [*lines, "", "![Ratios of all workloads](results.svg)"]


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--rows", type=Path, default=results.FOLDER / "models.jsonl")
    cli.add_argument("--print", action="store_true", help="print it, and write nothing")
    cli.add_argument("--prune", action="store_true", help="drop rows that newer sessions replace")
    options = cli.parse_args()
    rows = results.load(options.rows)
    if not any("step_ms_min" in row for row in rows):
        raise SystemExit(f"{options.rows} has no measurements\n  remedy: run bench/models.py")
    if options.print:
        print("\n".join(section(rows)))
        return
    if options.prune:
        rows = results.that_count(rows)
        results.rewrite(options.rows, rows)
    import plots

    sections.write("models", section(rows))
    plots.models(results.table(rows, list(WORKLOADS)), sections.RESULTS.with_name("results.svg"))


if __name__ == "__main__":
    main()
