"""Initialisers: how parameters get their initial values.

An initialiser is a function of shape and dtype; any function of these will do in its place. Random
ones draw from a stream that belongs to the parameter's name, so the numbers depend on the seed
and the name, not on the order in which layers are made or called.
"""

from __future__ import annotations

from . import _core
from ._fault import missing

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
    """How a parameter gets its initial value. One of one's own has a `__call__`."""

    #: Whether random numbers may be drawn.
    is_random: bool = True

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        """The value of a parameter of this shape and element type."""
        raise missing(self, "__call__(self, shape, dtype)")

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{type(self).__name__}({fields})"


class _Named(Initializer):
    # A name for one of Rust's, with the attributes that it takes.
    _kind: str
    _fields: tuple[str, ...] = ()

    def _own(self) -> _core.Initializer:
        return _core.Initializer(self._kind, *(getattr(self, field) for field in self._fields))

    def _stated(self) -> _core.Initializer | None:
        # A class of the user's may call itself something else.
        return self._own() if type(self).__call__ is _Named.__call__ else None

    def __call__(self, shape: Sizes, dtype: DType) -> Tensor:
        return self._own()(shape, dtype)

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        return self._own().is_random


class Constant(_Named):
    """One number everywhere.

    Example:
        >>> fl.initializer.Constant(0.5)((2,), fl.float32).tolist()
        [0.5, 0.5]
    """

    _kind, _fields = "constant", ("value",)

    def __init__(self, value: float = 0.0) -> None:
        self.value = float(value)


class Zeros(Constant):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0.0)


class Ones(Constant):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1.0)


class Uniform(_Named):
    """Numbers evenly distributed from `low` to `high`."""

    _kind, _fields = "uniform", ("low", "high")

    def __init__(self, low: float = -1.0, high: float = 1.0) -> None:
        self.low, self.high = float(low), float(high)


class Normal(_Named):
    """Normally distributed numbers of mean `loc` and standard deviation `scale`."""

    _kind, _fields = "normal", ("loc", "scale")

    def __init__(self, loc: float = 0.0, scale: float = 1.0) -> None:
        self.loc, self.scale = float(loc), float(scale)


class TruncatedNormal(_Named):
    """Normally distributed numbers, drawn again where they fall outside.

    Args:
        loc: The mean, before anything is cut off.
        scale: The standard deviation, before anything is cut off.
        low: The lowest number; two deviations below the mean if nothing is said.
        high: The highest number; two deviations above the mean if nothing is said.
    """

    _kind, _fields = "truncated_normal", ("loc", "scale", "low", "high")

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


def gain(function: str, slope: float = 0.01) -> float:
    """The factor on weights that makes up for the function that follows a layer.

    Args:
        function: "linear", "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        slope: That of "leaky_relu" for negative numbers.

    Example:
        >>> fl.initializer.gain("relu") == 2**0.5
        True
    """
    return _core.gain(function, slope)


class Scaled(_Named):
    """Random numbers of variance `gain² / fan`, which keeps activations at one scale.

    Args:
        gain: The factor on the standard deviation.
        fan: Which connections are counted: "fan_in", "fan_out" or "mean".
        normal: Whether the numbers are normally distributed, or evenly.
    """

    _kind, _fields = "scaled", ("gain", "fan", "normal")

    def __init__(self, gain: float = 1.0, fan: str = "fan_in", normal: bool = False) -> None:
        self.gain, self.fan, self.normal = float(gain), fan, normal
        self._own()


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


class Orthogonal(_Named):
    """A matrix of orthonormal rows or columns, times `gain`; axes after the first are columns.

    Example:
        >>> q = fl.initializer.Orthogonal()((2, 3), fl.float64).numpy()
        >>> np.allclose(q @ q.T, np.eye(2))
        True
    """

    _kind, _fields = "orthogonal", ("gain",)

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = float(gain)


class Assign(_Named):
    """A given value, in the element type of the parameter.

    Example:
        >>> fl.initializer.Assign([1.0, 2.0])((2,), fl.float64).tolist()
        [1.0, 2.0]
    """

    _kind, _fields = "assign", ("value",)

    def __init__(self, value: TensorLike | Sequence[Any]) -> None:
        with _core.imperative():
            self.value = value if isinstance(value, _core.Tensor) else _core.tensor(value)

    def _own(self) -> _core.Initializer:
        # It is a value also while a program is built, not an input of it.
        with _core.imperative():
            return _core.Initializer(self._kind, self.value)

    def __deepcopy__(self, memo: dict[int, object]) -> Assign:
        return self


#: Fluid's name.
NumpyArrayInitializer = Assign


class Eye(_Named):
    """Ones on the diagonal of a matrix, zeros elsewhere."""

    _kind = "eye"


class Dirac(_Named):
    """A convolution that passes its input on, as far as it has channels, in each group."""

    _kind, _fields = "dirac", ("groups",)

    def __init__(self, groups: int = 1) -> None:
        self.groups = groups


class Bilinear(_Named):
    """A transposed convolution that enlarges images by bilinear interpolation."""

    _kind = "bilinear"
