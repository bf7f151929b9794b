"""From a list of samples to a batch."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ..._tree import is_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXTS = (str, bytes)


def default_collate(batch: Any) -> Any:
    """The samples of a batch as one: tensors, arrays and numbers stacked, texts as a list, containers part by part.

    Args:
        batch: The samples, all of one kind.

    Example:
        >>> fl.utils.data.default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
        {'x': Tensor(f32[2] [1.0, 2.0]), 'name': ['a', 'b']}
    """
    batch = list(batch)
    if not batch:
        raise ValueError("a batch without samples cannot be made")
    first = batch[0]
    if is_tensor(first):
        return _core.stack(batch, 0)
    if isinstance(first, _TEXTS):
        return batch
    if isinstance(first, (bool, int, float)):
        return _core.tensor(batch)
    if hasattr(first, "__array__"):
        import numpy as np

        arrays = [np.asarray(sample) for sample in batch]
        sizes = {array.shape for array in arrays}
        if len(sizes) > 1:
            raise _uneven(sizes)
        return _core.tensor(np.stack(arrays))
    if isinstance(first, dict):
        if any(sample.keys() != first.keys() for sample in batch):
            raise ValueError(f"the samples of a batch have different keys, not {list(first)} all")
        return type(first)({key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in batch):
            raise _uneven({(len(sample),) for sample in batch})
        parts = [default_collate(part) for part in zip(*batch)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    raise fault(
        TypeError,
        f"a batch cannot be made of {type(first).__name__}",
        "return tensors, arrays, numbers, strings, lists, tuples or dicts, or give the loader a `collate_fn`",
    )


def _uneven(sizes: set) -> ValueError:
    found = sorted(sizes, key=str)
    return fault(
        ValueError,
        f"the samples of a batch have different sizes: {found[0]} and {found[1]}",
        "make them equal, give a `collate_fn` that pads them, or use `fl.reader(dataset).pad(...)`",
    )


def default_convert(sample: Any) -> Any:
    """A sample with its arrays as tensors, for loaders without batches."""
    if is_tensor(sample) or isinstance(sample, _TEXTS):
        return sample
    if hasattr(sample, "__array__"):
        return _core.tensor(sample)
    if isinstance(sample, dict):
        return type(sample)({key: default_convert(value) for key, value in sample.items()})
    if isinstance(sample, (tuple, list)):
        parts = [default_convert(part) for part in sample]
        return type(sample)(*parts) if hasattr(sample, "_fields") else type(sample)(parts)
    return sample
