"""Losses and measures under Fluid's names, with Fluid's arguments: one number for each row."""

from __future__ import annotations

from .. import _core
from .._tree import is_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Tensor


def _classes(label: Tensor) -> Tensor:
    return _core.squeeze(label, [-1]) if label.ndim > 1 and is_size(label.shape[-1], 1) else label


def cross_entropy(
    input: Tensor, label: Tensor, soft_label: bool = False, ignore_index: int = -100
) -> Tensor:
    """The negative logarithm of the right class's probability, for each row.

    Args:
        input: Probabilities, `[rows, classes]`.
        label: The right classes, `[rows]` or `[rows, 1]`; probabilities if `soft_label`.
        soft_label: Whether labels are probabilities.
        ignore_index: Rows of this label have no loss.

    Returns:
        `[rows, 1]`.

    Example:
        >>> loss = fl.layers.cross_entropy(fl.tensor([[0.5, 0.5]]), fl.tensor([[1]]))
        >>> loss.numpy().round(4).tolist() == [[np.float32(0.6931)]]
        True
    """
    logs = _core.log(input)
    if soft_label:
        return -_core.sum(label * logs, axis=-1, keepdims=True)
    each = _core.nll_loss(logs, _classes(label), reduction="none", ignore_index=ignore_index)
    return _core.unsqueeze(each, -1)


def softmax_with_cross_entropy(
    logits: Tensor, label: Tensor, soft_label: bool = False, ignore_index: int = -100
) -> Tensor:
    """`cross_entropy` of the softmax of `logits`, computed together.

    Returns:
        `[rows, 1]`.
    """
    logs = _core.log_softmax(logits, -1)
    if soft_label:
        return -_core.sum(label * logs, axis=-1, keepdims=True)
    each = _core.nll_loss(logs, _classes(label), reduction="none", ignore_index=ignore_index)
    return _core.unsqueeze(each, -1)


def sigmoid_cross_entropy_with_logits(x: Tensor, label: Tensor) -> Tensor:
    """Binary cross entropy of each element, of numbers before the logistic function."""
    return _core.binary_cross_entropy_with_logits(x, label, None, None, "none")


def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """The square of each difference.

    Example:
        >>> fl.layers.square_error_cost(fl.tensor([1.0, 2.0]), fl.tensor([0.0, 4.0])).tolist()
        [1.0, 4.0]
    """
    return _core.square_error_cost(input, label)


def huber_loss(input: Tensor, label: Tensor, delta: float) -> Tensor:
    """The square of small differences, a line beyond, for each element."""
    return _core.huber_loss(input, label, reduction="none", delta=delta)


def accuracy(input: Tensor, label: Tensor, k: int = 1) -> Tensor:
    """The share of rows whose right class is among the `k` largest.

    Example:
        >>> fl.layers.accuracy(fl.tensor([[0.1, 0.9], [0.8, 0.2]]), fl.tensor([[1], [1]])).item()
        0.5
    """
    found = _core.topk(input, k, -1)[1]
    right = _core.unsqueeze(_classes(label), -1)
    hits = _core.any(found == right, axis=-1)
    return _core.mean(_core.cast(hits, "float32"))
