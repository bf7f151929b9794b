"""Loops over readers as parts of a program: `with reader.iterate() as (x, y):`."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._io import save_model as _save_model
from .._reader import Reader
from .._reader import batch_reader as _batch_reader
from .._run import built_by_default
from .framework import Block, default_main_program, inner_input
from .layers._blocks import Closed, Guard, lifted

__all__ = ["batch_reader", "save_model"]


class LoopReader:
    """A reader that a program goes through.

    Args:
        reader: The reader.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def iterate(self, epochs: int = 1) -> Guard:
        """The loop: `with reader.iterate() as (x, y):` puts its body into the program.

        Args:
            epochs: How often it goes through all batches.
        """
        iteration = self._reader.iterate(epochs)

        def enter(block: Block) -> Any:
            built_by_default()
            with block.building():
                params = [inner_input(f"x{i}", text) for i, text in enumerate(iteration.begin())]
                variables = [block.made(param, label="reader.tmp") for param in params]
            return variables[0] if len(variables) == 1 else tuple(variables)

        def leave(block: Block) -> None:
            parent = block.parent
            assert parent is not None
            closed = Closed(block)
            with parent.building():
                arguments = closed.arguments(parent)
                names = [var.name for var in closed.written]
                starts = [lifted(parent.raw(var)) for var in closed.written]
                params = _core.begin_block([*iteration.types, *(start.type_text for start in starts)])
                try:
                    count = len(iteration.types)
                    given: dict[str, Any] = {f"x{i}": param for i, param in enumerate(params[:count])}
                    given.update(zip(names, params[count:]))
                    ended = _core.end_block([True, *closed.call(arguments, given)])
                except BaseException:
                    _core.abort_block()
                    raise
                for var, value in zip(closed.written, iteration.close(starts, ended)):
                    parent.write(var, value)
            parent._version += 1

        return Guard(leave, "reader.iterate", enter)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._reader, name)
        if not callable(found):
            return found

        def stage(*args: Any, **named: Any) -> Any:
            result = found(*args, **named)
            return LoopReader(result) if isinstance(result, Reader) else result

        return stage


def batch_reader(*args: Any, **named: Any) -> LoopReader:
    """A reader of batches from a file; arguments are those of `fluvial.batch_reader`."""
    return LoopReader(_batch_reader(*args, **named))


def save_model(dir: str) -> None:
    """The program writes its parameters to `dir/model.safetensors` whenever it passes here.

    Args:
        dir: The folder.
    """
    block = default_main_program().current_block()
    with block.building():
        _save_model(dir)
    block._version += 1


def loop_program() -> Any:
    """The default main program as the core has it, if anything is in it."""
    from .framework import _Defaults

    program = _Defaults.main
    return None if program is None or not program._version else program._closed([])


