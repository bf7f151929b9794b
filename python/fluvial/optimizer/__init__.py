"""Optimizers: from the gradients of a loss to new parameters, in both modes.

They own what they remember; listings and files show it by labels that both modes and Rust share, such as
`adam.step`, `adam.lr`, `adam.m.fc.weight`.
"""

from .._core import Rows, lookup
from . import lr
from ._ema import EMA
from ._kinds import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Ftrl,
    Lamb,
    Lars,
    Lion,
    Momentum,
    NAdam,
    RAdam,
    RMSProp,
)
from ._optimizer import Optimizer

# The names of Rust and of Fluid.
Sgd = SGDOptimizer = SGD
MomentumOptimizer = Momentum
AdagradOptimizer = Adagrad
AdadeltaOptimizer = Adadelta
RmsProp = RMSprop = RMSPropOptimizer = RMSProp
AdamOptimizer = Adam
AdamaxOptimizer = Adamax
FtrlOptimizer = Ftrl
LarsMomentum = LarsMomentumOptimizer = Lars
LambOptimizer = Lamb
Ema = ExponentialMovingAverage = EMA

__all__ = [
    "EMA",
    "SGD",
    "Adadelta",
    "AdadeltaOptimizer",
    "Adagrad",
    "AdagradOptimizer",
    "Adam",
    "AdamOptimizer",
    "AdamW",
    "Adamax",
    "AdamaxOptimizer",
    "Ema",
    "ExponentialMovingAverage",
    "Ftrl",
    "FtrlOptimizer",
    "Lamb",
    "LambOptimizer",
    "Lars",
    "LarsMomentum",
    "LarsMomentumOptimizer",
    "Lion",
    "Momentum",
    "MomentumOptimizer",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSProp",
    "RMSPropOptimizer",
    "RMSprop",
    "RmsProp",
    "Rows",
    "SGDOptimizer",
    "Sgd",
    "lookup",
    "lr",
]

TYPE_CHECKING = False
# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        from .._elsewhere import no_attribute

        raise no_attribute(__name__, name)
