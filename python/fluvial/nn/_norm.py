"""Layers that normalise: by layer, root mean square, group, instance and neighbours."""

from __future__ import annotations

import math

from .. import _core
from ..initializer import Normal, Ones, Zeros
from ._layer import Layer
from ._parameter import Buffer, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._attr import AttrLike
    from .._core import DTypeLike, Tensor

_STEPS = {"float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}


class _Affine(Layer):
    def _declare(
        self,
        shape: tuple[int, ...],
        affine: bool,
        bias: bool,
        attrs: tuple[AttrLike, AttrLike],
        dtype: DTypeLike,
    ) -> None:
        weight, shift = self._attr(attrs[0], affine), self._attr(attrs[1], affine and bias)
        self.weight = None if weight is None else Parameter(shape, dtype, Ones(), weight)
        self.bias = None if shift is None else Parameter(shape, dtype, Zeros(), shift)


def _shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


class LayerNorm(_Affine):
    """Values with mean 0 and variance 1 over the last axes, times `weight` plus `bias`.

    Args:
        shape: The sizes of these axes.
        eps: What is added to the variance.
        affine: Whether there are `weight` and `bias`.
        bias: Whether there is a bias.
        weight_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> fl.nn.LayerNorm(4)(fl.normal("f32[2, 3, 4]")).shape
        (2, 3, 4)
    """

    def __init__(
        self,
        shape: int | Sequence[int],
        eps: float = 1e-5,
        affine: bool = True,
        bias: bool = True,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.shape, self.eps = _shape(shape), eps
        self._declare(self.shape, affine, bias, (weight_attr, bias_attr), dtype)

    def forward(self, x: Tensor) -> Tensor:
        return _core.layer_norm(x, len(self.shape), self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.shape}, eps={self.eps}"


class RMSNorm(_Affine):
    """Values with root mean square 1 over the last axes, times `weight`.

    Args:
        shape: The sizes of these axes.
        eps: What is added to the mean square; with None the step of the element type.
        affine: Whether there is a `weight`.
        weight_attr: What is said of the weight.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> fl.nn.RMSNorm(2)(fl.tensor([[3.0, 3.0]])).numpy().round(3).tolist()
        [[1.0, 1.0]]
    """

    def __init__(
        self,
        shape: int | Sequence[int],
        eps: float | None = None,
        affine: bool = True,
        weight_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.shape, self.eps = _shape(shape), eps
        self._declare(self.shape, affine, False, (weight_attr, False), dtype)

    def forward(self, x: Tensor) -> Tensor:
        eps = _STEPS.get(x.dtype.name, 2.0**-23) if self.eps is None else self.eps
        return _core.rms_norm(x, len(self.shape), self.weight, eps)

    def extra_repr(self) -> str:
        return f"{self.shape}, eps={self.eps}"


class GroupNorm(_Affine):
    """Values of each group of channels with mean 0 and variance 1.

    Args:
        groups: The number of groups.
        channels: The number of channels.
        eps: What is added to the variance.
        affine: Whether there are `weight` and `bias`.
        weight_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> fl.nn.GroupNorm(2, 4)(fl.normal("f32[2, 4, 3]")).shape
        (2, 4, 3)
    """

    def __init__(
        self,
        groups: int,
        channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.groups, self.channels, self.eps = groups, channels, eps
        self._declare((channels,), affine, True, (weight_attr, bias_attr), dtype)

    def forward(self, x: Tensor) -> Tensor:
        return _core.group_norm(x, self.groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.groups}, {self.channels}, eps={self.eps}"


class InstanceNorm(_Affine):
    """Values of each channel of each item with mean 0 and variance 1.

    Args:
        channels: The number of channels.
        eps: What is added to the variance.
        affine: Whether there are `weight` and `bias`.
        weight_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> fl.nn.InstanceNorm(4)(fl.normal("f32[2, 4, 3]")).shape
        (2, 4, 3)
    """

    def __init__(
        self,
        channels: int,
        eps: float = 1e-5,
        affine: bool = False,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.channels, self.eps = channels, eps
        self._declare((channels,), affine, True, (weight_attr, bias_attr), dtype)

    def forward(self, x: Tensor) -> Tensor:
        return _core.instance_norm(x, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.channels}, eps={self.eps}"


class LocalResponseNorm(Layer):
    """Values divided by a power of the mean square of neighbouring channels.

    Args:
        size: The number of neighbours.
        alpha: The factor on the mean square.
        beta: The power.
        k: What is added to the mean square.

    Example:
        >>> fl.nn.LocalResponseNorm(2)(fl.full((1, 4, 2, 2), 1.0)).shape
        (1, 4, 2, 2)
    """

    def __init__(
        self,
        size: int,
        alpha: float = 1e-4,
        beta: float = 0.75,
        k: float = 1.0,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.options = {"size": size, "alpha": alpha, "beta": beta, "k": k}

    def forward(self, x: Tensor) -> Tensor:
        return _core.local_response_norm(x, **self.options)  # type: ignore[arg-type]

    def extra_repr(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in self.options.items())


class SpectralNorm(Layer):
    """A weight divided by its largest singular value, which is found step by step in training.

    Args:
        shape: The sizes of the weight.
        axis: The axis of the weight's rows.
        iterations: The number of steps at each call.
        eps: What keeps divisors from zero.
        dtype: The element type of the buffers.
        name: The layer's name.

    Example:
        >>> fl.nn.SpectralNorm((3, 2))(fl.normal("f32[3, 2]")).shape
        (3, 2)
    """

    def __init__(
        self,
        shape: Sequence[int],
        axis: int = 0,
        iterations: int = 1,
        eps: float = 1e-12,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.axis, self.iterations, self.eps = axis, iterations, eps
        rows = tuple(shape)[axis]
        columns = math.prod(shape) // max(rows, 1)
        self.weight_u: Tensor = Buffer((rows,), dtype, Normal())
        self.weight_v: Tensor = Buffer((columns,), dtype, Normal())

    def forward(self, weight: Tensor) -> Tensor:
        steps = self.iterations if self.training else 0
        y, u, v = _core.spectral_norm(
            weight, self.weight_u, self.weight_v, axis=self.axis, iterations=steps, eps=self.eps
        )
        if self.training:
            self.weight_u, self.weight_v = u, v
        return y
