"""What Fluid's programs import from its C++ part: places, types of variables, `EOFException`."""

from __future__ import annotations

import enum
from typing import Any

from .._fault import fault

__all__ = ["CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "EOFException", "VarDesc", "is_compiled_with_cuda"]


#: What stands behind the name of an input, and before a number, in the name of one that is fed in another shape.
FED_AS = ".as"


class EOFException(Exception):
    """A reader that feeds a program has no more batches: `reader.reset()` begins anew."""


class EnforceNotMet(RuntimeError):
    """For programs that catch it; errors here are Python's own."""


class CPUPlace:
    """Main memory, the one place that there is."""

    def __repr__(self) -> str:
        return "CPUPlace"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CPUPlace)

    def __hash__(self) -> int:
        return 0


class _NoCuda:
    def __init__(self, *_: Any) -> None:
        raise fault(
            RuntimeError,
            f"there is no `{type(self).__name__}`: programs run on the CPU",
            "use `fluid.CPUPlace()`; `fluid.core.is_compiled_with_cuda()` is False",
        )


class CUDAPlace(_NoCuda):
    """A GPU: refused, since programs run on the CPU."""


class CUDAPinnedPlace(_NoCuda):
    """Memory for a GPU: refused, since programs run on the CPU."""


class VarType(str, enum.Enum):
    """Element types, which are their names, and kinds of variables."""

    BOOL = "bool"
    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FP16 = "float16"
    FP32 = "float32"
    FP64 = "float64"
    BF16 = "bfloat16"
    LOD_TENSOR = "lod_tensor"
    LOD_TENSOR_ARRAY = "lod_tensor_array"
    SELECTED_ROWS = "selected_rows"
    READER = "reader"
    RAW = "raw"
    STEP_SCOPES = "step_scopes"

    __str__ = str.__repr__

    def __repr__(self) -> str:
        return f"VarType.{self.name}"

    __hash__ = str.__hash__


class VarDesc:
    """Holds `VarType`, as in Fluid."""

    VarType = VarType


def dtype_of(dtype: Any) -> VarType:
    """The element type of what names one: a name, a NumPy type, a type of the core.

    Args:
        dtype: Such as "float32", `np.float32`, or `VarDesc.VarType.FP32`.
    """
    if isinstance(dtype, VarType):
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if not isinstance(name, str):
        import numpy as np

        name = np.dtype(dtype).name
    name = {"float": "float32", "double": "float64", "int": "int32"}.get(name, name)
    return VarType(name.rsplit(".", 1)[-1])


def is_compiled_with_cuda() -> bool:
    """Whether there are GPUs: no."""
    return False


def is_compiled_with_mkldnn() -> bool:
    """Whether Intel's library is there: no, kernels are Fluvial's own."""
    return False


def grad_var_suffix() -> str:
    """What names of gradients end with."""
    return "@GRAD"


def get_cuda_device_count() -> int:
    """The number of GPUs: none."""
    return 0


def __getattr__(name: str) -> Any:
    if name in ("Scope", "_Scope"):
        from .executor import Scope

        return Scope
    if name in ("LoDTensor", "LoDTensorArray"):
        from . import lod_tensor

        return getattr(lod_tensor, name)
    if name == "VarBase":
        from .variable import Variable

        return Variable
    if name == "PyLayer":
        from .dygraph.py_layer import PyLayer

        return PyLayer
    if name in ("PaddleTensor", "PaddleDType", "PaddleBuf", "AnalysisConfig", "NativeConfig", "create_paddle_predictor"):
        from . import inference

        return getattr(inference, name)
    from ._missing import no_attribute

    raise no_attribute(__name__, name)
