"""Convolutions."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ..initializer import weight_default
from ._linear import WeightAndBias
from ._parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._attr import AttrLike
    from .._core import DTypeLike, Tensor

    PerAxis = int | Sequence[int]


class _Conv(WeightAndBias):
    """What all convolutions share; `_function` and `_n_axes` say which one it is."""

    _function: Any
    _n_axes: int
    _transposed = False

    def __init__(
        self,
        inputs: int | None,
        outputs: int,
        kernel: PerAxis,
        groups: int,
        bias: bool,
        weight_attr: AttrLike,
        bias_attr: AttrLike,
        dtype: DTypeLike,
        name: str | None,
        **options: Any,
    ) -> None:
        super().__init__(name)
        self.channels, self.groups = (inputs, outputs), groups
        self.kernel = self._per_axis(kernel)
        self.options = options
        shape = None if inputs is None else self._shape(inputs)
        weight = Parameter(shape, dtype, weight_default(), weight_attr)
        self._declare(weight, outputs, bias, bias_attr)

    def _per_axis(self, sizes: PerAxis) -> tuple[int, ...]:
        many = (sizes,) * self._n_axes if isinstance(sizes, int) else tuple(sizes)
        if len(many) != self._n_axes:
            raise fault(
                ValueError,
                f"{list(many)} are {len(many)} sizes for {self._n_axes} axes",
                "give one number, or one for each axis",
            )
        return many

    def _shape(self, inputs: int) -> tuple[int, ...]:
        outputs, groups = self.channels[1], self.groups
        for channels in (inputs, outputs):
            if groups < 1 or channels % groups:
                raise fault(
                    ValueError,
                    f"{groups} groups do not divide {channels} channels",
                    "choose numbers of channels that are multiples of the number of groups",
                )
        if self._transposed:
            return (inputs, outputs // groups, *self.kernel)
        return (outputs, inputs // groups, *self.kernel)

    def forward(self, x: Tensor) -> Tensor:
        weight = self._parameters["weight"]
        if not weight.is_sized:
            channels = x.shape[1] if x.ndim > 1 else None
            if not isinstance(channels, int):
                raise fault(
                    ValueError,
                    f"the number of channels cannot be taken from {x.type_text}",
                    "give an input whose second size is a number",
                )
            self.channels = (channels, self.channels[1])
            weight.sized(self._shape(channels))
        function = type(self)._function
        return function(x, weight, self.bias, groups=self.groups, **self.options)

    def extra_repr(self) -> str:
        parts = [*map(str, self.channels), f"kernel={self.kernel}"]
        default = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1, "same": False}
        parts += [f"{k}={v}" for k, v in self.options.items() if v != default[k]]
        return ", ".join(parts + ([f"groups={self.groups}"] if self.groups != 1 else []))


class _Forward(_Conv):
    def __init__(
        self,
        inputs: int | None,
        outputs: int,
        kernel: PerAxis,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        same: bool = False,
        bias: bool = True,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(
            inputs, outputs, kernel, groups, bias, weight_attr, bias_attr, dtype, name,
            stride=stride, padding=padding, dilation=dilation, same=same,
        )  # fmt: skip


class _Transposed(_Conv):
    _transposed = True

    def __init__(
        self,
        inputs: int | None,
        outputs: int,
        kernel: PerAxis,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        output_padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        bias: bool = True,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(
            inputs, outputs, kernel, groups, bias, weight_attr, bias_attr, dtype, name,
            stride=stride, padding=padding, output_padding=output_padding, dilation=dilation,
        )  # fmt: skip


class Conv1d(_Forward):
    """A convolution over sequences. `weight` is `[out, in / groups, kernel]`.

    Args:
        inputs: The number of channels of the input, or nothing if the first input says it.
        outputs: The number of channels of the output.
        kernel: The size of the window, one number or one for each axis.
        stride: The step of the window.
        padding: The zeros on each side.
        dilation: The distance of the window's points.
        groups: The number of parts that channels are split into.
        same: Whether the padding is such that, with stride 1, sizes stay as they are.
        bias: Whether there is a bias.
        weight_attr: What is said of the weight.
        bias_attr: What is said of the bias; False leaves it out.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> fl.nn.Conv1d(2, 4, 3, padding=1)(fl.full((1, 2, 8), 0.5)).shape
        (1, 4, 8)
    """

    _function, _n_axes = staticmethod(_core.conv1d), 1


class Conv2d(_Forward):
    """A convolution over images. `weight` is `[out, in / groups, height, width]`.

    Args are those of `Conv1d`.

    Example:
        >>> fl.nn.Conv2d(1, 8, 3, padding=1)(fl.full((2, 1, 5, 5), 0.5)).shape
        (2, 8, 5, 5)
    """

    _function, _n_axes = staticmethod(_core.conv2d), 2


class Conv3d(_Forward):
    """A convolution over volumes. `weight` is `[out, in / groups, depth, height, width]`.

    Args are those of `Conv1d`.

    Example:
        >>> fl.nn.Conv3d(1, 2, 2)(fl.full((1, 1, 3, 3, 3), 0.5)).shape
        (1, 2, 2, 2, 2)
    """

    _function, _n_axes = staticmethod(_core.conv3d), 3


class ConvTranspose1d(_Transposed):
    """A transposed convolution over sequences. `weight` is `[in, out / groups, kernel]`.

    Args are those of `Conv1d`, with `output_padding`, the zeros at one side of the output.

    Example:
        >>> fl.nn.ConvTranspose1d(2, 4, 2, stride=2)(fl.full((1, 2, 3), 0.5)).shape
        (1, 4, 6)
    """

    _function, _n_axes = staticmethod(_core.conv_transpose1d), 1


class ConvTranspose2d(_Transposed):
    """A transposed convolution over images. `weight` is `[in, out / groups, height, width]`.

    Args are those of `ConvTranspose1d`.

    Example:
        >>> fl.nn.ConvTranspose2d(2, 1, 2, stride=2)(fl.full((1, 2, 3, 3), 0.5)).shape
        (1, 1, 6, 6)
    """

    _function, _n_axes = staticmethod(_core.conv_transpose2d), 2


class ConvTranspose3d(_Transposed):
    """A transposed convolution over volumes.

    Args are those of `ConvTranspose1d`.

    Example:
        >>> fl.nn.ConvTranspose3d(1, 1, 2)(fl.full((1, 1, 2, 2, 2), 0.5)).shape
        (1, 1, 3, 3, 3)
    """

    _function, _n_axes = staticmethod(_core.conv_transpose3d), 3
