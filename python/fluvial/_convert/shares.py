"""Tensors from outside that have elements in common: a whole and its parts, or parts that overlap.

Line by line, a change of a part reaches the whole at once. In a program each of them is an input of its own, so what is changed
is handed on after the call; whatever would see it before that is refused at the line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _core
from .._fault import user_line
from .._tree import is_parameter
from .errors import Mismatch

Tensor = _core.Tensor


class Shares:
    """The tensors from outside that the function being built has changed in place."""

    def __init__(self) -> None:
        self._changed: list[Tensor] = []

    def changes(self, tensor: Tensor) -> None:
        """Has to be called before a tensor from outside changes."""
        if any(known is tensor for known in self._changed):
            return
        if any(map(is_parameter, _core.wholes(tensor))):
            raise Mismatch(
                f"{user_line()}: a part of a parameter, taken outside of the function, would be changed in place\n"
                "  remedy: give the parameter itself, and take the part inside of the function"
            )
        if any(_core.share_elements(known, tensor) for known in self._changed):
            raise _refusal("would be changed in place, after another one was that shares its elements")
        self._changed.append(tensor)

    def reads(self, tensor: Tensor) -> None:
        """Has to be called when a tensor from outside is read that was not changed itself."""
        for known in self._changed:
            if any(whole is tensor for whole in _core.wholes(known)):
                raise _refusal("is read, after a part of it was changed in place that was taken outside of the function")


def _refusal(what: str) -> Mismatch:
    return Mismatch(
        f"{user_line()}: a tensor {what}\n"
        "  remedy: give the whole tensor alone, and take its parts inside of the function; or give a copy: `x[0].clone()`"
    )


def pairs(tensors: dict[int, Any], changed: Iterable[int]) -> frozenset[tuple[int, int]]:
    """Which of some inputs that are changed share elements with which others."""
    if not any(map(_core.has_whole, tensors.values())):
        return frozenset()
    found = set()
    for one in changed:
        for other, tensor in tensors.items():
            if other != one and tensor is not tensors[one] and _core.share_elements(tensors[one], tensor):
                found.add((one, other))
    return frozenset(found)
