"""PyTorch's `torch.amp`: mixed precision."""

from .. import _precision
from .._precision import autocast
from .._tensor import Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["GradScaler", "autocast"]


class GradScaler(_precision.GradScaler):
    """See `fluvial.GradScaler`.

    Args:
        device: The device, as `torch.amp` has it; or the first number, as `torch.cuda.amp` has it.
        numbers: The numbers of `fluvial.GradScaler`.
        options: They by name. Without a device that could be meant by "cuda", nothing is scaled there.
    """

    def __init__(self, device: "Any" = None, *numbers: "Any", **options: "Any") -> None:
        if isinstance(device, (int, float)):
            numbers = (device, *numbers)
        elif isinstance(device, str) and device.partition(":")[0] not in Device.OTHERS:
            Device(device)
        elif device is not None and str(device).partition(":")[0] != "cpu":
            # PyTorch warns, and scales nothing.
            options["enabled"] = False
        super().__init__(*numbers, **options)
