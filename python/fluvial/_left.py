"""What a run that fails leaves behind: the user's objects are changed as the lines before the fault have changed them."""

from __future__ import annotations

from . import _core
from ._results import Call, Results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._convert.outer import Outer
    from ._core import Tensor

#: What notes of the program are called that say what the lines have left where a call may fail.
_LEFT = "@left"


def note_changes(outer: Outer) -> None:
    """Notes what the lines have changed of the user's objects so far, for a run that fails at the next call."""
    world = outer.world
    if not world.touched:
        return
    results = Results(outer)
    world.left.append((results.effects(), results.targets))
    _core.note_value(_LEFT, _core.tensor(len(world.left), "int64"))
    for i, output in enumerate(results.outputs):
        _core.note_value(f"{_LEFT}.{i}", output)


def change_after_failure(
    told: list[tuple[str, Tensor]],
    left: list[tuple[list[Callable[[Call], None]], list[Callable[[Any], Any]]]],
    inputs: list[Tensor],
    arguments: Any,
    numbers: tuple | None,
) -> None:
    """Changes the user's objects as the lines before the fault have.

    Args:
        told: What the notes of the run say.
        left: What the lines have changed before each call that may fail, and how to find the objects of that.
        inputs: Those of the program.
        arguments: Those of the function.
        numbers: What was computed for the call of open numbers.
    """
    found: dict[str, Tensor] = {}
    for name, value in told:
        # The innermost block comes first.
        found.setdefault(name, value)
    if _LEFT not in found:
        return
    outputs = _Noted(found)
    effects, targets = left[int(found[_LEFT].item()) - 1]
    call = Call(inputs, outputs, arguments, numbers, targets)  # type: ignore[arg-type]
    for effect in effects:
        effect(call)


class _Noted:
    """The outputs of a run that has failed, as far as notes say them."""

    def __init__(self, found: dict[str, Tensor]) -> None:
        self.found = found

    def __getitem__(self, number: int) -> Tensor:
        return self.found[f"{_LEFT}.{number}"]
