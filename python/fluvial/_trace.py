"""`fl.debug.trace`: a table of every op that a call runs."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class Output(NamedTuple):
    """What an op gave."""

    #: The type, such as "f32[2, 3]".
    type: str
    #: The least of the finite elements; NaN if there are none.
    min: float
    #: The greatest of the finite elements; NaN if there are none.
    max: float
    #: The mean of the finite elements; NaN if there are none.
    mean: float
    #: How many elements are NaN.
    n_nan: int
    #: How many elements are infinite.
    n_inf: int


class Row(NamedTuple):
    """One op that ran."""

    #: The user's file and line.
    line: str
    #: The name of the op.
    op: str
    #: How many ops, such as loops, it ran inside of.
    depth: int
    #: The types of what it took.
    inputs: tuple[str, ...]
    #: What it gave.
    outputs: tuple[Output, ...]
    #: How long it took.
    seconds: float

    @property
    def is_finite(self) -> bool:
        """Whether nothing that it gave is NaN or infinite."""
        return not any(output.n_nan or output.n_inf for output in self.outputs)


class Trace:
    """The ops that a call has run, in the order in which they began. `print` shows a table."""

    def __init__(self, result: Any, rows: list[Row], n_left_out: int) -> None:
        #: What the call has returned.
        self.result = result
        #: The ops, in order.
        self.rows = rows
        #: How many more ops ran, that are not in the table.
        self.n_left_out = n_left_out

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def first_not_finite(self) -> Row | None:
        """The first op that gave NaN or infinity, if there is one."""
        found: Row | None = None
        for row in self.rows:
            # A loop stands before what runs inside of it, which is where its number comes from.
            if found is not None and row.depth <= found.depth:
                break
            if not row.is_finite:
                found = row
        return found

    def __repr__(self) -> str:
        return f"<trace of {len(self.rows) + self.n_left_out} ops>"

    def __str__(self) -> str:
        return self.table()

    def table(self, most: int | None = None) -> str:
        """The table as text.

        Args:
            most: At most so many ops, the last ones; all by default.
        """
        rows = self.rows if most is None else self.rows[len(self.rows) - min(most, len(self.rows)) :]
        lines: list[tuple[str, ...]] = [("line", "op", "takes", "gives", "us", "min", "max", "mean", "not finite")]
        for row in rows:
            outputs = row.outputs or (Output("", math.nan, math.nan, math.nan, 0, 0),)
            for i, output in enumerate(outputs):
                head = ("", "", "", "") if i else _head(row)
                numbers = tuple(_number(x) for x in (output.min, output.max, output.mean))
                lines.append((*head[:3], output.type, head[3], *numbers, _bad(output)))
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        texts = [
            "  ".join(
                cell.rjust(width) if i in _RIGHT else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(line, widths))
            ).rstrip()
            for line in lines
        ]
        if self.n_left_out:
            texts.append(f"and {self.n_left_out} more ops")
        return "\n".join(texts)


_RIGHT = (4, 5, 6, 7)


def _head(row: Row) -> tuple[str, str, str, str]:
    takes = ", ".join(row.inputs)
    return _short(row.line), "  " * row.depth + row.op, takes, f"{row.seconds * 1e6:.1f}"


def _short(line: str) -> str:
    """The line without the current folder."""
    folder = os.getcwd() + os.sep
    return line[len(folder) :] if line.startswith(folder) else line


def _number(x: float) -> str:
    return "" if math.isnan(x) else f"{x:.4g}"


def _bad(output: Output) -> str:
    counts = ((output.n_nan, "nan"), (output.n_inf, "inf"))
    return ", ".join(f"{n} {what}" for n, what in counts if n)


def trace(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Trace:
    """Calls a function, and notes every op that it runs: the line, the types, the time, the range of the numbers.

    Compiled programs run with nothing fused, so that each row is an op of the source; the numbers are the same.
    Each op is looked at, so the call takes longer, but the times are those of the ops alone. If the call fails, the error
    has the last ops in its notes.

    Args:
        fn: A function, an `fl.function`, a program or a compiled program.
        *args: What it is called with.
        **kwargs: What it is called with, by name.

    Returns:
        The table; `result` has what the function returned.

    Example:
        >>> trace = fl.debug.trace(lambda x: fl.sum(fl.log(x)), fl.tensor([1.0, -1.0]))
        >>> [row.op for row in trace]
        ['log', 'sum']
        >>> trace.first_not_finite().op
        'log'
    """
    tracer = _core.Tracer()
    try:
        with tracer:
            result = fn(*args, **kwargs)
    except Exception as error:
        # Python 3.10 has no notes.
        add_note = getattr(error, "add_note", None)
        table = _trace_of(None, tracer).table(most=10)
        if add_note and len(table.splitlines()) > 1:
            add_note(f"the last ops before:\n{table}")
        raise
    return _trace_of(result, tracer)


def _trace_of(result: Any, tracer: _core.Tracer) -> Trace:
    rows = []
    for line, op, depth, inputs, outputs, seconds in tracer.rows():
        gave = tuple(Output(kind, *(ranges or _NOTHING)) for kind, ranges in outputs)
        rows.append(Row(line, op, depth, tuple(inputs), gave, seconds))
    return Trace(result, rows, tracer.n_left_out)


_NOTHING = (math.nan, math.nan, math.nan, 0, 0)
