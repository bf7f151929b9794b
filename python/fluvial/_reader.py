"""Readers: where batches come from, in both modes.

A reader is a description. `reader.iterate()` goes through it: in a Python loop line by line, and as one op of
a program, which then reads its data by itself.
"""

from __future__ import annotations

import os

from . import _core
from ._core import Tensor
from ._fault import fault
from ._stages import Images, call as _call, text as _text
from ._sequence import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ._core import TypeLike

#: How many readers of the process have got their name from us.
_count = [0]
#: Readers that programs have in them stay alive.
_in_programs: list[object] = []


def _types(fields: Mapping[str, TypeLike] | None) -> list[tuple[str, TypeLike]] | None:
    return None if fields is None else list(fields.items())


class Position:
    """Where a reader or a loader of this name stands: a state of the current scope."""

    def __init__(self, name: str) -> None:
        self.state = f"{name}.position"

    def get(self) -> tuple[int, int]:
        """The number of the pass, and of the next result in it."""
        state = _core.State.current()
        if self.state not in state:
            return 0, 0
        epoch, index = state[self.state].tolist()
        return epoch, index

    def set(self, position: tuple[int, int]) -> None:
        """Has it stand there."""
        value = _core.tensor([int(part) for part in position], dtype="int64")
        _core.State.current().insert(self.state, value, "counter")


class Reader(Images):
    """Gives batches, one after another, in an order that depends on its seeds and the number of the pass.

    Made by `fl.batch_reader`, `fl.reader` and the methods here, each of which gives a new one. Where it stands is
    the state `<name>.position`: the number of the pass, and of the next result in it. Saved with the other
    states, it makes a later run go on with the very next batch.

    Example:
        >>> reader = fl.reader({"x": np.arange(6.0), "y": np.arange(6)}).shuffle(seed=1).batch(4)
        >>> reader
        Reader(x: f64[batch], y: i64[batch]; 2 a pass)
        >>> [len(x) for x, y in reader]
        [4, 2]
    """

    def __init__(self, core: _core.Reader, name: str, sequences: Iterable[str] = ()) -> None:
        self._core, self.name = core, name
        #: Fields that are sequences of different lengths; each has its lengths in a field of its own.
        self._sequences = tuple(sequences)
        names = [field for field, _ in core.fields()] if self._sequences else []
        for field in self._sequences:
            if field not in names or _lengths_of(field) not in names:
                raise fault(
                    ValueError,
                    f"the sequences `{field}` and their lengths do not go on together through this stage",
                    "call `ragged` behind it",
                )

    def _then(self, stage: str) -> Reader:
        return Reader(self._core.then(stage), self.name, self._sequences)

    def _given(self, sample: Sequence[Tensor]) -> Any:
        """What users get of a result: sequences with their lengths as Ragged, and a single field as it is."""
        if self._sequences:
            from ._ragged import Ragged

            parts = dict(zip((field for field, _ in self._core.fields()), sample))
            for field in self._sequences:
                lengths = parts.pop(_lengths_of(field))
                # A single sample is its sequence.
                if lengths.ndim:
                    parts[field] = Ragged.from_padded(parts[field], lengths)  # type: ignore[assignment]
            sample = tuple(parts.values())
        return sample[0] if len(sample) == 1 else tuple(sample)

    def named(self, name: str) -> Reader:
        """The reader under another name: of its own position, whatever else reads the same data.

        Args:
            name: The name.
        """
        return Reader(self._core, name, self._sequences)

    # Stages ------------------------------------------------------------------------------------

    def shuffle(self, seed: int = 0, buffer: int | None = None) -> Reader:
        """In another order in each pass.

        Args:
            seed: Orders are a function of it and the number of the pass.
            buffer: How many samples are mixed at a time where they come one by one.
        """
        return self._then(_call("shuffle", seed=seed, buffer=buffer))

    def batch(self, size: int, drop_last: bool = False) -> Reader:
        """Samples stacked, so many at a time.

        Args:
            size: How many.
            drop_last: Whether a smaller batch at the end of a pass is left out.
        """
        return self._then(_call("batch", size, drop_last=drop_last or None))

    def prefetch(self, n: int = 2) -> Reader:
        """Reads ahead on a thread.

        Args:
            n: How many results.
        """
        return self._then(_call("prefetch", n))

    def take(self, n: int) -> Reader:
        """The first `n` of each pass."""
        return self._then(_call("take", n))

    def skip(self, n: int) -> Reader:
        """All but the first `n` of each pass."""
        return self._then(_call("skip", n))

    def repeat(self, n: int) -> Reader:
        """`n` passes as one."""
        return self._then(_call("repeat", n))

    def shard(self, rank: int | None = None, world: int | None = None) -> Reader:
        """Every `world`-th, from number `rank` on: the part of one of several workers. Without numbers, those of the
        rank that reads (`fl.dist`)."""
        if (rank is None) != (world is None):
            raise fault(TypeError, "`shard` was given one of `rank` and `world`", "give both, or none")
        if rank is None:
            return self._then(_call("shard"))
        return self._then(_call("shard", rank=rank, world=world))

    def select(self, *fields: str) -> Reader:
        """These fields, in this order."""
        return self._then(_call("select", *fields))

    def rename(self, field: str, name: str) -> Reader:
        """A field under another name."""
        return self._then(_call("rename", field, name))

    def cast(self, field: str, dtype: object) -> Reader:
        """A field as another element type."""
        short = _core.tensor(0, dtype=dtype).type_text.partition("[")[0]  # type: ignore[arg-type]
        return self._then(f"cast({_text(field)}, {short})")

    def scale(self, field: str, factor: float = 1.0, offset: float = 0.0) -> Reader:
        """A field times `factor`, plus `offset`."""
        return self._then(_call("scale", field, factor=float(factor), offset=float(offset)))

    def pad(
        self,
        *fields: str,
        size: int | None = None,
        multiple: int | None = None,
        value: float = 0.0,
        length: str | None = None,
        mask: str | None = None,
    ) -> Reader:
        """Sequences of different sizes as long as the longest of their batch.

        Args:
            *fields: Which fields.
            size: As long as this instead.
            multiple: As long as a multiple of this.
            value: What is put behind.
            length: A name for a further field, the lengths before.
            mask: A name for a further field: true where a sequence was.
        """
        stage = _call(
            "pad", *fields, size=size, multiple=multiple, value=float(value), length=length, mask=mask
        )
        return self._then(stage)

    def ragged(self, *fields: str) -> Reader:
        """Sequences of different lengths as `fl.Ragged`, once they are batched.

        Args:
            *fields: Which fields; their first axis is that of the rows.

        Example:
            >>> def lines():
            ...     yield from [([1, 2], 0), ([3], 1), ([4, 5, 6], 0)]
            >>> reader = fl.reader(lines, {"words": "i64[n]", "label": "i64[]"}).ragged("words").batch(2)
            >>> for words, label in reader:
            ...     print(words, label.tolist())
            Ragged([[1, 2], [3]]) [0, 1]
            Ragged([[4, 5, 6]]) [0]
        """
        made = self
        for field in fields:
            made = made.pad(field, length=_lengths_of(field))
        return Reader(made._core, self.name, (*self._sequences, *fields))

    def bucket(
        self, size: int, field: str, sizes: Sequence[int], drop_last: bool = False
    ) -> Reader:
        """Batches of sequences of like length.

        Args:
            size: How many in a batch.
            field: Whose length counts.
            sizes: The bounds of the buckets.
            drop_last: Whether smaller batches at the end are left out.
        """
        stage = _call("bucket", size, field, sizes=listed(sizes, "bounds"), drop_last=drop_last or None)
        return self._then(stage)

    def map(
        self, function: Callable[..., Any], fields: Mapping[str, TypeLike] | None = None
    ) -> Reader:
        """Each result through a Python function. A program with it in it needs this process.

        Args:
            function: Takes the tensors, returns as many or those of `fields`; the same for the same ones.
            fields: Names and types of what it returns, if they are others.
        """
        core = self._core.map(_function_name(function), function, _types(fields))
        return Reader(core, self.name, self._sequences)

    def filter(self, function: Callable[..., bool]) -> Reader:
        """The results for which a Python function says yes. A program with it needs this process.

        Args:
            function: Takes the tensors; the same answer for the same ones.
        """
        core = self._core.filter(_function_name(function), function)
        return Reader(core, self.name, self._sequences)

    @staticmethod
    def zip(*readers: Reader, name: str | None = None) -> Reader:
        """Readers side by side: the fields of all of them, to the end of the shortest.

        Args:
            *readers: The readers.
            name: Names the position; by default the name of the first.
        """
        sequences = [field for r in readers for field in r._sequences]
        return Reader(_core.Reader.zip([r._core for r in readers]), name or readers[0].name, sequences)

    @staticmethod
    def interleave(*readers: Reader, name: str | None = None) -> Reader:
        """The results of several readers of the same fields in turn.

        Args:
            *readers: The readers.
            name: Names the position; by default the name of the first.
        """
        core = _core.Reader.interleave([r._core for r in readers])
        return Reader(core, name or readers[0].name, readers[0]._sequences)

    # Looking -----------------------------------------------------------------------------------

    @property
    def fields(self) -> dict[str, str]:
        """The types of what it gives, by name."""
        return dict(self._core.fields())

    @property
    def description(self) -> str:
        """What programs say of it."""
        return self._core.text

    def __len__(self) -> int:
        length = self._core.length()
        if length is None:
            raise TypeError("only reading tells how many results a pass of this reader has")
        return length

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}: {type}" for name, type in self.fields.items())
        length = self._core.length()
        return f"Reader({fields}{'' if length is None else f'; {length} a pass'})"

    # Going through -----------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        """One pass from its start; the position stays as it is."""
        if _core.is_building():
            raise RuntimeError(
                "a reader in a program is gone through by `reader.iterate()`\n"
                "  remedy: write `for … in reader.iterate():`"
            )
        return map(self._given, self._core.start(0, 0))

    def iterate(self, epochs: int = 1) -> Iteration:
        """The loop over the reader, from its position to the end of the pass.

        `for x, y in reader.iterate():` works line by line and, under `@fl.function`, as a loop of the program.
        `with reader.iterate() as (x, y):` puts the loop into the program being built; where none is, into
        the default one, which `fl.run()` runs; in mode "imperative" it runs at once.

        Args:
            epochs: How many passes, with the one that the position stands in.

        Example:
            >>> reader = fl.reader({"x": np.arange(4.0)}, name="numbers").batch(2)
            >>> with fl.State():
            ...     for x in reader.iterate():
            ...         print(x.tolist())
            ...     reader.position
            [0.0, 1.0]
            [2.0, 3.0]
            (1, 0)
        """
        return Iteration(self, epochs)

    @property
    def position(self) -> tuple[int, int]:
        """The number of the pass, and of the next result in it. It can be assigned."""
        return Position(self.name).get()

    @position.setter
    def position(self, position: tuple[int, int]) -> None:
        Position(self.name).set(position)


def _function_name(function: Any) -> str:
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', 'function')}"
    if "<" in name:
        _count[0] += 1
        name = f"{name}#{_count[0]}"
    return name


def _lengths_of(field: str) -> str:
    """The field with the lengths of sequences."""
    return f"{field}_lengths"


class Iteration:
    """A loop over a reader, as `Reader.iterate` gives it."""

    def __init__(self, reader: Reader, epochs: int) -> None:
        if isinstance(epochs, Tensor):
            raise fault(
                TypeError,
                f"the number of passes is {epochs.type_text}, but must be known when the loop begins",
                "give an int; a loop around a loop of one pass may end whenever a tensor says so",
            )
        if epochs < 0:
            raise ValueError(f"{epochs} passes cannot be made")
        self.reader, self.epochs = reader, epochs

    def __iter__(self) -> Iterator[Any]:
        if _core.is_building():
            raise RuntimeError(
                "a loop over a reader in a program must be converted from its source\n"
                "  remedy: put `@fl.function` on the function, or write `with reader.iterate() as …:`"
            )
        epoch, index = self.reader.position
        cursor = self.reader._core.start(epoch, index)
        for last in range(epoch + 1, epoch + self.epochs + 1):
            for sample in cursor:
                # A checkpoint in the body of the loop counts this batch as read.
                self.reader.position = cursor.position()
                yield self.reader._given(sample)
            self.reader.position = (last, 0)
            cursor.next_epoch()

    def __len__(self) -> int:
        return self.epochs * len(self.reader)

    # As a block of a program ---------------------------------------------------------------------

    def begin(self) -> list[str]:
        """The types of the parameters of the block."""
        self.types = self.reader._core.loop_types()
        return self.types

    def close(self, carried: list[Tensor], block: _core.Block) -> list[Tensor]:
        """The loop over a block, in the program being built; gives what it carries."""
        _in_programs.append(self.reader._core)
        name = Position(self.reader.name).state
        position = _core.declare_state(name, (2,), "int64", init=0, role="counter")
        position, outputs = _core.for_each_of(
            self.reader._core, self.epochs, self.types, position, carried, block
        )
        _core.assign_state(name, position)
        return outputs

    def __enter__(self) -> Any:
        from ._modes import enter_default, requested_mode
        from ._run import built_by_default

        self.alone = not _core.is_building()
        if self.alone and requested_mode() == "imperative":
            _core.begin_program()
        elif self.alone:
            self.alone = False
            enter_default()
            built_by_default()
        params = _core.begin_block(self.begin())
        return self.reader._given(params)

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        if exception is not None:
            _core.abort_block()
            if self.alone:
                _core.abort_program()
            return
        try:
            self.close([], _core.end_block([True]))
        except BaseException:
            if self.alone:
                _core.abort_program()
            raise
        if self.alone:
            _core.end_program({}).run()


def reader(
    source: Any,
    fields: Mapping[str, TypeLike] | None = None,
    *,
    name: str | None = None,
    workers: int = 0,
    seed: int | None = None,
) -> Reader:
    """A reader of what is in memory: arrays, datasets of Python, or what a Python function gives.

    Args:
        source: Arrays by name, of as many samples each, or one, or several in order; a table of Arrow; a dataset,
            which is any object with `__len__` and `__getitem__`; or a function that gives an iterable of samples,
            anew for each pass. With `fields`, any iterable that can be gone through again and again.
        fields: For datasets, functions and iterables: names and types of what is read of a sample. Those of a
            dataset are by default those of its first sample.
        name: Names its position; by default after the order in which readers are made.
        workers: For datasets: how many processes make samples.
        seed: For datasets: the seed of what samples draw at random, by default that of `fl.seed`. It depends neither
            on the number of workers nor on where the reader starts.

    Example:
        >>> def squares():
        ...     for i in range(5):
        ...         yield fl.tensor(i), fl.tensor(i * i)
        >>> r = fl.reader(squares, {"x": "i64[]", "y": "i64[]"}).batch(3)
        >>> [y.tolist() for x, y in r]
        [[0, 1, 4], [9, 16]]
    """
    from . import _items

    if isinstance(source, (str, os.PathLike)):
        raise fault(
            TypeError,
            f"`fl.reader` reads what is in memory, and {os.fspath(source)!r} is a path",
            f"write `fl.batch_reader({os.fspath(source)!r}, batch_size=…)`",
        )
    name = _named(name)
    if _items.is_dataset(source):
        from .utils.data._random import seed_of

        return Reader(_items.items(source, fields, name, workers, seed_of(seed)), name)
    if workers:
        raise fault(
            ValueError,
            "worker processes make samples of datasets only",
            "give an object with `__len__` and `__getitem__`",
        )
    if fields is not None:
        start = source if callable(source) else (lambda: source)
        return Reader(_items.stream(start, fields, name), name)
    source = _items.columns_of(source) or source
    if callable(source):
        raise TypeError(
            "a function tells no types\n"
            '  remedy: give `fields`, names and types of a sample: {"x": "f32[784]", "y": "i64[]"}'
        )
    if hasattr(source, "items"):
        named = [(str(key), value) for key, value in source.items()]  # type: ignore[union-attr]
    elif isinstance(source, (tuple, list)):
        named = [(str(i), value) for i, value in enumerate(source)]
    else:
        named = [("0", source)]
    arrays = [(key, _core.tensor(value)) for key, value in named]
    return Reader(_core.Reader.arrays(arrays), name)


def _named(name: str | None) -> str:
    if name is None:
        name = f"reader_{_count[0]}"
        _count[0] += 1
    return name


_FORMATS = {
    ".rec": "recordio",
    ".recordio": "recordio",
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".txt": "text",
    ".parquet": "parquet",
}


def batch_reader(
    file: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    batch_size: int | None = None,
    shape: Sequence[Sequence[int]] | None = None,
    dtype: Sequence[str] | None = None,
    format: str | None = None,
    *,
    shuffle: int | None = None,
    drop_last: bool = False,
    prefetch: int = 0,
    name: str | None = None,
    **settings: Any,
) -> Reader:
    """A reader of files.

    Args:
        file: A file, or several.
        batch_size: How many samples are stacked; None gives them one by one.
        shape: The sizes of each field of a sample, where the format does not tell or to check it.
        dtype: The element types.
        format: "recordio", "npy", "npz", "csv", "idx", "images" (a folder), "text" or "parquet"; by default
            what the name of the file says.
        shuffle: A seed, to give samples in another order in each pass.
        drop_last: Whether a smaller batch at the end of a pass is left out.
        prefetch: How many batches are read ahead on a thread.
        name: Names its position; by default after the order in which readers are made.
        **settings: Further settings of the format.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "xy.npz")
        >>> np.savez(path, x=np.ones((5, 2), np.float32), y=np.arange(5))
        >>> fl.batch_reader(path, batch_size=2)
        Reader(x: f32[batch, 2], y: i64[batch]; 3 a pass)
    """
    files = [file] if isinstance(file, (str, os.PathLike)) else list(file)
    paths = [os.path.normpath(os.fspath(path)) for path in files]
    if format is None:
        ending = os.path.splitext(paths[0].removesuffix(".gz"))[1]
        format = _FORMATS.get(ending, "idx" if ending.endswith("ubyte") else None)
        if format is None:
            raise ValueError(
                f"the format of `{paths[0]}` is not known\n"
                '  remedy: say it: format="recordio", "npy", "npz", "csv", "idx", "images", "text"'
            )
    if dtype is not None:
        dtype = [str(word) for word in listed(dtype, "element types")]
    shapes = None if shape is None else [listed(sizes, "sizes") for sizes in listed(shape, "shapes")]
    core = _core.Reader(_call(format, *paths, shape=shapes, dtype=dtype, **settings))
    core.allow()
    made = Reader(core, _named(name))
    if shuffle is not None:
        made = made.shuffle(shuffle)
    if batch_size is not None:
        made = made.batch(batch_size, drop_last)
    return made.prefetch(prefetch) if prefetch else made
