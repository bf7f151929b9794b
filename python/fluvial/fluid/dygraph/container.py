"""Layers that hold others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .layers import Layer

__all__ = ["Sequential", "LayerList", "ParameterList"]


class Sequential(Layer):
    """Layers one after the other.

    Args:
        layers: Layers, or pairs of a name and a layer; a name may stand before them.
    """

    def __init__(self, *layers: Any) -> None:
        scope = layers[0] if layers and isinstance(layers[0], str) else None
        super().__init__(scope)
        for i, item in enumerate(layers[1:] if scope is not None else layers):
            name, layer = item if isinstance(item, tuple) else (str(i), item)
            self.add_sublayer(name, layer)

    def __getitem__(self, name: Any) -> Layer:
        if isinstance(name, int):
            return list(self._sub_layers.values())[name]
        return self._sub_layers[str(name)]

    def __setitem__(self, name: Any, layer: Layer) -> None:
        self.add_sublayer(str(name), layer)

    def __delitem__(self, name: Any) -> None:
        del self._sub_layers[str(name)]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def forward(self, input: Any) -> Any:
        for layer in self._sub_layers.values():
            input = layer(input)
        return input


class LayerList(Layer):
    """A list of layers.

    Args:
        sublayers: The first ones.
    """

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        self.extend(sublayers or ())

    def __getitem__(self, index: Any) -> Any:
        found = list(self._sub_layers.values())[index]
        return LayerList(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, sublayer: Layer) -> None:
        self.add_sublayer(str(range(len(self))[index]), sublayer)

    def __delitem__(self, index: Any) -> None:
        items = list(self)
        del items[index]
        self._sub_layers.clear()
        self.extend(items)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(list(self._sub_layers.values()))

    def append(self, sublayer: Layer) -> LayerList:
        """Adds a layer at the end."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        """Puts a layer before another one."""
        items = list(self)
        items.insert(index, sublayer)
        self._sub_layers.clear()
        self.extend(items)

    def extend(self, sublayers: Iterable[Layer]) -> LayerList:
        """Adds layers at the end."""
        for layer in sublayers:
            self.append(layer)
        return self


class ParameterList(Layer):
    """A list of parameters.

    Args:
        parameters: The first ones.
    """

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        for parameter in parameters or ():
            self.append(parameter)

    def __getitem__(self, index: Any) -> Any:
        return list(self._parameters.values())[index]

    def __setitem__(self, index: int, parameter: Any) -> None:
        self.add_parameter(str(range(len(self))[index]), parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._parameters.values()))

    def append(self, parameter: Any) -> ParameterList:
        """Adds a parameter at the end."""
        self.add_parameter(str(len(self)), parameter)
        return self
