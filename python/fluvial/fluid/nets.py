"""Several layers at once."""

from __future__ import annotations

from typing import Any

from .._fault import fault
from . import layers

__all__ = ["simple_img_conv_pool", "sequence_conv_pool", "glu", "scaled_dot_product_attention", "img_conv_group"]


def simple_img_conv_pool(
    input: Any, num_filters: int, filter_size: Any, pool_size: Any, pool_stride: Any, pool_padding: Any = 0,
    pool_type: str = "max", global_pooling: bool = False, conv_stride: Any = 1, conv_padding: Any = 0,
    conv_dilation: Any = 1, conv_groups: int = 1, param_attr: Any = None, bias_attr: Any = None, act: Any = None,
    use_cudnn: bool = True,
) -> Any:  # fmt: skip
    """A convolution, then a pool. Args are those of `layers.conv2d` and `layers.pool2d`."""
    found = layers.conv2d(
        input=input, num_filters=num_filters, filter_size=filter_size, stride=conv_stride, padding=conv_padding,
        dilation=conv_dilation, groups=conv_groups, param_attr=param_attr, bias_attr=bias_attr, act=act,
    )  # fmt: skip
    return layers.pool2d(
        input=found, pool_size=pool_size, pool_type=pool_type, pool_stride=pool_stride, pool_padding=pool_padding,
        global_pooling=global_pooling,
    )  # fmt: skip


def img_conv_group(
    input: Any, conv_num_filter: Any, pool_size: Any, conv_padding: Any = 1, conv_filter_size: Any = 3,
    conv_act: Any = None, param_attr: Any = None, conv_with_batchnorm: Any = False, conv_batchnorm_drop_rate: Any = 0.0,
    pool_stride: Any = 1, pool_type: str = "max", use_cudnn: bool = True,
) -> Any:  # fmt: skip
    """Several convolutions, perhaps with batch norm and dropout, then a pool.

    Args:
        input: Images.
        conv_num_filter: The numbers of channels of the convolutions.
        pool_size: The window of the pool.
        conv_padding: The zeros on each side; one, or one for each convolution, as what follows.
        conv_filter_size: The size of the window.
        conv_act: The name of a function of the output.
        param_attr: What is said of the weight.
        conv_with_batchnorm: Whether batch norm follows.
        conv_batchnorm_drop_rate: The probability of dropout behind it.
        pool_stride: The step of the pool.
        pool_type: "max" or "avg".
        use_cudnn: For Fluid's programs.
    """
    count = len(conv_num_filter)

    def each(value: Any, what: str) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            return [value] * count
        if len(value) != count:
            raise fault(ValueError, f"`{what}` has {len(value)} entries for {count} convolutions", "give one for each")
        return list(value)

    paddings, windows = each(conv_padding, "conv_padding"), each(conv_filter_size, "conv_filter_size")
    attrs, norms = each(param_attr, "param_attr"), each(conv_with_batchnorm, "conv_with_batchnorm")
    rates = each(conv_batchnorm_drop_rate, "conv_batchnorm_drop_rate")
    found = input
    for i in range(count):
        found = layers.conv2d(
            input=found, num_filters=conv_num_filter[i], filter_size=windows[i], padding=paddings[i],
            param_attr=attrs[i], act=None if norms[i] else conv_act,
        )  # fmt: skip
        if norms[i]:
            found = layers.batch_norm(input=found, act=conv_act)
            if abs(rates[i]) > 1e-5:
                found = layers.dropout(x=found, dropout_prob=rates[i])
    return layers.pool2d(input=found, pool_size=pool_size, pool_type=pool_type, pool_stride=pool_stride)


def sequence_conv_pool(
    input: Any, num_filters: int, filter_size: int, param_attr: Any = None, act: str = "sigmoid",
    pool_type: str = "max", bias_attr: Any = None,
) -> Any:  # fmt: skip
    """A convolution over sequences, then a pool over each. Args are those of `layers.sequence_conv` and
    `layers.sequence_pool`."""
    found = layers.sequence_conv(
        input=input, num_filters=num_filters, filter_size=filter_size, param_attr=param_attr, bias_attr=bias_attr,
        act=act,
    )  # fmt: skip
    return layers.sequence_pool(input=found, pool_type=pool_type)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half, times the sigmoid of the second.

    Args:
        input: The values.
        dim: The axis that is halved.
    """
    first, second = layers.split(input, num_or_sections=2, dim=dim)
    return layers.elementwise_mul(x=first, y=layers.sigmoid(x=second))


def scaled_dot_product_attention(
    queries: Any, keys: Any, values: Any, num_heads: int = 1, dropout_rate: float = 0.0
) -> Any:
    """Values weighted by how well keys fit queries, in several heads.

    Args:
        queries: `[batch, queries, width]`.
        keys: `[batch, keys, width]`.
        values: `[batch, keys, width of values]`.
        num_heads: How many parts the widths are split into; with more than one, each input passes a layer first.
        dropout_rate: The probability with which weights are zero.
    """
    for what, var in (("queries", queries), ("keys", keys), ("values", values)):
        if len(var.shape) != 3:
            raise fault(ValueError, f"`{what}` has {len(var.shape)} axes", "give batch, positions and width")
    if keys.shape[-1] != queries.shape[-1] or keys.shape[-1] % num_heads or values.shape[-1] % num_heads:
        raise fault(
            ValueError,
            f"widths {queries.shape[-1]}, {keys.shape[-1]} and {values.shape[-1]} for {num_heads} heads",
            "queries and keys have one width, and the number of heads divides all",
        )

    def heads(x: Any) -> Any:
        if num_heads == 1:
            return x
        width = x.shape[-1]
        x = layers.fc(input=x, size=width, num_flatten_dims=2)
        return layers.transpose(layers.reshape(x, [0, 0, num_heads, width // num_heads]), perm=[0, 2, 1, 3])

    q, k, v = heads(queries), heads(keys), heads(values)
    scaled = layers.scale(x=q, scale=float(queries.shape[-1] // num_heads) ** -0.5)
    product = layers.matmul(x=scaled, y=k, transpose_y=True)
    weights = layers.softmax(product)
    if dropout_rate:
        weights = layers.dropout(weights, dropout_prob=dropout_rate, is_test=False)
    context = layers.matmul(weights, v)
    if num_heads == 1:
        return context
    context = layers.transpose(context, perm=[0, 2, 1, 3])
    return layers.reshape(context, [0, 0, context.shape[2] * context.shape[3]])
