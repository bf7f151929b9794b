"""Weights that are computed of others at each use, under PyTorch's older names."""

from __future__ import annotations

from ... import _core, _phase
from ..._fault import fault
from .._parameter import Buffer, Parameter
from ._values import direction, norm_of, singular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from ..._core import Tensor
    from .._layer import Layer

    L = TypeVar("L", bound=Layer)


class _Computed:
    """An attribute of a layer that is computed of others."""

    def __init__(self, name: str, axis: int | None) -> None:
        self.name, self.axis = name, axis

    def __call__(self, layer: Layer, *assigned: Any) -> Any:
        if assigned:
            raise fault(
                AttributeError,
                f"`{self.name}` is computed of other parameters, and cannot be assigned",
                "assign these, or take the norm away first",
            )
        return self.value(layer)

    def value(self, layer: Layer) -> Tensor:
        raise NotImplementedError


class _WeightNorm(_Computed):
    def value(self, layer: Layer) -> Tensor:
        g, v = getattr(layer, self.name + "_g"), getattr(layer, self.name + "_v")
        return v * (g / norm_of(v, self.axis))


class _SpectralNorm(_Computed):
    def __init__(self, name: str, axis: int, iterations: int, eps: float) -> None:
        super().__init__(name, axis)
        self.iterations, self.eps = iterations, eps

    def value(self, layer: Layer) -> Tensor:
        u, v = getattr(layer, self.name + "_u"), getattr(layer, self.name + "_v")
        weight = getattr(layer, self.name + "_orig")
        iterations = self.iterations if layer.training else 0
        return singular(weight, u, v, self.axis or 0, iterations, self.eps)


def weight_norm(module: L, name: str = "weight", dim: int | None = 0) -> L:
    """Has a weight computed of its length and its direction, which are trained in its place: `weight_g` and
    `weight_v`.

    Args:
        module: The layer.
        name: The weight's name.
        dim: The axis along which there is one length for each; None for one of the whole.

    Example:
        >>> layer = fl.nn.utils.weight_norm(fl.nn.Linear(2, 3))
        >>> [name for name, _ in layer.named_parameters()], layer.weight.shape
        (['bias', 'weight_g', 'weight_v'], (3, 2))
    """
    weight = taken(module, name)
    axis = None if dim is None or dim == -1 else dim
    with _core.no_grad():
        setattr(module, name + "_g", Parameter(norm_of(weight, axis)))
        setattr(module, name + "_v", Parameter(weight))
    module._computed[name] = _WeightNorm(name, axis)
    return module


def spectral_norm(
    module: L,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> L:
    """Has a weight divided by an estimate of its largest singular value at each use; `weight_orig` is trained, and
    `weight_u` and `weight_v` are the estimates of the singular vectors, which uses in training improve.

    Args:
        module: The layer.
        name: The weight's name.
        n_power_iterations: How many steps a use in training improves the estimate by.
        eps: The least length that vectors are divided by.
        dim: The axis of the outputs, which becomes the rows of the matrix; it follows from the layer.

    Example:
        >>> layer = fl.nn.utils.spectral_norm(fl.nn.Linear(2, 3))
        >>> sorted(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    weight = taken(module, name)
    axis = outputs_of(module) if dim is None else dim
    setattr(module, name + "_orig", Parameter(weight))
    for suffix, vector in zip(("_u", "_v"), direction(weight, axis, eps)):
        setattr(module, name + suffix, Buffer(vector))
    module._computed[name] = _SpectralNorm(name, axis, n_power_iterations, eps)
    return module


def remove_weight_norm(module: L, name: str = "weight") -> L:
    """Makes the weight a parameter again, with the value that it has.

    Args:
        module: The layer.
        name: The weight's name.
    """
    return _removed(module, name, _WeightNorm, ("_g", "_v"))


def remove_spectral_norm(module: L, name: str = "weight") -> L:
    """Makes the weight a parameter again, with the value that it has.

    Args:
        module: The layer.
        name: The weight's name.
    """
    return _removed(module, name, _SpectralNorm, ("_orig", "_u", "_v"))


def _removed(module: L, name: str, kind: type, suffixes: tuple[str, ...]) -> L:
    if not isinstance(module._computed.get(name), kind):
        raise fault(ValueError, f"`{name}` of `{module.full_name}` has no such norm")
    with _core.no_grad():
        value = getattr(module, name).detach()
    _phase.changing(module)
    del module._computed[name]
    for suffix in suffixes:
        delattr(module, name + suffix)
    setattr(module, name, Parameter(value))
    return module


def taken(module: Layer, name: str) -> Tensor:
    """The value of a parameter, which the layer has no more."""
    found = module._parameters.get(name)
    if found is None:
        known = ", ".join(module._parameters) or "none"
        raise fault(
            AttributeError, f"`{module.full_name}` has no parameter `{name}`", f"its parameters are: {known}"
        )
    if not found.is_sized:
        raise fault(ValueError, f"the sizes of `{name}` are not known yet", "call the layer once before")
    _phase.changing(module)
    value = found.detach()
    module._forget(name)
    return value


def outputs_of(module: Layer) -> int:
    """The axis of a weight that has the outputs."""
    return 1 if "Transpose" in getattr(module, "_kind", "") else 0
