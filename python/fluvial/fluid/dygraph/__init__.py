"""Fluid line by line: ops that run at once, layers as objects."""

from __future__ import annotations

from typing import Any as _Any

from . import (
    base,
    checkpoint,
    container,
    jit,
    layers,
    learning_rate_scheduler,
    losses,
    nn,
    parallel,
)
from .base import *
from .checkpoint import *
from .container import *
from .jit import *
from .layers import *
from .learning_rate_scheduler import *
from .losses import *
from .nn import *
from .parallel import *
from .py_layer import PyLayer


#: What Fluid 1.5 lists `no_grad` as.
__impl__ = no_grad


class BackwardStrategy:
    """How gradients are added up. Here always in one order, so that nothing is left to say."""

    sort_sum_gradient = True


class backward_strategy:
    """For Fluid's programs."""

    BackwardStrategy = BackwardStrategy


def __getattr__(name: str) -> _Any:
    from .._missing import no_attribute

    raise no_attribute(__name__, name)
