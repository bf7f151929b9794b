"""Readers, which are functions that give iterators over samples, and what makes readers of readers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from queue import Queue
from threading import Thread
from typing import Any

from ..._fault import fault

__all__ = [
    "cache", "map_readers", "buffered", "compose", "chain", "shuffle", "ComposeNotAligned", "firstn", "xmap_readers",
    "multiprocess_reader", "Fake",
]  # fmt: skip

Reader = Callable[[], Any]


def cache(reader: Reader) -> Reader:
    """A reader that keeps all samples in memory."""
    kept = tuple(reader())
    return lambda: iter(kept)


def map_readers(func: Callable[..., Any], *readers: Reader) -> Reader:
    """A reader of a function of the samples of several readers."""
    return lambda: map(func, *(reader() for reader in readers))


def shuffle(reader: Reader, buf_size: int) -> Reader:
    """A reader that gives samples in random order, as far as a buffer reaches.

    Args:
        reader: The reader.
        buf_size: How many samples are mixed at a time.
    """

    def shuffled() -> Iterator[Any]:
        samples = iter(reader())
        while part := list(itertools.islice(samples, buf_size)):
            random.shuffle(part)
            yield from part

    return shuffled


def chain(*readers: Reader) -> Reader:
    """A reader of the samples of one reader after those of another."""
    return lambda: itertools.chain(*(reader() for reader in readers))


class ComposeNotAligned(ValueError):
    """Readers that are composed have different numbers of samples."""


def compose(*readers: Reader, **options: Any) -> Reader:
    """A reader of tuples of the samples of several readers.

    Args:
        readers: The readers.
        options: `check_alignment`, whether different numbers of samples are an error.
    """
    check = options.pop("check_alignment", True)
    if options:
        raise fault(TypeError, f"`compose` does not know {', '.join(options)}", "it takes `check_alignment`")
    end = object()

    def composed() -> Iterator[Any]:
        iterators = [reader() for reader in readers]
        for items in itertools.zip_longest(*iterators, fillvalue=end) if check else zip(*iterators):
            if any(item is end for item in items):
                raise ComposeNotAligned("the readers have different numbers of samples")
            yield sum((item if isinstance(item, tuple) else (item,) for item in items), ())

    return composed


class _Failed:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def buffered(reader: Reader, size: int) -> Reader:
    """A reader whose samples are read ahead by another thread.

    Args:
        reader: The reader.
        size: How many at most.
    """
    end = object()

    def read(queue: Queue[Any], iterator: Any) -> None:
        try:
            for sample in iterator:
                queue.put(sample)
            queue.put(end)
        except BaseException as error:
            queue.put(_Failed(error))

    def ahead() -> Iterator[Any]:
        queue: Queue[Any] = Queue(maxsize=size)
        Thread(target=read, args=(queue, reader()), daemon=True).start()
        while (sample := queue.get()) is not end:
            if isinstance(sample, _Failed):
                raise sample.error
            yield sample

    return ahead


def firstn(reader: Reader, n: int) -> Reader:
    """A reader of the first samples.

    Args:
        reader: The reader.
        n: How many.
    """
    return lambda: itertools.islice(reader(), n)


def xmap_readers(
    mapper: Callable[[Any], Any], reader: Reader, process_num: int, buffer_size: int, order: bool = False
) -> Reader:
    """A reader of a function of samples, computed by several threads.

    Args:
        mapper: The function.
        reader: The reader.
        process_num: How many threads.
        buffer_size: How many samples are read ahead.
        order: Whether samples keep their order; they do in any case.
    """

    def mapped() -> Iterator[Any]:
        from collections import deque
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(process_num) as pool:
            waiting: Any = deque()
            for sample in reader():
                waiting.append(pool.submit(mapper, sample))
                if len(waiting) >= max(buffer_size, 1):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    return mapped


def multiprocess_reader(readers: list[Reader], use_pipe: bool = True, queue_size: int = 1000) -> Reader:
    """A reader of the samples of several readers, each read by a thread of its own.

    Args:
        readers: The readers.
        use_pipe: For Fluid's programs.
        queue_size: How many samples are read ahead.
    """
    if not readers:
        raise fault(ValueError, "there are no readers", "give at least one")

    def together() -> Iterator[Any]:
        parts = [iter(buffered(reader, max(queue_size // len(readers), 1))()) for reader in readers]
        while parts:
            for part in list(parts):
                try:
                    yield next(part)
                except StopIteration:
                    parts.remove(part)

    return together


class Fake:
    """Keeps the first sample of a reader, and gives it as often as it is asked: to see how fast a program is without
    reading.

    Example:
        >>> from fluvial.fluid.paddle.reader import Fake
        >>> list(Fake()(lambda: iter([3, 4]), 2)())
        [3, 3]
    """

    def __init__(self) -> None:
        self._sample: Any = None

    def __call__(self, reader: Reader, data_num: int) -> Reader:
        """A reader that gives the first sample of another one again and again.

        Args:
            reader: The other one.
            data_num: How often.
        """

        def repeated() -> Iterator[Any]:
            if self._sample is None:
                self._sample = next(iter(reader()))
            yield from itertools.repeat(self._sample, data_num)

        return repeated


def __getattr__(name: str) -> Any:
    if name == "creator":
        import importlib

        return importlib.import_module("..creator", __name__)
    from .._missing import no_attribute

    raise no_attribute(__name__, name)
