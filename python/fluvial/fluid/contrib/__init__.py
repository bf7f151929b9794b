"""What the book's programs use of `fluid.contrib`."""

from __future__ import annotations

from typing import Any as _Any

__all__: list[str] = []


def __getattr__(name: str) -> _Any:
    if name == "layers":
        import importlib

        return importlib.import_module(".layers", __name__)
    from .._missing import no_attribute

    raise no_attribute(__name__, name)
