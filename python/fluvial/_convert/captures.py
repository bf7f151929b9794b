"""Concrete tensors that a function takes from outside become inputs of its program.

So a captured tensor behaves as in imperative mode: the program sees its value at each call, and
gradients reach it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import _core
from .trees import Tensor, is_tensor


class Captures(threading.local):
    """The captures of the program being built; `add` does nothing outside of one."""

    def __init__(self) -> None:
        #: How to get a captured tensor, the tensor, and the input that stands for it.
        self.found: list[tuple[Callable[[], Any], Tensor, Tensor]] | None = None
        #: Captures met first inside a block, where no input can be made: the build starts again.
        self.missed: list[tuple[Callable[[], Any], Tensor]] = []

    def add(self, value: Any, get: Callable[[], Any]) -> Any:
        """The input that stands for a captured tensor; any other value as it is."""
        if self.found is None or not is_tensor(value) or value.is_symbolic:
            return value
        if value.type_text.startswith("list") or not _core.is_building():
            return value
        for _, known, param in self.found:
            if known is value:
                return param
        try:
            param = _core.program_input(f"captured{len(self.found)}", value)
        except RuntimeError:
            if all(known is not value for _, known in self.missed):
                self.missed.append((get, value))
            with _core.imperative():
                return value.detach()
        self.found.append((get, value, param))
        return param


CAPTURES = Captures()
