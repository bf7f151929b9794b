"""Measures of predictions, which may write to variables and keep what they have counted."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._fault import fault
from ...layers._arguments import known, one
from ...layers._loss import accuracy as _share
from ...layers._loss import hits as _hits
from ..framework import CALLS, applied, store
from ..layer_helper import LayerHelper

__all__ = ["accuracy", "auc"]


def accuracy(input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None) -> Any:
    """The share of rows whose right class is among the `k` largest, of shape [1].

    Args:
        input: A number for each class, `[rows, classes]`.
        label: The right classes, `[rows, 1]`.
        k: How many of the largest count.
        correct: A variable that gets the number of such rows.
        total: A variable that gets the number of all rows.
    """
    if CALLS.block is not None or CALLS.depth:
        return _share(input, label, k)
    share, right, rows = applied(_counted, "accuracy", input, label, k)
    for value, out in ((right, correct), (rows, total)):
        if out is not None:
            store(value, out)
    return share


def _counted(input: Any, label: Any, k: int) -> Any:
    right = _core.sum(_core.cast(_hits(input, label, k), "int64"))
    return _share(input, label, k), one(right), one(_core.dim_size(input.shape[0], "int64"))


def auc(
    input: Any, label: Any, curve: str = "ROC", num_thresholds: int = 4095, topk: int = 1, slide_steps: int = 1
) -> Any:
    """The area under the curve of right and false alarms, of all batches so far and of the last ones.

    Args:
        input: Probabilities of two classes, `[rows, 2]`.
        label: The right classes, `[rows, 1]`.
        curve: "ROC".
        num_thresholds: How finely probabilities are told apart.
        topk: For Fluid's programs.
        slide_steps: How many of the last batches the second result counts; 0 for all.

    Returns:
        The area over all batches and that over the last ones, of shape [1]; and the counts that are kept: those of
        the last batches for right and wrong rows, then those of all.
    """
    if curve != "ROC":
        raise fault(NotImplementedError, f'the curve "{curve}"', 'use "ROC", the one that Fluid computes as well')
    helper = LayerHelper("auc")
    sizes = [[max(slide_steps, 1), num_thresholds + 1]] * 2 + [[1, num_thresholds + 1]] * 2
    states = [helper.new_state(size, 0, "int64", label="stat") for size in sizes]
    area, recent, *counts = applied(_areas, "auc", input, label, *states, num_thresholds, slide_steps)
    for value, state in zip(counts, states):
        store(value, state)
    return area, recent, states


def _areas(
    input: Any, label: Any, last_right: Any, last_wrong: Any, right: Any, wrong: Any, thresholds: int, steps: int
) -> Any:
    chance = input[:, known(input.shape[1], "the number of classes") - 1].detach()
    places = _core.cast(_core.floor(_core.clip(chance, 0.0, 1.0) * float(thresholds)), "int64")
    is_right = _core.cast(_core.reshape(label, (-1,)) != 0, "int64")
    now = [
        _core.unsqueeze(_core.index_add(each, places, 0, thresholds + 1), 0) for each in (is_right, 1 - is_right)
    ]
    all_so_far = [old + new for old, new in zip((right, wrong), now)]
    if steps == 0:
        recent = [old + new for old, new in zip((last_right, last_wrong), now)]
    else:
        recent = [_core.concat([old[1:], new], 0) if steps > 1 else new for old, new in zip((last_right, last_wrong), now)]
    return (_area(*all_so_far), _area(*recent), *recent, *all_so_far)


def _area(right: Any, wrong: Any) -> Any:
    """The area under the curve of counts, by trapezoids from the highest probability down."""
    up, across = (_core.cast(_core.flip(_core.sum(x, axis=0), [0]), "float64") for x in (right, wrong))
    heights = _core.cumsum(up, 0)
    area = _core.sum(across * (heights - up * 0.5))
    whole = _core.sum(up) * _core.sum(across)
    return one(_core.where(whole > 0.0, area / _core.maximum(whole, 1.0), 0.0))


accuracy.verbatim = auc.verbatim = True  # type: ignore[attr-defined]
