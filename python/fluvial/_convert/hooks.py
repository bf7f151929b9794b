"""Hooks on gradients that a function puts on its values: they become a part of the way back of its program."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from .. import _core
from .._fault import user_line
from . import journal
from .errors import Mismatch
from .source import is_converted, wanted
from .state import BUILD


def registering(value: Any, register: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`value.register_hook`, for a value of the program being built."""

    def put(hook: Any) -> Any:
        outer = BUILD.outer
        if outer is None:
            return register(hook)
        if not journal.made_since(value, outer.world.number) and _core.held(value).is_leaf:
            number = outer.number_of(value)
            if number is None or number >= outer.n_arguments:
                raise refusal()
        if isinstance(hook, types.FunctionType):
            # It is called once for all calls of the program.
            outer.reads_of(hook, wanted, _cells(hook))
        try:
            return register(_followed(hook, user_line()))
        except RuntimeError as error:
            if getattr(error, "kind", "") == "symbolic":
                raise
            tracing = journal.LOCAL.tracing
            # No gradient reaches the value, line by line as well; one from outside of a block is another matter.
            vars(error)["_fl_of_lines"] = not tracing or journal.made_since(value, tracing[-1].number)
            raise

    return put


def refusal() -> Mismatch:
    """The error for a hook that a function puts on a parameter or a leaf from outside."""
    return Mismatch(
        f"{user_line()}: a hook on a parameter or a leaf stays there, and each call of the function would put another one\n"
        "  remedy: put it there once, outside of the function"
    )


def of_leaf(hook: Any) -> Callable[[Any], Any]:
    """A hook on a leaf or a parameter. Where a program takes the gradient, the hook becomes a part of its way back: what it
    reads is followed, what it changes is changed by each call, or refused."""
    line = user_line()

    def called(grad: Any) -> Any:
        if not _core.is_building():
            return hook(grad)
        if BUILD.outer is not None and isinstance(hook, types.FunctionType):
            BUILD.outer.reads_of(hook, wanted, _cells(hook))
        return _followed(hook, line)(grad)

    return called


def _cells(hook: Any) -> dict[str, types.CellType] | None:
    """The cells from outside of the function being built that a hook which it defines may use."""
    if not isinstance(hook, types.FunctionType) or not is_converted(hook):
        return None
    own = dict(zip(hook.__code__.co_freevars, hook.__closure__ or ()))
    return own["__fl__"].cell_contents.cells


def _followed(hook: Any, line: str) -> Callable[[Any], Any]:
    """A hook whose changes of objects are those of the lines, or are refused."""
    from .runtime import Runtime

    runtime = Runtime([], {}, {}, False)
    slots = [journal.Attribute(cell, "cell_contents") for cell in (_cells(hook) or {}).values()]

    def called(grad: Any) -> Any:
        if BUILD.outer is not None or journal.LOCAL.world is not None or not _core.is_building():
            return runtime.fn(hook)(grad)
        world = journal.LOCAL.world = journal.World()
        before = [slot.take() for slot in slots]
        try:
            result = runtime.fn(hook)(grad)
        finally:
            journal.LOCAL.world = None
            for cell, content in zip(slots, before):
                if cell.take() is not content:
                    world.note(cell, content)
            world.put_back()
        for slot, _ in world.touched.values():
            raise Mismatch(
                f"{line}: a hook changes {slot.text}, but it is called once, while the way back of the function is built\n"
                "  remedy: take the gradient inside of the function, or put the hook on a value outside"
            )
        return result

    return called
