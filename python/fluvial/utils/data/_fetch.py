"""Samples by number with random numbers of their own: the same ones in any process, for any number of workers."""

from __future__ import annotations

from ._random import kept, mixed, seed_all
from ._workers import WorkerInfo, Workers, being

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def samples_of(dataset: Any, seed: int, epoch: int, numbers: list[int]) -> list[Any]:
    """The samples of these numbers. What each draws at random depends on the seed, the pass and its number."""
    whole = getattr(dataset, "__getitems__", None)
    if whole is not None:
        seed_all(mixed(seed, epoch, *numbers))
        return list(whole(numbers))
    found = []
    for number in numbers:
        seed_all(mixed(seed, epoch, number if isinstance(number, int) else hash(number)))
        found.append(dataset[number])
    return found


class Fetch:
    """Makes samples of a dataset, in this process or in workers.

    Args:
        dataset: The dataset.
        seed: The seed of what samples draw at random.
        workers: How many processes; 0 for none.
        convert: Applied to the list of samples, where they are made.
        init: Called in each worker with its number.
        context: How processes start.
        timeout: How many seconds a worker may take.
    """

    def __init__(
        self,
        dataset: Any,
        seed: int,
        workers: int = 0,
        convert: Callable[[list[Any]], Any] = list,
        init: Callable[[int], object] | None = None,
        context: Any = None,
        timeout: float = 0,
    ) -> None:
        self.dataset, self.seed, self.n_workers, self.convert = dataset, seed, workers, convert
        self._init, self._context, self._timeout = init, context, timeout
        self.pool: Workers | None = None

    def here(self, epoch: int, numbers: list[int]) -> Any:
        """What is made of these samples, in this process."""
        with kept(), being(None):
            samples = samples_of(self.dataset, self.seed, epoch, numbers)
        return self.convert(samples)

    def start(self) -> Workers:
        """The worker processes."""
        if self.pool is None:
            info = WorkerInfo(0, self.n_workers, self.seed, self.dataset)
            make = _Task(self.convert, self._init)
            self.pool = Workers(self.n_workers, make, info, self._context, self._timeout)
        return self.pool

    def stop(self) -> None:
        """Ends the worker processes."""
        if self.pool is not None:
            self.pool.close()
            self.pool = None

    def together(self, epoch: int, numbers: list[int]) -> list[Any]:
        """What is made of these samples: each worker makes a part of them."""
        if self.n_workers == 0:
            return self.here(epoch, numbers)
        pool = self.start()
        size = -(-len(numbers) // len(pool))
        parts = [numbers[i : i + size] for i in range(0, len(numbers), size)]
        try:
            for worker, part in enumerate(parts):
                pool.send(worker, (epoch, part))
            return [sample for worker in range(len(parts)) for sample in pool.receive(worker)]
        except BaseException:
            # Results that are on their way are nobody's.
            self.stop()
            raise


class _Task:
    """What a worker does with jobs: an object, so that it can be sent to another process."""

    def __init__(self, convert: Callable[[list[Any]], Any], init: Callable[[int], object] | None) -> None:
        self.convert, self.init = convert, init

    def __call__(self, info: WorkerInfo) -> Callable[[Any], Any]:
        if self.init is not None:
            self.init(info.id)

        def run(job: tuple[int, list[int]]) -> Any:
            epoch, numbers = job
            return self.convert(samples_of(info.dataset, info.seed, epoch, numbers))

        return run
