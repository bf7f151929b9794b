"""Tensors that an op writes: Fluid's `out=` arguments."""

from __future__ import annotations

from .._fault import fault
from .._tree import same_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Tensor


def assign_to(value: Tensor, out: Tensor) -> Tensor:
    """Gives a tensor the value of another one, for all who hold it; returns it.

    Args:
        value: The value.
        out: The tensor that gets it, of the same shape.
    """
    if not same_sizes(value.shape, out.shape):
        raise fault(
            ValueError,
            f"a result of shape {value.shape} does not fit an output of shape {out.shape}",
            "make the output with the sizes of the result",
        )
    out[...] = value
    return out
