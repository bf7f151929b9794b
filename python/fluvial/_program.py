"""Building programs: the same code that runs line by line, captured as data."""

from __future__ import annotations

from . import _core

# Importing `typing` would take longer than the rest of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._core import Program, Shape, Tensor, TensorLike, TypeLike


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
            raise ValueError(f"two outputs are named `{name}`")
        self._outputs[name] = value

    def __enter__(self) -> building:
        _core.begin_program()
        return self

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        if exception is not None:
            _core.abort_program()
        else:
            self.program = _core.end_program(self._outputs)


def build(function: Callable[..., Any], inputs: Mapping[str, TypeLike]) -> Program:
    """The program of a function.

    Args:
        function: Takes tensors; returns a tensor, several, or a dict of them by name.
        inputs: The types of its arguments by name, in order: "f32[batch, 2]", or pairs of dtype
            and shape.

    Returns:
        The program. Outputs that the function does not name are `out0`, `out1`, …

    Example:
        >>> program = fl.build(lambda x, y: {"sum": x + y}, {"x": "f32[n]", "y": "f32[n]"})
        >>> program.run(x=fl.tensor([1.0, 2.0]), y=fl.tensor([3.0, 4.0]))["sum"].tolist()
        [4.0, 6.0]
    """
    with building() as b:
        results = function(*[b.input(name, type) for name, type in inputs.items()])
        if not isinstance(results, dict):
            results = results if isinstance(results, (tuple, list)) else (results,)
            results = {f"out{i}": result for i, result in enumerate(results)}
        for name, result in results.items():
            b.output(name, result)
    return b.program
