"""Texts of `assert` and `raise` with values that only the run knows: these are shown behind the text."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .._printing import refuse_hidden
from .logic import now
from .trees import Tensor, is_symbolic


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


def named(value: Any) -> Any:
    """A part of an f-string; in the text of an `assert` or `raise`, a value of the run gets a number."""
    if not is_symbolic(value):
        refuse_hidden(value)
        return value
    if _LOCAL.values is None:
        return value
    _LOCAL.values.append(value)
    return _Named(len(_LOCAL.values) - 1)


def shown(make: Callable[[], Any]) -> tuple[Any, list[Tensor]]:
    """A message, or an exception, and the values of the run that it names."""
    outer, _LOCAL.values = _LOCAL.values, []
    try:
        return named(now(make)), _LOCAL.values
    finally:
        _LOCAL.values = outer
