"""Counts of verdicts, groups of like differences, and how often each hazard occurred."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

#: Verdicts that say that something is wrong, worst first.
FAULTS = ("crash", "timeout", "different", "dirty", "placeless", "invalid")
#: How many seeds of a group are kept.
N_EXAMPLES = 20


class Report:
    """What is known of the cases judged so far; it can be written, read and continued."""

    def __init__(self, path: str | None = None) -> None:
        self.path = path
        self.verdicts: dict[str, dict[str, str]] = {}
        #: By kind, verdict and group: how many cases, and some of their seeds.
        self.groups: dict[str, dict[str, Any]] = {}
        self.tags: dict[str, int] = {}
        self.milliseconds: dict[str, float] = {}
        #: By kind: the errors that are raised line by line.
        self.raised: dict[str, dict[str, int]] = {}
        self.examples: dict[str, Any] = {}
        if path and os.path.exists(path):
            with open(path) as file:
                vars(self).update(json.load(file))

    def is_done(self, kind: str, seed: int) -> bool:
        return str(seed) in self.verdicts.get(kind, {})

    def add(self, asked: dict[str, Any], answer: dict[str, Any]) -> None:
        kind, seed = asked["kind"], asked["seed"]
        self.verdicts.setdefault(kind, {})[str(seed)] = answer["name"]
        self.milliseconds[kind] = self.milliseconds.get(kind, 0.0) + answer["ms"]
        errors = self.raised.setdefault(kind, {})
        if answer["raised"]:
            errors[answer["raised"]] = errors.get(answer["raised"], 0) + 1
        for name, around, _ in answer["tags"]:
            key = f"{kind}|{name}|{around}"
            self.tags[key] = self.tags.get(key, 0) + 1
        for group in answer["groups"]:
            entry = self.groups.setdefault(
                f"{kind}|{answer['name']}|{group}", {"count": 0, "seeds": []}
            )
            entry["count"] += 1
            if len(entry["seeds"]) < N_EXAMPLES:
                entry["seeds"].append(seed)

    def write(self) -> None:
        if self.path is None:
            return
        with open(self.path + ".new", "w") as file:
            json.dump(
                {key: value for key, value in vars(self).items() if key != "path"}, file, indent=1
            )
        os.replace(self.path + ".new", self.path)

    def counts(self, kind: str) -> Counter:
        return Counter(self.verdicts.get(kind, {}).values())

    def summary(self, n_groups: int = 15) -> str:
        """Counts by verdict and kind, then the most frequent groups."""
        lines = []
        for kind in sorted(self.verdicts):
            counts = self.counts(kind)
            n = sum(counts.values())
            shown = ", ".join(
                f"{counts[name]} {name}" for name in ("equal", "refused", *FAULTS) if counts[name]
            )
            cost = self.milliseconds[kind] / n
            lines.append(
                f"kind {kind}: {n} functions: {shown}; {sum(self.raised[kind].values())} raise line by line; {cost:.1f} ms of a core each"
            )
        for verdicts in (FAULTS, ("refused",)):
            chosen = [
                (entry["count"], key, entry)
                for key, entry in self.groups.items()
                if key.split("|")[1] in verdicts
            ]
            for count, key, entry in sorted(chosen, key=lambda part: -part[0])[:n_groups]:
                kind, verdict, group = key.split("|", 2)
                lines.append(f"{count:6} {kind} {verdict}: {group}  (seeds {entry['seeds'][:4]})")
        return "\n".join(lines)

    def errors(self, n: int = 12) -> str:
        """The most frequent errors that are raised line by line."""
        rows = [
            (count, kind, text)
            for kind, found in self.raised.items()
            for text, count in found.items()
        ]
        return "\n".join(
            f"{count:6} {kind} line by line: {text}"
            for count, kind, text in sorted(rows, reverse=True)[:n]
        )

    def coverage(self) -> str:
        """How many functions have each hazard in a branch, a loop, a helper, or none of them."""
        rows: dict[tuple[str, str], Counter] = {}
        for key, count in self.tags.items():
            kind, name, around = (
                key.split("|", 2) if key.count("|") == 2 else (key[0], *key[2:].rsplit("|", 1))
            )
            rows.setdefault((kind, name), Counter())[around] = count
        heads = ("plain", "branch", "loop", "helper")
        lines = [f"{'hazard':44}" + "".join(f"{head:>8}" for head in heads)]
        for (kind, name), counts in sorted(rows.items()):
            lines.append(f"{kind} {name[:41]:42}" + "".join(f"{counts[head]:8}" for head in heads))
        return "\n".join(lines)
