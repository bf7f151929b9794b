"""PyTorch's `torch.utils`."""


def __getattr__(name: str) -> object:
    from ._missing import missing

    raise missing(__name__, name)
