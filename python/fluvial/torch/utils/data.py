"""PyTorch's `torch.utils.data`: datasets, samplers and loaders."""

from ...utils.data import *
