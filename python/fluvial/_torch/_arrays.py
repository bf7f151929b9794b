"""Arrays of NumPy in a pickle."""

from __future__ import annotations

import math

from ._machine import WIDTHS, Kind, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What NumPy calls element types in a pickle.
TYPES = {
    **{"b1": "bool", "u1": "uint8", "i1": "int8", "i2": "int16", "u2": "uint16", "f2": "float16", "i4": "int32"},
    **{"u4": "uint32", "f4": "float32", "i8": "int64", "u8": "uint64", "f8": "float64"},
}
RECONSTRUCT = {"numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct"}
NAMES = {*RECONSTRUCT, "numpy.ndarray", "numpy.dtype"}


class Array:
    """An array, which gets its content after it was made."""

    def __init__(self) -> None:
        self.kind, self.sizes, self.is_turned, self.data = "", (), False, b""

    def build(self, state: Any) -> None:
        """Takes what the pickle says of it."""
        _, sizes, kind, is_turned, data = state
        if type(kind) is not Kind or type(sizes) is not tuple or type(data) is not bytes:
            raise Refused("an array in it holds objects, or is described wrongly", "save arrays of numbers only")
        if any(type(size) is not int or size < 0 for size in sizes):
            raise ValueError("a size of an array is not a whole number")
        if math.prod(sizes) * WIDTHS[kind.name] != len(data):
            raise ValueError(f"an array of the sizes {list(sizes)} has {len(data)} bytes")
        self.kind, self.sizes, self.is_turned, self.data = kind.name, sizes, bool(is_turned), data

    def bytes(self) -> bytes:
        """The elements, one behind the other."""
        if not self.is_turned:
            return self.data
        import numpy as np

        return np.frombuffer(self.data, f"u{WIDTHS[self.kind]}").reshape(self.sizes[::-1]).T.tobytes()


def element_type(arguments: tuple[Any, ...]) -> Kind:
    """The element type that `numpy.dtype` was called with."""
    text = arguments[0]
    if type(text) is not str or text.lstrip("<|=") not in TYPES:
        raise Refused(f"an array in it has elements of the type `{text}`", "cast it to a float or integer type")
    return Kind(TYPES[text.lstrip("<|=")])


def check_order(state: Any) -> None:
    """Refuses elements whose bytes are the other way round."""
    if type(state) is not tuple or state[1] not in ("<", "|", "="):
        raise Refused("an array in it is of a machine with another order of bytes", "save it as little endian")
