"""Which parameters a step has read, for optimizers that were not told what to train."""

from __future__ import annotations

import threading
import weakref

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._parameter import Parameter


class _Used(threading.local):
    def __init__(self) -> None:
        # A model that is gone must not keep its name by having been used.
        self.by_name: weakref.WeakValueDictionary[str, Parameter] = weakref.WeakValueDictionary()
        self.building = False


_used = _Used()


def note_use(parameter: Parameter) -> None:
    """Notes that a parameter was read; a change of mode begins a step."""
    if _used.building != _core.is_building():
        _used.by_name.clear()
        _used.building = not _used.building
    _used.by_name[parameter.name] = parameter


def used_in_step() -> list[Parameter]:
    """The parameters that were read since the last update or change of mode."""
    return list(_used.by_name.values()) if _used.building == _core.is_building() else []


def end_step() -> None:
    """Forgets what was read."""
    _used.by_name.clear()
