"""Tests of statements that are decided while a function is built, for a program of one path (`fluvial._paths`)."""

from __future__ import annotations

from typing import Any

from .._fault import user_line
from .errors import Mismatch
from .regions import LOCAL, Meta
from .state import BUILD
from .trees import is_symbolic


def place_of(meta: Meta) -> str:
    """The file and the line of a statement."""
    return f"{meta.file}:{meta.line}"


def is_decided(place: str) -> bool:
    """Whether the statement at a place is decided; a test that could be one is noted."""
    outer = BUILD.outer
    if outer is None:
        return False
    outer.has_tests = True
    return not LOCAL.depth and outer.decisions is not None and outer.decisions.has(place)


def decided(value: Any, place: str) -> Any:
    """A test, or what it is in the call at hand, if its statement is decided."""
    if not is_symbolic(value) or not is_decided(place):
        return value
    outer: Any = BUILD.outer
    return outer.decisions.answer(value, place, outer.values)


def refuse_failing(place: str) -> None:
    """Refuses a program for one path on which a call fails that a handler of the `try` at a place would catch."""
    outer: Any = BUILD.outer
    if outer.decisions.fails(outer.values):
        raise outer.decisions.ends_with(
            Mismatch,
            f"a call in the body of the `try` at {place} fails in this call, for which a program of one path is built",
            "test for the cause with `if`, or catch the exception around the call of the function",
        )


def decided_here(value: Any) -> Any:
    """`decided`, for a part of an expression."""
    return decided(value, user_line()) if BUILD.outer is not None and is_symbolic(value) else value
