"""PyTorch's side of the benchmarks."""

import torch


def numbers(*sizes):
    """Random numbers between -1 and 1, like those of our side."""
    return torch.rand(*sizes) * 2 - 1
