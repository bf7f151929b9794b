"""What belongs to the function that this thread builds."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .outer import Outer


class _Build(threading.local):
    #: The outer world of the function being built; None outside of one.
    outer: Outer | None = None


BUILD = _Build()
