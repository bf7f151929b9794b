"""Imperative code under Fluid's names; called as a function it is a scope in which ops run at once.

Example:
    >>> with fl.imperative.guard():
    ...     x = fl.imperative.base.to_variable(np.ones((2, 2), np.float32))
    ...     y = fl.imperative.FC(3)(x)
    >>> y.shape
    (2, 3)
    >>> with fl.imperative():
    ...     fl.is_building()
    False
"""

import sys as _sys
import types as _types

from .. import _core
from ..nn import Layer
from . import base, nn
from ._py_layer import PyLayer
from .base import enabled, guard, to_variable
from .nn import FC, BatchNorm, Conv2D, Embedding, GRUUnit, LayerNorm, Pool2D, PRelu

__all__ = [
    "FC",
    "BatchNorm",
    "Conv2D",
    "Embedding",
    "GRUUnit",
    "Layer",
    "LayerNorm",
    "PRelu",
    "Pool2D",
    "PyLayer",
    "base",
    "enabled",
    "guard",
    "nn",
    "to_variable",
]


class _Module(_types.ModuleType):
    """The module is the scope, too: `with fl.imperative():`."""

    def __call__(self) -> "_core.Scope":
        return _core.imperative()


_sys.modules[__name__].__class__ = _Module
