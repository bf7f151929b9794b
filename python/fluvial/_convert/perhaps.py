"""Gradients of which only the run knows whether there are any: where there is none, the lines have None, or an error."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._results import NONE
from . import tags
from .raised import taken_down
from .state import BUILD


def gradient(grad: _core.Tensor, there: _core.Tensor, error: BaseException | None) -> Any:
    """A gradient that is None where there is none, which its tag says; or, with an error, one that is there.

    Args:
        grad: The gradient, of any value where there is none.
        there: Whether there is one.
        error: What the program raises where there is none.
    """
    if error is not None:
        taken_down(lambda: error).unless(there)
        return grad
    if BUILD.outer is not None:
        BUILD.outer.has_none = True
        tags.note(grad, _core.where(there, tags.as_value(tags.name(grad)), tags.as_value(NONE)))
    return grad
