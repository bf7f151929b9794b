"""Layers: functions with parameters, which live in the state scope under the layers' names.

The keys of a `state_dict` and the layouts of weights are those of PyTorch's layers.
"""

from ._layer import Layer
from ._parameter import Buffer, Parameter
from ._containers import (
    Function,
    LayerDict,
    LayerList,
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from . import _generated
from ._generated import *
from ._parallel import DataParallel
from ._transformer import MultiheadAttention, Transformer, TransformerDecoder, TransformerEncoder
from . import utils

# The name of PyTorch.
Module = Layer

__all__ = [
    "Buffer",
    "DataParallel",
    "Function",
    "Layer",
    "LayerDict",
    "LayerList",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "Transformer",
    "TransformerDecoder",
    "TransformerEncoder",
    "utils",
]
__all__ += _generated.__all__

TYPE_CHECKING = False
# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        from .._elsewhere import no_attribute

        raise no_attribute(__name__, name)
