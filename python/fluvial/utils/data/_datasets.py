"""Datasets: samples by number, or one after another."""

from __future__ import annotations

import bisect
import itertools
from typing import Any, Generic, TypeVar

from ..._fault import fault
from ._random import order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

T = TypeVar("T")


class Dataset(Generic[T]):
    """Samples by number. Subclasses define `__getitem__` and `__len__`; any object that has both will do, too.

    Example:
        >>> class Squares(fl.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 5
        ...     def __getitem__(self, i):
        ...         return {"x": i, "y": i * i}
        >>> loader = fl.utils.data.DataLoader(Squares(), batch_size=2)
        >>> [batch["y"].tolist() for batch in loader]
        [[0, 1], [4, 9], [16]]
    """

    def __getitem__(self, index: int) -> T:
        raise TypeError(f"`{type(self).__name__}` does not define `__getitem__`")

    def __add__(self, other: Dataset[T]) -> ConcatDataset[T]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Samples one after another: subclasses define `__iter__`.

    Each worker process of a loader goes through a copy of its own; `get_worker_info` tells which part is its part.
    """

    def __iter__(self) -> Iterator[T]:
        raise TypeError(f"`{type(self).__name__}` does not define `__iter__`")

    def __add__(self, other: Dataset[T]) -> ChainDataset[T]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple]):
    """Tensors or arrays side by side: sample `i` is the `i`-th row of each.

    Args:
        *tensors: Of as many rows each.
    """

    def __init__(self, *tensors: Any) -> None:
        lengths = {len(tensor) for tensor in tensors}
        if len(lengths) != 1:
            raise fault(
                ValueError,
                f"the tensors have {', '.join(map(str, sorted(lengths))) or 'no'} rows",
                "give tensors with the same number of rows",
            )
        self.tensors = tensors

    def __getitem__(self, index: int) -> tuple:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset[Any]):
    """Datasets side by side: a sample is a tuple of one of each, or a dict of them.

    Args:
        *datasets: Of as many samples each.
        **named: The same by name; either these or those.
    """

    def __init__(self, *datasets: Any, **named: Any) -> None:
        if bool(datasets) == bool(named):
            raise fault(ValueError, "datasets are given neither or both in order and by name", "give them one way")
        self.datasets: Any = named or datasets
        self._all = list(named.values()) if named else list(datasets)
        if len({len(dataset) for dataset in self._all}) != 1:
            raise fault(ValueError, "the datasets have different lengths", "make them equal by `Subset`")

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return len(self._all[0])


class Subset(Dataset[T]):
    """Some samples of a dataset.

    Args:
        dataset: The dataset.
        indices: Their numbers.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: int) -> T:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[T]):
    """Datasets one behind another.

    Args:
        datasets: The datasets, with lengths.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("no dataset is given")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise fault(TypeError, "samples of an `IterableDataset` have no numbers", "use `ChainDataset`")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __getitem__(self, index: int) -> T:
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"there is no sample {index} among {len(self)}")
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset[T]):
    """Iterable datasets one behind another.

    Args:
        datasets: The datasets.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[T]:
        for dataset in self.datasets:
            yield from dataset


def random_split(dataset: Any, lengths: Sequence[float], generator: int | None = None) -> list[Subset]:
    """Splits a dataset at random into parts that do not overlap.

    Args:
        dataset: The dataset.
        lengths: How many samples each part has; or fractions, which add up to 1.
        generator: A seed; by default that of `fl.seed`. The same seed gives the same parts.

    Example:
        >>> train, test = fl.utils.data.random_split(range(10), [0.8, 0.2], generator=1)
        >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
        (8, 2, True)
    """
    n = len(dataset)
    if all(isinstance(length, float) for length in lengths) and abs(sum(lengths) - 1) < 1e-6:
        if any(not 0 <= length <= 1 for length in lengths):
            raise ValueError(f"the fractions {list(lengths)} are not between 0 and 1")
        sizes = [int(n * length) for length in lengths]
        # What is left over goes to the first parts, one each.
        for i in range(n - sum(sizes)):
            sizes[i % len(sizes)] += 1
    else:
        sizes = [int(length) for length in lengths]
        if sizes != list(lengths) or sum(sizes) != n or min(sizes, default=0) < 0:
            raise fault(
                ValueError,
                f"the lengths {list(lengths)} are not those of parts of {n} samples",
                "give whole numbers whose sum is the length of the dataset, or fractions whose sum is 1",
            )
    shuffled = order(n, generator, 0)
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, shuffled[end - size : end]) for size, end in zip(sizes, ends)]
