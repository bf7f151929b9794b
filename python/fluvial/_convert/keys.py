"""Keys of sets and dicts while a program is built."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._fault import user_line
from .errors import Mismatch
from .trees import is_tensor


def check_keys(keys: Iterable[Any]) -> None:
    """Refuses numbers that only the run knows as keys: equal ones are one key, and which are equal is not known yet."""
    for key in keys:
        parts = key if isinstance(key, (tuple, frozenset)) else (key,)
        if any(is_tensor(part) and part._is_number for part in parts):
            raise Mismatch(
                f"{user_line()}: a number that only the run knows would be a key of a set or a dict\n"
                "  remedy: use a list, compare it with `==`, or make a key of it outside of the function"
            )


def hashed(value: Any) -> int:
    """`hash(value)`."""
    check_keys((value,))
    return hash(value)
