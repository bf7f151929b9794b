"""PyTorch's older classes of tensors, such as `torch.FloatTensor`: they make tensors, and `isinstance` asks for the element type."""

from __future__ import annotations

import builtins

from .. import _making
from .._core import Tensor
from .._tensor import _TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The element types by the names of the classes.
NAMES = dict(_TYPES)


class _Of(type):
    dtype: str

    def __instancecheck__(cls, value: object) -> builtins.bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        return _making.typed(cls.dtype, data)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _made(name: str, dtype: str) -> Any:
    text = f"Makes tensors of {dtype}: of these sizes, or of the elements of a list."
    return _Of(name, (), {"dtype": dtype, "__doc__": text, "__module__": __name__})


globals().update({name: _made(name, dtype) for name, dtype in NAMES.items()})
__all__ = list(NAMES)  # pyright: ignore[reportUnsupportedDunderAll]


def type_name(dtype: Any) -> str:
    """What `x.type()` gives: "torch.FloatTensor"."""
    name = next((name for name, known in NAMES.items() if known == dtype.name), None)
    return f"torch.{name}" if name else f"torch.{dtype.name}"
