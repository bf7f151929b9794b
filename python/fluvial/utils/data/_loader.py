"""The loader: batches of a dataset, line by line, made in this process or in others, with a position that is kept."""

from __future__ import annotations

import itertools
from collections import deque

from ... import _core
from ..._fault import fault
from ..._reader import Position
from ._collate import default_collate, default_convert
from ._datasets import IterableDataset
from ._fetch import Fetch
from ._random import kept, mixed, seed_all, seed_of
from ._samplers import BatchSampler, RandomSampler, SequentialSampler
from ._workers import WorkerInfo, Workers, being

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from typing import Any

#: What a worker sends when its part is over.
_OVER = "fluvial.over"
#: Counts loaders that have no name of their own.
_count = itertools.count()


class DataLoader:
    """Batches of a dataset, with the arguments of PyTorch's.

    Each `for batch in loader` is one pass, in another order each time if it shuffles. Where the loader stands is the
    state `<name>.position`, saved with all others: after `fl.load_states`, or `load_state_dict`, the loop goes on with
    the very next batch. What a sample draws at random, by `random`, NumPy or Fluvial, depends on the seed, the pass
    and its number: neither on the number of workers nor on where the loop started.

    Args:
        dataset: An object with `__len__` and `__getitem__`, or an iterable of samples.
        batch_size: How many samples are put together; None gives them one by one.
        shuffle: Whether in another order in each pass.
        sampler: Gives the numbers of the samples of a pass.
        batch_sampler: Gives lists of numbers, one for each batch.
        num_workers: How many processes make samples; 0 makes them in this one.
        collate_fn: Makes a batch of a list of samples; by default `default_collate`.
        pin_memory: Taken, and of no effect: there is no other memory to copy to.
        drop_last: Whether a smaller batch at the end of a pass is left out.
        timeout: How many seconds a worker may take for a batch; 0 for as long as it takes.
        worker_init_fn: Called in each worker with its number.
        multiprocessing_context: How workers start: "fork", "spawn" or "forkserver".
        generator: A seed, for the order and for what samples draw; by default that of `fl.seed`.
        prefetch_factor: How many batches each worker makes ahead, 2 by default.
        persistent_workers: Whether workers stay for the next pass.
        name: Names its position; by default after the order in which loaders are made.

    Example:
        >>> loader = fl.utils.data.DataLoader(range(6), batch_size=4, shuffle=True, generator=1, name="six")
        >>> with fl.State():
        ...     sizes = [len(batch) for batch in loader]
        ...     sizes, loader.position
        ([4, 2], (1, 0))
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], object] | None = None,
        multiprocessing_context: Any = None,
        generator: int | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        name: str | None = None,
    ) -> None:
        self.is_iterable = isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__")
        _check(self.is_iterable, shuffle, sampler, batch_sampler, batch_size, drop_last)
        if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
            raise ValueError(f"the number of workers is {num_workers!r}, but must be an int from 0 on")
        if num_workers == 0 and (prefetch_factor is not None or persistent_workers or timeout):
            raise fault(
                ValueError,
                "`prefetch_factor`, `persistent_workers` and `timeout` are for worker processes",
                "give `num_workers`, too",
            )
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError(f"`prefetch_factor` is {prefetch_factor}, but must be above 0")
        self.dataset: Any = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor or 2
        self.persistent_workers, self.timeout = persistent_workers, timeout
        self.seed = seed_of(generator)
        self.batch_size: int | None = None if batch_sampler is not None else batch_size
        self.drop_last = drop_last
        self.sampler: Any = sampler
        if sampler is None and not self.is_iterable:
            self.sampler = RandomSampler(dataset, generator=self.seed) if shuffle else SequentialSampler(dataset)
        self.batch_sampler: Any = batch_sampler
        if batch_sampler is None and batch_size is not None and not self.is_iterable:
            self.batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self._is_batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if self._is_batched else default_convert)
        self.name = f"loader_{next(_count)}" if name is None else name
        self._place = Position(self.name)
        convert = _Collate(self.collate_fn, self._is_batched)
        self._fetch = Fetch(
            dataset, self.seed, num_workers, convert, worker_init_fn, multiprocessing_context, timeout
        )
        self._init, self._context = worker_init_fn, multiprocessing_context

    @property
    def position(self) -> tuple[int, int]:
        """The number of the pass, and of the next batch in it. It can be assigned."""
        return self._place.get()

    @position.setter
    def position(self, position: tuple[int, int]) -> None:
        self._place.set(position)

    def state_dict(self) -> dict[str, int]:
        """Where the loader stands."""
        epoch, batch = self.position
        return {"epoch": epoch, "batch": batch}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Has the next loop go on from there.

        Args:
            state: What `state_dict` gave.
        """
        self.position = (state["epoch"], state["batch"])

    def __len__(self) -> int:
        if self.is_iterable:
            n = len(self.dataset)
            size = self.batch_size or 1
            return n // size if self.drop_last else -(-n // size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        if _core.is_building():
            raise fault(
                RuntimeError,
                "a `DataLoader` runs Python for each batch, which a program does not",
                "write `for x, y in fl.reader(dataset).batch(32).iterate():` in the function, or loop outside of it",
            )
        epoch, start = self.position
        batches = self._from_iterable(epoch, start) if self.is_iterable else self._by_number(epoch, start)
        try:
            for n, batch in enumerate(batches, start + 1):
                # What is saved in the body of the loop counts this batch as read.
                self.position = (epoch, n)
                yield batch
        except GeneratorExit:
            # Whoever leaves the loop begins the next pass.
            self.position = (epoch + 1, 0)
            raise
        finally:
            batches.close()
        self.position = (epoch + 1, 0)

    def _numbers(self, epoch: int, start: int) -> Iterator[list[Any]]:
        """The numbers of the samples of each batch."""
        chosen = self.batch_sampler if self.batch_sampler is not None else self.sampler
        if hasattr(chosen, "set_epoch"):
            chosen.set_epoch(epoch)
        with kept():
            # A sampler of the user's that draws at random has the same order when the pass is begun again.
            seed_all(mixed(self.seed, epoch))
            numbers = list(chosen) if self.batch_sampler is None else [list(batch) for batch in chosen]
        if self.batch_sampler is None:
            numbers = [[number] for number in numbers]
        return iter(numbers[start:])

    def _by_number(self, epoch: int, start: int) -> Generator[Any, None, None]:
        jobs = ((epoch, numbers) for numbers in self._numbers(epoch, start))
        if self.num_workers == 0:
            for _, numbers in jobs:
                yield self._fetch.here(epoch, numbers)
            return
        is_whole = False
        try:
            yield from _ahead(self._fetch.start(), jobs, self.prefetch_factor)
            is_whole = True
        finally:
            if not (self.persistent_workers and is_whole):
                self._fetch.stop()

    def _from_iterable(self, epoch: int, start: int) -> Generator[Any, None, None]:
        part = _Part(self.batch_size, self.drop_last, self._fetch.convert, self._init, epoch)
        if self.num_workers == 0:
            with kept(), being(None):
                step = part(WorkerInfo(0, 1, self.seed, self.dataset), False)
            for n in itertools.count():
                with kept(), being(None):
                    batch = step(n)
                if isinstance(batch, str) and batch == _OVER:
                    return
                if n >= start:
                    yield batch
            return
        info = WorkerInfo(0, self.num_workers, self.seed, self.dataset)
        pool = Workers(self.num_workers, part, info, self._context, self.timeout)
        try:
            yield from itertools.islice(_in_turns(pool, self.prefetch_factor), start, None)
        finally:
            pool.close()


def _check(is_iterable: bool, shuffle: Any, sampler: Any, batch_sampler: Any, batch_size: Any, drop_last: bool) -> None:
    """Refuses arguments that contradict each other."""
    if is_iterable and (shuffle or sampler is not None or batch_sampler is not None):
        raise fault(
            ValueError,
            "samples that come one after another have no numbers to order them by",
            "shuffle inside of the dataset, or use `fl.reader(...).shuffle(seed, buffer=1000)`",
        )
    if sampler is not None and shuffle:
        raise fault(ValueError, "both `sampler` and `shuffle` say the order", "give one of them")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise fault(
            ValueError,
            "`batch_sampler` says what `batch_size`, `shuffle`, `sampler` and `drop_last` would",
            "leave those out",
        )
    if batch_sampler is None and batch_size is None and drop_last:
        raise fault(ValueError, "without batches none is the last", "leave `drop_last` out, or give a `batch_size`")
    if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1):
        raise ValueError(f"the batch size is {batch_size!r}, but must be an int above 0, or None")


class _Collate:
    """From samples to what the loop gets: an object, so that it can be sent to a worker."""

    def __init__(self, collate: Callable[[Any], Any], is_batched: bool) -> None:
        self.collate, self.is_batched = collate, is_batched

    def __call__(self, samples: list[Any]) -> Any:
        return self.collate(samples if self.is_batched else samples[0])


class _Part:
    """The part of one worker of an iterable dataset, batch by batch."""

    def __init__(
        self, size: int | None, drop_last: bool, convert: Any, init: Callable[[int], object] | None, epoch: int
    ) -> None:
        self.size, self.drop_last, self.convert, self.init, self.epoch = size, drop_last, convert, init, epoch

    def __call__(self, info: WorkerInfo, is_worker: bool = True) -> Callable[[Any], Any]:
        if is_worker and self.init is not None:
            self.init(info.id)
        seed = mixed(info.seed, self.epoch, info.id)
        seed_all(seed)
        samples = iter(info.dataset)

        def step(number: int) -> Any:
            # What a batch draws does not depend on what else the process has drawn.
            seed_all(mixed(seed, number))
            batch = list(itertools.islice(samples, self.size or 1))
            if not batch or (self.drop_last and len(batch) < (self.size or 1)):
                return _OVER
            return self.convert(batch)

        return step


def _ahead(pool: Workers, jobs: Iterator[Any], factor: int) -> Iterator[Any]:
    """The results of jobs in order, while workers go on with the next ones."""
    under_way: deque[int] = deque()
    turns = itertools.cycle(range(len(pool)))
    for job in itertools.islice(jobs, factor * len(pool)):
        worker = next(turns)
        pool.send(worker, job)
        under_way.append(worker)
    while under_way:
        result = pool.receive(under_way.popleft())
        job = next(jobs, None)
        if job is not None:
            worker = next(turns)
            pool.send(worker, job)
            under_way.append(worker)
        yield result


def _in_turns(pool: Workers, factor: int) -> Iterator[Any]:
    """The results of workers that take turns until each is over."""
    asked = [0] * len(pool)
    under_way: deque[int] = deque()

    def ask(worker: int) -> None:
        pool.send(worker, asked[worker])
        asked[worker] += 1
        under_way.append(worker)

    over: set[int] = set()
    for _ in range(factor):
        for worker in range(len(pool)):
            ask(worker)
    while under_way:
        worker = under_way.popleft()
        result = pool.receive(worker)
        if isinstance(result, str) and result == _OVER:
            over.add(worker)
        elif worker not in over:
            ask(worker)
            yield result
