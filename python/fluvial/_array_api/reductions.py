"""Reductions."""

from __future__ import annotations

import builtins

from .. import _core
from .._core import Tensor
from .._fault import fault, renamed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Unpack

    from .._core import DTypeLike, OtherNames, TensorLike


def wide(x: Any, dtype: DTypeLike | None) -> Any:
    """The values as they are summed: small integers as int64, unsigned ones as uint64, and what was asked for."""
    if dtype is not None:
        return _core.cast(x, dtype)
    if not isinstance(x, Tensor) or not (x.dtype.is_integer or x.dtype == "bool"):
        return x
    meant = "uint64" if x.dtype.is_integer and not x.dtype.is_signed else "int64"
    return x if x.dtype == meant else _core.cast(x, meant)


def sum(
    x: TensorLike,
    /,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The sum.

    Args:
        x: A tensor. Bools and small integers are summed as int64, unsigned ones as uint64.
        axis: An axis, several, or None for all.
        keepdims: Whether the axes stay, with size one.
        dtype: The element type to sum in.
    """
    if wrong:
        return renamed(sum, locals())
    return _reduced(_core.sum, x, axis, keepdims, dtype)


def prod(
    x: TensorLike,
    /,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The product.

    Args:
        x: A tensor. Bools and small integers are multiplied as int64.
        axis: An axis, several, or None for all.
        keepdims: Whether the axes stay, with size one.
        dtype: The element type to multiply in.
    """
    if wrong:
        return renamed(prod, locals())
    return _reduced(_core.prod, x, axis, keepdims, dtype)


def _reduced(function: Any, x: Any, axis: Any, keepdims: builtins.bool, dtype: Any) -> Tensor:
    return function(wide(x, dtype), axis, keepdims)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: builtins.bool = False,
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The sums of the first elements along an axis.

    Args:
        x: A tensor.
        axis: The axis; None for the only one.
        dtype: The element type to sum in.
        include_initial: Whether the sum of none stands first.
    """
    if wrong:
        return renamed(cumulative_sum, locals())
    return _cumulative(_core.cumsum, x, axis, dtype, include_initial, 0)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: builtins.bool = False,
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The products of the first elements along an axis.

    Args:
        x: A tensor.
        axis: The axis; None for the only one.
        dtype: The element type to multiply in.
        include_initial: Whether the product of none stands first.
    """
    if wrong:
        return renamed(cumulative_prod, locals())
    return _cumulative(_core.cumprod, x, axis, dtype, include_initial, 1)


def _cumulative(
    function: Any, x: Tensor, axis: int | None, dtype: Any, include_initial: builtins.bool, first: int
) -> Tensor:
    if axis is None:
        if x.ndim > 1:
            raise ValueError("several axes, and none was named\n  remedy: pass `axis`")
        axis = 0
    found = function(wide(x, dtype), axis)
    if not include_initial:
        return found
    shape = list(found.shape)
    shape[axis] = 1
    return _core.concat([_core.full(shape, first, found.dtype), found], axis)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The differences of neighbours along an axis.

    Args:
        x: A tensor.
        axis: The axis.
        n: How many times.
        prepend: What stands before.
        append: What stands after.
    """
    if wrong:
        return renamed(diff, locals())
    parts = [part for part in (prepend, x, append) if part is not None]
    x = parts[0] if len(parts) == 1 else _core.concat(parts, axis)
    if n < 0:
        raise fault(ValueError, f"differences of order {n}", "`n` is not negative")
    size = x.shape[axis]
    # What is empty stays empty.
    for _ in range(min(n, size) if isinstance(size, int) else n):
        x = _core.slice(x, axis, 1) - _core.slice(x, axis, None, -1)
    return x
