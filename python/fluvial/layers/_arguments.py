"""Fluid's conventions for arguments and results, stated once for all functions under its names."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from .._tree import is_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._core import Tensor


def one(x: Tensor) -> Tensor:
    """A number as Fluid has it: of shape [1]."""
    return _core.reshape(x, (1,)) if x.ndim == 0 else x


def classes(label: Tensor) -> Tensor:
    """Labels or row numbers without their last axis of size 1, as `i64`."""
    if label.dtype.is_integer and label.dtype != "int64":
        label = _core.cast(label, "int64")
    return _core.squeeze(label, [-1]) if label.ndim > 1 and is_size(label.shape[-1], 1) else label


def flag(value: Any, name: str, meant: str) -> None:
    """Refuses a number in the place of a flag: other functions of that name have an axis there."""
    if not isinstance(value, bool):
        raise fault(TypeError, f"`{name}` is {value!r}, and neither True nor False", f"give {meant} by its name")


def positions(index: Tensor) -> Tensor:
    """Numbers of elements as ops take them."""
    return index if index.dtype.name == "int64" else _core.cast(index, "int64")


def known(size: Any, what: str, remedy: str = "give `data` this size") -> int:
    """A size that a parameter's sizes follow from, which must not be open."""
    if isinstance(size, int):
        return size
    raise fault(ValueError, f"{what} is {size}, which only the run knows", remedy)


def product(sizes: Sequence[Any], what: str) -> int:
    """The product of sizes that must not be open."""
    total = 1
    for size in sizes:
        total *= known(size, what)
    return total


def many(value: Any, count: int, what: str) -> list[int]:
    """A number for each axis, of which one may stand for all."""
    if isinstance(value, (list, tuple)):
        if len(value) == 1:
            return [int(value[0])] * count
        if len(value) != count:
            raise fault(ValueError, f"`{what}` has {len(value)} numbers", f"give one or {count}")
        return [int(number) for number in value]
    return [int(value)] * count


def axis_of(axis: int, ndim: int) -> int:
    """An axis, counted from the first."""
    if not -ndim <= axis < ndim:
        raise fault(ValueError, f"there is no axis {axis} among {ndim}", f"use 0 to {ndim - 1}")
    return axis % ndim


def size_of(size: Any) -> Any:
    """A size given as a number, or as a tensor of one integer."""
    if isinstance(size, _core.Tensor) and not isinstance(size, _core.Dim):
        if not size.is_symbolic:
            return int(size.item())
        return _core.of_size(_core.cast(_core.reshape(size, ()), "int64")).shape[0]
    return size if isinstance(size, (str, _core.Dim)) else int(size)


def sizes_of(shape: Any, count: int | None = None) -> list[Any]:
    """Sizes given as numbers, tensors of one integer, or one tensor of all.

    Args:
        shape: The sizes.
        count: How many there must be, where a tensor does not say it.
    """
    if isinstance(shape, _core.Tensor):
        if not shape.is_symbolic:
            return [int(size) for size in shape.numpy().reshape(-1)]
        length = count if count is not None else known(shape.shape[0], "the number of axes")
        return [size_of(_core.narrow(shape, 0, i, 1)) for i in range(length)]
    return [size_of(size) for size in shape]


def axes_of(layout: str) -> int:
    """The number of axes of an image, or of a volume, besides batch and channels."""
    return 3 if layout in ("NCDHW", "NDHWC") else 2


def channels_first(x: Tensor, layout: str, what: str = "data_format") -> tuple[Tensor, bool]:
    """The values with channels as axis 1, and whether they were the last axis."""
    if layout in ("NCHW", "NCDHW", "AnyLayout"):
        return x, False
    if layout not in ("NHWC", "NDHWC"):
        raise fault(ValueError, f'`{what}` is "{layout}"', 'use "NCHW" or "NHWC", with three axes "NCDHW" or "NDHWC"')
    return (_core.movedim(x, [-1], [1]) if x.ndim > 2 else x), True


def channels_back(x: Tensor, last: bool) -> Tensor:
    """The values with channels where `channels_first` has found them."""
    return _core.movedim(x, [1], [-1]) if last and x.ndim > 2 else x
