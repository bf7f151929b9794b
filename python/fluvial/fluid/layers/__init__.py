"""Functions under Fluid's names, with Fluid's arguments and defaults.

Each module defines functions over tensors of the core and lists them in `__all__`. Here they become functions of
variables (`framework.layer`): under `dygraph.guard` they run at once, otherwise they are appended to the program. What
works on blocks, and so on variables itself, is listed in `VERBATIM`.
"""

from __future__ import annotations

import importlib as _importlib
import inspect as _inspect
from typing import Any as _Any

from ..framework import layer as _layer

#: Modules with functions of tensors, as far as they are there.
_MODULES = (
    "nn", "tensor", "ops", "loss", "metric_op", "detection", "_boxes", "_regions", "_region_pools", "_yolo", "_proposals",
    "_box_targets", "_measures", "sequence", "rnn", "distributions", "collective", "compare",
)  # fmt: skip

#: Modules with functions of variables.
_VERBATIM = (
    "io", "_readers", "sizes", "arrays", "control_flow", "parallel", "recurrences", "learning_rate_scheduler",
)  # fmt: skip

__all__: list[str] = []


def _elsewhere(module: str) -> _Any:
    def find(name: str) -> _Any:
        if name in __all__:
            return globals()[name]
        raise AttributeError(f"module `{module}` has no attribute `{name}`", name=name)

    return find


def _load() -> None:
    from ... import layers as older

    loaded: list[_Any] = []
    for entry in older.__all__:
        known = getattr(older, entry)
        if _inspect.isroutine(known):
            globals()[entry] = _layer(known)
            __all__.append(entry)
    for name in (*_MODULES, *_VERBATIM):
        try:
            module = _importlib.import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            continue
        for entry in module.__all__:
            value: _Any = getattr(module, entry)
            is_own = _inspect.isfunction(value) and not getattr(value, "verbatim", False)
            if name in _MODULES and is_own:
                # Also where Fluid's users take it from, `layers.nn.fc`.
                value = _layer(value)
                setattr(module, entry, value)
            globals()[entry] = value
            if entry not in __all__:
                __all__.append(entry)
        loaded.append(module)
    # Modules have what Fluid has there, `layers.control_flow.StaticRNN`, also if another one defines it.
    for module in loaded:
        if not hasattr(module, "__getattr__"):
            setattr(module, "__getattr__", _elsewhere(module.__name__))


_load()


def __getattr__(name: str) -> _Any:
    from .._missing import no_attribute

    raise no_attribute(__name__, name)
