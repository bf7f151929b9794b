"""Linear layers."""

from __future__ import annotations

import math

from .. import _core
from .._fault import fault
from ..initializer import Initializer, bias_default, weight_default
from ._layer import Layer
from ._parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._attr import AttrLike, Init
    from .._core import DType, DTypeLike, Tensor, TensorLike


class BiasOf(Initializer):
    """The first value of the bias that goes with a weight, whose sizes may not be known yet."""

    def __init__(self, weight: Parameter) -> None:
        self.weight = weight

    def __call__(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        sizes = self.weight.shape if self.weight.is_sized else (0, 0)
        return bias_default(math.prod(sizes[1:]))(shape, dtype)


class WeightAndBias(Layer):
    """A layer with a `weight` and, perhaps, a `bias`."""

    def _declare(
        self,
        weight: Parameter,
        outputs: int,
        bias: bool,
        bias_attr: AttrLike,
        init: Init | None = None,
    ) -> None:
        self.weight = weight
        attr = self._attr(bias_attr, bias)
        first = init or BiasOf(weight)
        self.bias = None if attr is None else Parameter((outputs,), weight.dtype, first, attr)


class Linear(WeightAndBias):
    """`x · weightᵀ + bias` over the last axis: a fully connected layer. `weight` is `[out, in]`.

    Args:
        inputs: The number of inputs, or nothing if it is that of the first input.
        outputs: The number of outputs.
        bias: Whether there is a bias.
        weight_attr: What is said of the weight.
        bias_attr: What is said of the bias; False leaves it out.
        dtype: The element type of the parameters.
        name: The layer's name.

    Shape:
        `[*, in]` to `[*, out]`.

    Example:
        >>> fl.nn.Linear(3, 5)(fl.full((2, 3), 0.5)).shape
        (2, 5)
    """

    def __init__(
        self,
        inputs: int | None,
        outputs: int,
        bias: bool = True,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.outputs = outputs
        shape = None if inputs is None else (outputs, inputs)
        weight = Parameter(shape, dtype, weight_default(), weight_attr)
        self._declare(weight, outputs, bias, bias_attr)

    def forward(self, x: Tensor) -> Tensor:
        weight = self._parameters["weight"]
        if not weight.is_sized:
            if x.ndim == 0 or not isinstance(x.shape[-1], int):
                raise fault(
                    ValueError,
                    f"the number of inputs cannot be taken from {x.type_text}",
                    "give an input whose last size is a number, or say it by `Linear(inputs, …)`",
                )
            weight.sized((self.outputs, x.shape[-1]))
        return _core.linear(x, weight, self.bias)

    def extra_repr(self) -> str:
        weight = self._parameters["weight"]
        bias = "" if "bias" in self._parameters else ", bias=False"
        return f"{weight.shape[1] if weight.is_sized else None}, {self.outputs}{bias}"


class LazyLinear(Linear):
    """`Linear` whose number of inputs is that of its first input.

    Args:
        outputs: The number of outputs.

    Example:
        >>> layer = fl.nn.LazyLinear(5)
        >>> _ = layer(fl.full((2, 3), 0.5))
        >>> layer.weight.shape
        (5, 3)
    """

    def __init__(
        self,
        outputs: int,
        bias: bool = True,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(None, outputs, bias, weight_attr, bias_attr, dtype, name)


class Bilinear(WeightAndBias):
    """`x1 · weight[o] · x2 + bias[o]` for each output `o`. `weight` is `[out, in1, in2]`.

    Args:
        first: The number of features of the first input.
        second: The number of features of the second input.
        outputs: The number of outputs.

    Shape:
        `[*, first]` and `[*, second]` to `[*, out]`.

    Example:
        >>> fl.nn.Bilinear(2, 3, 4)(fl.full((5, 2), 0.5), fl.full((5, 3), 0.5)).shape
        (5, 4)
    """

    def __init__(
        self,
        first: int,
        second: int,
        outputs: int,
        bias: bool = True,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.sizes = (first, second, outputs)
        init = bias_default(first)
        weight = Parameter((outputs, first, second), dtype, init, weight_attr)
        self._declare(weight, outputs, bias, bias_attr, init)

    def forward(self, x1: TensorLike, x2: TensorLike) -> Tensor:
        inputs, others, outputs = self.sizes
        a, b = (x if isinstance(x, _core.Tensor) else _core.tensor(x) for x in (x1, x2))
        if a.shape[-1:] != (inputs,) or b.shape[-1:] != (others,):
            raise fault(
                ValueError,
                f"the inputs are {a.type_text} and {b.type_text}, but their last sizes should be "
                f"{inputs} and {others}",
            )
        by_input = _core.permute(self.weight, [1, 0, 2])
        by_input = _core.reshape(by_input, (inputs, outputs * others))
        forms = _core.reshape(_core.matmul(a, by_input), (*a.shape[:-1], outputs, others))
        y = _core.sum(forms * _core.reshape(b, (*b.shape[:-1], 1, others)), axis=-1)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.sizes))
