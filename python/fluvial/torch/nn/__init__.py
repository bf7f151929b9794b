"""PyTorch's `torch.nn`: the layers of `fluvial.nn` under PyTorch's names."""

import sys as _sys

from ... import nn as _nn
from ...nn import *
from ...nn import Buffer, Layer, LayerDict, LayerList, Parameter, Sequential
from . import functional, init
from ._layers import *
from ...nn import utils
from ...nn.utils import parametrizations as _parametrizations
from ...nn.utils import parametrize as _parametrize
from ...nn.utils import rnn as _rnn

# `import fluvial.torch.nn.utils.rnn` finds the modules of `fluvial.nn`, and does not load them anew.
_sys.modules[f"{__name__}.utils"] = utils
for _module in (_parametrizations, _parametrize, _rnn):
    _sys.modules[f"{__name__}.utils.{_module.__name__.rpartition('.')[2]}"] = _module

LPPool1d, LPPool2d, LPPool3d = _nn.LpPool1d, _nn.LpPool2d, _nn.LpPool3d


def __getattr__(name: str) -> object:
    from .._missing import missing

    raise missing(__name__, name)
