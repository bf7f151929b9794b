"""Lists that may also be walked by `next`, as what PyTorch's methods give."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Listing(list["Any"]):
    """A list; `next` gives its elements one after the other."""

    _at = 0

    def __next__(self) -> Any:
        if self._at >= len(self):
            raise StopIteration
        self._at += 1
        return self[self._at - 1]
