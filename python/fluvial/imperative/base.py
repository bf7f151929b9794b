"""Values of imperative code under Fluid's names."""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    from .._core import Scope, Tensor

__all__ = ["enabled", "guard", "to_variable"]


def to_variable(value: Any, name: str | None = None) -> Tensor:
    """A tensor of an array; a leaf that gets a gradient, if its elements are real numbers.

    Args:
        value: An array, a tensor, or nested lists of numbers.
        name: Its name in messages.

    Example:
        >>> x = fl.imperative.base.to_variable(np.array([1.0, 2.0], np.float32))
        >>> fl.sum(x * x)._backward()
        >>> x._gradient().tolist()
        [2.0, 4.0]
    """
    tensor = value if isinstance(value, _core.Tensor) else _core.tensor(value)
    tensor = tensor if name is None else tensor.named(name)
    if tensor.is_symbolic or tensor.is_tracked or "float" not in tensor.dtype.name:
        return tensor
    return tensor.track()


def guard(place: object = None) -> Scope:
    """A scope in which ops run at once, also while a program is built.

    Args:
        place: The device; there is one.

    Example:
        >>> with fl.imperative.guard():
        ...     print(fl.imperative.enabled())
        True
    """
    return _core.imperative()


def enabled() -> bool:
    """Whether ops run at once."""
    return not _core.is_building()


def _numpy(self: Tensor) -> np.ndarray:
    """The elements as an array."""
    return self.numpy()


def _backward(self: Tensor) -> None:
    """Accumulates gradients in all leaves; those of several elements are of their sum."""
    self.backward(_core.ones_like(self))


def _gradient(self: Tensor) -> np.ndarray | None:
    """The gradient that was accumulated, as an array, if there is one."""
    gradient = self.grad
    return gradient.numpy() if isinstance(gradient, _core.Tensor) else None


def _clear_gradient(self: Tensor) -> None:
    """Forgets the gradient."""
    self.zero_grad()


#: Methods of tensors that Fluid has and the core does not; the package adds them.
METHODS = {
    "_numpy": _numpy,
    "_backward": _backward,
    "_gradient": _gradient,
    "_clear_gradient": _clear_gradient,
}
for _name, _method in METHODS.items():
    if not hasattr(_core.Tensor, _name):
        setattr(_core.Tensor, _name, _method)
