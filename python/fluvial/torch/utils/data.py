"""PyTorch's `torch.utils.data`: datasets, samplers and loaders."""

from ...utils.data import *


def __getattr__(name: str) -> object:
    from .._missing import missing

    raise missing(__name__, name)
