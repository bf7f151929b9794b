"""Penalties on the size of parameters, which optimizers add to gradients.

A penalty in a `ParamAttr` stands in place of the optimizer's weight decay.
"""

from __future__ import annotations

from . import _core
from ._fault import missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import Tensor

__all__ = [
    "L1",
    "L1Decay",
    "L1DecayRegularizer",
    "L2",
    "L2Decay",
    "L2DecayRegularizer",
    "Regularizer",
]


class Regularizer:
    """A penalty; `L1` and `L2` are there."""

    def __init__(self, factor: float = 0.0) -> None:
        self.factor = float(factor)

    def add_to(self, gradient: Tensor, parameter: Tensor) -> Tensor:
        """The gradient with that of the penalty added."""
        raise missing(self, "add_to(self, gradient, parameter)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.factor})"


class L1(Regularizer):
    """The factor times the sum of absolute values: `factor * sign(w)` is added.

    Example:
        >>> fl.regularizer.L1(0.5).add_to(fl.tensor([1.0, 1.0]), fl.tensor([2.0, -2.0])).tolist()
        [1.5, 0.5]
    """

    def add_to(self, gradient: Tensor, parameter: Tensor) -> Tensor:
        return _core.add_penalty("l1", self.factor, gradient, parameter)


class L2(Regularizer):
    """Half the factor times the sum of squares: `factor * w` is added.

    Example:
        >>> fl.regularizer.L2(0.5).add_to(fl.tensor([1.0]), fl.tensor([2.0])).tolist()
        [2.0]
    """

    def add_to(self, gradient: Tensor, parameter: Tensor) -> Tensor:
        return _core.add_penalty("l2", self.factor, gradient, parameter)


#: Fluid's names.
L1Decay = L1DecayRegularizer = L1
L2Decay = L2DecayRegularizer = L2
