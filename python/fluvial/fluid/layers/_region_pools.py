"""Parts of images in boxes, in one size, of which each part may have channels or a place of its own."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ...layers._arguments import known, many
from ._regions import _most, _rows
from ._sequence_values import as_many_rows
from .detection import _grid, _sides, rounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import Tensor

__all__ = ["deformable_roi_pooling", "prroi_pool", "psroi_pool", "roi_perspective_transform"]


def _places(images: Tensor, channel: Any, y: Tensor, x: Tensor, input: Tensor) -> Tensor:
    """The numbers of elements among those of all images."""
    channels = known(input.shape[1], "the number of channels")
    height, width = _grid(input)
    return ((images * channels + channel) * height + y) * width + x


def _between(input: Tensor, images: Tensor, channel: Any, y: Tensor, x: Tensor) -> Tensor:
    """Values between elements, by their distances; places lie inside of the image."""
    height, width = _grid(input)
    flat = _core.reshape(input, (-1,))
    top, left = _core.floor(y.detach()), _core.floor(x.detach())
    down, across = y - top, x - left
    total: Any = None
    for row, row_weight in ((top, 1.0 - down), (_core.minimum(top + 1.0, float(height - 1)), down)):
        for column, weight in ((left, 1.0 - across), (_core.minimum(left + 1.0, float(width - 1)), across)):
            place = _places(images, channel, _core.cast(row, "int64"), _core.cast(column, "int64"), input)
            part = _core.gather(flat, place, 0) * (row_weight * weight)
            total = part if total is None else total + part
    return total


def psroi_pool(
    input: Tensor,
    rois: Any,
    output_channels: int,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    name: str | None = None,
) -> Tensor:
    """Means of parts of boxes, of which each part has channels of its own: `[n, output_channels, pooled_height, pooled_width]`.

    Args:
        input: The images, `[batch, output_channels · pooled_height · pooled_width, h, w]`.
        rois: The boxes, `[n, 4]`, with levels that say which image each belongs to.
        output_channels: The channels of the result.
        spatial_scale: The factor from boxes to elements of the images.
        pooled_height: How many parts a box has from top to bottom.
        pooled_width: How many parts a box has from left to right.
        name: For Fluid's programs.
    """
    channels = known(input.shape[1], "the number of channels")
    if channels != output_channels * pooled_height * pooled_width:
        raise fault(
            ValueError,
            f"{channels} channels for {output_channels} of {pooled_height} by {pooled_width} parts",
            f"give images {output_channels * pooled_height * pooled_width} channels",
        )
    boxes, images = _rows(rois, None, input.shape[0])
    (height, width), dtype = _grid(input), input.dtype
    left, top, right, bottom = _sides(rounded(boxes.detach()))
    axes = []
    for begin, end, cells, length in ((top, bottom, pooled_height, height), (left, right, pooled_width, width)):
        begin, end = begin * spatial_scale, (end + 1.0) * spatial_scale
        size = _core.maximum(end - begin, 0.1) / float(cells)
        cell = _core.reshape(_core.iota(cells, dtype), (1, cells))
        low = _core.clip(_core.floor(cell * size + begin), 0.0, float(length))
        high = _core.clip(_core.ceil((cell + 1.0) * size + begin), 0.0, float(length))
        count = _core.maximum(high - low, 0.0)
        place = _core.unsqueeze(low, -1) + _core.iota(_most(count), dtype)
        counts = _core.cast(place < _core.unsqueeze(high, -1), dtype) / _core.unsqueeze(_core.maximum(count, 1.0), -1)
        axes.append((_core.cast(_core.minimum(place, float(length - 1)), "int64"), counts))
    (y, down), (x, across) = axes
    # Boxes, channels, parts down and across, elements down and across.
    parts = _core.reshape(_core.iota(channels, "int64"), (output_channels, pooled_height, pooled_width, 1, 1))
    y, down = (_core.unsqueeze(_core.unsqueeze(_core.unsqueeze(v, 2), 4), 1) for v in (y, down))
    x, across = (_core.unsqueeze(_core.unsqueeze(_core.unsqueeze(v, 1), 3), 1) for v in (x, across))
    place = _places(_core.reshape(images, (-1, 1, 1, 1, 1, 1)), parts, y, x, input)
    return _core.sum(_core.gather(_core.reshape(input, (-1,)), place, 0) * (down * across), axis=[4, 5])


def _covered(distance: Tensor) -> Tensor:
    """How much of what an element weighs, one in its place and none in those beside it, lies before a distance from it."""
    near = _core.clip(distance, -1.0, 1.0)
    return 0.5 + near - 0.5 * near * _core.abs(near)


def prroi_pool(
    input: Tensor,
    rois: Any,
    spatial_scale: float = 1.0,
    pooled_height: int = 1,
    pooled_width: int = 1,
    batch_roi_nums: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Parts of images in boxes, in one size: exact means of what lies between elements, `[n, channels, pooled_height,
    pooled_width]`. Boxes get gradients, too.

    Args:
        input: The images, `[batch, channels, h, w]`.
        rois: The boxes, `[n, 4]`, with levels that say which image each belongs to.
        spatial_scale: The factor from boxes to elements of the images.
        pooled_height: The height of the result.
        pooled_width: The width of the result.
        batch_roi_nums: How many boxes each image has, if `rois` has no levels.
        name: For Fluid's programs.
    """
    if batch_roi_nums is not None:
        boxes = getattr(rois, "data", rois)
        lengths = _core.cast(_core.reshape(batch_roi_nums, (-1,)), "int64")
        images = _core.assume_dims(_core.repeat_index(lengths), (boxes.shape[0],))
    else:
        boxes, images = _rows(rois, None, input.shape[0])
    (height, width), dtype = _grid(input), input.dtype
    channels = known(input.shape[1], "the number of channels")
    left, top, right, bottom = _sides(boxes * spatial_scale)
    axes, sizes = [], []
    for begin, end, cells, length in ((top, bottom, pooled_height, height), (left, right, pooled_width, width)):
        size = _core.relu(end - begin) / float(cells)
        cell = _core.reshape(_core.iota(cells, dtype), (1, cells))
        low, high = begin + cell * size, begin + (cell + 1.0) * size
        first = _core.floor(low.detach())
        points = _most(_core.ceil(high.detach()) - first + 1.0)
        place = _core.unsqueeze(first, -1) + _core.iota(points, dtype)
        inside = _core.logical_and(place >= 0.0, place <= float(length - 1))
        weight = _covered(_core.unsqueeze(high, -1) - place) - _covered(_core.unsqueeze(low, -1) - place)
        axes.append((_core.cast(_core.clip(place, 0.0, float(length - 1)), "int64"), _core.where(inside, weight, 0.0)))
        sizes.append(size)
    (y, down), (x, across) = axes
    pixels = _core.reshape(_core.permute(input, [0, 2, 3, 1]), (-1, channels))
    y, down = (_core.unsqueeze(_core.unsqueeze(v, -1), -1) for v in (y, down))
    x, across = (_core.unsqueeze(_core.unsqueeze(v, 1), 1) for v in (x, across))
    place = (_core.reshape(images, (-1, 1, 1, 1, 1)) * height + y) * width + x
    total = _core.sum(_core.gather(pixels, place, 0) * _core.unsqueeze(down * across, -1), axis=[2, 4])
    area = _core.reshape(sizes[0] * sizes[1], (-1, 1, 1, 1))
    is_there = area > 0.0
    found = _core.where(is_there, total / _core.where(is_there, area, 1.0), 0.0)
    return _core.permute(found, [0, 3, 1, 2])


def deformable_roi_pooling(
    input: Tensor,
    rois: Any,
    trans: Tensor,
    no_trans: bool = False,
    spatial_scale: float = 1.0,
    group_size: Sequence[int] = (1, 1),
    pooled_height: int = 1,
    pooled_width: int = 1,
    part_size: Sequence[int] | None = None,
    sample_per_part: int = 1,
    trans_std: float = 0.1,
    position_sensitive: bool = False,
    name: str | None = None,
) -> Tensor:
    """Means of points of parts of boxes, of which each part is moved: `[n, channels, pooled_height, pooled_width]`.

    Args:
        input: The images, `[batch, channels, h, w]`.
        rois: The boxes, `[n, 4]`, with levels that say which image each belongs to.
        trans: How far parts are moved across and down, as shares of the box, `[n, 2 · classes, part_size]`.
        no_trans: Whether parts stay where they are.
        spatial_scale: The factor from boxes to elements of the images.
        group_size: How many groups of channels there are, from top to bottom and from left to right.
        pooled_height: How many parts a box has from top to bottom.
        pooled_width: How many parts a box has from left to right.
        part_size: How many parts `trans` has, from top to bottom and from left to right; those of the box unless said.
        sample_per_part: How many points a part has along an axis.
        trans_std: The factor of `trans`.
        position_sensitive: Whether each part has channels of its own.
        name: For Fluid's programs.
    """
    channels = known(input.shape[1], "the number of channels")
    groups = many(group_size, 2, "group_size")
    moved = many([pooled_height, pooled_width] if part_size is None else part_size, 2, "part_size")
    outputs = channels // (pooled_height * pooled_width) if position_sensitive else channels
    if outputs * groups[0] * groups[1] > channels or outputs == 0:
        raise fault(
            ValueError,
            f"{channels} channels for {outputs} of {groups[0]} by {groups[1]} groups",
            "give `group_size` that fits: 1 by 1, or with `position_sensitive` the number of parts",
        )
    boxes, images = _rows(rois, None, input.shape[0])
    (height, width), dtype = _grid(input), input.dtype
    left, top, right, bottom = _sides(rounded(boxes.detach()))
    steps = ((top, bottom, pooled_height, moved[0]), (left, right, pooled_width, moved[1]))
    shifts: list[Any] = [0.0, 0.0]
    if not no_trans:
        classes = known(trans.shape[1], "the number of channels of `trans`") // 2
        if classes == 0 or outputs % classes:
            raise fault(ValueError, f"{outputs} channels for {classes} classes of `trans`", "give channels that classes divide")
        trans = as_many_rows(trans, boxes.shape[0])
        for axis, (_, _, cells, parts) in enumerate(steps):
            index = _core.tensor([i * parts // cells for i in range(cells)])
            trans = _core.gather(trans, index, 2 + axis)
        trans = _core.reshape(trans, (boxes.shape[0], classes, 2, pooled_height, pooled_width)) * trans_std
        of_channel = _core.tensor([i // (outputs // classes) for i in range(outputs)])
        both = [_core.squeeze(_core.slice(trans, 2, i, i + 1), [2]) for i in (1, 0)]
        shifts = [_core.unsqueeze(_core.unsqueeze(_core.gather(shift, of_channel, 1), -1), -1) for shift in both]
    points, inside = [], []
    for axis, (begin, end, cells, _) in enumerate(steps):
        begin, end = begin * spatial_scale - 0.5, (end + 1.0) * spatial_scale - 0.5
        size = _core.maximum(end - begin, 0.1)
        begin, size = (_core.reshape(value, (-1, 1, 1, 1, 1, 1)) for value in (begin, size))
        shape = [1] * 6
        shape[2 + axis] = cells
        cell = _core.reshape(_core.iota(cells, dtype), shape)
        shape = [1] * 6
        shape[4 + axis] = sample_per_part
        sample = _core.reshape(_core.iota(sample_per_part, dtype), shape)
        part = size / float(cells)
        place = begin + cell * part + sample * (part / float(sample_per_part)) + size * shifts[axis]
        length = (height, width)[axis]
        inside.append(_core.logical_and(place >= -0.5, place <= length - 0.5))
        points.append(_core.clip(place, 0.0, float(length - 1)))
    counts = _core.cast(_core.logical_and(inside[0], inside[1]), dtype)
    rows = [min(i * groups[0] // pooled_height, groups[0] - 1) for i in range(pooled_height)]
    columns = [min(i * groups[1] // pooled_width, groups[1] - 1) for i in range(pooled_width)]
    channel = _core.tensor(
        [[[[[(c * groups[0] + row) * groups[1] + column]] for column in columns] for row in rows] for c in range(outputs)]
    )
    found = _between(input, _core.reshape(images, (-1, 1, 1, 1, 1, 1)), channel, points[0], points[1])
    total = _core.sum(found * counts, axis=[4, 5])
    many_points = _core.broadcast_to(counts, found.shape)
    return total / _core.maximum(_core.sum(many_points, axis=[4, 5]), 1.0)


def _in_quadrangle(x: Tensor, y: Tensor, xs: list[Tensor], ys: list[Tensor]) -> Tensor:
    """Whether points lie in quadrangles, or on their edges."""
    near = 1e-4
    on_edge: Any = None
    crossings: Any = None
    for i in range(4):
        x0, y0, x1, y1 = xs[i], ys[i], xs[(i + 1) % 4], ys[(i + 1) % 4]
        is_level = _core.abs(y0 - y1) < near
        slope = (x1 - x0) / _core.where(is_level, 1.0, y1 - y0)
        across = (y - y0) * slope + x0
        low, high = _core.minimum(y0, y1), _core.maximum(y0, y1)
        least, most = _core.minimum(x0, x1), _core.maximum(x0, x1)
        level = _core.logical_and(_core.abs(y - y0) < near, _core.logical_and(x > least - near, x < most + near))
        within = _core.logical_and(y > low - near, y < high + near)
        slanted = _core.logical_and(_core.abs(across - x) < near, within)
        hit = _core.where(is_level, level, slanted)
        beyond = _core.logical_and(_core.logical_and(y - low >= near, y - high <= near), across - x > near)
        crossed = _core.cast(_core.logical_and(_core.logical_not(is_level), beyond), "int64")
        on_edge = hit if on_edge is None else _core.logical_or(on_edge, hit)
        crossings = crossed if crossings is None else crossings + crossed
    return _core.logical_or(on_edge, _core.remainder(crossings, 2) == 1)


def roi_perspective_transform(
    input: Tensor,
    rois: Any,
    transformed_height: int,
    transformed_width: int,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Parts of images in quadrangles, as rectangles of one size.

    Args:
        input: The images, `[batch, channels, h, w]`.
        rois: Corners of quadrangles, across and down in turn, `[n, 8]`, with levels that say which image each belongs to.
        transformed_height: The height of the result.
        transformed_width: The width of the result.
        spatial_scale: The factor from corners to elements of the images.
        name: For Fluid's programs.

    Returns:
        The parts, `[n, channels, height, width]`; which elements lie in the quadrangle and the image, `int32[n, 1, height,
        width]`; and the matrices of the transformations, `[n, 9]`.
    """
    boxes, images = _rows(rois, None, input.shape[0])
    (height, width), dtype = _grid(input), input.dtype
    corners = boxes.detach() * spatial_scale
    xs, ys = ([_core.slice(corners, 1, i, i + 1) for i in range(first, 8, 2)] for first in (0, 1))

    def side(i: int, j: int) -> Tensor:
        return _core.sqrt((xs[i] - xs[j]) * (xs[i] - xs[j]) + (ys[i] - ys[j]) * (ys[i] - ys[j]))

    high, wide = (side(1, 2) + side(3, 0)) / 2.0, (side(0, 1) + side(2, 3)) / 2.0
    rows = float(max(2, transformed_height) - 1)
    columns = _core.clip(rounded(wide * rows / high) + 1.0, 2.0, float(max(2, transformed_width))) - 1.0
    dx1, dx2, dx3 = xs[1] - xs[2], xs[3] - xs[2], xs[0] - xs[1] + xs[2] - xs[3]
    dy1, dy2, dy3 = ys[1] - ys[2], ys[3] - ys[2], ys[0] - ys[1] + ys[2] - ys[3]
    below = dx1 * dy2 - dx2 * dy1 + 1e-5
    g, h = (dx3 * dy2 - dx2 * dy3) / below / columns, (dx1 * dy3 - dx3 * dy1) / below / rows
    entries = []
    for v in (xs, ys):
        entries += [(v[1] - v[0] + g * columns * v[1]) / columns, (v[3] - v[0] + h * rows * v[3]) / rows, v[0]]
    entries += [g, h, _core.ones_like(g)]
    matrix = _core.concat(entries, 1)
    a, b, c, d, e, f, g, h, i = (_core.unsqueeze(entry, -1) for entry in entries)
    across = _core.reshape(_core.iota(transformed_width, dtype), (1, 1, transformed_width))
    down = _core.reshape(_core.iota(transformed_height, dtype), (1, transformed_height, 1))
    scale = g * across + h * down + i
    x, y = (a * across + b * down + c) / scale, (d * across + e * down + f) / scale
    inside = _in_quadrangle(x, y, [_core.unsqueeze(v, -1) for v in xs], [_core.unsqueeze(v, -1) for v in ys])
    for place, length in ((x, width), (y, height)):
        fits = _core.logical_and(place > -0.5 + 1e-4, place < length - 0.5 - 1e-4)
        inside = _core.logical_and(inside, fits)
    # What lies outside counts nothing, so any place will do for it.
    x = _core.where(inside, _core.clip(x, 0.0, float(width - 1)), 0.0)
    y = _core.where(inside, _core.clip(y, 0.0, float(height - 1)), 0.0)
    channels = known(input.shape[1], "the number of channels")
    channel = _core.reshape(_core.iota(channels, "int64"), (1, channels, 1, 1))
    found = _between(input, _core.reshape(images, (-1, 1, 1, 1)), channel, _core.unsqueeze(y, 1), _core.unsqueeze(x, 1))
    mask = _core.unsqueeze(inside, 1)
    return _core.where(mask, found, 0.0), _core.cast(mask, "int32"), matrix
