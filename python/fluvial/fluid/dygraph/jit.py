"""Layers and functions that run at once, as programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._fault import fault
from ..._function import function as _function
from ..framework import CALLS, Program, Variable, dygraph_variable, in_dygraph_mode
from .layers import Layer

__all__ = ["TracedLayer", "declarative", "dygraph_to_static_func"]


def declarative(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of variables that is compiled, with Python's `if`, `for` and `while` on variables as parts of it.

    Args:
        function: Takes and gives variables; called under `dygraph.guard`.
    """
    compiled: Any = None

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        nonlocal compiled
        if not in_dygraph_mode():
            return function(*args, **named)
        if compiled is None:

            def on_tensors(owner: Any, tensors: Any, options: Any) -> Any:
                wrapped = [dygraph_variable(x) if isinstance(x, _core.Tensor) else x for x in tensors]
                found = function(*owner, *wrapped, **options)
                return _opened(found)

            compiled = _function(on_tensors)
        owner, rest = (args[:1], args[1:]) if args and isinstance(args[0], Layer) else ((), args)
        tensors = [x._value() if isinstance(x, Variable) else x for x in rest]
        return _closed(compiled(owner, tensors, named))

    return call


dygraph_to_static_func = declarative


def _opened(found: Any) -> Any:
    if isinstance(found, Variable):
        return found._value()
    if isinstance(found, (list, tuple)):
        return type(found)(_opened(item) for item in found)
    return found


def _closed(found: Any) -> Any:
    if isinstance(found, _core.Tensor):
        return dygraph_variable(found)
    if isinstance(found, (list, tuple)):
        return type(found)(_closed(item) for item in found)
    return found


def extract_vars(inputs: Any) -> list[Variable]:
    """All variables of nested lists, tuples and dicts, in order.

    Args:
        inputs: The variables.
    """
    if isinstance(inputs, Variable):
        return [inputs]
    if isinstance(inputs, dict):
        inputs = list(inputs.values())
    if not isinstance(inputs, (list, tuple)):
        return []
    return [var for item in inputs for var in extract_vars(item)]


class TracedLayer:
    """A layer as a program: what it computed for one input, with the size of the batch open.

    `TracedLayer.trace(layer, inputs)` makes it.
    """

    def __init__(self, program: Any, names: list[str], like: Any, count: int) -> None:
        self._core, self._names, self._like, self._count = program, names, like, count

    @staticmethod
    def trace(layer: Layer, inputs: Any) -> tuple[Any, TracedLayer]:
        """What a layer gives, and the program of it.

        Args:
            layer: The layer.
            inputs: A list of variables.
        """
        if not in_dygraph_mode():
            raise fault(RuntimeError, "a layer is traced while ops run at once", "write `with fluid.dygraph.guard():`")
        given: Sequence[Any] = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        outputs = layer(*given)
        names = [f"x{i}" for i in range(len(given))]

        def call(*tensors: Any) -> Any:
            found = layer(*(dygraph_variable(x) for x in tensors))
            many = found if isinstance(found, (list, tuple)) else [found]
            return {f"out{i}": item._value() for i, item in enumerate(many)}

        from ..._program import build

        values = [var._value() for var in given]
        former, CALLS.owner = CALLS.owner, None
        CALLS.traces = True

        def traced(is_open: bool) -> Any:
            sizes = [("batch", *value.shape[1:]) if is_open else tuple(value.shape) for value in values]
            return build(call, {name: (value.dtype.name, size) for name, value, size in zip(names, values, sizes)})

        try:
            try:
                program = traced(True)
            except ValueError as error:
                if getattr(error, "kind", None) != "shape":
                    raise
                # The layer holds something of the size of this batch: the program is one for batches of this size.
                program = traced(False)
        finally:
            CALLS.owner, CALLS.traces = former, False
        count = len(outputs) if isinstance(outputs, (list, tuple)) else 1
        return outputs, TracedLayer(program, names, outputs, count)

    @property
    def program(self) -> Program:
        """The program."""
        return Program._of(self._core)

    def set_strategy(self, build_strategy: Any = None, exec_strategy: Any = None) -> None:
        """For Fluid's programs: one process uses all cores."""

    def __call__(self, inputs: Any) -> list[Any]:
        given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        feeds = {n: x._value() if isinstance(x, Variable) else _core.tensor(x) for n, x in zip(self._names, given)}
        found = self._core.run(feeds)
        return [dygraph_variable(found[f"out{i}"]) for i in range(self._count)]

    def save_inference_model(self, dirname: str, feed: Sequence[int] | None = None, fetch: Sequence[int] | None = None) -> None:
        """Writes what is needed to use the layer; `fluid.io.load_inference_model` reads it.

        Args:
            dirname: The folder.
            feed: Numbers of inputs, which must be those that the outputs need; all by default.
            fetch: Numbers of outputs; all by default.
        """
        from ..io import write_inference_model

        program = self._core.for_use([f"out{i}" for i in (range(self._count) if fetch is None else fetch)])
        wanted = self._names if feed is None else [self._names[i] for i in feed]
        lost = sorted(set(program.inputs) - set(wanted))
        if lost:
            raise fault(
                ValueError, f"the outputs need input {', '.join(name[1:] for name in lost)}, too", "add it to `feed`"
            )
        write_inference_model(dirname, program, self._core.state)
