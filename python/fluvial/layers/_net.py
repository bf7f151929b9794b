"""Layers with parameters as functions, with Fluid's arguments and initial values."""

from __future__ import annotations

import copy
import math

from .. import _core
from .._fault import fault
from .._sequence import listed
from ..initializer import Constant, Normal, Scaled
from ._activations import activation
from ._arguments import (
    axes_of,
    axis_of,
    channels_back,
    channels_first,
    classes,
    known,
    many,
    positions,
    product,
    size_of,
)
from ._names import Owner
from ._windows import placed, pooled, sides_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._attr import AttrLike
    from .._core import DTypeLike, Tensor
    from ._activations import Act
    from ._windows import Padding

    PerAxis = int | Sequence[int]


def by_columns(attr: AttrLike) -> AttrLike:
    """What is said of a weight `[in, out]`: numbers whose scale follows from the connections are made for
    `[out, in]`, as all layers have it."""
    from .._attr import ParamAttr

    if attr is False or attr is None or attr is True or isinstance(attr, str):
        return attr
    said = ParamAttr.of(attr)
    scaled = said.initializer
    if not isinstance(scaled, Scaled):
        return attr

    def turned(shape: Any, dtype: Any) -> Tensor:
        return _core.transpose(scaled((shape[1], shape[0]), dtype), 0, 1)

    changed = copy.copy(said)
    vars(changed).pop("_owned", None)
    changed.initializer = turned
    return changed


def fc(
    input: Tensor | Sequence[Tensor],
    size: int | Tensor,
    num_flatten_dims: int = 1,
    param_attr: AttrLike | Sequence[AttrLike] = None,
    bias_attr: AttrLike = None,
    act: Act = None,
    name: str | None = None,
    is_test: bool = False,
) -> Tensor:
    """A fully connected layer. Its parameters are `fc_0.w_0`, `[in, out]`, and `fc_0.b_0`.

    Args:
        input: A tensor; or several, whose results are added.
        size: The number of outputs; or the weight itself, `[in, out]`. Then there is a bias only if something is said
            of it.
        num_flatten_dims: The number of axes that stay as they are; -1 for all but the last.
        param_attr: What is said of the weight; a list has one for each input.
        bias_attr: What is said of the bias; False leaves it out.
        act: The name of a function of the output.
        name: The layer's name; otherwise made from its place in the step.
        is_test: For Fluid's programs.

    Example:
        >>> fl.layers.fc(fl.full((4, 3), 0.5), size=10, act="relu").shape
        (4, 10)
    """
    owner = Owner("fc", name)
    inputs: list[Any] = list(input) if isinstance(input, (list, tuple)) else [input]
    attrs: list[Any] = list(param_attr) if isinstance(param_attr, (list, tuple)) else [param_attr]
    attrs = attrs * len(inputs) if len(attrs) == 1 else attrs
    if len(attrs) != len(inputs):
        raise fault(
            ValueError,
            f"{len(attrs)} attributes for {len(inputs)} inputs",
            "give one attribute, or one for each input",
        )
    given: Any = None
    if isinstance(size, (_core.Tensor, _core.Parameter)):
        given = _weight_given(size, len(inputs), param_attr)
        size, bias_attr = known(given.shape[1], "the number of outputs"), False if bias_attr is None else bias_attr
    total: Any = None
    with owner.scope():
        for x, attr in zip(inputs, attrs):
            stay = num_flatten_dims if num_flatten_dims >= 0 else x.ndim - 1
            if not 0 < stay < x.ndim:
                raise fault(
                    ValueError,
                    f"{stay} of {x.ndim} axes cannot stay as they are",
                    f"use `num_flatten_dims` from 1 to {x.ndim - 1}",
                )
            width = product(x.shape[stay:], "the number of inputs")
            rows = _core.flatten(x, stay, -1) if x.ndim > stay + 1 else x
            weight = given if given is not None else owner.weight(by_columns(attr), (width, size), x.dtype)
            y = _core.matmul(rows, weight)
            total = y if total is None else total + y
        bias = owner.bias(bias_attr, (size,), inputs[0].dtype)
        return activation(total if bias is None else total + bias, act)


def _weight_given(weight: Any, n_inputs: int, attr: Any) -> Any:
    """The weight that `fc` was given in place of a size."""
    if weight.ndim != 2:
        raise fault(ValueError, f"a weight of `fc` has two axes, not {weight.ndim}", "give `[in, out]`, or a size")
    if n_inputs != 1 or attr is not None:
        raise fault(ValueError, "a weight that is given is that of one input, and nothing else is said of it")
    return weight


def _convolved(
    n: int,
    x: Tensor,
    num_filters: int,
    filter_size: PerAxis,
    stride: PerAxis,
    padding: Padding,
    dilation: PerAxis,
    groups: int | None,
    param_attr: AttrLike,
    bias_attr: AttrLike,
    act: Act,
    name: str | None,
    layout: str,
) -> Tensor:
    owner = Owner(f"conv{n}d", name)
    x, last = channels_first(x, layout)
    if x.ndim != n + 2:
        raise fault(ValueError, f"conv{n}d got {x.ndim} axes", f"give {n + 2}: batch, channels, {n} sizes")
    channels = known(x.shape[1], "the number of channels")
    parts = groups or 1
    if channels % parts or num_filters % parts:
        raise fault(
            ValueError,
            f"{channels} channels and {num_filters} filters are not {parts} equal groups",
            "use a number of groups that divides both",
        )
    window = many(filter_size, n, "filter_size")
    step, spread = many(stride, n, "stride"), many(dilation, n, "dilation")
    x, around = placed(x, padding, window, step, spread, layout, 0.0)
    init = Normal(0.0, math.sqrt(2.0 / (math.prod(window) * channels)))
    function: Any = _core.conv2d if n == 2 else _core.conv3d
    with owner.scope():
        weight = owner.weight(param_attr, (num_filters, channels // parts, *window), x.dtype, init)
        bias = owner.bias(bias_attr, (num_filters,), x.dtype)
        y = function(
            x, weight, bias, stride=step, padding=around, dilation=spread, groups=parts
        )
        return activation(channels_back(y, last), act)


def conv2d(
    input: Tensor,
    num_filters: int,
    filter_size: PerAxis,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    use_cudnn: bool = True,
    act: Act = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Tensor:
    """A convolution over images.

    Args:
        input: The images.
        num_filters: The number of channels of the output.
        filter_size: The size of the window.
        stride: The step of the window.
        padding: The zeros on each side: one number, one for each axis, one for each side, "SAME" or
            "VALID".
        dilation: The distance of the window's points.
        groups: The number of parts that channels are split into.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias; False leaves it out.
        use_cudnn: For Fluid's programs; there is one device, the CPU.
        act: The name of a function of the output.
        name: The layer's name.
        data_format: "NCHW" or "NHWC".

    Example:
        >>> fl.layers.conv2d(fl.full((2, 1, 5, 5), 0.5), 4, 3, padding=1).shape
        (2, 4, 5, 5)
    """
    return _convolved(
        axes_of(data_format), input, num_filters, filter_size, stride, padding, dilation, groups, param_attr,
        bias_attr, act, name, data_format,
    )  # fmt: skip


def _transposed(
    n: int,
    x: Tensor,
    num_filters: int,
    output_size: PerAxis | None,
    filter_size: PerAxis | None,
    padding: Padding,
    stride: PerAxis,
    dilation: PerAxis,
    groups: int | None,
    param_attr: AttrLike,
    bias_attr: AttrLike,
    act: Act,
    name: str | None,
    layout: str,
) -> Tensor:
    owner = Owner(f"conv{n}d_transpose", name)
    x, last = channels_first(x, layout)
    channels = known(x.shape[1], "the number of channels")
    step, spread = many(stride, n, "stride"), many(dilation, n, "dilation")
    sides = sides_of(padding, n, layout)
    if sides is None:
        raise fault(ValueError, f"`padding` is {padding!r}", "give numbers for a transposed convolution")
    before, after = sides
    wanted: Any = None
    if output_size is not None:
        if isinstance(output_size, (list, tuple)):
            wanted = [size_of(size) for size in output_size]
        else:
            wanted = [size_of(output_size)] * n
    if filter_size is None:
        if wanted is None:
            raise fault(ValueError, "neither the filter's size nor the output's is given", "give one of them")
        window = [
            (known(wanted[i], "the output's size") - (known(x.shape[i + 2], "the size of the image") - 1) * step[i]
             + before[i] + after[i] - 1) // spread[i] + 1
            for i in range(n)
        ]  # fmt: skip
    else:
        window = many(filter_size, n, "filter_size")
    if min(window) < 1:
        raise fault(
            ValueError,
            f"an output of size {output_size} is too small for {list(x.shape[2:])} elements with stride {stride}",
            "give a larger `output_size`, or `filter_size`",
        )
    more = [0] * n
    if wanted is not None:
        for i in range(n):
            least: Any = (x.shape[i + 2] - 1) * step[i] - before[i] - after[i] + spread[i] * (window[i] - 1) + 1
            rest = wanted[i] - least
            if not isinstance(rest, int) or not 0 <= rest < step[i]:
                raise fault(
                    ValueError,
                    f"an output of size {wanted[i]} does not follow from a window of {window[i]}",
                    f"use a size from {least} to {least + step[i] - 1}",
                )
            more[i] = rest
    function: Any = _core.conv_transpose2d if n == 2 else _core.conv_transpose3d
    parts = groups or 1
    with owner.scope():
        weight = owner.weight(param_attr, (channels, num_filters // parts, *window), x.dtype)
        bias = owner.bias(bias_attr, (num_filters,), x.dtype)
        even = [min(a, b) for a, b in zip(before, after)]
        y = function(
            x, weight, bias, stride=step, padding=even, output_padding=more, dilation=spread, groups=parts
        )
        for i in range(n):
            cut: Any = y.shape[i + 2] - (before[i] - even[i]) - (after[i] - even[i])
            if before[i] != after[i]:
                y = _core.narrow(y, i + 2, before[i] - even[i], cut)
        return activation(channels_back(y, last), act)


def conv2d_transpose(
    input: Tensor,
    num_filters: int,
    output_size: PerAxis | None = None,
    filter_size: PerAxis | None = None,
    padding: Padding = 0,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    groups: int | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    use_cudnn: bool = True,
    act: Act = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Tensor:
    """A transposed convolution over images. Its weight is `[in, out / groups, h, w]`.

    Args:
        input: The images.
        num_filters: The number of channels of the output.
        output_size: The sizes of the output, where several are possible or the window follows from them.
        filter_size: The size of the window; otherwise it follows from `output_size`.
        padding: What is cut off on each side.
        stride: The distance of the input's elements in the output.
        dilation: The distance of the window's points.
        groups: The number of parts that channels are split into.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias; False leaves it out.
        use_cudnn: For Fluid's programs; there is one device, the CPU.
        act: The name of a function of the output.
        name: The layer's name.
        data_format: "NCHW" or "NHWC".

    Example:
        >>> fl.layers.conv2d_transpose(fl.full((2, 1, 5, 5), 0.5), 4, filter_size=2, stride=2).shape
        (2, 4, 10, 10)
    """
    return _transposed(
        axes_of(data_format), input, num_filters, output_size, filter_size, padding, stride, dilation, groups,
        param_attr, bias_attr, act, name, data_format,
    )  # fmt: skip


def pool2d(
    input: Tensor,
    pool_size: PerAxis = -1,
    pool_type: str = "max",
    pool_stride: PerAxis = 1,
    pool_padding: Padding = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCHW",
) -> Tensor:
    """The largest element or the mean of each window of images.

    Args:
        input: The images.
        pool_size: The size of the window.
        pool_type: "max" or "avg".
        pool_stride: Its step.
        pool_padding: What is added on each side: one number, one for each axis, one for each side,
            "SAME" or "VALID".
        global_pooling: Whether the window is the whole image.
        use_cudnn: For Fluid's programs; there is one device, the CPU.
        ceil_mode: Whether a window may reach over the end.
        name: For Fluid's programs.
        exclusive: Whether what was added on the sides does not count in means.
        data_format: "NCHW" or "NHWC".

    Example:
        >>> fl.layers.pool2d(fl.full((1, 2, 4, 4), 0.5), global_pooling=True).shape
        (1, 2, 1, 1)
    """
    return pooled(
        axes_of(data_format), input, pool_size, pool_type, pool_stride, pool_padding, global_pooling, ceil_mode,
        exclusive, data_format,
    )  # fmt: skip


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
    """Rows of the table `embedding_0.w_0` by number. A last axis of size 1 is left out.

    Args:
        input: The numbers.
        size: The number of rows and their size.
        is_sparse: Whether optimizers of `fluvial.fluid` may update the rows that were used alone; elsewhere gradients are
            dense.
        is_distributed: For Fluid's programs; there is one machine.
        padding_idx: The number, counted from the end if negative, whose row reads as zeros and is not
            trained.
        param_attr: What is said of the table.
        dtype: Its element type.
        name: The layer's name.

    Example:
        >>> fl.layers.embedding(fl.tensor([[1], [2]]), size=[10, 4]).shape
        (2, 4)
    """
    ids = positions(classes(input))
    return table_rows(Owner("embedding", name), ids, size, is_sparse, padding_idx, param_attr, dtype)


def table_rows(
    owner: Owner, ids: Tensor, size: Sequence[int], is_sparse: bool, padding_idx: int | None, attr: AttrLike, dtype: DTypeLike
) -> Tensor:
    """Rows of a table by number, along a new last axis; the row of the padding reads as zeros."""
    with owner.scope():
        table = owner.weight(attr, tuple(listed(size, "sizes")), dtype)
        rows = owner.rows(table, ids, is_sparse)
        if padding_idx is None:
            return rows
        padding = padding_idx if padding_idx >= 0 else size[0] + padding_idx
        return _core.where(_core.unsqueeze(ids == padding, -1), _core.zeros_like(rows), rows)


def batch_norm(
    input: Tensor,
    act: Act = None,
    is_test: bool = False,
    momentum: float | Tensor = 0.9,
    epsilon: float = 1e-5,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
    fuse_with_relu: bool = False,
) -> Tensor:
    """Batch normalisation by channels. The running variance is that of the batch, divided by the number of
    its elements.

    Args:
        input: The values.
        act: The name of a function of the output.
        is_test: Whether running statistics are used.
        momentum: The share of running statistics that a batch leaves.
        epsilon: What is added to the variance.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        data_layout: "NCHW" or "NHWC".
        in_place: For Fluid's programs; values are never changed in place.
        name: The layer's name.
        moving_mean_name: The name of the running mean.
        moving_variance_name: The name of the running variance.
        do_model_average_for_mean_and_var: For Fluid's programs; averages are those of parameters.
        use_global_stats: Whether running statistics are used in training, too.
        fuse_with_relu: For Fluid's programs; the compiler decides what is fused.

    Example:
        >>> fl.layers.batch_norm(fl.normal("f32[4, 2]")).shape
        (4, 2)
    """
    owner = Owner("batch_norm", name)
    x, last = channels_first(input, data_layout, "data_layout")
    sizes = (known(x.shape[1], "the number of channels"),)
    dtype: Any = "float32" if x.dtype.name == "float16" else x.dtype
    with owner.scope():
        weight = owner.weight(param_attr, sizes, dtype, Constant(1.0)) if param_attr is not False else None
        bias = owner.bias(bias_attr, sizes, dtype)
        mean = owner.buffer(moving_mean_name, sizes, dtype, Constant(0.0))
        variance = owner.buffer(moving_variance_name, sizes, dtype, Constant(1.0))
        before = mean.get(), variance.get()
        if is_test or use_global_stats:
            y = _core.batch_norm(x, *before, weight, bias, epsilon)
        else:
            trained, new_mean, new_variance = _core.batch_norm_train(x, weight, bias, epsilon)
            with _core.no_grad():
                for state, old, new in zip((mean, variance), before, (new_mean, new_variance)):
                    state.set(old * momentum + _core.cast(new.detach(), dtype) * (1.0 - momentum))
            y = trained
            if _core.is_building():
                y = _core.by_phase(trained, _core.batch_norm(x, *before, weight, bias, epsilon))
        return activation(channels_back(y, last), act)


def layer_norm(
    input: Tensor,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-5,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: Act = None,
    name: str | None = None,
) -> Tensor:
    """Values with mean 0 and variance 1 over the axes from `begin_norm_axis` on.

    Args:
        input: The values.
        scale: Whether there is a weight, of one axis.
        shift: Whether there is a bias.
        begin_norm_axis: The first of the axes.
        epsilon: What is added to the variance.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        act: The name of a function of the output.
        name: The layer's name.

    Example:
        >>> fl.layers.layer_norm(fl.normal("f32[4, 2, 3]")).shape
        (4, 2, 3)
    """
    owner = Owner("layer_norm", name)
    first = axis_of(begin_norm_axis, input.ndim)
    width = product(input.shape[first:], "the number of elements that are normalised")
    rows = _core.flatten(input, first, -1) if input.ndim > first + 1 else input
    has_weight = scale and param_attr is not False
    with owner.scope():
        weight = owner.weight(param_attr, (width,), input.dtype, Constant(1.0)) if has_weight else None
        bias = owner.bias(bias_attr if shift else False, (width,), input.dtype)
        y = _core.layer_norm(rows, 1, weight, bias, epsilon)
        return activation(y if rows is input else _core.reshape(y, input.shape), act)


def group_norm(
    input: Tensor,
    groups: int,
    epsilon: float = 1e-5,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: Act = None,
    data_layout: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Values of each group of channels with mean 0 and variance 1.

    Args:
        input: The values.
        groups: The number of groups.
        epsilon: What is added to the variance.
        param_attr: What is said of the weight; False leaves it out.
        bias_attr: What is said of the bias; False leaves it out.
        act: The name of a function of the output.
        data_layout: "NCHW" or "NHWC".
        name: The layer's name.
    """
    owner = Owner("group_norm", name)
    x, last = channels_first(input, data_layout, "data_layout")
    sizes = (known(x.shape[1], "the number of channels"),)
    with owner.scope():
        weight = None if param_attr is False else owner.weight(param_attr, sizes, x.dtype, Constant(1.0))
        bias = owner.bias(bias_attr, sizes, x.dtype)
        y = _core.group_norm(x, groups, weight, bias, epsilon)
        return activation(channels_back(y, last), act)


def prelu(
    x: Tensor, mode: str = "all", param_attr: AttrLike = None, name: str | None = None
) -> Tensor:
    """The value, times a trained weight where it is negative.

    Args:
        x: The values.
        mode: "all" for one weight, "channel" for one for each channel, "element" for one for each element
            of a row.
        param_attr: What is said of the weight, which begins as 0.25.
        name: The layer's name.
    """
    owner = Owner("prelu", name)
    if mode == "all":
        sizes: tuple[int, ...] = (1,)
    elif mode == "channel":
        sizes = (1, known(x.shape[1], "the number of channels"), *(1,) * (x.ndim - 2))
    elif mode == "element":
        sizes = (1, *(known(size, "the size of an axis") for size in x.shape[1:]))
    else:
        raise fault(ValueError, f'there is no mode "{mode}"', 'use "all", "channel" or "element"')
    with owner.scope():
        weight = owner.weight(param_attr, sizes, x.dtype, Constant(0.25))
        return _core.maximum(x, 0.0) + weight * _core.minimum(x, 0.0) if mode == "element" else _core.where(
            x > 0, x, x * weight
        )
