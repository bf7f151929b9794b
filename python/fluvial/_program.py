"""Building programs: the same code that runs line by line, captured as data."""

from __future__ import annotations

import os

from . import _core
from ._fault import fault
from ._lazy import Lazy, compile_lazy
from ._retrace import begin_program

# Importing `typing` would take longer than the rest of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ._core import Compiled, Program, Shape, Tensor, TensorLike, TypeLike


class building:
    """A scope in which ops are appended to a program; `program` is there after it.

    Example:
        >>> with fl.building() as b:
        ...     x = b.input("x", "float32", ("batch", 2))
        ...     b.output("y", x * 2 + 1)
        >>> b.program.run(x=fl.full((3, 2), 1.0))["y"].shape
        (3, 2)
    """

    #: The program, once the scope was left.
    program: Program

    def __init__(self) -> None:
        self._outputs: dict[str, TensorLike] = {}

    def input(self, name: str, type: TypeLike, shape: Shape | None = None) -> Tensor:
        """An input of the program.

        Args:
            name: Its name.
            type: Its type, "f32[batch, 2]", or its element type if `shape` is given.
            shape: Its sizes: ints and names of symbols.
        """
        return _core.program_input(name, type, shape)

    def output(self, name: str, value: TensorLike) -> None:
        """Makes a value an output of the program.

        Args:
            name: Its name.
            value: A tensor.
        """
        if name in self._outputs:
            raise fault(ValueError, f"two outputs are named `{name}`", "rename one")
        self._outputs[name] = value

    def __enter__(self) -> building:
        begin_program()
        return self

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        if exception is not None:
            _core.abort_program()
        else:
            self.program = _core.end_program(self._outputs)


def build(
    function: Callable[..., Any], inputs: Mapping[str, TypeLike], *, seed: int | None = None
) -> Program:
    """The program of a function.

    Args:
        function: Takes tensors; returns a tensor, several, or a dict of them by name.
        inputs: The types of its arguments by name, in order: "f32[batch, 2]", or pairs of dtype
            and shape.
        seed: What `fl.seed` would have set before, for runs that start from nothing, such as those of
            a file: initial values of parameters and other random numbers depend on it. A state scope
            that has random numbers already goes on with its own.

    Returns:
        The program. Outputs that the function does not name are `out0`, `out1`, …

    Example:
        >>> program = fl.build(lambda x, y: {"sum": x + y}, {"x": "f32[n]", "y": "f32[n]"})
        >>> program.run(x=fl.tensor([1.0, 2.0]), y=fl.tensor([3.0, 4.0]))["sum"].tolist()
        [4.0, 6.0]
    """
    with building() as b:
        if seed is not None:
            start = _core.tensor([seed, 0])
            _core.declare_state("rng", (2,), "int64", init=lambda *_: start, role="random")
        results = function(*[b.input(name, type) for name, type in inputs.items()])
        if not isinstance(results, dict):
            results = results if isinstance(results, (tuple, list)) else (results,)
            results = {f"out{i}": result for i, result in enumerate(results)}
        for name, result in results.items():
            b.output(name, result)
    return b.program


def compile(
    program: Program | Tensor | Lazy | Sequence[Tensor] | Sequence[Lazy],
    fetch: str | Sequence[str] | None = None,
    *,
    donate: bool | Sequence[str] = False,
    memory_limit: int | None = None,
    fast: bool = False,
) -> Compiled:
    """A callable that runs a program, compiled.

    Args:
        program: A program; or the path of a script that builds one; or a tensor of the program being built by `fl.program_guard` or in mode
            "program", or several of them, which are the outputs then.
        fetch: The outputs that are wanted: a name, or several. What nobody needs is not computed;
            assignments of states are.
        donate: Whether the tensors that are fed are given away: they have no value after the call,
            and their memory is used for the results where nobody else holds it. Or the names of the
            inputs that are. A call that is recorded for gradients takes nothing away.
        memory_limit: The most bytes that a run may need beside inputs and states. Values
            are computed again to keep to it.
        fast: Whether results may differ in their last bits from line by line: one op takes the place
            of its spelling with small ones, which rounds less often.

    Returns:
        A callable that takes the inputs in order or by name. It returns a tensor if `fetch` or
        `program` is a single one, or there is one output; else a tuple.

    Example:
        >>> program = fl.build(lambda x: {"y": x * 2, "z": x + 1}, {"x": "f32[n]"})
        >>> f = fl.compile(program, fetch="y")
        >>> f(x=np.ones(2, np.float32)).tolist()
        [2.0, 2.0]
    """
    if isinstance(program, (str, os.PathLike)) and os.fspath(program).endswith(".py"):
        from ._run import program_of

        program = program_of(program)
    if isinstance(program, Lazy):
        return program.compile(donate=donate, memory_limit=memory_limit, fast=fast)  # type: ignore[return-value]
    options = {"donate": donate, "memory_limit": memory_limit, "fast": fast}
    single: bool | None = None
    if isinstance(program, (tuple, list)) and len(program) == 1 and isinstance(program[0], _core.Program):
        program, single = program[0], False
    if not isinstance(program, _core.Program):
        many = isinstance(program, (tuple, list))
        outputs: list[Any] = list(program) if many else [program]  # type: ignore[arg-type]
        if outputs and all(isinstance(output, Lazy) for output in outputs):
            return compile_lazy(outputs, **options)  # type: ignore[return-value]
        if not outputs or not all(isinstance(output, _core.Tensor) for output in outputs):
            raise fault(
                TypeError,
                "what is compiled is a program or tensors of one",
                "make a program of a function with `fl.build`, or put `@fl.function` on it",
            )
        from ._modes import default_main_program

        names = {f"out{i}": output for i, output in enumerate(outputs)}
        program, single = default_main_program().snapshot(names), not many
    if isinstance(fetch, str):
        fetch, single = [fetch], True
    elif fetch is not None:
        single = False
    return program.compile(fetch, single=single, **options)  # type: ignore[arg-type]
