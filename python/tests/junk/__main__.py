"""The command: makes junk calls and says what came of them."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from . import workers

#: Calls of the first child process of a part, and the seconds that those after it take.
CHUNK, STRETCH = 2000, 30.0


def main() -> int:
    parser = argparse.ArgumentParser("junk", description=__doc__)
    parser.add_argument("--seeds", default="0:2000", help="from:to")
    parser.add_argument("--hours", type=float, help="end after this time")
    parser.add_argument("--report", help="a JSON file; a later run goes on from it")
    parser.add_argument("--only", default="", help="a part of the names of what is called")
    parser.add_argument(
        "--kind", default="calls", choices=["calls", "little", "files"],
        help="calls; calls with memory nearly used up; damaged files",
    )  # fmt: skip
    parser.add_argument("--fuzz", help="the fuzzer in Rust, whose targets are run in turn with the calls")
    parser.add_argument("--show", type=int, help="say what call a seed makes, and make it")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--board", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show is not None:
        print(workers.show(options.show, options.only, options.kind))
        return 0
    first, last = (int(number) for number in (options.serve or options.seeds).split(":"))
    if options.serve:
        workers.serve(first, last, options.only, options.kind, options.board)
    report = Report(Path(options.report) if options.report else None)
    parts = {options.kind: workers.calls(options.only, options.kind)}
    if options.fuzz:
        parts |= {kind: workers.calls(options.only, kind) for kind in ("little", "files")}
        targets = subprocess.run([options.fuzz], capture_output=True, text=True, check=True).stdout
        parts |= {target: workers.inputs(options.fuzz, target) for target in targets.split()}
    began = time.monotonic()
    while any([report.stretch(name, first, last, command) for name, command in parts.items()]):
        if options.hours and time.monotonic() - began > options.hours * 3600:
            break
    print(report.summary())
    return 1 if report.faults() else 0


class Report:
    """What came of each part so far. Kept as a file, from which a later run goes on."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.parts: dict[str, dict] = json.loads(path.read_text()) if path and path.exists() else {}

    def stretch(self, name: str, first: int, last: int, command: workers.Command) -> bool:
        """Makes the next calls of a part, for some seconds; says whether there were any left."""
        new = {"next": first, "inputs": 0, "hours": 0.0, "outcomes": {}, "faults": [], "stretch": CHUNK}
        part = self.parts.setdefault(name, new)
        end = min(part["next"] + part["stretch"], last)
        if end <= part["next"]:
            return False
        began = time.monotonic()
        outcomes, faults = workers.run(part["next"], end, command)
        seconds = time.monotonic() - began
        part["inputs"] += end - part["next"]
        part["next"] = end
        part["hours"] += seconds / 3600
        part["outcomes"] = dict(Counter(part["outcomes"]) + Counter(outcomes))
        part["faults"] += [list(fault) for fault in faults]
        part["stretch"] = max(min(int(part["stretch"] * STRETCH / max(seconds, 0.1)), 10 * part["stretch"]), 200)
        for fault in faults:
            print(f"{name}, {fault.kind}: seed {fault.seed} (process since {fault.since}): {fault.text}", flush=True)
        if self.path:
            draft = self.path.with_suffix(".draft")
            draft.write_text(json.dumps(self.parts, indent=1))
            draft.replace(self.path)
        return True

    def faults(self) -> int:
        return sum(len(part["faults"]) for part in self.parts.values())

    def summary(self) -> str:
        """Inputs, hours and faults: of each part, and in all."""
        lines = [
            f"{name}: {part['inputs']} inputs, {part['hours']:.3f} hours, {len(part['faults'])} faults; {part['outcomes']}"
            for name, part in self.parts.items()
        ]
        inputs = sum(part["inputs"] for part in self.parts.values())
        hours = sum(part["hours"] for part in self.parts.values())
        return "\n".join([*lines, f"in all: {inputs} inputs, {hours:.3f} hours, {self.faults()} faults"])


if __name__ == "__main__":
    sys.exit(main())
