"""What this namespace has of the standard."""

from __future__ import annotations

from .. import _core
from .._core import DType
from .dtypes import KINDS, on_cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Info:
    """What this namespace has of the standard; see `fl.__array_namespace_info__`."""

    def capabilities(self) -> dict[str, Any]:
        """What is optional, and there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> str:
        """Where tensors are made."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The element types of numbers that have none."""
        on_cpu(device)
        return {
            "real floating": _core.float32,
            "complex floating": _core.complex64,
            "integral": _core.int64,
            "indexing": _core.int64,
        }

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """The element types of the standard that are there, by name."""
        on_cpu(device)
        kinds = ("bool", "numeric") if kind is None else kind
        kinds = (kinds,) if isinstance(kinds, str) else kinds
        found = {name: dtype for kind in kinds for name, dtype in KINDS[kind].items()}
        return {name: d for name, d in found.items() if name not in ("float16", "bfloat16")}


def __array_namespace_info__() -> _Info:
    """What this namespace has of the array API standard.

    Example:
        >>> fl.__array_namespace_info__().default_dtypes()["real floating"]
        fluvial.float32
    """
    return _Info()
