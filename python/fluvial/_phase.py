"""How layers are (training or use, frozen or not, made of which parts), for programs built of them.

A program is built for layers as they are. Whoever keeps programs notes which layers were used and how they
were when the build began, and builds another program once they are not so any more.
"""

from __future__ import annotations

import threading
import weakref

from . import _core
from ._fault import fault
from ._retrace import SNAPSHOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from .nn import Layer

    Phase: TypeAlias = tuple[Any, ...]
    Noted: TypeAlias = dict[int, tuple[Layer, Phase]]


class _Local(threading.local):
    #: The layers of the program being built, as they were when its build began; None outside.
    noted: Noted | None = None


LOCAL = _Local()


def _parts(layer: Layer) -> list[Any]:
    """The parameters, buffers and layers of which a layer is made; an optimizer has none."""
    if hasattr(layer, "_built_settings"):
        return []
    return [*layer._parameters.values(), *layer._buffers.values(), *layer._sublayers.values()]


def phase_of(layer: Layer) -> Phase:
    """What about a layer or an optimizer itself changes a program that is built of it."""
    settings = getattr(layer, "_built_settings", None)
    if settings is not None:
        return settings()
    parts = _parts(layer)
    trained = [parameter.requires_grad for parameter in layer._parameters.values()]
    hooks = layer._pre_hooks, layer._hooks, layer._backward_pre_hooks, layer._backward_hooks
    made_of = (tuple(map(id, parts)), tuple(layer._sublayers), tuple(map(tuple, hooks)))
    return (layer.training, made_of, layer._fl_options(), *trained)


def use(layer: Layer) -> None:
    """Notes that the program being built calls a layer."""
    if _core.is_building() and not isinstance(getattr(layer, "training", True), bool):
        raise fault(
            TypeError,
            f"whether the layer `{layer.full_name}` is in training is known only when the program runs",
            "call `train` or `eval` before the branch or loop, or on both paths",
        )
    note(layer)


def note(layer: Layer) -> None:
    """Notes that the program being built depends on a layer."""
    if LOCAL.noted is not None and id(layer) not in LOCAL.noted:
        LOCAL.noted[id(layer)] = (layer, phase_of(layer))


def changing(layer: Layer) -> None:
    """Has to be called before a layer is changed."""
    _core.changed()
    note(layer)
    if _core.is_building() and hasattr(layer, "training"):
        from ._convert import journal

        journal.touch_attribute(layer, "training", _set_training)


def _set_training(layer: Layer, name: str, value: Any) -> None:
    _core.changed()
    object.__setattr__(layer, name, value)


class noting:
    """A scope in which the layers of a program are noted."""

    def __enter__(self) -> Noted:
        self._former, LOCAL.noted = LOCAL.noted, {}
        return LOCAL.noted

    def __exit__(self, *exception: object) -> None:
        LOCAL.noted = self._former


class Phases:
    """The layers and parameters of a program, and how they were."""

    def __init__(self, noted: Noted, program: _core.Program) -> None:
        # A layer that is gone cannot be called again.
        self._layers = [(weakref.ref(layer), phase) for layer, phase in noted.values()]
        # One that takes the place of a part that is gone may have its address.
        self._parts = [weakref.ref(part) for layer, _ in noted.values() for part in _parts(layer)]
        self._program = program
        self._seen = -1

    def are_gone(self) -> bool:
        """Whether a parameter or layer is gone, so that they will never again be as they were."""
        return any(part() is None for part in self._parts)

    def hold(self) -> bool:
        """Whether all layers and parameters are as they were."""
        changes = _core.changes()
        if self._seen == changes:
            return True
        if self.are_gone():
            return False
        living = ((layer(), phase) for layer, phase in self._layers)
        if any(layer is not None and phase_of(layer) != phase for layer, phase in living):
            return False
        if not self._program.is_current:
            return False
        self._seen = changes
        return True


def _take() -> dict[int, Phase]:
    return {key: phase_of(layer) for key, (layer, _) in (LOCAL.noted or {}).items()}


def _put_back(taken: Any) -> None:
    for key, (layer, first) in (LOCAL.noted or {}).items():
        if hasattr(layer, "_built_settings"):
            continue
        training, _, options, *trained = taken.get(key, first)
        object.__setattr__(layer, "training", training)
        layer._put_back_options(options)
        for parameter, trainable in zip(layer._parameters.values(), trained):
            parameter.requires_grad = trainable
    _core.changed()


SNAPSHOTS.append((_take, _put_back))
