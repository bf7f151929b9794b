"""Whether the source that is found is that of the code which runs: files are edited after their import."""

from __future__ import annotations

import functools
import inspect
import linecache
import sys
import types
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader


def _lines_of(code: types.CodeType, scope: dict) -> tuple[str, ...]:
    """The lines of the file, or of what was typed, that code stands in; none if nobody has them."""
    lines = linecache.getlines(code.co_filename, scope)
    if not lines and code.co_filename.startswith("<"):
        try:
            # From Python 3.13 on the prompt keeps what was typed.
            lines = inspect.findsource(code)[0]
        except (OSError, TypeError):
            lines = []
    return tuple(lines)


def located(function: types.FunctionType) -> tuple[tuple[str, ...], int]:
    """The lines that a function stands in, and where the code that runs begins in them."""
    return located_code(function.__code__, function.__globals__)


def located_code(code: types.CodeType, scope: dict) -> tuple[tuple[str, ...], int]:
    """The lines that code stands in, and where it begins in them.

    Args:
        code: The code of a function or of a module.
        scope: Its global names.
    """
    lines = _lines_of(code, scope)
    loader = scope.get("__loader__")
    if type(loader) is not SourceFileLoader or loader.path != code.co_filename or not lines:
        # What others rewrite as they import it, or have typed, has no text of its own to compare with.
        return lines, code.co_firstlineno
    line = _line_of(code, lines)
    if line is None:
        # The lines may be those from before the module was loaded again.
        linecache.checkcache(code.co_filename)
        lines = _lines_of(code, scope)
        line = _line_of(code, lines)
    if line is None:
        raise RuntimeError(
            f"{code.co_filename}:{code.co_firstlineno}: the source of `{_name_of(code)}` has changed "
            "since it was imported, so a program made of it would not be what runs\n"
            "  remedy: start Python again, or load the module again with `importlib.reload`"
        )
    return lines, line


def _name_of(code: types.CodeType) -> str:
    if sys.version_info < (3, 11):
        return code.co_name
    return code.co_qualname


def _line_of(code: types.CodeType, lines: tuple[str, ...]) -> int | None:
    """The line at which a code stands in these lines, if it does."""
    flags = code.co_flags & futures()
    same = [other for other in _codes(code.co_filename, lines, flags, code.co_name) if _same(other, code)]
    found = sorted(other.co_firstlineno for other in same)
    return code.co_firstlineno if code.co_firstlineno in found else next(iter(found), None)


@functools.lru_cache(maxsize=256)
def _codes(file: str, lines: tuple[str, ...], flags: int, name: str) -> tuple[types.CodeType, ...]:
    """The code of each function of this name in a file."""
    try:
        module = _module(file, lines, flags)
    except SyntaxError:
        return ()
    return tuple(code for code in (module, *_inside(module)) if code.co_name == name)


@functools.lru_cache(maxsize=32)
def _module(file: str, lines: tuple[str, ...], flags: int) -> types.CodeType:
    return compile("".join(lines), file, "exec", flags=flags, dont_inherit=True)


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _inside(constant)


@functools.cache
def futures() -> int:
    """The flags that `from __future__ import` sets in code."""
    import __future__

    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


def _same(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two codes do the same, perhaps at other lines."""
    fields = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_name")
    if any(getattr(a, field) != getattr(b, field) for field in fields):
        return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    for x, y in zip(a.co_consts, b.co_consts):
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
            if not _same(x, y):
                return False
        # Zero has two signs, and `1`, `1.0` and `True` are equal.
        elif repr(x) != repr(y):
            return False
    return True
