"""What Fluid's programs use to run with Python 2, too."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["floor_division", "get_exception_message", "long_type", "round", "to_bytes", "to_text"]

int_type = int
long_type = int


def to_text(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """Bytes as text; lists and sets item by item.

    Args:
        obj: Bytes, text, or a list or set of them; None stays None.
        encoding: How bytes stand for text.
        inplace: Whether the list or set itself is changed.
    """
    return _each(obj, lambda item: item.decode(encoding) if isinstance(item, bytes) else item, inplace)


def to_bytes(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """Text as bytes; lists and sets item by item.

    Args:
        obj: Bytes, text, or a list or set of them; None stays None.
        encoding: How bytes stand for text.
        inplace: Whether the list or set itself is changed.
    """
    return _each(obj, lambda item: item.encode(encoding) if isinstance(item, str) else item, inplace)


def _each(obj: Any, convert: Any, inplace: bool) -> Any:
    if isinstance(obj, list):
        found: Any = [convert(item) for item in obj]
        if inplace:
            obj[:] = found
        return obj if inplace else found
    if isinstance(obj, set):
        found = {convert(item) for item in obj}
        if inplace:
            obj.clear()
            obj.update(found)
        return obj if inplace else found
    return obj if obj is None else convert(obj)


def round(x: float, d: int = 0) -> float:
    """The nearest number with `d` digits behind the point; halves go away from zero.

    Args:
        x: A number.
        d: How many digits stay.
    """
    factor = 10**d
    if x == 0:
        return 0.0
    return math.copysign(math.floor(abs(x) * factor + 0.5) / factor, x)


def floor_division(x: int, y: int) -> int:
    """`x // y`.

    Args:
        x: What is divided.
        y: By what.
    """
    return x // y


def get_exception_message(exc: BaseException) -> str:
    """What an error says.

    Args:
        exc: The error.
    """
    return str(exc)
