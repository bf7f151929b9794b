"""Readers of files as parts of programs: `read_file` gives their variables, which every run feeds itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..._fault import fault
from ..._reader import batch_reader
from .. import unique_name
from .._lists import listed
from ..core import EOFException, dtype_of
from ..framework import Block, Variable, default_main_program
from ._blocks import Closed, Guard
from .io import declared

__all__ = ["Preprocessor", "batch", "multi_pass", "open_files", "open_recordio_file", "random_data_generator", "shuffle"]

#: What readers go through: lists of arrays, one for each variable.
_Items = Callable[[], Iterator[list[Any]]]


class FileReader:
    """What a program reads, item by item. A run without a next one raises `EOFException`; `reset` begins anew.

    Args:
        items: Gives an iterator over items.
        shapes: For each variable its sizes; -1 for those that are open.
        dtypes: For each variable its element type.
    """

    def __init__(self, items: _Items, shapes: Sequence[Sequence[int]], dtypes: Sequence[Any]) -> None:
        self._items, self.shapes, self.dtypes = items, [list(shape) for shape in shapes], list(dtypes)
        self._current: Iterator[list[Any]] | None = None
        self._variables: list[Variable] = []

    @property
    def variables(self) -> list[Variable]:
        """The variables that it feeds, made when they are first asked for."""
        if not self._variables:
            program = default_main_program()
            self._variables = [
                declared(unique_name.generate("read_file.data"), shape, dtype, 0)
                for shape, dtype in zip(self.shapes, self.dtypes)
            ]
            program._readers.append(self)
        return self._variables

    @property
    def names(self) -> list[str]:
        """The names of the variables."""
        return [var.name for var in self._variables]

    def next_feed(self) -> dict[str, Any]:
        """What the next run is fed; `EOFException` at the end."""
        if self._current is None:
            self._current = self._items()
        item = next(self._current, None)
        if item is None:
            raise EOFException("there is nothing more to read: call `reader.reset()` to begin anew")
        return dict(zip(self.names, item))

    def reset(self) -> None:
        """The next run reads the first item again."""
        self._current = None


def _reader(given: Any) -> FileReader:
    if not isinstance(given, FileReader):
        raise fault(
            TypeError,
            f"{given!r} does not read files",
            "give what `layers.open_files` gave; readers of Python have `fluid.io.shuffle` and `fluid.io.batch`",
        )
    return given


def _without_levels(lod_levels: Any, remedy: str) -> None:
    if any(listed(lod_levels, "levels")):
        raise fault(NotImplementedError, "sequences of different lengths are not read here", remedy)


def open_files(
    filenames: Any,
    shapes: Sequence[Sequence[int]],
    lod_levels: Sequence[int],
    dtypes: Sequence[Any],
    thread_num: int | None = None,
    buffer_size: int | None = None,
    pass_num: int = 1,
    is_test: bool | None = None,
) -> FileReader:
    """Reads record files, of Fluid or of `fl.RecordWriter`, one after another; always in the order of the files.

    Args:
        filenames: The files, or one.
        shapes: For each variable its sizes. With -1 first an item is a whole record, otherwise one sample.
        lod_levels: For each variable 0.
        dtypes: For each variable its element type.
        thread_num: For Fluid's programs.
        buffer_size: For Fluid's programs.
        pass_num: How often all files are read before the end.
        is_test: For Fluid's programs.
    """
    _without_levels(lod_levels, "use `fl.batch_reader(…).ragged(…)` with `layers.py_reader`")
    files = [filenames] if isinstance(filenames, str) else listed(filenames, "files")
    names = [str.__str__(dtype_of(dtype).value) for dtype in dtypes]
    if len(names) != len(shapes):
        raise fault(ValueError, f"{len(shapes)} sizes and {len(names)} element types", "give one of each for every variable")
    sizes = [list(shape) for shape in shapes]

    def items() -> Iterator[list[Any]]:
        for file in files:
            for item in batch_reader(file, shape=sizes, dtype=names, format="recordio"):
                yield [value.numpy() for value in (item if isinstance(item, (list, tuple)) else [item])]

    return multi_pass(FileReader(items, sizes, names), pass_num)


def open_recordio_file(
    filename: str,
    shapes: Sequence[Sequence[int]],
    lod_levels: Sequence[int],
    dtypes: Sequence[Any],
    pass_num: int = 1,
    for_parallel: bool = True,
) -> FileReader:
    """Reads one record file; see `open_files`.

    Args:
        filename: The file.
        shapes: For each variable its sizes.
        lod_levels: For each variable 0.
        dtypes: For each variable its element type.
        pass_num: How often the file is read before the end.
        for_parallel: For Fluid's programs.
    """
    return open_files([filename], shapes, lod_levels, dtypes, pass_num=pass_num)


def random_data_generator(
    low: float, high: float, shapes: Sequence[Sequence[int]], lod_levels: Sequence[int], for_parallel: bool = True
) -> FileReader:
    """Random numbers in place of files, without an end. The seed of the program says which.

    Args:
        low: The least number.
        high: Numbers are less.
        shapes: For each variable its sizes.
        lod_levels: For each variable 0.
        for_parallel: For Fluid's programs.
    """
    _without_levels(lod_levels, "give 0 for each variable")
    program = default_main_program()

    def items() -> Iterator[list[Any]]:
        import numpy as np

        rng = np.random.default_rng(program.random_seed)
        while True:
            yield [rng.uniform(low, high, tuple(shape)).astype("float32") for shape in shapes]

    return FileReader(items, shapes, ["float32"] * len(shapes))


def multi_pass(reader: FileReader, pass_num: int) -> FileReader:
    """The items of a reader several times.

    Args:
        reader: The reader.
        pass_num: How often.
    """
    given = _reader(reader)

    def items() -> Iterator[list[Any]]:
        for _ in range(int(pass_num)):
            yield from given._items()

    return given if pass_num == 1 else FileReader(items, given.shapes, given.dtypes)


def shuffle(reader: FileReader, buffer_size: int) -> FileReader:
    """The items of a reader in another order, which is another one in each pass. The seed of the program says which.

    Args:
        reader: The reader.
        buffer_size: So many items are read, and given in another order, before further ones are read.
    """
    given, program = _reader(reader), default_main_program()
    if buffer_size < 1:
        raise fault(ValueError, f"a buffer of {buffer_size} items", "give at least 1")
    passes = [0]

    def items() -> Iterator[list[Any]]:
        import itertools
        import random

        rng = random.Random(f"{program.random_seed} {passes[0]}")
        passes[0] += 1
        source = given._items()
        while kept := list(itertools.islice(source, int(buffer_size))):
            rng.shuffle(kept)
            yield from kept

    return FileReader(items, given.shapes, given.dtypes)


def batch(reader: FileReader, batch_size: int) -> FileReader:
    """Several items of a reader as one: records are joined by their rows, samples stacked. As in Fluid, fewer items at the end
    are left out.

    Args:
        reader: The reader.
        batch_size: How many items.
    """
    given = _reader(reader)
    if batch_size < 1:
        raise fault(ValueError, f"batches of {batch_size} items", "give at least 1")
    joins = [bool(shape) and shape[0] == -1 for shape in given.shapes]
    shapes = [shape if join else [-1, *shape] for shape, join in zip(given.shapes, joins)]

    def items() -> Iterator[list[Any]]:
        import itertools

        import numpy as np

        source = given._items()
        while len(kept := list(itertools.islice(source, int(batch_size)))) == batch_size:
            yield [(np.concatenate if join else np.stack)(column) for join, column in zip(joins, zip(*kept))]

    return FileReader(items, shapes, given.dtypes)


class Preprocessor:
    """A block that every item of a reader goes through: `inputs` gives its variables, `outputs` says what comes out.

    Args:
        reader: The reader.
        name: For Fluid's programs.
    """

    def __init__(self, reader: FileReader, name: str | None = None) -> None:
        self._reader = _reader(reader)
        self._block: Block | None = None
        self._sources: list[Variable] = []
        self._sinks: list[Variable] = []
        self._closed: Closed | None = None

    def block(self) -> Guard:
        """The scope of the block."""

        def enter(block: Block) -> None:
            self._block = block

        def leave(block: Block) -> None:
            self._block = None
            if not self._sources or not self._sinks:
                raise fault(RuntimeError, "what goes in or out is not said", "call `inputs()` and `outputs(…)` in the block")
            with block.building():
                results = [block.value(var) for var in self._sinks]
            others = [var.name for var in block._inputs.values()]
            if others or block._written:
                raise fault(
                    NotImplementedError,
                    f"the block uses {', '.join(f'`{name}`' for name in [*others, *block._written])} from outside",
                    "use what `inputs()` gives, and constants",
                )
            self._closed = Closed(block, results)

        return Guard(leave, "Preprocessor", enter)

    def _inside(self) -> Block:
        if self._block is None:
            raise fault(RuntimeError, "no block is open", "write it inside of `with preprocessor.block():`")
        return self._block

    def inputs(self) -> list[Variable]:
        """The variables of an item, in the block."""
        block, given = self._inside(), self._reader
        from .io import input_of

        with block.building():
            for i, (shape, dtype) in enumerate(zip(given.shapes, given.dtypes)):
                value = input_of(f"x{i}", shape, dtype, 0)
                self._sources.append(block.made(value, label="preprocessor_source"))
        return list(self._sources)

    def outputs(self, *outs: Variable) -> None:
        """What comes out in place of an item.

        Args:
            *outs: Variables of the block.
        """
        self._inside()
        self._sinks = list(outs)

    def __call__(self) -> FileReader:
        closed, given = self._closed, self._reader
        if closed is None:
            raise fault(RuntimeError, "the block is not there yet", "write `with preprocessor.block():` before")
        names = [label for label in closed.program.inputs]

        def items() -> Iterator[list[Any]]:
            for item in given._items():
                found = closed.program.run({name: item[int(name[1:])] for name in names})
                yield [found[f"out{i}"].numpy() for i in range(closed.n_results)]

        shapes = [var.shape for var in self._sinks]
        return FileReader(items, shapes, [var.dtype for var in self._sinks])
