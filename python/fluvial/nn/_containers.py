"""Layers one after the other, and lists and dicts of layers."""

from __future__ import annotations

from .._fault import fault
from ._layer import Layer

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

    def __len__(self) -> int:
        return len(self._layers())

    def __iter__(self) -> Iterator[Layer]:
        return iter(list(self._layers().values()))

    def __getitem__(self, index: int | slice) -> Any:
        return list(self._layers().values())[index]

    def __setitem__(self, index: int, layer: Layer | Callable[..., Any]) -> None:
        self.add_sublayer(str(range(len(self))[index]), as_layer(layer))


class Sequential(LayerList):
    """Layers one after the other. Functions are layers, too.

    Args:
        layers: The layers.

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
        super().__init__(layers, name)

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

    def items(self) -> list[tuple[str, Layer]]:
        """Names and layers."""
        return list(self._layers().items())
