"""Fluid's datasets are downloaded, which is not done here."""

from __future__ import annotations

from typing import Any

from ..._fault import fault


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    raise fault(
        AttributeError,
        f"`paddle.dataset.{name}` would be downloaded, which is not done here",
        "write a reader: a function that gives an iterator over samples; or use `fluvial.reader` for files",
    )
