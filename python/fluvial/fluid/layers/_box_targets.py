"""What boxes of detectors should become: classes and places of objects, for some of the boxes of each image."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ..._ragged import Ragged
from ...layers._arguments import known
from ._proposals import counted, first_of
from ._sequence_values import as_many_rows, sequences
from .detection import _sides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import Tensor

__all__ = ["generate_mask_labels", "generate_proposal_labels", "retinanet_target_assign", "rpn_target_assign"]

#: Overlaps that differ less are the same.
_NEAR = 1e-5


def _beside(x: Ragged, dtype: Any = None) -> Tensor:
    """Rows of images beside each other, and behind them one of zeros, so that there is one at least."""
    padded = x.padded()
    padded = padded if dtype is None else _core.cast(padded, dtype)
    more = _core.full((padded.shape[0], 1, *padded.shape[2:]), 0, padded.dtype)
    return _core.concat([padded, more], 1)


def _fitting(rows: Tensor, boxes: Tensor) -> Tensor:
    """Numbers of objects beside each other, of which there are as many as boxes; the run checks it."""
    return _core.assume_dims(rows, boxes.shape[:2]) if rows.is_symbolic else rows


def _objects(gt_boxes: Any, is_crowd: Any, who: str) -> tuple[Ragged, Tensor, Tensor, Tensor]:
    """Boxes of objects, the same beside each other, which of them there are, and which are crowds."""
    given = sequences(gt_boxes, who)
    crowd = sequences(is_crowd, who)
    boxes = _beside(given.map(lambda rows: rows.detach()))
    crowds = _beside(crowd.map(lambda rows: _core.reshape(rows, (-1,))), "int64")
    crowds = _fitting(crowds, boxes)
    place = _core.unsqueeze(_core.iota(boxes.shape[1], "int64"), 0)
    is_there = place < _core.unsqueeze(given.row_lengths[-1], -1)
    return given, boxes, is_there, crowds != 0


def _shared(boxes: Tensor, objects: Tensor) -> Tensor:
    """What boxes and objects of an image share, divided by what either covers: `[batch, boxes, objects]`."""
    left, top, right, bottom = _sides(boxes)
    left2, top2, right2, bottom2 = (_core.transpose(side, 1, 2) for side in _sides(objects))
    across = _core.relu(_core.minimum(right, right2) - _core.maximum(left, left2) + 1.0)
    down = _core.relu(_core.minimum(bottom, bottom2) - _core.maximum(top, top2) + 1.0)
    both = across * down
    areas = (right - left + 1.0) * (bottom - top + 1.0) + (right2 - left2 + 1.0) * (bottom2 - top2 + 1.0)
    is_any = both > 0.0
    return _core.where(is_any, both / _core.where(is_any, areas - both, 1.0), 0.0)


def _code(boxes: Tensor, objects: Tensor) -> Tensor:
    """Objects as differences from boxes."""
    left, top, right, bottom = _sides(boxes)
    left2, top2, right2, bottom2 = _sides(objects)
    width, height = right - left + 1.0, bottom - top + 1.0
    width2, height2 = right2 - left2 + 1.0, bottom2 - top2 + 1.0
    x, y = (left2 + width2 * 0.5 - left - width * 0.5) / width, (top2 + height2 * 0.5 - top - height * 0.5) / height
    return _core.concat([x, y, _core.log(width2 / width), _core.log(height2 / height)], -1)


def _columns(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The rows and columns of a mask's elements."""
    return tuple(_core.reshape(_core.slice(chosen, 1, i, i + 1), (-1,)) for i in range(2))  # type: ignore[return-value]


def _keys(like: Tensor, use_random: bool) -> Tensor | None:
    """Numbers by which some are drawn, or nothing for the first ones."""
    return _core.uniform(("float32", like.shape)) if use_random else None


class _Assigned:
    """Which anchors stand for objects, and which for background.

    Args:
        anchors: `[anchors, 4]`.
        objects: What `_objects` gave.
        scale: By how much objects are larger in the image that is used, `[batch, 1, 1]`.
        inside: Which anchors count, `[batch, anchors]`, or all.
        overlaps: How much an anchor overlaps an object to stand for it at least, and to be background at most.
        draws: How many anchors of an image count, the share of them that stands for objects, and whether they are drawn; or
            nothing for all.
    """

    def __init__(
        self, anchors: Tensor, objects: Any, scale: Tensor, inside: Tensor | None, overlaps: tuple[float, float],
        draws: tuple[int, float, bool] | None,
    ) -> None:  # fmt: skip
        given, boxes, is_there, crowds = objects
        is_there = _core.logical_and(is_there, _core.logical_not(crowds))
        boxes = boxes * scale
        shared = _shared(_core.unsqueeze(anchors, 0), boxes)
        counts = _core.unsqueeze(is_there, 1)
        shared = _core.where(counts, shared, -1.0)
        if inside is None:
            inside = _core.full(shared.shape[:2], True, "bool")
        most = _core.max(shared, axis=2)
        nearest = _core.argmax(shared, 2)
        of_object = _core.max(_core.where(_core.unsqueeze(inside, -1), shared, -1.0), axis=1, keepdims=True)
        best = _core.logical_and(_core.abs(shared - of_object) < _NEAR, counts)
        front = _core.logical_or(_core.any(best, axis=2), most >= overlaps[0])
        front = _core.logical_and(front, inside)
        back = _core.logical_and(inside, most < overlaps[1])
        if draws is not None:
            size, share, is_drawn = draws
            front = first_of(front, int(share * size), _keys(front, is_drawn))
            left = size - _core.sum(_core.cast(front, "int64"), axis=1, keepdims=True)
            back = first_of(back, left, _keys(back, is_drawn))
        count: Any = known(anchors.shape[0], "the number of anchors")
        # An anchor that is both is background; in its place the first one that stands for an object is there, with weight 0.
        both = _core.logical_and(front, back)
        first = _core.argmax(_core.cast(front, "int64"), 1)
        front = _core.logical_and(front, _core.logical_not(back))
        image, column = _columns(_core.argwhere(_core.concat([both, front], 1)))
        is_real = column >= count
        anchor = _core.where(is_real, column - count, _core.gather(first, image, 0))
        number = image * count + anchor
        match = _core.gather(_core.reshape(nearest, (-1,)), number, 0)
        width: Any = _core.dim_size(boxes.shape[1], "int64")
        self.objects = image * width + match
        target = _core.gather(_core.flatten(boxes, 0, 1), self.objects, 0)
        #: Numbers of anchors that get a place, the places, and weights.
        self.places = number
        self.targets = _code(_core.gather(anchors, anchor, 0), target)
        weight = _core.cast(_core.unsqueeze(is_real, -1), anchors.dtype)
        self.weights = _core.broadcast_to(weight, (number.shape[0], 4))
        #: How many of them each image has.
        self.counts = counted(image, given.row_lengths[-1].shape[0])
        image, column = _columns(_core.argwhere(_core.concat([front, back], 1)))
        self.is_front = column < count
        #: Numbers of anchors that get a class, and objects of those that stand for one.
        self.classed = image * count + _core.where(self.is_front, column, column - count)
        self.classes_of = image * width + _core.gather(_core.reshape(nearest, (-1,)), self.classed, 0)


def _anchored(anchor_box: Tensor) -> Tensor:
    return _core.reshape(anchor_box.detach(), (-1, 4))


def _scale(im_info: Tensor, dtype: Any, batch: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Height, width and scale of images, `[batch, 1]` each."""
    info = as_many_rows(_core.cast(im_info.detach(), dtype), batch)
    return tuple(_core.slice(info, 1, i, i + 1) for i in range(3))  # type: ignore[return-value]


def rpn_target_assign(
    bbox_pred: Tensor,
    cls_logits: Tensor,
    anchor_box: Tensor,
    anchor_var: Tensor,
    gt_boxes: Any,
    is_crowd: Any,
    im_info: Tensor,
    rpn_batch_size_per_im: int = 256,
    rpn_straddle_thresh: float = 0.0,
    rpn_fg_fraction: float = 0.5,
    rpn_positive_overlap: float = 0.7,
    rpn_negative_overlap: float = 0.3,
    use_random: bool = True,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """What some anchors of a detector of two stages predict, and what they should: whether there is an object, and where.

    Args:
        bbox_pred: Differences from anchors, `[batch, anchors, 4]`.
        cls_logits: Scores before the logistic function, `[batch, anchors, 1]`.
        anchor_box: `[anchors, 4]`, or what `anchor_generator` gave.
        anchor_var: For Fluid's programs; Fluid does not use it, either.
        gt_boxes: Boxes of objects in the original images, `[objects, 4]`, with levels by image.
        is_crowd: Which of them are crowds, which do not count.
        im_info: Height, width and scale of each image, `[batch, 3]`.
        rpn_batch_size_per_im: How many anchors of an image count.
        rpn_straddle_thresh: How far an anchor may lie outside of its image; negative for any.
        rpn_fg_fraction: The largest share of anchors with an object.
        rpn_positive_overlap: How much an anchor overlaps an object to stand for it; so does the nearest one of each.
        rpn_negative_overlap: How much an anchor overlaps objects at most to stand for none.
        use_random: Whether anchors are drawn; if not, the first ones count.

    Returns:
        Scores and differences of the chosen anchors, whether they should stand for an object, the differences that they
        should have, and weights of these.
    """
    anchors = _anchored(anchor_box)
    objects = _objects(gt_boxes, is_crowd, "rpn_target_assign")
    high, wide, scale = _scale(im_info, anchors.dtype, objects[1].shape[0])
    inside = None
    if rpn_straddle_thresh >= 0:
        left, top, right, bottom = (_core.transpose(side, 0, 1) for side in _sides(anchors))
        far = float(rpn_straddle_thresh)
        above = _core.logical_and(left >= -far, top >= -far)
        inside = _core.logical_and(above, _core.logical_and(right < wide + far, bottom < high + far))
    overlaps = rpn_positive_overlap, rpn_negative_overlap
    draws = (rpn_batch_size_per_im, rpn_fg_fraction, use_random) if rpn_fg_fraction > 0 and rpn_batch_size_per_im > 0 else None
    found = _Assigned(anchors, objects, _core.unsqueeze(scale, -1), inside, overlaps, draws)
    scores = _core.gather(_core.reshape(cls_logits, (-1, 1)), found.classed, 0)
    places = _core.gather(_core.reshape(bbox_pred, (-1, 4)), found.places, 0)
    return scores, places, _core.cast(_core.unsqueeze(found.is_front, -1), "int32"), found.targets, found.weights


def retinanet_target_assign(
    bbox_pred: Tensor,
    cls_logits: Tensor,
    anchor_box: Tensor,
    anchor_var: Tensor,
    gt_boxes: Any,
    gt_labels: Any,
    is_crowd: Any,
    im_info: Tensor,
    num_classes: int = 1,
    positive_overlap: float = 0.5,
    negative_overlap: float = 0.4,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """What anchors of a detector with a pyramid predict, and what they should: classes and places.

    Args:
        bbox_pred: Differences from anchors, `[batch, anchors, 4]`.
        cls_logits: Scores before the logistic function, `[batch, anchors, classes]`.
        anchor_box: `[anchors, 4]`.
        anchor_var: For Fluid's programs; Fluid does not use it, either.
        gt_boxes: Boxes of objects in the original images, `[objects, 4]`, with levels by image.
        gt_labels: Their classes, from 1 on.
        is_crowd: Which of them are crowds, which do not count.
        im_info: Height, width and scale of each image, `[batch, 3]`.
        num_classes: How many classes there are.
        positive_overlap: How much an anchor overlaps an object to stand for it; so does the nearest one of each.
        negative_overlap: How much an anchor overlaps objects at most to stand for none.

    Returns:
        Scores and differences of the chosen anchors, their classes, 0 for none, the differences that they should have,
        weights of these, and for each image the number of anchors that stand for an object, and one more.
    """
    anchors = _anchored(anchor_box)
    objects = _objects(gt_boxes, is_crowd, "retinanet_target_assign")
    _, _, scale = _scale(im_info, anchors.dtype, objects[1].shape[0])
    found = _Assigned(anchors, objects, _core.unsqueeze(scale, -1), None, (positive_overlap, negative_overlap), None)
    labels = _beside(sequences(gt_labels, "retinanet_target_assign").map(lambda rows: _core.reshape(rows, (-1,))), "int64")
    labels = _core.reshape(_fitting(labels, objects[1]), (-1,))
    classes = _core.where(found.is_front, _core.gather(labels, found.classes_of, 0), 0)
    scores = _core.gather(_core.reshape(cls_logits, (-1, num_classes)), found.classed, 0)
    places = _core.gather(_core.reshape(bbox_pred, (-1, 4)), found.places, 0)
    counts = _core.cast(_core.unsqueeze(found.counts + 1, -1), "int32")
    return scores, places, _core.cast(_core.unsqueeze(classes, -1), "int32"), found.targets, found.weights, counts


def generate_proposal_labels(
    rpn_rois: Any,
    gt_classes: Any,
    is_crowd: Any,
    gt_boxes: Any,
    im_info: Tensor,
    batch_size_per_im: int = 256,
    fg_fraction: float = 0.25,
    fg_thresh: float = 0.25,
    bg_thresh_hi: float = 0.5,
    bg_thresh_lo: float = 0.0,
    bbox_reg_weights: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    class_nums: int | None = None,
    use_random: bool = True,
    is_cls_agnostic: bool = False,
    is_cascade_rcnn: bool = False,
) -> tuple[Any, Any, Any, Any, Any]:
    """Some of the boxes that were proposed, and of objects themselves, with what the second stage of a detector should say of
    them. Those of objects come first.

    Args:
        rpn_rois: The boxes, `[n, 4]`, with levels by image.
        gt_classes: The classes of objects, with levels by image.
        is_crowd: Which objects are crowds.
        gt_boxes: Boxes of objects in the original images, `[objects, 4]`.
        im_info: Height, width and scale of each image, `[batch, 3]`.
        batch_size_per_im: How many boxes of an image are chosen.
        fg_fraction: The largest share of boxes with an object.
        fg_thresh: How much a box overlaps an object to stand for it.
        bg_thresh_hi: How much less a box overlaps objects to stand for none.
        bg_thresh_lo: How much it overlaps them at least.
        bbox_reg_weights: What differences are divided by.
        class_nums: How many classes there are, with that of none.
        use_random: Whether boxes are drawn; if not, the first ones are chosen.
        is_cls_agnostic: Whether places are the same for all classes.
        is_cascade_rcnn: Whether all boxes count that fit, and objects are among them already.

    Returns:
        The boxes, their classes, `int32[n, 1]`, differences that they should have in the columns of their class, `[n, 4 ·
        classes]`, and twice the weights of these; all as sequences by image.
    """
    if class_nums is None:
        raise fault(ValueError, "how many classes there are is not said", "give `class_nums`")
    who = "generate_proposal_labels"
    given, objects, is_there, crowds = _objects(gt_boxes, is_crowd, who)
    proposed = sequences(rpn_rois, who).map(lambda rows: rows.detach())
    batch: Any = given.row_lengths[-1].shape[0]
    dtype = proposed.data.dtype
    _, _, scale = _scale(im_info, dtype, batch)
    of_box = _core.gather(scale, _core.assume_dims(_core.repeat_index(proposed.row_lengths[-1]), (proposed.data.shape[0],)), 0)
    lengths = proposed.row_lengths[-1]
    if is_cascade_rcnn:
        boxes = proposed.padded()
        place = _core.unsqueeze(_core.iota(boxes.shape[1], "int64"), 0)
        is_object = place < _core.unsqueeze(given.row_lengths[-1], -1)
        boxes = _core.where(_core.unsqueeze(is_object, -1), boxes, boxes / _core.unsqueeze(scale, -1))
    else:
        own = given.map(lambda rows: rows.detach())
        boxes = Ragged.concat([own, proposed._with(proposed.data / of_box)], axis=1).padded()
        # An image for which nothing was proposed has nothing.
        lengths = _core.where(lengths > 0, lengths + given.row_lengths[-1], 0)
        place = _core.unsqueeze(_core.iota(boxes.shape[1], "int64"), 0)
    counts = place < _core.unsqueeze(lengths, -1)
    shared = _core.where(_core.unsqueeze(is_there, 1), _shared(boxes, objects), 0.0)
    most = _core.max(shared, axis=2)
    last = _core.dim_size(objects.shape[1], "int64") - 1
    of_place = _core.broadcast_to(_core.minimum(place, last), most.shape)
    is_crowded = _core.take_along_axis(_core.cast(crowds, "int64"), of_place, 1) != 0
    most = _core.where(is_crowded, -1.0, most)
    if is_cascade_rcnn:
        left, top, right, bottom = _sides(boxes)
        is_box = _core.logical_and(right - left + 1.0 > 0.0, bottom - top + 1.0 > 0.0)
        counts = _core.logical_and(counts, _core.squeeze(is_box, [2]))
    front = _core.logical_and(counts, most >= fg_thresh)
    back = _core.logical_and(counts, _core.logical_and(most >= bg_thresh_lo, most < bg_thresh_hi))
    back = _core.logical_and(back, _core.logical_not(front))
    if not is_cascade_rcnn:
        front = first_of(front, int(batch_size_per_im * fg_fraction), _keys(front, use_random))
        left_over = batch_size_per_im - _core.sum(_core.cast(front, "int64"), axis=1, keepdims=True)
        back = first_of(back, left_over, _keys(back, use_random))
    nearest = _core.argmax(_core.cast(_core.abs(shared - _core.unsqueeze(most, -1)) < _NEAR, "int64"), 2)
    image, column = _columns(_core.argwhere(_core.concat([front, back], 1)))
    size = _core.dim_size(boxes.shape[1], "int64")
    is_front = column < size
    column = _core.where(is_front, column, column - size)
    number = image * size + column
    chosen = _core.gather(_core.flatten(boxes, 0, 1), number, 0)
    match = image * (last + 1) + _core.gather(_core.reshape(nearest, (-1,)), number, 0)
    classes = _beside(sequences(gt_classes, who).map(lambda rows: _core.reshape(rows, (-1,))), "int64")
    classes = _core.reshape(_fitting(classes, objects), (-1,))
    label = _core.where(is_front, _core.gather(classes, match, 0), 0)
    code = _code(chosen, _core.gather(_core.flatten(objects, 0, 1), match, 0))
    code = code / _core.tensor([float(weight) for weight in bbox_reg_weights], dtype)
    of_class = _core.minimum(label, 1) if is_cls_agnostic else label
    weight = _core.one_hot(_core.where(label > 0, of_class, -1), class_nums)
    weight = _core.unsqueeze(_core.cast(weight, dtype), -1)
    targets = _core.where(weight > 0.0, _core.unsqueeze(code, 1), 0.0)
    weights = _core.broadcast_to(weight, targets.shape)
    found = chosen * _core.gather(scale, image, 0)
    rows = [found, _core.cast(_core.unsqueeze(label, -1), "int32"), _core.flatten(targets, 1, 2), *[_core.flatten(weights, 1, 2)] * 2]
    by_image = counted(image, batch)
    return tuple(Ragged.from_lengths(row, by_image) for row in rows)  # type: ignore[return-value]


def generate_mask_labels(
    im_info: Tensor,
    gt_classes: Any,
    is_crowd: Any,
    gt_segms: Any,
    rois: Any,
    labels_int32: Any,
    num_classes: int,
    resolution: int,
) -> tuple[Any, Any, Any]:
    """Masks that boxes with an object should give. An image without any has its first box, with a mask that does not count.

    Args:
        im_info: Height, width and scale of each image, `[batch, 3]`.
        gt_classes: The classes of objects, with levels by image.
        is_crowd: Which objects are crowds, which do not count.
        gt_segms: Corners of polygons in the original images, `[corners, 2]`, with levels by image, object and polygon.
        rois: The boxes, `[n, 4]`, with levels by image.
        labels_int32: Their classes, as `generate_proposal_labels` gave them.
        num_classes: How many classes there are, with that of none.
        resolution: How many elements a mask has each way.

    Returns:
        The boxes that have a mask, the number of each in its image, `int32[n, 1]`, and the masks, `int32[n, num_classes ·
        resolution · resolution]`, in the columns of their class, with -1 elsewhere; all as sequences by image.
    """
    who = "generate_mask_labels"
    corners, boxes, labels = (sequences(given, who) for given in (gt_segms, rois, labels_int32))
    if corners.levels != 3:
        raise fault(ValueError, f"polygons have {corners.levels} levels", "feed them with lod_level=3: image, object and polygon")
    points, (of_image, of_object, of_polygon) = corners.data.detach(), corners.row_lengths
    polygons = _core.repeat_index(of_object)
    objects = _core.assume_dims(_core.gather(polygons, _core.repeat_index(of_polygon), 0), (points.shape[0],))
    n_objects: Any = of_object.shape[0]
    edges = []
    for how, begin in (("min", float("inf")), ("max", float("-inf"))):
        start = _core.full((n_objects, 2), begin, points.dtype)
        edges.append(_core.index_reduce(start, objects, points, 0, how))
    around = Ragged.from_lengths(_core.concat(edges, 1), of_image)
    given, places, is_there, crowds = _objects(around, is_crowd, who)
    classes = _beside(sequences(gt_classes, who).map(lambda rows: _core.reshape(rows, (-1,))), "int64")
    classes = _fitting(classes, places)
    is_there = _core.logical_and(is_there, _core.logical_and(_core.logical_not(crowds), classes > 0))
    batch: Any = of_image.shape[0]
    data, dtype = boxes.data.detach(), boxes.data.dtype
    lengths = boxes.row_lengths[-1]
    image = _core.assume_dims(_core.repeat_index(lengths), (data.shape[0],))
    label = _core.assume_dims(_core.cast(_core.reshape(labels.data, (-1,)), "int64"), (data.shape[0],))
    starts = _core.cumsum(lengths, 0) - lengths
    number = _core.iota(data.shape[0], "int64") - _core.gather(starts, image, 0)
    has_any = _core.index_add(_core.cast(label > 0, "int64"), image, 0, batch) > 0
    is_first = _core.logical_and(number == 0, _core.logical_not(_core.gather(has_any, image, 0)))
    chosen = _core.reshape(_core.argwhere(_core.logical_or(label > 0, is_first)), (-1,))
    image, label, number, found = (_core.gather(x, chosen, 0) for x in (image, label, number, data))
    _, _, scale = _scale(im_info, dtype, batch)
    original = found / _core.gather(scale, image, 0)
    shared = _core.squeeze(_shared(_core.unsqueeze(original, 1), _core.gather(places, image, 0)), [1])
    counts = _core.gather(is_there, image, 0)
    # The nearest object; the first one that counts, if none is near.
    nearest = _core.argmax(_core.where(counts, shared, -1.0), 1)
    n_corners = _core.concat([of_polygon, _core.full((1,), 0, "int64")], 0)
    n_polygons = _core.concat([of_object, _core.full((1,), 1, "int64")], 0)
    offset = _core.gather(_core.cumsum(of_image, 0) - of_image, image, 0)
    # An image without objects has boxes without a mask, for which an object without corners stands.
    nothing = _core.dim_size(n_objects, "int64")
    is_found = _core.logical_and(label > 0, _core.any(counts, axis=1))
    owner = _core.where(is_found, offset + nearest, nothing)
    masks = _core.polygon_masks(original, owner, points, n_corners, n_polygons, resolution)
    masks = _core.unsqueeze(_core.flatten(masks, 1, 2), 1)
    of_class = _core.unsqueeze(_core.one_hot(_core.where(label > 0, label, -1), num_classes) > 0, -1)
    masks = _core.flatten(_core.where(of_class, masks, -1), 1, 2)
    by_image = counted(image, batch)
    rows = found, _core.cast(_core.unsqueeze(number, -1), "int32"), _core.cast(masks, "int32")
    return tuple(Ragged.from_lengths(row, by_image) for row in rows)  # type: ignore[return-value]
