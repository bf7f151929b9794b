"""Measures that add up inside of programs; `fluid.metrics` took their place in Fluid, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._fault import fault
from . import unique_name
from .framework import Program, Variable, default_main_program, program_guard
from .metrics import DetectionMAP

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ChunkEvaluator", "EditDistance", "DetectionMAP"]


class _Evaluator:
    """What both share: states that runs of the program add to.

    Args:
        label: What names of states begin with.
        counts: For each state its name and element type.
    """

    def __init__(self, label: str, counts: dict[str, str]) -> None:
        from .layers._cells import layers_of

        layers = layers_of()
        if default_main_program().current_block().idx != 0:
            raise fault(RuntimeError, "a measure adds up outside of blocks", "make it in the outermost block")
        self.metrics: list[Variable] = []
        prefix = unique_name.generate(label)
        self.states: list[Variable] = [
            layers.create_global_var([1], 0, dtype, persistable=True, name=f"{prefix}_{name}") for name, dtype in counts.items()
        ]

    def _add(self, *values: Variable) -> None:
        """Adds to the states, in order."""
        from .layers._cells import layers_of

        layers = layers_of()
        for state, value in zip(self.states, values):
            layers.sums([state, layers.cast(value, state.dtype)], out=state)

    def reset(self, executor: Any, reset_program: Program | None = None) -> None:
        """Begins anew.

        Args:
            executor: Runs the program that does it.
            reset_program: A program for it, or nothing.
        """
        from .layers._cells import layers_of

        layers = layers_of()
        program = reset_program or Program()
        with program_guard(program):
            for state in self.states:
                own = program.current_block().create_var(state.name, state.shape, state.dtype, persistable=True)
                layers.fill_constant(state.shape, state.dtype, 0, out=own)
        executor.run(program)

    def _values(self, executor: Any) -> list[float]:
        """The values of the states."""
        program = Program()
        block = program.current_block()
        own = [block.create_var(state.name, state.shape, state.dtype, persistable=True) for state in self.states]
        return [float(value[0]) for value in executor.run(program, fetch_list=own)]


class ChunkEvaluator(_Evaluator):
    """Precision, recall and F1 of chunks, over all batches since `reset`.

    Args:
        input: The tags that were found.
        label: The right ones.
        chunk_scheme: "IOB", "IOE", "IOBES" or "plain".
        num_chunk_types: How many kinds of chunks there are.
        excluded_chunk_types: Kinds that do not count.
    """

    def __init__(
        self, input: Any, label: Any, chunk_scheme: str, num_chunk_types: int, excluded_chunk_types: Any = None
    ) -> None:
        from .layers._cells import layers_of

        layers = layers_of()
        names = ("num_infer_chunks", "num_label_chunks", "num_correct_chunks")
        super().__init__("chunk_eval", dict.fromkeys(names, "int64"))
        found = layers.chunk_eval(input, label, chunk_scheme, num_chunk_types, excluded_chunk_types)
        self._add(*found[3:6])
        self.metrics += found[:3]

    def eval(self, executor: Any, eval_program: Program | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Precision, recall and F1.

        Args:
            executor: Reads the states.
            eval_program: For Fluid's programs.
        """
        import numpy as np

        found, given, right = self._values(executor)
        precision = right / found if found else 0.0
        recall = right / given if given else 0.0
        f1 = 2 * precision * recall / (precision + recall) if right else 0.0
        return tuple(np.array([value], "float32") for value in (precision, recall, f1))  # type: ignore[return-value]


class EditDistance(_Evaluator):
    """The mean distance of sequences, and the share of wrong ones, over all batches since `reset`.

    Args:
        input: The sequences that were found.
        label: The right ones.
        ignored_tokens: Words that are left out before.
    """

    def __init__(self, input: Any, label: Any, ignored_tokens: Any = None) -> None:
        from .layers._cells import layers_of

        layers = layers_of()
        super().__init__("edit_distance", {"total_distance": "float32", "seq_num": "int64", "instance_error": "int64"})
        distances, count = layers.edit_distance(input, label, ignored_tokens=ignored_tokens)
        is_wrong = layers.cast(layers.not_equal(distances, layers.zeros_like(distances)), "int64")
        total, wrong = layers.reduce_sum(distances), layers.reduce_sum(is_wrong)
        self._add(total, count, wrong)
        self.metrics += [total, wrong]

    def eval(self, executor: Any, eval_program: Program | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The mean distance, and the share of sequences that are wrong.

        Args:
            executor: Reads the states.
            eval_program: For Fluid's programs.
        """
        import numpy as np

        total, count, wrong = self._values(executor)
        if not count:
            raise fault(RuntimeError, "no sequences have been seen", "run the program before")
        return np.array([total / count], "float32"), np.array([wrong / count], "float32")
