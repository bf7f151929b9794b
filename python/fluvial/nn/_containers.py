"""Layers one after the other, and lists and dicts of layers."""

from __future__ import annotations

from .._core import Tensor
from .._fault import fault
from ._layer import Layer
from ._parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any


class Function(Layer):
    """A function as a layer without parameters.

    Args:
        function: What it does.

    Example:
        >>> fl.nn.Function(lambda x: x * 2)(fl.tensor(3.0)).item()
        6.0
    """

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        super().__init__(name)
        self.function = function

    def forward(self, *inputs: Any, **options: Any) -> Any:
        return self.function(*inputs, **options)

    def extra_repr(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def as_layer(layer: Layer | Callable[..., Any]) -> Layer:
    """The layer, or the function as one."""
    if isinstance(layer, Layer):
        return layer
    if callable(layer):
        return Function(layer)
    raise fault(TypeError, f"{layer!r} is neither a layer nor a function")


class LayerList(Layer):
    """A list of layers, with names by number.

    Args:
        layers: The layers.

    Example:
        >>> blocks = fl.nn.LayerList(fl.nn.Linear(4, 4) for _ in range(3))
        >>> len(blocks), len(blocks[1:]), len(blocks.parameters())
        (3, 2, 6)
    """

    def __init__(
        self, layers: Iterable[Layer | Callable[..., Any]] = (), name: str | None = None
    ) -> None:
        super().__init__(name)
        for layer in layers:
            self.append(layer)

    def append(self, layer: Layer | Callable[..., Any]) -> LayerList:
        """Adds a layer at the end."""
        self.add_sublayer(str(len(self)), as_layer(layer))
        return self

    def extend(self, layers: Iterable[Layer | Callable[..., Any]]) -> LayerList:
        """Adds layers at the end."""
        for layer in layers:
            self.append(layer)
        return self

    def insert(self, index: int, layer: Layer | Callable[..., Any]) -> LayerList:
        """Adds a layer before the one with this number."""
        layers = list(self)
        layers.insert(index, as_layer(layer))
        return self._become(layers)

    def pop(self, index: int = -1) -> Layer:
        """Takes a layer away, and gives it."""
        layers = list(self)
        taken = layers.pop(index)
        self._become(layers)
        return taken

    def _become(self, layers: list[Layer]) -> Any:
        # Numbers are names: those behind a change have others.
        for name in list(self._sublayers):
            delattr(self, name)
        return self.extend(layers)

    def __len__(self) -> int:
        return len(self._layers())

    def __iter__(self) -> Iterator[Layer]:
        return iter(list(self._layers().values()))

    def __getitem__(self, index: int | slice) -> Any:
        return list(self._layers().values())[index]

    def __setitem__(self, index: int, layer: Layer | Callable[..., Any]) -> None:
        self.add_sublayer(list(self._sublayers)[index], as_layer(layer))

    def __delitem__(self, index: int | slice) -> None:
        layers = list(self)
        del layers[index]
        self._become(layers)

    def __iadd__(self, layers: Iterable[Layer | Callable[..., Any]]) -> Any:
        return self.extend(layers)

    def __add__(self, layers: Iterable[Layer | Callable[..., Any]]) -> LayerList:
        return LayerList([*self, *layers])


class Sequential(LayerList):
    """Layers one after the other. Functions are layers, too.

    Args:
        layers: The layers; or one dict of layers by name.

    Example:
        >>> net = fl.nn.Sequential(fl.nn.Linear(4, 16), fl.tanh, fl.nn.Linear(16, 2), name="net")
        >>> net(fl.full((3, 4), 0.5)).shape
        (3, 2)
        >>> net
        Sequential(
          (0): Linear(4, 16)
          (1): Function(tanh)
          (2): Linear(16, 2)
        )
    """

    def __init__(self, *layers: Layer | Callable[..., Any], name: str | None = None) -> None:
        if len(layers) == 1 and isinstance(layers[0], dict):
            super().__init__((), name)
            for key, layer in layers[0].items():
                self.add_sublayer(key, as_layer(layer))
        else:
            super().__init__(layers, name)

    def __getitem__(self, index: int | slice) -> Any:
        found = super().__getitem__(index)
        return Sequential(*found) if isinstance(index, slice) else found

    def __add__(self, layers: Iterable[Layer | Callable[..., Any]]) -> Sequential:
        return Sequential(*self, *layers)

    def forward(self, x: Any) -> Any:
        for layer in self._layers().values():
            x = layer(x)
        return x


class LayerDict(Layer):
    """Layers by name.

    Args:
        layers: The layers.

    Example:
        >>> heads = fl.nn.LayerDict({"mean": fl.nn.Linear(4, 1), "scale": fl.nn.Linear(4, 1)})
        >>> heads["mean"]
        Linear(4, 1)
    """

    def __init__(
        self, layers: Mapping[str, Layer | Callable[..., Any]] = {}, name: str | None = None
    ) -> None:
        super().__init__(name)
        for key, layer in layers.items():
            self[key] = layer

    def __getitem__(self, key: str) -> Layer:
        return self._layers()[key]

    def __setitem__(self, key: str, layer: Layer | Callable[..., Any]) -> None:
        self.add_sublayer(key, as_layer(layer))

    def __contains__(self, key: str) -> bool:
        return key in self._layers()

    def __len__(self) -> int:
        return len(self._layers())

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._layers()))

    def __delitem__(self, key: str) -> None:
        self._sublayers[key]
        delattr(self, key)

    def keys(self) -> list[str]:
        """The names."""
        return list(self._layers())

    def values(self) -> list[Layer]:
        """The layers."""
        return list(self._layers().values())

    def items(self) -> list[tuple[str, Layer]]:
        """Names and layers."""
        return list(self._layers().items())

    def update(self, layers: Mapping[str, Layer] | Iterable[tuple[str, Layer]]) -> None:
        """Adds layers, or puts them in the place of others."""
        for key, layer in dict(layers).items():
            self[key] = layer

    def pop(self, key: str) -> Layer:
        """Takes a layer away, and gives it."""
        taken = self[key]
        del self[key]
        return taken

    def clear(self) -> None:
        """Takes all layers away."""
        for key in list(self):
            del self[key]


def _as_parameter(value: Any) -> Parameter:
    if isinstance(value, Parameter):
        return value
    if isinstance(value, Tensor):
        return Parameter(value)
    raise fault(TypeError, f"{value!r} is neither a parameter nor a tensor", "wrap it in `fl.nn.Parameter`")


class ParameterList(Layer):
    """Parameters by number; tensors become parameters.

    Args:
        values: The parameters.

    Example:
        >>> scales = fl.nn.ParameterList([fl.ones(2), fl.zeros(3)])
        >>> len(scales), scales[1].shape, [name for name, _ in scales.named_parameters()]
        (2, (3,), ['0', '1'])
    """

    def __init__(self, values: Iterable[Any] = (), name: str | None = None) -> None:
        super().__init__(name)
        self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Adds a parameter at the end."""
        setattr(self, str(len(self)), _as_parameter(value))
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds parameters at the end."""
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(list(self._parameters.values()))

    def __getitem__(self, index: int | slice) -> Any:
        found = list(self._parameters.values())[index]
        return ParameterList(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, list(self._parameters)[index], _as_parameter(value))


class ParameterDict(Layer):
    """Parameters by name; tensors become parameters.

    Args:
        parameters: The parameters.

    Example:
        >>> weights = fl.nn.ParameterDict({"left": fl.ones(2)})
        >>> weights["right"] = fl.zeros(2)
        >>> weights.keys(), len(weights.parameters())
        (['left', 'right'], 2)
    """

    def __init__(
        self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), name: str | None = None
    ) -> None:
        super().__init__(name)
        self.update(parameters)

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds parameters, or puts them in the place of others."""
        for key, value in dict(parameters).items():
            self[key] = value

    def __getitem__(self, key: str) -> Parameter:
        return self._parameters[key]

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        self._parameters[key]
        delattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._parameters

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """The names."""
        return list(self._parameters)

    def values(self) -> list[Parameter]:
        """The parameters."""
        return list(self._parameters.values())

    def items(self) -> list[tuple[str, Parameter]]:
        """Names and parameters."""
        return list(self._parameters.items())

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of this name, if there is one."""
        return self._parameters.get(key, default)

    def pop(self, key: str) -> Parameter:
        """Takes a parameter away, and gives it."""
        taken = self[key]
        del self[key]
        return taken


# The names of PyTorch.
ModuleList, ModuleDict = LayerList, LayerDict
