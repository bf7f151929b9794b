"""Errors of converted code as the user should see them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from .. import _core
from .._paths import note_place
from . import journal
from .attempts import FAULTS, at_fault
from .paths import place_of
from .raised import is_of_lines
from .regions import LOCAL, PACKAGE
from .runtime import callee
from .source import REASONS
from .trees import DOUBTS


def convert(function: Callable) -> Callable:
    """What to call in the place of a function while a program is built.

    Args:
        function: A function or method of the user's, or an object that can be called.
    """
    return callee(function)


class explained:
    """A scope whose exceptions show the user's lines only, with notes of what conversion knows.

    Args:
        sizes: Symbols of sizes that are never zero.
    """

    def __init__(self, sizes: Iterable[str] = ()) -> None:
        self.new_sizes = frozenset(sizes)

    def __enter__(self) -> None:
        self.sizes, LOCAL.sizes = LOCAL.sizes, self.new_sizes
        self.lost, LOCAL.lost = LOCAL.lost, {}
        self.depth, LOCAL.depth = LOCAL.depth, 0
        self.tracing, journal.LOCAL.tracing = journal.LOCAL.tracing, []
        self.doubts, DOUBTS.found = DOUBTS.found, None
        self.attempts, FAULTS.attempts = FAULTS.attempts, []
        FAULTS.n_scopes += 1
        _core.on_fault(at_fault)

    def __exit__(self, kind: type | None, error: BaseException | None, _: Any) -> None:
        if isinstance(error, Exception):
            _judge(error)
        lost, LOCAL.lost = LOCAL.lost, self.lost
        LOCAL.sizes = self.sizes
        LOCAL.depth, journal.LOCAL.tracing = self.depth, self.tracing
        DOUBTS.found, FAULTS.attempts = self.doubts, self.attempts
        FAULTS.n_scopes -= 1
        if not FAULTS.n_scopes:
            _core.on_fault(None)
        if error is None or getattr(error, "_fl_explained", False):
            return
        frames = []
        walk = error.__traceback__
        while walk is not None:
            frames.append(walk)
            walk = walk.tb_next
        if isinstance(error, UnboundLocalError):
            name = getattr(error, "name", None) or str(error).split("'")[1]
            if name in lost:
                _note(error, f"{lost[name]}\n  remedy: bind `{name}` before, on every path")
        if isinstance(error, RecursionError):
            _note(
                error,
                "a recursion that only the run can end cannot become a program\n  remedy: write it as a loop",
            )
        for frame in frames:
            reason = REASONS.get(frame.tb_frame.f_code)
            if reason is not None:
                code = frame.tb_frame.f_code
                place = f"{code.co_filename}:{code.co_firstlineno}"
                text = f"`{code.co_name}` ({place}) was not converted: {reason}"
                if type(error) is RuntimeError and frame is frames[-1]:
                    # This is why a value is asked for that nobody knows yet.
                    error.args = (f"{text}\n{error}", *error.args[1:])
                else:
                    _note(error, text)
        try:
            error._fl_explained = True  # type: ignore[attr-defined]
        except AttributeError:
            pass
        kept = None
        for frame in reversed(frames):
            if not frame.tb_frame.f_code.co_filename.startswith(PACKAGE):
                kept = types.TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
        if kept is not None:
            error.__traceback__ = kept


def _judge(error: Exception) -> None:
    """Notes on an error whether the lines would fail as well: outside of blocks, and not for want of a value."""
    inside = journal.LOCAL.tracing or LOCAL.depth
    note_place(error, *(place_of(region.meta) for region in journal.LOCAL.tracing if hasattr(region, "meta")))
    if hasattr(error, "_fl_of_lines"):
        return
    try:
        error._fl_of_lines = not inside and is_of_lines(error)  # type: ignore[attr-defined]
    except AttributeError:
        pass


def _note(error: BaseException, text: str) -> None:
    if sys.version_info >= (3, 11):
        error.add_note(text)
    else:
        error.args = (f"{error}\n  note: {text}", *error.args[1:])
