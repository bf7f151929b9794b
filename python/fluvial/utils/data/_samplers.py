"""Samplers: in which order the samples of a dataset come.

The orders of our samplers are functions of a seed and the number of the pass, which a loader sets by `set_epoch`.
"""

from __future__ import annotations

import bisect
import itertools
import random
from typing import Any, Generic, TypeVar

from ..._fault import fault
from ._random import mixed, order, seed_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")


class Sampler(Generic[T]):
    """Gives numbers of samples, or, as a batch sampler, lists of them. Subclasses define `__iter__`.

    Args:
        data_source: Not used; taken since PyTorch takes it.
    """

    #: The number of the pass.
    epoch = 0

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[T]:
        raise TypeError(f"`{type(self).__name__}` does not define `__iter__`")

    def set_epoch(self, epoch: int) -> None:
        """Says which pass comes next; a loader does."""
        self.epoch = epoch


class SequentialSampler(Sampler[int]):
    """The samples as they stand.

    Args:
        data_source: The dataset.
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The samples in another order in each pass.

    Args:
        data_source: The dataset.
        replacement: Whether a sample may come twice.
        num_samples: How many come in a pass; by default as many as there are.
        generator: A seed; by default that of `fl.seed`.
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: int | None = None,
    ) -> None:
        if num_samples is not None and num_samples < 1:
            raise ValueError(f"{num_samples} samples cannot be drawn")
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.seed = seed_of(generator)

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, wanted = len(self.data_source), self.num_samples
        if n == 0:
            return
        if self.replacement:
            numbers = random.Random(mixed(self.seed, self.epoch))
            for _ in range(wanted):
                yield numbers.randrange(n)
            return
        # More than there are: one order behind another.
        for turn in itertools.count():
            if wanted <= 0:
                return
            # The first order is that of a reader's shuffle; later ones have seeds of their own.
            seed = self.seed if turn == 0 else mixed(self.seed, turn)
            yield from order(n, seed, self.epoch)[:wanted]
            wanted -= n

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some of the samples in another order in each pass.

    Args:
        indices: Their numbers.
        generator: A seed; by default that of `fl.seed`.
    """

    def __init__(self, indices: Sequence[int], generator: int | None = None) -> None:
        self.indices, self.seed = indices, seed_of(generator)

    def __iter__(self) -> Iterator[int]:
        for i in order(len(self.indices), self.seed, self.epoch):
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Samples drawn with weights.

    Args:
        weights: One for each sample; they need not add up to 1.
        num_samples: How many are drawn in a pass.
        replacement: Whether a sample may come twice.
        generator: A seed; by default that of `fl.seed`.
    """

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: int | None = None,
    ) -> None:
        listed = weights.tolist() if hasattr(weights, "tolist") else weights
        self.weights = [float(weight) for weight in listed]
        if min(self.weights, default=0.0) < 0 or not sum(self.weights) < float("inf"):
            raise ValueError("weights must be finite, and not negative")
        able = sum(weight > 0 for weight in self.weights)
        if num_samples < 1 or able == 0 or (not replacement and num_samples > able):
            raise fault(
                ValueError,
                f"{num_samples} samples cannot be drawn from {able} with a weight above 0",
                "draw fewer, or with `replacement`",
            )
        self.num_samples, self.replacement, self.seed = num_samples, replacement, seed_of(generator)

    def __iter__(self) -> Iterator[int]:
        numbers = random.Random(mixed(self.seed, self.epoch))
        if self.replacement:
            sums = list(itertools.accumulate(self.weights))
            for _ in range(self.num_samples):
                # The largest weight may end below the sum of all, by rounding.
                yield min(bisect.bisect(sums, numbers.random() * sums[-1]), len(sums) - 1)
            return
        # The largest of u ** (1 / w): a draw without replacement.
        keys = [
            (numbers.random() ** (1 / weight), i) for i, weight in enumerate(self.weights) if weight > 0
        ]
        for _, i in sorted(keys, reverse=True)[: self.num_samples]:
            yield i

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Numbers of samples, a list for each batch.

    Args:
        sampler: Gives the numbers.
        batch_size: How many in a batch.
        drop_last: Whether a smaller batch at the end is left out.
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool = False) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"the batch size is {batch_size!r}, but must be an int above 0")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def __iter__(self) -> Iterator[list]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class DistributedSampler(Sampler[int]):
    """The part of one of several processes.

    Args:
        dataset: The dataset.
        num_replicas: How many processes there are.
        rank: The number of this one.
        shuffle: Whether in another order in each pass.
        seed: The seed, the same for all processes.
        drop_last: Whether what does not fill all parts is left out; else some samples come twice.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise fault(ValueError, "the process and the number of processes are not known", "give `num_replicas` and `rank`")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"there is no rank {rank} among {num_replicas}")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        numbers = order(n, self.seed, self.epoch) if self.shuffle else list(range(n))
        total = len(self) * self.num_replicas
        if numbers and total > n:
            numbers += list(itertools.islice(itertools.cycle(numbers), total - n))
        return iter(numbers[self.rank : total : self.num_replicas])

    def __len__(self) -> int:
        n = len(self.dataset)
        return n // self.num_replicas if self.drop_last else -(-n // self.num_replicas)
