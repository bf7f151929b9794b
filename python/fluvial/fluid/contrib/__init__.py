"""What the book's programs use of `fluid.contrib`."""

from __future__ import annotations

from typing import Any as _Any

__all__: list[str] = []

#: What Fluid has here, too.
_OF_LAYERS = (
    "BasicGRUUnit", "BasicLSTMUnit", "basic_gru", "basic_lstm", "fused_elemwise_activation", "partial_concat",
    "partial_sum", "shuffle_batch",
)  # fmt: skip


def __getattr__(name: str) -> _Any:
    import importlib

    if name in ("layers", "mixed_precision"):
        return importlib.import_module(f".{name}", __name__)
    if name in _OF_LAYERS:
        return getattr(importlib.import_module(".layers", __name__), name)
    from .._missing import no_attribute

    raise no_attribute(__name__, name)
