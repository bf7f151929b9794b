"""Sequences that users give, which may not end."""

from __future__ import annotations

import itertools

from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    T = TypeVar("T")

#: The most elements.
MOST = 1 << 20


def listed(values: Iterable[T], what: str) -> list[T]:
    """The elements as a list; what has more than anybody means is refused.

    Args:
        values: The elements.
        what: What they are, for the error.
    """
    found = list(itertools.islice(values, MOST + 1))
    if len(found) > MOST:
        raise fault(ValueError, f"there are more than {MOST} {what}", "give a list of those that are meant")
    return found
