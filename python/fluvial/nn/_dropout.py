"""Layers that drop values at random in training."""

from __future__ import annotations

from .. import _core
from ._layer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor


class Dropout(Layer):
    """Each value is zero with this probability, in training; the others grow to make up for it.

    Args:
        p: The probability.
        name: The layer's name.

    Example:
        >>> layer = fl.nn.Dropout(0.5)
        >>> sorted(set(layer(fl.full((100,), 1.0)).tolist()))
        [0.0, 2.0]
        >>> layer.eval()(fl.tensor([1.0])).tolist()
        [1.0]
    """

    _function: Any = staticmethod(_core.dropout)

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__(name)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return self._function(x, self.p) if self.training and self.p != 0.0 else x

    def extra_repr(self) -> str:
        return str(self.p)


class Dropout1d(Dropout):
    """Whole channels of sequences are zero with this probability, in training."""

    _function = staticmethod(_core.dropout1d)


class Dropout2d(Dropout):
    """Whole channels of images are zero with this probability, in training."""

    _function = staticmethod(_core.dropout2d)


class Dropout3d(Dropout):
    """Whole channels of volumes are zero with this probability, in training."""

    _function = staticmethod(_core.dropout3d)


class AlphaDropout(Dropout):
    """Dropout that keeps mean and variance of values that `SELU` gave."""

    _function = staticmethod(_core.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """`AlphaDropout` of whole channels."""

    _function = staticmethod(_core.feature_alpha_dropout)
