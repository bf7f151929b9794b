"""How good a detector is: the mean, over classes, of the mean precision."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ._sequence_values import sequences, whole
from .detection import _sides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor

__all__ = ["detection_map"]

#: The nearest that two different recalls are.
_NEAR = 1e-6


def hits(
    detect_res: Any, label: Any, class_num: int, overlap_threshold: float, evaluate_difficult: bool
) -> tuple[Tensor, Tensor]:
    """For each box that counts its class, its score and whether it is right, `[n, 3]`; and how many objects classes have.

    Args:
        detect_res: What `multiclass_nms` gave: class, score and edges.
        label: Class, perhaps whether it is difficult, and edges of objects.
        class_num: How many classes there are.
        overlap_threshold: How much a box must overlap an object.
        evaluate_difficult: Whether difficult objects count.
    """
    found, objects = sequences(detect_res, "detection_map"), sequences(label, "detection_map")
    columns: Any = objects.data.shape[1]
    if columns not in (5, 6):
        raise fault(ValueError, f"objects have {columns} columns", "give class, perhaps whether it is difficult, and edges")
    rows, given = found.data.detach(), _core.cast(objects.data.detach(), found.data.dtype)
    of_rows = _core.assume_dims(_core.repeat_index(found.row_lengths[-1]), (rows.shape[0],))
    of_given = _core.assume_dims(_core.repeat_index(objects.row_lengths[-1]), (given.shape[0],))
    # Behind all objects stands one that no box belongs to, so that there is one at least.
    nothing = _core.full((1, columns), -1.0, given.dtype)
    given = _core.concat([given, nothing], 0)
    of_given = _core.concat([of_given, _core.full((1,), -1, "int64")], 0)
    classes, kinds = whole(_core.slice(rows, 1, 0, 1)), whole(_core.slice(given, 1, 0, 1))
    boxes = _core.clip(_core.slice(rows, 1, 2, 6), 0.0, 1.0)
    left, top, right, bottom = _sides(boxes)
    edges = _core.slice(given, 1, columns - 4, columns)
    left2, top2, right2, bottom2 = (_core.transpose(side, 0, 1) for side in _sides(edges))
    across = _core.relu(_core.minimum(right, right2) - _core.maximum(left, left2))
    down = _core.relu(_core.minimum(bottom, bottom2) - _core.maximum(top, top2))
    both = across * down
    areas = (right - left) * (bottom - top) + (right2 - left2) * (bottom2 - top2) - both
    shared = _core.where(both > 0.0, both / _core.where(both > 0.0, areas, 1.0), 0.0)
    is_pair = _core.logical_and(
        classes == _core.transpose(kinds, 0, 1), _core.unsqueeze(of_rows, -1) == _core.unsqueeze(of_given, 0)
    )
    shared = _core.where(is_pair, shared, -1.0)
    nearest, most = _core.argmax(shared, 1), _core.max(shared, axis=1)
    is_near = most > overlap_threshold
    counts: Any = kinds[:, 0] >= 0
    if columns == 6 and not evaluate_difficult:
        is_hard = _core.abs(_core.reshape(_core.slice(given, 1, 1, 2), (-1,))) >= _NEAR
        dropped = _core.logical_and(is_near, _core.gather(is_hard, nearest, 0))
        counts = _core.logical_and(counts, _core.logical_not(is_hard))
    else:
        dropped = _core.logical_and(is_near, False)
    # Of several boxes for one object the best is right.
    place = _core.argsort(_core.argsort(_core.reshape(_core.slice(rows, 1, 1, 2), (-1,)), 0, True), 0)
    n: Any = _core.dim_size(rows.shape[0], "int64")
    last = _core.broadcast_to(n, (given.shape[0],))
    first = _core.index_reduce(last, nearest, _core.where(is_near, place, n), 0, "min")
    is_right = _core.logical_and(is_near, _core.gather(first, nearest, 0) == place)
    kept = _core.reshape(_core.argwhere(_core.logical_not(dropped)), (-1,))
    flags = _core.cast(_core.unsqueeze(is_right, -1), rows.dtype)
    triples = _core.gather(_core.concat([_core.slice(rows, 1, 0, 2), flags], 1), kept, 0)
    per_class = _core.one_hot(_core.reshape(kinds, (-1,)), class_num) * _core.cast(_core.unsqueeze(counts, -1), "int64")
    return triples, _core.sum(per_class, axis=0)


def mean_precision(triples: Tensor, objects: Tensor, background_label: int, ap_version: str) -> Tensor:
    """The mean of the precision of classes, `[1]`.

    Args:
        triples: What `hits` gave, of one batch or of several.
        objects: How many objects classes have.
        background_label: The class that does not count.
        ap_version: "integral", or "11point" for the best precision at eleven recalls.
    """
    dtype = triples.dtype
    classes: Any = objects.shape[0]
    order = _core.argsort(_core.reshape(_core.slice(triples, 1, 1, 2), (-1,)), 0, True)
    kinds = whole(_core.reshape(_core.slice(triples, 1, 0, 1), (-1,)))
    order = _core.gather(order, _core.argsort(_core.gather(kinds, order, 0), 0), 0)
    kinds = _core.gather(kinds, order, 0)
    # What is of no class has none of its objects; behind all boxes stands one that is wrong.
    kinds = _core.where(_core.logical_and(kinds >= 0, kinds < classes), kinds, classes)
    kinds = _core.concat([kinds, _core.full((1,), classes, "int64")], 0)
    right = _core.gather(_core.reshape(_core.slice(triples, 1, 2, 3), (-1,)), order, 0)
    right = _core.concat([right, _core.full((1,), 0.0, dtype)], 0)
    of_class = _core.cast(_core.unsqueeze(kinds, -1) == _core.iota(classes, "int64"), dtype)
    hit = _core.cumsum(_core.unsqueeze(right, -1) * of_class, 0)
    seen = _core.cumsum(of_class, 0)
    precision = hit / _core.maximum(seen, 1.0)
    total = _core.cast(objects, dtype)
    recall = hit / _core.maximum(total, 1.0)
    if ap_version == "11point":
        at = _core.reshape(_core.iota(11, dtype) / 10.0, (11, 1, 1))
        best = _core.max(_core.where(_core.logical_and(recall >= at, of_class > 0.0), precision, 0.0), axis=1)
        by_class = _core.mean(best, axis=0)
    else:
        gain = _core.unsqueeze(right, -1) * of_class / _core.maximum(total, 1.0)
        by_class = _core.sum(_core.where(gain > _NEAR, precision * gain, 0.0), axis=0)
    counts = _core.logical_and(objects > 0, _core.iota(classes, "int64") != background_label)
    number = _core.sum(_core.cast(counts, dtype))
    return _core.reshape(_core.sum(_core.where(counts, by_class, 0.0)) / _core.maximum(number, 1.0), (1,))


def checked(ap_version: str) -> None:
    """Refuses a kind of mean that there is not."""
    if ap_version not in ("integral", "11point"):
        raise fault(ValueError, f"there is no mean {ap_version!r}", 'use "integral" or "11point"')


def detection_map(
    detect_res: Any,
    label: Any,
    class_num: int,
    background_label: int = 0,
    overlap_threshold: float = 0.3,
    evaluate_difficult: bool = True,
    has_state: Tensor | None = None,
    input_states: Any = None,
    out_states: Any = None,
    ap_version: str = "integral",
) -> Tensor:
    """The mean of the precision of classes that a detector reaches in a batch, `[1]`.

    Args:
        detect_res: What `multiclass_nms` gave: class, score and edges, as shares of the image.
        label: Class, perhaps whether it is difficult, and edges of objects, with levels by image.
        class_num: How many classes there are.
        background_label: The class that does not count.
        overlap_threshold: How much a box must overlap an object.
        evaluate_difficult: Whether difficult objects count.
        has_state: Refused, with the states: what grows is kept by `fluid.metrics.DetectionMAP`.
        input_states: Refused.
        out_states: Refused.
        ap_version: "integral", or "11point" for the best precision at eleven recalls.
    """
    if has_state is not None or input_states is not None or out_states is not None:
        raise fault(
            NotImplementedError,
            "states of `detection_map` grow with every batch, and variables that persist keep their sizes",
            "use `fluid.metrics.DetectionMAP`, which adds up over batches",
        )
    checked(ap_version)
    return mean_precision(
        *hits(detect_res, label, class_num, overlap_threshold, evaluate_difficult), background_label, ap_version
    )
