"""Layers that Fluid keeps under `contrib`."""

from __future__ import annotations

from typing import Any as _Any

from ..layers import tree_conv  # type: ignore[attr-defined]

__all__ = ["tree_conv"]


def __getattr__(name: str) -> _Any:
    from .._missing import no_attribute

    raise no_attribute(__name__, name)
