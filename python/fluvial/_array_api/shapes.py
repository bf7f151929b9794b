"""Shapes and products."""

from __future__ import annotations

import builtins

from .. import _core
from .._core import Tensor
from .._fault import renamed
from .._tree import is_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Unpack

    from .._core import OtherNames, Shape, TensorLike


def broadcast_arrays(*arrays: TensorLike) -> list[Tensor]:
    """The tensors with the shape that they have together.

    Args:
        *arrays: Tensors.
    """
    return _core.broadcast_tensors(arrays)


def concat(arrays: Sequence[TensorLike], /, axis: int | None = 0, **wrong: Unpack[OtherNames]) -> Tensor:
    """Tensors one after the other.

    Args:
        arrays: The parts.
        axis: Along this axis; None for flat ones.
    """
    if wrong:
        return renamed(concat, locals())
    if axis is None:
        return _core.concat([_core.flatten(part) for part in arrays], 0)
    return _core.concat(arrays, axis)


def reshape(x: TensorLike, /, shape: Shape, *, copy: builtins.bool | None = None) -> Tensor:
    """The same elements in another shape.

    Args:
        x: A tensor.
        shape: Sizes; one may be -1 and follows from the others.
        copy: As the standard has it. Since no op changes a tensor, nobody can tell a copy from a view.

    Example:
        >>> fl.reshape(fl.arange(4), (2, -1)).tolist()
        [[0, 1], [2, 3]]
    """
    return _core.reshape(x, shape)


def stack(arrays: Sequence[TensorLike], /, axis: int = 0, **wrong: Unpack[OtherNames]) -> Tensor:
    """Tensors of one shape along a new axis.

    Args:
        arrays: The parts.
        axis: Where the new axis stands.
    """
    if wrong:
        return renamed(stack, locals())
    return _core.stack(arrays, axis)


def expand_dims(x: TensorLike, /, axis: int = 0, **wrong: Unpack[OtherNames]) -> Tensor:
    """The tensor with a new axis of size one.

    Args:
        x: A tensor.
        axis: Where the new axis stands.
    """
    if wrong:
        return renamed(expand_dims, locals())
    return _core.unsqueeze(x, axis)


def as_axes(axis: Any) -> Any:
    return (axis,) if isinstance(axis, (int, _core.Dim)) else axis


def squeeze(x: Tensor, /, axis: int | Sequence[int] | None = None, **wrong: Unpack[OtherNames]) -> Tensor:
    """The tensor without axes of size one.

    Args:
        x: A tensor.
        axis: Which; None for all.
    """
    if wrong:
        return renamed(squeeze, locals())
    if axis is None:
        return x.squeeze()
    axes = as_axes(axis)
    return _core.squeeze(x, axes) if axes else x


def flip(x: Tensor, /, axis: int | Sequence[int] | None = None, **wrong: Unpack[OtherNames]) -> Tensor:
    """The elements in reverse order.

    Args:
        x: A tensor.
        axis: Along which axes; None for all.
    """
    if wrong:
        return renamed(flip, locals())
    return _core.flip(x, range(x.ndim) if axis is None else as_axes(axis))


def moveaxis(x: TensorLike, source: Any, destination: Any, /) -> Tensor:
    """The axes in another order: some moved, the others as they were.

    Args:
        x: A tensor.
        source: Which axes.
        destination: Where to.
    """
    return _core.movedim(x, as_axes(source), as_axes(destination))


def permute_dims(x: TensorLike, /, axes: Sequence[int], **wrong: Unpack[OtherNames]) -> Tensor:
    """The axes in another order.

    Args:
        x: A tensor.
        axes: The old axes in their new order.
    """
    if wrong:
        return renamed(permute_dims, locals())
    return _core.permute(x, axes)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged.

    Args:
        x: Matrices.
    """
    return x.mT


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None, **wrong: Unpack[OtherNames]) -> Tensor:
    """Each element several times.

    Args:
        x: A tensor.
        repeats: How often: an int, or a tensor with a number for each place of the axis.
        axis: Along this axis; None for the flat tensor.
    """
    if wrong:
        return renamed(repeat, locals())
    if axis is None:
        x, axis = _core.flatten(x), 0
    if isinstance(repeats, (int, _core.Dim)):
        return _core.repeat_interleave(x, int(repeats), axis)
    counts = repeats if isinstance(repeats, Tensor) else _core.tensor(repeats)
    if is_size(counts.size, 1):
        counts = _core.broadcast_to(counts, (x.shape[axis],))
    return _core.repeat_interleave_counts(x, _core.cast(counts, "int64"), axis)


def roll(x: Tensor, /, shift: Any, axis: Any = None, **wrong: Unpack[OtherNames]) -> Tensor:
    """The elements moved along axes; what falls off comes in at the other end.

    Args:
        x: A tensor.
        shift: By how many places.
        axis: Along which axes; None for the flat tensor.
    """
    if wrong:
        return renamed(roll, locals())
    if axis is None:
        return _core.reshape(_core.roll(_core.flatten(x), as_axes(shift), (0,)), x.shape)
    axes = as_axes(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, (int, _core.Dim)) else shift
    return _core.roll(x, shifts, axes)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """The tensor put beside itself.

    Args:
        x: A tensor.
        repetitions: How often along each axis.
    """
    repeats = (1,) * (x.ndim - len(repetitions)) + tuple(repetitions)
    return _core.tile(_core.reshape(x, (1,) * (len(repeats) - x.ndim) + x.shape), repeats)


def unstack(x: TensorLike, /, *, axis: int = 0, **wrong: Unpack[OtherNames]) -> tuple[Tensor, ...]:
    """The parts of a tensor along an axis, without it.

    Args:
        x: A tensor.
        axis: The axis.
    """
    if wrong:
        return renamed(unstack, locals())
    return tuple(_core.unbind(x, axis))


def take(x: TensorLike, indices: TensorLike, /, *, axis: int | None = None, **wrong: Unpack[OtherNames]) -> Tensor:
    """The parts at these positions of an axis.

    Args:
        x: A tensor.
        indices: The positions; negative ones count from the end.
        axis: The axis; None for the only one.
    """
    if wrong:
        return renamed(take, locals())
    key = (slice(None),) * ((axis or 0) % x.ndim) + (indices,)  # type: ignore[union-attr]
    return x[key]  # type: ignore[index]


def take_along_axis(x: TensorLike, indices: TensorLike, /, axis: int = -1, **wrong: Unpack[OtherNames]) -> Tensor:
    """The elements at these positions, for each line along an axis.

    Args:
        x: A tensor.
        indices: The positions.
        axis: The axis.
    """
    if wrong:
        return renamed(take_along_axis, locals())
    return _core.take_along_axis(x, indices, axis)


def tensordot(x1: Tensor, x2: Tensor, /, axes: Any = 2, x2_axes: Any = None, **wrong: Unpack[OtherNames]) -> Tensor:
    """A product summed over axes.

    Args:
        x1: A tensor.
        x2: A tensor.
        axes: How many of the last axes of `x1` meet the first of `x2`; or two sequences of axes.
        x2_axes: The second of the two sequences, if it stands apart.
    """
    if wrong:
        return renamed(tensordot, locals())
    if x2_axes is not None:
        axes = (axes, x2_axes)
    if isinstance(axes, int):
        axes = (range(x1.ndim - axes, x1.ndim), range(axes))
    return _core.tensordot(x1, x2, list(axes[0]), list(axes[1]))


def vecdot(x1: TensorLike, x2: TensorLike, /, axis: int = -1, **wrong: Unpack[OtherNames]) -> Tensor:
    """The products of vectors along an axis.

    Args:
        x1: A tensor.
        x2: A tensor.
        axis: The axis.
    """
    if wrong:
        return renamed(vecdot, locals())
    return _core.vecdot(x1, x2, axis)
