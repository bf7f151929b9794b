"""What weights are computed of."""

from __future__ import annotations

from ... import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor


def norm_of(x: Tensor, axis: int | None) -> Tensor:
    """The length of `x`, one for each index along an axis, with all axes kept; one of the whole for None."""
    axes = [i for i in range(x.ndim) if axis is None or i != axis % x.ndim]
    return _core.sqrt(_core.sum(x * x, axes, True)) if axes else _core.abs(x)


def direction(weight: Tensor, axis: int, eps: float) -> tuple[Tensor, Tensor]:
    """Vectors of length one, drawn at random, from which power iteration begins."""
    rows: Any = weight.shape[axis]
    columns: Any = 1
    for size in weight.shape:
        columns *= size
    with _core.imperative(), _core.no_grad():
        drawn = [_core.normal((weight.dtype, (n,))) for n in (rows, columns // rows)]
        u, v = (x / _core.maximum(_core.sqrt(_core.sum(x * x)), eps) for x in drawn)
    return u, v


def singular(weight: Tensor, u: Tensor, v: Tensor, axis: int, iterations: int, eps: float) -> Tensor:
    """The weight divided by an estimate of its largest singular value; the vectors are buffers, and get better."""
    if weight.ndim == 1:
        return weight / _core.maximum(_core.sqrt(_core.sum(weight * weight)), eps)
    value, new_u, new_v = _core.spectral_norm(weight, u, v, axis=axis, iterations=iterations, eps=eps)
    if iterations:
        with _core.no_grad():
            u.set(new_u.detach())  # type: ignore[attr-defined]
            v.set(new_v.detach())  # type: ignore[attr-defined]
    return value
