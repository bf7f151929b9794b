"""Objects under several names: which values of two branches, or of two trips, are one object afterwards."""

from __future__ import annotations

from typing import Any

from . import journal, tags
from .forms import Match
from .trees import Tensor, is_tensor


class Pairs:
    """The values that a choice of two blocks gives: pairs of leaves, each pair of objects once."""

    def __init__(self) -> None:
        #: The numbers of the first block's results, and the second block's results with their types.
        self.chosen: list[int] = []
        self.second: list[tuple[Any, Any]] = []
        #: The number of the output for a key and the number of a pair in its match.
        self.places: dict[tuple[Any, int], int] = {}
        self._objects: list[tuple[Any, Any]] = []
        self._known: dict[tuple[int, int], int] = {}
        #: Numbers of outputs, and of those that are their tags.
        self._tags: list[tuple[int, int]] = []

    def add(self, key: Any, match: Match, types: list, start: int) -> None:
        """Adds the pairs of a match; `start` is where the leaves begin among the first block's results."""
        for number, (i, j) in enumerate(match.pairs):
            a, b = match.first[i], match.second[j]
            both = (id(a), id(b)) if is_tensor(a) and is_tensor(b) else None
            if both is not None and both in self._known:
                self.places[key, number] = self._known[both]
                continue
            place = self.places[key, number] = len(self.chosen)
            if both is not None:
                self._known[both] = place
            self.chosen.append(start + i)
            self.second.append((b, types[i]))
            self._objects.append((a, b))

    def add_tags(self, first: dict[tuple[int, Any], int], none: int) -> None:
        """Adds the tags of those pairs of which one is an object that has one.

        Args:
            first: By identity and type: the numbers of the first block's results that are tags.
            none: The number of the result that says that there is none.
        """
        for output, ((a, _), (b, dtype)) in enumerate(zip(list(self._objects), list(self.second))):
            tag = tags.beside(b, dtype)
            own = first.get((id(a), dtype))
            if tag is None and own is None:
                continue
            self._tags.append((output, len(self.chosen)))
            self.chosen.append(none if own is None else own)
            self.second.append((tags.as_value(tag), "int64"))

    def note(self, outputs: list[Tensor]) -> None:
        """Notes which outputs may be one object with another or with one of before."""
        for number, place in self._tags:
            tags.note(outputs[number], outputs[place], *self._objects[number])
        by_object: dict[int, list[Tensor]] = {}
        for output, sources in zip(outputs, self._objects):
            for source in filter(is_tensor, sources):
                journal.may_be(output, source)
                by_object.setdefault(id(source), []).append(output)
        for several in by_object.values():
            for other in several[1:]:
                journal.may_be(several[0], other)
        self._objects = []
        self.second = []

