"""Recurrent networks whose step is a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._fault import fault
from ..._ragged import Ragged
from .. import unique_name
from ..core import dtype_of
from ..framework import Block, Variable, inner_input
from ._blocks import Closed, Guard

__all__ = ["DynamicRNN", "StaticRNN"]


def _type_text(tensor: Any, sizes: Sequence[Any]) -> str:
    """The type of a tensor with such elements and these sizes."""
    return f"{tensor.type_text.partition('[')[0]}[{', '.join(map(repr, sizes))}]"


def _as_before(value: Any, before: Any) -> Any:
    """The next value of a memory with the sizes that it had: where one of both is open, the run checks it."""
    pairs = list(zip(value.shape, before.shape))
    is_open = all(repr(a) == repr(b) or not (isinstance(a, int) and isinstance(b, int)) for a, b in pairs)
    if value.type_text == before.type_text or value.ndim != before.ndim or not is_open:
        return value
    return _core.assume_dims(value, tuple(before.shape))


class StaticRNN:
    """A recurrent network over the first axis, whose step is the block of a `with`.

    Args:
        name: For Fluid's programs.
    """

    def __init__(self, name: str | None = None) -> None:
        self._inputs: list[tuple[Variable, Variable]] = []
        self._memories: list[list[Any]] = []
        self._outputs: list[Variable] = []
        self._block: Block | None = None
        self._results: list[Variable] | None = None
        self._name = name or unique_name.generate("static_rnn")

    def step(self) -> Guard:
        """The block of one step."""

        def enter(block: Block) -> None:
            self._block = block

        return Guard(self._leave, "StaticRNN", enter)

    def _inside(self, method: str) -> Block:
        if self._block is None or self._results is not None:
            raise fault(RuntimeError, f"`{method}` is called inside of `with rnn.step():`", "move it there")
        return self._block

    def _parent(self) -> Block:
        assert self._block is not None and self._block.parent is not None
        return self._block.parent

    def step_input(self, x: Variable) -> Variable:
        """The slice of a variable, along its first axis, that belongs to a step.

        Args:
            x: The variable.
        """
        block = self._inside("step_input")
        with self._parent().building():
            whole = self._parent().value(x)
        with block.building():
            row = _type_text(whole, tuple(whole.shape)[1:])
            tensor = inner_input(f"x{len(self._inputs)}", row)
            var = block.made(tensor, label=f"{self._name}.x")
        self._inputs.append((x, var))
        return var

    def memory(
        self,
        init: Variable | None = None,
        shape: Sequence[int] | None = None,
        batch_ref: Variable | None = None,
        init_value: float = 0.0,
        init_batch_dim_idx: int = 0,
        ref_batch_dim_idx: int = 1,
    ) -> Variable:
        """A value that a step takes from the one before it.

        Args:
            init: Its initial value.
            shape: Its sizes, if there is no `init`; -1 is the size of the batch.
            batch_ref: The variable that says how large the batch is.
            init_value: The number that it starts with, if there is no `init`.
            init_batch_dim_idx: The axis of the batch in `shape`.
            ref_batch_dim_idx: The axis of the batch in `batch_ref`.
        """
        block, parent = self._inside("memory"), self._parent()
        with parent.building():
            if init is not None:
                first = parent.value(init)
            else:
                if shape is None or batch_ref is None:
                    raise fault(ValueError, "a memory has an initial value, or sizes", "give `init`, or `shape` and `batch_ref`")
                outer = next((x for x, inner in self._inputs if inner is batch_ref), batch_ref)
                sizes: list[Any] = list(shape)
                sizes[init_batch_dim_idx] = parent.value(outer).shape[ref_batch_dim_idx]
                first = _core.full(tuple(sizes), init_value, "float32")
        label = f"m{len(self._memories)}"
        with block.building():
            var = block.made(inner_input(label, first.type_text), label=f"{self._name}.mem")
        self._memories.append([var, first, None])
        return var

    def update_memory(self, mem: Variable, var: Variable) -> None:
        """Says what a memory is in the next step.

        Args:
            mem: The memory.
            var: Its next value.
        """
        self._inside("update_memory")
        for memory in self._memories:
            if memory[0] is mem:
                memory[2] = var
                return
        raise fault(ValueError, f"`{mem.name}` is not memory of this network", "give what `rnn.memory` returned")

    def step_output(self, o: Variable) -> None:
        """Says what a step gives.

        Args:
            o: A variable of the block.
        """
        self._inside("step_output")
        self._outputs.append(o)

    def output(self, *outputs: Variable) -> None:
        """Says what a step gives.

        Args:
            outputs: Variables of the block.
        """
        for out in outputs:
            self.step_output(out)

    def _closed(self, block: Block) -> Closed:
        """The step, which gives the next memories, then what it says that it gives."""
        if not self._inputs:
            raise fault(RuntimeError, "a recurrent network needs something to step over", "call `rnn.step_input(x)`")
        for memory in self._memories:
            if memory[2] is None:
                raise fault(RuntimeError, f"the memory `{memory[0].name}` is not updated", "call `rnn.update_memory`")
        with block.building():
            nexts = [block.value(memory[2]) for memory in self._memories]
            outs = [block.value(out) for out in self._outputs]
        closed = Closed(block, [*nexts, *outs])
        if closed.written:
            raise fault(
                NotImplementedError,
                f"the step writes `{closed.written[0].name}` from outside of it",
                "use `rnn.memory` and `rnn.update_memory` for what goes on from step to step",
            )
        return closed

    def _leave(self, block: Block) -> None:
        closed, parent = self._closed(block), self._parent()
        count = len(self._memories)
        with parent.building():
            arguments = closed.arguments(parent)
            xs = tuple(parent.value(x) for x, _ in self._inputs)

            def step(carry: Any, rows: Any) -> Any:
                given: dict[str, Any] = {f"m{i}": value for i, value in enumerate(carry)}
                given.update({f"x{i}": row for i, row in enumerate(rows)})
                found = closed.call(arguments, given)
                nexts = (_as_before(now, before) for now, before in zip(found, carry))
                return tuple(nexts), tuple(found[count:])

            starts = tuple(memory[1] for memory in self._memories)
            _, results = _core.scan(step, starts, xs)
            results = results if isinstance(results, tuple) else (results,)
            self._results = [parent.made(tensor, label=f"{self._name}.out") for tensor in results]

    def __call__(self) -> Any:
        """What the steps gave, along a new first axis."""
        if self._results is None:
            raise fault(RuntimeError, "the network has no step yet", "use `with rnn.step():` first")
        return self._results[0] if len(self._results) == 1 else list(self._results)


class DynamicRNN:
    """A recurrent network over sequences of different lengths, whose step is the block of a `with`.

    In a step there is one row for each sequence; where a sequence has ended, its memories stay as they are, and what the
    step computes for it does not count.

    Args:
        name: For Fluid's programs.
    """

    def __init__(self, name: str | None = None) -> None:
        self._rnn = StaticRNN(name or unique_name.generate("dynamic_rnn"))
        self._first: Any = None
        self._outputs: list[Variable] | None = None

    def block(self) -> Guard:
        """The block of one step."""

        def enter(block: Block) -> None:
            self._rnn._block = block

        return Guard(self._leave, "DynamicRNN", enter)

    def step_input(self, x: Variable, level: int = 0) -> Variable:
        """The row of each sequence that belongs to a step.

        Args:
            x: A variable with sequences, `lod_level=1`.
            level: 0.
        """
        block, parent = self._rnn._inside("step_input"), self._rnn._parent()
        with parent.building():
            whole = parent.value(x)
        if not isinstance(whole, Ragged) or whole.levels != 1 or level != 0:
            raise fault(
                ValueError,
                f"`{x.name}` has {x.lod_level} levels of sequences, and a step goes along one",
                "give a variable that comes from `layers.data(…, lod_level=1)`",
            )
        if self._first is None:
            self._first = x
        batch = whole.lengths.shape[0]
        with block.building():
            label = f"x{len(self._rnn._inputs)}"
            tensor = inner_input(label, _type_text(whole.data, (batch, *whole.data.shape[1:])))
            var = block.made(tensor, label=f"{self._rnn._name}.x")
        self._rnn._inputs.append((x, var))
        return var

    def static_input(self, x: Variable) -> Variable:
        """A variable that is the same in all steps.

        Args:
            x: The variable.
        """
        self._rnn._inside("static_input")
        return x

    def memory(
        self,
        init: Variable | None = None,
        shape: Sequence[int] | None = None,
        value: float = 0.0,
        need_reorder: bool = False,
        dtype: Any = "float32",
    ) -> Variable:
        """A value that a step takes from the one before it.

        Args:
            init: Its initial value, with a row for each sequence.
            shape: The sizes of a row, if there is no `init`.
            value: The number that it starts with, if there is no `init`.
            need_reorder: For Fluid's programs: sequences keep their order.
            dtype: Its element type, if there is no `init`.
        """
        rnn = self._rnn
        block, parent = rnn._inside("memory"), rnn._parent()
        if self._first is None:
            raise fault(RuntimeError, "how many sequences there are is not known yet", "call `step_input` before `memory`")
        with parent.building():
            batch = parent.value(self._first).lengths.shape[0]
            if init is not None:
                first = parent.value(init)
                if isinstance(first, Ragged):
                    raise fault(ValueError, f"`{init.name}` has sequences", "give one row for each sequence")
                if repr(first.shape[0]) != repr(batch):
                    first = _core.assume_dims(first, (batch, *first.shape[1:]))
            else:
                if shape is None:
                    raise fault(ValueError, "a memory has an initial value, or sizes", "give `init` or `shape`")
                first = _core.full((batch, *(int(size) for size in shape)), value, str.__str__(dtype_of(dtype).value))
        label = f"m{len(rnn._memories)}"
        with block.building():
            var = block.made(inner_input(label, first.type_text), label=f"{rnn._name}.mem")
        rnn._memories.append([var, first, None])
        return var

    def update_memory(self, ex_mem: Variable, new_mem: Variable) -> None:
        """Says what a memory is in the next step.

        Args:
            ex_mem: The memory.
            new_mem: Its next value.
        """
        self._rnn.update_memory(ex_mem, new_mem)

    def output(self, *outputs: Variable) -> None:
        """Says what a step gives.

        Args:
            outputs: Variables of the block.
        """
        self._rnn.output(*outputs)

    def _leave(self, block: Block) -> None:
        rnn = self._rnn
        closed = rnn._closed(block)
        parent, count = rnn._parent(), len(rnn._memories)
        with parent.building():
            arguments = closed.arguments(parent)
            xs = [parent.value(x) for x, _ in rnn._inputs]

            def step(carry: Any, *rows: Any) -> Any:
                given: dict[str, Any] = {f"m{i}": value for i, value in enumerate(carry)}
                given.update({f"x{i}": row for i, row in enumerate(rows)})
                found = closed.call(arguments, given)
                return tuple(found[:count]), tuple(found[count:])

            starts = tuple(memory[1] for memory in rnn._memories)
            self._last, results = xs[0].scan(step, starts, xs[1:])
            results = results if isinstance(results, tuple) else (results,)
            rnn._results = [parent.made(value, label=f"{rnn._name}.out") for value in results]

    def __call__(self) -> Any:
        """What the steps gave, as sequences."""
        return self._rnn()
