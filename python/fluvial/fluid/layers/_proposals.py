"""Boxes that detectors of two stages propose, and those that detectors keep. Boxes of images are sequences."""

from __future__ import annotations

import math

from ... import _core
from ..._fault import fault
from ..._ragged import Ragged
from ...layers._arguments import known
from .._lists import listed
from ._sequence_values import as_many_rows, sequences
from .detection import _sides, rounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import Tensor

__all__ = [
    "collect_fpn_proposals", "distribute_fpn_proposals", "generate_proposals", "locality_aware_nms", "matrix_nms",
    "retinanet_detection_output",
]  # fmt: skip

#: The largest logarithm of a factor of sizes.
_LARGEST = math.log(1000.0 / 16.0)
#: Less than any score.
_NEVER = -math.inf


def decoded(anchors: Tensor, code: Tensor, largest: float | None = None) -> Tensor:
    """Boxes from their differences to anchors, in elements of the image.

    Args:
        anchors: Left, top, right, bottom.
        code: The differences.
        largest: The largest logarithm of a factor of sizes, or nothing.
    """
    left, top, right, bottom = _sides(anchors)
    width, height = right - left + 1.0, bottom - top + 1.0
    dx, dy, dw, dh = _sides(code)
    if largest is not None:
        dw, dh = _core.minimum(dw, largest), _core.minimum(dh, largest)
    x, y = dx * width + left + width * 0.5, dy * height + top + height * 0.5
    half_w, half_h = _core.exp(dw) * width * 0.5, _core.exp(dh) * height * 0.5
    return _core.concat([x - half_w, y - half_h, x + half_w - 1.0, y + half_h - 1.0], -1)


def _cut(boxes: Tensor, height: Tensor, width: Tensor) -> Tensor:
    """Boxes, cut off at the edges of images."""
    limits = _core.concat([width, height, width, height], -1) - 1.0
    return _core.maximum(_core.minimum(boxes, limits), 0.0)


def first_of(mask: Tensor, limit: Any, keys: Tensor | None = None) -> Tensor:
    """A mask of as many of each row as `limit` says: those with the smallest keys, or the first ones.

    Args:
        mask: What may be chosen, `[rows, n]`.
        limit: How many of a row: a number, or one for each row.
        keys: Numbers between 0 and 1, or nothing.
    """
    if keys is None:
        before = _core.cumsum(_core.cast(mask, "int64"), 1) - 1
    else:
        before = _core.argsort(_core.argsort(_core.where(mask, keys, 2.0), 1), 1)
    return _core.logical_and(mask, before < limit)


def counted(images: Tensor, batch: Any) -> Tensor:
    """How many rows each image has.

    Args:
        images: The image of each row.
        batch: How many images there are.
    """
    return _core.index_add(_core.full((images.shape[0],), 1, "int64"), images, 0, batch)


def generate_proposals(
    scores: Tensor,
    bbox_deltas: Tensor,
    im_info: Tensor,
    anchors: Tensor,
    variances: Tensor,
    pre_nms_top_n: int = 6000,
    post_nms_top_n: int = 1000,
    nms_thresh: float = 0.5,
    min_size: float = 0.1,
    eta: float = 1.0,
    name: str | None = None,
    return_rois_num: bool = False,
) -> Any:
    """The boxes of images that are worth a second look, best first: boxes `[n, 4]` and scores `[n, 1]`, as sequences. An image
    that has none has a sequence without rows.

    Args:
        scores: Of each anchor at each element, `[batch, anchors, h, w]`.
        bbox_deltas: Differences of boxes from anchors, `[batch, 4 · anchors, h, w]`.
        im_info: Height, width and scale of each image, `[batch, 3]`.
        anchors: What `anchor_generator` gave, `[h, w, anchors, 4]`.
        variances: The scale of differences, of the same sizes.
        pre_nms_top_n: How many boxes are looked at, from the best on; all if not positive.
        post_nms_top_n: How many boxes of an image are kept; all if not positive.
        nms_thresh: How much a box may overlap a better one; not positive for all.
        min_size: The smallest size of a box in the original image, at least 1.
        eta: What the threshold is multiplied with after each box, while it is above 0.5.
        name: For Fluid's programs.
        return_rois_num: Whether the number of boxes up to the end of each image is returned, too.
    """
    batch: Any = scores.shape[0]
    total = math.prod(known(size, "the size of the feature map") for size in scores.shape[1:])
    flat = _core.reshape(_core.permute(scores.detach(), [0, 2, 3, 1]), (batch, total))
    bbox_deltas, im_info = as_many_rows(bbox_deltas, batch), as_many_rows(im_info, batch)
    code = _core.reshape(_core.permute(bbox_deltas.detach(), [0, 2, 3, 1]), (-1, 4))
    count = min(pre_nms_top_n, total) if pre_nms_top_n > 0 else total
    order = _core.slice(_core.argsort(flat, 1, True), 1, 0, count)
    best = _core.take_along_axis(flat, order, 1)
    first = _core.unsqueeze(_core.iota(batch, "int64") * total, -1)
    scale = _core.gather(_core.reshape(variances, (total, 4)), order, 0)
    code = _core.gather(code, first + order, 0) * scale
    boxes = decoded(_core.gather(_core.reshape(anchors, (total, 4)), order, 0), code, _LARGEST)
    high, wide, by = (_core.unsqueeze(_core.slice(_core.cast(im_info, boxes.dtype), 1, i, i + 1), -1) for i in range(3))
    boxes = _cut(boxes, high, wide)
    left, top, right, bottom = _sides(boxes)
    least = max(min_size, 1.0)
    keeps = _core.logical_and((right - left) / by + 1.0 >= least, (bottom - top) / by + 1.0 >= least)
    middle_x, middle_y = left + (right - left + 1.0) / 2.0, top + (bottom - top + 1.0) / 2.0
    keeps = _core.logical_and(keeps, _core.logical_and(middle_x <= wide, middle_y <= high))
    best = _core.where(_core.squeeze(keeps, [2]), best, _NEVER)
    # Nothing overlaps by more than all, so that all are kept.
    limit, most = (nms_thresh, post_nms_top_n) if nms_thresh > 0 else (2.0, 0)
    rows, _, lengths = _core.multiclass_nms(
        boxes, _core.unsqueeze(best, 1), score_threshold=_NEVER, nms_top_k=-1, nms_threshold=limit, nms_eta=eta,
        keep_top_k=most if most > 0 else -1, normalized=False, background=-1,
    )  # fmt: skip
    found = Ragged.from_lengths(_core.slice(rows, 1, 2, 6), lengths), Ragged.from_lengths(_core.slice(rows, 1, 1, 2), lengths)
    return (*found, _core.cast(_core.cumsum(lengths, 0), "int32")) if return_rois_num else found


def distribute_fpn_proposals(
    fpn_rois: Any, min_level: int, max_level: int, refer_level: int, refer_scale: int, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Boxes by the level of a pyramid that fits their sizes, and where each box then stands among all, `[n, 1]`.

    Args:
        fpn_rois: The boxes, `[n, 4]`, with levels that say which image each belongs to.
        min_level: The lowest level.
        max_level: The highest level.
        refer_level: The level of boxes of the size `refer_scale`.
        refer_scale: That size.
        name: For Fluid's programs.
    """
    if min_level > max_level:
        raise fault(ValueError, f"the lowest level is {min_level}, the highest {max_level}", "give the lower one first")
    boxes = sequences(fpn_rois, "distribute_fpn_proposals")
    lengths = boxes.row_lengths[-1]
    images = _core.assume_dims(_core.repeat_index(lengths), (boxes.data.shape[0],))
    left, top, right, bottom = _sides(boxes.data.detach())
    is_box = _core.logical_and(right >= left, bottom >= top)
    area = _core.where(is_box, (right - left + 1.0) * (bottom - top + 1.0), 0.0)
    level = _core.floor(_core.log2(_core.sqrt(area) / float(refer_scale) + 1e-6) + float(refer_level))
    level = _core.reshape(_core.clip(level, float(min_level), float(max_level)), (-1,))
    parts, numbers = [], []
    for i in range(min_level, max_level + 1):
        chosen = _core.reshape(_core.argwhere(level == float(i)), (-1,))
        numbers.append(chosen)
        of_level = counted(_core.gather(images, chosen, 0), lengths.shape[0])
        parts.append(Ragged.from_lengths(_core.gather(boxes.data, chosen, 0), of_level))
    restored = _core.argsort(_core.concat(numbers, 0), 0)
    return parts, _core.cast(_core.unsqueeze(restored, -1), "int32")


def _by_image(rows: Tensor, scores: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
    """Rows by image, the best of each first, and their images."""
    order = _core.argsort(scores, 0, True)
    order = _core.gather(order, _core.argsort(_core.gather(images, order, 0), 0), 0)
    return _core.gather(rows, order, 0), _core.gather(images, order, 0)


def collect_fpn_proposals(
    multi_rois: Sequence[Any],
    multi_scores: Sequence[Any],
    min_level: int,
    max_level: int,
    post_nms_top_n: int,
    name: str | None = None,
) -> Any:
    """The best boxes of all levels of a pyramid, by image.

    Args:
        multi_rois: The boxes of each level, `[n, 4]`, with levels that say which image each belongs to.
        multi_scores: Their scores, `[n, 1]`.
        min_level: The lowest level.
        max_level: The highest level.
        post_nms_top_n: How many boxes of the batch are kept.
        name: For Fluid's programs.
    """
    count = max_level - min_level + 1
    boxes = [sequences(part, "collect_fpn_proposals") for part in listed(multi_rois, "levels")[:count]]
    scores = [getattr(part, "data", part) for part in listed(multi_scores, "levels")[:count]]
    if len(boxes) != count or len(scores) != count:
        raise fault(ValueError, f"{len(boxes)} boxes and {len(scores)} scores for {count} levels", "give both of each level")
    batch: Any = boxes[0].row_lengths[-1].shape[0]
    images = [_core.assume_dims(_core.repeat_index(part.row_lengths[-1]), (part.data.shape[0],)) for part in boxes]
    sure = [_core.assume_dims(_core.reshape(s, (-1,)), (part.data.shape[0],)) for s, part in zip(scores, boxes)]
    rows, image, score = (_core.concat(parts, 0).detach() for parts in ([part.data for part in boxes], images, sure))
    order = _core.argsort(score, 0, True)
    kept = _core.gather(order, _core.reshape(_core.argwhere(_core.iota(order.shape[0], "int64") < post_nms_top_n), (-1,)), 0)
    found, image = _by_image(*(_core.gather(x, kept, 0) for x in (rows, score, image)))
    return Ragged.from_lengths(found, counted(image, batch))


def retinanet_detection_output(
    bboxes: Sequence[Tensor],
    scores: Sequence[Tensor],
    anchors: Sequence[Tensor],
    im_info: Tensor,
    score_threshold: float = 0.05,
    nms_top_k: int = 1000,
    keep_top_k: int = 100,
    nms_threshold: float = 0.3,
    nms_eta: float = 1.0,
) -> Any:
    """What a detector with a pyramid finds: for each box its class, from 1 on, its score and edges in the original image, the
    best first.

    Args:
        bboxes: For each level differences of boxes from anchors, `[batch, boxes, 4]`.
        scores: For each level `[batch, boxes, classes]`.
        anchors: For each level `[boxes, 4]`.
        im_info: Height, width and scale of each image, `[batch, 3]`.
        score_threshold: Boxes of all levels but the last count whose score is larger; there it is 0.
        nms_top_k: How many boxes of a level are looked at, from the best on; -1 for all.
        keep_top_k: How many boxes of an image are kept; -1 for all.
        nms_threshold: How much a box may overlap a better one of its class.
        nms_eta: What the threshold is multiplied with after each box, while it is above 0.5.
    """
    codes, of_levels, bases = (listed(given, "levels") for given in (bboxes, scores, anchors))
    if not codes or not len(codes) == len(of_levels) == len(bases):
        raise fault(ValueError, f"{len(codes)} boxes, {len(of_levels)} scores, {len(bases)} anchors", "give each of every level")
    batch: Any = codes[0].shape[0]
    info = as_many_rows(_core.cast(im_info, codes[0].dtype), batch)
    high, wide, by = (_core.unsqueeze(_core.slice(info, 1, i, i + 1), -1) for i in range(3))
    places, chances = [], []
    for i, (code, score, base) in enumerate(zip(codes, of_levels, bases)):
        code, score = as_many_rows(code, batch), as_many_rows(score, batch)
        boxes = decoded(_core.unsqueeze(base, 0), code.detach()) / by
        places.append(_cut(boxes, rounded(high / by), rounded(wide / by)))
        flat = _core.flatten(score.detach(), 1, 2)
        chosen = flat > (score_threshold if i < len(codes) - 1 else 0.0)
        if nms_top_k >= 0:
            best = _core.argsort(_core.argsort(_core.where(chosen, flat, _NEVER), 1, True), 1)
            chosen = _core.logical_and(chosen, best < nms_top_k)
        kept = _core.reshape(_core.where(chosen, flat, _NEVER), score.shape)
        chances.append(_core.transpose(kept, 1, 2))
    rows, _, lengths = _core.multiclass_nms(
        _core.concat(places, 1), _core.concat(chances, 2), score_threshold=_NEVER, nms_top_k=-1,
        nms_threshold=nms_threshold, nms_eta=nms_eta, keep_top_k=keep_top_k, normalized=False, background=-1,
    )  # fmt: skip
    images = _core.assume_dims(_core.repeat_index(lengths), (rows.shape[0],))
    rows, _ = _by_image(rows, _core.reshape(_core.slice(rows, 1, 1, 2), (-1,)), images)
    classes = _core.slice(rows, 1, 0, 1) + 1.0
    return Ragged.from_lengths(_core.concat([classes, _core.slice(rows, 1, 1, None)], 1), lengths)


def _overlaps(boxes: Tensor, more: float) -> Tensor:
    """For each pair of boxes what they share, divided by what either covers; none if they do not touch."""
    left, top, right, bottom = _sides(boxes)
    left2, top2, right2, bottom2 = (_core.transpose(side, -1, -2) for side in (left, top, right, bottom))
    touch = _core.logical_and(_core.minimum(right, right2) >= _core.maximum(left, left2), _core.minimum(bottom, bottom2) >= _core.maximum(top, top2))
    across = _core.minimum(right, right2) - _core.maximum(left, left2) + more
    down = _core.minimum(bottom, bottom2) - _core.maximum(top, top2) + more
    is_box = _core.logical_and(right >= left, bottom >= top)
    area = _core.where(is_box, (right - left + more) * (bottom - top + more), 0.0)
    shared = across * down
    return _core.where(touch, shared / (area + _core.transpose(area, -1, -2) - shared), 0.0)


def matrix_nms(
    bboxes: Tensor,
    scores: Tensor,
    score_threshold: float,
    post_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    use_gaussian: bool = False,
    gaussian_sigma: float = 2.0,
    background_label: int = 0,
    normalized: bool = True,
    return_index: bool = False,
    name: str | None = None,
) -> Any:
    """Boxes whose scores are less the more they overlap better ones of their class: for each its class, score and edges, the
    best first.

    Args:
        bboxes: `[batch, boxes, 4]`: left, top, right, bottom.
        scores: `[batch, classes, boxes]`.
        score_threshold: Boxes count whose score is larger.
        post_threshold: Boxes are kept whose score is larger in the end.
        nms_top_k: How many boxes of a class are looked at, from the best on; -1 for all.
        keep_top_k: How many boxes of an image are kept; -1 for all.
        use_gaussian: Whether scores fall with the square of the overlap.
        gaussian_sigma: How fast they fall.
        background_label: The class that is left out; -1 for none.
        normalized: Whether places are shares of an image; if not, sides are elements, and the last counts.
        return_index: Whether the number of each box among all of the batch is returned, too.
        name: For Fluid's programs.
    """
    batch: Any = scores.shape[0]
    boxes, chances = as_many_rows(bboxes, batch).detach(), scores.detach()
    classes, total = (known(size, "the number of classes and boxes") for size in chances.shape[1:])
    count = total if nms_top_k < 0 else min(nms_top_k, total)
    order = _core.slice(_core.argsort(chances, 2, True), 2, 0, count)
    score = _core.take_along_axis(chances, order, 2)
    first = _core.reshape(_core.iota(batch, "int64") * total, (batch, 1, 1))
    number = first + order
    edges = _core.gather(_core.reshape(boxes, (-1, 4)), number, 0)
    shared = _overlaps(edges, 0.0 if normalized else 1.0)
    is_better = _core.reshape(_core.iota(count, "int64"), (count, 1)) > _core.iota(count, "int64")
    most = _core.unsqueeze(_core.max(_core.where(is_better, shared, 0.0), axis=-1), 2)
    if use_gaussian:
        fall = _core.exp((most * most - shared * shared) * gaussian_sigma)
    else:
        fall = _core.where(most < 1.0, (1.0 - shared) / _core.where(most < 1.0, 1.0 - most, 1.0), 1.0)
    kept = _core.minimum(_core.min(_core.where(is_better, fall, 1.0), axis=-1), 1.0) * score
    counts = _core.logical_and(score > score_threshold, kept > post_threshold)
    if background_label >= 0:
        is_class = _core.reshape(_core.iota(classes, "int64"), (1, classes, 1)) != background_label
        counts = _core.logical_and(counts, is_class)
    flat = _core.where(counts, kept, _NEVER)
    flat = _core.reshape(flat, (batch, classes * count))
    best = _core.argsort(flat, 1, True)
    if keep_top_k >= 0:
        best = _core.slice(best, 1, 0, min(keep_top_k, classes * count))
    final = _core.take_along_axis(flat, best, 1)
    chosen = _core.argwhere(final > _NEVER)
    images = _core.reshape(_core.slice(chosen, 1, 0, 1), (-1,))
    place = _core.gather_nd(best, chosen)
    numbers = _core.gather(_core.reshape(number, (-1,)), images * (classes * count) + place, 0)
    of_class = _core.cast(_core.floor_div(place, count), boxes.dtype)
    rows = [_core.unsqueeze(of_class, -1), _core.unsqueeze(_core.gather_nd(final, chosen), -1)]
    rows.append(_core.gather(_core.reshape(boxes, (-1, 4)), numbers, 0))
    lengths = counted(images, batch)
    found = Ragged.from_lengths(_core.concat(rows, 1), lengths)
    if not return_index:
        return found
    return found, Ragged.from_lengths(_core.cast(_core.unsqueeze(numbers, -1), "int32"), lengths)


def locality_aware_nms(
    bboxes: Tensor,
    scores: Tensor,
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    nms_threshold: float = 0.3,
    normalized: bool = True,
    nms_eta: float = 1.0,
    background_label: int = -1,
    name: str | None = None,
) -> Any:
    """Boxes that follow each other and overlap are merged, weighted by scores; then those that overlap better ones are left
    out. For each its class, score and edges.

    Args:
        bboxes: `[batch, boxes, 4]`: left, top, right, bottom.
        scores: `[batch, 1, boxes]`: there is one class.
        score_threshold: Boxes count whose score is larger.
        nms_top_k: How many boxes are looked at, from the best on; -1 for all.
        keep_top_k: How many boxes of an image are kept; -1 for all.
        nms_threshold: How much a box may overlap a better one.
        normalized: Whether places are shares of an image; if not, sides are elements, and the last counts.
        nms_eta: What the threshold is multiplied with after each box, while it is above 0.5.
        background_label: The class that is left out; -1 for none.
        name: For Fluid's programs.
    """
    edges = known(bboxes.shape[2], "the number of edges")
    if edges != 4:
        raise fault(
            NotImplementedError, f"boxes of {edges} numbers are polygons, which are not merged here", "give boxes of four edges"
        )
    boxes, merged = _core.merge_boxes(
        as_many_rows(bboxes, scores.shape[0]).detach(), _core.squeeze(scores.detach(), [1]), threshold=nms_threshold, normalized=normalized
    )
    rows, _, lengths = _core.multiclass_nms(
        boxes, _core.unsqueeze(merged, 1), score_threshold=score_threshold, nms_top_k=nms_top_k,
        nms_threshold=nms_threshold, nms_eta=nms_eta, keep_top_k=keep_top_k, normalized=normalized,
        background=background_label,
    )  # fmt: skip
    return Ragged.from_lengths(rows, lengths)
