"""What is done to parameters and their gradients, in both modes."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ..._sequence import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..._core import Parameter, Tensor
    from . import parametrizations, parametrize, rnn
    from ._weights import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "parametrizations",
    "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "vector_to_parameters",
    "weight_norm",
]

#: Parts that are loaded when they are first used, and where they are.
_LAZY = {
    "parametrizations": ".parametrizations",
    "parametrize": ".parametrize",
    "remove_spectral_norm": "._weights",
    "remove_weight_norm": "._weights",
    "rnn": ".rnn",
    "spectral_norm": "._weights",
    "weight_norm": "._weights",
}

# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _LAZY:
            from ..._elsewhere import no_attribute

            raise no_attribute(__name__, name)
        import importlib

        module = importlib.import_module(_LAZY[name], __name__)
        return module if _LAZY[name][1:] == name else getattr(module, name)


def clip_grad_norm_(
    parameters: Parameter | Iterable[Parameter],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of parameters so that their norm, taken together, is at most `max_norm`.

    Args:
        parameters: The parameters; those without a gradient are left alone.
        max_norm: The most.
        norm_type: Which norm; infinity for the largest element.
        error_if_nonfinite: Whether a norm that is infinite or no number is an error.
        foreach: How PyTorch computes it; it changes no number.

    Returns:
        The norm before.

    Example:
        >>> w = fl.nn.Parameter(fl.tensor([3.0, 4.0]))
        >>> fl.sum(w * w).backward()
        >>> fl.nn.utils.clip_grad_norm_([w], 1.0).item(), [round(g, 3) for g in w.grad.tolist()]
        (10.0, [0.6, 0.8])
    """
    found, gradients = _with_gradients(parameters)
    with _core.no_grad():
        norm = get_total_norm(gradients, norm_type)
        if error_if_nonfinite:
            _core.assert_(_core.isfinite(norm), f"the norm {norm_type} of the gradients is not finite", [])
        if norm_type == 2.0:
            _put(found, _core.clip_gradients("global_norm", max_norm, gradients))
        else:
            scale = _core.minimum(max_norm / (norm + 1e-6), 1.0)
            _put(found, [gradient * scale for gradient in gradients])
    return norm


def get_total_norm(tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0) -> Tensor:
    """The norm of all elements of tensors, taken together.

    Args:
        tensors: The tensors.
        norm_type: Which norm; infinity for the largest element.

    Example:
        >>> fl.nn.utils.get_total_norm([fl.tensor([3.0]), fl.tensor([-4.0])], float("inf")).item()
        4.0
    """
    items = [tensors] if isinstance(tensors, _core.Tensor) else list(tensors)
    if norm_type == 2.0 or not items:
        return _core.global_norm(items)
    if norm_type == float("inf"):
        largest = [_core.max(_core.abs(item)) for item in items]
        return _core.max(_core.stack(largest, 0))
    if norm_type <= 0.0:
        raise fault(ValueError, f"there is no norm {norm_type} of gradients", "give a positive number")
    powers = [_core.sum(_core.pow(_core.abs(item), norm_type)) for item in items]
    return _core.pow(_core.sum(_core.stack(powers, 0)), 1.0 / norm_type)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other.

    Args:
        parameters: The parameters.

    Example:
        >>> fl.nn.utils.parameters_to_vector(fl.nn.Linear(2, 3).parameters()).shape
        (9,)
    """
    return _core.concat([_core.reshape(p, (-1,)) for p in parameters], 0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Parameter]) -> None:
    """Gives parameters the elements of a vector, as `parameters_to_vector` gave them.

    Args:
        vec: The vector.
        parameters: The parameters.
    """
    items = listed(parameters, "parameters")
    count = sum(_count(p) for p in items)
    if vec.shape != (count,):
        raise fault(ValueError, f"{vec.shape} elements for {count} of the parameters")
    start = 0
    with _core.no_grad():
        for p in items:
            p.set(_core.reshape(_core.narrow(vec, 0, start, _count(p)), p.shape))
            start += _count(p)


def _count(p: Tensor) -> int:
    count: Any = 1
    for size in p.shape:
        count *= size
    return count


def clip_grad_value_(
    parameters: Parameter | Iterable[Parameter], clip_value: float, foreach: bool | None = None
) -> None:
    """Keeps each element of the gradients of parameters between `-clip_value` and `clip_value`.

    Args:
        parameters: The parameters; those without a gradient are left alone.
        clip_value: The limit.
        foreach: How PyTorch computes it; it changes no number.
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
