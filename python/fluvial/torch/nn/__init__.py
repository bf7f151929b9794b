"""PyTorch's `torch.nn`: the layers of `fluvial.nn` under PyTorch's names."""

from ... import nn as _nn
from ...nn import *
from ...nn import Buffer, Layer, LayerDict, LayerList, Parameter, Sequential
from . import functional, init
from ._layers import *
from ...nn import utils

LPPool1d, LPPool2d, LPPool3d = _nn.LpPool1d, _nn.LpPool2d, _nn.LpPool3d


def __getattr__(name: str) -> object:
    from .._missing import missing

    raise missing(__name__, name)
