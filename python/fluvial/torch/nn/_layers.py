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


_OTHERS = ("Layer", "F", "TYPE_CHECKING")
__all__ = [name for name in dict(globals()) if name[0].isupper() and name not in _OTHERS]  # pyright: ignore[reportUnsupportedDunderAll]
