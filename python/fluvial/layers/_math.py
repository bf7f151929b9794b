"""Ops under Fluid's names, with Fluid's arguments."""

from __future__ import annotations

from .. import _core
from .._modes import data as data_of_program
from .._tree import is_size
from ..imperative.nn import Pool2D, activation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._core import DTypeLike, Shape, Tensor, TensorLike

    Axes = int | Sequence[int] | None


def _elementwise(function: Callable[[Any, Any], Tensor], what: str) -> Callable[..., Tensor]:
    def op(
        x: Tensor, y: TensorLike, axis: int = -1, act: str | None = None, name: str | None = None
    ) -> Tensor:
        if isinstance(y, _core.Tensor) and axis != -1 and y.ndim + axis < x.ndim:
            y = _core.reshape(y, (*y.shape, *(1,) * (x.ndim - axis - y.ndim)))
        return activation(function(x, y), act)

    op.__doc__ = f"""{what}; the axes of `y` are those of `x` from `axis` on, the last ones if
    it is -1."""
    return op


elementwise_add = _elementwise(_core.add, "The sum of both")
elementwise_sub = _elementwise(_core.sub, "`x` less `y`")
elementwise_mul = _elementwise(_core.mul, "The product of both")
elementwise_div = _elementwise(_core.div, "`x` divided by `y`")
elementwise_max = _elementwise(_core.maximum, "The larger of both")
elementwise_min = _elementwise(_core.minimum, "The smaller of both")
elementwise_pow = _elementwise(_core.pow, "`x` to the power of `y`")
elementwise_mod = _elementwise(_core.remainder, "What is left of `x` divided by `y`")
elementwise_floordiv = _elementwise(_core.floor_div, "`x` divided by `y`, rounded down")


def _reduce(function: Callable[..., Tensor], what: str) -> Callable[..., Tensor]:
    def op(
        input: Tensor, dim: Axes = None, keep_dim: bool = False, name: str | None = None
    ) -> Tensor:
        return function(input, axis=dim, keepdims=keep_dim)

    op.__doc__ = f"{what} over the axes `dim`, over all if nothing is said."
    return op


reduce_sum = _reduce(_core.sum, "The sum")
reduce_mean = _reduce(_core.mean, "The mean")
reduce_max = _reduce(_core.max, "The largest element")
reduce_min = _reduce(_core.min, "The smallest element")
reduce_prod = _reduce(_core.prod, "The product")
reduce_all = _reduce(_core.all, "Whether all are true")
reduce_any = _reduce(_core.any, "Whether one is true")


def mean(x: Tensor, name: str | None = None) -> Tensor:
    """The mean of all elements.

    Example:
        >>> fl.layers.mean(fl.tensor([1.0, 3.0])).item()
        2.0
    """
    return _core.mean(x)


def sums(input: Sequence[Tensor]) -> Tensor:
    """The sum of several tensors."""
    total = input[0]
    for x in input[1:]:
        total = total + x
    return total


def scale(
    x: Tensor, scale: float = 1.0, bias: float = 0.0, bias_after_scale: bool = True,
    act: str | None = None,
) -> Tensor:  # fmt: skip
    """`scale · x + bias`, or `scale · (x + bias)`."""
    return activation(x * scale + bias if bias_after_scale else (x + bias) * scale, act)


def mul(x: Tensor, y: Tensor, x_num_col_dims: int = 1, y_num_col_dims: int = 1) -> Tensor:
    """The matrix product of `x` and `y`, of which the first axes are rows, the others columns.

    Example:
        >>> fl.layers.mul(fl.full((2, 3, 4), 1.0), fl.full((12, 5), 1.0)).shape
        (2, 5)
    """
    a = _core.flatten(x, x_num_col_dims, -1) if x.ndim > x_num_col_dims + 1 else x
    b = _core.flatten(y, 0, y_num_col_dims - 1) if y_num_col_dims > 1 else y
    b = _core.flatten(b, 1, -1) if b.ndim > 2 else b
    product = _core.matmul(a, b)
    return _core.reshape(product, (*x.shape[:x_num_col_dims], *y.shape[y_num_col_dims:]))


def matmul(
    x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0
) -> Tensor:
    """The matrix product, of transposed matrices if so said, times `alpha`."""
    x = _core.transpose(x, -1, -2) if transpose_x and x.ndim > 1 else x
    y = _core.transpose(y, -1, -2) if transpose_y and y.ndim > 1 else y
    product = _core.matmul(x, y)
    return product if alpha == 1.0 else product * alpha


def softmax(input: Tensor, axis: int = -1, use_cudnn: bool = False) -> Tensor:
    """Positive numbers of sum 1 along an axis."""
    return _core.softmax(input, axis)


def dropout(
    x: Tensor,
    dropout_prob: float,
    is_test: bool = False,
    seed: int | None = None,
    name: str | None = None,
    dropout_implementation: str = "downgrade_in_infer",
) -> Tensor:
    """Each element is zero with this probability, in training.

    Args:
        x: The values.
        dropout_prob: The probability.
        is_test: Whether nothing is dropped.
        seed: For Fluid's programs; numbers come from the scope's stream.
        name: For Fluid's programs.
        dropout_implementation: "downgrade_in_infer" makes values smaller in use,
            "upscale_in_train" larger in training.
    """
    dropped = x if is_test or dropout_prob == 0.0 else _core.dropout(x, dropout_prob)
    if dropout_implementation == "upscale_in_train":
        return dropped
    return dropped * (1.0 - dropout_prob)


def pool2d(
    input: Tensor,
    pool_size: int | Sequence[int] = 1,
    pool_type: str = "max",
    pool_stride: int | Sequence[int] = 1,
    pool_padding: int | Sequence[int] = 0,
    global_pooling: bool = False,
    ceil_mode: bool = False,
    exclusive: bool = True,
    name: str | None = None,
) -> Tensor:
    """The largest element or the mean of each window. Args are those of `fl.imperative.Pool2D`.

    Example:
        >>> fl.layers.pool2d(fl.full((1, 2, 4, 4), 0.5), global_pooling=True).shape
        (1, 2, 1, 1)
    """
    options = (pool_size, pool_type, pool_stride, pool_padding, global_pooling, ceil_mode)
    return Pool2D(*options, exclusive, name="pool2d")(input)


def concat(input: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Tensors one after the other along an axis."""
    return _core.concat(input, axis)


def split(
    input: Tensor, num_or_sections: int | Sequence[int], dim: int = -1, name: str | None = None
) -> list[Tensor]:
    """A tensor in parts, so many or of these sizes, along an axis."""
    if isinstance(num_or_sections, int):
        return _core.chunk(input, num_or_sections, dim)
    return _core.split(input, list(num_or_sections), dim)


def transpose(x: Tensor, perm: Sequence[int], name: str | None = None) -> Tensor:
    """The axes in another order."""
    return _core.permute(x, list(perm))


def reshape(
    x: Tensor, shape: Sequence[int | str], act: str | None = None, name: str | None = None
) -> Tensor:
    """Other sizes of the same elements: 0 is the one that was there, -1 follows from the others."""
    sizes = [x.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    return activation(_core.reshape(x, sizes), act)


def stack(x: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors side by side along a new axis."""
    return _core.stack(x, axis)


def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    """The parts of a tensor along an axis."""
    return _core.unbind(x, axis)


def expand(x: Tensor, expand_times: Sequence[int], name: str | None = None) -> Tensor:
    """A tensor repeated so many times along each axis."""
    return _core.tile(x, list(expand_times))


def unsqueeze(input: Tensor, axes: Sequence[int], name: str | None = None) -> Tensor:
    """New axes of size 1."""
    for axis in axes:
        input = _core.unsqueeze(input, axis)
    return input


def squeeze(input: Tensor, axes: Sequence[int], name: str | None = None) -> Tensor:
    """Without these axes, which have size 1."""
    return _core.squeeze(input, list(axes))


def flatten(x: Tensor, axis: int = 1, name: str | None = None) -> Tensor:
    """A matrix: axes before `axis` are rows, the others columns."""
    columns = _core.flatten(x, axis, -1) if x.ndim > axis else _core.unsqueeze(x, axis)
    return _core.flatten(columns, 0, axis - 1) if axis > 1 else columns


def cast(x: Tensor, dtype: DTypeLike) -> Tensor:
    """The values in another element type."""
    return _core.cast(x, dtype)


def fill_constant(shape: Shape, dtype: DTypeLike, value: float) -> Tensor:
    """One number everywhere."""
    return _core.full(shape, value, dtype)


def zeros(shape: Shape, dtype: DTypeLike = "float32") -> Tensor:
    """Zeros."""
    return _core.full(shape, 0.0, dtype)


def ones(shape: Shape, dtype: DTypeLike = "float32") -> Tensor:
    """Ones."""
    return _core.full(shape, 1.0, dtype)


def assign(input: TensorLike) -> Tensor:
    """The value as a tensor."""
    return input if isinstance(input, _core.Tensor) else _core.tensor(input)


def one_hot(input: Tensor, depth: int) -> Tensor:
    """Ones at these numbers, zeros elsewhere. A last axis of size 1 is left out."""
    ids = _core.squeeze(input, [-1]) if input.ndim > 1 and is_size(input.shape[-1], 1) else input
    return _core.cast(_core.one_hot(ids, depth), "float32")


def topk(input: Tensor, k: int, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The `k` largest elements along the last axis, and where they are."""
    return _core.topk(input, k, -1)


def argmax(x: Tensor, axis: int = 0) -> Tensor:
    """Where the largest element is."""
    return _core.argmax(x, axis)


def argmin(x: Tensor, axis: int = 0) -> Tensor:
    """Where the smallest element is."""
    return _core.argmin(x, axis)


def l2_normalize(x: Tensor, axis: int, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """Values divided by their norm along an axis."""
    squares = _core.sum(x * x, axis=axis, keepdims=True)
    return x / _core.sqrt(_core.maximum(squares, epsilon))


def clip_by_norm(x: Tensor, max_norm: float, name: str | None = None) -> Tensor:
    """Values whose norm is at most `max_norm`."""
    norm = _core.sqrt(_core.sum(x * x))
    return x * (max_norm / _core.maximum(norm, max_norm))


def data(
    name: str,
    shape: Sequence[int | str | None],
    append_batch_size: bool = True,
    dtype: DTypeLike = "float32",
) -> Tensor:
    """An input of the program being built, as `fl.data`. Sizes of -1 or None are given when it runs.

    Args:
        name: Its name.
        shape: Its sizes.
        append_batch_size: Whether a first axis for the batch is added, unless one of the sizes
            is open.
        dtype: Its element type.

    Example:
        >>> with fl.building() as b:
        ...     x = fl.layers.data("x", [3])
        ...     b.output("y", x * 2)
        >>> b.program.inputs
        {'x': 'f32[batch, 3]'}
    """
    sizes = list(shape)
    if append_batch_size and not any(size in (-1, None) for size in sizes):
        sizes.insert(0, -1)
    named = [
        f"{name}_{axis}" if axis > 0 and size in (-1, None) else size
        for axis, size in enumerate(sizes)
    ]
    return data_of_program(name, named, dtype)
