"""PyTorch's `torch.utils.checkpoint`."""

from ..._checkpoint import checkpoint

__all__ = ["checkpoint"]
