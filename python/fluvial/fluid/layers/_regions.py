"""Parts of images in boxes, in one size. Boxes are sequences: how many each image has."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ..._tree import is_size
from ...layers._arguments import known, size_of
from .detection import _grid, _sides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor

__all__ = ["roi_align", "roi_pool"]


def _rows(rois: Any, rois_lod: Tensor | None, batch: Any) -> tuple[Tensor, Tensor]:
    """Boxes, and the image of each."""
    lengths = getattr(rois, "row_lengths", None)
    if lengths is not None:
        return rois.data, _core.assume_dims(_core.repeat_index(lengths[-1]), (rois.data.shape[0],))
    count: Any = rois.shape[0]
    if rois_lod is not None:
        begins = _core.reshape(_core.cast(rois_lod, "int64"), (-1,))
        lengths = _core.slice(begins, 0, 1, None) - _core.slice(begins, 0, 0, -1)
        return rois, _core.assume_dims(_core.repeat_index(lengths), (count,))
    if is_size(batch, 1):
        return rois, _core.full((count,), 0, "int64")
    raise fault(ValueError, "which image a box belongs to is not said", "give boxes with levels (LoD), or `rois_lod`")


def _most(counts: Tensor) -> Any:
    """The largest of numbers of elements, at least one, as a size."""
    all_of_them = _core.concat([_core.reshape(counts, (-1,)), _core.full((1,), 1.0, counts.dtype)], 0)
    return size_of(_core.cast(_core.max(all_of_them), "int64"))


def roi_align(
    input: Tensor,
    rois: Tensor,
    pooled_height: int = 1,
    pooled_width: int = 1,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    name: str | None = None,
    rois_lod: Tensor | None = None,
) -> Tensor:
    """Parts of images in boxes, in one size: means of points between elements.

    Args:
        input: The images, `[batch, channels, h, w]`.
        rois: The boxes, `[n, 4]`, with levels that say which image each belongs to.
        pooled_height: The height of the result.
        pooled_width: The width of the result.
        spatial_scale: The factor from boxes to elements of the images.
        sampling_ratio: How many points an element of the result has along an axis; -1 for as many as there are elements.
        name: For Fluid's programs.
        rois_lod: Where the boxes of each image begin, `[batch + 1]`, if `rois` has no levels.

    Returns:
        `[n, channels, pooled_height, pooled_width]`.
    """
    boxes, images = _rows(rois, rois_lod, input.shape[0])
    height, width = _grid(input)
    channels, dtype = known(input.shape[1], "the number of channels"), input.dtype
    left, top, right, bottom = _sides(boxes * spatial_scale)
    sizes = _core.maximum(bottom - top, 1.0), _core.maximum(right - left, 1.0)
    axes = []
    for begin, size, cells, length in ((top, sizes[0], pooled_height, height), (left, sizes[1], pooled_width, width)):
        bin_size = size / float(cells)
        if sampling_ratio > 0:
            points: Any = sampling_ratio
            count = _core.full(bin_size.shape, float(points), dtype)
        else:
            count = _core.ceil(bin_size)
            points = _most(count)
        # One row for each box: cells, then points.
        cell = _core.reshape(_core.iota(cells, dtype), (1, cells, 1))
        point = _core.reshape(_core.iota(points, dtype), (1, 1, points))
        begin, bin_size, count = (_core.unsqueeze(value, -1) for value in (begin, bin_size, count))
        place = begin + cell * bin_size + (point + 0.5) * bin_size / count
        inside = _core.logical_and(_core.logical_and(place >= -1.0, place <= float(length)), point < count)
        place = _core.clip(place, 0.0, float(length - 1))
        low = _core.floor(place.detach())
        high = _core.minimum(low + 1.0, float(length - 1))
        share = place - low
        weight = _core.cast(inside, dtype) / count
        axes.append((_core.cast(low, "int64"), _core.cast(high, "int64"), (1.0 - share) * weight, share * weight))
    pixels = _core.reshape(_core.permute(input, [0, 2, 3, 1]), (-1, channels))
    first = _core.reshape(images * (height * width), (-1, 1, 1, 1, 1))
    total: Any = None
    for y, y_weight in ((axes[0][0], axes[0][2]), (axes[0][1], axes[0][3])):
        for x, x_weight in ((axes[1][0], axes[1][2]), (axes[1][1], axes[1][3])):
            rows = _core.unsqueeze(_core.unsqueeze(y, -1), -1) * width
            places = first + rows + _core.unsqueeze(_core.unsqueeze(x, 1), 1)
            weight = _core.unsqueeze(_core.unsqueeze(y_weight, -1), -1) * _core.unsqueeze(_core.unsqueeze(x_weight, 1), 1)
            part = _core.sum(_core.gather(pixels, places, 0) * _core.unsqueeze(weight, -1), axis=[2, 4])
            total = part if total is None else total + part
    return _core.permute(total, [0, 3, 1, 2])


def roi_pool(
    input: Tensor,
    rois: Any,
    pooled_height: int = 1,
    pooled_width: int = 1,
    spatial_scale: float = 1.0,
    rois_lod: Tensor | None = None,
) -> Tensor:
    """The largest elements of parts of boxes, by channels: `[n, channels, pooled_height, pooled_width]`.

    Args:
        input: The images, `[batch, channels, h, w]`.
        rois: The boxes, `[n, 4]`, with levels that say which image each belongs to.
        pooled_height: How many parts a box has from top to bottom.
        pooled_width: How many parts a box has from left to right.
        spatial_scale: The factor from boxes to elements of the images.
        rois_lod: Where the boxes of each image begin, `[batch + 1]`, if `rois` has no levels.
    """
    boxes, images = _rows(rois, rois_lod, input.shape[0])
    return _core.roi_pool(
        input, boxes, images, pooled_height=pooled_height, pooled_width=pooled_width, spatial_scale=spatial_scale
    )
