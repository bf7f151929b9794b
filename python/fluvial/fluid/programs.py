"""Programs that Fluid, or Paddle up to 2.6, has serialized."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core

__all__ = ["load_program", "load_inference_model", "ops"]


def load_program(
    main: str | os.PathLike[str] | bytes,
    startup: str | os.PathLike[str] | bytes | None = None,
    *,
    fetch: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    types: Mapping[str, str] | None = None,
) -> _core.Program:
    """Reads a program as Fluid serializes it (`program.desc.serialize_to_string()`), for training or use. It is a program
    of the core like any other: what it is fed are its inputs, persistable variables its states, with the first values that
    the startup program makes, and each run is one of Fluid's executor.

    Args:
        main: The file of the program, or its bytes.
        startup: The startup program, which makes the first values of states.
        fetch: The variables that are outputs. If none are named, they are those of its `fetch` ops, or its losses, or what
            nothing else uses.
        values: First values of states by name, such as `fl.load_weights("model.pdparams")`; they win over the startup program.
        types: Types of inputs by name, such as `"f32[batch, 3]"`, where the file says too little or something else.
    """
    first = [
        (name, value if isinstance(value, _core.Tensor) else _core.tensor(value)) for name, value in (values or {}).items()
    ]
    said = list((types or {}).items())
    start = None if startup is None else _source(startup)
    program = _core.read_fluid_program(_source(main), start, list(fetch), said, first)
    program.initialise()
    return program


def _source(given: str | os.PathLike[str] | bytes) -> str | bytes:
    return given if isinstance(given, bytes) else os.fspath(given)


def load_inference_model(
    path: str | os.PathLike[str],
    params: str | os.PathLike[str] | None = None,
    *,
    fetch: Sequence[str] = (),
    trainable: bool = False,
    types: Mapping[str, str] | None = None,
) -> _core.Program:
    """Reads a model that Fluid or Paddle has saved for use, with its parameters.

    Args:
        path: A folder with `__model__`, or a `.pdmodel` file, also without its ending.
        params: The file of parameters, if it is called neither as the model nor `__params__`.
        fetch: The variables that are outputs, if others than the model says.
        trainable: Whether its floats are parameters, which an optimizer can train, instead of buffers.
        types: Types of inputs by name, where the file says too little or something else.
    """
    where = None if params is None else os.fspath(params)
    return _core.read_fluid_model(os.fspath(path), where, list(fetch), trainable, list((types or {}).items()))


def ops() -> list[tuple[str, str]]:
    """The ops of Fluid that can be read, by name, and what is refused of each. Gradient ops follow from them."""
    return _core.fluid_ops()
