"""Elements elsewhere: slices, pads, crops, gathers, scatters."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from .._lists import listed
from ..._tree import is_size
from ...layers._arguments import axis_of, channels_first, classes, one, positions, size_of, sizes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import DTypeLike, Tensor, TensorLike

    Sizes = Sequence[int | Tensor] | Tensor

__all__ = [
    "crop", "crop_tensor", "diag_embed", "expand_as", "flip", "gather_nd", "gather_tree",
    "index_sample", "index_select", "meshgrid", "multiplex", "nonzero", "pad",
    "pad2d", "pad_constant_like", "rank", "roll", "scatter", "scatter_nd_add", "shape",
    "shard_index", "size", "slice", "strided_slice", "t", "unfold", "unique", "unique_with_counts",
]  # fmt: skip


def shape(input: Tensor) -> Tensor:
    """The sizes of a tensor, as integers."""
    return _core.stack([_core.dim_size(size, "int32") for size in input.shape], 0)


def rank(input: Tensor) -> Tensor:
    """The number of axes of a tensor."""
    return _core.tensor([input.ndim], "int32")


def size(input: Tensor) -> Tensor:
    """The number of elements of a tensor, of shape [1]."""
    total = _core.tensor(1, "int64")
    for length in input.shape:
        total = total * _core.dim_size(length, "int64")
    return one(total)


def _ends(input: Tensor, axes: Sequence[int], starts: Any, ends: Any) -> Any:
    """For each axis: where a slice begins, and how long it is; numbers, or sizes that only a run knows."""
    for axis, start, end in zip(axes, sizes_of(starts, len(axes)), sizes_of(ends, len(axes))):
        length: Any = input.shape[axis]
        yield axis_of(axis, input.ndim), start, end, length


def slice(input: Tensor, axes: Sequence[int], starts: Sizes, ends: Sizes) -> Tensor:
    """What stands from `starts` up to `ends`, which do not count, along axes.

    Args:
        input: The values.
        axes: The axes.
        starts: Where each slice begins; negative numbers count from the end.
        ends: Where each ends; it may be beyond the last element.
    """
    for axis, start, end, length in _ends(input, axes, starts, ends):
        if isinstance(start, int) and isinstance(end, int):
            if not isinstance(length, int) and 0 <= start < end - 1 < 2**30:
                # Whether there are so many only the run knows.
                last_one = _core.minimum(_core.dim_size(length, "int64"), end)
                input = _core.narrow(input, axis, start, size_of(_core.maximum(last_one - start, 0)))
            else:
                input = _core.slice(input, axis, start, end)
        else:
            first = start + length if isinstance(start, int) and start < 0 else start
            last = end + length if isinstance(end, int) and end < 0 else end
            if isinstance(end, int) and isinstance(length, int):
                last = min(last, length)
            input = _core.narrow(input, axis, first, last - first)
    return input


def strided_slice(
    input: Tensor, axes: Sequence[int], starts: Sizes, ends: Sizes, strides: Sizes
) -> Tensor:
    """What stands from `starts` up to `ends` in steps, along axes; negative steps go back."""
    steps = sizes_of(strides, len(axes))
    for (axis, start, end, _), step in zip(_ends(input, axes, starts, ends), steps):
        if not all(isinstance(value, int) for value in (start, end, step)):
            raise fault(
                ValueError, "a slice with a step, whose ends only the run knows", "use `slice`, then `gather`"
            )
        input = _core.slice(input, axis, start, end, step)
    return input


def crop(x: Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> Tensor:
    """A part of a tensor.

    Args:
        x: The tensor.
        shape: The sizes of the part, -1 for all that is behind the offset; or a tensor with these sizes.
        offsets: Where it begins along each axis; at zero unless said.
        name: For Fluid's programs.
    """
    if isinstance(shape, _core.Tensor) and not (shape.ndim == 1 and is_size(shape.shape[0], x.ndim)):
        sizes: list[Any] = list(shape.shape)
    else:
        sizes = sizes_of(shape, x.ndim)
    begins = [0] * x.ndim if offsets is None else sizes_of(offsets, x.ndim)
    if len(sizes) != x.ndim or len(begins) != x.ndim:
        raise fault(ValueError, f"{len(sizes)} sizes and {len(begins)} offsets for {x.ndim} axes", "give one of each for each axis")
    for axis, (begin, length) in enumerate(zip(begins, sizes)):
        rest: Any = x.shape[axis]
        wanted = rest - begin if is_size(length, -1) else length
        if not is_size(begin, 0) or repr(wanted) != repr(rest):
            x = _core.narrow(x, axis, begin, wanted)
    return x


crop_tensor = crop


def pad(x: Tensor, paddings: Sequence[int], pad_value: float = 0.0, name: str | None = None) -> Tensor:
    """More elements before and behind those of each axis.

    Args:
        x: The tensor.
        paddings: Two numbers for each axis: how many before, how many behind.
        pad_value: Their value.
        name: For Fluid's programs.
    """
    if len(paddings) != 2 * x.ndim:
        raise fault(ValueError, f"{len(paddings)} numbers for {x.ndim} axes", f"give {2 * x.ndim}")
    return _core.pad(x, list(paddings[::2]), list(paddings[1::2]), value=pad_value)


def pad_constant_like(x: Tensor, y: Tensor, pad_value: float = 0.0, name: str | None = None) -> Tensor:
    """`y` with more elements behind its own, so that it is as large as `x`."""
    after: list[Any] = [a - b for a, b in zip(x.shape, y.shape)]
    if all(isinstance(count, int) for count in after):
        return _core.pad(y, [0] * y.ndim, after, value=pad_value)
    for axis in range(y.ndim):
        if not is_size(after[axis], 0):
            more: Any = list(y.shape)
            more[axis] = after[axis]
            y = _core.concat([y, _core.full(more, pad_value, y.dtype)], axis)
    return y


def pad2d(
    input: Tensor,
    paddings: Sequence[int] | Tensor = (0, 0, 0, 0),
    mode: str = "constant",
    pad_value: float = 0.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """More elements around images.

    Args:
        input: The images.
        paddings: How many above, below, to the left and to the right.
        mode: "constant", "reflect" or "edge".
        pad_value: Their value, in mode "constant".
        data_format: "NCHW" or "NHWC".
        name: For Fluid's programs.
    """
    ways = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}
    if mode not in ways:
        raise fault(ValueError, f'there is no mode "{mode}"', 'use "constant", "reflect" or "edge"')
    above, below, left, right = sizes_of(paddings, 4)
    channels_first(input, data_format)
    before, after = [above, left], [below, right]
    first = 2 if data_format == "NCHW" else 1
    if not all(isinstance(count, int) for count in (*before, *after)):
        if mode != "constant":
            raise fault(ValueError, f'"{mode}" of sizes that only the run knows', 'give numbers, or use "constant"')
        for axis, counts in enumerate(zip(before, after), first):
            sides = []
            for count in counts:
                more: Any = list(input.shape)
                more[axis] = count
                sides.append(_core.full(more, pad_value, input.dtype))
            input = _core.concat([sides[0], input, sides[1]], axis)
        return input
    around = [0] * first, [0] * (input.ndim - 2 - first)
    return _core.pad(
        input, [*around[0], *before, *around[1]], [*around[0], *after, *around[1]], mode=ways[mode], value=pad_value
    )


def scatter(
    input: Tensor, index: Tensor, updates: Tensor, name: str | None = None, overwrite: bool = True
) -> Tensor:
    """`input` with the rows of `updates` in the place of those that `index` says.

    Args:
        input: The rows.
        index: Numbers of rows, `[n]` or `[n, 1]`.
        updates: What these rows get.
        name: For Fluid's programs.
        overwrite: Whether the last of several rows for one place counts; otherwise they are added, and the
            former row does not count.
    """
    places = positions(classes(index))
    if overwrite:
        return _core.index_put(input, places, updates, 0)
    nothing = _core.index_put(input, places, _core.zeros_like(updates), 0)
    return nothing + _core.index_add(updates, places, 0, input.shape[0])


def scatter_nd_add(ref: Tensor, index: Tensor, updates: Tensor, name: str | None = None) -> Tensor:
    """`ref` with `updates` added at the places of `index`."""
    return _core.scatter_nd_add(ref, positions(index), updates)


def gather_nd(input: Tensor, index: Tensor, name: str | None = None) -> Tensor:
    """What stands at each place of `index`, whose last axis has an index for each of the first axes."""
    return one(_core.gather_nd(input, positions(index)))


def index_select(input: Tensor, index: Tensor, dim: int = 0) -> Tensor:
    """The slices of these numbers along an axis."""
    return _core.index_select(input, dim, positions(index))


def index_sample(x: Tensor, index: Tensor) -> Tensor:
    """Of each row the elements at the places that the same row of `index` says."""
    return _core.take_along_axis(x, positions(index), 1)


def multiplex(inputs: Sequence[Tensor], index: Tensor) -> Tensor:
    """Row by row, the row of the tensor that `index` says.

    Args:
        inputs: Tensors of one shape.
        index: The number of a tensor for each row, `[rows, 1]`.
    """
    if len(inputs) < 2:
        raise fault(ValueError, "there is nothing to choose from", "give at least two tensors")
    every = _core.stack(listed(inputs, "variables"), 0)
    chosen = _core.reshape(_core.cast(index, "int64"), (1, -1, *(1,) * (every.ndim - 2)))
    chosen = _core.broadcast_to(chosen, (1, *every.shape[1:]))
    return _core.squeeze(_core.take_along_axis(every, chosen, 0), [0])


def expand_as(x: Tensor, target_tensor: Tensor, name: str | None = None) -> Tensor:
    """A tensor repeated along each axis until it is as large as another one."""
    times = []
    for own, wanted in zip(x.shape, target_tensor.shape):
        count: Any = wanted if is_size(own, 1) else 1 if repr(own) == repr(wanted) else wanted // own
        if isinstance(own, int) and isinstance(wanted, int) and wanted % own:
            raise fault(ValueError, f"{wanted} is not a multiple of {own}", "give sizes that divide those of the target")
        times.append(count)
    return _core.tile(x, times)


def flip(input: Tensor, dims: int | Sequence[int], name: str | None = None) -> Tensor:
    """The elements in the other order along axes."""
    return _core.flip(input, [dims] if isinstance(dims, int) else listed(dims, "axes"))


def roll(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Tensor:
    """The elements moved along axes; those that leave come in again at the other end."""
    by = [shifts] if isinstance(shifts, int) else listed(shifts, "numbers")
    if dims is None:
        return _core.reshape(_core.roll(_core.reshape(input, (-1,)), by, [0]), input.shape)
    return _core.roll(input, by, [dims] if isinstance(dims, int) else listed(dims, "axes"))


def t(input: Tensor, name: str | None = None) -> Tensor:
    """A matrix with its axes in the other order; a vector stays as it is."""
    if input.ndim > 2:
        raise fault(ValueError, f"{input.ndim} axes", "give at most two, or use `transpose`")
    return _core.transpose(input, 0, 1) if input.ndim == 2 else input


def diag_embed(input: TensorLike, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last axis on a diagonal."""
    return _core.diag_embed(input, offset, dim1, dim2)


def meshgrid(input: Sequence[Tensor], name: str | None = None) -> list[Tensor]:
    """For several vectors, tensors in which each varies along an axis of its own."""
    return _core.meshgrid(listed(input, "variables"), "ij")


def nonzero(input: Tensor, as_tuple: bool = False) -> Any:
    """The places of elements that are not zero: one row for each, or one column tensor for each axis."""
    places = _core.argwhere(input)
    if not as_tuple:
        return places
    return [_core.narrow(places, 1, axis, 1) for axis in range(input.ndim)]


def unique(x: Tensor, dtype: DTypeLike = "int32") -> tuple[Tensor, Tensor]:
    """The different elements in the order of their first places, and where each element is among them."""
    values, places, _ = _uniques(x, dtype)
    return values, places


def unique_with_counts(x: Tensor, dtype: DTypeLike = "int32") -> tuple[Tensor, Tensor, Tensor]:
    """The different elements in the order of their first places, where each element is among them, and how
    often each is there."""
    return _uniques(x, dtype)


def _uniques(x: Tensor, dtype: DTypeLike) -> tuple[Tensor, Tensor, Tensor]:
    values, inverse, counts = _core.unique(x)
    inverse = _core.reshape(inverse, (-1,))
    length: Any = inverse.shape[0]
    firsts = _core.scatter_reduce(
        _core.broadcast_to(_core.dim_size(length, "int64"), values.shape), 0, inverse, _core.iota(length, "int64"), "min"
    )
    order = _core.argsort(firsts, 0)
    new_places = _core.argsort(order, 0)
    places = _core.gather(new_places, inverse, 0)
    return _core.gather(values, order, 0), _core.cast(places, dtype), _core.cast(_core.gather(counts, order, 0), dtype)


def shard_index(
    input: Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1
) -> Tensor:
    """Numbers within the part of a table that one of several machines has; others become `ignore_value`."""
    if not 0 <= shard_id < nshards:
        raise fault(ValueError, f"there is no part {shard_id} of {nshards}", f"use 0 to {nshards - 1}")
    each = (index_num + nshards - 1) // nshards
    mine = _core.floor_div(input, each) == shard_id
    return _core.where(mine, _core.remainder(input, each), _core.full(input.shape, ignore_value, input.dtype))


def unfold(
    x: Tensor,
    kernel_sizes: int | Sequence[int],
    strides: int | Sequence[int] = 1,
    paddings: int | Sequence[int] = 0,
    dilations: int | Sequence[int] = 1,
    name: str | None = None,
) -> Tensor:
    """The windows of images as columns: `[batch, channels · window, windows]`.

    Args:
        x: The images.
        kernel_sizes: The size of the window.
        strides: Its step.
        paddings: The zeros on each side: one number, one for each axis, or above, left, below, right.
        dilations: The distance of the window's points.
        name: For Fluid's programs.
    """
    around: Any = paddings
    if isinstance(paddings, (list, tuple)) and len(paddings) == 4:
        above, left, below, right = paddings
        if (above, left) != (below, right):
            x, around = _core.pad(x, [0, 0, above, left], [0, 0, below, right]), 0
        else:
            around = [above, left]
    return _core.unfold(x, kernel_sizes, dilation=dilations, padding=around, stride=strides)


def gather_tree(ids: Tensor, parents: Tensor) -> Tensor:
    """Whole sequences of a beam search, followed back from the last step.

    Args:
        ids: The chosen numbers, `[steps, batch, beams]`.
        parents: For each, the beam of the step before from which it came.
    """
    return _core.gather_tree(ids, parents)
