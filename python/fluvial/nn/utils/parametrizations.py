"""Norms of weights as parametrizations, with the keys of PyTorch's."""

from __future__ import annotations

from ... import _core
from .._layer import Layer
from .._parameter import Buffer
from ._values import direction, norm_of, singular
from ._weights import outputs_of
from .parametrize import register_parametrization

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from ..._core import Tensor

    L = TypeVar("L", bound=Layer)

__all__ = ["spectral_norm", "weight_norm"]


class _WeightNorm(Layer):
    """A weight of its length and its direction."""

    def __init__(self, axis: int | None) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, length: Tensor, direction: Tensor) -> Tensor:
        return direction * (length / norm_of(direction, self.axis))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_of(weight, self.axis), weight


class _SpectralNorm(Layer):
    """A weight divided by an estimate of its largest singular value."""

    def __init__(self, weight: Tensor, iterations: int, axis: int, eps: float) -> None:
        super().__init__()
        self.iterations, self.axis, self.eps = iterations, axis, eps
        if weight.ndim > 1:
            u, v = direction(weight, axis, eps)
            with _core.imperative(), _core.no_grad():
                _, u, v = _core.spectral_norm(weight, u, v, axis=axis, iterations=15, eps=eps)
            self._u, self._v = Buffer(u), Buffer(v)

    def forward(self, weight: Tensor) -> Tensor:
        iterations = self.iterations if self.training else 0
        if weight.ndim == 1:
            return singular(weight, weight, weight, 0, 0, self.eps)
        # Each step improves `u` first, and not `v`: it is one of the other side of the matrix.
        first = _core.movedim(weight, [self.axis], [0])
        turned = _core.transpose(_core.reshape(first, (weight.shape[self.axis], -1)), 0, 1)
        value = singular(turned, self._v, self._u, 0, iterations, self.eps)
        whole = _core.reshape(_core.transpose(value, 0, 1), first.shape)
        return _core.movedim(whole, [0], [self.axis])

    def right_inverse(self, weight: Tensor) -> Tensor:
        return weight


def weight_norm(module: L, name: str = "weight", dim: int | None = 0) -> L:
    """Has a weight computed of its length, `parametrizations.weight.original0`, and its direction, `original1`.

    Args:
        module: The layer.
        name: The weight's name.
        dim: The axis along which there is one length for each; None for one of the whole.

    Example:
        >>> layer = fl.nn.utils.parametrizations.weight_norm(fl.nn.Linear(2, 3))
        >>> sorted(layer.state_dict())
        ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    axis = None if dim is None or dim == -1 else dim
    return register_parametrization(module, name, _WeightNorm(axis), unsafe=True)


def spectral_norm(
    module: L,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> L:
    """Has a weight divided by an estimate of its largest singular value at each use.

    Args:
        module: The layer.
        name: The weight's name.
        n_power_iterations: How many steps a use in training improves the estimate by.
        eps: The least length that vectors are divided by.
        dim: The axis of the outputs, which becomes the rows of the matrix; it follows from the layer.

    Example:
        >>> layer = fl.nn.utils.parametrizations.spectral_norm(fl.nn.Linear(4, 4)).eval()
        >>> round(float(fl.linalg.matrix_norm(layer.weight, ord=2)), 1)
        1.0
    """
    axis = outputs_of(module) if dim is None else dim
    norm = _SpectralNorm(getattr(module, name).detach(), n_power_iterations, axis, eps)
    return register_parametrization(module, name, norm)


def __getattr__(name: str) -> object:
    text = f"module `{__name__}` has no attribute `{name}`"
    if name == "orthogonal":
        text += "\n  remedy: write a layer whose `forward` gives `fl.linalg.qr(weight)[0]`, and `parametrize.register_parametrization(layer, \"weight\", it)`"
    raise AttributeError(text)
