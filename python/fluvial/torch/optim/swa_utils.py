"""PyTorch's `torch.optim.swa_utils`: averages of models."""

from ...optimizer.swa_utils import *
