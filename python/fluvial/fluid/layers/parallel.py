"""`ParallelDo`: a batch in parts, which are computed at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._fault import fault
from ..blocks import inner_input
from ..framework import Block, Variable, default_main_program
from ._blocks import Closed, Guard

__all__ = ["ParallelDo"]


class ParallelDo:
    """Cuts a batch into as many parts as there are places, runs a block on each at the same time, and puts the results
    together again. The number of rows must be known, and a multiple of the number of
    places. The block may read parameters, but write
    no variables of outer blocks.

    Args:
        places: Those of `fluid.cpu_places`; their number counts.
        use_nccl: For Fluid's programs.
        name: For Fluid's programs.
    """

    def __init__(self, places: Sequence[Any], use_nccl: bool = False, name: str | None = None) -> None:
        self._n = len(places)
        if self._n == 0:
            raise fault(ValueError, "there is no place to run at", "give `fluid.cpu_places(2)`")
        self._inputs: list[Any] = []
        self._outputs: list[Variable] = []
        self._results: list[Variable] = []

    def do(self) -> Guard:
        """The block."""
        return Guard(self._leave, "ParallelDo")

    def read_input(self, var: Variable) -> Variable:
        """The rows of a variable that belong to this part of the batch.

        Args:
            var: A variable of an outer block.
        """
        block = default_main_program().current_block()
        parent = block.parent
        if parent is None:
            raise fault(RuntimeError, "`read_input` stands inside of `with pd.do():`")
        with parent.building():
            whole = parent.value(var)
            parts = _core.reshape(whole, (self._n, -1, *whole.shape[1:]))
        label = f"part{len(self._inputs)}"
        self._inputs.append(parts)
        dtype, sizes = whole.type_text.removesuffix("]").split("[", 1)
        rest = sizes.split(",", 1)[1] if "," in sizes else ""
        with block.building():
            return block.made(inner_input(label, f"{dtype}[{label}_rows{',' if rest else ''}{rest}]"), label=label)

    def write_output(self, var: Variable) -> None:
        """Gives a result of each part, which are joined by their rows.

        Args:
            var: A variable of the block.
        """
        self._outputs.append(var)

    def _leave(self, body: Block) -> None:
        parent = body.parent
        assert parent is not None
        if not self._outputs or not self._inputs:
            raise fault(RuntimeError, "a `ParallelDo` reads inputs and writes outputs", "call `read_input` and `write_output`")
        with body.building():
            results = [body.value(var) for var in self._outputs]
        closed = Closed(body, results)
        if closed.written:
            names = ", ".join(var.name for var in closed.written)
            raise fault(RuntimeError, f"the parts of a batch all write {names}", "write it with `write_output`")
        with parent.building():
            arguments = closed.arguments(parent)
            _, *parts = _core.begin_trips(self._inputs)
            try:
                found = closed.call(arguments, {f"part{i}": part for i, part in enumerate(parts)})
                block = _core.end_block(found)
            except BaseException:
                _core.abort_block()
                raise
            joined = _core.parallel_for_of(block, self._inputs, None, "stack")
            self._results = [
                parent.made(_core.reshape(tensor, (-1, *tensor.shape[2:])), label="parallel_do") for tensor in joined
            ]

    def __call__(self) -> Any:
        """The results, joined by rows."""
        return self._results[0] if len(self._results) == 1 else list(self._results)
