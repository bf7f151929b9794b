"""Lists of samples as what programs are fed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .._fault import fault
from .core import dtype_of
from .framework import Program, Variable, default_main_program
from .lod_tensor import LoDTensor

__all__ = ["DataFeeder"]


def batched(var: Variable, column: Sequence[Any]) -> Any:
    """One field of all samples as an array, or, if they are sequences, as rows with lengths.

    Args:
        var: The variable that is fed.
        column: The field of each sample.
    """
    import numpy as np

    name = str.__str__((var._dtype or dtype_of(var.dtype)).value)
    if var.lod_level:
        return _rows(var, list(column), name)
    parts = [np.asarray(value, name) for value in column]
    sizes = list(var._shape if var._shape is not None else var.shape)[1:]
    fixed = [size if size is not None and size >= 0 else None for size in sizes]
    if all(size is not None for size in fixed):
        wanted = tuple(int(size) for size in fixed)  # type: ignore[arg-type]
        try:
            return np.stack([part.reshape(wanted) for part in parts])
        except ValueError as error:
            bad = next(part.shape for part in parts if part.size != int(np.prod(wanted)))
            raise fault(
                ValueError,
                f"a sample for `{var.name}` has the sizes {list(bad)}, and {list(wanted)} are wanted",
                "make samples of the sizes of `layers.data`",
            ) from error
    return np.stack(parts)


def _rows(var: Variable, column: list[Any], dtype: str) -> LoDTensor:
    """Nested lists as rows with lengths, one level for each of the variable's."""
    import numpy as np

    lengths: list[list[int]] = []
    level = column
    for _ in range(var.lod_level):
        lengths.append([len(item) for item in level])
        level = [part for item in level for part in item]
    sizes = [size for size in (var._shape or (-1,))[1:]]
    rows = np.asarray(level, dtype) if level else np.zeros((0, *(1 if s == -1 else s for s in sizes)), dtype)
    if sizes and all(size is not None and size >= 0 for size in sizes):
        rows = rows.reshape((len(level), *sizes))
    found = LoDTensor()
    found.set(rows)
    found.set_recursive_sequence_lengths(lengths)
    return found


class DataFeeder:
    """Makes what `exe.run` is fed of lists of samples.

    Args:
        feed_list: Variables of `layers.data`, or their names, in the order of the fields of a sample.
        place: For Fluid's programs.
        program: The program that names belong to.
    """

    def __init__(self, feed_list: Sequence[Any], place: Any = None, program: Program | None = None) -> None:
        block = (program or default_main_program()).global_block()
        self.feed_vars = [block.var(item) if isinstance(item, str) else item for item in feed_list]
        self.feed_names = [var.name for var in self.feed_vars]
        self.place = place

    def feed(self, iterable: Iterable[Any]) -> dict[str, Any]:
        """What is fed, by name.

        Args:
            iterable: Samples, each with a field for each variable.
        """
        columns: list[list[Any]] = [[] for _ in self.feed_vars]
        for sample in iterable:
            fields = sample if isinstance(sample, (list, tuple)) else [sample]
            if len(fields) != len(columns):
                raise fault(
                    ValueError,
                    f"a sample has {len(fields)} fields, and {len(columns)} variables are fed",
                    "give one field for each of `feed_list`",
                )
            for column, field in zip(columns, fields):
                column.append(field)
        return {var.name: batched(var, column) for var, column in zip(self.feed_vars, columns)}

    def feed_parallel(self, iterable: Iterable[Any], num_places: int | None = None) -> Iterator[dict[str, Any]]:
        """What is fed for each of several batches.

        Args:
            iterable: Batches.
            num_places: For Fluid's programs.
        """
        for samples in iterable:
            yield self.feed(samples)

    def decorate_reader(
        self, reader: Callable[[], Any], multi_devices: bool, num_places: int | None = None, drop_last: bool = True
    ) -> Callable[[], Iterator[dict[str, Any]]]:
        """A reader of what is fed.

        Args:
            reader: Gives an iterator over lists of samples.
            multi_devices: For Fluid's programs: there is one device.
            num_places: For Fluid's programs.
            drop_last: For Fluid's programs.
        """
        return lambda: (self.feed(samples) for samples in reader())
