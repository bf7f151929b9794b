"""What trainings need beside layers and optimizers, under PyTorch's names: `fl.utils.data`."""

from . import data

__all__ = ["data"]
