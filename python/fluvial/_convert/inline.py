"""Calls of functions inside of a program that somebody else builds: `fl.build`, `fl.building`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._fault import fault
from .._tree import is_tensor, leaves
from . import journal
from .build import Build
from .report import convert


def inlined(function: Callable, args: tuple, options: dict[str, Any]) -> Any:
    """What a function gives in the program being built. Where no function around it notes what is changed, it
    is noted here: a program that is built once changes plain values once, and can leave none of its own behind."""
    if journal.LOCAL.world is not None:
        return convert(function)(*args, **options)
    with Build(adopts=False) as build:
        result = convert(function)(*args, **options)
        for slot, before in build.world.touched.values():
            now = slot.take()
            if hasattr(slot.owner, "_fl_options") and getattr(slot, "name", "") == "training":
                # How layers are when the program has run, nobody knows: they stay as they were.
                continue
            if any(is_tensor(part) and part.is_symbolic for _, part in leaves(now)):
                raise fault(
                    TypeError,
                    f"{slot.text} would keep a value of the program, which has none before it runs: {slot.line} sets it",
                    "return the value, or make a state of it",
                )
            build.world.touched[slot.key] = (slot, now)
    return result
