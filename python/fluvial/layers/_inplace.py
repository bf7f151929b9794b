"""Fluid's `out=` arguments, for functions that may do without."""

from __future__ import annotations

import contextlib
import copy

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor


def assign_to(value: Tensor, out: Tensor | None) -> Tensor:
    """The value; or, if there is one, the tensor `out` after it got the value."""
    if out is None:
        return value
    from ..fluid._inplace import assign_to as write

    return write(value, out)


def own(value: Tensor) -> Tensor:
    """A tensor of its own with the same value: changing one in place leaves the other."""
    return value.get() if isinstance(value, _core.Parameter) else copy.copy(value)


def drawing(seed: int | None) -> Any:
    """A scope in which random numbers begin at a seed, anew in each run; nothing for those of the scope."""
    return contextlib.nullcontext() if seed is None else _core.drawing_from(seed)
