"""Optimizers: from the gradients of a loss to new parameters, in both modes.

They own what they remember; listings and files show it by labels that both modes and Rust share, such as
`adam.step`, `adam.lr`, `adam.m.fc.weight`.
"""

from .._core import Rows, lookup
from . import _generated, lr
from ._ema import EMA
from ._generated import *
from ._optimizer import Optimizer

# The names of Rust and of Fluid.
Ema = ExponentialMovingAverage = EMA

__all__ = ["EMA", "Ema", "ExponentialMovingAverage", "Optimizer", "Rows", "lookup", "lr"]
__all__ += _generated.__all__

TYPE_CHECKING = False
# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        from .._elsewhere import no_attribute

        raise no_attribute(__name__, name)
