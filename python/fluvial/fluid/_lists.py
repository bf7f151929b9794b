"""Lists that users give: what is not a list is refused, before anybody goes through it."""

from __future__ import annotations

from typing import Any

from .._fault import fault

__all__ = ["listed"]


def listed(given: Any, what: str) -> list[Any]:
    """The items of a list, a tuple, a range or an array. An object that only can be gone through might never end.

    Args:
        given: What the user gave.
        what: What it should be, for the message.
    """
    if isinstance(given, (list, tuple, range)):
        return list(given)
    if hasattr(given, "__array__") and getattr(given, "ndim", 0) == 1:
        import numpy as np

        return list(np.asarray(given).tolist())
    raise fault(TypeError, f"{type(given).__name__} is not a list of {what}", "give a list or a tuple")
