"""Where a layer stands in a model: its dotted name."""

from __future__ import annotations

import re
import threading
import weakref

from .. import _core

_lock = threading.Lock()
_roots: weakref.WeakValueDictionary[str, Place] = weakref.WeakValueDictionary()


class Place:
    """A place in a model, `encoder.0`, of which the names of parameters are made.

    A layer begins as a model of its own, with the name given to it, or else one made from its
    class that no living model and no state of the scope has: `net`, `net_1`. As a part of
    another layer it takes its name from there.
    """

    __slots__ = ("__weakref__", "_parent", "_part")

    def __init__(self, name: str | None, kind: str) -> None:
        self._parent: Place | None = None
        with _lock:
            self._part = name if name is not None else _free_name(kind)
            _roots.setdefault(self._part, self)

    @property
    def name(self) -> str:
        """The dotted name."""
        return self._part if self._parent is None else self._parent.join(self._part)

    def join(self, part: str) -> str:
        """The name of a part."""
        name = self.name
        return f"{name}.{part}" if name else part

    def __deepcopy__(self, memo: dict[int, object]) -> Place:
        """A place of its own, or the same part of what the place above has become."""
        above = memo.get(id(self._parent))
        copied = Place(None, self._part.rpartition(".")[2].rstrip("0123456789").strip("_"))
        if isinstance(above, Place):
            copied.move(above, self._part)
        memo[id(self)] = copied
        return copied

    def move(self, parent: Place, part: str) -> None:
        """Makes it a part of another place, unless it is a part already or `parent` is within."""
        above: Place | None = parent
        while above is not None:
            if above is self:
                return
            above = above._parent
        if self._parent is None:
            with _lock:
                if _roots.get(self._part) is self:
                    del _roots[self._part]
            self._parent, self._part = parent, part


def _free_name(kind: str) -> str:
    base = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.strip("_")).lower() or "layer"
    states = _core.State.current().names()
    name, count = base, 0
    while name in _roots or any(state.startswith(name + ".") for state in states):
        count += 1
        name = f"{base}_{count}"
    return name
