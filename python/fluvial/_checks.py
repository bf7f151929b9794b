"""Checks that a program makes as it runs, which raise exceptions of Python's at the user's line."""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def must(condition: Any, kind: type[BaseException], text: str) -> None:
    """Has the run raise an exception unless a condition holds.

    Args:
        condition: A bool, or one that only the run knows.
        kind: The class of the exception.
        text: Its text.
    """
    if not isinstance(condition, _core.Tensor):
        if condition:
            return
        condition = False
    # A word of the exception is a text for `str.format`.
    word = "t" + text.replace("{", "{{").replace("}", "}}")
    _core.raise_unless(condition, f"{kind.__module__}:{kind.__qualname__}", text, [word], [])
