"""Containers of which only the run knows which they are: what `c = a if test else b` gives, for lists or dicts.

Such a container is a new one, which stands for others. While one of these is held by somebody, a change of the one
would have to be seen in the other; so whichever is to be changed says so before (`others`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class _Twin:
    def __init__(self, value: Any) -> None:
        self.value = value
        self.stands_for: list[_Twin] = []
        self.copies: list[_Twin] = []
        #: A test outside of all blocks, and which it is where the test holds and where not; None stands for a new one.
        self.choice: tuple[Any, _Twin | None, _Twin | None] | None = None


class Twins:
    """By identity: containers that stand for others, and those others."""

    def __init__(self) -> None:
        self._known: dict[int, _Twin] = {}

    def __bool__(self) -> bool:
        return bool(self._known)

    def _of(self, value: Any) -> _Twin:
        return self._known.setdefault(id(value), _Twin(value))

    def note(self, value: Any, *sources: Any) -> None:
        """Notes that a container stands for others."""
        for source in sources:
            if source is not value:
                self._of(value).stands_for.append(self._of(source))
                self._of(source).copies.append(self._of(value))

    def note_choice(self, value: Any, test: Any, first: Any, second: Any) -> None:
        """Notes which of two containers one is, by a test; None stands for a new one."""
        both = [None if source is None else self._of(source) for source in (first, second)]
        self._of(value).choice = (test, both[0], both[1])

    def choice(self, value: Any) -> tuple[Any, Any, Any] | None:
        """The test that says which container one is, and those; None stands for a new one. Nothing if there is none."""
        own = self._known.get(id(value))
        if own is None or own.choice is None:
            return None
        test, first, second = own.choice
        return test, None if first is None else first.value, None if second is None else second.value

    def has(self, own: int) -> bool:
        """Whether the container of this identity is one of them."""
        return own in self._known

    def others(self, value: Any, is_held: Callable[[list], bool], apart: tuple = ()) -> bool:
        """Whether somebody holds another container that may be this one.

        Args:
            value: The container.
            is_held: Says whether somebody holds the container in a list.
            apart: Containers that do not count.
        """
        own = self._known.get(id(value))
        if own is None:
            return False
        found: dict[int, _Twin] = {}
        for above in _reached(own, lambda twin: twin.stands_for):
            for twin in _reached(above, lambda twin: twin.copies):
                found[id(twin)] = twin
        counted = [twin for twin in found.values() if twin is not own and id(twin.value) not in map(id, apart)]
        return any(is_held([twin.value]) for twin in counted)


def _reached(twin: _Twin, further: Callable[[_Twin], list[_Twin]]) -> Iterator[_Twin]:
    """A twin, and all that further steps lead to."""
    seen, stack = {id(twin)}, [twin]
    while stack:
        found = stack.pop()
        yield found
        new = [other for other in further(found) if id(other) not in seen]
        seen.update(map(id, new))
        stack += new
