"""Handlers of Python while a function is converted: what they catch, and what they cannot."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from . import logic, regions
from .errors import Mismatch
from .raised import class_named
from .regions import LOCAL
from .source import wanted


class _Tries(threading.local):
    def __init__(self) -> None:
        #: The bodies of `try` that are under way.
        self.active: list[Trying] = []


TRIES = _Tries()


class Trying:
    """The body of a `try`: refuses ops that may fail only when the program runs, if a handler would catch it."""

    def __init__(self, kinds: Callable[[], Any] | None) -> None:
        self.kinds = kinds

    def __enter__(self) -> Trying:
        self.depth = LOCAL.depth
        self.first = _core.next_call() if _core.is_building() else None
        TRIES.active.append(self)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool | None:
        TRIES.active.remove(self)
        if kind is not None or self.first is None or not _core.is_building():
            return None
        for op, line, named in self._caught():
            raise refused(op, line, f"a handler of Python would catch the {named.__name__}")
        return None

    def _caught(self) -> Iterator[tuple[str, str, type[BaseException]]]:
        """The calls of the body that may fail so that a handler catches it."""
        for op, line, raised in _core.failing_since(self.first) if self.first is not None else ():
            named = class_named(raised) if isinstance(raised, str) else raised
            if named is not None and self.catches(named):
                yield op, line, named

    def may_fail(self) -> bool:
        """Whether a call of the body may fail so that a handler catches it."""
        return any(True for _ in self._caught())

    def catches(self, kind: type[BaseException]) -> bool:
        """Whether a handler takes exceptions of the class, or of one below it."""
        if self.kinds is None:
            return False
        # Of what a function of the user's raises the class is not known: any handler may take it.
        return kind is BaseException or issubclass(kind, logic.now(self.kinds))


def refused(op: str, line: str, why: str) -> Mismatch:
    """The error for a call that may fail, where the program could not go on as the lines do."""
    return Mismatch(
        f"{line}: `{op}` may fail when the program runs, and {why}: a program that fails has ended\n"
        "  remedy: test for the cause with `if`, or catch the exception around the call of the program"
    )


def managed(manager: Any) -> Any:
    """The context manager of a `with`: one that suppresses exceptions is a `try`, and the methods of a class of the user's are
    converted."""
    kind: Any = type(manager)
    if kind is contextlib.suppress:
        return _Suppressing(manager) if _core.is_building() else manager
    enter: Any = getattr(kind, "__enter__", None)
    leave: Any = getattr(kind, "__exit__", None)
    is_whole = enter is not None and leave is not None
    return _Converted(manager, enter, leave) if is_whole and (wanted(enter) or wanted(leave)) else manager


class _Converted:
    """A context manager whose methods are converted."""

    def __init__(self, manager: Any, enter: Any, leave: Any) -> None:
        from .runtime import callee

        self.manager, self.enter, self.leave = manager, callee(enter), callee(leave)

    def __enter__(self) -> Any:
        return self.enter(self.manager)

    def __exit__(self, *error: Any) -> Any:
        return self.leave(self.manager, *error)


class _Suppressing(Trying):
    def __init__(self, manager: Any) -> None:
        super().__init__(lambda: manager._exceptions)
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
