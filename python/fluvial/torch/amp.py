"""PyTorch's `torch.amp`: mixed precision."""

from .._precision import GradScaler, autocast

__all__ = ["GradScaler", "autocast"]
