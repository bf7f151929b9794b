"""Variables whose rows are sequences of different lengths: `fl.Ragged` as inputs, feeds and results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._fault import fault
from .._ragged import Ragged
from .lod_tensor import LoDTensor
from .variable import Variable

__all__ = ["Ragged", "as_input", "declared", "fed", "fetched", "grouped", "input_names", "to_lod"]


def _label(name: str, level: int) -> str:
    return f"{name}.lengths{level}"


def _symbol(text: str) -> str:
    return re.sub(r"\W", "_", text)


def declared(name: str, sizes: Sequence[int], dtype: str, levels: int) -> Ragged:
    """Inputs of the program being built: all rows, and lengths for each level.

    Args:
        name: The name of the variable.
        sizes: The sizes of all rows; the first one is open.
        dtype: The element type.
        levels: How many levels of sequences there are.
    """
    rest = [_symbol(f"{name}_{axis}") if size == -1 else int(size) for axis, size in enumerate(sizes)][1:]
    data = _core.program_input(name, dtype, [_symbol(f"{name}_rows"), *rest])
    counts = ["batch", *(_symbol(f"{name}_parts{level}") for level in range(1, levels))]
    lengths = [_core.program_input(_label(name, level), "int64", [counts[level]]) for level in range(levels)]
    return Ragged.from_lengths(data, *lengths)


def as_input(label: str, outer: Ragged) -> Ragged:
    """Inputs of an inner block that stand for sequences of an outer one."""
    from .framework import inner_input

    data = inner_input(label, outer.data.type_text)
    lengths = [inner_input(_label(label, level), part.type_text) for level, part in enumerate(outer.row_lengths)]
    return Ragged.from_lengths(data, *lengths)


def input_names(name: str, value: Ragged) -> list[str]:
    """The names of the inputs of a variable."""
    return [name, *(_label(name, level) for level in range(value.levels))]


def grouped(tensors: dict[str, Any]) -> dict[str, Any]:
    """Tensors by name, where rows and their lengths are one value.

    Args:
        tensors: By the names that `input_names` gives.
    """
    parts: set[str] = set()
    found: dict[str, Any] = {}
    for name in tensors:
        lengths: list[Any] = []
        while (label := _label(name, len(lengths))) in tensors:
            lengths.append(tensors[label])
            parts.add(label)
        found[name] = Ragged.from_lengths(tensors[name], *lengths) if lengths else tensors[name]
    return {name: value for name, value in found.items() if name not in parts}


def fed(var: Variable, value: Ragged, given: Any, read: set[str] | None = None) -> dict[str, Any]:
    """What the core is fed for sequences.

    Args:
        var: The variable.
        value: Its value in the program.
        given: A `LoDTensor`, a `Ragged`, or lists of sequences; an array of rows, if nothing reads their lengths.
        read: The inputs that are read, if it is known.
    """
    import numpy as np

    has_readers = read is None or any(_label(var.name, level) in read for level in range(value.levels))
    if isinstance(given, np.ndarray) and not has_readers:
        return {var.name: _rows(given, value)}

    if isinstance(given, (list, tuple)):
        from .data_feeder import batched

        given = batched(var, given)
    if isinstance(given, Ragged):
        made = LoDTensor()
        made.set(given.data.numpy())
        made.set_recursive_sequence_lengths(given.recursive_sequence_lengths())
        given = made
    if not isinstance(given, LoDTensor) or len(given.recursive_sequence_lengths()) != value.levels:
        raise fault(
            ValueError,
            f"`{var.name}` has rows with {value.levels} levels of lengths, and is fed {type(given).__name__} without them",
            "feed `fluid.create_lod_tensor(rows, lengths, place)`, or use `fluid.DataFeeder`",
        )
    if not given.has_valid_recursive_sequence_lengths():
        raise fault(
            ValueError,
            f"the lengths {given.recursive_sequence_lengths()} that `{var.name}` is fed do not fit "
            f"{given.shape()[0]} rows",
            "each level sums up to the number of entries of the next one, the last to the number of rows",
        )
    found: dict[str, Any] = {var.name: _rows(np.array(given), value)}
    for level, lengths in enumerate(given.recursive_sequence_lengths()):
        found[_label(var.name, level)] = np.asarray(lengths, "int64")
    return found


def _rows(given: Any, value: Ragged) -> Any:
    """Rows as the program takes them."""
    rows = given.astype(value.data.dtype.name)
    sizes = value.data.shape[1:]
    return rows.reshape((rows.shape[0], *sizes)) if all(isinstance(size, int) for size in sizes) else rows


def to_lod(value: Ragged) -> LoDTensor:
    """Sequences as Fluid's programs look at them."""
    made = LoDTensor()
    made.set(value.data.numpy())
    made.set_recursive_sequence_lengths(value.recursive_sequence_lengths())
    return made


def fetched(value: Ragged) -> tuple[list[Any], Callable[..., Any]]:
    """The tensors of sequences, and how they are made of their results."""
    return [value.data, *value.row_lengths], lambda data, *lengths: Ragged.from_lengths(data, *lengths)
