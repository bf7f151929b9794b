"""Places, as a function of `layers`."""

from __future__ import annotations

from ..._fault import fault
from ..core import CPUPlace
from ..framework import cpu_places

__all__ = ["get_places"]


def get_places(device_count: int | None = None, device_type: str | None = None) -> list[CPUPlace]:
    """Places to run at: the CPU.

    Args:
        device_count: How many; one if nothing is said.
        device_type: "CPU".
    """
    if device_type not in (None, "CPU"):
        raise fault(ValueError, f"there are no devices of type {device_type!r}", 'use "CPU"')
    return cpu_places(device_count)
