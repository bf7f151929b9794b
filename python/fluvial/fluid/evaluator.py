"""Measures that were parts of programs; `fluid.metrics` took their place in Fluid, too."""

from __future__ import annotations

from typing import Any

from .._fault import fault

__all__ = ["ChunkEvaluator", "EditDistance", "DetectionMAP"]


class _Refused:
    _remedy = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise fault(NotImplementedError, f"`fluid.evaluator.{type(self).__name__}` is not in this front", self._remedy)


class ChunkEvaluator(_Refused):
    """Refused."""

    _remedy = "fetch what `layers.chunk_eval` counts, and add it to `fluid.metrics.ChunkEvaluator`"


class EditDistance(_Refused):
    """Refused."""

    _remedy = "fetch what `layers.edit_distance` gives, and add it to `fluid.metrics.EditDistance`"


class DetectionMAP(_Refused):
    """Refused."""

    _remedy = "fetch boxes, and measure them in NumPy"
