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
    Compiled,
    DType,
    Dim,
    Program,
    State,
    Tensor,
    assign_state,
    bfloat16,
    bool,
    check,
    cond,
    declare_state,
    enable_grad,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    full,
    grad,
    gradients,
    if_else,
    imperative,
    int8,
    int32,
    int64,
    is_building,
    is_recording,
    no_grad,
    parameter,
    profile,
    read_state,
    register_host,
    scan,
    set_folder,
    set_num_threads,
    tensor,
    uint8,
    while_loop,
    why_no_gradient,
)
from ._errors import StateError
from ._function import function
from . import _blocks
from ._ops import *
from ._ops import __all__ as _op_names
from ._program import build, building, compile
from ._array_api import *
from ._array_api import __all__ as _array_api_names
from . import _methods as _methods
from ._lazy import Constant, Variable
from ._modes import (
    Executor,
    data,
    default_main_program,
    default_startup_program,
    get_mode,
    mode,
    program_guard,
    set_mode,
    show_config,
)
# The modules `clip` and `imperative`, which these import, take the places of functions and are
# called as they are.
_clip_op = clip
from . import initializer, layers, linalg, nn, optimizer, regularizer
from ._attr import ParamAttr
from ._grad import NoGradient, enable_grad, no_grad
from .imperative import PyLayer

_core.set_package_folder(_os.path.dirname(__file__))

__all__ = [
    "Compiled",
    "Constant",
    "DType",
    "Dim",
    "Executor",
    "Program",
    "State",
    "StateError",
    "Tensor",
    "Variable",
    "assign_state",
    "bfloat16",
    "bool",
    "build",
    "building",
    "check",
    "compile",
    "cond",
    "data",
    "declare_state",
    "default_main_program",
    "default_startup_program",
    "enable_grad",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "full",
    "function",
    "get_mode",
    "grad",
    "gradients",
    "if_else",
    "imperative",
    "int32",
    "int64",
    "int8",
    "is_building",
    "is_recording",
    "mode",
    "no_grad",
    "parameter",
    "profile",
    "program_guard",
    "read_state",
    "register_host",
    "scan",
    "set_folder",
    "set_mode",
    "set_num_threads",
    "show_config",
    "tensor",
    "uint8",
    "while_loop",
    "why_no_gradient",
    "NoGradient",
    "ParamAttr",
    "PyLayer",
    "initializer",
    "layers",
    "linalg",
    "nn",
    "optimizer",
    "regularizer",
    *_op_names,
    *_array_api_names,
]
