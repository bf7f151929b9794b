"""Exceptions that a program raises: taken down while it is built, and made again when it runs.

A program keeps the name of the class and the arguments as words. A word begins with its kind: "t" is a text for
`str.format` with the tensors of the op, "v" the number of such a tensor, "l" a literal of Python. "p" is not an argument:
it says which line has raised it, if that is not the line of the op.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _core
from .._printing import refuse_hidden
from .errors import Mismatch, now
from .state import BUILD
from .trees import is_tensor

#: Classes that programs of this process raise, by name: also those that no module has.
_CLASSES: weakref.WeakValueDictionary[str, type] = weakref.WeakValueDictionary()

#: Attributes that exceptions had when they were made, by class and words.
_ATTRIBUTES: dict[tuple[str, ...], dict[str, Any]] = {}


class Raised(NamedTuple):
    """An exception, the name of its class, its words, and the tensors that they speak of."""

    error: BaseException
    name: str
    words: list[str]
    values: list[Any]

    def unless(self, holds: Any) -> None:
        """Has the program raise it where a condition does not hold."""
        message = ", ".join(word[1:] for word in self.words if word[:1] != "p")
        _core.raise_unless(holds, self.name, message, self.words, self.values)


#: Kinds of errors that only programs have.
_OF_PROGRAMS = ("symbolic", "program", "gradient", "callback", "internal")

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")

#: Files whose errors say what cannot be built.
_REFUSING = tuple(
    os.path.join(_PACKAGE, part)
    for part in (os.path.join("_convert", ""), "_numbers", "_printing", "_results", "_checks", "_guards", "_phase")
)


def _is_refusal(error: BaseException) -> bool:
    """Whether conversion itself has raised an error."""
    walk = error.__traceback__
    while walk is not None and walk.tb_next is not None:
        walk = walk.tb_next
    inside = walk is not None and walk.tb_frame.f_code.co_filename.startswith(_REFUSING)
    # What Python itself raises there, it would raise for the user's line as well.
    return inside and hasattr(error, "remedy") and getattr(error, "op", None) is None


def is_of_lines(error: BaseException | None) -> bool:
    """Whether the lines would fail as well, and not for want of a value that only the run knows."""
    if not isinstance(error, Exception) or isinstance(error, (Mismatch, RecursionError)):
        return False
    if getattr(error, "_fl_of_lines", False):
        return True
    return getattr(error, "kind", "") not in _OF_PROGRAMS and not _is_refusal(error)


def in_program(error: BaseException, unless: Any = False) -> None:
    """Has the program raise, where it is being built, an exception that a line has raised.

    Args:
        error: The exception.
        unless: A condition under which it does not.
    """
    walk, line = error.__traceback__, ""
    while walk is not None:
        file = walk.tb_frame.f_code.co_filename
        line = line if file.startswith(_PACKAGE) else f"{file}:{walk.tb_lineno}"
        walk = walk.tb_next
    found = taken_down(lambda: _with_sizes(error))
    found._replace(words=[*found.words, f"p{line}"]).unless(unless)


#: What messages of ops say of open sizes: `n0`, `2*n0`, `n0 + 1`.
_SIZES = re.compile(r"(?:\b\d+(?:\*| [-+] ))*\bn\d+\b(?:(?:\*|//| [-+] )(?:n\d+|\d+)\b)*")


def _with_sizes(error: BaseException) -> BaseException:
    """An error of an op whose message has the sizes of the run in the place of their names."""
    if getattr(error, "op", None) is None or not error.args or type(error.args[0]) is not str:
        return error
    sizes = BUILD.outer.sizes() if BUILD.outer is not None else {}

    def value(match: re.Match[str]) -> str:
        if not all(name in sizes for name in re.findall(r"n\d+", match[0])):
            return match[0]
        return f"{_core.number_of(_core.whole_size(eval(match[0], {}, sizes), 'int64'))}"

    text = _SIZES.sub(value, error.args[0])
    if text != error.args[0]:
        error.args = (text, *error.args[1:])
    return error


class _Local(threading.local):
    #: Whether the message of an exception is being made.
    making = False


_LOCAL = _Local()


def named(value: Any) -> Any:
    """A part of an f-string; only a message that a program will show may have values of the program in it."""
    if not _LOCAL.making and not is_tensor(value):
        refuse_hidden(value)
    return value


def taken_down(make: Callable[[], Any]) -> Raised:
    """The exception that `make` gives."""
    marks = _core.begin_message()
    _LOCAL.making = True
    try:
        error = now(make)
        if isinstance(error, type):
            error = error()
        if hasattr(error, "_fl_again"):
            # It is raised again as it was.
            return Raised(error, "", [], [])
        given = [arg for arg in error.args if is_tensor(arg)]
        words = [_word(arg, given, marks) for arg in error.args]
    finally:
        _LOCAL.making = False
        shown = _core.end_message()
    kind = type(error)
    name = f"{kind.__module__}:{kind.__qualname__}"
    _CLASSES[name] = kind
    key = (name, *words)
    if vars(error):
        _ATTRIBUTES[key] = dict(vars(error))
    return Raised(error, name, words, [*shown, *given])


def _word(arg: Any, given: list, marks: tuple[str, str]) -> str:
    if is_tensor(arg):
        # The tensors that are arguments themselves follow those that texts show.
        return f"v{next(i for i, other in enumerate(given) if other is arg) - len(given)}"
    literal = None if isinstance(arg, str) else _literal(arg)
    return "t" + _template(str(arg), marks) if literal is None else "l" + literal


def _literal(value: Any) -> str | None:
    """The literal for a value, if there is one."""
    text = repr(value)
    try:
        return text if ast.literal_eval(text) == value else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _template(text: str, marks: tuple[str, str]) -> str:
    """The text for `str.format`."""
    before, behind = marks
    made = []
    for i, part in enumerate(text.split(before)):
        field, mark, rest = part.partition(behind)
        if i and mark:
            made.append("{" + field + "}")
            part = rest
        made.append(part.replace("{", "{{").replace("}", "}}"))
    return "".join(made)


def is_static(words: list[str]) -> bool:
    """Whether words speak of no tensors."""
    return not any(
        word[:1] == "v" or (word[:1] == "t" and "{" in word.replace("{{", "")) for word in words
    )


def class_named(name: str) -> type[BaseException] | None:
    """The class of this name, if this process has it."""
    known = _CLASSES.get(name)
    if known is not None:
        return known
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    is_class = isinstance(found, type) and issubclass(found, BaseException)
    return found if is_class else None


def remade(name: str, words: list[str], values: list, line: str | None) -> BaseException:
    """The exception, with the user's line in its traceback. A class that is not found gives a `RuntimeError`."""
    line = next((word[1:] for word in words if word[:1] == "p"), line)
    words = [word for word in words if word[:1] != "p"]
    args = tuple(_argument(word, values) for word in words)
    kind = class_named(name)
    error: BaseException | None
    try:
        error = kind.__new__(kind, *args) if kind is not None else None
    except Exception:
        error = None
    if error is None:
        error = RuntimeError(": ".join([name.replace(":", "."), *map(str, args)]))
    else:
        error.args = args
        vars(error).update(_ATTRIBUTES.get((name, *words), {}))
    return _at(error, line)


def _argument(word: str, values: list) -> Any:
    kind, text = word[:1], word[1:]
    if kind == "v":
        return values[int(text)]
    return text.format(*values) if kind == "t" else ast.literal_eval(text)


def _at(error: BaseException, line: str | None) -> BaseException:
    """The exception as if that line had raised it."""
    file, _, number = (line or "").rpartition(":")
    if not file or not number.isdigit():
        return error
    code = compile("\n" * (int(number) - 1) + "raise error", file, "exec")
    try:
        exec(code.replace(co_name="program"), {"error": error})
    except BaseException as raised:  # noqa: BLE001
        trace = raised.__traceback__
        return raised.with_traceback(trace.tb_next if trace is not None else None)
    return error
