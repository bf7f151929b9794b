"""Random numbers under Fluid's names."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ...layers._arguments import known, size_of, sizes_of
from ...layers._inplace import assign_to, drawing
from .tensor import sizes_like

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import DTypeLike, Tensor

__all__ = [
    "gaussian_random", "gaussian_random_batch_size_like", "randint", "randn", "random_crop",
    "randperm", "sampling_id", "uniform_random_batch_size_like",
]  # fmt: skip


def gaussian_random(
    shape: Any,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers.

    Args:
        shape: The sizes; numbers, tensors of one integer, or a tensor of all of them.
        mean: Their mean.
        std: Their standard deviation.
        seed: Where random numbers begin, anew in each run; 0 for those of the scope's stream.
        dtype: The element type.
        name: For Fluid's programs.
    """
    sizes: Any = sizes_of(shape)
    with drawing(seed or None):
        return _core.normal((dtype, sizes), mean, std)


def gaussian_random_batch_size_like(
    input: Tensor,
    shape: Sequence[int],
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: DTypeLike = "float32",
) -> Tensor:
    """Normally distributed numbers, in a tensor as large as another one along an axis."""
    return gaussian_random(sizes_like(input, shape, input_dim_idx, output_dim_idx), mean, std, seed, dtype)


def uniform_random_batch_size_like(
    input: Tensor,
    shape: Sequence[int],
    dtype: DTypeLike = "float32",
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
) -> Tensor:
    """Evenly distributed numbers, in a tensor as large as another one along an axis."""
    sizes: Any = sizes_like(input, shape, input_dim_idx, output_dim_idx)
    with drawing(seed or None):
        return _core.uniform((dtype, sizes), min, max)


def randint(
    low: int,
    high: int | None = None,
    shape: Any = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stop_gradient: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> Tensor:
    """Integers from `low` to `high`, which does not count; from zero to `low` without it."""
    first, last = (0, low) if high is None else (low, high)
    sizes: Any = [1] if shape is None else sizes_of(shape)
    with drawing(seed or None):
        return assign_to(_core.randint((dtype or "int64", sizes), first, last), out)


def randn(
    shape: Any,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stop_gradient: bool = True,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers of mean 0 and deviation 1."""
    return assign_to(gaussian_random(shape, dtype=dtype or "float32"), out)


def randperm(
    n: int | Tensor,
    out: Tensor | None = None,
    dtype: DTypeLike = "int64",
    device: str | None = None,
    stop_gradient: bool = True,
    seed: int = 0,
) -> Tensor:
    """The numbers up to `n` in random order."""
    with drawing(seed or None):
        return assign_to(_core.cast(_core.permutation(size_of(n)), dtype), out)


def sampling_id(
    x: Tensor, min: float = 0.0, max: float = 1.0, seed: int = 0, dtype: DTypeLike = "float32"
) -> Tensor:
    """A column of each row, drawn by the row's probabilities.

    Args:
        x: Probabilities, `[rows, columns]`.
        min: The lower end of the random number that is looked up.
        max: Its upper end.
        seed: Where random numbers begin, anew in each run; 0 for those of the scope's stream.
        dtype: The element type of the numbers.
    """
    rows: Any = x.shape[0]
    with drawing(seed or None):
        drawn = _core.uniform((x.dtype, (rows, 1)), min, max)
    passed = _core.cast(_core.cumsum(x, 1) <= drawn, "int64")
    last = _core.dim_size(x.shape[1], "int64") - 1
    return _core.cast(_core.minimum(_core.sum(passed, axis=1), last), dtype)


def random_crop(x: Tensor, shape: Sequence[int], seed: int | None = None) -> Tensor:
    """A part of each element of the batch, at a random place of its own.

    Args:
        x: The values; the last axes are cropped, the others are the batch.
        shape: The sizes of the last axes.
        seed: Where random numbers begin, anew in each run; nothing for those of the scope's stream.
    """
    if isinstance(seed, _core.Tensor):
        raise fault(TypeError, "a seed that is a tensor", "give a number, or nothing and `fluid.default_main_program().random_seed`")
    first = x.ndim - len(shape)
    if first < 0:
        raise fault(ValueError, f"{len(shape)} sizes for {x.ndim} axes", "give one for each of the last axes")
    batch: Any = x.shape[:first]
    flat = _core.reshape(x, (-1, *x.shape[first:])) if first != 1 else x
    rows: Any = flat.shape[0]
    with drawing(seed):
        for i, size in enumerate(shape):
            length = known(x.shape[first + i], "the size of what is cropped")
            if not 0 < size <= length:
                raise fault(ValueError, f"a part of {size} of {length}", "crop to a smaller size")
            begins = _core.randint(("int64", (rows, 1)), 0, length - size + 1)
            ahead: Any = [1] * flat.ndim
            ahead[0], ahead[i + 1] = rows, size
            places = _core.reshape(begins + _core.iota(size, "int64"), ahead)
            wanted: Any = list(flat.shape)
            wanted[i + 1] = size
            flat = _core.take_along_axis(flat, _core.broadcast_to(places, wanted), i + 1)
    return flat if first == 1 else _core.reshape(flat, (*batch, *shape))
