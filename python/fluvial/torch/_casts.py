"""Casts of complex numbers to real ones as PyTorch makes them: the imaginary part is dropped, with a warning."""

from __future__ import annotations

import warnings

from .. import _core
from .._array_api.dtypes import dtype_of
from .._core import Tensor
from .._flavour import is_torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Methods that cast.
METHODS = "to float double half bfloat16 int long short char byte".split()


def dropped(x: Tensor, stacklevel: int) -> Tensor:
    """The real part, with PyTorch's warning."""
    text = f"the cast of {x.dtype} to real numbers drops the imaginary part; write `.real` where that is meant"
    warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)
    return _core.real(x)


def cast(x: Tensor, dtype: Any) -> Tensor:
    """The tensor in another element type, as PyTorch casts."""
    if x.is_complex() and _is_real(dtype_of(dtype)):
        x = dropped(x, 3)
    return _core.cast(x, dtype)


def _is_real(value: Any) -> bool:
    """Whether a cast to this, a type or a tensor of it, has no place for an imaginary part."""
    dtype = value.dtype if isinstance(value, Tensor) else value
    return isinstance(dtype, _core.DType) and not dtype.is_complex and dtype != _core.bool


def _casting(name: str) -> Callable[..., Any]:
    ours = getattr(Tensor, name)

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        if self.dtype.is_complex and is_torch() and (name != "to" or any(map(_is_real, (*args, *options.values())))):
            self = dropped(self, 2)
        return ours(self, *args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = ours.__doc__
    method.__wrapped__ = ours  # type: ignore[attr-defined]
    return method


def register() -> None:
    """Has the methods of files that import `fluvial.torch` cast so."""
    for name in METHODS:
        setattr(Tensor, name, _casting(name))
