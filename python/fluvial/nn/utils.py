"""What is done to the gradients of parameters between `backward` and `step`, in both modes."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from .._sequence import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import Parameter, Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_"]


def clip_grad_norm_(
    parameters: Parameter | Iterable[Parameter], max_norm: float, norm_type: float = 2.0
) -> Tensor:
    """Scales the gradients of parameters so that their norm, taken together, is at most `max_norm`.

    Args:
        parameters: The parameters; those without a gradient are left alone.
        max_norm: The most.
        norm_type: 2; other norms are not there.

    Returns:
        The norm before.

    Example:
        >>> w = fl.nn.Parameter(fl.tensor([3.0, 4.0]))
        >>> fl.sum(w * w).backward()
        >>> fl.nn.utils.clip_grad_norm_([w], 1.0).item(), [round(g, 3) for g in w.grad.tolist()]
        (10.0, [0.6, 0.8])
    """
    if norm_type != 2.0:
        raise fault(ValueError, f"gradients are clipped by their norm 2, not {norm_type}")
    found, gradients = _with_gradients(parameters)
    with _core.no_grad():
        norm = _core.global_norm(gradients)
        _put(found, _core.clip_gradients("global_norm", max_norm, gradients))
    return norm


def clip_grad_value_(parameters: Parameter | Iterable[Parameter], clip_value: float) -> None:
    """Keeps each element of the gradients of parameters between `-clip_value` and `clip_value`.

    Args:
        parameters: The parameters; those without a gradient are left alone.
        clip_value: The limit.
    """
    found, gradients = _with_gradients(parameters)
    with _core.no_grad():
        _put(found, _core.clip_gradients("value", clip_value, gradients))


def _with_gradients(
    parameters: Parameter | Iterable[Parameter],
) -> tuple[list[Parameter], list[Tensor]]:
    items = [parameters] if isinstance(parameters, _core.Parameter) else listed(parameters, "parameters")
    pairs = [(p, g) for p, g in ((p, p.grad) for p in items) if g is not None]
    return [p for p, _ in pairs], [g for _, g in pairs]


def _put(parameters: list[Parameter], gradients: list[Tensor]) -> None:
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = gradient
