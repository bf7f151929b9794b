"""Penalties on the size of parameters, under Fluid's names."""

from __future__ import annotations

from .. import regularizer as _own

__all__ = ["L1Decay", "L2Decay", "L1DecayRegularizer", "L2DecayRegularizer"]


class L1DecayRegularizer(_own.L1):
    """`regularization_coeff * sign(w)` is added to the gradient.

    Args:
        regularization_coeff: The factor.
    """

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        super().__init__(regularization_coeff)


class L2DecayRegularizer(_own.L2):
    """`regularization_coeff * w` is added to the gradient.

    Args:
        regularization_coeff: The factor.
    """

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        super().__init__(regularization_coeff)


L1Decay, L2Decay = L1DecayRegularizer, L2DecayRegularizer
