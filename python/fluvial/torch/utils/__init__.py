"""PyTorch's `torch.utils`."""

from . import checkpoint, data


def __getattr__(name: str) -> object:
    from .._missing import missing

    raise missing(__name__, name)
