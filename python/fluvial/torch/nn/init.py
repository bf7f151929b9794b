"""PyTorch's `torch.nn.init`: gives parameters initial values, and returns them."""

from __future__ import annotations

import math

from ... import _core, initializer
from ..._fault import fault
from ..._inplace import put
from .._state import takes_generator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor


def _filled(tensor: Tensor, value: Any) -> Tensor:
    with _core.no_grad():
        return put(tensor, value)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return _filled(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return _filled(tensor, 1.0)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """The same number everywhere."""
    return _filled(tensor, val)


@takes_generator
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Numbers of a normal distribution."""
    return _filled(tensor, _core.normal((tensor.dtype, tensor.shape), mean, std))


@takes_generator
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Numbers evenly between two."""
    return _filled(tensor, _core.uniform((tensor.dtype, tensor.shape), a, b))


@takes_generator
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Numbers of a normal distribution between two bounds."""
    return _filled(tensor, _core.truncated_normal((tensor.dtype, tensor.shape), mean, std, a, b))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Ones at the centres of windows, which keep the channels of a convolution."""
    import numpy as np

    if tensor.ndim not in (3, 4, 5) or tensor.shape[0] % groups:
        raise fault(ValueError, f"{tensor.type_text} is not a weight of a convolution of {groups} groups", "give one of 3, 4 or 5 axes")
    found = np.zeros(tuple(tensor.shape), "float64")
    outputs = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(outputs, tensor.shape[1])):
            place = (group * outputs + channel, channel, *centre)
            found[place] = 1.0
    return _filled(tensor, _core.tensor(found, tensor.dtype))


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix."""
    return _filled(tensor, _core.eye(tensor.shape[0], tensor.shape[1], 0, tensor.dtype))


@takes_generator
def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """A matrix with orthogonal rows or columns."""
    sizes: Any = tensor.shape
    return _filled(tensor, initializer.Orthogonal()(sizes, tensor.dtype) * gain)


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """How much a function shrinks values, as a factor for weights before it."""
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    return gains.get(nonlinearity, 1.0)


def _fans(tensor: Tensor) -> tuple[int, int]:
    sizes: Any = tensor.shape
    window = math.prod(sizes[2:])
    return sizes[1] * window, sizes[0] * window


@takes_generator
def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Numbers evenly within bounds that keep variances between layers (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


@takes_generator
def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Numbers of a normal distribution that keeps variances between layers (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))))


@takes_generator
def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Numbers evenly within bounds that keep variances before a function (He and others, 2015)."""
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / _fans(tensor)[mode == "fan_out"])
    return uniform_(tensor, -bound, bound)


@takes_generator
def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Numbers of a normal distribution that keeps variances before a function (He and others, 2015)."""
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"]))


def __getattr__(name: str) -> object:
    from .._missing import missing

    raise missing(__name__, name)
