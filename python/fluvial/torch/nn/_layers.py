"""Layers whose arguments stand at other places in PyTorch, or that are made of functions."""

from __future__ import annotations

import builtins

from ... import nn as _nn
from ...nn import Layer
from . import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor


def _activation(base: type, *names: str, **defaults: Any) -> type:
    """A layer that also takes `inplace`, which has no effect here."""

    class Activation(base):  # type: ignore[misc, valid-type]
        def __init__(self, *values: Any, inplace: builtins.bool = False, **options: Any) -> None:
            # `inplace` is the last by place, too.
            if len(values) == len(names) + 1 and isinstance(values[-1], builtins.bool):
                values = values[:-1]
            super().__init__(**dict(zip(names, values)), **options)

    Activation.__name__ = Activation.__qualname__ = base.__name__
    Activation.__doc__ = base.__doc__
    Activation.__module__ = __name__
    return Activation


ReLU = _activation(_nn.ReLU)
ReLU6 = _activation(_nn.ReLU6)
SELU = _activation(_nn.SELU)
SiLU = _activation(_nn.SiLU)
Mish = _activation(_nn.Mish)
Hardsigmoid = _activation(_nn.HardSigmoid)
Hardswish = _activation(_nn.HardSwish)
LeakyReLU = _activation(_nn.LeakyReLU, "slope")
ELU = _activation(_nn.ELU, "alpha")
CELU = _activation(_nn.CELU, "alpha")
Dropout = _activation(_nn.Dropout, "p")
Dropout1d = _activation(_nn.Dropout1d, "p")
Dropout2d = _activation(_nn.Dropout2d, "p")
Dropout3d = _activation(_nn.Dropout3d, "p")
AlphaDropout = _activation(_nn.AlphaDropout, "p")
Hardtanh = _activation(_nn.HardTanh, "low", "high")


class GELU(_nn.GELU):
    """`gelu`; `approximate="tanh"` is its form by `tanh`."""

    def __init__(self, approximate: str = "none", **options: Any) -> None:
        super().__init__(approximate == "tanh", **options)


class Softmin(Layer):
    """`softmax` of the negative."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class Threshold(Layer):
    """The elements above a threshold, and a number in the place of others."""

    def __init__(self, threshold: float, value: float, inplace: builtins.bool = False) -> None:
        super().__init__()
        self.threshold, self.value = threshold, value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value)


class Softmax2d(Layer):
    """`softmax` over the channels of images."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, -3)


class RReLU(Layer):
    """The elements, times random slopes where they are negative; in evaluation, times the mean of the slopes."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: builtins.bool = False) -> None:
        super().__init__()
        self.lower, self.upper = lower, upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training)


class MultiLabelMarginLoss(Layer):
    """See `F.multilabel_margin_loss`."""

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        self.options = (size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, *self.options)


class MultiLabelSoftMarginLoss(Layer):
    """See `F.multilabel_soft_margin_loss`."""

    def __init__(self, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        self.weight, self.options = weight, (size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, *self.options)


class TripletMarginWithDistanceLoss(Layer):
    """See `F.triplet_margin_with_distance_loss`."""

    def __init__(self, *, distance_function: Any = None, margin: float = 1.0, swap: builtins.bool = False, reduction: str = "mean") -> None:
        super().__init__()
        self.distance_function, self.margin, self.swap, self.reduction = distance_function, margin, swap, reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap, reduction=self.reduction
        )


NLLLoss2d = _nn.NLLLoss

_OTHERS = ("Layer", "F", "TYPE_CHECKING")
__all__ = [name for name in dict(globals()) if name[0].isupper() and name not in _OTHERS]  # pyright: ignore[reportUnsupportedDunderAll]
