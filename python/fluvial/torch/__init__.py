"""PyTorch's names, positions and results over the same tensors, layers and optimizers: `import fluvial.torch as torch`.

Where `fluvial` has the array API's meaning of a name (`std`, `max(x, 1)`, `sort`, `median`, `nonzero`, …), this module has
PyTorch's; so have the methods of tensors in files that import it. `docs/guide/differences.md` lists what differs.
"""

import math as _math

from .. import (
    Tensor,
    _core,
    bfloat16,
    bool,
    can_cast,
    complex64,
    complex128,
    enable_grad,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    finfo,
    float64,
    from_dlpack,
    from_numpy,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    no_grad,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .._tensor import Device as device
from . import _bools, _methods, _scalars
from ._same import *  # type: ignore[assignment]
from ._functions import *  # type: ignore[assignment]
from ._options import *  # type: ignore[assignment]
from ._places import *  # type: ignore[assignment]
from ._more import *  # type: ignore[assignment]
from ._compiled import compile, compiler, jit
from ._devices import accelerator, backends, cpu, cuda, mps, mtia, version, xpu
from ._files import load, save
from ._results import Size
from ._types import *
from ._state import (
    Generator,
    get_default_dtype,
    get_num_threads,
    get_rng_state,
    is_inference_mode_enabled,
    seed,
    initial_seed,
    is_grad_enabled,
    is_tensor,
    manual_seed,
    set_default_dtype,
    set_float32_matmul_precision,
    set_grad_enabled,
    set_num_threads,
    set_printoptions,
    use_deterministic_algorithms,
    takes_generator as _takes_generator,
)
from . import autograd, linalg, nn, optim, utils

dtype = _core.DType
#: The PyTorch whose names these are.
__version__ = "2.15.0+fluvial"
cfloat, cdouble = complex64, complex128
half, float, double, long, int, short = float16, float32, float64, int64, int32, int16
e, inf, nan, pi = _math.e, _math.inf, _math.nan, _math.pi
newaxis = None
inference_mode = no_grad
strided = contiguous_format = preserve_format = channels_last = "strided"

for _name in "rand randn randint randperm rand_like randn_like randint_like bernoulli multinomial normal poisson".split():
    globals()[_name] = _takes_generator(globals()[_name])

_scalars.wrap(globals())
_bools.wrap(globals())
_methods.register(globals())


#: Parts that are loaded when they are first used.
_LAZY = {"amp": ".amp", "autocast": ".amp", "fft": ".fft", "distributions": "..distributions", "func": ".func", "special": ".special", "vmap": ".func"}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        import importlib

        module = importlib.import_module(_LAZY[name], __name__)
        return module if _LAZY[name].endswith(f".{name}") else getattr(module, name)
    from ._missing import missing

    raise missing(__name__, name)
