"""PyTorch's `torch.nn.functional`."""

from __future__ import annotations

import builtins

import fluvial as fl

from ... import _core
from ..._core import channel_shuffle, prelu, sigmoid, tanh
from ..._core import log_sigmoid as logsigmoid
from ..._core import tanh_shrink as tanhshrink
from ..._derived import affine_grid, bilinear, pdist
from ..._derived.products import as_tensor
from ..._fault import fault
from ..._inplace import put
from .. import _functions
from .._casts import cast as _cast
from ._activations import *
from ._losses import *

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor


def linear(input: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """`input @ weight.T + bias`."""
    return _core.linear(input, weight, bias)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`input * Φ(input)`, or its form by `tanh`."""
    return _core.gelu(input, approximate == "tanh")


def _axis(input: Tensor, dim: int | None) -> int:
    """The axis that PyTorch takes where none is given."""
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials along an axis, divided by their sum."""
    if input.ndim == 0:
        return _core.reshape(softmax(_core.reshape(input, (1,)), 0, dtype=dtype), ())
    return _functions.softmax(input, _axis(input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    if input.ndim == 0:
        return _core.reshape(log_softmax(_core.reshape(input, (1,)), 0, dtype=dtype), ())
    return _functions.log_softmax(input, _axis(input, dim), dtype)


def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""
    return input / (1 + _core.abs(input)) if input.is_complex() else _core.softsign(input)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax` of the negative."""
    x = input if dtype is None else _cast(input, dtype)
    return softmax(-x, dim)


def _dropped(function: Any, default: builtins.bool = True) -> Any:
    def dropout(input: Tensor, p: float = 0.5, training: builtins.bool = default, inplace: builtins.bool = False) -> Tensor:
        return function(input, p) if training else as_tensor(input)

    dropout.__name__ = function.__name__
    dropout.__doc__ = f"`fl.{function.__name__}`, if `training`."
    return dropout


dropout, dropout1d, dropout2d, dropout3d = map(_dropped, (_core.dropout, _core.dropout1d, _core.dropout2d, _core.dropout3d))
alpha_dropout, feature_alpha_dropout = _dropped(_core.alpha_dropout, False), _dropped(_core.feature_alpha_dropout, False)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: builtins.bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random choice along an axis, through which gradients pass."""
    return _core.gumbel_softmax(logits, tau, hard, dim)


def _conv(function: Any) -> Any:
    def conv(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise fault(ValueError, f'there is no padding "{padding}"', 'use "same", "valid" or numbers')
            return function(input, weight, bias, stride=stride, same=padding == "same", dilation=dilation, groups=groups)
        return function(input, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)

    conv.__name__, conv.__doc__ = function.__name__, function.__doc__
    return conv


conv1d, conv2d, conv3d = map(_conv, (_core.conv1d, _core.conv2d, _core.conv3d))


def _transposed(function: Any) -> Any:
    def conv(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
        return function(input, weight, bias, stride=stride, padding=padding, output_padding=output_padding, groups=groups, dilation=dilation)

    conv.__name__, conv.__doc__ = function.__name__, function.__doc__
    return conv


conv_transpose1d, conv_transpose2d, conv_transpose3d = map(
    _transposed, (_core.conv_transpose1d, _core.conv_transpose2d, _core.conv_transpose3d)
)


def _max_pool(plain: Any, both: Any) -> Any:
    def pool(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any:
        function = both if return_indices else plain
        return function(input, kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)

    pool.__name__, pool.__doc__ = plain.__name__, plain.__doc__
    return pool


max_pool1d = _max_pool(_core.max_pool1d, _core.max_pool1d_with_indices)
max_pool2d = _max_pool(_core.max_pool2d, _core.max_pool2d_with_indices)
max_pool3d = _max_pool(_core.max_pool3d, _core.max_pool3d_with_indices)


def _avg_pool(function: Any) -> Any:
    def pool(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: int | None = None) -> Tensor:
        return function(
            input, kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode,
            count_include_pad=count_include_pad, divisor=divisor_override,
        )  # fmt: skip

    pool.__name__, pool.__doc__ = function.__name__, function.__doc__
    return pool


avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (_core.avg_pool1d, _core.avg_pool2d, _core.avg_pool3d))


def _sizes(input: Tensor, output_size: Any, n_axes: int) -> list[Any]:
    """The sizes that a pool gives; None for those of the input."""
    wanted = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * n_axes
    wanted = wanted * n_axes if len(wanted) == 1 else wanted
    return [size if one is None else one for one, size in zip(wanted, input.shape[input.ndim - n_axes :])]


def _positions(input: Tensor, sizes: list[Any]) -> Any:
    """The greatest elements of windows, and where they stand in the flat image."""
    n_axes = len(sizes)
    shape = input.shape[input.ndim - n_axes :]
    places, inside = _core.zeros((), "int64"), _core.tensor(True)
    for axis, (n, size) in enumerate(zip(shape, sizes)):
        begin = [i * n // size for i in range(size)]
        width = [-(-(i + 1) * n // size) - start for i, start in enumerate(begin)]
        most = max(width, default=1)
        rows = _core.tensor([[min(start + k, n - 1) for k in range(most)] for start in begin], "int64")
        valid = _core.tensor([[k < one for k in range(most)] for one in width], "bool")
        # Windows stand in front, and their elements behind.
        spread = [1] * (2 * n_axes)
        spread[axis], spread[n_axes + axis] = size, most
        rows, valid = _core.reshape(rows, spread), _core.reshape(valid, spread)
        places, inside = places * n + rows, _core.logical_and(inside, valid)
    count = 1
    for size in sizes:
        count *= size
    places, inside = (_core.reshape(part, (count, -1)) for part in (places, inside))
    front = input.shape[: input.ndim - n_axes]
    flat = _core.reshape(input, (*front, -1))
    seen = _core.where(inside, _core.gather(flat, places, flat.ndim - 1), float("-inf"))
    best = _core.argmax(seen, -1, True)
    found = _core.squeeze(_core.take_along_axis(_core.broadcast_to(places, seen.shape), best, -1), [-1])
    values = _core.take_along_axis(flat, found, -1)
    return tuple(_core.reshape(part, (*front, *sizes)) for part in (values, found))


def _adaptive_max(function: Any) -> Any:
    n_axes = int(function.__name__[-2])

    def pool(input: Tensor, output_size: Any, return_indices: builtins.bool = False) -> Any:
        sizes = _sizes(input, output_size, n_axes)
        return _positions(input, sizes) if return_indices else function(input, sizes)

    pool.__name__, pool.__doc__ = function.__name__, function.__doc__
    return pool


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(
    _adaptive_max, (_core.adaptive_max_pool1d, _core.adaptive_max_pool2d, _core.adaptive_max_pool3d)
)


def _adaptive_avg(function: Any) -> Any:
    def pool(input: Tensor, output_size: Any) -> Tensor:
        return function(input, _sizes(input, output_size, int(function.__name__[-2])))

    pool.__name__, pool.__doc__ = function.__name__, function.__doc__
    return pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(
    _adaptive_avg, (_core.adaptive_avg_pool1d, _core.adaptive_avg_pool2d, _core.adaptive_avg_pool3d)
)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: builtins.bool = False) -> Tensor:
    """The norms of windows."""
    return _core.lp_pool1d(input, norm_type, kernel_size, stride=stride, ceil_mode=ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: builtins.bool = False) -> Tensor:
    """The norms of windows."""
    return _core.lp_pool2d(input, norm_type, kernel_size, stride=stride, ceil_mode=ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: builtins.bool = False) -> Tensor:
    """The norms of windows."""
    return _core.lp_pool3d(input, norm_type, kernel_size, stride=stride, ceil_mode=ceil_mode)


def _unpooled(function: Any) -> Any:
    n_axes = int(function.__name__[-2])

    def unpool(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
        size = () if output_size is None else tuple(output_size)[-n_axes:]
        return function(input, indices, kernel_size, stride=stride, padding=padding, size=size)

    unpool.__name__, unpool.__doc__ = function.__name__, function.__doc__
    return unpool


max_unpool1d, max_unpool2d, max_unpool3d = map(_unpooled, (_core.max_unpool1d, _core.max_unpool2d, _core.max_unpool3d))


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """Vectors along an axis, divided by their norms."""
    if out is not None:
        raise fault(ValueError, "results are not written into other tensors", "leave `out` out, and use what is returned")
    if input.ndim == 0:
        return _core.reshape(fl.normalize(_core.reshape(input, (1,)), p, 0, eps), ())
    return fl.normalize(input, p, dim, eps)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels put beside each other as pixels."""
    return _core.pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels put behind each other as channels."""
    return _core.pixel_unshuffle(input, downscale_factor)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosines of the angles between vectors."""
    x1, x2 = _core.broadcast_tensors([x1, x2])
    if x1.ndim == 0:
        return _core.reshape(cosine_similarity(_core.reshape(x1, (1,)), _core.reshape(x2, (1,)), 0, eps), ())
    return _core.cosine_similarity(x1, x2, dim, eps)


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: builtins.bool | None = None) -> Tensor:
    """The pixels of images at points."""
    return _core.grid_sample(input, grid, mode=mode, padding_mode=padding_mode, align_corners=bool(align_corners))


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images, as columns."""
    if input.dtype == _core.bool:
        return _core.cast(unfold(_core.cast(input, "float32"), kernel_size, dilation, padding, stride), "bool")
    return _core.unfold(input, kernel_size, dilation=dilation, padding=padding, stride=stride)


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Images as sums of windows, which are columns."""
    return _core.fold(input, output_size, kernel_size, dilation=dilation, padding=padding, stride=stride)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Elements around a tensor: numbers of those before and after, for the last axis first."""
    before, after = [0] * input.ndim, [0] * input.ndim
    for i in range(len(pad) // 2):
        before[-1 - i], after[-1 - i] = pad[2 * i], pad[2 * i + 1]
    key = []
    for axis, (a, b) in enumerate(zip(before, after)):
        # A negative number takes elements away.
        key.append(slice(-a if a < 0 else None, b if b < 0 else None))
    if any(part != slice(None, None) for part in key):
        input = input[tuple(key)]
    before, after = [max(a, 0) for a in before], [max(b, 0) for b in after]
    if mode == "constant":
        return _core.pad(input, before, after, value=0.0 if value is None else value)
    return _core.pad(input, before, after, mode=mode)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: builtins.bool | None = None,
    recompute_scale_factor: builtins.bool | None = None,
    antialias: builtins.bool = False,
) -> Tensor:
    """Images of other sizes."""
    if antialias:
        return _smoothed(input, size, scale_factor, mode, bool(align_corners), bool(recompute_scale_factor))
    n_axes = input.ndim - 2
    options: dict[str, Any] = {}
    if size is not None:
        options["size"] = [size] * n_axes if isinstance(size, int) else list(size)
    else:
        scale = [float(scale_factor)] * n_axes if isinstance(scale_factor, (int, float)) else [float(s) for s in scale_factor]
        if recompute_scale_factor:
            options["size"] = [int(float(n) * s) for n, s in zip(input.shape[2:], scale)]
        else:
            options["scale"] = scale
    return _core.interpolate(input, mode=mode, align_corners=bool(align_corners), **options)


upsample = interpolate


def _smoothed(input: Tensor, size: Any, scale_factor: Any, mode: str, corners: builtins.bool, recompute: builtins.bool) -> Tensor:
    """Images of other sizes, by products with matrices of weights, whose windows grow with what is made smaller."""
    if mode not in ("bilinear", "bicubic"):
        raise fault(ValueError, f'`antialias` is for "bilinear" and "bicubic", not "{mode}"', "leave `antialias` out")
    sizes: list[Any] = list(input.shape[2:])
    if input.ndim != 4 or not all(isinstance(n, int) for n in sizes):
        raise fault(ValueError, f"images of two axes of known sizes are smoothed, not {input.type_text}", "leave `antialias` out")
    if size is None:
        scales = [float(s) for s in (scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * 2)]
        wanted = [int(n * s) for n, s in zip(sizes, scales)]
        steps = [n / m if recompute else 1 / s for n, m, s in zip(sizes, wanted, scales)]
    else:
        wanted = [size] * 2 if isinstance(size, int) else list(size)
        steps = [n / m for n, m in zip(sizes, wanted)]
    rows, columns = (
        _core.cast(_core.tensor(_smoothing(n, m, (n - 1) / (m - 1) if corners and m > 1 else 0.0 if corners else step, corners, mode)), input.dtype)
        for n, m, step in zip(sizes, wanted, steps)
    )
    return _core.matmul(_core.matmul(rows, input), _core.transpose(columns, 0, 1))


def _smoothing(n: int, wanted: int, step: float, corners: builtins.bool, mode: str) -> Any:
    """The weights of `n` elements in each of those wanted, as a matrix of NumPy's."""
    import numpy as np

    reach = (1.0 if mode == "bilinear" else 2.0) * max(step, 1.0)
    places = np.arange(wanted)[:, None]
    center = places * step + 0.5 if corners else (places + 0.5) * step
    first = np.maximum((center - reach + 0.5).astype(int), 0)
    last = np.minimum((center + reach + 0.5).astype(int), n)
    at = np.arange(n)[None, :]
    far = np.abs((at + 0.5 - center) / max(step, 1.0))
    if mode == "bilinear":
        weights = np.maximum(1.0 - far, 0.0)
    else:
        near, a = (1.5 * far - 2.5) * far * far + 1.0, -0.5
        weights = np.where(far < 1, near, np.where(far < 2, (((far - 5) * far + 8) * far - 4) * a, 0.0))
    weights = np.where((at >= first) & (at < last), weights, 0.0)
    return weights / weights.sum(1, keepdims=True)


def _row(padding_idx: int | None, weight: Tensor) -> Any:
    """The number of a row, which may be counted from the end."""
    return padding_idx if padding_idx is None or padding_idx >= 0 else padding_idx + weight.shape[0]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: builtins.bool = False,
    sparse: builtins.bool = False,
) -> Tensor:
    """Rows of a table."""
    if scale_grad_by_freq:
        raise fault(ValueError, "gradients are not scaled by frequencies", "leave `scale_grad_by_freq` out")
    padding_idx = _row(padding_idx, weight)
    return _core.embedding(input, weight, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Ones at the places that numbers name, else zeros, as whole numbers."""
    if num_classes == -1:
        num_classes = int(_core.max(tensor).item()) + 1
    return _core.cast(_core.one_hot(tensor, num_classes), "int64")


def layer_norm(input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """The elements of the last axes with mean zero and variance one."""
    n_axes = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    return _core.layer_norm(input, n_axes, weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    """The elements of the last axes over the root of their mean square."""
    n_axes = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    return _core.rms_norm(input, n_axes, weight, fl.finfo(input.dtype).eps if eps is None else eps)


def group_norm(input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Groups of channels with mean zero and variance one."""
    return _core.group_norm(input, num_groups, weight, bias, eps)


def instance_norm(
    input: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: builtins.bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Channels with mean zero and variance one."""
    if not use_input_stats:
        return _core.batch_norm(input, running_mean, running_var, weight, bias, eps)
    return _core.instance_norm(input, weight, bias, eps)


def batch_norm(
    input: Tensor, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: builtins.bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Channels with mean zero and variance one, over the batch; in training, the running statistics follow."""
    if not training:
        return _core.batch_norm(input, running_mean, running_var, weight, bias, eps)
    found, mean, variance = _core.batch_norm_train(input, weight, bias, eps)
    with _core.no_grad():
        count = input.numel() / input.shape[1]
        for running, value in ((running_mean, mean), (running_var, variance * (count / (count - 1)))):
            if running is not None:
                running.mul_(1 - momentum).add_(value.detach() * momentum)
    return found


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Channels over a power of the mean square of their neighbours."""
    return _core.local_response_norm(input, size=size, alpha=alpha, beta=beta, k=k)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: builtins.bool = False, scale: float | None = None, enable_gqa: builtins.bool = False,
) -> Tensor:  # fmt: skip
    """Attention."""
    return _core.scaled_dot_product_attention(query, key, value, attn_mask, causal=is_causal, dropout=dropout_p, scale=scale)


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: builtins.bool = False, mode: str = "mean", sparse: builtins.bool = False,
    per_sample_weights: Any = None, include_last_offset: builtins.bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The sums, means or maxima of rows of a table, by bags of ids."""
    if scale_grad_by_freq:
        raise fault(ValueError, "gradients are not scaled by frequencies", "leave `scale_grad_by_freq` out")
    if max_norm is not None:
        weight = fl.renorm(weight, norm_type, 0, max_norm)
    if include_last_offset and offsets is not None:
        offsets = offsets[:-1]
    padding_idx = _row(padding_idx, weight)
    return fl.embedding_bag(input, weight, offsets, mode=mode, per_sample_weights=per_sample_weights, padding_idx=padding_idx)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Images of other sizes, by the nearest pixels."""
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Images of other sizes, between the nearest pixels."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _changing(function: Any) -> Any:
    def changed(input: Tensor, *args: Any, **options: Any) -> Tensor:
        return put(input, function(input, *args, **options))

    changed.__name__, changed.__doc__ = f"{function.__name__}_", f"`{function.__name__}`, which changes the tensor itself and returns it."
    return changed


relu_, elu_, celu_, selu_ = map(_changing, (relu, elu, celu, selu))
leaky_relu_, hardtanh_, threshold_, rrelu_ = map(_changing, (leaky_relu, hardtanh, threshold, rrelu))


def __getattr__(name: str) -> object:
    from .._missing import missing

    raise missing(__name__, name)
