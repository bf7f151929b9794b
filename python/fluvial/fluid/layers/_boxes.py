"""Boxes that are chosen and matched one by one, and the losses of detectors. Boxes of images are sequences."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ..._ragged import Ragged
from ._sequence_values import rows_of, whole
from .detection import box_coder, iou_similarity, rounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor

__all__ = ["bipartite_match", "box_clip", "detection_output", "multiclass_nms", "ssd_loss", "target_assign"]


def multiclass_nms(
    bboxes: Tensor,
    scores: Tensor,
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    nms_threshold: float = 0.3,
    normalized: bool = True,
    nms_eta: float = 1.0,
    background_label: int = 0,
    name: str | None = None,
    return_index: bool = False,
) -> Any:
    """The boxes that are kept of those that overlap, class by class: for each its class, score and edges. An image that
    keeps none has a sequence without rows.

    Args:
        bboxes: `[batch, boxes, 4]`: left, top, right, bottom.
        scores: `[batch, classes, boxes]`.
        score_threshold: Boxes count whose score is larger.
        nms_top_k: How many boxes of a class are looked at, from the best on; -1 for all.
        keep_top_k: How many boxes of an image are kept; -1 for all.
        nms_threshold: How much a box may overlap a better one.
        normalized: Whether places are shares of an image; if not, sides are elements, and the last counts.
        nms_eta: What the threshold is multiplied with after each box, while it is above 0.5.
        background_label: The class that is left out; -1 for none.
        name: For Fluid's programs.
        return_index: Whether the number of each box among all of the batch is returned, too.
    """
    if isinstance(bboxes, Ragged) or isinstance(scores, Ragged):
        raise fault(
            NotImplementedError, "boxes of images stand beside each other here", "give `[batch, boxes, 4]`, padded"
        )
    rows, numbers, lengths = _core.multiclass_nms(
        bboxes.detach(), scores.detach(), score_threshold=score_threshold, nms_top_k=nms_top_k,
        nms_threshold=nms_threshold, nms_eta=nms_eta, keep_top_k=keep_top_k, normalized=normalized,
        background=background_label,
    )  # fmt: skip
    found = Ragged.from_lengths(rows, lengths)
    if not return_index:
        return found
    return found, Ragged.from_lengths(_core.reshape(numbers, (numbers.shape[0], 1)), lengths)


def detection_output(
    loc: Tensor,
    scores: Tensor,
    prior_box: Tensor,
    prior_box_var: Tensor,
    background_label: int = 0,
    nms_threshold: float = 0.3,
    nms_top_k: int = 400,
    keep_top_k: int = 200,
    score_threshold: float = 0.01,
    nms_eta: float = 1.0,
    return_index: bool = False,
) -> Any:
    """What a detector of one stage finds: boxes from differences, those that overlap left out.

    Args:
        loc: Differences from the prior boxes, `[batch, boxes, 4]`.
        scores: Scores before softmax, `[batch, boxes, classes]`.
        prior_box: `[boxes, 4]`.
        prior_box_var: Their variances.
        background_label: See `multiclass_nms`.
        nms_threshold: See `multiclass_nms`.
        nms_top_k: See `multiclass_nms`.
        keep_top_k: See `multiclass_nms`.
        score_threshold: See `multiclass_nms`.
        nms_eta: See `multiclass_nms`.
        return_index: See `multiclass_nms`.
    """
    boxes = box_coder(prior_box, prior_box_var, loc, "decode_center_size")
    chances = _core.transpose(_core.softmax(scores, -1), 1, 2)
    return multiclass_nms(
        boxes, chances, score_threshold, nms_top_k, keep_top_k, nms_threshold, True, nms_eta, background_label,
        return_index=return_index,
    )  # fmt: skip


def box_clip(input: Any, im_info: Tensor, name: str | None = None) -> Any:
    """Boxes, cut off at the edges of their images.

    Args:
        input: Boxes with levels that say which image each belongs to; or `[batch, boxes, 4]`.
        im_info: Height, width and scale of each image, `[batch, 3]`.
        name: For Fluid's programs.
    """
    sizes = rounded(_core.slice(im_info, 1, 0, 2) / _core.slice(im_info, 1, 2, 3)) - 1.0
    down, across = _core.slice(sizes, 1, 0, 1), _core.slice(sizes, 1, 1, 2)
    limits = _core.concat([across, down, across, down], 1)
    if isinstance(input, Ragged):
        images = _core.assume_dims(_core.repeat_index(input.row_lengths[-1]), (input.data.shape[0],))
        limits = _core.gather(limits, images, 0)
        return input._with(_core.maximum(_core.minimum(input.data, limits), 0.0))
    limits = _core.reshape(limits, (limits.shape[0], *[1] * (input.ndim - 2), 4))
    return _core.maximum(_core.minimum(input, limits), 0.0)


def bipartite_match(
    dist_matrix: Any, match_type: str | None = None, dist_threshold: float | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Which row each column is matched with, `[batch, columns]`, or -1; and how near it is.

    Args:
        dist_matrix: How near rows and columns are, such as `iou_similarity`; rows have levels by image.
        match_type: "bipartite", each row once; "per_prediction" gives columns that are left their nearest row, too.
        dist_threshold: How near that row must be; 0.5 unless said.
        name: For Fluid's programs.
    """
    if match_type not in (None, "bipartite", "per_prediction"):
        raise fault(ValueError, f"no match is called {match_type!r}", 'use "bipartite" or "per_prediction"')
    near = rows_of(dist_matrix)
    if isinstance(dist_matrix, Ragged):
        lengths = dist_matrix.row_lengths[-1]
    else:
        lengths = _core.reshape(_core.dim_size(near.shape[0], "int64"), (1,))
    rows, found = _core.bipartite_match(
        near.detach(), lengths, per_prediction=match_type == "per_prediction",
        overlap_threshold=0.5 if dist_threshold is None else dist_threshold,
    )  # fmt: skip
    return _core.cast(rows, "int32"), found


def target_assign(
    input: Any,
    matched_indices: Tensor,
    negative_indices: Any = None,
    mismatch_value: float | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """What each column should be: the row that it is matched with, or `mismatch_value`; and a weight, 1 or 0.

    Args:
        input: Rows with levels by image, `[n, k]`, or `[n, columns, k]` with one for each column.
        matched_indices: What `bipartite_match` gave.
        negative_indices: Columns that count, too, as sequences by image.
        mismatch_value: What columns without a row get; 0 unless said.
        name: For Fluid's programs.
    """
    if not isinstance(input, Ragged):
        raise fault(TypeError, "rows of images have no lengths", "feed them with lod_level=1")
    rows = _core.cast(matched_indices, "int64")
    found, matched = _targets(input, rows, 0.0 if mismatch_value is None else mismatch_value)
    if negative_indices is not None:
        if not isinstance(negative_indices, Ragged):
            raise fault(TypeError, "the columns of images have no lengths", "give sequences of columns by image")
        numbers = _core.reshape(whole(negative_indices), (-1,))
        images = _core.repeat_index(negative_indices.row_lengths[-1])
        images = _core.assume_dims(images, (numbers.shape[0],))
        columns = matched.shape[1]
        flat = _core.reshape(_core.cast(matched, "float32"), (-1,))
        ones = _core.full((numbers.shape[0],), 1.0, "float32")
        place = images * _core.dim_size(columns, "int64") + numbers
        matched = _core.reshape(_core.index_put(flat, place, ones, 0), matched.shape) > 0.0
    return found, _core.unsqueeze(_core.cast(matched, "float32"), -1)


def _targets(given: Ragged, rows: Tensor, otherwise: float) -> tuple[Tensor, Tensor]:
    """The row of each column, and whether it has one."""
    data = given.data if given.data.ndim == 3 else _core.unsqueeze(given.data, 1)
    lengths = given.row_lengths[-1]
    # Behind all rows stands one more, for columns of batches without any.
    data = _core.concat([data, _core.full((1, *data.shape[1:]), 0, data.dtype)], 0)
    starts = _core.unsqueeze(_core.cumsum(lengths, 0) - lengths, -1)
    batch, columns = rows.shape
    matched = rows >= 0
    place = _core.where(matched, rows, 0) + starts
    per_row: Any = data.shape[1]
    if not isinstance(per_row, int) or per_row != 1:
        data = _core.assume_dims(data, (data.shape[0], columns, data.shape[2]))
        place = place * _core.dim_size(columns, "int64") + _core.unsqueeze(_core.iota(columns, "int64"), 0)
    flat = _core.flatten(data, 0, 1)
    found = _core.gather(flat, place, 0)
    fill = _core.full((), otherwise, data.dtype)
    return _core.where(_core.unsqueeze(matched, -1), found, fill), matched


def ssd_loss(
    location: Tensor,
    confidence: Tensor,
    gt_box: Any,
    gt_label: Any,
    prior_box: Tensor,
    prior_box_var: Tensor | None = None,
    background_label: int = 0,
    overlap_threshold: float = 0.5,
    neg_pos_ratio: float = 3.0,
    neg_overlap: float = 0.5,
    loc_loss_weight: float = 1.0,
    conf_loss_weight: float = 1.0,
    match_type: str = "per_prediction",
    mining_type: str = "max_negative",
    normalize: bool = True,
    sample_size: int | None = None,
) -> Tensor:
    """The loss of a detector of one stage, `[batch, 1]`: classes of boxes that are matched with objects and of the worst
    ones that are not, and places of those that are.

    Args:
        location: Differences from the prior boxes, `[batch, boxes, 4]`.
        confidence: Scores before softmax, `[batch, boxes, classes]`.
        gt_box: The boxes of objects, `[objects, 4]`, with levels by image.
        gt_label: Their classes.
        prior_box: `[boxes, 4]`.
        prior_box_var: Their variances.
        background_label: The class of boxes without an object.
        overlap_threshold: How much a box must overlap an object to stand for it.
        neg_pos_ratio: How many boxes without an object count for each one with one.
        neg_overlap: How much these may overlap an object.
        loc_loss_weight: The factor of the loss of places.
        conf_loss_weight: The factor of the loss of classes.
        match_type: See `bipartite_match`.
        mining_type: "max_negative": the boxes with the largest loss count.
        normalize: Whether the loss is divided by the number of boxes with an object.
        sample_size: For another kind of `mining_type`, which Fluid does not have, either.
    """
    if mining_type != "max_negative":
        raise fault(ValueError, f"boxes are not chosen by {mining_type!r}", 'use "max_negative"')
    if not isinstance(gt_box, Ragged) or not isinstance(gt_label, Ragged):
        raise fault(TypeError, "the objects of images have no lengths", "feed boxes and classes with lod_level=1")
    near = gt_box._with(iou_similarity(gt_box.data, prior_box))
    found, overlap = bipartite_match(near, match_type, overlap_threshold)
    batch, boxes = confidence.shape[0], confidence.shape[1]
    rows = _core.assume_dims(_core.cast(found, "int64"), (batch, boxes))
    overlap = _core.assume_dims(overlap, (batch, boxes))
    labels = gt_label._with(_core.cast(_core.reshape(gt_label.data, (gt_label.data.shape[0], 1)), "int64"))
    classes, matched = _targets(labels, rows, background_label)
    losses = _core.neg(
        _core.squeeze(_core.take_along_axis(_core.log_softmax(confidence, -1), classes, 2), [2])
    )
    # The place of each box among those of its image without an object, the largest loss first.
    is_free = _core.logical_and(_core.logical_not(matched), overlap < neg_overlap)
    order = _core.argsort(_core.where(is_free, losses.detach(), -1.0), -1, True)
    place = _core.argsort(order, -1)
    share = _core.sum(_core.cast(matched, "float32"), axis=1, keepdims=True) * neg_pos_ratio
    counts = _core.logical_and(is_free, _core.cast(place, "float32") < _core.floor(share))
    class_weight = _core.cast(_core.logical_or(matched, counts), location.dtype)
    encoded = gt_box._with(box_coder(prior_box, prior_box_var, gt_box.data, "encode_center_size"))
    places, _ = _targets(encoded, rows, background_label)
    gap = _core.abs(location - places)
    by_box = _core.sum(_core.where(gap < 1.0, 0.5 * gap * gap, gap - 0.5), axis=-1)
    place_weight = _core.cast(matched, location.dtype)
    loss = conf_loss_weight * losses * class_weight + loc_loss_weight * by_box * place_weight
    total = _core.sum(loss, axis=1, keepdims=True)
    return total / _core.sum(place_weight) if normalize else total
