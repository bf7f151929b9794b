"""Functions that are called with each use of a layer."""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Handle:
    """Takes a hook away."""

    _next = 0

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks, self._id = hooks, Handle._next
        Handle._next += 1
        hooks[self._id] = hook
        _core.changed()

    def remove(self) -> None:
        """From here on the hook is no longer called."""
        self._hooks.pop(self._id, None)
        _core.changed()

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
