"""Structures of variables, for cells and decoders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def layers_of() -> Any:
    """The functions of this package, as functions of variables."""
    from .. import layers

    return layers


def mapped(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Lists, tuples and dicts with what a function makes of each leaf, and of those at the same place in others."""
    if isinstance(tree, dict):
        return {key: mapped(function, value, *(other[key] for other in others)) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [mapped(function, *values) for values in zip(tree, *others)]
        if hasattr(tree, "_fields"):
            return type(tree)(*parts)
        return type(tree)(parts)
    return function(tree, *others)


def leaves(tree: Any) -> list[Any]:
    """The leaves of lists, tuples and dicts, in order."""
    if isinstance(tree, dict):
        return [leaf for key in tree for leaf in leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]
