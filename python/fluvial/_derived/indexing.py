"""Positions that are filled, copied and looked up."""

from __future__ import annotations

import builtins

from .. import _core
from .._core import Tensor
from .._fault import fault, renamed
from .products import as_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Unpack

    from .._core import OtherNames, TensorLike


def _key(x: Tensor, axis: int, index: Any) -> tuple:
    return (slice(None),) * (axis % x.ndim if x.ndim else 0) + (index,)


def index_fill(x: TensorLike, axis: int, index: TensorLike, value: TensorLike, **wrong: Unpack[OtherNames]) -> Tensor:
    """The tensor with a number at positions of an axis.

    Args:
        x: A tensor.
        axis: The axis. Also `dim`.
        index: The positions.
        value: The number.
    """
    if wrong:
        return renamed(index_fill, locals())
    x = as_tensor(x)
    return x.setitem(_key(x, axis, as_tensor(index)), value)


def index_copy(x: TensorLike, axis: int, index: TensorLike, source: TensorLike, **wrong: Unpack[OtherNames]) -> Tensor:
    """The tensor with the parts of another one at positions of an axis.

    Args:
        x: A tensor.
        axis: The axis. Also `dim`.
        index: The positions.
        source: The parts, along the same axis.
    """
    if wrong:
        return renamed(index_copy, locals())
    x = as_tensor(x)
    return _core.index_put(x, as_tensor(index), _core.cast(as_tensor(source), x.dtype), axis)


def masked_scatter(x: TensorLike, mask: TensorLike, source: TensorLike) -> Tensor:
    """The tensor with the first elements of another one, in order, where a mask holds.

    Args:
        x: A tensor.
        mask: Bools, broadcast.
        source: At least as many elements as the mask holds for.
    """
    x, mask = _core.broadcast_tensors([x, mask])
    places = _core.cumsum(_core.cast(_core.reshape(mask, (-1,)), "int64"), 0) - 1
    flat = _core.reshape(as_tensor(source), (-1,))
    taken = _core.gather(flat, _core.maximum(places, 0), 0)
    return _core.where(mask, _core.cast(_core.reshape(taken, x.shape), x.dtype), x)


def embedding_bag(
    ids: TensorLike,
    weight: TensorLike,
    offsets: Any = None,
    *,
    mode: str = "mean",
    per_sample_weights: Any = None,
    padding_idx: int | None = None,
) -> Tensor:
    """The sums, means or maxima of rows of a table, by bags of ids.

    Args:
        ids: A matrix with a bag in each row; or a vector, whose bags begin at `offsets`.
        weight: The table.
        offsets: Where bags begin in a vector of ids; None for a matrix.
        mode: "sum", "mean" or "max".
        per_sample_weights: A factor for each id, or None; for "sum" only.
        padding_idx: An id that does not count, or None.
    """
    ids, weight = as_tensor(ids), as_tensor(weight)
    if mode not in ("sum", "mean", "max"):
        raise fault(ValueError, f'there is no mode "{mode}"', 'use "sum", "mean" or "max"')
    if per_sample_weights is not None and mode != "sum":
        raise fault(ValueError, f'weights of ids are for the mode "sum", not "{mode}"', 'use mode="sum"')
    if ids.ndim == 2:
        rows = _core.gather(weight, ids, 0)
        counts = _core.ones_like(_core.cast(ids, weight.dtype)) if padding_idx is None else _core.cast(ids != padding_idx, weight.dtype)
        if mode == "max":
            if padding_idx is not None:
                rows = _core.where(_core.unsqueeze(counts, -1) > 0, rows, float("-inf"))
            return _core.max(rows, 1)
        scale = counts if per_sample_weights is None else counts * per_sample_weights
        total = _core.sum(rows * _core.unsqueeze(scale, -1), 1)
        return total / _core.maximum(_core.sum(counts, 1, True), 1.0) if mode == "mean" else total
    if offsets is None:
        raise fault(ValueError, "a vector of ids has no bags", "give `offsets`, or ids as a matrix")
    offsets = as_tensor(offsets)
    n_bags = offsets.shape[0]
    # The bag of an id is the last that begins at or before it.
    bag = _core.searchsorted(offsets, _core.iota(ids.shape[0], "int64"), True) - 1
    rows = _core.gather(weight, ids, 0)
    counts = _core.ones_like(_core.cast(ids, weight.dtype)) if padding_idx is None else _core.cast(ids != padding_idx, weight.dtype)
    scale = counts if per_sample_weights is None else counts * per_sample_weights
    if mode == "max":
        start = _core.full((n_bags, weight.shape[1]), float("-inf"), weight.dtype)
        found = _core.index_reduce(start, bag, rows, 0, "max")
        return _core.where(_core.isinf(found), 0.0, found)
    total = _core.index_add(rows * _core.unsqueeze(scale, -1), bag, 0, n_bags)
    if mode == "sum":
        return total
    return total / _core.maximum(_core.unsqueeze(_core.index_add(counts, bag, 0, n_bags), -1), 1.0)


def affine_grid(theta: TensorLike, size: Sequence[int], align_corners: builtins.bool = False) -> Tensor:
    """The points of images from which `grid_sample` takes the pixels of images moved by linear maps.

    Args:
        theta: The maps: `[batch, 2, 3]`.
        size: The sizes of the images to be made: batch, channels, height, width.
        align_corners: Whether -1 and 1 are the centres of the pixels at the corners, rather than their outer edges.
    """
    theta = as_tensor(theta)
    _, _, height, width = size

    def line(n: int) -> Tensor:
        ends = 1.0 if align_corners else 1.0 - 1.0 / n
        return _core.linspace(-ends, ends, n, theta.dtype) if n > 1 else _core.zeros((n,), theta.dtype)

    y, x = _core.meshgrid([line(height), line(width)], "ij")
    points = _core.stack([x, y, _core.ones_like(x)], -1)
    found = _core.matmul(_core.reshape(points, (1, height * width, 3)), _core.transpose(theta, 1, 2))
    return _core.reshape(found, (theta.shape[0], height, width, 2))
