"""PyTorch's modules of devices, `torch.cuda` and others, as they are on a machine that has none: there is one device, the CPU."""

from __future__ import annotations

import builtins
import types

from .._fault import fault
from .._tensor import CPU

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["accelerator", "backends", "cpu", "cuda", "mps", "mtia", "version", "xpu"]


def _none(*_: Any, **__: Any) -> None:
    """Does nothing: there is no such device."""


def _false(*_: Any, **__: Any) -> builtins.bool:
    """False: there is no such device."""
    return False


def _zero(*_: Any, **__: Any) -> int:
    """Zero: there is no such device."""
    return 0


class _Module(types.ModuleType):
    """A module, which says of what it has not that there is one device."""

    def __getattr__(self, name: str) -> Any:
        what = f"module `{self.__name__}` has no attribute `{name}`"
        if name.startswith("_"):
            raise AttributeError(what)
        raise fault(AttributeError, what, "there is one device, the CPU: ask `is_available()` before")


class _Switches(_Module):
    """Settings of a library that is not there. They are taken, since nothing is computed by it."""

    is_available = staticmethod(_false)
    enabled = deterministic = benchmark = allow_tf32 = builtins.bool(0)
    is_built = staticmethod(_false)
    version = staticmethod(_none)


def _devices(name: str) -> _Module:
    made = _Module(f"torch.{name}", f"PyTorch's `torch.{name}`, without a device.")
    for function in "is_available is_initialized is_bf16_supported".split():
        setattr(made, function, _false)
    for function in "device_count memory_allocated memory_reserved max_memory_allocated max_memory_reserved".split():
        setattr(made, function, _zero)
    # What PyTorch allows where there is no device.
    for function in "empty_cache manual_seed manual_seed_all seed seed_all ipc_collect reset_peak_memory_stats".split():
        setattr(made, function, _none)
    return made


cuda, xpu, mtia, mps = map(_devices, ("cuda", "xpu", "mtia", "mps"))


def _amp() -> Any:
    from . import amp

    return amp


class _Amp(_Module):
    def __getattr__(self, name: str) -> Any:
        return getattr(_amp(), name)


cuda.amp = _Amp("torch.cuda.amp")  # type: ignore[attr-defined]

backends = _Module("torch.backends", "PyTorch's `torch.backends`: which libraries there are.")
for _name in "cudnn cuda mps mkl mkldnn openmp opt_einsum".split():
    setattr(backends, _name, _Switches(f"torch.backends.{_name}"))
backends.cuda.matmul = _Switches("torch.backends.cuda.matmul")  # type: ignore[attr-defined]

accelerator = _Module("torch.accelerator", "PyTorch's `torch.accelerator`: there is none.")
accelerator.is_available, accelerator.device_count = _false, _zero  # type: ignore[attr-defined]
accelerator.current_accelerator = _none  # type: ignore[attr-defined]

cpu = _Module("torch.cpu", "PyTorch's `torch.cpu`: the one device.")
cpu.is_available = lambda: True  # type: ignore[attr-defined]
cpu.device_count = lambda: 1  # type: ignore[attr-defined]
cpu.current_device = lambda: CPU  # type: ignore[attr-defined]
cpu.synchronize = _none  # type: ignore[attr-defined]

version = _Module("torch.version", "PyTorch's `torch.version`: what the package is built with.")
version.cuda = version.hip = None  # type: ignore[attr-defined]
