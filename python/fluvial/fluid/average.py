"""Weighted means in NumPy."""

from __future__ import annotations

from typing import Any

from .._fault import fault

__all__ = ["WeightedAverage"]


class WeightedAverage:
    """The mean of numbers or arrays, weighted."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begins anew."""
        self.numerator: Any = None
        self.denominator: Any = None

    def add(self, value: Any, weight: Any) -> None:
        """Adds a number or an array.

        Args:
            value: The value.
            weight: Its weight.
        """
        import numpy as np

        if not isinstance(value, (int, float, np.ndarray, np.generic)):
            raise fault(ValueError, f"{type(value).__name__} has no mean", "give a number or an array")
        if not isinstance(weight, (int, float, np.generic)):
            raise fault(ValueError, f"a weight is a number, not {type(weight).__name__}", "give a number")
        amount: Any = value
        if self.numerator is None:
            self.numerator, self.denominator = amount * weight, weight
        else:
            self.numerator, self.denominator = self.numerator + amount * weight, self.denominator + weight

    def eval(self) -> Any:
        """The mean of what was added."""
        if self.numerator is None:
            raise fault(ValueError, "nothing was added yet", "call `add` first")
        return self.numerator / self.denominator
