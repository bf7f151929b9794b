"""What has to be put back when a block is traced again.

A block of a program may be traced more than once, until the types of its names are known. Code that
counts while it is traced, for instance to name layers by their place, adds a pair to `SNAPSHOTS`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Pairs of functions: one returns what to remember, the other puts it back.
SNAPSHOTS: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []
