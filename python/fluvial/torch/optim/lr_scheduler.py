"""PyTorch's `torch.optim.lr_scheduler`."""

from ...optimizer._schedulers import *
from ...optimizer._schedulers import LRScheduler


def __getattr__(name: str) -> object:
    from .._missing import missing

    raise missing(__name__, name)
