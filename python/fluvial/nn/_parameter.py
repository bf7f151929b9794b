"""Parameters and buffers: tensors with identity, which the core defines."""

from __future__ import annotations

from .._core import Buffer, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._attr import ParamAttr
    from .._core import Tensor

__all__ = ["Buffer", "Parameter", "restored"]


def restored(
    is_buffer: bool,
    shape: tuple[int, ...] | None,
    dtype: str,
    init: Any,
    attr: ParamAttr,
    key: str,
    persistent: bool,
    trainable: bool,
    value: Tensor | None,
) -> Parameter:
    """What was pickled of a parameter, as one of its own."""
    if is_buffer:
        parameter: Parameter = Buffer(shape, dtype, init, attr, persistent)
    else:
        parameter = Parameter(shape, dtype, init, attr, trainable)
    parameter.key = key
    if value is not None:
        parameter.load(value)
    return parameter
