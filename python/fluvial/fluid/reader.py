"""Batches from Python readers, fed to programs or given as variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._fault import fault
from ._lists import listed
from .core import EOFException
from .framework import Variable, in_dygraph_mode
from .lod_tensor import LoDTensor
from .paddle import batch
from .paddle.reader import buffered

__all__ = ["DataLoader", "PyReader"]


def variables_of(given: Any) -> list[Variable]:
    """Variables that a reader feeds.

    Args:
        given: A list of them.
    """
    found = listed(given, "variables")
    for var in found:
        if not isinstance(var, Variable):
            raise fault(TypeError, f"{type(var).__name__} is not a variable", "give variables of `layers.data`")
    return found


class GeneratorLoader:
    """Batches of a reader: by a `for` loop, or, if it is not iterable, fed by itself between `start` and `reset`.

    Args:
        feed_list: Variables of `layers.data`; none under `dygraph.guard`.
        capacity: How many batches are read ahead.
        use_double_buffer: For Fluid's programs.
        iterable: Whether a `for` loop gives the batches.
        return_list: Whether a batch is a list, rather than a dict by name.
        drop_last: For Fluid's programs.
    """

    def __init__(
        self,
        feed_list: Sequence[Any] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        drop_last: bool = True,
    ) -> None:
        if in_dygraph_mode() and feed_list is not None and not all(isinstance(var, Variable) for var in feed_list):
            # Nothing is fed where ops run at once: Fluid 1.5 takes arrays as examples there.
            feed_list = None
        self._vars: list[Variable] = [] if feed_list is None else variables_of(feed_list)
        if in_dygraph_mode() and not iterable:
            import warnings

            warnings.warn("where ops run at once, a loader is iterable: `iterable=False` is not heard", stacklevel=3)
            iterable = return_list = True
        self._capacity, self._iterable, self._return_list = int(capacity or 1), iterable, return_list
        self._batches: Callable[[], Any] | None = None
        self._current: Iterator[Any] | None = None
        self.names = [var.name for var in self._vars]
        if not iterable and self._vars and self._vars[0].block is not None:
            program = self._vars[0].block.program
            if self not in program._readers:
                program._readers.append(self)

    @property
    def iterable(self) -> bool:
        """Whether a `for` loop gives the batches."""
        return self._iterable

    # Where batches come from ----------------------------------------------------------------------

    def set_sample_generator(
        self, reader: Callable[[], Any], batch_size: int, drop_last: bool = True, places: Any = None
    ) -> GeneratorLoader:
        """Reads samples.

        Args:
            reader: Gives an iterator over samples.
            batch_size: How many make a batch.
            drop_last: Whether the last batch is left out if it is shorter.
            places: For Fluid's programs.
        """
        return self.set_sample_list_generator(batch(reader, batch_size, drop_last), places)

    def set_sample_list_generator(self, reader: Callable[[], Any], places: Any = None) -> GeneratorLoader:
        """Reads lists of samples.

        Args:
            reader: Gives an iterator over batches, each a list of samples.
            places: For Fluid's programs.
        """

        def batches() -> Iterator[list[Any]]:
            import numpy as np

            from .data_feeder import DataFeeder

            for samples in reader():
                if self._vars:
                    yield list(DataFeeder(self._vars).feed(samples).values())
                else:
                    fields = [s if isinstance(s, (list, tuple)) else [s] for s in samples]
                    yield [np.stack([np.asarray(value) for value in column]) for column in zip(*fields)]

        return self.set_batch_generator(batches, places)

    def set_batch_generator(self, reader: Callable[[], Any], places: Any = None) -> GeneratorLoader:
        """Reads lists of arrays, one for each variable.

        Args:
            reader: Gives an iterator over batches.
            places: For Fluid's programs.
        """
        self._batches = reader
        return self

    def decorate_sample_generator(
        self, sample_generator: Callable[[], Any], batch_size: int, drop_last: bool = True, places: Any = None
    ) -> GeneratorLoader:
        """`set_sample_generator` under the name of Fluid 1.5."""
        return self.set_sample_generator(sample_generator, batch_size, drop_last, places)

    decorate_sample_list_generator = set_sample_list_generator
    decorate_batch_generator = set_batch_generator

    # How batches go out ---------------------------------------------------------------------------

    def _begun(self) -> Iterator[Any]:
        if self._batches is None:
            raise fault(RuntimeError, "the loader has nothing to read", "call `set_sample_list_generator` or another")
        return iter(buffered(self._batches, self._capacity)())

    def _fed(self, items: Any) -> dict[str, Any]:
        if isinstance(items, dict):
            return dict(items)
        if len(items) != len(self._vars):
            raise fault(
                ValueError,
                f"a batch has {len(items)} arrays, and {len(self._vars)} variables are fed",
                "give one for each of `feed_list`",
            )
        return dict(zip(self.names, items))

    def __iter__(self) -> Iterator[Any]:
        if not self._iterable:
            raise fault(RuntimeError, "the loader is not iterable", "call `start`, run, and `reset` at `EOFException`")
        for items in self._begun():
            if in_dygraph_mode():
                from .dygraph.base import to_variable

                values = list(items.values()) if isinstance(items, dict) else items
                found = [to_variable(value) for value in values]
                for var in found:
                    var.stop_gradient = True
                yield found if self._return_list or not self.names else dict(zip(self.names, found))
            elif self._return_list:
                yield list(self._fed(items).values())
            else:
                # As in Fluid, one dict for each place; there is one place.
                yield [{name: _as_lod(value) for name, value in self._fed(items).items()}]

    def __call__(self) -> Iterator[Any]:
        return iter(self)

    def start(self) -> None:
        """Begins to read; the program is fed in each run from here on."""
        if self._iterable:
            raise fault(RuntimeError, "the loader is iterable", "use a `for` loop, or make it with `iterable=False`")
        if self._current is not None:
            raise fault(RuntimeError, "the loader has begun already", "call `reset` before `start`")
        self._current = self._begun()

    def reset(self) -> None:
        """Ends reading, so that `start` begins anew."""
        self._current = None

    def next_feed(self) -> dict[str, Any]:
        """What the next run is fed; `EOFException` at the end."""
        if self._current is None:
            raise fault(RuntimeError, "the reader of the program has not begun", "call `reader.start()` before `exe.run`")
        items = next(self._current, None)
        if items is None:
            raise EOFException("there is no next batch: call `reader.reset()`, and `reader.start()` for another epoch")
        return self._fed(items)


def _as_lod(value: Any) -> LoDTensor:
    return value if isinstance(value, LoDTensor) else LoDTensor._of(value)


class PyReader(GeneratorLoader):
    """Another name of what `DataLoader.from_generator` gives, with Fluid 1.5's defaults."""

    def __init__(
        self,
        feed_list: Sequence[Any] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
    ) -> None:
        super().__init__(feed_list, capacity, use_double_buffer, iterable, return_list or not feed_list)


class DataLoader:
    """Batches of a dataset that has `__len__` and `__getitem__`, in order or shuffled.

    Args:
        dataset: The dataset.
        feed_list: Variables of `layers.data`.
        places: For Fluid's programs.
        return_list: Whether a batch is a list, rather than a dict by name.
        batch_sampler: Gives lists of numbers.
        batch_size: How many samples make a batch.
        shuffle: Whether the order is random.
        drop_last: Whether the last batch is left out if it is shorter.
        collate_fn: Makes a batch of a list of samples.
        num_workers: For Fluid's programs: batches are read ahead by a thread.
        use_buffer_reader: For Fluid's programs.
        use_shared_memory: For Fluid's programs.
        timeout: For Fluid's programs.
        worker_init_fn: Refused: there are no processes that it would begin.
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Sequence[Any] | None = None,
        places: Any = None,
        return_list: bool = False,
        batch_sampler: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        use_shared_memory: bool = True,
        timeout: int = 0,
        worker_init_fn: Any = None,
    ) -> None:
        import random

        if worker_init_fn is not None:
            raise fault(
                NotImplementedError, "`worker_init_fn` begins processes, and batches are read by a thread",
                "call it before the loop",
            )  # fmt: skip

        def numbers() -> Iterator[list[int]]:
            if batch_sampler is not None:
                yield from batch_sampler
                return
            order = list(range(len(dataset)))
            if shuffle:
                random.shuffle(order)
            yield from batch(lambda: iter(order), batch_size, drop_last)()

        count = len(dataset)
        self._length = len(batch_sampler) if batch_sampler is not None else (
            count // batch_size if drop_last else -(-count // batch_size)
        )
        self._loader = GeneratorLoader(feed_list, 2, True, True, return_list or not feed_list)
        if collate_fn is not None:
            self._loader.set_batch_generator(lambda: (collate_fn([dataset[i] for i in part]) for part in numbers()))
        else:
            self._loader.set_sample_list_generator(lambda: ([dataset[i] for i in part] for part in numbers()))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        return iter(self._loader)

    def __call__(self) -> Iterator[Any]:
        return iter(self)

    @staticmethod
    def from_generator(
        feed_list: Sequence[Any] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        use_multiprocess: bool = False,
        drop_last: bool = True,
    ) -> GeneratorLoader:
        """Batches of a reader; see `GeneratorLoader`.

        Args:
            feed_list: Variables of `layers.data`; none under `dygraph.guard`.
            capacity: How many batches are read ahead.
            use_double_buffer: For Fluid's programs.
            iterable: Whether a `for` loop gives the batches.
            return_list: Whether a batch is a list, rather than a dict by name.
            use_multiprocess: For Fluid's programs: batches are read ahead by a thread.
            drop_last: For Fluid's programs.
        """
        return GeneratorLoader(feed_list, capacity, use_double_buffer, iterable, return_list, drop_last)

    @staticmethod
    def from_dataset(dataset: Any, places: Any, drop_last: bool = True) -> Any:
        """Refused: Fluid's datasets are read by its own processes."""
        raise fault(NotImplementedError, "datasets of Fluid's own trainers are not in this front", "use `from_generator`")
