"""Activations of `torch.nn.functional`, with the places of PyTorch's arguments.

`inplace` is accepted and has no effect: use what is returned.
"""

from __future__ import annotations

import builtins

from ... import _core
from ..._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor


def _plain(function: Any) -> Any:
    def activation(input: Tensor, inplace: builtins.bool = False) -> Tensor:
        return function(input)

    activation.__name__, activation.__doc__ = function.__name__, function.__doc__
    return activation


relu, relu6, selu, silu, mish = map(_plain, (_core.relu, _core.relu6, _core.selu, _core.silu, _core.mish))
hardsigmoid, hardswish = _plain(_core.hard_sigmoid), _plain(_core.hard_swish)


def elu(input: Tensor, alpha: float = 1.0, inplace: builtins.bool = False) -> Tensor:
    """The elements, or `alpha * (exp(x) - 1)` where they are negative."""
    return _core.elu(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: builtins.bool = False) -> Tensor:
    """The elements, or `alpha * (exp(x / alpha) - 1)` where they are negative."""
    return _core.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: builtins.bool = False) -> Tensor:
    """The elements, times a slope where they are negative."""
    return _core.leaky_relu(input, negative_slope)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: builtins.bool = False) -> Tensor:
    """The elements between two bounds."""
    if input.is_floating_point():
        return _core.hard_tanh(input, min_val, max_val)
    return _core.clip(input, int(min_val), int(max_val))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The elements, or zero between `-lambd` and `lambd`."""
    if lambd < 0:
        # Nothing is between them.
        return input
    return _core.hard_shrink(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The elements nearer to zero by `lambd`, or zero."""
    return _core.soft_shrink(input, lambd)


def threshold(input: Tensor, threshold: float, value: float, inplace: builtins.bool = False) -> Tensor:
    """The elements above a threshold; a number for the others."""
    if input.is_floating_point():
        return _core.threshold(input, threshold, value)
    return _core.where(input > threshold, input, _core.cast(_core.tensor(value), input.dtype))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`; the elements themselves above `threshold / beta`."""
    return _core.softplus(input, beta, threshold)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of an axis times the sigmoid of the second."""
    return _core.glu(input, dim)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: builtins.bool = False, inplace: builtins.bool = False
) -> Tensor:
    """The elements, times random slopes where they are negative; times the mean of the slopes if not `training`."""
    if lower > upper:
        raise fault(ValueError, f"the slopes begin at {lower} and end at {upper}", "give `lower` below `upper`")
    slope = _core.uniform((input.dtype, input.shape), lower, upper) if training else (lower + upper) / 2
    return _core.where(input >= 0, input, input * slope)


__all__ = [
    "celu",
    "elu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "mish",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "silu",
    "softplus",
    "softshrink",
    "threshold",
]
