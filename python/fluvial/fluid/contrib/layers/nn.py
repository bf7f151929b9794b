"""Functions of Fluid's `contrib.layers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import _core
from ...._fault import fault
from ...framework import applied, layer
from ...layer_helper import activation

__all__ = ["fused_elemwise_activation", "partial_concat", "partial_sum", "shuffle_batch"]

_BINARY = ("elementwise_add", "elementwise_mul")
_UNARY = ("scale", "relu", "tanh", "sigmoid")


def fused_elemwise_activation(
    x: Any, y: Any, functor_list: Sequence[str] | str, axis: int = -1, scale: float = 0.0, save_intermediate_out: bool = True
) -> Any:
    """A function of two variables and one of a variable, one after the other: `["elementwise_add", "relu"]` is
    `x + relu(y)`, and `["relu", "elementwise_add"]` is `relu(x + y)`.

    Args:
        x: A variable.
        y: Another one.
        functor_list: Both names: one of elementwise_add and elementwise_mul, one of scale, relu, tanh and sigmoid.
        axis: Where the axes of `y` begin among those of `x`.
        scale: The factor, for "scale".
        save_intermediate_out: For Fluid's programs: what is kept for gradients is known anyway.
    """
    names = functor_list.split(",") if isinstance(functor_list, str) else list(functor_list)
    if len(names) != 2 or sum(name in _BINARY for name in names) != 1 or not set(names) <= {*_BINARY, *_UNARY}:
        raise fault(ValueError, f"{names} are not two such functions", f"give one of {_BINARY} and one of {_UNARY}")

    def alone(value: Any, name: str) -> Any:
        return value * scale if name == "scale" else activation(value, name)

    def both(one: Any, other: Any) -> Any:
        from ... import layers

        outer, inner = names
        if outer in _BINARY:
            return getattr(layers, outer).__wrapped__(one, alone(other, inner), axis)
        return alone(getattr(layers, inner).__wrapped__(one, other, axis), outer)

    return applied(both, "fused_elemwise_activation", x, y)


def _columns(parts: Sequence[Any], start_index: int, length: int) -> list[Any]:
    for part in parts:
        if part.ndim != 2:
            raise fault(ValueError, f"{part.type_text} has {part.ndim} axes", "give variables of two axes")
    first = start_index if start_index >= 0 else parts[0].shape[1] + start_index
    end = parts[0].shape[1] if length < 0 else first + length
    return [_core.slice(part, 1, first, end) for part in parts]


@layer
def partial_concat(input: Any, start_index: int = 0, length: int = -1) -> Any:
    """Columns of several matrices, side by side.

    Args:
        input: Matrices of the same sizes.
        start_index: The first column.
        length: How many; -1 for all that follow.
    """
    parts = list(input) if isinstance(input, (list, tuple)) else [input]
    return _core.concat(_columns(parts, start_index, length), 1)


@layer
def partial_sum(input: Any, start_index: int = 0, length: int = -1) -> Any:
    """The sum of columns of several matrices.

    Args:
        input: Matrices of the same sizes.
        start_index: The first column.
        length: How many; -1 for all that follow.
    """
    parts = _columns(list(input) if isinstance(input, (list, tuple)) else [input], start_index, length)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def shuffle_batch(x: Any, seed: int | None = None) -> Any:
    """The rows of a variable in random order: all axes but the last one are rows.

    Args:
        x: The variable.
        seed: Where random numbers begin, anew in each run; None for those of the scope's stream.
    """
    return applied(_shuffled, "shuffle_batch", x, seed)


def _shuffled(x: Any, seed: int | None) -> Any:
    from ....layers._inplace import drawing

    rows = _core.reshape(x, (-1, x.shape[-1]))
    with drawing(seed):
        order = _core.permutation(rows.shape[0])
    return _core.reshape(_core.index_select(rows, 0, order), tuple(x.shape))
