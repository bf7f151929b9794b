"""Losses of `torch.nn.functional`, with the places of PyTorch's arguments."""

from __future__ import annotations

import builtins

from ... import _core
from ..._derived.products import as_tensor
from ..._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor


def _word(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction that is meant, also by PyTorch's old names."""
    if size_average is not None or reduce is not None:
        if reduce is False:
            return "none"
        return "sum" if size_average is False else "mean"
    if reduction not in ("none", "mean", "sum"):
        raise fault(ValueError, f"there is no reduction {reduction!r}", 'use "mean", "sum" or "none"')
    return reduction


def _floats(*tensors: Tensor) -> list[Tensor]:
    """The tensors, as floats where none is one."""
    if any(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors):
        return list(tensors)
    return [_core.cast(tensor, "float32") for tensor in tensors]


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    return loss if reduction == "none" else _core.sum(loss) if reduction == "sum" else _core.mean(loss)


def _weighted(function: Any, input: Tensor, target: Tensor, weight: Any, reduction: str, **options: Any) -> Tensor:
    """The loss, each element times its weight; the mean is by the sum of the weights."""
    if weight is None:
        return function(input, target, reduction=reduction, **options)
    weight = _core.broadcast_to(weight, _core.broadcast_tensors([input, target])[0].shape)
    loss = function(input, target, reduction="none", **options) * weight
    return _core.sum(loss) / _core.sum(weight) if reduction == "mean" else _reduced(loss, reduction)


def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The absolute error."""
    return _weighted(_core.l1_loss, input, target, weight, _word(size_average, reduce, reduction))


def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The squared error."""
    return _weighted(_core.mse_loss, input, target, weight, _word(size_average, reduce, reduction))


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """The squared error near zero, the absolute one beyond."""
    if beta == 0.0:
        return l1_loss(input, target, size_average, reduce, reduction)
    return _core.smooth_l1_loss(input, target, reduction=_word(size_average, reduce, reduction), beta=beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    """The squared error near zero, the absolute one beyond."""
    return _weighted(_core.huber_loss, input, target, weight, _word(None, None, reduction), delta=delta)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The loss of scores of classes."""
    word = _word(size_average, reduce, reduction)
    return _core.cross_entropy(input, target, weight, reduction=word, ignore_index=ignore_index, label_smoothing=label_smoothing)


def nll_loss(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The loss of logarithms of probabilities of classes."""
    return _core.nll_loss(input, target, weight, reduction=_word(size_average, reduce, reduction), ignore_index=ignore_index)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The loss of probabilities of two classes."""
    return _core.binary_cross_entropy(input, target, weight, _word(size_average, reduce, reduction))


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Any = None,
) -> Tensor:  # fmt: skip
    """The loss of scores of two classes."""
    return _core.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _word(size_average, reduce, reduction))


def kl_div(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: builtins.bool = False
) -> Tensor:
    """Kullback's and Leibler's divergence of logarithms of probabilities."""
    if reduction == "batchmean" and size_average is None and reduce is None:
        return _core.kl_div(input, target, reduction="sum", log_target=log_target) / input.shape[0]
    return _core.kl_div(input, target, reduction=_word(size_average, reduce, reduction), log_target=log_target)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: builtins.bool = True, full: builtins.bool = False, size_average: Any = None,
    eps: float = 1e-8, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The loss of a Poisson distribution."""
    input, target = _floats(input, target)
    return _core.poisson_nll_loss(input, target, reduction=_word(size_average, reduce, reduction), log_input=log_input, full=full, eps=eps)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: builtins.bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """The loss of a normal distribution."""
    var = as_tensor(var)
    var = _core.unsqueeze(var, -1) if 0 < var.ndim < input.ndim else var
    target, var = (_core.broadcast_to(part, input.shape) for part in (target, var))
    return _core.gaussian_nll_loss(input, target, var, reduction=reduction, full=full, eps=eps)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The loss of distances of pairs that are alike, or not."""
    return _core.hinge_embedding_loss(input, target, reduction=_word(size_average, reduce, reduction), margin=margin)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The loss of the angles between pairs that are alike, or not."""
    input1, input2 = _floats(input1, input2)
    target = target if target.is_floating_point() else _core.cast(target, input1.dtype)
    return _core.cosine_embedding_loss(input1, input2, target, reduction=_word(size_average, reduce, reduction), margin=margin)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The loss of pairs, of which the first is to be the greater one where the target is positive."""
    word = _word(size_average, reduce, reduction)
    if input1.is_floating_point():
        return _core.margin_ranking_loss(input1, input2, target, reduction=word, margin=margin)
    return _reduced(_core.maximum(-target * (input1 - input2) + margin, 0), word)


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Any = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The loss of scores of classes that are not below that of the right one by a margin."""
    word = _word(size_average, reduce, reduction)
    if input.ndim < 2:
        input, target = _core.reshape(input, (1, -1)), _core.reshape(target, (1,))
        loss = _core.multi_margin_loss(input, target, weight, reduction=word, p=p, margin=margin)
        return _core.reshape(loss, ())
    return _core.multi_margin_loss(input, target, weight, reduction=word, p=p, margin=margin)


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """The loss of scores of two classes, -1 and 1."""
    return _core.soft_margin_loss(input, target, _word(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean loss over classes of which several may be right."""
    loss = -(target * _core.log_sigmoid(input) + (1 - target) * _core.log_sigmoid(-input))
    loss = loss if weight is None else loss * weight
    return _reduced(_core.mean(loss, -1), _word(size_average, reduce, reduction))


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """The loss of scores that are not below those of the right classes by one; a target of -1 ends their list."""
    word = _word(size_average, reduce, reduction)
    shape = input.shape
    x, labels = (_core.reshape(part, (-1, shape[-1] if part.ndim else 1)) for part in (input, target))
    listed = _core.eq(_core.cumsum(_core.cast(labels < 0, "int64"), 1), 0)
    places = _core.where(listed, labels, 0)
    right = _core.scatter_add(_core.zeros(x.shape, "int64"), 1, places, _core.cast(listed, "int64")) > 0
    wanted = _core.take_along_axis(x, places, 1)
    gap = _core.maximum(1.0 - (_core.unsqueeze(wanted, 2) - _core.unsqueeze(x, 1)), 0.0)
    counts = _core.logical_and(_core.unsqueeze(listed, 2), _core.logical_not(_core.unsqueeze(right, 1)))
    loss = _core.sum(_core.where(counts, gap, 0.0), [1, 2]) / x.shape[1]
    return _reduced(_core.reshape(loss, ()) if input.ndim < 2 else loss, word)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: builtins.bool = False) -> Tensor:
    """The norms of the differences of vectors."""
    from ...linalg import vector_norm

    x1, x2 = _floats(x1, x2)
    if p < 0:
        return vector_norm(x1 - x2 + eps, ord=p, axis=-1, keepdims=keepdim)
    return _core.pairwise_distance(x1, x2, p=p, eps=eps, keepdims=keepdim)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: builtins.bool = False, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The loss of vectors that are not nearer to one than to another by a margin."""
    anchor, positive, negative = _floats(anchor, positive, negative)
    word = _word(size_average, reduce, reduction)
    return _core.triplet_margin_loss(anchor, positive, negative, reduction=word, margin=margin, p=p, eps=eps, swap=swap)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any = None, margin: float = 1.0,
    swap: builtins.bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with a distance of the user's."""
    anchor, positive, negative = _floats(anchor, positive, negative)
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    far = _core.minimum(far, distance(positive, negative)) if swap else far
    return _reduced(_core.maximum(near - far + margin, 0.0), _word(None, None, reduction))


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: builtins.bool = False,
) -> Tensor:  # fmt: skip
    """The loss of sequences without alignment."""
    lengths = [as_tensor(list(one) if isinstance(one, tuple) else one) for one in (input_lengths, target_lengths)]
    return _core.ctc_loss(log_probs, targets, *lengths, reduction=reduction, blank=blank, zero_infinity=zero_infinity)


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
