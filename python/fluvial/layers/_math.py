"""Ops under Fluid's names, with Fluid's arguments."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from .._modes import data as data_of_program
from .._sequence import listed
from .._tree import is_size
from ._activations import activation
from ._arguments import classes, flag, one, positions, size_of, sizes_of
from ._inplace import assign_to, drawing, own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._core import DTypeLike, Shape, Tensor, TensorLike
    from ._activations import Act

    Axes = int | Sequence[int] | None


def _beside(x: Tensor, y: Tensor, axis: int) -> Tensor:
    """`y` with sizes of 1 behind its axes, which are those of `x` from `axis` on."""
    if axis == -1:
        return y
    while y.ndim + axis > x.ndim and y.ndim > 0 and is_size(y.shape[-1], 1):
        y = _core.squeeze(y, [-1])
    if axis < 0 or y.ndim + axis > x.ndim:
        raise fault(
            ValueError,
            f"the {y.ndim} axes of `y` do not fit into the {x.ndim} of `x` from axis {axis} on",
            f"use -1, or 0 to {max(x.ndim - y.ndim, 0)}",
        )
    behind = x.ndim - axis - y.ndim
    return _core.reshape(y, (*y.shape, *(1,) * behind)) if behind else y


def _elementwise(
    function: Callable[[Any, Any], Tensor], name: str, what: str
) -> Callable[..., Tensor]:
    def op(
        x: Tensor, y: TensorLike, axis: int = -1, act: Act = None, name: str | None = None
    ) -> Tensor:
        if isinstance(x, _core.Tensor) and isinstance(y, _core.Tensor):
            y = _beside(x, y, axis)
        return activation(function(x, y), act)

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"""{what}, element by element.

    Args:
        x: A tensor.
        y: Another one, or a number. Its axes are those of `x` from `axis` on.
        axis: Where the axes of `y` begin among those of `x`; at -1 they are the last ones.
        act: The name of a function of the result.
        name: For Fluid's programs.
    """
    return op


elementwise_add = _elementwise(_core.add, "elementwise_add", "The sum of both")
elementwise_sub = _elementwise(_core.sub, "elementwise_sub", "`x` less `y`")
elementwise_mul = _elementwise(_core.mul, "elementwise_mul", "The product of both")
elementwise_max = _elementwise(_core.maximum, "elementwise_max", "The larger of both")
elementwise_min = _elementwise(_core.minimum, "elementwise_min", "The smaller of both")
elementwise_pow = _elementwise(_core.pow, "elementwise_pow", "`x` to the power of `y`")
elementwise_mod = _elementwise(
    _core.remainder, "elementwise_mod", "What is left of `x` divided by `y`"
)
elementwise_floordiv = _elementwise(
    _core.floor_div, "elementwise_floordiv", "`x` divided by `y`, rounded down"
)


def divided(x: Any, y: Any) -> Tensor:
    """`x` divided by `y`; integers by integers of their type give integers."""
    tensors = [value for value in (x, y) if isinstance(value, _core.Tensor)]
    dtype = tensors[0].dtype
    if dtype.name.startswith(("int", "uint")) and all(
        value.dtype == dtype if isinstance(value, _core.Tensor) else isinstance(value, int) for value in (x, y)
    ):
        # Integers are divided as C does it: towards zero.
        down: Any = _core.floor_div(x, y)
        rest = x - down * y
        is_up = _core.logical_and(_core.ne(rest, 0), _core.ne(_core.lt(x, 0), _core.lt(y, 0)))
        return down + _core.cast(is_up, dtype)
    return _core.div(x, y)


elementwise_div = _elementwise(divided, "elementwise_div", "`x` divided by `y`")


def _reduce(function: Callable[..., Tensor], name: str, what: str) -> Callable[..., Tensor]:
    def op(
        input: Tensor, dim: Axes = None, keep_dim: bool = False, name: str | None = None
    ) -> Tensor:
        axes = None if dim is None or dim == [] or dim == () else dim
        return one(function(input, axis=axes, keepdims=keep_dim))

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"""{what}.

    Args:
        input: The values.
        dim: An axis, or several; all if nothing is said. A result without axes has shape [1].
        keep_dim: Whether these axes stay, with size 1.
        name: For Fluid's programs.
    """
    return op


reduce_sum = _reduce(_core.sum, "reduce_sum", "The sum over axes")
reduce_mean = _reduce(_core.mean, "reduce_mean", "The mean over axes")
reduce_max = _reduce(_core.max, "reduce_max", "The largest element over axes")
reduce_min = _reduce(_core.min, "reduce_min", "The smallest element over axes")
reduce_prod = _reduce(_core.prod, "reduce_prod", "The product over axes")
reduce_all = _reduce(_core.all, "reduce_all", "Whether all are true, over axes")
reduce_any = _reduce(_core.any, "reduce_any", "Whether one at least is true, over axes")


def mean(x: Tensor, name: str | None = None) -> Tensor:
    """The mean of all elements, of shape [1].

    Example:
        >>> fl.layers.mean(fl.tensor([1.0, 3.0])).tolist()
        [2.0]
    """
    return one(_core.mean(x))


def sum(x: Tensor | Sequence[Tensor]) -> Tensor:
    """The sum of several tensors, element by element; one alone is the sum of itself.

    `reduce_sum` adds the elements of one tensor.

    Example:
        >>> fl.layers.sum([fl.tensor([1.0, 2.0]), fl.tensor([3.0, 4.0])]).tolist()
        [4.0, 6.0]
    """
    parts: Any = [x] if isinstance(x, _core.Tensor) else list(x)
    if not parts:
        raise fault(ValueError, "there is nothing to add", "give at least one tensor")
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def sums(input: Tensor | Sequence[Tensor], out: Tensor | None = None) -> Tensor:
    """The sum of several tensors, element by element.

    Args:
        input: The tensors.
        out: A tensor that gets the result.
    """
    return assign_to(sum(input), out)


def scale(
    x: Tensor,
    scale: float | Tensor = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: Act = None,
    name: str | None = None,
) -> Tensor:
    """`scale · x + bias`, or `scale · (x + bias)`; the element type stays."""
    y = x * scale + bias if bias_after_scale else (x + bias) * scale
    return activation(y if y.dtype == x.dtype else _core.cast(y, x.dtype), act)


def mul(
    x: Tensor,
    y: Tensor,
    x_num_col_dims: int = 1,
    y_num_col_dims: int = 1,
    name: str | None = None,
) -> Tensor:
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
    x: Tensor,
    y: Tensor,
    transpose_x: bool = False,
    transpose_y: bool = False,
    alpha: float = 1.0,
    name: str | None = None,
) -> Tensor:
    """The matrix product, of transposed matrices if so said, times `alpha`. Two vectors give shape [1].

    Args:
        x: A matrix, several, or a vector.
        y: Another one.
        transpose_x: Whether the last two axes of `x` change places; a vector becomes a column.
        transpose_y: The same of `y`; a vector becomes a row.
        alpha: A factor.
        name: For Fluid's programs.
    """
    if x.ndim == 1 and transpose_x:
        x = _core.unsqueeze(x, 1)
    elif transpose_x:
        x = _core.transpose(x, -1, -2)
    if y.ndim == 1 and transpose_y:
        y = _core.unsqueeze(y, 0)
    elif transpose_y:
        y = _core.transpose(y, -1, -2)
    product = one(_core.matmul(x, y))
    return product if alpha == 1.0 else product * alpha


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
        seed: Where random numbers begin, anew in each run; otherwise they come from the scope's stream.
        name: For Fluid's programs.
        dropout_implementation: "downgrade_in_infer" makes values smaller in use,
            "upscale_in_train" larger in training.
    """
    ways = ("downgrade_in_infer", "upscale_in_train")
    if dropout_implementation not in ways:
        raise fault(
            ValueError,
            f'there is no dropout "{dropout_implementation}"',
            f'use "{ways[0]}" or "{ways[1]}"',
        )
    if is_test or dropout_prob == 0.0:
        dropped = x
    else:
        with drawing(seed):
            dropped = _core.dropout(x, dropout_prob)
    if dropout_implementation == "upscale_in_train":
        return dropped
    return dropped * (1.0 - dropout_prob)


def cast(x: Tensor, dtype: DTypeLike) -> Tensor:
    """The values in another element type."""
    return _core.cast(x, dtype)


def fill_constant(
    shape: Shape | Tensor,
    dtype: DTypeLike,
    value: float | Tensor,
    force_cpu: bool = False,
    out: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """One number everywhere.

    Args:
        shape: The sizes; numbers, tensors of one integer, or a tensor of all of them.
        dtype: The element type.
        value: The number, or a tensor of one.
        force_cpu: For Fluid's programs; there is one device, the CPU.
        out: A tensor that gets the result.
        name: For Fluid's programs.
    """
    sizes = shape if isinstance(shape, str) else sizes_of(shape)
    if isinstance(value, _core.Tensor):
        filled = _core.broadcast_to(_core.cast(_core.reshape(value, ()), dtype), sizes)
    else:
        filled = _core.full(sizes, value, dtype)
    return assign_to(filled, out)


def zeros(shape: Shape, dtype: DTypeLike = "float32", force_cpu: bool = False) -> Tensor:
    """Zeros."""
    return fill_constant(shape, dtype, 0.0)


def ones(shape: Shape, dtype: DTypeLike = "float32", force_cpu: bool = False) -> Tensor:
    """Ones."""
    return fill_constant(shape, dtype, 1.0)


def assign(input: TensorLike, output: Tensor | None = None) -> Tensor:
    """The value as a tensor of its own.

    Args:
        input: A tensor, an array, or numbers.
        output: A tensor that gets the value.
    """
    value = own(input) if isinstance(input, _core.Tensor) else _core.tensor(input)
    return assign_to(value, output)


def one_hot(input: Tensor, depth: int | Tensor, allow_out_of_range: bool = False) -> Tensor:
    """Ones at these numbers, zeros elsewhere. A last axis of size 1 is left out.

    Args:
        input: The numbers.
        depth: How many there are.
        allow_out_of_range: Whether other numbers give zeros; otherwise they are an error.
    """
    ids = positions(classes(input))
    if allow_out_of_range:
        places = _core.iota(size_of(depth), ids.dtype)
        return _core.cast(_core.unsqueeze(ids, -1) == places, "float32")
    return _core.cast(_core.one_hot(ids, size_of(depth)), "float32")


def topk(input: Tensor, k: int | Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The `k` largest elements along the last axis, and where they are."""
    if isinstance(k, _core.Tensor):
        if k.is_symbolic:
            values, places = _core.sort(input, -1, True)
            count = size_of(k)
            return _core.narrow(values, -1, 0, count), _core.narrow(places, -1, 0, count)
        k = int(k.item())
    return _core.topk(input, k, -1)


def argmax(x: Tensor, axis: int = 0) -> Tensor:
    """Where the largest element is."""
    return one(_core.argmax(x, axis))


def argmin(x: Tensor, axis: int = 0) -> Tensor:
    """Where the smallest element is."""
    return one(_core.argmin(x, axis))


def argsort(
    input: Tensor, axis: int = -1, descending: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The elements in order along an axis, and where each was.

    Example:
        >>> [x.tolist() for x in fl.layers.argsort(fl.tensor([3.0, 1.0, 2.0]))]
        [[1.0, 2.0, 3.0], [1, 2, 0]]
    """
    return _core.sort(input, axis, descending)


def clip(x: Tensor, min: float, max: float, name: str | None = None) -> Tensor:
    """The values, between `min` and `max`."""
    return _core.clip(x, min, max)


def cumsum(
    x: Tensor, axis: int | None = None, exclusive: bool | None = None, reverse: bool | None = None
) -> Tensor:
    """The sums of the elements up to each along an axis, the last one unless said.

    Args:
        x: The values.
        axis: The axis.
        exclusive: Whether the element itself does not count.
        reverse: Whether elements are added from the end.
    """
    at = -1 if axis is None else axis
    total = _core.flip(_core.cumsum(_core.flip(x, [at]), at), [at]) if reverse else _core.cumsum(x, at)
    return total - x if exclusive else total


def gather(input: Tensor, index: Tensor, overwrite: bool = True) -> Tensor:
    """Rows by number.

    Args:
        input: The rows.
        index: Their numbers, `[n]` or `[n, 1]`.
        overwrite: For Fluid's programs; gradients of a row that is taken twice are added.

    Example:
        >>> fl.layers.gather(fl.tensor([[1.0, 2.0], [3.0, 4.0]]), fl.tensor([1])).tolist()
        [[3.0, 4.0]]
    """
    flag(overwrite, "overwrite", "an axis to `fl.gather`, and here `overwrite`")
    return _core.gather(input, positions(classes(index)), 0)


def where(condition: Tensor, x: TensorLike | None = None, y: TensorLike | None = None) -> Tensor:
    """Where a condition holds: one row of indices for each place; or, with `x` and `y`, `x` there and
    `y` elsewhere.

    Example:
        >>> fl.layers.where(fl.tensor([True, False, True])).tolist()
        [[0], [2]]
    """
    if x is None and y is None:
        return _core.argwhere(condition)
    if x is None or y is None:
        raise fault(TypeError, "`where` got one value", "give both values, or only the condition")
    return _core.where(condition, x, y)


def scatter_nd(
    index: Tensor, updates: Tensor, shape: Shape, name: str | None = None
) -> Tensor:
    """Zeros with `updates` added at the places of `index`."""
    return _core.scatter_nd(positions(index), updates, shape)


def log_softmax(
    input: Tensor, axis: int | None = None, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor:
    """The logarithm of the softmax along an axis, the last one unless said."""
    x = input if dtype is None else _core.cast(input, dtype)
    return _core.log_softmax(x, -1 if axis is None else axis)


def _logical(function: Callable[[Any, Any], Tensor], name: str, what: str) -> Callable[..., Tensor]:
    def op(x: Tensor, y: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
        return assign_to(function(x, y), out)

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"""Whether {what}, element by element.

    Args:
        x: A tensor.
        y: Another one.
        out: A tensor that gets the result.
        name: For Fluid's programs.
    """
    return op


logical_and = _logical(_core.logical_and, "logical_and", "both are true")
logical_or = _logical(_core.logical_or, "logical_or", "one at least is true")
logical_xor = _logical(_core.logical_xor, "logical_xor", "exactly one is true")


def logical_not(x: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """Whether each element is false; `out` gets the result."""
    return assign_to(_core.logical_not(x), out)


def l2_normalize(x: Tensor, axis: int, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """Values divided by their norm along an axis."""
    at = 0 if x.ndim == 1 else axis
    squares = _core.sum(x * x, axis=at, keepdims=True)
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
    sizes = listed(shape, "sizes")
    if append_batch_size and not any(size in (-1, None) for size in sizes):
        sizes.insert(0, -1)
    named = [
        f"{name}_{axis}" if axis > 0 and size in (-1, None) else size
        for axis, size in enumerate(sizes)
    ]
    return data_of_program(name, named, dtype)
