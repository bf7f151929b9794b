"""`fluid.data`, and the functions that stand beside `layers` since Fluid 1.6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from ..layers._names import Owner
from ..layers._net import table_rows
from .framework import Variable, layer
from .layers.io import declared, open_sizes

__all__ = ["data", "embedding", "one_hot"]


def data(name: str, shape: Sequence[int | None], dtype: Any = "float32", lod_level: int = 0) -> Variable:
    """An input of the program, which is fed by its name.

    Args:
        name: Its name.
        shape: All of its sizes; None or -1 for those that are open.
        dtype: Its element type.
        lod_level: How many levels of sequences its rows have.
    """
    return declared(name, open_sizes(shape), dtype, lod_level)


@layer
def embedding(
    input: Any,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Rows of a table by number, along a new last axis.

    Args:
        input: The numbers.
        size: The number of rows and their size.
        is_sparse: Whether optimizers may update the rows that were used alone.
        is_distributed: For Fluid's programs: there is one machine.
        padding_idx: The number of a row that counts as zeros.
        param_attr: What is said of the table.
        dtype: Its element type.
    """
    return table_rows(Owner("embedding"), input, size, is_sparse, padding_idx, param_attr, dtype)


@layer
def one_hot(input: Any, depth: int, allow_out_of_range: bool = False) -> Any:
    """A one at the place of each number, and zeros, along a new last axis.

    Args:
        input: The numbers.
        depth: How many places there are.
        allow_out_of_range: Whether other numbers give zeros, rather than an error.
    """
    if allow_out_of_range:
        places = _core.arange(0, depth, 1, "int64")
        numbers = _core.cast(input, "int64")
        return _core.cast(_core.eq(_core.reshape(numbers, (*numbers.shape, 1)), places), "float32")
    return _core.cast(_core.one_hot(input, depth), "float32")
