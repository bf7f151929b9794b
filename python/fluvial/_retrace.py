"""What has to be known of programs under construction by those who count.

A block of a program may be traced more than once, until the types of its names are known. Code that
counts while it is traced, for instance to name layers by their place, adds a pair to `SNAPSHOTS`.
"""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Pairs of functions: one returns what to remember, the other puts it back.
SNAPSHOTS: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

#: Functions that are called when a program begins.
BEGINNINGS: list[Callable[[], None]] = []


def begin_program() -> None:
    """Begins a program, and tells those who count by programs."""
    _core.begin_program()
    for begin in BEGINNINGS:
        begin()
