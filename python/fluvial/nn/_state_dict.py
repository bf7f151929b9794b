"""Parameters and buffers by name, out of a model and into it."""

from __future__ import annotations

from .. import _core
from .._errors import StateError
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from .._core import Tensor, TensorLike
    from ._layer import Layer
    from ._parameter import Parameter


class Loaded:
    """What a load that is not strict left out."""

    def __init__(self, missing: list[str], unexpected: list[str]) -> None:
        #: Names of the model that the dict does not have.
        self.missing = missing
        #: Names of the dict that the model does not have.
        self.unexpected = unexpected

    @property
    def missing_keys(self) -> list[str]:
        """PyTorch's name of `missing`."""
        return self.missing

    @property
    def unexpected_keys(self) -> list[str]:
        """PyTorch's name of `unexpected`."""
        return self.unexpected

    def __iter__(self) -> Iterator[list[str]]:
        return iter((self.missing, self.unexpected))

    def __repr__(self) -> str:
        return f"Loaded(missing={self.missing}, unexpected={self.unexpected})"


def walk(layer: Layer, name: str = "") -> Iterator[tuple[str, Layer]]:
    """A layer and all below it, each use of a shared one too, by dotted names."""
    yield name, layer
    for part, below in layer._layers().items():
        yield from walk(below, f"{name}.{part}" if name else part)


def entries(layer: Layer) -> Iterator[tuple[str, Parameter]]:
    """All parameters and buffers, each use of a shared one too."""
    for prefix, below in walk(layer):
        for among in (below._parameters, below._buffers):
            for name, entry in among.items():
                yield (f"{prefix}.{name}" if prefix else name), entry


def persistent(layer: Layer) -> dict[str, Parameter]:
    """What a `state_dict` has."""
    return {name: entry for name, entry in entries(layer) if entry.is_persistent}


def distinct(
    layer: Layer, kind: str, prefix: str = "", recurse: bool = True, once: bool = True
) -> Iterator[tuple[str, Parameter]]:
    """Parameters or buffers; one that several layers share is there once, unless all uses are asked for."""
    seen: set[int] = set()
    for path, below in walk(layer, prefix) if recurse else [(prefix, layer)]:
        for name, entry in getattr(below, kind).items():
            if not once or entry.identity not in seen:
                seen.add(entry.identity)
                yield (f"{path}.{name}" if path else name), entry


def found(layer: Layer, target: str, among: str, what: str) -> Any:
    """The part of a layer that has this dotted name."""
    *path, last = target.split(".")
    for i, part in enumerate([*path, last]):
        parts = getattr(layer, "_sublayers" if i < len(path) else among)
        if part not in parts:
            known = ", ".join(parts) or "none"
            raise fault(
                AttributeError,
                f"the model has no {what} `{target}`: there is no `{part}` in `{type(layer).__name__}`",
                f"the names there are: {known}",
            )
        layer = parts[part]
    return layer


def values(layer: Layer) -> dict[str, Tensor]:
    """See `Layer.state_dict`."""
    with _core.imperative(), _core.no_grad():
        return {name: entry.detach() for name, entry in persistent(layer).items()}


def load(layer: Layer, state: Mapping[str, TensorLike], strict: bool) -> Loaded:
    """See `Layer.load_state_dict`."""
    if not hasattr(state, "keys"):
        what = f"`load_state_dict` takes values by name, and was given {type(state).__name__}"
        raise fault(TypeError, what, "give what `state_dict()` of such a model gives, or a file read by `fl.load`")
    known = persistent(layer)
    loaded = Loaded([n for n in known if n not in state], [n for n in state if n not in known])
    faults, fitting = [], []
    with _core.imperative(), _core.no_grad():
        for name, entry in known.items():
            if name in state:
                given = state[name]
                value = given if isinstance(given, _core.Tensor) else _core.tensor(given)
                if entry.is_sized and entry.shape != value.shape:
                    own = f"{entry.dtype.name}{list(entry.shape)}"
                    found = f"{value.dtype.name}{list(value.shape)}"
                    faults.append(f"`{name}` is {own} here, but {found} was given")
                fitting.append((entry, value))
        if strict:
            faults += [f"`{name}` is missing" for name in loaded.missing]
            faults += [f"`{name}` is unexpected" for name in loaded.unexpected]
        if faults:
            raise fault(
                StateError,
                "\n  ".join([f"the states do not fit {layer.full_name or 'the model'}:", *faults]),
                "load what was saved from such a model; names may differ if it is not strict",
            )
        for entry, value in fitting:
            entry.load(value)
    return loaded
