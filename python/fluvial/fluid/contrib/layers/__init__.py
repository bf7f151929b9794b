"""Layers that Fluid keeps under `contrib`."""

from __future__ import annotations

from typing import Any as _Any

from ...layers import tree_conv  # type: ignore[attr-defined]
from .nn import fused_elemwise_activation, partial_concat, partial_sum, shuffle_batch
from .rnn import BasicGRUUnit, BasicLSTMUnit, basic_gru, basic_lstm

__all__ = [
    "BasicGRUUnit", "BasicLSTMUnit", "basic_gru", "basic_lstm", "fused_elemwise_activation", "partial_concat",
    "partial_sum", "shuffle_batch", "tree_conv",
]  # fmt: skip


def __getattr__(name: str) -> _Any:
    from ..._missing import no_attribute

    raise no_attribute(__name__, name)
