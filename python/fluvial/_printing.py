"""What `print` in a function becomes in its program: a call that formats the values of the run as Python does."""

from __future__ import annotations

import sys

from . import _core
from ._fault import fault
from ._numbers import known_kind
from ._opens import closed
from ._tree import is_tensor, leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Tensor

#: The name under which programs call `show`.
HOST = "fluvial.print"


def _converted(value: Any, conversion: str) -> Any:
    if not conversion:
        return value
    return ascii(value) if conversion == "a" else repr(value) if conversion == "r" else str(value)


class Text:
    """An f-string with values that only the run knows; `print` shows it."""

    def __init__(self, parts: tuple) -> None:
        #: Texts, and triples of a value, its conversion and its format.
        self.parts = parts


def text(*parts: Any) -> Any:
    """An f-string inside `print(...)`: a plain text, or a `Text` if a value is only known to the run.

    Args:
        *parts: Texts, and triples of a value, its conversion ("", "s", "r" or "a") and its format.
    """
    found: list[Any] = []
    for part in parts:
        if type(part) is not str:
            part = (closed(part[0]), *part[1:])
        if type(part) is not str and not _is_symbolic(part[0]):
            refuse_hidden(part[0])
            part = format(_converted(part[0], part[1]), part[2])
        found.append(part)
    return "".join(found) if all(type(part) is str for part in found) else Text(tuple(found))


def _is_symbolic(value: Any) -> bool:
    return is_tensor(value) and value.is_symbolic


def refuse_hidden(value: Any) -> None:
    """Refuses to show a container whose values only the run knows."""
    if is_tensor(value):
        return
    if any(_is_symbolic(leaf) or hasattr(type(leaf), "_fl_with") for _, leaf in leaves(value)):
        raise fault(
            TypeError,
            f"a {type(value).__name__} with values of the program has no text before it runs",
            "print its elements: `print(*values)`",
        )


def without_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a text of its arguments, and would swallow the error of one that has none yet."""

    def call(*args: Any, **options: Any) -> Any:
        for _, leaf in leaves((args, options)):
            if _is_symbolic(leaf):
                raise fault(
                    TypeError,
                    f"{leaf.type_text} is a value of the program being built, and has no text yet",
                    "print it, or return it and log it after the call",
                )
        return function(*args, **options)

    return call


def print_later(values: tuple, sep: str | None, end: str | None, options: dict[str, Any]) -> None:
    """Has the run print what `print(*values)` would."""
    import json

    parts: list[Any] = []
    inputs: list[Tensor] = []
    for i, value in enumerate(values):
        if i:
            parts.append(" " if sep is None else sep)
        for part in value.parts if type(value) is Text else (value,):
            triple = part if type(part) is tuple else (part, "", "")
            if _is_symbolic(triple[0]):
                number, conversion, spec = triple
                # A number keeps its precision, and is shown as a Python number.
                if number._is_number:
                    known_kind(number)
                inputs.append(_core.tensor(number, number.dtype))
                parts.append([len(inputs) - 1, conversion, spec, number._is_number])
            else:
                refuse_hidden(part)
                parts.append(str(part))
    file = options.get("file")
    if file not in (None, sys.stdout, sys.stderr):
        raise fault(
            TypeError,
            "a program prints to standard output or standard error, not to another file",
            "leave `file` out, or return the value and print it after the call",
        )
    form = {"parts": parts, "end": "\n" if end is None else end, "stderr": file is sys.stderr}
    data = _core.tensor(list(json.dumps(form).encode()), "uint8")
    _core.host_call(HOST, [data, *inputs], [])


def show(form: Tensor, *values: Tensor) -> tuple:
    """Prints values of a run; programs call it."""
    import json

    told = json.loads(bytes(form.tolist()))
    texts = []
    for part in told["parts"]:
        if isinstance(part, list):
            number, conversion, spec, is_number = part
            value: Any = values[number].item() if is_number else values[number]
            part = format(_converted(value, conversion), spec)
        texts.append(part)
    print("".join(texts), end=told["end"], file=sys.stderr if told["stderr"] else sys.stdout, flush=True)
    return ()


_core.register_host(HOST, show)
