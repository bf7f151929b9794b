"""Gradients cut down to size; called as a function it is the op `clip`.

Example:
    >>> fl.clip(fl.tensor([-2.0, 0.5, 3.0]), 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    >>> clip = fl.clip.GradientClipByGlobalNorm(1.0)
    >>> [g.numpy().round(3).tolist() for g in clip([fl.tensor([3.0]), fl.tensor([4.0])])]
    [[0.6000000238418579], [0.800000011920929]]
"""

from __future__ import annotations

import sys
import types

from . import _core
from ._fault import fault, missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._core import Tensor

__all__ = [
    "ErrorClipByValue", "GradientClip", "GradientClipByGlobalNorm", "GradientClipByNorm",
    "GradientClipByValue", "global_norm",
]


class GradientClip:
    """How gradients are cut down; optimizers take it as `grad_clip`.

    Args:
        limit: The limit.
    """

    def __init__(self, limit: float) -> None:
        if not limit >= 0.0:
            raise fault(
                ValueError, f"gradients are clipped at {limit}", "the limit must be zero or more"
            )
        self.limit = float(limit)

    def __call__(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """The gradients, cut down."""
        raise missing(self, "__call__(self, gradients)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.limit})"


class GradientClipByValue(GradientClip):
    """Each element stays between `-limit` and `limit`.

    Example:
        >>> fl.clip.GradientClipByValue(1.0)([fl.tensor([3.0, -0.5])])[0].tolist()
        [1.0, -0.5]
    """

    def __call__(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        return [self._between(gradient) for gradient in gradients]

    def _between(self, x: Tensor) -> Tensor:
        high = _core.cast(_core.tensor(self.limit, "float64"), x.dtype)
        low = _core.maximum(x, -high)
        return _core.where(high < low, high, low)


class GradientClipByNorm(GradientClip):
    """The norm of each gradient is at most `limit`."""

    def __call__(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        return [_scaled(g, global_norm([g]), self.limit) for g in gradients]


class GradientClipByGlobalNorm(GradientClip):
    """The norm of all gradients together is at most `limit`."""

    def __call__(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        norm = global_norm(gradients)
        return [_scaled(g, norm, self.limit) for g in gradients]


#: Fluid's name.
ErrorClipByValue = GradientClipByValue


def global_norm(gradients: Sequence[Tensor]) -> Tensor:
    """The norm of all gradients together.

    Args:
        gradients: The gradients.
    """
    total = _core.tensor(0.0, "float64")
    same = all(g.dtype == gradients[0].dtype for g in gradients)
    for i, gradient in enumerate(gradients):
        dtype = gradients[0].dtype if same else "float64"
        squares = _core.cast(_core.sum(gradient * gradient), dtype)
        total = squares if i == 0 else total + squares
    return _core.sqrt(total)


def _scaled(x: Tensor, norm: Tensor, limit: float) -> Tensor:
    one = _core.cast(_core.tensor(1.0, "float64"), norm.dtype)
    factor = limit / (norm + 1e-6)
    factor = _core.where(factor < one, factor, one)
    return x * _core.cast(factor, x.dtype)


class _Module(types.ModuleType):
    """The module is the op, too: `fl.clip(x, low, high)`."""

    def __call__(self, *args: Any, **options: Any) -> Tensor:
        return sys.modules[__package__ or ""]._clip_op(*args, **options)


sys.modules[__name__].__class__ = _Module
