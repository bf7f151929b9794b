"""Layers that change shapes."""

from __future__ import annotations

from .. import _core
from ._layer import Layer
from ._stateless import Stateless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Tensor


class Identity(Layer):
    """Passes its input on."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Flatten(Stateless):
    """Axes from `start` to `end`, both included, become one.

    Args:
        start: The first axis.
        end: The last axis.

    Example:
        >>> fl.nn.Flatten()(fl.full((2, 3, 4), 0.5)).shape
        (2, 12)
    """

    _function, _options = staticmethod(_core.flatten), {"start": 1, "end": -1}
    _positional = ("start", "end")


class PixelShuffle(Stateless):
    """Channels become pixels.

    Args:
        factor: By how much images grow.

    Example:
        >>> fl.nn.PixelShuffle(2)(fl.full((1, 4, 1, 1), 0.5)).shape
        (1, 1, 2, 2)
    """

    _function, _options = staticmethod(_core.pixel_shuffle), {"factor": Stateless.REQUIRED}
    _positional = ("factor",)


class PixelUnshuffle(PixelShuffle):
    """Pixels become channels.

    Args:
        factor: By how much images shrink.
    """

    _function = staticmethod(_core.pixel_unshuffle)


class ChannelShuffle(Stateless):
    """Channels of all groups in turn.

    Args:
        groups: The number of groups.
    """

    _function, _options = staticmethod(_core.channel_shuffle), {"groups": Stateless.REQUIRED}
    _positional = ("groups",)
