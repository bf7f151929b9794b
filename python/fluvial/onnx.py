"""ONNX models as programs, and programs as ONNX models.

Example:
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    >>> layer = fl.nn.Sequential(fl.nn.Linear(2, 3), fl.nn.ReLU())
    >>> _ = fl.onnx.save(layer, path, {"x": "f32[batch, 2]"})
    >>> program = fl.onnx.load(path)
    >>> program.inputs, program.outputs
    ({'x': 'f32[batch, 2]'}, {'out0': 'f32[batch, 3]'})
    >>> x = fl.full((4, 2), 0.5)
    >>> bool(fl.all(program(x) == layer(x)))
    True
"""

from __future__ import annotations

import os

from . import _core
from ._core import Program, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._core import TypeLike

__all__ = ["exported", "load", "ops", "save"]


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    trainable: bool = False,
    types: Mapping[str, str] | None = None,
    known: Mapping[str, Any] | None = None,
) -> Program:
    """Reads an ONNX model. It is a program like any other, which owns its states: they are the initialisers of floats,
    under their names. Sizes that have a name in the file are symbols.

    Args:
        source: The file, or its bytes. Elements may be in files beside it.
        trainable: Whether initialisers of floats are parameters, which an optimizer can train, instead of buffers.
        types: Types of inputs by name, such as `"f32[batch, 3]"`, where the file says nothing or too little.
        known: Values of inputs that are always the same; they are not inputs of the program then.
    """
    values = {
        name: value if isinstance(value, Tensor) else _core.tensor(value)
        for name, value in (known or {}).items()
    }
    where = source if isinstance(source, bytes) else os.fspath(source)
    return _core.read_onnx(where, trainable, list((types or {}).items()), list(values.items()))


def save(
    what: Program | Callable[..., Any],
    path: str | os.PathLike[str],
    inputs: Mapping[str, TypeLike] | None = None,
    *,
    opset: int = 20,
    states: bool = False,
) -> Program:
    """Writes an ONNX model, for inference: no updates, layers as they are outside of training. States are initialisers
    under their names.

    Args:
        what: A program; or a layer or a function, which is built for `inputs`.
        path: The file.
        inputs: The types of the inputs by name, such as `{"x": "f32[batch, 3]"}`; only for a layer or a function.
        opset: The op set, from 18 to 26.
        states: Whether the program is written as it stands, with its updates: states are inputs of the model then, and
            those that are assigned outputs, too, called `next.NAME`.

    Returns:
        The program that was written.
    """
    if isinstance(what, Program):
        if inputs is not None:
            raise TypeError("a program has its inputs: leave `inputs` out")
        program = what
    else:
        if inputs is None:
            raise TypeError('the types of the inputs are missing: give `inputs`, as {"x": "f32[batch, 3]"}')
        from ._program import build

        program = build(what, inputs)
    if not states:
        program = program.for_use(list(program.outputs))
    _core.write_onnx(os.fspath(path), program, opset, states)
    return program


def ops() -> list[tuple[str, str, int, str]]:
    """The ops that can be read: domain, name, the op set in which it appeared, and what is refused."""
    return _core.onnx_ops()


def exported() -> list[str]:
    """The ops of ours that can be written."""
    return _core.onnx_exported()
