"""Errors of this package's Python part: the user's line, what is wrong, what to do."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    E = TypeVar("E", bound=BaseException)

_PACKAGE = os.path.dirname(__file__) + os.sep


def user_line() -> str:
    """File and line of the innermost frame outside this package, or nothing."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_PACKAGE, "<frozen importlib")):
            return f"{code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def missing(owner: object, signature: str) -> NotImplementedError:
    """An error to raise: a class of the user's leaves out what it is there for.

    Args:
        owner: The object, or its class.
        signature: How the method begins, such as "update(self, u)".
    """
    name = (owner if isinstance(owner, type) else type(owner)).__name__
    method = signature.partition("(")[0]
    what = f"the class `{name}` has no `{method}`"
    return fault(NotImplementedError, what, f"define `def {signature}:` in the class")


def fault(kind: type[E], what: str, remedy: str = "") -> E:
    """An error to raise, with the user's line first.

    Args:
        kind: Its class.
        what: What is wrong.
        remedy: What to do.

    Example:
        >>> from fluvial._fault import fault
        >>> print(fault(ValueError, "no rows", "give some").args[0].split(": ", 1)[1])
        no rows
          remedy: give some
    """
    line = user_line()
    message = f"{line}: {what}" if line else what
    error = kind(f"{message}\n  remedy: {remedy}" if remedy else message)
    about = {"kind": "argument", "op": None, "line": line or None, "remedy": remedy or None}
    vars(error).update(about)
    return error


def renamed(function: Any, given: dict[str, Any]) -> Any:
    """What a function of this package gives if what it was given by names that it does not have was meant by names
    that others have for its arguments.

    Args:
        function: The function.
        given: Its arguments by name; those of other names are a dict under "wrong".
    """
    from ._arguments import with_our_names

    return with_our_names(function, given)
