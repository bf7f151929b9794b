"""Convolutions, pools and norms beyond those that `fl.layers` has."""

from __future__ import annotations

import inspect
import math

from ... import _core
from ..._fault import fault
from ...initializer import Constant, Normal
from ...layers._activations import activation
from ...layers._arguments import channels_back, channels_first, known, many, product
from ...layers._names import Owner
from ...layers._net import batch_norm, conv2d, conv2d_transpose, pool2d

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._attr import AttrLike
    from ..._core import Tensor
    from ...layers._activations import Act

__all__ = [
    "adaptive_pool2d", "adaptive_pool3d", "conv3d", "conv3d_transpose", "data_norm",
    "deformable_conv", "inplace_abn", "instance_norm", "lrn", "pool3d", "row_conv", "spectral_norm",
]  # fmt: skip


def _in_volumes(function: Any, about: str) -> Any:
    """A function of images as one of volumes: the same arguments, with another order of axes unless said.

    Args:
        function: Its last argument is `data_format`.
        about: What it does.
    """
    signature = inspect.signature(function)
    *others, layout = signature.parameters.values()
    own = signature.replace(parameters=[*others, layout.replace(default="NCDHW")])

    def call(*args: Any, **named: Any) -> Any:
        given = own.bind(*args, **named)
        given.apply_defaults()
        return function(*given.args)

    call.__name__ = call.__qualname__ = function.__name__.replace("2d", "3d")
    call.__doc__ = f"{about}; the arguments are those of `{function.__name__}`."
    call.__signature__ = own  # type: ignore[attr-defined]
    return call


conv3d = _in_volumes(conv2d, "A convolution over volumes")
conv3d_transpose = _in_volumes(conv2d_transpose, "A transposed convolution over volumes")
pool3d = _in_volumes(pool2d, "The largest element or the mean of each window of volumes")


def _adaptive(n: int, x: Tensor, pool_size: Any, pool_type: str, require_index: bool) -> Any:
    if pool_type not in ("max", "avg"):
        raise fault(ValueError, f"no pool is named {pool_type!r}", 'use "max" or "avg"')
    sizes = many(pool_size, n, "pool_size")
    if pool_type == "avg":
        if require_index:
            raise fault(ValueError, "a mean has no index", 'use `pool_type="max"`')
        average: Any = _core.adaptive_avg_pool2d if n == 2 else _core.adaptive_avg_pool3d
        return average(x, sizes)
    if not require_index:
        largest: Any = _core.adaptive_max_pool2d if n == 2 else _core.adaptive_max_pool3d
        return largest(x, sizes)
    lengths = [known(size, "the size of an image") for size in x.shape[2:]]
    inside = _core.full((1,) * (2 * n), True, "bool")
    for axis, (size, length) in enumerate(zip(sizes, lengths)):
        windows = [
            [i * length // size <= place < -(-(i + 1) * length // size) for place in range(length)]
            for i in range(size)
        ]
        ahead = [1] * (2 * n)
        ahead[axis], ahead[n + axis] = size, length
        inside = _core.logical_and(inside, _core.reshape(_core.tensor(windows), ahead))
    cells = _core.reshape(inside, (1, 1, math.prod(sizes), math.prod(lengths)))
    flat = _core.reshape(x, (*x.shape[:2], 1, math.prod(lengths)))
    places = _core.argmax(_core.where(cells, flat, -math.inf), -1)
    values = _core.take_along_axis(_core.flatten(x, 2, -1), places, 2)
    shape: Any = (*x.shape[:2], *sizes)
    return _core.reshape(values, shape), _core.reshape(places, shape)


def adaptive_pool2d(
    input: Tensor,
    pool_size: Any,
    pool_type: str = "max",
    require_index: bool = False,
    name: str | None = None,
) -> Any:
    """The largest element or the mean of windows, so many that the result has the size asked for.

    Args:
        input: The images.
        pool_size: The size of the result.
        pool_type: "max" or "avg".
        require_index: Whether the places of the largest elements are returned, too.
        name: For Fluid's programs.
    """
    return _adaptive(2, input, pool_size, pool_type, require_index)


def adaptive_pool3d(
    input: Tensor,
    pool_size: Any,
    pool_type: str = "max",
    require_index: bool = False,
    name: str | None = None,
) -> Any:
    """The largest element or the mean of windows of volumes; see `adaptive_pool2d`."""
    return _adaptive(3, input, pool_size, pool_type, require_index)


def lrn(
    input: Tensor,
    n: int = 5,
    k: float = 1.0,
    alpha: float = 1e-4,
    beta: float = 0.75,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Tensor:
    """Values divided by `(k + alpha · the sum of squares of n channels around) ^ beta`."""
    x, last = channels_first(input, data_format)
    channels = known(x.shape[1], "the number of channels")
    before = (n - 1) // 2
    around = [0] * (x.ndim - 2)
    squares = _core.pad(x * x, [0, before, *around], [0, n - 1 - before, *around])
    total = _core.slice(squares, 1, 0, channels)
    for i in range(1, n):
        total = total + _core.slice(squares, 1, i, i + channels)
    return channels_back(x / _core.pow(total * alpha + k, beta), last)


def instance_norm(
    input: Tensor,
    epsilon: float = 1e-5,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    name: str | None = None,
) -> Tensor:
    """Values of each channel of each image with mean 0 and variance 1, times a weight plus a bias."""
    owner = Owner("instance_norm", name)
    sizes = (known(input.shape[1], "the number of channels"),)
    with owner.scope():
        weight = None if param_attr is False else owner.weight(param_attr, sizes, input.dtype, Constant(1.0))
        bias = owner.bias(bias_attr, sizes, input.dtype)
        return _core.instance_norm(input, weight, bias, epsilon)


def inplace_abn(
    input: Tensor,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    data_layout: str = "NCHW",
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
    act_alpha: float = 1.0,
) -> Tensor:
    """`batch_norm` with a function behind it: "identity", "leaky_relu" or "elu" with `act_alpha`."""
    acts: dict[str | None, Any] = {
        None: None, "identity": None, "leaky_relu": {"type": "leaky_relu", "alpha": act_alpha},
        "elu": {"type": "elu", "alpha": act_alpha},
    }  # fmt: skip
    if act not in acts:
        raise fault(ValueError, f"`act` is {act!r}", 'use None, "identity", "leaky_relu" or "elu"')
    return batch_norm(
        input, acts[act], is_test, momentum, epsilon, param_attr, bias_attr, data_layout, False, name,
        moving_mean_name, moving_variance_name, do_model_average_for_mean_and_var, use_global_stats=use_global_stats,
    )  # fmt: skip


def data_norm(
    input: Tensor,
    act: Act = None,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    slot_dim: int = -1,
    sync_stats: bool = False,
    summary_decay_rate: float = 0.9999999,
    enable_scale_and_shift: bool = False,
) -> Tensor:
    """Columns by means and scales of all rows so far, which three states count: `batch_size`, `batch_sum` and
    `batch_square_sum`. In training each batch is added to them.

    Args:
        input: The values, `[rows, columns]`.
        act: The name of a function of the output.
        epsilon: What each batch adds to the sum of squares, for each row.
        param_attr: A dict with the initial values "batch_size", "batch_sum", "batch_square", and "scale_w" and
            "bias".
        data_layout: For Fluid's programs; there are two axes.
        in_place: For Fluid's programs; values are never changed in place.
        name: What the names of the states begin with, "dn" unless said.
        moving_mean_name: For Fluid's programs.
        moving_variance_name: For Fluid's programs.
        do_model_average_for_mean_and_var: For Fluid's programs.
        slot_dim: Columns come in groups of this size, whose first one says how often it was shown; a group that
            was not shown reads as zeros.
        sync_stats: For Fluid's programs; there is one machine.
        summary_decay_rate: The share of the states that a batch leaves.
        enable_scale_and_shift: Whether there are a trained factor and a trained number for each column.
    """
    if input.ndim != 2:
        raise fault(ValueError, f"values of {input.ndim} axes", "give rows and columns")
    said = param_attr if isinstance(param_attr, dict) else {}
    prefix = name or "dn"
    owner = Owner("data_norm", name)
    sizes, dtype = (known(input.shape[1], "the number of columns"),), input.dtype

    def state(what: str, first: float) -> Any:
        return owner.buffer(f"{prefix}.{what}", sizes, dtype, Constant(first))

    with owner.scope():
        count = state("batch_size", said.get("batch_size", 1e4))
        total = state("batch_sum", said.get("batch_sum", 0.0))
        squares = state("batch_square_sum", said.get("batch_square", 1e4))
        seen = count.get(), total.get(), squares.get()
        mean, scale = seen[1] / seen[0], _core.sqrt(seen[0] / seen[2])
        y = (input - mean) * scale
        if enable_scale_and_shift:
            from ..._attr import ParamAttr

            factor = owner.weight(
                ParamAttr(f"{prefix}.scale_w", Constant(said.get("scale_w", 1.0))), sizes, dtype
            )
            shift = owner.bias(ParamAttr(f"{prefix}.bias", Constant(said.get("bias", 0.0))), sizes, dtype)
            y = y * factor + shift
        elif slot_dim > 0:
            groups = _core.reshape(input, (-1, sizes[0] // slot_dim, slot_dim))
            shown = _core.abs(_core.slice(groups, 2, 0, 1)) >= 1e-7
            y = _core.reshape(_core.where(shown, _core.reshape(y, groups.shape), 0.0), input.shape)
        with _core.no_grad():
            x = input.detach()
            rows = _core.dim_size(input.shape[0], dtype)
            spread = _core.sum(_core.square(x - mean), axis=0) + rows * epsilon
            new = _core.broadcast_to(rows, sizes), _core.sum(x, axis=0), spread
            for place, old, more in zip((count, total, squares), seen, new):
                place.set(old * summary_decay_rate + more)
        return activation(y, act)


def spectral_norm(
    weight: Tensor, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: str | None = None
) -> Tensor:
    """A weight divided by its largest singular value, which is estimated by two vectors that are kept.

    Args:
        weight: The weight.
        dim: Its axis for rows.
        power_iters: How often the vectors are improved.
        eps: What is added to norms.
        name: The layer's name.
    """
    owner = Owner("spectral_norm", name)
    rows = known(weight.shape[dim], "the size of the weight")
    columns = product(weight.shape, "the size of the weight") // rows
    with owner.scope():
        u = owner.buffer(None, (rows,), weight.dtype, Normal(0.0, 1.0))
        v = owner.buffer(None, (columns,), weight.dtype, Normal(0.0, 1.0))
        y, _, _ = _core.spectral_norm(
            weight, u.get(), v.get(), axis=dim, iterations=power_iters, eps=eps
        )
        return y


def row_conv(
    input: Tensor, future_context_size: int, param_attr: AttrLike = None, act: Act = None
) -> Tensor:
    """Each step as a weighted sum of itself and the next ones, with weights for each feature.

    Args:
        input: The steps, `[batch, steps, features]`.
        future_context_size: How many next steps count.
        param_attr: What is said of the weight, `[future_context_size + 1, features]`.
        act: The name of a function of the output.
    """
    if input.ndim != 3:
        raise fault(ValueError, f"steps of {input.ndim} axes", "give batch, steps and features")
    owner = Owner("row_conv")
    count = future_context_size + 1
    with owner.scope():
        weight = owner.weight(param_attr, (count, known(input.shape[2], "the number of features")), input.dtype)
        padded = _core.pad(input, [0, 0, 0], [0, future_context_size, 0])
        length: Any = input.shape[1]
        total = input * weight[0]
        for i in range(1, count):
            total = total + _core.narrow(padded, 1, i, length) * weight[i]
        return activation(total, act)


def deformable_conv(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    deformable_groups: int | None = None,
    im2col_step: int | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    modulated: bool = True,
    name: str | None = None,
) -> Tensor:
    """A convolution whose points are moved by offsets, and weighted by a mask.

    Args:
        input: The images, `[batch, channels, height, width]`.
        offset: Two numbers, down and across, for each point of each window:
            `[batch, 2 · deformable_groups · points, out height, out width]`.
        mask: A factor for each of them, unless not `modulated`.
        num_filters: The number of channels of the output.
        filter_size: The size of the window.
        stride: Its step.
        padding: The zeros on each side.
        dilation: The distance of the window's points.
        groups: The number of parts that channels are split into.
        deformable_groups: The number of parts of channels that have offsets of their own.
        im2col_step: For Fluid's programs.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias; False leaves it out.
        modulated: Whether there is a mask.
        name: The layer's name.
    """
    owner = Owner("deformable_conv", name)
    channels = known(input.shape[1], "the number of channels")
    height, width = input.shape[2:]
    window, step = many(filter_size, 2, "filter_size"), many(stride, 2, "stride")
    spread, around = many(dilation, 2, "dilation"), many(padding, 2, "padding")
    parts, own = groups or 1, deformable_groups or 1
    points = window[0] * window[1]
    out_h, out_w = offset.shape[2], offset.shape[3]
    batch: Any = input.shape[0]
    moves = _core.reshape(offset, (batch, own, points, 2, out_h, out_w))
    dtype = input.dtype

    def line(count: Any, by: int, shift: int, ahead: tuple[Any, ...]) -> Tensor:
        return _core.reshape(_core.iota(count, dtype) * float(by) - float(shift), ahead)

    rows_in = _core.tensor([float(i // window[1] * spread[0]) for i in range(points)], dtype)
    columns_in = _core.tensor([float(i % window[1] * spread[1]) for i in range(points)], dtype)
    y = moves[:, :, :, 0] + _core.reshape(rows_in, (points, 1, 1)) + line(out_h, step[0], around[0], (out_h, 1))
    x = moves[:, :, :, 1] + _core.reshape(columns_in, (points, 1, 1)) + line(out_w, step[1], around[1], (1, out_w))
    # `grid_sample` takes places from -1 to 1, and gives zeros beyond.
    if any(isinstance(size, int) and size < 2 for size in (height, width)):
        raise fault(ValueError, f"images of {height} by {width}", "give at least two elements along each axis")
    scale_y, scale_x = (2.0 / (_core.dim_size(size, dtype) - 1.0) for size in (height, width))
    grid = _core.stack([x * scale_x - 1.0, y * scale_y - 1.0], -1)
    grid = _core.reshape(grid, (batch * own, points * out_h, out_w, 2))
    images = _core.reshape(input, (batch * own, channels // own, height, width))
    read = _core.reshape(
        _core.grid_sample(images, grid, align_corners=True), (batch, own, channels // own, points, out_h, out_w)
    )
    if modulated and mask is not None:
        read = read * _core.reshape(mask, (batch, own, 1, points, out_h, out_w))
    columns = _core.reshape(read, (batch, parts, channels // parts * points, out_h * out_w))
    init = Normal(0.0, math.sqrt(2.0 / (points * channels)))
    with owner.scope():
        weight = owner.weight(param_attr, (num_filters, channels // parts, *window), dtype, init)
        bias = owner.bias(bias_attr, (num_filters,), dtype)
        flat = _core.reshape(weight, (parts, num_filters // parts, channels // parts * points))
        y = _core.reshape(_core.matmul(flat, columns), (batch, num_filters, out_h, out_w))
        return y if bias is None else y + _core.reshape(bias, (num_filters, 1, 1))
