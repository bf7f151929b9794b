"""What conversion raises, and the logger through which it says what it does."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


class Unconvertible(Exception):
    """A construct that conversion does not know; the function then runs by tracing."""

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.line = getattr(node, "lineno", 0)


class Mismatch(TypeError):
    """Values of a name that cannot be joined: two branches, or two trips of a loop, differ."""

    # Users see Python's own exceptions.
    __module__, __qualname__ = "builtins", "TypeError"


def log(level: str, message: str, *args: Any) -> None:
    """Writes to the logger `fluvial.convert`; `logging` is imported when first needed."""
    import logging

    getattr(logging.getLogger("fluvial.convert"), level)(message, *args)


def now(thunk: Callable[[], Any]) -> Any:
    """The value of a part that was moved into a lambda. An unbound local is one there, too."""
    try:
        return thunk()
    except NameError as error:
        if type(error) is not NameError or "free variable" not in str(error):
            raise
        name = str(error).split("'")[1]
        text = f"cannot access local variable '{name}' where it is not associated with a value"
        raise UnboundLocalError(text).with_traceback(
            getattr(error.__traceback__, "tb_next", None)
        ) from None
