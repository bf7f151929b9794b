"""Functions of `nn` that belong to no other family."""

from __future__ import annotations

import math

from ... import _core
from ..._fault import fault
from ...layers._activations import activation
from ...layers._arguments import axis_of, known, one
from ...layers._inplace import assign_to
from ...layers._math import matmul
from ...layers._names import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._attr import AttrLike
    from ..._core import DTypeLike, Tensor
    from ...layers._activations import Act

__all__ = [
    "add_position_encoding", "addcmul", "addmm", "allclose",
    "bilinear_tensor_product", "bmm", "clamp", "continuous_value_model", "cos_sim", "cross", "dist",
    "dot", "elementwise_equal", "fsp_matrix", "get_tensor_from_selected_rows", "label_smooth",
    "log1p", "logsumexp", "mean_iou", "merge_selected_rows", "similarity_focus",
]  # fmt: skip


def cos_sim(X: Tensor, Y: Tensor) -> Tensor:
    """The cosine of the angle between rows, `[rows, 1]`; `Y` may have one row for all."""
    x, y = (_core.reshape(value, (value.shape[0], -1)) for value in (X, Y))
    product = _core.sum(x * y, axis=1, keepdims=True)
    lengths = [_core.sqrt(_core.sum(value * value, axis=1, keepdims=True)) for value in (x, y)]
    return product / lengths[0] / lengths[1]


def label_smooth(
    label: Tensor,
    prior_dist: Tensor | None = None,
    epsilon: float = 0.1,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Labels less certain: `(1 - epsilon) · label + epsilon · prior`.

    Args:
        label: Probabilities, with the classes last.
        prior_dist: The prior, `[1, classes]`; even unless said.
        epsilon: The share of the prior.
        dtype: The element type of the result.
        name: For Fluid's programs.
    """
    if not 0.0 <= epsilon <= 1.0:
        raise fault(ValueError, f"`epsilon` is {epsilon}", "give a number from 0 to 1")
    prior: Any = prior_dist
    if prior is None:
        prior = 1.0 / known(label.shape[-1], "the number of classes")
    return label.detach() * (1.0 - epsilon) + prior * epsilon


def bilinear_tensor_product(
    x: Tensor,
    y: Tensor,
    size: int,
    act: Act = None,
    name: str | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
) -> Tensor:
    """For each output a bilinear form of rows of `x` and `y`: `x · W · y`.

    Args:
        x: `[rows, m]`.
        y: `[rows, n]`.
        size: The number of outputs.
        act: The name of a function of the output.
        name: The layer's name.
        param_attr: What is said of the weight, `[size, m, n]`.
        bias_attr: What is said of the bias, `[1, size]`; False leaves it out.
    """
    owner = Owner("bilinear_tensor_product", name)
    shape = (size, known(x.shape[1], "the number of inputs"), known(y.shape[1], "the number of inputs"))
    with owner.scope():
        weight = owner.weight(param_attr, shape, x.dtype)
        bias = owner.bias(bias_attr, (1, size), x.dtype)
        total = _core.einsum("bm,smn,bn->bs", [x, weight, y])
        return activation(total if bias is None else total + bias, act)


def add_position_encoding(input: Tensor, alpha: float, beta: float, name: str | None = None) -> Tensor:
    """`alpha · input + beta · waves of the position`: sines in the first half of the features, then cosines.

    Args:
        input: `[batch, steps, features]`, with an even number of features.
        alpha: The factor of the input.
        beta: The factor of the waves.
        name: For Fluid's programs.
    """
    if input.ndim != 3:
        raise fault(ValueError, f"an input of {input.ndim} axes", "give batch, steps and features")
    width = known(input.shape[2], "the number of features")
    if width % 2:
        raise fault(ValueError, f"{width} features", "give an even number")
    half = width // 2
    rates = [10000.0 ** (k / (half - 1)) if half > 1 else 10000.0 for k in range(half)]
    steps = _core.iota(input.shape[1], "float64")
    angles = _core.unsqueeze(steps, 1) / _core.tensor(rates, "float64")
    waves = _core.concat([_core.sin(angles), _core.cos(angles)], 1)
    return input * alpha + _core.cast(waves, input.dtype) * beta


def fsp_matrix(x: Tensor, y: Tensor) -> Tensor:
    """For each image the mean over places of the product of each channel of `x` with each of `y`."""
    left, right = _core.flatten(x, 2, -1), _core.flatten(y, 2, -1)
    places = _core.dim_size(left.shape[2], x.dtype)
    return _core.matmul(left, _core.transpose(right, 1, 2)) / places


def continuous_value_model(input: Tensor, cvm: Tensor, use_cvm: bool = True) -> Tensor:
    """Rows whose first two columns are counts of shows and clicks, as logarithms; or without them.

    Args:
        input: `[rows, columns]`.
        cvm: The counts, `[rows, 2]`, which are the gradient of the first two columns in Fluid; here no gradient
            passes there.
        use_cvm: Whether these columns stay.
    """
    rest = _core.slice(input, 1, 2, None)
    if not use_cvm:
        return rest
    show = _core.log(_core.slice(input, 1, 0, 1) + 1.0).detach()
    click = _core.log(_core.slice(input, 1, 1, 2) + 1.0).detach() - show
    return _core.concat([show, click, rest], 1)


def mean_iou(input: Tensor, label: Tensor, num_classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """The mean over classes of what predictions and labels share, divided by what either has.

    Args:
        input: Predicted classes.
        label: Right classes.
        num_classes: How many there are.

    Returns:
        The mean, of shape [1]; for each class how many were wrong and how many right.
    """
    found, wanted = (_core.reshape(_core.cast(x, "int64"), (-1,)) for x in (input, label))
    right = _core.cast(found == wanted, "int32")

    def counted(places: Tensor, each: Tensor) -> Tensor:
        return _core.index_add(each, places, 0, num_classes)

    correct = counted(found, right)
    wrong = counted(found, 1 - right) + counted(wanted, 1 - right)
    either = correct + wrong
    there = _core.cast(either > 0, "float32")
    shares = _core.cast(correct, "float32") / _core.cast(_core.maximum(either, 1), "float32")
    mean = _core.sum(shares) / _core.sum(there)
    return one(mean), _core.cast(wrong, "int32"), _core.cast(correct, "int32")


def similarity_focus(input: Tensor, axis: int, indexes: Sequence[int], name: str | None = None) -> Tensor:
    """A mask of the largest elements of chosen slices, each in a row and a column of its own.

    Args:
        input: `[batch, a, b, c]`.
        axis: The axis of the slices: 1, 2 or 3.
        indexes: Their numbers.
        name: For Fluid's programs.
    """
    if axis not in (1, 2, 3) or input.ndim != 4 or not indexes:
        raise fault(ValueError, f"axis {axis} of {input.ndim} axes", "give four axes, 1, 2 or 3, and numbers of slices")
    length = input.shape[axis]
    if isinstance(length, int) and any(not 0 <= index < length for index in indexes):
        raise fault(ValueError, f"slices {list(indexes)} of {length}", f"use 0 to {length - 1}")
    rows, columns = (known(size, "the size of a slice") for i, size in enumerate(input.shape[1:], 1) if i != axis)
    total: Any = None
    for index in indexes:
        left = _core.cast(_core.squeeze(_core.slice(input, axis, index, index + 1), [axis]).detach(), "float64")
        mask = _core.zeros_like(left)
        for _ in range(min(rows, columns)):
            flat = _core.flatten(left, 1, -1)
            place = _core.cast(_core.iota(rows * columns, "int64") == _core.argmax(flat, 1, True), "float64")
            chosen = _core.reshape(place, left.shape)
            mask = mask + chosen
            gone = _core.maximum(_core.max(chosen, axis=1, keepdims=True), _core.max(chosen, axis=2, keepdims=True))
            left = _core.where(gone > 0.0, -math.inf, left)
        total = mask if total is None else _core.maximum(total, mask)
    return _core.cast(_core.broadcast_to(_core.unsqueeze(total, axis), input.shape), input.dtype)


def merge_selected_rows(x: Tensor, name: str | None = None) -> Tensor:
    """The value itself: gradients of tables are dense here."""
    return x


def get_tensor_from_selected_rows(x: Tensor, name: str | None = None) -> Tensor:
    """The value itself: gradients of tables are dense here."""
    return x


def log1p(x: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """`log(1 + x)`, for each element."""
    return assign_to(_core.log1p(x), out)


def logsumexp(
    x: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """The logarithm of the sum of exponentials over axes, all unless said."""
    axes = None if dim is None or dim == [] else dim
    return assign_to(one(_core.logsumexp(x, axes, keepdim)), out)


def clamp(
    input: Tensor,
    min: float | None = None,
    max: float | None = None,
    output: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """The values, between `min` and `max`, of which one may be left out."""
    return assign_to(_core.clip(input, min, max), output)


def addmm(
    input: Tensor, x: Tensor, y: Tensor, alpha: float = 1.0, beta: float = 1.0, name: str | None = None
) -> Tensor:
    """`beta · input + alpha · x @ y`."""
    return input * beta + _core.matmul(x, y) * alpha


def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    value: float = 1.0,
    out: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """`input + value · tensor1 · tensor2`."""
    return assign_to(input + tensor1 * tensor2 * value, out)


def bmm(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The products of two batches of matrices."""
    if x.ndim != 3 or y.ndim != 3:
        raise fault(ValueError, f"{x.ndim} and {y.ndim} axes", "give three each, or use `matmul`")
    return matmul(x, y)


def dot(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The sum of products of two vectors, of shape [1]; of rows of matrices, `[rows, 1]`."""
    return _core.sum(x * y, axis=-1, keepdims=True)


def dist(x: Tensor, y: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference, of shape [1]."""
    return one(_core.norm(_core.reshape(x - y, (-1,)), float(p)))


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along an axis of size 3, the first one there is unless said."""
    if dim is None:
        threes = [i for i, size in enumerate(input.shape) if isinstance(size, int) and size == 3]
        if not threes:
            raise fault(ValueError, f"no axis of {input.shape} has size 3", "give vectors of three numbers")
        dim = threes[0]
    axis = axis_of(dim, input.ndim)
    if known(input.shape[axis], "the size of a vector") != 3:
        raise fault(ValueError, f"axis {dim} has size {input.shape[axis]}", "give vectors of three numbers")
    a, b = (_core.roll(x, [-1], [axis]) for x in (input, other))
    return _core.roll(input * b - a * other, [-1], [axis])


def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
    name: str | None = None,
) -> Tensor:
    """Whether all differences are at most `atol + rtol · |other|`, of shape [1]."""
    near = _core.abs(input - other) <= _core.abs(other) * rtol + atol
    near = _core.logical_or(near, input == other)
    if equal_nan:
        near = _core.logical_or(near, _core.logical_and(_core.isnan(input), _core.isnan(other)))
    return one(_core.all(near))


def elementwise_equal(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Whether elements are equal."""
    return _core.eq(x, y)
