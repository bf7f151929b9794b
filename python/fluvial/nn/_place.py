"""Where a layer stands in a model: its dotted name."""

from __future__ import annotations

import re
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Parameter


class Place:
    """A place in a model, `encoder.0`, of which the labels of parameters are made.

    A layer begins as a model of its own, with the name given to it, or else one made from its
    class. As a part of another layer it takes its name from there. Names need not be unique: what is
    shared is shared by identity, and programs and files number what is called alike.
    """

    __slots__ = ("_layer", "_parent", "_part")

    def __init__(self, layer: Any, name: str | None) -> None:
        self._layer = weakref.ref(layer)
        self._parent: Place | None = None
        self._part = _name_of(type(layer).__name__) if name is None else name

    @property
    def name(self) -> str:
        """The dotted name."""
        return self._part if self._parent is None else self._parent.join(self._part)

    def join(self, part: str) -> str:
        """The name of a part."""
        name = self.name
        return f"{name}.{part}" if name else part

    def take(self, part: str, parameter: Parameter) -> None:
        """Labels a parameter that became a part here, unless it is a part of another layer."""
        if not parameter.is_placed:
            parameter.key = self.join(part)

    def move(self, parent: Place, part: str) -> None:
        """Makes it a part of another place, unless it is a part already or `parent` is within."""
        above: Place | None = parent
        while above is not None:
            if above is self:
                return
            above = above._parent
        if self._parent is None:
            labels = list(self._labels())
            self._parent, self._part = parent, part
            for place, name, parameter in labels:
                parameter.key = place.join(name)

    def _labels(self) -> Any:
        """The parameters below that are labelled by their places here, with these."""
        layer = self._layer()
        for among in (layer._parameters, layer._buffers) if layer is not None else ():
            for name, parameter in among.items():
                if parameter.key == self.join(name):
                    yield self, name, parameter
        for part, below in layer._sublayers.items() if layer is not None else ():
            if below._place._parent is self and below._place._part == part:
                yield from below._place._labels()

    def copied(self, layer: Any, memo: dict[int, object]) -> Place:
        """The place of a copy of the layer: the same part of what the place above has become."""
        copied = memo[id(self)] = Place(layer, self._part)
        above = memo.get(id(self._parent))
        if isinstance(above, Place):
            copied._parent = above
        return copied

    def __reduce__(self) -> Any:
        return _restored, (self._layer(), self._parent, self._part)


def _restored(layer: Any, parent: Place | None, part: str) -> Place:
    place = Place(layer, part)
    place._parent = parent
    return place


def _name_of(kind: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.strip("_")).lower() or "layer"
