"""Whose meaning a method has where two disagree: that of the file it is called in.

`x.max(1)` gives the values here, and PyTorch gives their positions besides. A file that imports `fluvial.torch`, or
something of it, gets PyTorch's meaning of such methods; all others get that of the functions of `fluvial`.
"""

from __future__ import annotations

import os
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Code that calls methods for others: converted code through helpers, and methods that change tensors.
_FOR_OTHERS = tuple(os.path.join(os.path.dirname(__file__), name) for name in ("_convert" + os.sep, "_inplace.py"))
_PACKAGE = f"{__package__}."
_TORCH = _PACKAGE + "torch"


def is_torch() -> bool:
    """Whether the caller of the method that asks is in a file that imports `fluvial.torch`."""
    if _TORCH not in sys.modules:
        return False
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOR_OTHERS):
        frame = frame.f_back
    if frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        return False
    return any(map(_is_of_torch, list(frame.f_globals.values())))


def _is_of_torch(value: Any) -> bool:
    if type(value) is types.ModuleType:
        name = value.__name__
    elif isinstance(value, (type, types.FunctionType)):
        name = value.__module__
    else:
        return False
    return isinstance(name, str) and (name == _TORCH or name.startswith(_TORCH + "."))
