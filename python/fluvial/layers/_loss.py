"""Losses and measures under Fluid's names, with Fluid's arguments: one number for each row."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from .._tree import is_size
from ._arguments import axis_of, classes, one, positions
from ._math import mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor


def _last(x: Tensor, axis: int) -> Tensor:
    return x if axis == x.ndim - 1 else _core.movedim(x, [axis], [-1])


def _numbers(label: Tensor, input: Tensor, axis: int) -> Tensor:
    """The right classes of all rows, one after the other."""
    if label.ndim == input.ndim:
        label = _last(label, axis)
        if not is_size(label.shape[-1], 1):
            raise fault(
                ValueError,
                f"labels of shape {label.shape} have more than one class for each row",
                "give one class for each row, or `soft_label=True` with probabilities",
            )
    return positions(_core.reshape(label, (-1,)))


def cross_entropy(
    input: Tensor, label: Tensor, soft_label: bool = False, ignore_index: int = -100
) -> Tensor:
    """The negative logarithm of the right class's probability, for each row.

    Args:
        input: Probabilities, `[rows, classes]`, perhaps with more axes for rows.
        label: The right classes, `[rows]` or `[rows, 1]`; probabilities if `soft_label`.
        soft_label: Whether labels are probabilities.
        ignore_index: Rows of this label have no loss.

    Returns:
        `[rows, 1]`, and `[rows]` for such labels.

    Example:
        >>> loss = fl.layers.cross_entropy(fl.tensor([[0.5, 0.5]]), fl.tensor([[1]]))
        >>> loss.numpy().round(4).tolist() == [[np.float32(0.6931)]]
        True
    """
    # Fluid's logarithm of zero.
    logs = _core.clip(_core.log(input), -1e20, 1e20)
    if soft_label:
        return -_core.sum(label * logs, axis=-1, keepdims=True)
    rows = _core.reshape(logs, (-1, logs.shape[-1]))
    numbers = _numbers(label, input, input.ndim - 1)
    each = _core.nll_loss(rows, numbers, reduction="none", ignore_index=ignore_index)
    has_column = label.ndim == input.ndim
    return _core.reshape(each, (*input.shape[:-1], 1) if has_column else tuple(input.shape[:-1]))


def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """`cross_entropy` of the softmax of `logits`, computed together.

    Args:
        logits: Numbers of any size along `axis`.
        label: The right classes, with size 1 along `axis`; probabilities if `soft_label`.
        soft_label: Whether labels are probabilities.
        ignore_index: Rows of this label have no loss.
        numeric_stable_mode: For Fluid's programs; it is always stable.
        return_softmax: Whether the softmax is returned, too.
        axis: The axis of the classes.

    Returns:
        The losses, with size 1 along `axis`; and the softmax, if so said.
    """
    at = axis_of(axis, logits.ndim)
    moved = _last(logits, at)
    if soft_label:
        loss = -_core.sum(_last(label, at) * _core.log_softmax(moved, -1), axis=-1, keepdims=True)
    else:
        rows = _core.reshape(moved, (-1, moved.shape[-1]))
        numbers = _numbers(label, logits, at)
        each = _core.cross_entropy(rows, numbers, reduction="none", ignore_index=ignore_index)
        loss = _core.reshape(each, (*moved.shape[:-1], 1))
    loss = loss if at == logits.ndim - 1 else _core.movedim(loss, [-1], [at])
    return (loss, _core.softmax(logits, at)) if return_softmax else loss


def sigmoid_cross_entropy_with_logits(
    x: Tensor,
    label: Tensor,
    ignore_index: int = -100,
    name: str | None = None,
    normalize: bool = False,
) -> Tensor:
    """Binary cross entropy of each element, of numbers before the logistic function.

    Args:
        x: The numbers.
        label: The probabilities that are wanted.
        ignore_index: Elements of this label have no loss.
        name: For Fluid's programs.
        normalize: Whether losses are divided by the number of elements that count.
    """
    each = _core.binary_cross_entropy_with_logits(x, label, None, None, "none")
    counts = label != ignore_index
    each = _core.where(counts, each, _core.zeros_like(each))
    if normalize:
        each = each / _core.maximum(_core.sum(_core.cast(counts, each.dtype)), 1e-5)
    return each


def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """The square of each difference.

    Example:
        >>> fl.layers.square_error_cost(fl.tensor([1.0, 2.0]), fl.tensor([0.0, 4.0])).tolist()
        [1.0, 4.0]
    """
    return _core.square_error_cost(input, label)


def mse(input: Tensor, label: Tensor) -> Tensor:
    """The mean of the squared differences.

    Example:
        >>> float(fl.layers.mse(fl.tensor([1.0, 3.0]), fl.tensor([1.0, 1.0])))
        2.0
    """
    return mean(square_error_cost(input, label))


def huber_loss(input: Tensor, label: Tensor, delta: float) -> Tensor:
    """The square of small differences, a line beyond, for each element."""
    return _core.huber_loss(input, label, reduction="none", delta=delta)


def hits(input: Tensor, label: Tensor, k: int) -> Tensor:
    """Whether the right class of each row is among the `k` largest."""
    found = _core.topk(input, k, -1)[1]
    return _core.any(found == _core.unsqueeze(positions(classes(label)), -1), axis=-1)


def accuracy(input: Tensor, label: Tensor, k: int = 1) -> Tensor:
    """The share of rows whose right class is among the `k` largest, of shape [1].

    Example:
        >>> fl.layers.accuracy(fl.tensor([[0.1, 0.9], [0.8, 0.2]]), fl.tensor([[1], [1]])).item()
        0.5
    """
    return one(_core.mean(_core.cast(hits(input, label, k), "float32")))
