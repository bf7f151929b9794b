"""Structures of variables, for cells and decoders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def layers_of() -> Any:
    """The functions of this package, as functions of variables."""
    from .. import layers

    return layers


def gru_step(inputs: Any, state: Any, gates: Callable[[Any], Any], candidate: Callable[[Any], Any]) -> Any:
    """The next state of a gated recurrent unit.

    Args:
        inputs: What the step reads.
        state: The state before.
        gates: Makes both gates, reset and update, of inputs and state side by side.
        candidate: Makes the candidate of inputs and reset state side by side.
    """
    layers = layers_of()
    reset, update = layers.split(gates(layers.concat([inputs, state], axis=1)), 2, dim=1)
    new = candidate(layers.concat([inputs, reset * state], axis=1))
    return update * state + (1.0 - update) * new


def lstm_step(parts: Any, cell: Any, gate: Callable[[Any], Any], act: Callable[[Any], Any], forget_bias: float) -> Any:
    """The next state and the next cell of a long short-term memory.

    Args:
        parts: Input gate, candidate, forget gate and output gate, side by side, before their functions.
        cell: The cell before.
        gate: The function of the gates.
        act: The function of cell and candidate.
        forget_bias: What is added to the forget gate.
    """
    i, j, f, o = layers_of().split(parts, 4, dim=1)
    new_cell = cell * gate(f + forget_bias) + gate(i) * act(j)
    return act(new_cell) * gate(o), new_cell


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
