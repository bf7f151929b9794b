"""Initialisers: how parameters get their first values.

An initialiser is a function of shape and dtype; any function of these will do in its place. Random
ones draw from a stream that belongs to the parameter's name, so the numbers depend on the seed
and the name, not on the order in which layers are made or called.
"""

from __future__ import annotations

import math

from . import _core
from ._fault import fault, missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._core import DType, Tensor, TensorLike

    Sizes = tuple[int, ...]

__all__ = [
    "Assign", "Bilinear", "Constant", "Dirac", "Eye", "Initializer", "KaimingNormal",
    "KaimingUniform", "MSRA", "Normal", "NumpyArrayInitializer", "Ones", "Orthogonal", "Scaled",
    "TruncatedNormal", "Uniform", "Xavier", "XavierNormal", "XavierUniform", "Zeros", "gain",
]


class Initializer:
    """How a parameter gets its first value."""

    #: Whether random numbers are drawn.
    is_random = True

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        """The value of a parameter of this shape and element type."""
        raise missing(self, "__call__(self, shape, dtype)")

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{type(self).__name__}({fields})"


class Constant(Initializer):
    """One number everywhere.

    Example:
        >>> fl.initializer.Constant(0.5)((2,), fl.float32).tolist()
        [0.5, 0.5]
    """

    is_random = False

    def __init__(self, value: float = 0.0) -> None:
        self.value = float(value)

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        return _core.full(shape, self.value, dtype)


class Zeros(Constant):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0.0)


class Ones(Constant):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1.0)


class Uniform(Initializer):
    """Numbers evenly distributed from `low` to `high`."""

    def __init__(self, low: float = -1.0, high: float = 1.0) -> None:
        self.low, self.high = float(low), float(high)

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        return _core.uniform((dtype, shape), self.low, self.high)


class Normal(Initializer):
    """Normally distributed numbers of mean `loc` and standard deviation `scale`."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0) -> None:
        self.loc, self.scale = float(loc), float(scale)

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        return _core.normal((dtype, shape), self.loc, self.scale)


class TruncatedNormal(Initializer):
    """Normally distributed numbers, drawn again where they fall outside.

    Args:
        loc: The mean, before anything is cut off.
        scale: The standard deviation, before anything is cut off.
        low: The lowest number; two deviations below the mean if nothing is said.
        high: The highest number; two deviations above the mean if nothing is said.
    """

    def __init__(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        self.loc, self.scale = float(loc), float(scale)
        self.low = self.loc - 2 * self.scale if low is None else float(low)
        self.high = self.loc + 2 * self.scale if high is None else float(high)

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        return _core.truncated_normal((dtype, shape), self.loc, self.scale, self.low, self.high)


def gain(function: str, slope: float = 0.01) -> float:
    """The factor on weights that makes up for the function that follows a layer.

    Args:
        function: "linear", "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        slope: That of "leaky_relu" for negative numbers.

    Example:
        >>> fl.initializer.gain("relu") == 2**0.5
        True
    """
    known = {
        "linear": 1.0,
        "sigmoid": 1.0,
        "tanh": 5.0 / 3.0,
        "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1.0 + slope * slope)),
        "selu": 0.75,
    }
    if function not in known:
        names = ", ".join(known)
        raise fault(ValueError, f"no gain is known for {function!r}", f"use one of {names}")
    return known[function]


class Scaled(Initializer):
    """Random numbers of variance `gain² / fan`, which keeps activations at one scale.

    Args:
        gain: The factor on the standard deviation.
        fan: Which connections are counted: "fan_in", "fan_out" or "mean".
        normal: Whether the numbers are normally distributed, or evenly.
    """

    def __init__(self, gain: float = 1.0, fan: str = "fan_in", normal: bool = False) -> None:
        if fan not in ("fan_in", "fan_out", "mean"):
            raise fault(
                ValueError, f"{fan!r} counts no connections", "use fan_in, fan_out or mean"
            )
        self.gain, self.fan, self.normal = float(gain), fan, normal

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        if len(shape) < 2:
            raise fault(
                ValueError,
                f"an initialiser by connections needs two axes, found the shape {shape}",
                "use Uniform, Normal or Constant for it",
            )
        field = math.prod(shape[2:])
        inwards, outwards = float(shape[1] * field), float(shape[0] * field)
        mean = (inwards + outwards) / 2.0
        count = {"fan_in": inwards, "fan_out": outwards, "mean": mean}[self.fan]
        std = self.gain / math.sqrt(max(count, 1.0))
        if self.normal:
            return _core.normal((dtype, shape), 0.0, std)
        return _core.uniform((dtype, shape), -math.sqrt(3.0) * std, math.sqrt(3.0) * std)


class XavierUniform(Scaled):
    """Even numbers of variance `gain² · 2 / (fan_in + fan_out)`: Glorot and Bengio's."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain, "mean", False)


class XavierNormal(Scaled):
    """Normal numbers of variance `gain² · 2 / (fan_in + fan_out)`."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain, "mean", True)


class KaimingUniform(Scaled):
    """Even numbers of variance `gain² / fan`, with the gain of the function that follows: He's."""

    def __init__(self, fan: str = "fan_in", function: str = "relu", slope: float = 0.01) -> None:
        super().__init__(gain(function, slope), fan, False)


class KaimingNormal(Scaled):
    """Normal numbers of variance `gain² / fan`, with the gain of the function that follows."""

    def __init__(self, fan: str = "fan_in", function: str = "relu", slope: float = 0.01) -> None:
        super().__init__(gain(function, slope), fan, True)


def Xavier(uniform: bool = True) -> Scaled:
    """Fluid's name of `XavierUniform` and `XavierNormal`."""
    return XavierUniform() if uniform else XavierNormal()


def MSRA(uniform: bool = True) -> Scaled:
    """Fluid's name of `KaimingUniform` and `KaimingNormal`."""
    return KaimingUniform() if uniform else KaimingNormal()


class Orthogonal(Initializer):
    """A matrix of orthonormal rows or columns, times `gain`; axes after the first are columns.

    Example:
        >>> q = fl.initializer.Orthogonal()((2, 3), fl.float64).numpy()
        >>> np.allclose(q @ q.T, np.eye(2))
        True
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = float(gain)

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        if len(shape) < 2:
            raise fault(ValueError, f"orthogonal needs two axes, found the shape {shape}")
        rows, columns = shape[0], math.prod(shape[1:])
        # The decomposition wants a tall matrix, in a type that it knows.
        exact = "float64" if dtype == "float64" else "float32"
        tall = _core.normal((exact, (max(rows, columns), min(rows, columns))), 0.0, 1.0)
        q = _core.qr(tall)[0]
        q = _core.transpose(q, 0, 1) if rows < columns else q
        q = _core.reshape(q * self.gain, shape)
        return q if exact == dtype.name else _core.cast(q, dtype)


class Assign(Initializer):
    """A given value, in the element type of the parameter.

    Example:
        >>> fl.initializer.Assign([1.0, 2.0])((2,), fl.float64).tolist()
        [1.0, 2.0]
    """

    is_random = False

    def __init__(self, value: TensorLike | Sequence[Any]) -> None:
        self.value = value

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        value = self.value if isinstance(self.value, _core.Tensor) else _core.tensor(self.value)
        if value.shape != tuple(shape):
            raise fault(
                ValueError,
                f"a value of shape {value.shape} was given for a parameter of shape {shape}",
            )
        return value if value.dtype == dtype else _core.cast(value, dtype)

    def __deepcopy__(self, memo: dict[int, object]) -> Assign:
        return self


#: Fluid's name.
NumpyArrayInitializer = Assign


class Eye(Initializer):
    """Ones on the diagonal of a matrix, zeros elsewhere."""

    is_random = False

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        if len(shape) != 2:
            raise fault(ValueError, f"eye needs a matrix, found the shape {shape}")
        return _core.eye(shape[0], shape[1], 0, dtype)


class Dirac(Initializer):
    """A convolution that passes its input on, as far as it has channels, in each group."""

    is_random = False

    def __init__(self, groups: int = 1) -> None:
        self.groups = groups

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        import numpy as np

        if len(shape) < 3:
            raise fault(
                ValueError, f"dirac needs the weight of a convolution, found the shape {shape}"
            )
        if self.groups <= 0 or shape[0] % self.groups:
            raise fault(ValueError, f"{self.groups} groups do not divide {shape[0]} channels")
        cells, per_group = np.zeros(shape), shape[0] // self.groups
        centre = tuple(size // 2 for size in shape[2:])
        for out in range(shape[0]):
            if out % per_group < shape[1]:
                cells[(out, out % per_group) + centre] = 1.0
        return _core.tensor(cells, dtype)


class Bilinear(Initializer):
    """A transposed convolution that enlarges images by bilinear interpolation."""

    is_random = False

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        import numpy as np

        if len(shape) != 4 or shape[2] != shape[3]:
            raise fault(ValueError, f"bilinear needs a square window, found the shape {shape}")
        size = shape[3]
        factor = math.ceil(size / 2.0)
        centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        ramp = 1 - np.abs(np.arange(size) / factor - centre)
        return _core.tensor(np.broadcast_to(np.outer(ramp, ramp), shape).copy(), dtype)


def weight_default() -> Scaled:
    """The weight of linear layers and convolutions unless said otherwise."""
    return KaimingUniform("fan_in", "leaky_relu", math.sqrt(5.0))


def bias_default(fan_in: int) -> Uniform:
    """The bias that goes with a weight of so many connections."""
    bound = 0.0 if fan_in == 0 else 1.0 / math.sqrt(float(fan_in))
    return Uniform(-bound, bound)
