"""Contents of objects that no program can compute: they are compared, and put back."""

from __future__ import annotations

from typing import Any


class Fixed:
    """Content of an object that no program can compute; it is equal or not."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, kind: type) -> None:
        self.value, self.kind = value, kind

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Fixed) or self.kind is not other.kind:
            return False
        try:
            return bool(self.value == other.value)
        except (TypeError, ValueError, RuntimeError):
            return False


class Hidden:
    """An array that does not count when contents are compared."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]
