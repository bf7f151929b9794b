"""The loss of detectors that predict boxes from each place of a map."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ...layers._arguments import known
from .._lists import listed
from .detection import _grid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import Tensor

__all__ = ["yolov3_loss"]


def _entropy(x: Tensor, target: Any) -> Tensor:
    """The cross entropy of a sigmoid."""
    return _core.relu(x) - x * target + _core.softplus(_core.neg(_core.abs(x)))


def _shared(a: list[Tensor], b: list[Tensor]) -> Tensor:
    """What boxes share, divided by what either covers; boxes have centres, widths and heights."""
    sides = []
    for centre, size in ((0, 2), (1, 3)):
        low = _core.maximum(a[centre] - a[size] / 2.0, b[centre] - b[size] / 2.0)
        high = _core.minimum(a[centre] + a[size] / 2.0, b[centre] + b[size] / 2.0)
        sides.append(_core.relu(high - low))
    both = sides[0] * sides[1]
    return both / _core.maximum(a[2] * a[3] + b[2] * b[3] - both, 1e-20)


def yolov3_loss(
    x: Tensor,
    gt_box: Tensor,
    gt_label: Tensor,
    anchors: Sequence[int],
    anchor_mask: Sequence[int],
    class_num: int,
    ignore_thresh: float,
    downsample_ratio: int,
    gt_score: Tensor | None = None,
    use_label_smooth: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
) -> Tensor:
    """The loss of a map of predictions, `[batch]`: places, sizes, whether there is an object, and classes.

    Args:
        x: `[batch, boxes * (5 + classes), h, w]`.
        gt_box: Centres, widths and heights of objects as shares of the image, `[batch, objects, 4]`; those without a size
            do not count.
        gt_label: Their classes, `[batch, objects]`.
        anchors: Widths and heights of boxes in turn, of all maps.
        anchor_mask: The numbers of those that belong to this map.
        class_num: The number of classes.
        ignore_thresh: A box that overlaps an object more than this is not taken for background.
        downsample_ratio: How many pixels a place of the map stands for.
        gt_score: How much each object counts, `[batch, objects]`.
        use_label_smooth: Whether classes are nearly, and not quite, 0 and 1.
        name: For Fluid's programs.
        scale_x_y: How far a box may leave its place, where it is asked whether it overlaps an object.
    """
    sizes, mask = listed(anchors, "sizes"), listed(anchor_mask, "numbers")
    if len(sizes) % 2 or not mask or any(not 0 <= i < len(sizes) // 2 for i in mask):
        raise fault(ValueError, f"{mask} are not numbers of {len(sizes) / 2} boxes", "`anchors` has width and height of each")
    height, width = _grid(x)
    batch, objects = x.shape[0], known(gt_box.shape[1], "the number of objects")
    if known(x.shape[1], "the number of channels") != len(mask) * (5 + class_num):
        raise fault(
            ValueError, f"{x.type_text} does not have {len(mask)} boxes with {class_num} classes",
            f"make {len(mask) * (5 + class_num)} channels",
        )  # fmt: skip
    whole = float(downsample_ratio * height)
    gt_box = _core.assume_dims(gt_box, (batch, objects, 4)).detach()
    label = _core.assume_dims(_core.cast(gt_label, "int64"), (batch, objects))
    score = _core.full((batch, objects), 1.0, x.dtype) if gt_score is None else _core.assume_dims(gt_score, (batch, objects))
    cells = len(mask) * height * width
    # [batch, boxes, 5 + classes, h, w] as one row for each box and place.
    parted = _core.reshape(x, (batch, len(mask), 5 + class_num, height * width))
    rows = _core.reshape(_core.permute(parted, [0, 1, 3, 2]), (batch, cells, 5 + class_num))
    gx, gy, gw, gh = (_core.squeeze(_core.slice(gt_box, 2, i, i + 1), [2]) for i in range(4))
    counts = _core.logical_and(gw > 1e-6, gh > 1e-6)
    # Boxes that overlap an object are not a background.
    wide = _core.tensor([sizes[2 * i] / whole for i in mask], x.dtype)
    high = _core.tensor([sizes[2 * i + 1] / whole for i in mask], x.dtype)
    told = rows.detach()
    at = [_core.squeeze(_core.slice(told, 2, i, i + 1), [2]) for i in range(4)]
    across = _core.tensor([float(i % width) for i in range(height * width)] * len(mask), x.dtype)
    down = _core.tensor([float(i // width) for i in range(height * width)] * len(mask), x.dtype)
    per_cell = [_core.reshape(_core.broadcast_to(_core.unsqueeze(v, 1), (len(mask), height * width)), (cells,)) for v in (wide, high)]
    beyond = -0.5 * (scale_x_y - 1.0)
    boxes = [
        (_core.sigmoid(at[0]) * scale_x_y + (across + beyond)) / float(width),
        (_core.sigmoid(at[1]) * scale_x_y + (down + beyond)) / float(height),
        _core.exp(at[2]) * per_cell[0], _core.exp(at[3]) * per_cell[1],
    ]  # fmt: skip
    overlap = _shared([_core.unsqueeze(v, 2) for v in boxes], [_core.unsqueeze(v, 1) for v in (gx, gy, gw, gh)])
    best = _core.max(_core.where(_core.unsqueeze(counts, 1), overlap, 0.0), axis=2)
    state = _core.where(best > ignore_thresh, -1.0, 0.0)
    # Which box of all maps has the form of each object, and where it stands in this one.
    all_wide = _core.tensor([size / whole for size in sizes[::2]], x.dtype)
    all_high = _core.tensor([size / whole for size in sizes[1::2]], x.dtype)
    zero = _core.zeros_like(gw)
    forms = _shared(
        [_core.unsqueeze(v, 2) for v in (zero, zero, gw, gh)],
        [_core.zeros_like(all_wide), _core.zeros_like(all_wide), all_wide, all_high],
    )
    number = _core.argmax(forms, 2)
    slots = _core.tensor([mask.index(i) if i in mask else -1 for i in range(len(sizes) // 2)], "int64")
    slot = _core.where(counts, _core.gather(slots, number, 0), -1)
    column = _core.clip(_core.cast(_core.floor(gx * float(width)), "int64"), 0, width - 1)
    row = _core.clip(_core.cast(_core.floor(gy * float(height)), "int64"), 0, height - 1)
    is_here = slot >= 0
    # Objects of other maps go to a place behind all others.
    place = _core.where(is_here, (slot * height + row) * width + column, cells)
    first = _core.unsqueeze(_core.iota(batch, "int64") * (cells + 1), 1)
    flat = _core.flatten(first + place, 0, 1)
    beside = _core.full((batch, 1), 0.0, x.dtype)
    marked = _core.index_put(_core.flatten(_core.concat([state, beside], 1), 0, 1), flat, _core.flatten(score, 0, 1), 0)
    state = _core.slice(_core.reshape(marked, (batch, cells + 1)), 1, 0, cells)
    empty = _core.full((batch, 1, 5 + class_num), 0.0, x.dtype)
    found = _core.gather(_core.flatten(_core.concat([rows, empty], 1), 0, 1), flat, 0)
    found = _core.reshape(found, (batch, objects, 5 + class_num))
    tx, ty, tw, th = (_core.squeeze(_core.slice(found, 2, i, i + 1), [2]) for i in range(4))
    mine = [_core.gather(v, number, 0) for v in (all_wide, all_high)]
    logs = [_core.log(_core.where(counts, size, 1.0) / own) for size, own in zip((gw, gh), mine)]
    weight = _core.where(is_here, (2.0 - gw * gh) * score, 0.0)
    places = (
        _entropy(tx, gx * float(width) - _core.cast(column, x.dtype))
        + _entropy(ty, gy * float(height) - _core.cast(row, x.dtype))
        + _core.abs(tw - logs[0]) + _core.abs(th - logs[1])
    )  # fmt: skip
    smooth = min(1.0 / class_num, 1.0 / 40.0) if use_label_smooth else 0.0
    is_class = _core.unsqueeze(label, 2) == _core.iota(class_num, "int64")
    classes = _core.sum(
        _entropy(_core.slice(found, 2, 5, 5 + class_num), _core.where(is_class, 1.0 - smooth, smooth)), axis=2
    )
    objectness = _core.squeeze(_core.slice(rows, 2, 4, 5), [2])
    by_cell = _core.where(
        state > 1e-5, _entropy(objectness, 1.0) * state, _core.where(state > -0.5, _entropy(objectness, 0.0), 0.0)
    )
    by_object = places * weight + classes * _core.where(is_here, score, 0.0)
    return _core.sum(by_object, axis=1) + _core.sum(by_cell, axis=1)
