"""Losses as layers."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._fault import fault
from ..framework import applied
from .layers import Layer

__all__ = ["MSELoss", "L1Loss", "BCELoss", "NLLLoss"]


class _Loss(Layer):
    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise fault(ValueError, f"losses cannot be reduced by {reduction!r}", 'use "mean", "sum" or "none"')
        self.reduction = reduction


class MSELoss(_Loss):
    """The squared difference.

    Args:
        reduction: "mean", "sum" or "none".
    """

    def forward(self, input: Any, label: Any) -> Any:
        return applied(lambda x, y: _core.mse_loss(x, y, self.reduction), "mse_loss", input, label)


class L1Loss(_Loss):
    """The absolute difference.

    Args:
        reduction: "mean", "sum" or "none".
    """

    def forward(self, input: Any, label: Any) -> Any:
        return applied(lambda x, y: _core.l1_loss(x, y, self.reduction), "l1_loss", input, label)


class BCELoss(_Loss):
    """The cross entropy of probabilities of two classes.

    Args:
        weight: A factor for each element.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def forward(self, input: Any, label: Any) -> Any:
        def loss(x: Any, y: Any, weight: Any) -> Any:
            return _core.binary_cross_entropy(x, y, weight, self.reduction)

        return applied(loss, "bce_loss", input, label, self.weight)


class NLLLoss(_Loss):
    """The negative logarithm of the probability of a class, of logarithms of probabilities.

    Args:
        weight: A factor for each class.
        reduction: "mean", "sum" or "none".
        ignore_index: A class that does not count.
    """

    def __init__(self, weight: Any = None, reduction: str = "mean", ignore_index: int = -100) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def forward(self, input: Any, label: Any) -> Any:
        def loss(x: Any, y: Any, weight: Any) -> Any:
            return _core.nll_loss(x, y, weight, reduction=self.reduction, ignore_index=self.ignore_index)

        return applied(loss, "nll_loss", input, label, self.weight)
