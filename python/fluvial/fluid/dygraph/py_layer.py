"""Layers written in NumPy, forward and backward."""

from __future__ import annotations

from typing import Any

from ... import imperative as _own
from ..framework import applied

__all__ = ["PyLayer"]


class PyLayer(_own.PyLayer):
    """A layer whose `forward` and `backward` work on arrays.

    `forward(inputs)` gets a list of arrays, and returns an array or several. `backward(inputs)` gets a list of the
    inputs, the outputs, and the gradients of the outputs, and returns the gradients of the inputs.

    Calling it with variables, or a list of them, gives a list of variables.
    """

    def __call__(self, *inputs: Any) -> Any:
        is_list = len(inputs) == 1 and isinstance(inputs[0], (list, tuple))
        flat = inputs[0] if is_list else inputs
        return applied(lambda *tensors: _own.PyLayer.__call__(self, *tensors), "py_layer", *flat)
