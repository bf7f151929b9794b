"""Optimizers: from the gradients of a loss to new parameters, in both modes.

They own what they remember; listings and files show it by labels that both modes and Rust share, such as
`adam.step`, `adam.lr`, `adam.m.fc.weight`.
"""

from .._core import Rows, lookup
from . import _generated, lr
from . import lr as lr_scheduler
from ._ema import EMA
from ._generated import *
from ._optimizer import Optimizer

# The names of Rust and of Fluid.
Ema = ExponentialMovingAverage = EMA

__all__ = [
    "EMA", "LBFGS", "Ema", "ExponentialMovingAverage", "Optimizer", "Rows", "lookup", "lr", "lr_scheduler",
    "swa_utils",
]
__all__ += _generated.__all__

#: Parts that are loaded when they are first used, and where they are.
_LAZY = {"LBFGS": "._lbfgs", "swa_utils": ".swa_utils"}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import swa_utils
    from ._lbfgs import LBFGS

# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _LAZY:
            from .._elsewhere import no_attribute

            raise no_attribute(__name__, name)
        import importlib

        module = importlib.import_module(_LAZY[name], __name__)
        value = globals()[name] = module if _LAZY[name][1:] == name else getattr(module, name)
        return value
