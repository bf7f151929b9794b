"""A test in both modes; this is the one module that needs pytest."""

from __future__ import annotations

import pytest

from .. import _core
from .._function import function
from .._modes import mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class Mode:
    """The mode in which a test runs: what the fixture `both_modes` is.

    Called with a function, it gives one that runs in that mode: as it is, or under `fl.function`.
    """

    def __init__(self, name: str) -> None:
        #: "imperative" or "program".
        self.name = name

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Callable[..., Any] = function(fn)
        return fn if self.name == "imperative" else compiled

    def __eq__(self, other: object) -> bool:
        return str(other) == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


@pytest.fixture(params=["imperative", "program"])
def both_modes(request: pytest.FixtureRequest) -> Iterator[Mode]:
    """A pytest fixture: the test runs once in each mode, each time with a state of its own, seeded
    with 0.

    Functions under `@fl.function` follow the mode by themselves; others are wrapped by the fixture.
    It is imported where it is used, or once for all tests in `conftest.py`:

        from fluvial.testing import both_modes

        def test_halving(both_modes):
            def halved(x):
                while fl.sum(x) > 1:
                    x = x / 2
                return x

            assert both_modes(halved)(fl.tensor([4.0])).tolist() == [1.0]
    """
    with _core.State(), mode(request.param):
        _core.seed(0)
        yield Mode(request.param)
