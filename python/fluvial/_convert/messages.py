"""Texts of `assert` and `raise` with values that only the run knows: these are shown behind the text."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .logic import now
from .numbers import Number
from .parts import of_run
from .trees import Tensor


class _Local(threading.local):
    def __init__(self) -> None:
        #: The values of the text that is being made.
        self.values: list[Tensor] | None = None


_LOCAL = _Local()


class _Named:
    """What stands for a value in a text."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __format__(self, _: str) -> str:
        return f"{{value {self.number}}}"

    def __repr__(self) -> str:
        return format(self)


def text(value: Any) -> Any:
    """A part of an f-string; in the text of an `assert` or `raise`, a value of the run gets a number."""
    if _LOCAL.values is None or not of_run(value):
        return value
    _LOCAL.values.append(value.value if isinstance(value, Number) else value)
    return _Named(len(_LOCAL.values) - 1)


def raised(error: Any) -> str:
    """What an exception is made from again: its class and its text."""
    kind = error if isinstance(error, type) else type(error)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    detail = "" if isinstance(error, type) else error
    return f"raise {name}: {detail}"


def shown(make: Callable[[], Any], told: Callable[[Any], str] = str) -> tuple[str, list[Tensor]]:
    """The text of a message, and the values that it names."""
    outer, _LOCAL.values = _LOCAL.values, []
    try:
        return told(text(now(make))), _LOCAL.values
    finally:
        _LOCAL.values = outer
