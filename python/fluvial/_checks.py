"""Checks that a program makes as it runs, which raise exceptions of Python's at the user's line."""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._core import Tensor


def must(condition: Any, kind: type[BaseException], text: str, values: Iterable[Tensor] = ()) -> None:
    """Has the run raise an exception unless a condition holds.

    Args:
        condition: A bool, or one that only the run knows.
        kind: The class of the exception.
        text: Its text.
        values: Values of the run to show behind the text.
    """
    if not isinstance(condition, _core.Tensor):
        if condition:
            return
        condition = False
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    # The exception that the run raises is made from this text.
    told = text if kind is AssertionError else f"raise {name}: {text}"
    # Numbers keep their precision.
    shown = [_core.tensor(value, value.dtype) if value._is_number else value for value in values]
    _core.assert_(condition, told, shown)
