"""The ten workloads, ours beside PyTorch's and JAX's: training, and inference, also of one sample.

    python bench/models.py                                    # all of it
    python bench/models.py mlp gpt --phase train --rounds 5   # a part
    python bench/models.py mlp --only fluvial torch-eager     # some contestants

Each measurement is a process of its own, and each round goes through all of them, in another order
each time, so that a slow minute of the machine hits all alike. Rows are added to
bench/results/models.jsonl; `bench/report.py` makes tables of them. `--resume` adds to the latest
session instead of beginning one: what is to be compared must be of one session.

torch.compile compiles anew in the first round; the later ones take what that one kept on disk, so
that a run ends in finite time. JAX and Fluvial compile in each process.
"""

from __future__ import annotations

import argparse
import datetime
import os
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import command
import processes
import results
from results import Row

PEERS = Path(__file__).resolve().parent / "peers"
sys.path.append(str(PEERS))
from workloads import WORKLOADS  # noqa: E402

JAX_HAS = ("mlp", "resnet18", "gpt")


@dataclass(frozen=True)
class Contestant:
    """One side in one setting. `peer` is a module of bench/peers, or "command"."""

    name: str
    peer: str
    mode: str
    fused: bool = False

    def takes_part(self, workload: str, phase: str) -> bool:
        if self.fused and phase != "train":
            return False
        return self.peer != "jax_peer" or workload in JAX_HAS


CONTESTANTS = (
    Contestant(results.IMPERATIVE, "fluvial_peer", "imperative"),
    Contestant(results.COMPILED, "fluvial_peer", "compiled"),
    Contestant(results.COMMAND, "command", "command"),
    Contestant(results.EAGER, "torch_peer", "eager"),
    Contestant(results.EAGER + results.FUSED, "torch_peer", "eager", fused=True),
    Contestant(results.COMPILE, "torch_peer", "compile"),
    Contestant(results.COMPILE + results.FUSED, "torch_peer", "compile", fused=True),
    Contestant(results.JAX, "jax_peer", "jit"),
)


@dataclass(frozen=True)
class Measurement:
    contestant: Contestant
    workload: str
    phase: str
    batch: int

    def __str__(self) -> str:
        return f"{self.workload:12} {self.phase:5} batch {self.batch:4}  {self.contestant.name:20}"

    @property
    def cache_name(self) -> str:
        c = self.contestant
        return f"{self.workload}-{self.phase}-{self.batch}-{c.mode}-{'fused' if c.fused else ''}"


def measurements(workloads: list[str], phases: list[str], only: list[str]) -> list[Measurement]:
    """All of one round, task by task."""
    chosen = []
    for workload in workloads:
        own = WORKLOADS[workload].batch
        tasks = {
            "train": [("train", own)],
            "infer": [("infer", own)],
            "infer1": [("infer", 1)],
        }
        for phase, batch in dict.fromkeys(task for name in phases for task in tasks[name]):
            for c in CONTESTANTS:
                wanted = not only or any(c.name.startswith(name.replace("-", " ")) for name in only)
                if wanted and c.takes_part(workload, phase):
                    chosen.append(Measurement(c, workload, phase, batch))
    return chosen


def in_turns(todo: list[Measurement], round_number: int) -> list[Measurement]:
    """The same tasks, their contestants in an order that changes from round to round."""
    tasks: dict[tuple[str, str, int], list[Measurement]] = {}
    for m in todo:
        tasks.setdefault((m.workload, m.phase, m.batch), []).append(m)
    rng = random.Random(round_number)
    for group in tasks.values():
        rng.shuffle(group)
    return [m for group in tasks.values() for m in group]


def measure(m: Measurement, options: argparse.Namespace, caches: Path) -> Row:
    """Runs one child. A fault is a row, too."""
    cache = caches / m.cache_name
    cold = not cache.exists()
    cache.mkdir(exist_ok=True)
    job = {
        "workload": m.workload,
        "mode": m.contestant.mode,
        "phase": m.phase,
        "batch": m.batch,
        "steps": options.steps,
        "threads": options.threads,
        "fused": m.contestant.fused,
        "patience": options.patience,
        "seconds": options.seconds,
        "changes": {},
    }
    try:
        if m.contestant.peer == "command":
            row = command.measure(job, options.fluvial, caches, options.limit)
        else:
            row = processes.measure_model(m.contestant.peer, job, cache, options.limit)
    except processes.Fault as fault:
        shutil.rmtree(cache)  # half of what a compiler keeps is neither cold nor warm
        row = {k: job[k] for k in ("workload", "mode", "phase", "batch")} | {"error": str(fault)}
    if m.contestant.mode == "compile":
        row["cold"] = cold
    return row


def session_of(path: Path, resume: bool) -> str:
    """A new session, or the latest one of the file."""
    names = [row["session"] for row in results.load(path) if "session" in row]
    if resume and names:
        return max(names)
    return datetime.datetime.now().isoformat(timespec="seconds")


def about() -> Row:
    """What the figures depend on."""
    models = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "processor": models[0] if models else "unknown",
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "versions": processes.versions(("numpy", "torch", "jax")),
        "commit": results.commit(),
    }


def main() -> None:
    cli = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    phases = ["train", "infer", "infer1"]
    cli.add_argument("--phase", nargs="+", choices=phases, default=phases, help="infer1: batch 1")
    begins = "contestants, by how their names begin: fluvial, torch-eager, torch-compile, jax"
    cli.add_argument("--only", nargs="+", default=[], metavar="NAME", help=begins)
    cli.add_argument("--rounds", type=int, default=3)
    cli.add_argument("--seconds", type=float, default=1.5, help="of steps, for each measurement")
    cli.add_argument("--steps", type=int, default=5, help="at least so many for each measurement")
    cli.add_argument("--threads", type=int, default=2)
    cli.add_argument("--patience", type=float, default=0, help="seconds to wait for quiet cores")
    cli.add_argument("--limit", type=float, default=900, help="seconds a child may take")
    cli.add_argument("--fluvial", help="the command line; by default the one that was built")
    cli.add_argument("--out", type=Path, default=results.FOLDER / "models.jsonl")
    cli.add_argument("--resume", action="store_true", help="add to the latest session")
    options = cli.parse_args()
    for name in options.workloads:
        if name not in WORKLOADS:
            cli.error(f"unknown workload {name!r}; known: {', '.join(WORKLOADS)}")
    todo = measurements(options.workloads or list(WORKLOADS), options.phase, options.only)
    if not todo:
        cli.error(f"no contestant is called {' or '.join(options.only)}")
    session = session_of(options.out, options.resume)
    results.append(options.out, {"session": session, "about": about()})
    caches = Path(tempfile.mkdtemp(prefix="fluvial-bench-"))
    try:
        for number in range(options.rounds):
            for done, m in enumerate(in_turns(todo, number), 1):
                row = {"session": session, "round": number, "contestant": m.contestant.name}
                row |= measure(m, options, caches)
                results.append(options.out, row)
                show(row, m, f"{number + 1}/{options.rounds} {done:3}/{len(todo)}")
    finally:
        shutil.rmtree(caches, ignore_errors=True)


def show(row: Row, m: Measurement, where: str) -> None:
    if "error" in row:
        print(f"{where}  {m}  FAILED: {row['error']}", flush=True)
        return
    noisy = f"  others {row['others_cpu']:.0%}" if row["others_cpu"] >= results.QUIET else ""
    print(
        f"{where}  {m} min {row['step_ms_min']:9.3f} ms  median {row['step_ms_median']:9.3f} ms"
        f"  start to step {row['first_step_s']:6.2f} s  peak {row['peak_rss_mb']:6.0f} MB{noisy}",
        flush=True,
    )


if __name__ == "__main__":
    main()
