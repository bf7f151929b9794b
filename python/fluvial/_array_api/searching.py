"""Searching, sorting, sets."""

from __future__ import annotations

import builtins
from collections import namedtuple

from .. import _core
from .._core import Tensor
from .._fault import renamed
from .shapes import take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Unpack

    from .._core import OtherNames, TensorLike


def _over_all(function: Any, x: Tensor, axis: int | None, keepdims: builtins.bool) -> Tensor:
    if axis is not None:
        return function(x, axis, keepdims)
    found = function(_core.flatten(x), 0, False)
    return _core.reshape(found, (1,) * x.ndim) if keepdims else found


def argmax(x: Tensor, /, axis: int | None = None, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Tensor:
    """The position of the first greatest element.

    Args:
        x: A tensor.
        axis: Along this axis; None for the flat tensor.
        keepdims: Whether the axis stays, with size one.
    """
    if wrong:
        return renamed(argmax, locals())
    return _over_all(_core.argmax, x, axis, keepdims)


def argmin(x: Tensor, /, axis: int | None = None, keepdims: builtins.bool = False, **wrong: Unpack[OtherNames]) -> Tensor:
    """The position of the first smallest element.

    Args:
        x: A tensor.
        axis: Along this axis; None for the flat tensor.
        keepdims: Whether the axis stays, with size one.
    """
    if wrong:
        return renamed(argmin, locals())
    return _over_all(_core.argmin, x, axis, keepdims)


def argsort(
    x: TensorLike, /, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True, **wrong: Unpack[OtherNames]
) -> Tensor:
    """The positions of the elements in order; equal ones keep theirs.

    Args:
        x: A tensor.
        axis: The axis.
        descending: Whether the greatest come first.
        stable: It always is.
    """
    if wrong:
        return renamed(argsort, locals())
    return _core.argsort(x, axis, descending)


def sort(
    x: TensorLike, /, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True, **wrong: Unpack[OtherNames]
) -> Tensor:
    """The elements in order. `x.sort(axis)` gives their former positions besides.

    Args:
        x: A tensor.
        axis: The axis.
        descending: Whether the greatest come first.
        stable: It always is.

    Example:
        >>> fl.sort(fl.tensor([3.0, 1.0, 2.0])).tolist()
        [1.0, 2.0, 3.0]
    """
    if wrong:
        return renamed(sort, locals())
    return _core.sort(x, axis, descending)[0]


def nonzero(x: TensorLike, /) -> tuple[Tensor, ...]:
    """The positions of the elements that are not zero, one tensor per axis.

    Args:
        x: A tensor.
    """
    return tuple(_core.nonzero(x))


def searchsorted(
    x1: Tensor,
    x2: TensorLike,
    /,
    right: builtins.bool = False,
    *,
    side: str = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Where elements would have to be put into a sorted vector.

    Args:
        x1: The vector.
        x2: The elements.
        right: Whether after equal ones.
        side: "left" or "right": the standard's form of `right`.
        sorter: Positions that bring `x1` in order.
    """
    if side not in ("left", "right"):
        raise ValueError(f'there is no side "{side}"\n  remedy: use "left" or "right"')
    ordered = x1 if sorter is None else take(x1, sorter, axis=0)
    return _core.searchsorted(ordered, x2, right or side == "right")


unique_all_result = namedtuple("unique_all_result", "values indices inverse_indices counts")
unique_counts_result = namedtuple("unique_counts_result", "values counts")
unique_inverse_result = namedtuple("unique_inverse_result", "values inverse_indices")


def unique_values(x: TensorLike, /) -> Tensor:
    """The different elements, in order.

    Args:
        x: A tensor.
    """
    return _core.unique(x)[0]


def unique_counts(x: TensorLike, /) -> unique_counts_result:
    """The different elements, and how often each stands there.

    Args:
        x: A tensor.

    Example:
        >>> fl.unique_counts(fl.tensor([2, 1, 2])).counts.tolist()
        [1, 2]
    """
    values, _, counts = _core.unique(x)
    return unique_counts_result(values, counts)


def unique_inverse(x: Tensor, /) -> unique_inverse_result:
    """The different elements, and which one stands at each place.

    Args:
        x: A tensor.
    """
    values, inverse, _ = _core.unique(x)
    return unique_inverse_result(values, inverse)


def unique_all(x: Tensor, /) -> unique_all_result:
    """The different elements, the place of the first of each, which one stands at each place, and
    how often each stands there.

    Args:
        x: A tensor.
    """
    values, inverse, counts = _core.unique(x)
    order = _core.argsort(_core.flatten(inverse), 0)
    starts = _core.cumsum(counts, 0) - counts
    first = order[starts]
    return unique_all_result(values, first, inverse, counts)
