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


def _averaging(base: Any) -> Any:
    """The layer, which also takes what windows are divided by."""

    class Pool(base):
        def __init__(
            self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: builtins.bool = False,
            count_include_pad: builtins.bool = True, divisor_override: int | None = None,
        ) -> None:  # fmt: skip
            super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
            self._given = (kernel_size, stride, padding, ceil_mode, count_include_pad)
            self.divisor_override = divisor_override

        def forward(self, input: Tensor) -> Tensor:
            if self.divisor_override is None:
                return super().forward(input)
            return getattr(F, _POOLS[base.__name__])(input, *self._given, self.divisor_override)

    Pool.__name__ = Pool.__qualname__ = base.__name__
    Pool.__doc__ = base.__doc__
    Pool.__module__ = __name__
    return Pool


_POOLS = {"AvgPool2d": "avg_pool2d", "AvgPool3d": "avg_pool3d"}
AvgPool2d, AvgPool3d = _averaging(_nn.AvgPool2d), _averaging(_nn.AvgPool3d)


def _adaptive(base: Any) -> Any:
    """The layer, whose sizes may be None: as many as the input has."""

    class Pool(base):
        def __init__(self, output_size: Any, return_indices: builtins.bool = False) -> None:
            rest = {"return_indices": return_indices} if return_indices else {}
            sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else output_size
            is_open = isinstance(sizes, tuple) and None in sizes
            super().__init__(tuple(1 if n is None else n for n in sizes) if is_open else sizes)
            self._open = (sizes, rest) if is_open or rest else None

        def forward(self, input: Tensor) -> Any:
            if self._open is None:
                return super().forward(input)
            kind = "avg" if "Avg" in base.__name__ else "max"
            return getattr(F, f"adaptive_{kind}_pool{base.__name__[-2]}d")(input, self._open[0], **self._open[1])

    Pool.__name__ = Pool.__qualname__ = base.__name__
    Pool.__doc__ = base.__doc__
    Pool.__module__ = __name__
    return Pool


AdaptiveAvgPool2d, AdaptiveAvgPool3d = _adaptive(_nn.AdaptiveAvgPool2d), _adaptive(_nn.AdaptiveAvgPool3d)
AdaptiveMaxPool2d, AdaptiveMaxPool3d = _adaptive(_nn.AdaptiveMaxPool2d), _adaptive(_nn.AdaptiveMaxPool3d)


class CTCLoss(Layer):
    """See `F.ctc_loss`."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: builtins.bool = False) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)


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
