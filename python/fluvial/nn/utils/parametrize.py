"""Parameters that are computed of others by layers, as PyTorch's `parametrize`."""

from __future__ import annotations

import contextlib

from ... import _core, _phase
from ..._fault import fault
from .._containers import LayerDict, LayerList
from .._parameter import Parameter
from ._weights import taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeVar

    from ..._core import Tensor
    from .._layer import Layer

    L = TypeVar("L", bound=Layer)

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
]

#: Values that were computed inside of `cached`, by layer and name; None outside.
_known: dict[tuple[int, str], Any] | None = None


class ParametrizationList(LayerList):
    """The layers by which a parameter is computed, one after the other, and what it is computed of: `original`, or
    `original0`, `original1`, … if the first one takes several."""

    def originals(self) -> list[Parameter]:
        """What it is computed of."""
        return list(self._parameters.values())

    def forward(self) -> Any:
        first, *others = list(self)
        value = first(*self.originals())
        for layer in others:
            value = layer(value)
        return value

    def assign(self, value: Tensor) -> None:
        """Gives the originals values of which `value` is computed."""
        for layer in reversed(list(self)):
            inverse = getattr(layer, "right_inverse", None)
            if inverse is None:
                raise fault(
                    RuntimeError,
                    f"`{type(layer).__name__}` does not say of what a value is computed",
                    "define `right_inverse(self, value)` in it, or assign `original`",
                )
            value = inverse(value)
        values = value if isinstance(value, (tuple, list)) else [value]
        for original, one in zip(self.originals(), values):
            original.set(one)


class _Computed:
    """A parametrized attribute of a layer."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, layer: Layer, *assigned: Any) -> Any:
        parts = layer.parametrizations[self.name]
        if assigned:
            return parts.assign(assigned[0])
        if _known is None:
            return parts()
        key = id(layer), self.name
        if key not in _known:
            _known[key] = parts()
        return _known[key]


def register_parametrization(
    module: L, tensor_name: str, parametrization: Layer, *, unsafe: bool = False
) -> L:
    """Has a parameter computed by a layer at each use. What it is computed of is trained in its place, and is
    `parametrizations.<name>.original` in `state_dict`.

    Args:
        module: The layer that has the parameter.
        tensor_name: The parameter's name.
        parametrization: The layer that computes it. If it has a `right_inverse`, the original begins as that of
            the value; else as the value.
        unsafe: Whether sizes and element type may change.

    Example:
        >>> class Symmetric(fl.nn.Layer):
        ...     def forward(self, x):
        ...         return fl.triu(x, 0) + fl.transpose(fl.triu(x, 1), 0, 1)
        >>> layer = fl.nn.Linear(3, 3)
        >>> _ = fl.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> bool(fl.all(layer.weight == fl.transpose(layer.weight, 0, 1)))
        True
        >>> sorted(layer.state_dict())
        ['bias', 'parametrizations.weight.original']
    """
    if is_parametrized(module, tensor_name):
        parts = module.parametrizations[tensor_name]
        before = getattr(module, tensor_name).detach()
        parts.append(parametrization)
        if hasattr(parametrization, "right_inverse"):
            with _core.no_grad():
                parts.assign(before)
    else:
        before = taken(module, tensor_name)
        inverse = getattr(parametrization, "right_inverse", None)
        with _core.no_grad():
            original = before if inverse is None else inverse(before)
        if "parametrizations" not in module._sublayers:
            module.parametrizations = LayerDict()
        parts = ParametrizationList([parametrization])
        if isinstance(original, (tuple, list)):
            for i, one in enumerate(original):
                setattr(parts, f"original{i}", Parameter(one.detach()))
        else:
            parts.original = Parameter(original.detach())
        module.parametrizations[tensor_name] = parts
        module._computed[tensor_name] = _Computed(tensor_name)
    value = getattr(module, tensor_name)
    if not unsafe and (value.shape != before.shape or value.dtype != before.dtype):
        remove_parametrizations(module, tensor_name, leave_parametrized=False)
        raise fault(
            ValueError,
            f"`{tensor_name}` was {before.dtype.name}{list(before.shape)}, but becomes "
            f"{value.dtype.name}{list(value.shape)}",
            "keep sizes and element type, or say `unsafe=True`",
        )
    return module


def is_parametrized(module: Layer, tensor_name: str | None = None) -> bool:
    """Whether a parameter of a layer, or any, is computed of others.

    Args:
        module: The layer.
        tensor_name: The parameter's name.
    """
    known = [name for name, of in module._computed.items() if isinstance(of, _Computed)]
    return bool(known) if tensor_name is None else tensor_name in known


def remove_parametrizations(module: L, tensor_name: str, leave_parametrized: bool = True) -> L:
    """Makes a parameter of a layer its own again.

    Args:
        module: The layer.
        tensor_name: The parameter's name.
        leave_parametrized: Whether it keeps the value that was computed; else it gets what that was computed of.
    """
    if not is_parametrized(module, tensor_name):
        raise fault(ValueError, f"`{tensor_name}` of `{module.full_name}` is not parametrized")
    parts = module.parametrizations[tensor_name]
    originals = parts.originals()
    if not leave_parametrized and len(originals) > 1:
        raise fault(
            ValueError, f"`{tensor_name}` is computed of {len(originals)} parameters", "leave it parametrized"
        )
    with _core.no_grad():
        value = (getattr(module, tensor_name) if leave_parametrized else originals[0]).detach()
    _phase.changing(module)
    del module._computed[tensor_name]
    del module.parametrizations[tensor_name]
    if not module.parametrizations.keys():
        del module.parametrizations
    setattr(module, tensor_name, Parameter(value))
    return module


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Computes each parametrized parameter once while the scope lasts.

    Example:
        >>> with fl.nn.utils.parametrize.cached():
        ...     pass
    """
    global _known
    before, _known = _known, {} if _known is None else _known
    try:
        yield
    finally:
        _known = before
