"""Another name of `dygraph`, from Fluid 1.3 and 1.4."""

from __future__ import annotations

from typing import Any as _Any

from .dygraph import *
from .dygraph import BackwardStrategy, PyLayer, base, checkpoint, layers, nn, parallel
from . import dygraph as _dygraph


def __getattr__(name: str) -> _Any:
    return getattr(_dygraph, name)
