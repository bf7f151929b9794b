"""Results with names, as PyTorch has them."""

from __future__ import annotations

from collections import namedtuple

Values = namedtuple("Values", "values indices")


def pair(found) -> Values:
    """Values and their positions."""
    return Values(*found)
