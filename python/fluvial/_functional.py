"""`functional_call`: a layer as a function of its parameters."""

from __future__ import annotations

import threading

from . import _core, _phase
from ._fault import fault
from ._tree import is_array, is_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .nn import Layer


class _Layers:
    """Layers that have other tensors for a while, each for one thread: others that want the same wait."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        #: By the identity of a layer: the thread, and how many of its calls.
        self.used: dict[int, list[int]] = {}

    def take(self, layers: list[Any]) -> None:
        me = threading.get_ident()
        with self.changed:
            while any(self.used.get(id(layer), (me,))[0] != me for layer in layers):
                self.changed.wait()
            for layer in layers:
                self.used.setdefault(id(layer), [me, 0])[1] += 1

    def give_back(self, layers: list[Any]) -> None:
        with self.changed:
            for layer in layers:
                count = self.used[id(layer)]
                count[1] -= 1
                if not count[1]:
                    del self.used[id(layer)]
            self.changed.notify_all()


_LAYERS = _Layers()


def functional_call(
    layer: Layer, params: Mapping[str, Any], args: Any = (), options: Mapping[str, Any] | None = None
) -> Any:
    """What a layer gives with these tensors in the place of its own parameters and buffers, which stay as they are.

    Args:
        layer: The layer.
        params: Tensors by the names that `named_parameters` and `named_buffers` give. What is not among them is the layer's own.
        args: The inputs of the layer: a tuple of them, or one.
        options: Inputs by name.

    Threads that call the same layer in this way wait for one another; a thread must not call the layer itself meanwhile.

    Example:
        >>> layer = fl.nn.Linear(2, 1)
        >>> params = {"weight": fl.tensor([[1.0, 2.0]]), "bias": fl.tensor([0.5])}
        >>> x = fl.tensor([3.0, 4.0])
        >>> fl.functional_call(layer, params, x).tolist()
        [11.5]
        >>> loss = lambda params: fl.sum(fl.functional_call(layer, params, x))
        >>> fl.grad(loss)(params)["weight"].tolist()
        [[3.0, 4.0]]
    """
    from .nn import Layer, _state_dict

    if not isinstance(layer, Layer):
        raise fault(TypeError, f"`functional_call` takes a layer, not {type(layer).__name__}")
    args = args if isinstance(args, (tuple, list)) else (args,)
    layers = [below for _, below in _state_dict.walk(layer)]
    _LAYERS.take(layers)
    try:
        return _with(layer, params, args, options or {})
    finally:
        _LAYERS.give_back(layers)


def _with(layer: Layer, params: Mapping[str, Any], args: Any, options: Mapping[str, Any]) -> Any:
    from .nn import _state_dict

    places: dict[str, list[tuple[dict[str, Any], str]]] = {}
    of_entry: dict[int, list[tuple[dict[str, Any], str]]] = {}
    for prefix, below in _state_dict.walk(layer):
        # A program depends on the layer as it is, not on what stands there for a while.
        _phase.note(below)
        both: tuple[dict[str, Any], ...] = (below._parameters, below._buffers)
        for among in both:
            for name, entry in among.items():
                dotted = f"{prefix}.{name}" if prefix else name
                shared = of_entry.setdefault(entry.identity, [])
                if not any(place[0] is among and place[1] == name for place in shared):
                    shared.append((among, name))
                places[dotted] = shared
    changed: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for name, tensor in params.items():
            if name not in places:
                known = ", ".join(places) or "it has none"
                raise fault(KeyError, f"the layer has no parameter `{name}`", f"its parameters and buffers are {known}")
            value = tensor if is_tensor(tensor) else _core.tensor(tensor) if is_array(tensor) else None
            if value is None:
                raise fault(TypeError, f"`{name}` is {type(tensor).__name__}, not a tensor")
            for among, own in places[name]:
                changed.append((among, own, among[own]))
                among[own] = value
        return layer(*args, **options)
    finally:
        for among, own, before in reversed(changed):
            among[own] = before
