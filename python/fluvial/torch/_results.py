"""Results with names, as PyTorch has them."""

from __future__ import annotations

import math
from collections import namedtuple

Values = namedtuple("Values", "values indices")


Svd = namedtuple("Svd", "U S V")


def pair(found) -> Values:
    """Values and their positions."""
    return Values(*found)


class _Sizes(type):
    def __instancecheck__(cls, value: object) -> bool:
        # Shapes of tensors are tuples.
        return isinstance(value, tuple)


class Size(tuple, metaclass=_Sizes):
    """A shape. Shapes of tensors are tuples, and count as such."""

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"
