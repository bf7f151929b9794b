"""Prints what moved beyond noise between two commits: `make bench-compare A=4f2e B=HEAD`.

Figures are those of bench/results/*.jsonl: steps of models, single ops, instructions. Of each the least counts. It moved if it
differs by more than its rounds differ among themselves, or, for a single round, by more than its median differs from its
least; and by more than 3 %. The exit code is 1 if anything has become slower.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

import results
from results import Row

#: Less is never told.
LEAST_CHANGE = 0.03


@dataclass
class Figure:
    """What was measured of one thing at one commit."""

    least: list[float] = field(default_factory=list)
    middle: list[float] = field(default_factory=list)

    def add(self, least: float, middle: float) -> None:
        self.least.append(least)
        self.middle.append(middle)

    @property
    def value(self) -> float:
        return min(self.least)

    @property
    def noise(self) -> float:
        """By how much, relative, the figure may be off."""
        spread = sorted(self.least)[1] if len(self.least) > 1 else self.middle[0]
        return spread / self.value - 1


Figures = dict[str, Figure]


def figures(rows: Iterable[Row], commit: str) -> Figures:
    """Our own figures of a commit, by what they are of."""
    rows = list(rows)
    heads = {row["session"]: row["about"].get("commit", "") for row in rows if "about" in row}
    found: Figures = {}
    for row in rows:
        of = row.get("commit") or heads.get(row.get("session", ""), "")
        if not of or of.endswith("-dirty") or not (of.startswith(commit) or commit.startswith(of)):
            continue
        for name, least, middle in named(row):
            found.setdefault(name, Figure()).add(least, middle)
    return found


def named(row: Row) -> Iterable[tuple[str, float, float]]:
    """The figures of a row: name, least, median."""
    if "instructions" in row:
        yield f"instructions: {row['case']}", row["instructions"], row["instructions"]
    elif "us_min" in row:
        for side, least in row["us_min"].items():
            if side != "torch":
                case = f"{row['group']}: {row['case']}, {side}, malloc {row['malloc']}"
                yield f"{case}, us", least, row["us_median"][side]
    elif "step_ms_min" in row and row["contestant"].startswith("fluvial"):
        size = f", {row['axis']} {row['size']}" if "axis" in row else ""
        what = f"{row['workload']} {row['phase']} {row['batch']}{size}, {row['contestant']}, ms"
        yield what, row["step_ms_min"], row["step_ms_median"]


def moved(before: Figures, after: Figures) -> list[tuple[float, str]]:
    """What changed beyond noise, the slower ones first."""
    found = []
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        change = new.value / old.value - 1
        if abs(change) > max(LEAST_CHANGE, old.noise, new.noise):
            found.append((change, f"{name}: {old.value:g} -> {new.value:g} ({change:+.1%})"))
    return sorted(found, reverse=True)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("before", help="a commit")
    cli.add_argument("after", help="a commit")
    options = cli.parse_args()
    rows = [row for path in sorted(results.FOLDER.glob("*.jsonl")) for row in results.load(path)]
    both = []
    for name in (options.before, options.after):
        git = ["git", "-C", str(results.FOLDER), "rev-parse", name]
        done = subprocess.run(git, capture_output=True, text=True)
        found = figures(rows, done.stdout.strip() if done.returncode == 0 else name)
        if not found:
            remedy = "measure it: make bench-models, bench-micro or bench-counts"
            sys.exit(f"there are no rows of {name} with a clean tree\n  remedy: {remedy}")
        both.append(found)
    before, after = both
    changes = moved(before, after)
    for _, text in changes:
        print(text)
    slower = sum(change > 0 for change, _ in changes)
    print(f"{len(before.keys() & after.keys())} figures compared, {slower} slower, {len(changes) - slower} faster")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
