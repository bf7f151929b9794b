"""The scope in which a function is built: what it sees of the outer world, and what it changes there."""

from __future__ import annotations

from .. import _core
from .._paths import Paths
from . import journal
from .journal import Perhaps, World
from .outer import Outer
from .state import BUILD
from .twins import Twins


class Build:
    """While it is entered, the objects of the user's are those of the function being built. At its end they
    hold again what they held before.

    Args:
        adopts: Whether tensors from outside become inputs of the program, rather than constants.
        opens: What messages call the numbers from outside that become inputs.
        paths: The tests that are decided, for a program of one path.
    """

    def __init__(
        self, adopts: bool = True, opens: frozenset[str] = frozenset(), paths: Paths | None = None
    ) -> None:
        self.adopts, self.opens, self.paths = adopts, opens, paths

    def __enter__(self) -> Build:
        local = journal.LOCAL
        first = (local.world, local.tracing, local.made, local.perhaps)
        self.former: tuple = (*first, local.tags, local.signed, local.twins, BUILD.outer)
        self.world = World()
        self.outer = Outer(self.world, self.opens, self.paths)
        local.world, local.tracing, local.made, local.tags = self.world, [], {}, {}
        local.signed, local.perhaps, local.twins = {}, Perhaps(), Twins()
        if self.adopts:
            BUILD.outer = self.outer
            self.former_builder = _core.set_builder(self.outer, self.world.number)
        return self

    def __exit__(self, *_: object) -> None:
        if self.adopts:
            builder, number = self.former_builder
            _core.set_builder(builder, number or None)
        local = journal.LOCAL
        local.world, local.tracing, local.made, local.perhaps = self.former[:4]
        local.tags, local.signed, local.twins, BUILD.outer = self.former[4:]
        self.world.put_back()
