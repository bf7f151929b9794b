"""Functions of one value, and random numbers, under Fluid's names."""

from __future__ import annotations

from ... import _core
from ...layers._activations import (
    abs,
    acos,
    asin,
    atan,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    floor,
    gelu,
    hard_shrink,
    logsigmoid,
    reciprocal,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    softplus,
    softshrink,
    softsign,
    sqrt,
    square,
    tanh,
    tanh_shrink,
    thresholded_relu,
)
from ...layers._arguments import sizes_of
from ...layers._inplace import drawing
from ...layers._math import cumsum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import DTypeLike, Tensor

__all__ = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "cumsum", "erf", "exp", "floor", "gelu",
    "hard_shrink", "logsigmoid", "reciprocal", "round", "rsqrt", "sigmoid", "sin", "sinh",
    "softplus", "softshrink", "softsign", "sqrt", "square", "tanh", "tanh_shrink",
    "thresholded_relu", "uniform_random",
]  # fmt: skip


def uniform_random(
    shape: Sequence[int] | Tensor,
    dtype: DTypeLike = "float32",
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
    name: str | None = None,
) -> Tensor:
    """Numbers evenly distributed from `min` to `max`.

    Args:
        shape: The sizes; numbers, tensors of one integer, or a tensor of all of them.
        dtype: The element type.
        min: The lower end.
        max: The upper end.
        seed: Where random numbers begin, anew in each run; 0 for those of the scope's stream.
        name: For Fluid's programs.
    """
    sizes: Any = sizes_of(shape)
    with drawing(seed or None):
        return _core.uniform((dtype, sizes), min, max)
