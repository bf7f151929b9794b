"""Elementwise functions."""

from __future__ import annotations

import builtins
import math

from .. import _core
from .._core import Tensor
from .._fault import fault, renamed
from .products import as_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Unpack

    from .._core import OtherNames, TensorLike


def floats(x: Any) -> Tensor:
    """The tensor as floats; complex numbers stay."""
    x = as_tensor(x)
    return x if x.is_floating_point() or x.is_complex() else _core.cast(x, "float32")


def div(a: TensorLike, b: TensorLike, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient.

    Args:
        a: A tensor, a number or an array. Also `input`.
        b: A tensor, a number or an array. Also `other`.
        rounding_mode: None, "trunc" to round towards zero, or "floor" to round down.

    Example:
        >>> fl.div(fl.tensor([7.0, -7.0]), 2.0, rounding_mode="trunc").tolist()
        [3.0, -3.0]
    """
    if rounding_mode is None:
        return _core.div(a, b)
    if rounding_mode == "floor":
        return _core.floor_div(a, b)
    if rounding_mode != "trunc":
        remedy = 'use None, "trunc" or "floor"'
        raise fault(ValueError, f"there is no rounding mode {rounding_mode!r}", remedy)
    a, b = _core.broadcast_tensors([a, b])
    if a.is_floating_point() or b.is_floating_point():
        return _core.trunc(_core.div(a, b))
    down = _core.floor_div(a, b)
    return down + _core.cast(_core.logical_and(down < 0, _core.ne(down * b, a)), down.dtype)


def fmod(a: TensorLike, b: TensorLike) -> Tensor:
    """The remainder of a division that is rounded towards zero: it has the sign of `a`.

    Args:
        a: A tensor, a number or an array.
        b: A tensor, a number or an array.

    Example:
        >>> fl.fmod(fl.tensor([-3.0, 3.0]), 2.0).tolist()
        [-1.0, 1.0]
    """
    a, b = _core.broadcast_tensors([a, b])
    rest = _core.remainder(_core.abs(a), _core.abs(b))
    return _core.where(a < 0, -rest, rest)


def addcmul(x: TensorLike, tensor1: TensorLike, tensor2: TensorLike, *, value: float = 1) -> Tensor:
    """`x + value * tensor1 * tensor2`.

    Args:
        x: A tensor.
        tensor1: A tensor.
        tensor2: A tensor.
        value: The factor.
    """
    product = _core.mul(tensor1, tensor2)
    return _core.add(x, product if value == 1 else product * value)


def addcdiv(x: TensorLike, tensor1: TensorLike, tensor2: TensorLike, *, value: float = 1) -> Tensor:
    """`x + value * tensor1 / tensor2`.

    Args:
        x: A tensor.
        tensor1: A tensor.
        tensor2: A tensor.
        value: The factor.
    """
    quotient = _core.div(tensor1, tensor2)
    return _core.add(x, quotient if value == 1 else quotient * value)


def deg2rad(x: TensorLike) -> Tensor:
    """Degrees as radians.

    Args:
        x: A tensor.
    """
    return floats(x) * (math.pi / 180)


def rad2deg(x: TensorLike) -> Tensor:
    """Radians as degrees.

    Args:
        x: A tensor.
    """
    return floats(x) * (180 / math.pi)


def frac(x: TensorLike) -> Tensor:
    """The part behind the point, with the sign of the number.

    Args:
        x: A tensor of floats.
    """
    x = as_tensor(x)
    return x - _core.trunc(x)


def heaviside(x: TensorLike, values: TensorLike) -> Tensor:
    """0 where `x` is negative, 1 where it is positive, and `values` where it is zero.

    Args:
        x: A tensor.
        values: What stands where `x` is zero.
    """
    x, values = _core.broadcast_tensors([x, values])
    step = _core.cast(x > 0, values.dtype)
    step = _core.where(_core.eq(x, 0), values, step)
    return _core.where(_core.isnan(x), x, step) if x.is_floating_point() else step


def isclose(
    a: TensorLike,
    b: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Tensor:
    """Whether `|a - b| <= atol + rtol * |b|`, for each pair.

    Args:
        a: A tensor.
        b: A tensor.
        rtol: The share of `b` by which both may differ.
        atol: By how much they may differ in any case.
        equal_nan: Whether two that are not a number are close.
    """
    a, b = _core.broadcast_tensors([a, b])
    same = _core.eq(a, b)
    if not any(x.is_floating_point() or x.is_complex() for x in (a, b)):
        a, b = _core.cast(a, "float64"), _core.cast(b, "float64")
    near = _core.abs(a - b) <= atol + rtol * _core.abs(b)
    found = _core.logical_or(same, _core.logical_and(_core.isfinite(a - b), near))
    return _core.logical_or(found, _core.logical_and(_core.isnan(a), _core.isnan(b))) if equal_nan else found


def allclose(
    a: TensorLike,
    b: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Any:
    """Whether all pairs are close, as a bool; as a tensor where only the run of a program knows. See `isclose`.

    Args:
        a: A tensor.
        b: A tensor.
        rtol: The share of `b` by which both may differ.
        atol: By how much they may differ in any case.
        equal_nan: Whether two that are not a number are close.

    Example:
        >>> fl.allclose(fl.tensor([1.0]), fl.tensor([1.0 + 1e-7]))
        True
    """
    found = _core.all(isclose(a, b, rtol, atol, equal_nan))
    return found if found.is_symbolic else found.item()


def isin(x: TensorLike, test: TensorLike, *, invert: builtins.bool = False) -> Tensor:
    """Whether each element is among others.

    Args:
        x: The elements.
        test: The others.
        invert: Whether the answer is turned round.

    Example:
        >>> fl.isin(fl.tensor([1, 2, 3]), fl.tensor([2])).tolist()
        [False, True, False]
    """
    x, test = as_tensor(x), _core.reshape(as_tensor(test), (-1,))
    found = _core.any(_core.eq(_core.unsqueeze(x, -1), test), -1)
    return _core.logical_not(found) if invert else found


def ldexp(x: TensorLike, other: TensorLike) -> Tensor:
    """`x * 2**other`.

    Args:
        x: A tensor.
        other: The exponents.
    """
    return _core.mul(floats(x), _core.exp2(floats(other)))


def logaddexp2(a: TensorLike, b: TensorLike) -> Tensor:
    """`log2(2**a + 2**b)`, without overflow.

    Args:
        a: A tensor.
        b: A tensor.
    """
    a, b = _core.broadcast_tensors([a, b])
    return _core.logaddexp(a * math.log(2), b * math.log(2)) / math.log(2)


def logit(x: TensorLike, eps: float | None = None) -> Tensor:
    """`log(x / (1 - x))`, the inverse of `sigmoid`.

    Args:
        x: A tensor of probabilities.
        eps: If given, `x` is kept so far away from 0 and 1.
    """
    x = floats(x)
    if eps is not None:
        x = _core.where(x < eps, eps, _core.where(x > 1 - eps, 1 - eps, x))
    return _core.log(x / (1 - x))


def sinc(x: TensorLike) -> Tensor:
    """`sin(pi * x) / (pi * x)`, which is 1 at zero.

    Args:
        x: A tensor.
    """
    x = floats(x)
    zero = _core.eq(x, 0)
    angle = _core.where(zero, 1.0, x) * math.pi
    # Near zero the quotient has no slope; a square keeps the gradients of the tape at zero.
    return _core.where(zero, 1.0 - x * x * (math.pi**2 / 6), _core.sin(angle) / angle)


def xlogy(a: TensorLike, b: TensorLike) -> Tensor:
    """`a * log(b)`, which is 0 where `a` is, unless `b` is not a number.

    Args:
        a: A tensor.
        b: A tensor.
    """
    a, b = _core.broadcast_tensors([a, b])
    b = floats(b)
    zero = _core.logical_and(_core.eq(a, 0), _core.logical_not(_core.isnan(b)))
    return a * _core.log(_core.where(zero, 1.0, b))


def float_power(a: TensorLike, b: TensorLike) -> Tensor:
    """The power, in float64, or complex128 where one is complex.

    Args:
        a: A tensor or a number.
        b: A tensor or a number.
    """
    a, b = as_tensor(a), as_tensor(b)
    dtype = "complex128" if a.is_complex() or b.is_complex() else "float64"
    return _core.pow(_core.cast(a, dtype), _core.cast(b, dtype))


def softmin(x: TensorLike, axis: int = -1, **wrong: Unpack[OtherNames]) -> Tensor:
    """`softmax` of the negative.

    Args:
        x: A tensor.
        axis: The axis along which the results sum to one. Also `dim`.
    """
    if wrong:
        return renamed(softmin, locals())
    return _core.softmax(_core.neg(x), axis)


def clamp(x: TensorLike, min: Any = None, max: Any = None) -> Tensor:
    """The elements, but none below or above bounds: `clip` under PyTorch's name.

    Args:
        x: A tensor.
        min: The lower bound: a number, a tensor or None.
        max: The upper bound: a number, a tensor or None.
    """
    from .._array_api import clip

    if min is None and max is None:
        raise fault(ValueError, "`clamp` is given no bound", "give `min`, `max` or both")
    return clip(x, min, max)


def clamp_min(x: TensorLike, min: Any) -> Tensor:
    """The elements, but none below a bound.

    Args:
        x: A tensor.
        min: The bound.
    """
    return clamp(x, min=min)


def clamp_max(x: TensorLike, max: Any) -> Tensor:
    """The elements, but none above a bound.

    Args:
        x: A tensor.
        max: The bound.
    """
    return clamp(x, max=max)
