"""Shapes, parts and positions."""

from __future__ import annotations

import builtins

from .. import _core
from .._core import Tensor
from .._fault import fault, renamed
from .._tree import is_size
from .products import as_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Unpack

    from .._core import OtherNames, TensorLike


def known_size(x: Tensor, axis: int, name: str) -> int:
    """The size of an axis, where it has to be known while a program is built."""
    size = x.shape[axis]
    if not isinstance(size, int):
        raise fault(
            ValueError,
            f"`{name}` needs the size of axis {axis} of {x.type_text}, which only the run knows",
            "give the sizes of the parts, or mark the size as a number in the signature",
        )
    return size


def cat(tensors: Sequence[TensorLike], axis: int = 0, **wrong: Unpack[OtherNames]) -> Tensor:
    """Tensors one after the other: `concat` under PyTorch's name.

    Args:
        tensors: The parts.
        axis: Along this axis. Also `dim`.

    Example:
        >>> fl.cat([fl.zeros(2), fl.ones(1)]).tolist()
        [0.0, 0.0, 1.0]
    """
    if wrong:
        return renamed(cat, locals())
    return _core.concat(tensors, axis)


def split(x: TensorLike, sizes: Any, axis: int = 0, **wrong: Unpack[OtherNames]) -> list[Tensor]:
    """The parts of a tensor along an axis.

    Args:
        x: A tensor.
        sizes: How long each part is; or one number, for parts of that length, the last of which may be shorter. Also
            `split_size_or_sections`.
        axis: The axis. Also `dim`.

    Example:
        >>> [part.tolist() for part in fl.split(fl.arange(5), 2)]
        [[0, 1], [2, 3], [4]]
    """
    if wrong:
        return renamed(split, locals())
    if isinstance(sizes, int) and not isinstance(sizes, builtins.bool):
        x = as_tensor(x)
        size = known_size(x, axis, "split")
        if sizes <= 0 and (sizes < 0 or size):
            raise fault(ValueError, f"parts of length {sizes}", "give a positive length")
        starts = range(0, size, sizes) if size else [0]
        sizes = [min(sizes, size - start) for start in starts]
    return _core.split(x, sizes, axis)


def tensor_split(x: TensorLike, indices_or_sections: Any, axis: int = 0, **wrong: Unpack[OtherNames]) -> list[Tensor]:
    """The parts of a tensor along an axis, of nearly the same lengths or between positions.

    Args:
        x: A tensor.
        indices_or_sections: How many parts; or the positions where new ones begin.
        axis: The axis. Also `dim`.
    """
    if wrong:
        return renamed(tensor_split, locals())
    x = as_tensor(x)
    size = known_size(x, axis, "tensor_split")
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count < 1:
            raise fault(ValueError, f"a tensor in {count} parts", "give a positive number of parts")
        lengths = [size // count + (i < size % count) for i in range(count)]
        return _core.split(x, lengths, axis)
    given = indices_or_sections.tolist() if isinstance(indices_or_sections, Tensor) else indices_or_sections
    cuts = [0, *(max(0, min(size, i + size if i < 0 else i)) for i in given), size]
    return [_core.slice(x, axis, a, max(a, b)) for a, b in zip(cuts, cuts[1:])]


def vsplit(x: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """`tensor_split` along the first axis.

    Args:
        x: A tensor.
        indices_or_sections: How many parts; or the positions where new ones begin.
    """
    return tensor_split(x, indices_or_sections, 0)


def hsplit(x: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """`tensor_split` along the second axis, of a vector along its only one.

    Args:
        x: A tensor.
        indices_or_sections: How many parts; or the positions where new ones begin.
    """
    x = as_tensor(x)
    return tensor_split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def select(x: TensorLike, axis: int, index: int, **wrong: Unpack[OtherNames]) -> Tensor:
    """The part at one position of an axis, without the axis.

    Args:
        x: A tensor.
        axis: The axis. Also `dim`.
        index: The position; a negative one counts from the end.
    """
    if wrong:
        return renamed(select, locals())
    x = as_tensor(x)
    return x[(slice(None),) * (axis % x.ndim) + (index,)]


def swapaxes(x: TensorLike, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged: `transpose` under NumPy's name.

    Args:
        x: A tensor.
        axis0: One axis.
        axis1: The other one.
    """
    return _core.transpose(x, axis0, axis1)


swapdims = swapaxes


def ravel(x: TensorLike) -> Tensor:
    """The elements as a vector.

    Args:
        x: A tensor.
    """
    return _core.reshape(x, (-1,))


def unflatten(x: TensorLike, axis: int, sizes: Any, **wrong: Unpack[OtherNames]) -> Tensor:
    """One axis as several.

    Args:
        x: A tensor.
        axis: The axis. Also `dim`.
        sizes: The sizes of the new ones, one of which may be -1.

    Example:
        >>> fl.unflatten(fl.zeros(2, 6), 1, (2, -1)).shape
        (2, 2, 3)
    """
    if wrong:
        return renamed(unflatten, locals())
    x = as_tensor(x)
    axis = axis % x.ndim
    sizes = list(sizes)
    if -1 in sizes and isinstance(x.shape[axis], int):
        known = 1
        for size in sizes:
            known *= 1 if size == -1 else size
        sizes[sizes.index(-1)] = x.shape[axis] // known if known else 0
    return _core.reshape(x, (*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))


def expand(x: TensorLike, shape: Any, **wrong: Unpack[OtherNames]) -> Tensor:
    """The tensor repeated along axes of size one, and along new first axes.

    Args:
        x: A tensor.
        shape: The sizes; -1 keeps one. Also `size`.

    Example:
        >>> fl.expand(fl.tensor([1.0, 2.0]), (3, -1)).shape
        (3, 2)
    """
    if wrong:
        return renamed(expand, locals())
    x = as_tensor(x)
    sizes = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    new = len(sizes) - x.ndim
    for axis, size in enumerate(sizes):
        if isinstance(size, int) and size == -1:
            if axis < new:
                raise fault(ValueError, f"-1 keeps a size, and axis {axis} is a new one", "give its size")
            sizes[axis] = x.shape[axis - new]
    return _core.broadcast_to(x, sizes)


def atleast_1d(x: TensorLike) -> Tensor:
    """The tensor, with an axis if it has none.

    Args:
        x: A tensor.
    """
    x = as_tensor(x)
    return _core.reshape(x, (1,)) if x.ndim == 0 else x


def atleast_2d(x: TensorLike) -> Tensor:
    """The tensor with at least two axes: a vector becomes a row.

    Args:
        x: A tensor.
    """
    x = atleast_1d(x)
    return _core.unsqueeze(x, 0) if x.ndim == 1 else x


def atleast_3d(x: TensorLike) -> Tensor:
    """The tensor with at least three axes; new ones stand around a vector and behind a matrix.

    Args:
        x: A tensor.
    """
    x = atleast_2d(x)
    return _core.unsqueeze(x, -1) if x.ndim == 2 else x


def vstack(tensors: Sequence[TensorLike]) -> Tensor:
    """Tensors below one another: along the first axis, vectors as rows.

    Args:
        tensors: The parts.

    Example:
        >>> fl.vstack([fl.arange(2), fl.arange(2)]).shape
        (2, 2)
    """
    return _core.concat([atleast_2d(part) for part in tensors], 0)


row_stack = vstack


def hstack(tensors: Sequence[TensorLike]) -> Tensor:
    """Tensors beside one another: along the second axis, vectors along their only one.

    Args:
        tensors: The parts.
    """
    parts = [atleast_1d(part) for part in tensors]
    return _core.concat(parts, 0 if parts and parts[0].ndim == 1 else 1)


def dstack(tensors: Sequence[TensorLike]) -> Tensor:
    """Tensors behind one another: along the third axis.

    Args:
        tensors: The parts.
    """
    return _core.concat([atleast_3d(part) for part in tensors], 2)


def column_stack(tensors: Sequence[TensorLike]) -> Tensor:
    """Tensors beside one another, vectors as columns.

    Args:
        tensors: The parts.
    """
    parts = [as_tensor(part) for part in tensors]
    return _core.concat([_core.reshape(part, (-1, 1)) if part.ndim < 2 else part for part in parts], 1)


def block_diag(*tensors: TensorLike) -> Tensor:
    """A matrix with matrices along its diagonal, and zeros elsewhere.

    Args:
        *tensors: The matrices; a vector is a row.

    Example:
        >>> fl.block_diag(fl.tensor([[1.0]]), fl.tensor([[2.0, 3.0]])).tolist()
        [[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]]
    """
    parts = [atleast_2d(part) for part in tensors]
    widths: list[Any] = [part.shape[1] for part in parts]
    rows = []
    for i, part in enumerate(parts):
        before, after = sum(widths[:i]), sum(widths[i + 1 :])
        rows.append(_core.pad(part, [0, before], [0, after]))
    return _core.concat(rows, 0)


def _indices(row: int, col: int, offset: int, lower: builtins.bool) -> Tensor:
    inside = [(i, j) for i in range(row) for j in range(col) if (j - i <= offset if lower else j - i >= offset)]
    return _core.tensor([[pair[k] for pair in inside] for k in (0, 1)], "int64")


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """The positions on and below a diagonal of a matrix: their rows, then their columns.

    Args:
        row: The number of rows.
        col: The number of columns.
        offset: Which diagonal: above the main one if positive.
    """
    return _indices(row, col, offset, True)


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """The positions on and above a diagonal of a matrix: their rows, then their columns.

    Args:
        row: The number of rows.
        col: The number of columns.
        offset: Which diagonal: above the main one if positive.
    """
    return _indices(row, col, offset, False)


def unravel_index(indices: TensorLike, shape: Any, **wrong: Unpack[OtherNames]) -> tuple[Tensor, ...]:
    """Positions in a flat tensor as positions along its axes.

    Args:
        indices: The positions.
        shape: The sizes of the tensor. Also `size`.

    Example:
        >>> [place.tolist() for place in fl.unravel_index(fl.tensor([5]), (2, 3))]
        [[1], [2]]
    """
    if wrong:
        return renamed(unravel_index, locals())
    rest, found = as_tensor(indices), []
    for size in reversed((shape,) if isinstance(shape, int) else tuple(shape)):
        found.append(_core.remainder(rest, size))
        rest = _core.floor_div(rest, size)
    return tuple(reversed(found))


def squeeze_all(x: Tensor) -> Tensor:
    return _core.squeeze(x, [i for i, size in enumerate(x.shape) if is_size(size, 1)])


def einsum(equation: str, *operands: Any) -> Tensor:
    """A sum of products over indices, as the equation names them.

    Args:
        equation: Such as "ij,jk->ik".
        *operands: The tensors, one by one or as a sequence.

    Example:
        >>> fl.einsum("i,i->", fl.tensor([1.0, 2.0]), fl.tensor([3.0, 4.0])).item()
        11.0
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return _core.einsum(equation, list(operands))
