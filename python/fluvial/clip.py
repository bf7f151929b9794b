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
from ._core import global_norm
from ._fault import missing

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

    #: The name of the way in the core.
    _kind = ""

    def __init__(self, limit: float) -> None:
        self.limit = float(limit)
        _core.clip_gradients(self._kind, self.limit, [])

    def __call__(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """The gradients, cut down."""
        if not self._kind:
            raise missing(self, "__call__(self, gradients)")
        return _core.clip_gradients(self._kind, self.limit, list(gradients))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.limit})"


class GradientClipByValue(GradientClip):
    """Each element stays between `-limit` and `limit`.

    Example:
        >>> fl.clip.GradientClipByValue(1.0)([fl.tensor([3.0, -0.5])])[0].tolist()
        [1.0, -0.5]
    """

    _kind = "value"


class GradientClipByNorm(GradientClip):
    """The norm of each gradient is at most `limit`."""

    _kind = "norm"


class GradientClipByGlobalNorm(GradientClip):
    """The norm of all gradients together is at most `limit`."""

    _kind = "global_norm"


#: Fluid's name.
ErrorClipByValue = GradientClipByValue

class _Module(types.ModuleType):
    """The module is the op, too: `fl.clip(x, low, high)`."""

    def __call__(self, *args: Any, **options: Any) -> Tensor:
        return sys.modules[__package__ or ""]._clip_op(*args, **options)


sys.modules[__name__].__class__ = _Module
