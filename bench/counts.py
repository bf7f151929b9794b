"""Counts the instructions of one run of small programs, by callgrind, and adds a row for each.

    python bench/counts.py FLUVIAL

They do not depend on what else the machine does, so two commits can be compared to a percent: `make bench-compare`. What the
process needs besides is taken off: it is run with few and with more runs. One thread; valgrind has no AVX-512.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import results

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
#: Programs, with what they are run on.
CASES = {
    "elementwise": [],
    "matmul": ["--size", "batch=64"],
    "train": ["--size", "batch=64"],
    "while": ["--set", "x=1", "--set", "w=1.01"],
}
FEW, MORE = 5, 25


def total(fluvial: str, case: str, runs: int) -> int:
    """The instructions of a process that runs the program so often."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", fluvial, "bench"]
        command += [str(PROGRAMS / f"{case}.fl"), "--runs", str(runs), "--mode", "compiled", "--threads", "1", *CASES[case]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{case}: {done.stdout}{done.stderr}")
        return int(re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE)[1])


def main() -> None:
    fluvial = sys.argv[1]
    for case in CASES:
        count = (total(fluvial, case, MORE) - total(fluvial, case, FEW)) / (MORE - FEW)
        results.append(
            results.FOLDER / "counts.jsonl",
            {"commit": results.commit(), "case": case, "instructions": round(count)},
        )
        print(f"{case:14} {count:14,.0f} instructions a run", flush=True)


if __name__ == "__main__":
    main()
