"""Layers under Fluid's names, with Fluid's arguments and initial values."""

from __future__ import annotations

from .. import _core
from .._attr import ParamAttr
from .._fault import fault
from .._sequence import listed
from ..layers._activations import activation
from ..initializer import KaimingNormal, XavierUniform, Zeros
from ..nn import AvgPool2d, Conv2d, GlobalAvgPool, GlobalMaxPool, GRUCell, Layer, LayerNorm
from ..nn import BatchNorm as _BatchNorm
from ..nn import Embedding as _Embedding
from ..nn import Linear, MaxPool2d, PReLU

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._attr import AttrLike, Init
    from .._core import DTypeLike, Tensor

__all__ = ["FC", "BatchNorm", "Conv2D", "Embedding", "GRUUnit", "LayerNorm", "PRelu", "Pool2D"]

GRUUnit, PRelu = GRUCell, PReLU


def with_default(attr: AttrLike, init: Init) -> Any:
    """What is said of a parameter, with this initial value unless another one is said."""
    if attr is False:
        return False
    said = ParamAttr.of(attr)
    first = said.initializer or init
    return ParamAttr(said.name, first, said.learning_rate, said.regularizer, said.trainable)


class Acted(Layer):
    """A layer with a function of its output, by name."""

    act: str | None = None

    def forward(self, x: Tensor) -> Tensor:
        return activation(super().forward(x), self.act)


class FC(Acted, Linear):
    """A fully connected layer over all axes but the first ones. `weight` is `[out, in]`.

    Args:
        size: The number of outputs.
        param_attr: What is said of the weight; Xavier's numbers unless it says otherwise.
        num_flatten_dims: The number of axes that stay as they are.
        bias_attr: What is said of the bias, which begins as zeros; False leaves it out.
        act: The name of a function of the output.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> fc = fl.imperative.FC(3, fl.ParamAttr(initializer=fl.initializer.Constant(0.1)))
        >>> fc(fl.tensor([[1.0, 2.0]])).numpy().round(3).tolist() == [[np.float32(0.3)] * 3]
        True
    """

    def __init__(
        self,
        size: int,
        param_attr: AttrLike = None,
        num_flatten_dims: int = 1,
        bias_attr: AttrLike = None,
        act: str | None = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        weight, bias = with_default(param_attr, XavierUniform()), with_default(bias_attr, Zeros())
        super().__init__(None, size, True, weight, bias, dtype, name)
        self.num_flatten_dims, self.act = num_flatten_dims, act

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim > self.num_flatten_dims + 1:
            x = _core.flatten(x, self.num_flatten_dims, -1)
        return super().forward(x)


class Conv2D(Acted, Conv2d):
    """A convolution over images.

    Args:
        num_channels: The number of channels of the input, or nothing if the first input says it.
        num_filters: The number of channels of the output.
        filter_size: The size of the window.
        stride: The step of the window.
        padding: The zeros on each side.
        dilation: The distance of the window's points.
        groups: The number of parts that channels are split into.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias; False leaves it out.
        act: The name of a function of the output.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> fl.imperative.Conv2D(1, 4, 3, padding=1, act="relu")(fl.full((2, 1, 5, 5), 0.5)).shape
        (2, 4, 5, 5)
    """

    def __init__(
        self,
        num_channels: int | None,
        num_filters: int,
        filter_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int | None = None,
        param_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        act: str | None = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        window = (filter_size,) * 2 if isinstance(filter_size, int) else tuple(listed(filter_size, "sizes"))
        super().__init__(
            num_channels, num_filters, window, stride, padding, dilation, groups or 1,
            weight_attr=with_default(param_attr, KaimingNormal()),
            bias_attr=with_default(bias_attr, Zeros()), dtype=dtype, name=name,
        )  # fmt: skip
        self.act = act


class Pool2D(Layer):
    """The largest element or the mean of each window of images.

    Args:
        pool_size: The size of the window.
        pool_type: "max" or "avg".
        pool_stride: Its step.
        pool_padding: What is added on each side.
        global_pooling: Whether the window is the whole image.
        ceil_mode: Whether a window may reach over the end.
        exclusive: Whether zeros on the sides do not count.
        name: The layer's name.

    Example:
        >>> fl.imperative.Pool2D(2, "max", 2)(fl.full((1, 1, 4, 4), 0.5)).shape
        (1, 1, 2, 2)
    """

    def __init__(
        self,
        pool_size: int | Sequence[int] = 1,
        pool_type: str = "max",
        pool_stride: int | Sequence[int] = 1,
        pool_padding: int | Sequence[int] = 0,
        global_pooling: bool = False,
        ceil_mode: bool = False,
        exclusive: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        if pool_type not in ("max", "avg"):
            raise fault(ValueError, f"no pool is named {pool_type!r}", 'use "max" or "avg"')
        self.pool: Layer
        if global_pooling:
            self.pool = GlobalMaxPool() if pool_type == "max" else GlobalAvgPool()
        elif pool_type == "max":
            self.pool = MaxPool2d(pool_size, pool_stride, pool_padding, ceil_mode=ceil_mode)
        else:
            self.pool = AvgPool2d(pool_size, pool_stride, pool_padding, ceil_mode, not exclusive)
        self.keeps_axes = global_pooling

    def forward(self, x: Tensor) -> Tensor:
        y = self.pool(x)
        if self.keeps_axes and y.ndim == 2:
            return _core.reshape(y, (*y.shape, 1, 1))
        return y


class BatchNorm(Acted, _BatchNorm):
    """Batch normalisation; `momentum` is the share of running statistics that a batch leaves.

    Args:
        num_channels: The number of channels.
        act: The name of a function of the output.
        momentum: The share that stays.
        epsilon: What is added to the variance.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> fl.imperative.BatchNorm(2, act="relu")(fl.normal("f32[4, 2]")).shape
        (4, 2)
    """

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        param_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(
            num_channels,
            epsilon,
            1.0 - momentum,
            weight_attr=param_attr,
            bias_attr=bias_attr,
            dtype=dtype,
            name=name,
        )
        self.act = act


class Embedding(_Embedding):
    """Rows of a table by number.

    Args:
        size: The number of rows and their size.
        padding_idx: The number of a row that begins as zeros and is not trained.
        param_attr: What is said of the table; Xavier's numbers unless it says otherwise.
        dtype: The element type.
        name: The layer's name.

    Example:
        >>> fl.imperative.Embedding([10, 4])(fl.tensor([1, 2])).shape
        (2, 4)
    """

    def __init__(
        self,
        size: Sequence[int],
        padding_idx: int | None = None,
        param_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        attr = param_attr if padding_idx is not None else with_default(param_attr, XavierUniform())
        super().__init__(size[0], size[1], padding_idx, weight_attr=attr, dtype=dtype, name=name)
