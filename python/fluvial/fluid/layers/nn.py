"""Functions of `fluid.layers` over tensors: layers with parameters, arithmetic, shapes, images."""

from __future__ import annotations

from ...layers._activations import (
    brelu,
    elu,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    log,
    mish,
    pow,
    relu,
    relu6,
    selu,
    sign,
    soft_relu,
    softmax,
    stanh,
    swish,
)
from ...layers._math import (
    clip,
    clip_by_norm,
    dropout,
    elementwise_add,
    elementwise_div,
    elementwise_floordiv,
    elementwise_max,
    elementwise_min,
    elementwise_mod,
    elementwise_mul,
    elementwise_pow,
    elementwise_sub,
    gather,
    l2_normalize,
    log_softmax,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    mean,
    mul,
    one_hot,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
    scale,
    scatter_nd,
    sum,
    topk,
    where,
)
from ...layers._shapes import expand, flatten, reshape, split, squeeze, stack, transpose, unsqueeze, unstack
from ...layers._net import batch_norm, conv2d, conv2d_transpose, embedding, fc, group_norm, layer_norm, pool2d, prelu
from . import _conv, _image, _mixed, _random, _recurrent, _shape, _trees
from ._conv import *
from ._image import *
from ._mixed import *
from ._random import *
from ._recurrent import *
from ._shape import *
from ._trees import *

__all__ = [
    "batch_norm", "brelu", "clip", "clip_by_norm", "conv2d", "conv2d_transpose", "dropout",
    "elementwise_add", "elementwise_div", "elementwise_floordiv", "elementwise_max",
    "elementwise_min", "elementwise_mod", "elementwise_mul", "elementwise_pow", "elementwise_sub",
    "elu", "embedding", "expand", "fc", "flatten", "gather", "group_norm", "hard_sigmoid",
    "hard_swish", "l2_normalize", "layer_norm", "leaky_relu", "log", "log_softmax", "logical_and",
    "logical_not", "logical_or", "logical_xor", "matmul", "mean", "mish", "mul", "one_hot", "pool2d",
    "pow", "prelu", "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min",
    "reduce_prod", "reduce_sum", "relu", "relu6", "reshape", "scale", "scatter_nd", "selu", "sign",
    "soft_relu", "softmax", "split", "squeeze", "stack", "stanh", "sum", "swish", "topk",
    "transpose", "unsqueeze", "unstack", "where",
]  # fmt: skip
__all__ += _conv.__all__
__all__ += _image.__all__
__all__ += _mixed.__all__
__all__ += _random.__all__
__all__ += _recurrent.__all__
__all__ += _shape.__all__
__all__ += _trees.__all__
