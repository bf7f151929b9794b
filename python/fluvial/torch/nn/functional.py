"""PyTorch's `torch.nn.functional`."""

from __future__ import annotations

import builtins

import fluvial as fl

from ... import _core
from ..._core import (
    binary_cross_entropy,
    celu,
    channel_shuffle,
    cosine_embedding_loss,
    cosine_similarity,
    elu,
    glu,
    grid_sample,
    hinge_embedding_loss,
    kl_div,
    l1_loss,
    leaky_relu,
    margin_ranking_loss,
    mish,
    mse_loss,
    multi_margin_loss,
    pairwise_distance,
    pixel_shuffle,
    pixel_unshuffle,
    poisson_nll_loss,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    soft_margin_loss,
    softplus,
    softsign,
    tanh,
    threshold,
    triplet_margin_loss,
)
from ..._core import hard_sigmoid as hardsigmoid
from ..._core import hard_swish as hardswish
from ..._core import hard_tanh as hardtanh
from ..._core import hard_shrink as hardshrink
from ..._core import log_sigmoid as logsigmoid
from ..._core import soft_shrink as softshrink
from ..._core import tanh_shrink as tanhshrink
from ..._derived import affine_grid, bilinear, embedding_bag, normalize, pdist
from ..._derived.products import as_tensor
from ..._fault import fault
from .._functions import log_softmax, softmax

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


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`softmax` of the negative."""
    return softmax(-input, dim, dtype)


def _dropped(function: Any) -> Any:
    def dropout(input: Tensor, p: float = 0.5, training: builtins.bool = True, inplace: builtins.bool = False) -> Tensor:
        return function(input, p) if training else as_tensor(input)

    dropout.__name__ = function.__name__
    dropout.__doc__ = f"`fl.{function.__name__}`, if `training`."
    return dropout


dropout, dropout1d, dropout2d, dropout3d = map(_dropped, (_core.dropout, _core.dropout1d, _core.dropout2d, _core.dropout3d))
alpha_dropout, feature_alpha_dropout = map(_dropped, (_core.alpha_dropout, _core.feature_alpha_dropout))


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


def _adaptive_max(function: Any) -> Any:
    def pool(input: Tensor, output_size: Any, return_indices: builtins.bool = False) -> Tensor:
        if return_indices:
            raise fault(ValueError, "the positions of the maxima are not given", "use `max_pool2d` with a window")
        return function(input, output_size)

    pool.__name__, pool.__doc__ = function.__name__, function.__doc__
    return pool


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(
    _adaptive_max, (_core.adaptive_max_pool1d, _core.adaptive_max_pool2d, _core.adaptive_max_pool3d)
)


def _adaptive_avg(function: Any) -> Any:
    def pool(input: Tensor, output_size: Any) -> Tensor:
        if isinstance(output_size, (list, tuple)) and None in output_size:
            sizes = input.shape[input.ndim - len(output_size) :]
            output_size = [size if wanted is None else wanted for wanted, size in zip(output_size, sizes)]
        return function(input, output_size)

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


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images, as columns."""
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
        raise fault(ValueError, "images are not smoothed before they are made smaller", "leave `antialias` out")
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
    names = {"bilinear": "linear", "trilinear": "linear"}
    return _core.interpolate(input, mode=names.get(mode, mode) if mode in names and n_axes != 2 else mode, align_corners=bool(align_corners), **options)


upsample = interpolate


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


def cross_entropy(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The loss of scores of classes."""
    return _core.cross_entropy(input, target, weight, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing)


def nll_loss(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The loss of logarithms of probabilities of classes."""
    return _core.nll_loss(input, target, weight, reduction=reduction, ignore_index=ignore_index)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Any = None,
) -> Tensor:  # fmt: skip
    """The loss of scores of two classes."""
    return _core.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """The squared error near zero, the absolute one beyond."""
    return _core.smooth_l1_loss(input, target, reduction=reduction, beta=beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """The squared error near zero, the absolute one beyond."""
    return _core.huber_loss(input, target, reduction=reduction, delta=delta)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Channels over a power of the mean square of their neighbours."""
    return _core.local_response_norm(input, size=size, alpha=alpha, beta=beta, k=k)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: builtins.bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """The loss of a normal distribution."""
    var = as_tensor(var)
    var = _core.unsqueeze(var, -1) if 0 < var.ndim < input.ndim else var
    target, var = (_core.broadcast_to(part, input.shape) for part in (target, var))
    return _core.gaussian_nll_loss(input, target, var, reduction=reduction, full=full, eps=eps)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: builtins.bool = False,
) -> Tensor:  # fmt: skip
    """The loss of sequences without alignment."""
    lengths = as_tensor(input_lengths), as_tensor(target_lengths)
    return _core.ctc_loss(log_probs, targets, *lengths, reduction=reduction, blank=blank, zero_infinity=zero_infinity)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: builtins.bool = False, scale: float | None = None, enable_gqa: builtins.bool = False,
) -> Tensor:  # fmt: skip
    """Attention."""
    if enable_gqa:
        raise fault(ValueError, "heads of keys are not shared by several of queries", "repeat them with `repeat_interleave`")
    return _core.scaled_dot_product_attention(query, key, value, attn_mask, causal=is_causal, dropout=dropout_p, scale=scale)


def __getattr__(name: str) -> object:
    from .._missing import missing

    raise missing(__name__, name)
