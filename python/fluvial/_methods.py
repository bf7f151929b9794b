"""Methods of tensors that take sizes or axes one by one or as a sequence."""

from __future__ import annotations

from . import _core
from ._core import Tensor
from ._fault import fault
from ._tree import is_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._core import TensorLike


def _together(items: tuple[Any, ...]) -> Any:
    """The one sequence, or the items themselves."""
    if len(items) == 1 and isinstance(items[0], (tuple, list)):
        return items[0]
    return items


def reshape(self: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape.

    Args:
        *shape: Its sizes, one by one or as a tuple; -1 follows from the others.

    Example:
        >>> fl.tensor([1.0, 2.0, 3.0, 4.0]).reshape(2, -1).shape
        (2, 2)
    """
    return _core.reshape(self, _together(shape))


def broadcast_to(self: Tensor, *shape: Any) -> Tensor:
    """The tensor repeated along axes of size one, and along new first axes.

    Args:
        *shape: Its sizes, one by one or as a tuple.
    """
    return _core.broadcast_to(self, _together(shape))


def expand(self: Tensor, *shape: Any) -> Tensor:
    """`broadcast_to`, under PyTorch's name; -1 keeps a size.

    Args:
        *shape: Its sizes, one by one or as a tuple.
    """
    from ._derived import expand

    return expand(self, _together(shape))


def permute(self: Tensor, *axes: Any, **named: Any) -> Tensor:
    """The axes in another order.

    Args:
        *axes: The old axes in their new order, one by one or as a tuple. Also `dims=`.

    Example:
        >>> fl.full((2, 3, 4), 0.0).permute(2, 0, 1).shape
        (4, 2, 3)
    """
    return _core.permute(self, _axes(axes, named, "permute"))


def tile(self: Tensor, *repeats: Any) -> Tensor:
    """The tensor put beside itself.

    Args:
        *repeats: How often along each axis, one by one or as a tuple.
    """
    return _core.tile(self, _together(repeats))


def _axes(axes: tuple[Any, ...], named: dict[str, Any], function: str) -> Any:
    """Axes by place, or by one of their names."""
    for name, value in named.items():
        if name not in ("axis", "axes", "dim", "dims"):
            raise fault(TypeError, f"`{function}` has no argument `{name}`", "write `axis`")
        if axes:
            raise fault(TypeError, f"`{name}` of `{function}` is given twice", "give the axes once")
        axes = tuple(value) if isinstance(value, (tuple, list)) else () if value is None else (value,)
    return _together(axes)


def flip(self: Tensor, *axes: Any, **named: Any) -> Tensor:
    """The elements in reverse order.

    Args:
        *axes: Along these axes; along all if there are none. Also `axis=` or `dims=`.
    """
    return _core.flip(self, _axes(axes, named, "flip") or range(self.ndim))


def squeeze(self: Tensor, *axes: Any, **named: Any) -> Tensor:
    """The tensor without axes of size one.

    Args:
        *axes: Which; all of them if there are none. Also `axis=` or `dim=`.

    Example:
        >>> fl.full((1, 3, 1), 0.0).squeeze().shape
        (3,)
    """
    ones = [i for i, size in enumerate(self.shape) if is_size(size, 1)]
    return _core.squeeze(self, _axes(axes, named, "squeeze") or ones)


def __reversed__(self: Tensor) -> Iterator[Tensor]:
    """The parts along the first axis, the last one first.

    Example:
        >>> [row.tolist() for row in reversed(fl.tensor([[1.0, 2.0], [3.0, 4.0]]))]
        [[3.0, 4.0], [1.0, 2.0]]
    """
    return iter(list(self)[::-1])


def _no_member(self: Tensor, name: str) -> Any:
    """Says what an attribute that is not there may be called."""
    from ._elsewhere import no_member

    raise no_member(self, name)


for _method in (reshape, broadcast_to, expand, permute, tile, flip, squeeze, __reversed__):
    setattr(Tensor, _method.__name__, _method)
Tensor.__getattr__ = _no_member  # type: ignore[attr-defined]


def where(condition: TensorLike, a: TensorLike, b: TensorLike) -> Tensor:
    """`a` where the condition holds, else `b`, broadcast.

    Args:
        condition: A tensor of bools, an array of them, or True or False.
        a: A tensor, a number or an array.
        b: A tensor, a number or an array.

    Example:
        >>> x = fl.tensor([-1.0, 2.0])
        >>> fl.where(x > 0, x, 0.0).tolist()
        [0.0, 2.0]
        >>> fl.where(True, x, 0.0).tolist()
        [-1.0, 2.0]
    """
    # The core takes Python's bools for numbers.
    return _core.where(_core.tensor(condition) if type(condition) is bool else condition, a, b)
