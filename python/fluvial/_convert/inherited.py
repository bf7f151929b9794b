"""Attributes that objects have from their class."""

from __future__ import annotations

from typing import Any

from .trees import UNBOUND


def is_of_class(owner: Any, name: str, value: Any) -> bool:
    """Whether a value is the one that a class gives all its objects which have no attribute of their own."""
    kind = type(owner)
    if isinstance(owner, type) or type(getattr(owner, "__dict__", None)) is not dict or hasattr(kind, "_fl_options"):
        return False
    inherited = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), UNBOUND)
    return inherited is not UNBOUND and inherited is value and not hasattr(type(inherited), "__set__")
