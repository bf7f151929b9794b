"""Functions of one value under Fluid's names, with Fluid's constants."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ._arguments import flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from .._core import Tensor

    #: The name of a function of the output, or its "type" with its constants.
    Act: TypeAlias = str | Mapping[str, Any] | None


def _unary(function: Callable[[Any], Tensor], name: str, what: str) -> Callable[..., Tensor]:
    def op(x: Tensor, name: str | None = None) -> Tensor:
        return function(x)

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"""{what}, for each element.

    Args:
        x: The values.
        name: For Fluid's programs.
    """
    return op


abs = _unary(_core.abs, "abs", "The size of a number")
acos = _unary(_core.acos, "acos", "The inverse of the cosine")
asin = _unary(_core.asin, "asin", "The inverse of the sine")
atan = _unary(_core.atan, "atan", "The inverse of the tangent")
ceil = _unary(_core.ceil, "ceil", "The next integer, rounded up")
cos = _unary(_core.cos, "cos", "The cosine")
cosh = _unary(_core.cosh, "cosh", "The hyperbolic cosine")
erf = _unary(_core.erf, "erf", "The error function")
exp = _unary(_core.exp, "exp", "The exponential function")
floor = _unary(_core.floor, "floor", "The next integer, rounded down")
log = _unary(_core.log, "log", "The natural logarithm")
logsigmoid = _unary(_core.log_sigmoid, "logsigmoid", "The logarithm of the logistic function")
reciprocal = _unary(_core.reciprocal, "reciprocal", "One divided by the value")
relu = _unary(_core.relu, "relu", "The value, or zero if it is negative")
rsqrt = _unary(_core.rsqrt, "rsqrt", "One divided by the square root")
sigmoid = _unary(_core.sigmoid, "sigmoid", "The logistic function")
sign = _unary(_core.sign, "sign", "-1, 0 or 1")
sin = _unary(_core.sin, "sin", "The sine")
sinh = _unary(_core.sinh, "sinh", "The hyperbolic sine")
softplus = _unary(_core.softplus, "softplus", "`log(1 + exp(x))`")
softsign = _unary(_core.softsign, "softsign", "`x / (1 + |x|)`")
sqrt = _unary(_core.sqrt, "sqrt", "The square root")
square = _unary(_core.square, "square", "The square")
tanh = _unary(_core.tanh, "tanh", "The hyperbolic tangent")
tanh_shrink = _unary(_core.tanh_shrink, "tanh_shrink", "`x - tanh(x)`")


def round(x: Tensor, name: str | None = None) -> Tensor:
    """The nearest integer, the one away from zero of two, as Fluid has it; `fl.round` takes the even one.

    Example:
        >>> fl.layers.round(fl.tensor([0.5, 1.5, -2.5])).tolist()
        [1.0, 2.0, -3.0]
    """
    whole = _core.trunc(x)
    up = _core.cast(_core.abs(x - whole) >= 0.5, x.dtype)
    return whole + _core.sign(x) * up


def elu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """The value, or `alpha · (exp(x) - 1)` if it is negative."""
    return _core.elu(x, alpha)


def relu6(x: Tensor, threshold: float = 6.0, name: str | None = None) -> Tensor:
    """The value, between zero and the threshold."""
    return _core.relu6(x) if threshold == 6.0 else _core.clip(x, 0.0, threshold)


def selu(
    x: Tensor, scale: float | None = None, alpha: float | None = None, name: str | None = None
) -> Tensor:
    """The value, or `alpha · (exp(x) - 1)` if it is negative, times `scale`."""
    if scale is None and alpha is None:
        return _core.selu(x)
    by = 1.0507009873554804934193349852946 if scale is None else scale
    return _core.elu(x, 1.6732632423543772848170429916717 if alpha is None else alpha) * by


def leaky_relu(x: Tensor, alpha: float = 0.02, name: str | None = None) -> Tensor:
    """The value, times `alpha` if it is negative."""
    return _core.leaky_relu(x, alpha)


def brelu(x: Tensor, t_min: float = 0.0, t_max: float = 24.0, name: str | None = None) -> Tensor:
    """The value, between `t_min` and `t_max`."""
    return _core.clip(x, t_min, t_max)


def soft_relu(x: Tensor, threshold: float = 40.0, name: str | None = None) -> Tensor:
    """`log(1 + exp(x))` of the value between `-threshold` and `threshold`."""
    return _core.softplus(_core.clip(x, -threshold, threshold))


def thresholded_relu(x: Tensor, threshold: float | None = None, name: str | None = None) -> Tensor:
    """The value if it is above the threshold, which is 1 unless said, else zero."""
    return _core.threshold(x, 1.0 if threshold is None else threshold, 0.0)


def stanh(
    x: Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None
) -> Tensor:
    """`scale_b · tanh(scale_a · x)`."""
    return _core.tanh(x * scale_a) * scale_b


def hard_sigmoid(
    x: Tensor, slope: float = 0.2, offset: float = 0.5, name: str | None = None
) -> Tensor:
    """`slope · x + offset`, between zero and one.

    Example:
        >>> fl.layers.hard_sigmoid(fl.tensor([-9.0, 0.0, 1.0])).numpy().round(2).tolist() == [
        ...     0.0, 0.5, np.float32(0.7)]
        True
    """
    return _core.clip(x * slope + offset, 0.0, 1.0)


def hard_swish(
    x: Tensor,
    threshold: float = 6.0,
    scale: float = 6.0,
    offset: float = 3.0,
    name: str | None = None,
) -> Tensor:
    """`x · min(max(x + offset, 0), threshold) / scale`."""
    if (threshold, scale, offset) == (6.0, 6.0, 3.0):
        return _core.hard_swish(x)
    return x * _core.clip(x + offset, 0.0, threshold) / scale


def swish(x: Tensor, beta: float = 1.0, name: str | None = None) -> Tensor:
    """`x` times the logistic function of `beta · x`."""
    return _core.silu(x) if beta == 1.0 else x * _core.sigmoid(x * beta)


def mish(x: Tensor, threshold: float = 20, name: str | None = None) -> Tensor:
    """`x · tanh(softplus(x))`; beyond the threshold softplus is a line."""
    return x * _core.tanh(_core.softplus(x, 1.0, threshold))


def gelu(x: Tensor, approximate: bool = False) -> Tensor:
    """`x` times the share of normally distributed numbers that are below it."""
    return _core.gelu(x, approximate)


def hard_shrink(x: Tensor, threshold: float | None = None) -> Tensor:
    """The value, or zero if its size is at most the threshold, which is 0.5 unless said."""
    return _core.hard_shrink(x, 0.5 if threshold is None else threshold)


def softshrink(x: Tensor, alpha: float | None = None, name: str | None = None) -> Tensor:
    """The value, nearer to zero by `alpha`, which is 0.5 unless said."""
    return _core.soft_shrink(x, 0.5 if alpha is None else alpha)


def pow(x: Tensor, factor: float | Tensor = 1.0, name: str | None = None) -> Tensor:
    """The value to the power of `factor`."""
    return _core.pow(x, factor)


def softmax(
    input: Tensor, use_cudnn: bool = False, name: str | None = None, axis: int = -1
) -> Tensor:
    """Positive numbers of sum 1 along an axis.

    Args:
        input: The values.
        use_cudnn: For Fluid's programs; there is one device, the CPU.
        name: For Fluid's programs.
        axis: The axis.
    """
    flag(use_cudnn, "use_cudnn", "`axis`")
    return _core.softmax(input, axis)


#: What `act=` may say; each takes its constants by name.
ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    function.__name__: function
    for function in (
        abs, acos, asin, atan, brelu, ceil, cos, cosh, elu, erf, exp, floor, gelu, hard_shrink,
        hard_sigmoid, hard_swish, leaky_relu, log, logsigmoid, mish, pow, reciprocal, relu, relu6,
        round, rsqrt, selu, sigmoid, sign, sin, sinh, soft_relu, softmax, softplus, softshrink,
        softsign, sqrt, square, stanh, swish, tanh, tanh_shrink, thresholded_relu,
    )
}  # fmt: skip


def activation(x: Tensor, act: Act) -> Tensor:
    """The function of that name of `x`.

    Args:
        x: The values.
        act: A name; or a dict with the name as its "type" and constants; nothing for `x` itself.
    """
    if act is None:
        return x
    constants = {} if isinstance(act, str) else dict(act)
    name = act if isinstance(act, str) else constants.pop("type", None)
    constants.pop("use_cudnn", None)
    constants.pop("use_mkldnn", None)
    function = ACTIVATIONS.get(name)  # type: ignore[arg-type]
    if function is None and hasattr(_core, str(name)) and not constants:
        function = getattr(_core, str(name))
    if function is None:
        raise fault(ValueError, f"no activation is named {name!r}", "use one such as relu or tanh")
    return function(x, **constants)
