"""Tables in Markdown, and the parts of bench/RESULTS.md that scripts write."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"


def number(value: float | None, digits: int = 3) -> str:
    """Three digits or so; nothing where nothing was measured."""
    if value is None or math.isnan(value):
        return ""
    if value >= 10 ** (digits - 1):
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def ratio(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.2f}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """A table, the first `left` columns of which are text and the others numbers."""
    marks = ["---"] * left + ["---:"] * (len(head) - left)
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(marks)}|"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def begin(name: str) -> str:
    return f"<!-- begin {name}: written by a script, see bench/README.md -->"


def end(name: str) -> str:
    return f"<!-- end {name} -->"


def replaced(text: str, name: str, lines: Sequence[str]) -> str:
    """The text with this part in place of the one of that name, or at the end if there is none.

    Raises:
        ValueError: If a mark has lost its partner.
    """
    first, last = text.find(begin(name)), text.find(end(name))
    new = "\n".join([begin(name), *lines, end(name)])
    if first == -1 and last == -1:
        return f"{text.rstrip()}\n\n{new}\n"
    if first == -1 or last < first:
        raise ValueError(f"the marks of the part {name!r} do not enclose anything")
    return text[:first] + new + text[last + len(end(name)) :]


def write(name: str, lines: Sequence[str], path: Path = RESULTS) -> None:
    """Replaces one part of the file, and leaves the others as they are."""
    path.write_text(replaced(path.read_text(), name, lines))
    print(f"wrote the part {name!r} of {path}")
