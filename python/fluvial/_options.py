"""Ops with a tensor in the place of a number: the same formula from ops that take tensors, so that its gradient counts."""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Tensor


def leaky_relu(x: Any, slope: Any) -> Tensor:
    return _core.where(_core.gt(x, 0.0), x, _core.mul(x, slope))


def elu(x: Any, alpha: Any) -> Tensor:
    # The exponential of a large number, though not chosen, would spoil gradients.
    above = _core.gt(x, 0.0)
    return _core.where(above, x, _core.mul(_core.expm1(_core.where(above, 0.0, x)), alpha))


def celu(x: Any, alpha: Any) -> Tensor:
    above = _core.gt(x, 0.0)
    below = _core.expm1(_core.div(_core.where(above, 0.0, x), alpha))
    return _core.where(above, x, _core.mul(below, alpha))


def clip(x: Any, low: Any = None, high: Any = None) -> Tensor:
    bounded = x if low is None else _core.maximum(x, low)
    return bounded if high is None else _core.minimum(bounded, high)


def threshold(x: Any, threshold: Any, value: Any) -> Tensor:
    return _core.where(_core.le(x, threshold), value, x)


def soft_shrink(x: Any, width: Any) -> Tensor:
    inside = _core.where(_core.isnan(x), x, 0.0)
    below = _core.where(_core.lt(x, _core.neg(width)), _core.add(x, width), inside)
    return _core.where(_core.gt(x, width), _core.sub(x, width), below)


def masked_fill(x: Any, mask: Any, value: Any) -> Tensor:
    return _core.where(mask, _core.tensor(value, x.dtype), x)


def full(shape: Any, value: Any, dtype: Any = "float32") -> Tensor:
    return _core.broadcast_to(_core.tensor(value, dtype), shape)


def full_like(x: Any, value: Any) -> Tensor:
    return _core.broadcast_to(_core.tensor(value, x.dtype), x.shape)


def pad(x: Any, before: Any, after: Any, *, mode: str = "constant", value: Any = 0.0) -> Tensor:
    padded = _core.pad(x, before, after, mode=mode)
    if mode != "constant":
        return padded
    inside = _core.pad(_core.full_like(x, 1.0), before, after)
    return _core.where(_core.gt(inside, 0.0), padded, _core.tensor(value, x.dtype))


#: The functions by the op and its option.
ALTERNATIVES: dict[tuple[str, str], Callable[..., Tensor]] = {
    ("leaky_relu", "slope"): leaky_relu,
    ("elu", "alpha"): elu,
    ("celu", "alpha"): celu,
    ("clip", "low"): clip,
    ("clip", "high"): clip,
    ("threshold", "value"): threshold,
    ("soft_shrink", "width"): soft_shrink,
    ("masked_fill", "value"): masked_fill,
    ("full", "value"): full,
    ("full_like", "value"): full_like,
    ("pad", "value"): pad,
}

#: Those with the bits of the op, gradients included, so that a number that only the run knows may stand there.
EXACT = {
    ("leaky_relu", "slope"),
    ("threshold", "value"),
    ("masked_fill", "value"),
    ("full", "value"),
    ("full_like", "value"),
    ("pad", "value"),
}
