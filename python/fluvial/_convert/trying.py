"""`try` in converted code: a handler is Python's, and cannot catch what fails when the program runs."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from typing import Any

from .. import _core
from . import logic, regions
from .errors import Mismatch
from .raised import class_named
from .regions import LOCAL


class _Tries(threading.local):
    def __init__(self) -> None:
        #: The bodies of `try` that are under way.
        self.active: list[Trying] = []
        #: For each `finally` under way: what may fail in what stands before it.
        self.before: list[list[tuple[str, str]]] = []


TRIES = _Tries()


class Trying:
    """The body of a `try`: refuses ops that may fail only when the program runs, if a handler would catch it."""

    def __init__(self, kinds: Callable[[], Any] | None, has_final: bool) -> None:
        self.kinds, self.has_final = kinds, has_final

    def __enter__(self) -> Trying:
        self.depth = LOCAL.depth
        self.first = _core.next_call() if _core.is_building() else None
        TRIES.active.append(self)
        if self.has_final:
            TRIES.before.append([])
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool | None:
        TRIES.active.remove(self)
        if kind is not None or self.first is None or not _core.is_building():
            return None
        failing = _core.failing_since(self.first)
        if self.has_final:
            TRIES.before[-1] += [(op, line) for op, line, _ in failing]
        for op, line, raised in failing:
            named = class_named(raised) if isinstance(raised, str) else raised
            if named is not None and self.catches(named):
                raise _refused(op, line, f"a handler of Python would catch the {named.__name__}")
        return None

    def catches(self, kind: type[BaseException]) -> bool:
        """Whether a handler takes exceptions of the class, or of one below it."""
        if self.kinds is None:
            return False
        # Of what a function of the user's raises the class is not known: any handler may take it.
        return kind is BaseException or issubclass(kind, logic.now(self.kinds))


class Finishing:
    """The body of a `finally`: a run that fails before it would not reach it."""

    def __enter__(self) -> None:
        self.before = TRIES.before.pop()
        self.first = _core.next_call() if _core.is_building() else None

    def __exit__(self, kind: Any, *_: Any) -> None:
        is_part = self.first is not None and _core.is_building() and _core.next_call() > self.first
        if kind is None and is_part and self.before:
            raise _refused(*self.before[0], "its `finally` is a part of the program")


def _refused(op: str, line: str, why: str) -> Mismatch:
    return Mismatch(
        f"{line}: `{op}` may fail when the program runs, and {why}: a program that fails has ended\n"
        "  remedy: test for the cause with `if`, or catch the exception around the call of the program"
    )


def trying(kinds: Callable[[], Any] | None, has_final: bool) -> Trying:
    return Trying(kinds, has_final)


def finishing() -> Finishing:
    return Finishing()


def managed(manager: Any) -> Any:
    """The context manager of a `with`: one that suppresses exceptions is a `try`."""
    is_try = type(manager) is contextlib.suppress and _core.is_building()
    return _Suppressing(manager) if is_try else manager


class _Suppressing(Trying):
    def __init__(self, manager: Any) -> None:
        super().__init__(lambda: manager._exceptions, False)
        self.manager = manager

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        super().__exit__(kind, error, trace)
        if isinstance(error, Mismatch):
            return False
        unwind(self.depth, error)
        return self.manager.__exit__(kind, error, trace)


def unwind(depth: int, error: BaseException | None = None) -> None:
    """Begins the handler of an exception. What says that code cannot be converted is none for the user's handlers."""
    error = error or sys.exc_info()[1]
    if isinstance(error, Mismatch):
        raise error
    regions.unwind(depth)


def is_caught_here(kind: type[BaseException]) -> bool:
    """Whether a handler of the block being traced takes an exception."""
    for body in reversed(TRIES.active):
        if body.depth != LOCAL.depth:
            return False
        if body.catches(kind):
            return True
    return False
