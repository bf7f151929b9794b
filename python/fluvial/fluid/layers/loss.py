"""Losses under Fluid's names."""

from __future__ import annotations

import math

from ... import _core
from ..._fault import fault
from ...initializer import XavierUniform
from ...layers._arguments import classes, known, one
from ...layers._inplace import drawing
from ...layers._loss import (
    cross_entropy,
    huber_loss,
    sigmoid_cross_entropy_with_logits,
    softmax_with_cross_entropy,
    square_error_cost,
)
from ...layers._math import one_hot
from ...layers._names import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor

__all__ = [
    "bpr_loss", "center_loss", "cross_entropy", "dice_loss", "huber_loss", "kldiv_loss", "log_loss",
    "margin_rank_loss", "mse_loss", "npair_loss", "rank_loss", "sampled_softmax_with_cross_entropy",
    "sigmoid_cross_entropy_with_logits", "smooth_l1", "softmax_with_cross_entropy",
    "square_error_cost", "teacher_student_sigmoid_loss",
]  # fmt: skip


def mse_loss(input: Tensor, label: Tensor) -> Tensor:
    """The mean of the squares of all differences, of shape [1]."""
    return one(_core.mean(_core.square_error_cost(input, label)))


def bpr_loss(input: Tensor, label: Tensor, name: str | None = None) -> Tensor:
    """Bayesian personalised ranking: for each row the mean of `log(1 + exp(x - right))` over the other classes.

    Args:
        input: A number for each class, `[rows, classes]`.
        label: The right classes, `[rows, 1]`.
        name: For Fluid's programs.

    Returns:
        `[rows, 1]`.
    """
    count = known(input.shape[-1], "the number of classes")
    numbers = _core.unsqueeze(classes(label), -1)
    right = _core.take_along_axis(input, numbers, -1)
    each = _core.softplus(input - right)
    others = _core.iota(count, numbers.dtype) != numbers
    return _core.sum(_core.where(others, each, 0.0), axis=-1, keepdims=True) / float(count - 1)


def rank_loss(label: Tensor, left: Tensor, right: Tensor, name: str | None = None) -> Tensor:
    """`log(1 + exp(left - right)) - label · (left - right)`, for each pair: 1 if the left one ranks higher."""
    ahead = left - right
    return _core.softplus(ahead) - label * ahead


def margin_rank_loss(
    label: Tensor, left: Tensor, right: Tensor, margin: float = 0.1, name: str | None = None
) -> Tensor:
    """`max(0, -label · (left - right) + margin)`, for each pair."""
    return _core.relu(-label * (left - right) + margin)


def log_loss(input: Tensor, label: Tensor, epsilon: float = 1e-4, name: str | None = None) -> Tensor:
    """The negative logarithm of the probability of a label that is 0 or 1, for each row."""
    yes, no = _core.log(input + epsilon), _core.log(1.0 - input + epsilon)
    return -(label * yes) - (1.0 - label) * no


def smooth_l1(
    x: Tensor,
    y: Tensor,
    inside_weight: Tensor | None = None,
    outside_weight: Tensor | None = None,
    sigma: float | None = None,
) -> Tensor:
    """The sum over each row of the square of small differences, of a line beyond.

    Args:
        x: The values, of two axes or more.
        y: The values that are wanted.
        inside_weight: Factors on the differences.
        outside_weight: Factors on their losses; both are given or none.
        sigma: Differences are small below `1 / sigma²`; 1 unless said.

    Returns:
        `[rows, 1]`.
    """
    square = (1.0 if sigma is None else sigma) ** 2
    if (inside_weight is None) != (outside_weight is None):
        raise fault(ValueError, "one of two weights is given", "give both, or none")
    difference = x - y if inside_weight is None else (x - y) * inside_weight
    size = _core.abs(difference)
    each = _core.where(size < 1.0 / square, difference * difference * (0.5 * square), size - 0.5 / square)
    each = each if outside_weight is None else each * outside_weight
    return _core.reshape(_core.sum(each, axis=list(range(1, x.ndim))), (-1, 1))


def dice_loss(input: Tensor, label: Tensor, epsilon: float = 1e-5, name: str | None = None) -> Tensor:
    """One less twice the share that probabilities and labels have in common; the mean over the batch.

    Args:
        input: Probabilities, with the classes last.
        label: The right classes, with size 1 last.
        epsilon: What is added to the divisor.
        name: For Fluid's programs.
    """
    wanted = _core.cast(one_hot(label, known(input.shape[-1], "the number of classes")), input.dtype)
    axes = list(range(1, input.ndim))
    common = _core.sum(input * wanted, axis=axes)
    total = _core.sum(input, axis=axes) + _core.sum(wanted, axis=axes)
    return one(_core.mean(1.0 - common * 2.0 / (total + epsilon)))


def kldiv_loss(x: Tensor, target: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """`target · (log(target) - x)`, zero where the target is not positive.

    Args:
        x: Logarithms of probabilities.
        target: Probabilities.
        reduction: "none", "sum", "mean" or "batchmean".
        name: For Fluid's programs.
    """
    there = target > 0
    safe = _core.where(there, target, 1.0)
    each = _core.where(there, safe * (_core.log(safe) - x), 0.0)
    if reduction == "none":
        return each
    if reduction == "mean":
        return one(_core.mean(each))
    if reduction == "sum":
        return one(_core.sum(each))
    if reduction == "batchmean":
        return one(_core.sum(each) / _core.dim_size(x.shape[0], x.dtype))
    raise fault(ValueError, f"`reduction` is {reduction!r}", 'use "none", "sum", "mean" or "batchmean"')


def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    """Cross entropy of all pairs of anchors and positives, with a penalty on their length.

    Args:
        anchor: `[batch, features]`.
        positive: `[batch, features]`.
        labels: `[batch]`: pairs of one label belong together.
        l2_reg: The factor of the penalty.
    """
    flat = _core.reshape(labels, (-1, 1))
    same = _core.cast(flat == _core.transpose(flat, 0, 1), anchor.dtype)
    wanted = same / _core.sum(same, axis=1, keepdims=True)
    length = _core.mean(_core.sum(_core.square(anchor), axis=1)) + _core.mean(_core.sum(_core.square(positive), axis=1))
    logits = _core.matmul(anchor, _core.transpose(positive, 0, 1))
    each = -_core.sum(wanted * _core.log_softmax(logits, -1), axis=-1, keepdims=True)
    return one(length * (0.25 * l2_reg) + _core.mean(_core.sum(wanted * each, axis=0)))


def teacher_student_sigmoid_loss(
    input: Tensor, label: Tensor, soft_max_up_bound: float = 15.0, soft_max_lower_bound: float = -15.0
) -> Tensor:
    """The logistic loss of clicks, and that of a teacher's probability where there is one.

    Args:
        input: Numbers before the logistic function, `[rows, 1]`.
        label: -2 or -1 for no click or a click without a teacher, else the click (0 or 1) plus the teacher's
            probability.
        soft_max_up_bound: No gradient passes where the input is above.
        soft_max_lower_bound: No gradient passes where it is below.
    """
    inside = _core.logical_and(input < soft_max_up_bound, input > soft_max_lower_bound)
    x = _core.where(inside, input, input.detach())
    base = _core.softplus(x)
    click = _core.where(label < 0.0, label + 2.0, _core.cast(label >= 1.0, label.dtype))
    teacher = _core.where(label >= 1.0, label - 1.0, label)
    alone = base - x * click
    return _core.where(label < 0.0, alone, alone + base - x * teacher)


def center_loss(
    input: Tensor,
    label: Tensor,
    num_classes: int,
    alpha: float | Tensor,
    param_attr: Any,
    update_center: bool = True,
) -> Tensor:
    """Half the square of the distance to the center of the right class, for each row; centers follow the rows.

    Args:
        input: The rows, `[rows, features]`.
        label: The right classes.
        num_classes: How many classes there are.
        alpha: How fast centers move.
        param_attr: What is said of the centers, which are not trained.
        update_center: Whether they move.

    Returns:
        `[rows, 1]`.
    """
    from ..._attr import ParamAttr

    owner = Owner("center_loss")
    said = ParamAttr.of(param_attr)
    sizes = (num_classes, known(input.shape[1], "the number of features"))
    with owner.scope():
        centers = owner.buffer(said.name, sizes, input.dtype, said.initializer or XavierUniform())
        now, numbers = centers.get(), _core.reshape(label, (-1,))
        difference = input - _core.gather(now, numbers, 0)
        if update_center:
            with _core.no_grad():
                total = _core.index_add(difference.detach(), numbers, 0, num_classes)
                ones = _core.ones_like(_core.cast(numbers, input.dtype))
                count = _core.index_add(ones, numbers, 0, num_classes) + 1.0
                rate = _core.reshape(alpha, ()) if isinstance(alpha, _core.Tensor) else alpha
                centers.set(now + total / _core.unsqueeze(count, -1) * rate)
        return _core.sum(difference * difference, axis=-1, keepdims=True) * 0.5


def _tries(weights: list[float], count: int) -> float:
    """How many draws give so many different classes, on average."""
    low, high = float(count), 1e12
    for _ in range(200):
        middle = math.sqrt(low * high)
        found = sum(-math.expm1(middle * math.log1p(-p)) if p < 1.0 else 1.0 for p in weights)
        low, high = (middle, high) if found < count else (low, middle)
    return high


def sampled_softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    num_samples: int,
    num_true: int = 1,
    remove_accidental_hits: bool = True,
    use_customized_samples: bool = False,
    customized_samples: Tensor | None = None,
    customized_probabilities: Tensor | None = None,
    seed: int = 0,
) -> Tensor:
    """Cross entropy among the right classes and some others that are drawn, small numbers more often.

    Args:
        logits: `[rows, classes]`.
        label: The right classes, `[rows, num_true]`.
        num_samples: How many others are drawn, different ones, the same for all rows.
        num_true: How many right classes a row has.
        remove_accidental_hits: Whether drawn classes that are right do not count.
        use_customized_samples: Whether classes and probabilities are given, not drawn.
        customized_samples: Right and other classes, `[rows, num_true + num_samples]`.
        customized_probabilities: How probable each was.
        seed: Where random numbers begin, anew in each run; 0 for those of the scope's stream.

    Returns:
        `[rows, 1]`.
    """
    if use_customized_samples:
        if customized_samples is None or customized_probabilities is None:
            raise fault(ValueError, "classes or probabilities are missing", "give both")
        samples, chances = customized_samples, customized_probabilities
    else:
        count = known(logits.shape[-1], "the number of classes")
        if num_samples > count:
            raise fault(ValueError, f"{num_samples} different ones of {count} classes", "draw fewer")
        all_classes = [math.log((i + 2.0) / (i + 1.0)) / math.log(count + 1.0) for i in range(count)]
        weights = _core.tensor(all_classes, "float64")
        tries = _tries(all_classes, num_samples) if num_samples < count else math.inf
        with drawing(seed or None):
            noise = _core.exponential(("float64", (count,)), 1.0)
        drawn = _core.topk(_core.log(weights) - _core.log(noise), num_samples, -1)[1]
        rows: Any = logits.shape[0]
        others = _core.broadcast_to(drawn, (rows, num_samples))
        samples = _core.concat([_core.cast(label, "int64"), others], 1)
        chances = _core.gather(weights, _core.reshape(samples, (-1,)), 0)
        chances = chances * 0.0 + 1.0 if math.isinf(tries) else -_core.expm1(tries * _core.log1p(-chances))
        chances = _core.cast(_core.reshape(chances, samples.shape), logits.dtype)
    found = _core.take_along_axis(logits, samples, 1)
    if remove_accidental_hits:
        right = _core.unsqueeze(_core.narrow(samples, 1, 0, num_true), 1)
        hit = _core.any(_core.unsqueeze(samples, -1) == right, axis=-1)
        is_other = _core.iota(samples.shape[1], "int64") >= num_true
        found = _core.where(_core.logical_and(hit, is_other), found - 1e20, found)
    logs = _core.log_softmax(found - _core.log(chances), -1)
    return -_core.sum(_core.narrow(logs, 1, 0, num_true), axis=-1, keepdims=True) / float(num_true)
