"""Activations as layers. They have no parameters, but for `PReLU`."""

from __future__ import annotations

from .. import _core
from ..initializer import Constant
from ._layer import Layer
from ._parameter import Parameter
from ._stateless import Stateless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._attr import AttrLike
    from .._core import DTypeLike, Tensor


class ReLU(Stateless):
    """The larger of the value and zero; see `relu`.

    Example:
        >>> fl.nn.ReLU()(fl.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    _function = staticmethod(_core.relu)


class ReLU6(Stateless):
    """The value between zero and six; see `relu6`."""

    _function = staticmethod(_core.relu6)


class Sigmoid(Stateless):
    """The logistic function; see `sigmoid`."""

    _function = staticmethod(_core.sigmoid)


class Tanh(Stateless):
    """The hyperbolic tangent; see `tanh`."""

    _function = staticmethod(_core.tanh)


class Softsign(Stateless):
    """`x / (1 + |x|)`; see `softsign`."""

    _function = staticmethod(_core.softsign)


class SELU(Stateless):
    """The self-normalising exponential unit; see `selu`."""

    _function = staticmethod(_core.selu)


class SiLU(Stateless):
    """`x · sigmoid(x)`; see `silu`."""

    _function = staticmethod(_core.silu)


class Mish(Stateless):
    """`x · tanh(softplus(x))`; see `mish`."""

    _function = staticmethod(_core.mish)


class HardSigmoid(Stateless):
    """Lines in place of the logistic function; see `hard_sigmoid`."""

    _function = staticmethod(_core.hard_sigmoid)


class HardSwish(Stateless):
    """`x · hard_sigmoid(x)`; see `hard_swish`."""

    _function = staticmethod(_core.hard_swish)


class LogSigmoid(Stateless):
    """The logarithm of the logistic function; see `log_sigmoid`."""

    _function = staticmethod(_core.log_sigmoid)


class TanhShrink(Stateless):
    """`x - tanh(x)`; see `tanh_shrink`."""

    _function = staticmethod(_core.tanh_shrink)


class LeakyReLU(Stateless):
    """The value, times `slope` where it is negative; see `leaky_relu`.

    Args:
        slope: The factor for negative numbers.
    """

    _function, _options = staticmethod(_core.leaky_relu), {"slope": 0.01}
    _positional = ("slope",)


class ELU(Stateless):
    """`alpha · (exp(x) - 1)` where the value is negative; see `elu`.

    Args:
        alpha: The factor for negative numbers.
    """

    _function, _options = staticmethod(_core.elu), {"alpha": 1.0}
    _positional = ("alpha",)


class CELU(Stateless):
    """`alpha · (exp(x / alpha) - 1)` where the value is negative; see `celu`.

    Args:
        alpha: The scale for negative numbers.
    """

    _function, _options = staticmethod(_core.celu), {"alpha": 1.0}
    _positional = ("alpha",)


class GELU(Stateless):
    """The value times the normal distribution's function of it; see `gelu`.

    Args:
        tanh_form: Whether the hyperbolic tangent stands in for it.
    """

    _function, _options = staticmethod(_core.gelu), {"tanh_form": False}
    _positional = ("tanh_form",)


class GLU(Stateless):
    """One half of the channels times the logistic function of the other; see `glu`.

    Args:
        axis: The axis that is halved.
    """

    _function, _options = staticmethod(_core.glu), {"axis": -1}
    _positional = ("axis",)


class HardTanh(Stateless):
    """The value between two bounds; see `hard_tanh`.

    Args:
        low: The lower one.
        high: The upper one.

    Example:
        >>> fl.nn.HardTanh(-1.0, high=2.0)(fl.tensor([-3.0, 3.0])).tolist()
        [-1.0, 2.0]
    """

    _function, _options = staticmethod(_core.hard_tanh), {"low": -1.0, "high": 1.0}
    _positional = ("low", "high")


class HardShrink(Stateless):
    """Zero where the value is small; see `hard_shrink`.

    Args:
        width: What counts as small.
    """

    _function, _options = staticmethod(_core.hard_shrink), {"width": 0.5}
    _positional = ("width",)


class SoftShrink(Stateless):
    """The value nearer to zero, zero where it is small; see `soft_shrink`.

    Args:
        width: By how much.
    """

    _function, _options = staticmethod(_core.soft_shrink), {"width": 0.5}
    _positional = ("width",)


class Softplus(Stateless):
    """`log(1 + exp(beta · x)) / beta`; see `softplus`.

    Args:
        beta: The steepness.
        threshold: Where the line takes over.
    """

    _function, _options = staticmethod(_core.softplus), {"beta": 1.0, "threshold": 20.0}
    _positional = ("beta", "threshold")


class Softmax(Stateless):
    """Positive numbers of sum 1 along an axis; see `softmax`.

    Args:
        axis: The axis.

    Example:
        >>> fl.nn.Softmax()(fl.tensor([0.0, 0.0])).tolist()
        [0.5, 0.5]
    """

    _function, _options = staticmethod(_core.softmax), {"axis": -1}
    _positional = ("axis",)


class LogSoftmax(Stateless):
    """The logarithm of `Softmax`; see `log_softmax`.

    Args:
        axis: The axis.
    """

    _function, _options = staticmethod(_core.log_softmax), {"axis": -1}
    _positional = ("axis",)


class PReLU(Layer):
    """The value, times a trained `weight` where it is negative.

    Args:
        count: The number of weights: 1, or one for each channel.
        weight_attr: What is said of the weight.
        dtype: The element type of the weight.
        name: The layer's name.

    Example:
        >>> fl.nn.PReLU()(fl.tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]
    """

    def __init__(
        self,
        count: int = 1,
        weight_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.weight = Parameter((count,), dtype, Constant(0.25), weight_attr)

    def forward(self, x: Tensor) -> Tensor:
        return _core.prelu(x, self.weight)
