"""Gradients cut down to size, under the names of Fluid 1.5: given to `minimize` of an optimizer."""

from __future__ import annotations

from .clip import GradientClipByGlobalNorm, GradientClipByNorm, GradientClipByValue

__all__ = ["GradClipByGlobalNorm", "GradClipByNorm", "GradClipByValue"]


class GradClipByValue(GradientClipByValue):
    """Each element stays between two numbers.

    Args:
        min_value: The smallest; of one number alone, the largest, and the smallest is its negative.
        max_value: The largest.
    """

    def __init__(self, min_value: float, max_value: float | None = None) -> None:
        if max_value is None:
            min_value, max_value = -min_value, min_value
        super().__init__(max_value, min_value)


class GradClipByNorm(GradientClipByNorm):
    """The norm of each gradient is at most `clip_norm`.

    Args:
        clip_norm: The limit.
    """

    def __init__(self, clip_norm: float) -> None:
        super().__init__(clip_norm)


class GradClipByGlobalNorm(GradientClipByGlobalNorm):
    """The norm of all gradients together is at most `max_global_norm`.

    Args:
        max_global_norm: The limit.
        dtype: For Fluid's programs.
    """

    def __init__(self, max_global_norm: float, dtype: str = "float32") -> None:
        super().__init__(max_global_norm)
