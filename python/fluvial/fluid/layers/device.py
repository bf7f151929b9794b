"""Places, as a function of `layers`."""

from __future__ import annotations

from ..core import CPUPlace
from ..framework import cpu_places

__all__ = ["get_places"]


def get_places(device_count: int | None = None, device_type: str | None = None) -> list[CPUPlace]:
    """Places to run at: the CPU.

    Args:
        device_count: How many; one if nothing is said.
        device_type: "CPU".
    """
    return cpu_places(device_count)
