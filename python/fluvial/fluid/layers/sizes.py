"""Sizes of variables as variables, and what takes such."""

from __future__ import annotations

from typing import Any

from ... import _core
from ...layers._shapes import reshape as _of_tensors
from ..core import FED_AS
from ..framework import Variable, applied, layer
from ..layer_helper import activation
from . import tensor
from ._shape import shape as _sizes
from .io import symbol

__all__ = ["cast", "reshape", "shape"]

_shape = layer(_sizes)
_cast = layer(tensor.cast)


def shape(input: Any) -> Any:
    """The sizes of a variable, as integers.

    Args:
        input: The variable.
    """
    found = _shape(input)
    if isinstance(input, Variable) and isinstance(found, Variable) and not input.lod_level:
        found._numbers = tuple(None if size < 0 else int(size) for size in input.shape)
    return found


def cast(x: Any, dtype: Any) -> Any:
    """The values with another element type.

    Args:
        x: The values.
        dtype: The element type.
    """
    found = _cast(x, dtype)
    if isinstance(x, Variable) and isinstance(found, Variable) and "int" in found.dtype.value:
        found._numbers = x._numbers
    return found


_reshape = layer(_of_tensors)


def reshape(
    x: Any, shape: Any, actual_shape: Any = None, act: Any = None, inplace: bool = False, name: str | None = None
) -> Any:
    """Other sizes of the same elements: 0 is the one that was there, -1 follows from the others.

    What is said of the sizes of an input of one column, `layers.data(name, shape=[1])`, is not more than that it has
    elements, to Fluid: it may be fed with any sizes where it is reshaped at once to more axes, or, with rows of its own, to one.

    Args:
        x: The values.
        shape: The sizes; numbers, variables of one integer, or a variable of all of them.
        actual_shape: A variable of the sizes, which comes before `shape`.
        act: The name of a function of the result.
        inplace: For Fluid's programs; values are never changed in place.
        name: For Fluid's programs.
    """
    is_bare = isinstance(x, Variable) and x.block is not None and x.is_data and x._shape == (-1, 1) and x.stop_gradient
    is_known = isinstance(shape, (list, tuple)) and all(isinstance(size, int) and size != 0 for size in shape)
    # Rows of its own, `layers.data(name, shape=[-1, 1])`, are not tied to a batch, and may come in any sizes for a list.
    is_list = is_bare and is_known and len(shape) == 1 and x._own_rows
    if not is_bare or not is_known or not (is_list or len(shape) > 2) or actual_shape is not None or x.lod_level:
        return _reshape(x, shape, actual_shape, act, inplace, name)
    home: Any = x.block
    block = home.program.global_block()
    count = sum(label.startswith(f"{x.name}{FED_AS}") for label in block.vars)
    label = f"{x.name}{FED_AS}{count}"
    sizes = [size if size != -1 else symbol(label, axis) for axis, size in enumerate(shape)]
    with block.building():
        var = block.made(_core.program_input(label, str.__str__(x.dtype.value), sizes), label)
    var.is_data, var.stop_gradient, var._shape, var._dtype = True, True, tuple(shape), x._dtype
    return var if act is None else applied(activation, "reshape", var, act)
