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

TYPE_CHECKING = False
if TYPE_CHECKING:
    # For one checker the first definition counts, for the other the last.
    from ._typed import clip as clip
    from ._array_api import *  # type: ignore[assignment]
    from . import debug, distributions, export, fft, fluid, metrics, onnx, summary, testing, torch, utils
    from ._checkpoint import checkpoint
    from ._functional import functional_call
    from ._jacobians import hessian, jacfwd, jacrev
    from ._parallel import parallel_for
    from ._precision import GradScaler, autocast
    from ._quantize import quantize
    from ._signal import (
        bartlett_window,
        blackman_window,
        hamming_window,
        hann_window,
        istft,
        kaiser_window,
        stft,
    )
    from ._select import Select
    from ._shared import Shared, shared
    from ._tasks import (
        Channel,
        Go,
        Task,
        channel_close,
        channel_recv,
        channel_send,
        go,
        channel_select,
        make_channel,
        timeout,
    )
    from ._torch import load_torch
    from ._transforms import jvp, value_and_grad, vjp
    from ._view import export_view, view
    from ._vmap import vmap
from ._core import (
    Compiled,
    DType,
    Dim,
    Program,
    RecordWriter,
    State,
    Tensor,
    assign_state,
    bfloat16,
    bool,
    check,
    complex64,
    complex128,
    cond,
    declare_state,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    gradients,
    if_else,
    int8,
    int16,
    int32,
    int64,
    is_building,
    is_recording,
    limits,
    parameter,
    profile,
    read_state,
    register_host,
    scan,
    set_root,
    set_num_threads,
    tensor,
    uint8,
    uint16,
    uint32,
    uint64,
    while_loop,
    why_no_gradient,
)
from ._errors import StateError
from ._function import function
from ._tree import register_container
from . import _array_api, _blocks, _ops
from ._ops import *  # type: ignore[assignment]
from ._program import build, building, compile
from ._array_api import *  # type: ignore[assignment]
from . import _derived
from ._derived import *  # type: ignore[assignment,no-redef]
from ._methods import where  # type: ignore[no-redef]
from . import _inplace, _tensor
from ._lazy import Constant, Variable
from ._io import (  # type: ignore[assignment]
    load,
    load_model,
    load_persistables,
    load_safetensors,
    load_weights,
    load_states,
    save,
    save_inference_model,
    save_model,
    save_persistables,
    save_safetensors,
    save_states,
)
from . import _printing
from ._reader import Reader, batch_reader, reader
from ._run import run
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
# The modules `clip`, `dist` and `imperative`, which these import, take the places of functions and are
# called as they are.
_clip_op = clip
from . import imperative, initializer, layers, linalg, nn, optimizer, regularizer
from ._attr import ParamAttr
from ._grad import NoGradient, enable_grad, no_grad
from ._transforms import grad
from .imperative import PyLayer
from .dist import init as _join_ranks

#: Parts that are loaded when they are first used, and where they are.
_LAZY = {
    "autocast": "._precision",
    "checkpoint": "._checkpoint",
    "debug": ".debug",
    "distributions": ".distributions",
    "bartlett_window": "._signal",
    "blackman_window": "._signal",
    "export": ".export",
    "fft": ".fft",
    "fluid": ".fluid",
    "functional_call": "._functional",
    "GradScaler": "._precision",
    "hamming_window": "._signal",
    "hann_window": "._signal",
    "hessian": "._jacobians",
    "istft": "._signal",
    "jacfwd": "._jacobians",
    "jacrev": "._jacobians",
    "jvp": "._transforms",
    "kaiser_window": "._signal",
    "load_torch": "._torch",
    "metrics": ".metrics",
    "onnx": ".onnx",
    "quantize": "._quantize",
    "Ragged": "._ragged",
    "stft": "._signal",
    "summary": ".summary",
    "testing": ".testing",
    "torch": ".torch",
    "utils": ".utils",
    "value_and_grad": "._transforms",
    "export_view": "._view",
    "view": "._view",
    "vjp": "._transforms",
    "vmap": "._vmap",
    "parallel_for": "._parallel",
    "Channel": "._tasks",
    "Select": "._select",
    "Shared": "._shared",
    "shared": "._shared",
    "Go": "._tasks",
    "Task": "._tasks",
    "channel_close": "._tasks",
    "channel_recv": "._tasks",
    "channel_send": "._tasks",
    "go": "._tasks",
    "make_channel": "._tasks",
    "channel_select": "._tasks",
    "timeout": "._tasks",
}


# A type checker would take any name for one of these.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name == "__version__":
            from importlib.metadata import version

            return version("fluvial")
        if name not in _LAZY:
            from ._elsewhere import no_attribute

            raise no_attribute(__name__, name)
        import importlib

        module = importlib.import_module(_LAZY[name], __name__)
        value = globals()[name] = module if _LAZY[name][1:] == name else getattr(module, name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


if TYPE_CHECKING:
    from ._ragged import Ragged as Ragged
    from ._typed import clip as clip

_tensor.register()
_inplace.register()
_core.set_folders(_os.path.dirname(__file__), _os.path.dirname(_os.__file__))

__all__ = [
    "Compiled",
    "Constant",
    "DType",
    "Dim",
    "Executor",
    "Program",
    "Ragged",
    "State",
    "StateError",
    "Tensor",
    "Variable",
    "assign_state",
    "bfloat16",
    "bool",
    "complex128",
    "complex64",
    "build",
    "building",
    "check",
    "compile",
    "cond",
    "data",
    "debug",
    "declare_state",
    "default_main_program",
    "default_startup_program",
    "enable_grad",
    "float16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "full",
    "function",
    "get_mode",
    "grad",
    "fluid",
    "gradients",
    "if_else",
    "imperative",
    "int32",
    "int64",
    "int8",
    "int16",
    "is_building",
    "is_recording",
    "limits",
    "mode",
    "no_grad",
    "onnx",
    "parameter",
    "profile",
    "program_guard",
    "read_state",
    "register_host",
    "scan",
    "set_root",
    "set_mode",
    "set_num_threads",
    "show_config",
    "tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "while_loop",
    "why_no_gradient",
    "NoGradient",
    "ParamAttr",
    "PyLayer",
    "initializer",
    "layers",
    "load_torch",
    "linalg",
    "nn",
    "optimizer",
    "regularizer",
    "summary",
    "testing",
    "register_container",
    "GradScaler",
    "autocast",
    "checkpoint",
    "functional_call",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "quantize",
    "value_and_grad",
    "view",
    "export_view",
    "vjp",
    "vmap",
    "parallel_for",
    "Channel",
    "Go",
    "Select",
    "Shared",
    "Task",
    "shared",
    "channel_close",
    "channel_recv",
    "channel_send",
    "go",
    "make_channel",
    "channel_select",
    "timeout",
]
__all__ += _ops.__all__
__all__ += _array_api.__all__
__all__ += _derived.__all__

# Asked for once: processes that this one starts would want the same port.
_debug_wish = _os.environ.pop("FLUVIAL_DEBUG", "")
if _debug_wish:
    from .debug import listen_as_asked as _listen_as_asked

    _listen_as_asked(_debug_wish)
