"""Functions that change shapes, under Fluid's names, with Fluid's arguments."""


from __future__ import annotations

import math

from .. import _core
from .._fault import fault
from .._sequence import listed
from .._tree import is_size, same_sizes
from ._activations import activation
from ._arguments import axis_of, one, size_of, sizes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._core import Tensor
    from ._activations import Act


def concat(input: Tensor | Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Tensors one after the other along an axis."""
    return _core.concat([input] if isinstance(input, _core.Tensor) else input, axis)


def split(
    input: Tensor, num_or_sections: int | Sequence[int], dim: int = -1, name: str | None = None
) -> list[Tensor]:
    """A tensor in equal parts, so many, or in parts of these sizes, along an axis.

    Args:
        input: The tensor.
        num_or_sections: How many parts, or their sizes, of which one may be -1: what is left.
        dim: The axis.
        name: For Fluid's programs.
    """
    axis = axis_of(dim, input.ndim)
    size = input.shape[axis]
    if isinstance(num_or_sections, int):
        if isinstance(size, int) and size % num_or_sections:
            raise fault(
                ValueError,
                f"{size} elements along axis {dim} are not {num_or_sections} equal parts",
                "give the sizes of the parts",
            )
        each: Any = size // num_or_sections
        return _core.split(input, [each] * num_or_sections, axis)
    sizes: list[Any] = [size_of(part) for part in num_or_sections]
    if -1 in sizes:
        rest: Any = size
        for part in sizes:
            rest = rest if is_size(part, -1) else rest - part
        sizes[sizes.index(-1)] = rest
    return _core.split(input, sizes, axis)


def transpose(x: Tensor, perm: Sequence[int], name: str | None = None) -> Tensor:
    """The axes in another order."""
    return _core.permute(x, listed(perm, "axes"))


def reshape(
    x: Tensor,
    shape: Sequence[int | str | Tensor] | Tensor,
    actual_shape: Tensor | None = None,
    act: Act = None,
    inplace: bool = False,
    name: str | None = None,
) -> Tensor:
    """Other sizes of the same elements: 0 is the one that was there, -1 follows from the others.

    Args:
        x: The values.
        shape: The sizes; numbers, tensors of one integer, or a tensor of all of them.
        actual_shape: A tensor of the sizes, which comes before `shape`.
        act: The name of a function of the result.
        inplace: For Fluid's programs; values are never changed in place.
        name: For Fluid's programs.
    """
    count = None if isinstance(shape, _core.Tensor) else len(shape)
    given: Any = shape if actual_shape is None else actual_shape
    sizes = sizes_of(given, count)
    parts = [given] if isinstance(given, _core.Tensor) else given
    of_run = any(isinstance(part, _core.Tensor) and part.is_symbolic for part in parts)
    sizes = [x.shape[i] if is_size(size, 0) else size for i, size in enumerate(sizes)]
    if x.is_symbolic and not any(is_size(size, -1) for size in sizes):
        before, after = math.prod(x.shape), math.prod(sizes)
        is_open = not isinstance(before, int) or not isinstance(after, int)
        if of_run or (is_open and not same_sizes(before, after)):
            # That these are as many elements only the run can check.
            x = _core.assume_dims(_core.reshape(x, (-1,)), (after,))
    elif x.is_symbolic and sum(is_size(size, -1) for size in sizes) == 1:
        x, sizes = _divided(x, sizes)
    return activation(_core.reshape(x, sizes), act)


def _divided(x: Tensor, sizes: list[Any]) -> tuple[Tensor, list[Any]]:
    """Sizes of which one follows from the others. Whether an open number of elements divides by the others the run checks,
    as where `[batch * steps, n]` becomes `[-1, steps, n]`."""
    total: Any = math.prod(x.shape)
    others: Any = math.prod(size for size in sizes if not is_size(size, -1))
    if isinstance(total, int) or not isinstance(others, int) or others < 2 or is_size(total % others, 0):
        return x, sizes
    count = total // others
    x = _core.assume_dims(_core.reshape(x, (-1,)), (count * others,))
    return x, [count if is_size(size, -1) else size for size in sizes]


def stack(x: Tensor | Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors side by side along a new axis."""
    return _core.stack([x] if isinstance(x, _core.Tensor) else x, axis)


def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    """The parts of a tensor along an axis; `num` says how many where only the run knows it."""
    if num is not None and not is_size(x.shape[axis], num):
        shape: Any = list(x.shape)
        shape[axis_of(axis, x.ndim)] = num
        x = _core.assume_dims(x, shape)
    return _core.unbind(x, axis)


def expand(
    x: Tensor, expand_times: Sequence[int | Tensor] | Tensor, name: str | None = None
) -> Tensor:
    """A tensor repeated so many times along each axis."""
    return _core.tile(x, sizes_of(expand_times, x.ndim))


def _axes(axes: int | Sequence[int] | Tensor) -> list[int]:
    return [axes] if isinstance(axes, int) else [int(axis) for axis in sizes_of(axes)]


def unsqueeze(input: Tensor, axes: int | Sequence[int], name: str | None = None) -> Tensor:
    """New axes of size 1."""
    for axis in _axes(axes):
        input = _core.unsqueeze(input, axis)
    return input


def squeeze(
    input: Tensor, axes: int | Sequence[int] | None = None, name: str | None = None
) -> Tensor:
    """Without these axes, or all, that have size 1; others stay as they are."""
    chosen = range(input.ndim) if axes is None or axes == [] else _axes(axes)
    ones = [axis for axis in chosen if is_size(input.shape[axis], 1)]
    return one(_core.squeeze(input, ones)) if ones else input


def flatten(x: Tensor, axis: int = 1, name: str | None = None) -> Tensor:
    """A matrix: axes before `axis` are rows, the others columns."""
    if not 0 <= axis <= x.ndim:
        raise fault(ValueError, f"there is no axis {axis} among {x.ndim}", f"use 0 to {x.ndim}")
    if axis == 0:
        return _core.reshape(x, (1, -1))
    columns = _core.flatten(x, axis, -1) if x.ndim > axis else _core.unsqueeze(x, axis)
    return _core.flatten(columns, 0, axis - 1) if axis > 1 else columns
