"""Fluvial: one piece of code, run line by line or as a program.

    >>> import fluvial as fl
    >>> def f(x):
    ...     return fl.sum(fl.sqrt(x) * 2)
    >>> f(fl.tensor([4.0, 9.0])).item()         # line by line
    10.0
    >>> program = fl.build(f, {"x": "f32[n]"})  # as a program, for any size
    >>> program(fl.tensor([4.0, 9.0, 16.0])).item()
    18.0
"""

import os as _os

from . import _core
from ._core import (
    DType,
    Program,
    State,
    Tensor,
    assign_state,
    bfloat16,
    bool,
    cond,
    declare_state,
    enable_grad,
    float16,
    float32,
    float64,
    from_numpy,
    full,
    grad,
    if_else,
    imperative,
    int8,
    int32,
    int64,
    is_building,
    no_grad,
    parameter,
    read_state,
    register_host,
    scan,
    tensor,
    uint8,
    while_loop,
)
from ._errors import StateError
from ._function import function
from . import _blocks
from ._ops import *
from ._ops import __all__ as _op_names
from ._program import build, building

_core.set_package_folder(_os.path.dirname(__file__))

__all__ = [
    "DType",
    "Program",
    "State",
    "StateError",
    "Tensor",
    "assign_state",
    "bfloat16",
    "bool",
    "build",
    "building",
    "cond",
    "declare_state",
    "enable_grad",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "function",
    "grad",
    "if_else",
    "imperative",
    "int32",
    "int64",
    "int8",
    "is_building",
    "no_grad",
    "parameter",
    "read_state",
    "register_host",
    "scan",
    "tensor",
    "uint8",
    "while_loop",
    *_op_names,
]
