"""Layers with parameters as functions, with Fluid's arguments and first values."""

from __future__ import annotations

from .. import _core
from .._tree import is_size
from ..initializer import Constant, XavierUniform
from ..imperative import nn as fluid_nn
from ..imperative.nn import activation, with_default
from ..nn import ConvTranspose2d, GroupNorm, LayerNorm, Parameter, PReLU
from ._names import keep, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._attr import AttrLike, Init
    from .._core import DTypeLike, Tensor
    from ..nn import Layer

    PerAxis = int | Sequence[int]


def _called(key: str, layer: Layer, x: Tensor, act: str | None) -> Tensor:
    with _core.in_layer(key):
        return activation(keep(key, layer)(x), act)


def fc(
    input: Tensor | Sequence[Tensor],
    size: int,
    num_flatten_dims: int = 1,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """A fully connected layer. Its parameters are `fc_0.weight`, `[out, in]`, and `fc_0.bias`.

    Args:
        input: A tensor; or several, whose results are added.
        size: The number of outputs.
        num_flatten_dims: The number of axes that stay as they are.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias; False leaves it out.
        act: The name of a function of the output.
        name: The layer's name; otherwise made from its place in the step.

    Example:
        >>> fl.layers.fc(fl.full((4, 3), 0.5), size=10, act="relu").shape
        (4, 10)
    """
    key = name_of("fc", name)
    inputs: list[Any] = list(input) if isinstance(input, (list, tuple)) else [input]
    total: Any = None
    with _core.in_layer(key):
        for i, x in enumerate(inputs):
            part = key if i == 0 else f"{key}.{i}"
            bias = bias_attr if i == 0 else False
            layer = fluid_nn.FC(size, param_attr, num_flatten_dims, bias, dtype=x.dtype, name=part)
            y = keep(part, layer)(x)
            total = y if total is None else total + y
        total = activation(total, act)
    return total


def conv2d(
    input: Tensor,
    num_filters: int,
    filter_size: PerAxis,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over images. Args are those of `fl.imperative.Conv2D`.

    Example:
        >>> fl.layers.conv2d(fl.full((2, 1, 5, 5), 0.5), 4, 3, padding=1).shape
        (2, 4, 5, 5)
    """
    key = name_of("conv2d", name)
    layer = fluid_nn.Conv2D(
        None, num_filters, filter_size, stride, padding, dilation, groups, param_attr, bias_attr,
        act, input.dtype, key,
    )  # fmt: skip
    return keep(key, layer)(input)


def conv2d_transpose(
    input: Tensor,
    num_filters: int,
    filter_size: PerAxis,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """A transposed convolution over images.

    Example:
        >>> fl.layers.conv2d_transpose(fl.full((2, 1, 5, 5), 0.5), 4, 2, stride=2).shape
        (2, 4, 10, 10)
    """
    key = name_of("conv2d_transpose", name)
    layer = ConvTranspose2d(
        None, num_filters, filter_size, stride, padding, groups=groups or 1, dilation=dilation,
        weight_attr=with_default(param_attr, XavierUniform()),
        bias_attr=with_default(bias_attr, Constant(0.0)), dtype=input.dtype, name=key,
    )  # fmt: skip
    return _called(key, layer, input, act)


def embedding(
    input: Tensor,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: AttrLike = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Rows of the table `embedding_0.weight` by number. A last axis of size 1 is left out.

    Args:
        input: The numbers.
        size: The number of rows and their size.
        is_sparse: For Fluid's programs; gradients are dense.
        is_distributed: For Fluid's programs; there is one machine.
        padding_idx: The number of a row that begins as zeros and is not trained.
        param_attr: What is said of the table.
        dtype: Its element type.
        name: The layer's name.

    Example:
        >>> fl.layers.embedding(fl.tensor([[1], [2]]), size=[10, 4]).shape
        (2, 4)
    """
    key = name_of("embedding", name)
    layer = keep(key, fluid_nn.Embedding(size, padding_idx, param_attr, dtype, key))
    ids = _core.squeeze(input, [-1]) if input.ndim > 1 and is_size(input.shape[-1], 1) else input
    return layer(ids)


def batch_norm(
    input: Tensor,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    name: str | None = None,
) -> Tensor:
    """Batch normalisation over axis 1.

    Args:
        input: The values.
        act: The name of a function of the output.
        is_test: Whether running statistics are used.
        momentum: The share of running statistics that a batch leaves.
        epsilon: What is added to the variance.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        name: The layer's name.

    Example:
        >>> fl.layers.batch_norm(fl.normal("f32[4, 2]")).shape
        (4, 2)
    """
    key = name_of("batch_norm", name)
    channels: Any = input.shape[1]
    layer = fluid_nn.BatchNorm(
        channels, act, momentum, epsilon, param_attr, bias_attr, input.dtype, key
    )
    return keep(key, layer).train(not is_test)(input)


def layer_norm(
    input: Tensor,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-5,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Values with mean 0 and variance 1 over the axes from `begin_norm_axis` on.

    Example:
        >>> fl.layers.layer_norm(fl.normal("f32[4, 2, 3]")).shape
        (4, 2, 3)
    """
    key = name_of("layer_norm", name)
    shape: Any = input.shape[begin_norm_axis:]
    bias = bias_attr if shift else False
    layer = LayerNorm(
        shape, epsilon, scale, shift, param_attr, bias, dtype=input.dtype, name=key
    )
    return _called(key, layer, input, act)


def group_norm(
    input: Tensor,
    groups: int,
    epsilon: float = 1e-5,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Values of each group of channels with mean 0 and variance 1."""
    key = name_of("group_norm", name)
    channels: Any = input.shape[1]
    layer = GroupNorm(
        groups, channels, epsilon, True, param_attr, bias_attr, dtype=input.dtype, name=key
    )
    return _called(key, layer, input, act)


def prelu(
    x: Tensor, mode: str = "all", param_attr: AttrLike = None, name: str | None = None
) -> Tensor:
    """The value, times a trained weight where it is negative.

    Args:
        x: The values.
        mode: "all" for one weight, "channel" for one for each channel.
        param_attr: What is said of the weight.
        name: The layer's name.
    """
    key = name_of("prelu", name)
    count: Any = x.shape[1] if mode == "channel" else 1
    return keep(key, PReLU(count, weight_attr=param_attr, dtype=x.dtype, name=key))(x)


def create_parameter(
    shape: Sequence[int],
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: AttrLike = None,
    is_bias: bool = False,
    default_initializer: Init | None = None,
) -> Tensor:
    """A trained parameter, in both modes.

    Args:
        shape: Its sizes.
        dtype: Its element type.
        name: Its name; otherwise made from its place in the step.
        attr: What is said of it.
        is_bias: Whether it begins with zeros, not with Xavier's numbers.
        default_initializer: How its first value is made, unless `attr` says it.

    Example:
        >>> fl.layers.create_parameter([2, 3], name="w").shape
        (2, 3)
    """
    init = default_initializer or (Constant(0.0) if is_bias else XavierUniform())
    parameter = Parameter(shape, dtype, init, attr)
    parameter.share(parameter.attr.name or name_of("parameter", name))
    return keep(parameter.name, parameter).get()


def create_global_var(
    shape: Sequence[int],
    value: float,
    dtype: DTypeLike = "float32",
    persistable: bool = True,
    name: str | None = None,
) -> Tensor:
    """A state that is not trained, in both modes; `fl.assign_state` changes it.

    Args:
        shape: Its sizes.
        value: The first value of all elements.
        dtype: Its element type.
        persistable: For Fluid's programs; it is kept.
        name: Its name; otherwise made from its place in the step.
    """
    return _core.declare_state(name_of("global_var", name), tuple(shape), dtype, value)
