"""Fluid's files of tensors: one record for each, with lengths of sequences, element type, sizes and elements."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, BinaryIO

from .._fault import fault

if TYPE_CHECKING:
    import numpy as np

#: Numbers of element types in Fluid's files.
_TYPES = {"bool": 0, "int16": 1, "int32": 2, "int64": 3, "float16": 4, "float32": 5, "float64": 6, "uint8": 20, "int8": 21}
#: So many bytes are read at once.
_PIECE = 1 << 24
_NAMES = {number: name for name, number in _TYPES.items()}


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    found = bytearray()
    while True:
        low, number = number & 0x7F, number >> 7
        found.append(low | (0x80 if number else 0))
        if not number:
            return bytes(found)


def write_tensor(file: BinaryIO, array: np.ndarray, lengths: Any = ()) -> None:
    """Writes one record.

    Args:
        file: Where to.
        array: The elements.
        lengths: For each level of sequences their lengths.
    """
    import numpy as np

    if array.dtype.name not in _TYPES:
        raise fault(TypeError, f"Fluid's files have no elements of {array.dtype.name}", 'cast them to "float32"')
    file.write(struct.pack("<IQ", 0, len(lengths)))
    for level in lengths:
        offsets = np.concatenate([[0], np.cumsum(level)]).astype("<u8")
        file.write(struct.pack("<Q", offsets.nbytes) + offsets.tobytes())
    head = b"\x08" + _varint(_TYPES[array.dtype.name]) + b"".join(b"\x10" + _varint(size) for size in array.shape)
    file.write(struct.pack("<Ii", 0, len(head)) + head)
    file.write(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())


def _read(file: BinaryIO, count: int) -> bytes:
    found = bytearray()
    # In pieces: what a damaged file claims takes no memory before it is there.
    while len(found) < count:
        piece = file.read(min(count - len(found), _PIECE))
        if not piece:
            break
        found += piece
    if len(found) != count:
        raise fault(ValueError, "the file ends in the middle of a tensor", "write it again")
    return bytes(found)


def _head(data: bytes) -> tuple[str, list[int]]:
    place, kind, sizes = 0, -1, []
    while place < len(data):
        tag, place = data[place], place + 1
        number = shift = 0
        while True:
            if place >= len(data) or shift > 63:
                raise fault(ValueError, "the file has no tensor of Fluid's here", "check what wrote it")
            byte, place = data[place], place + 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        if tag == 0x08:
            kind = number
        elif tag == 0x10:
            sizes.append(number)
        else:
            raise fault(ValueError, "the file has no tensor of Fluid's here", "check what wrote it")
    if kind not in _NAMES:
        raise fault(ValueError, f"element type {kind} of Fluid's files is not known", "write it as float32")
    return _NAMES[kind], sizes


def read_tensor(file: BinaryIO) -> tuple[np.ndarray, list[list[int]]]:
    """Reads one record: the elements, and lengths of sequences.

    Args:
        file: Where from.
    """
    import math

    import numpy as np

    version, levels = struct.unpack("<IQ", _read(file, 12))
    if version != 0 or levels > 16:
        raise fault(ValueError, "the file has no tensor of Fluid's here", "check what wrote it")
    lengths = []
    for _ in range(levels):
        (size,) = struct.unpack("<Q", _read(file, 8))
        offsets = np.frombuffer(_read(file, size), "<u8").astype("int64")
        lengths.append(np.diff(offsets).tolist())
    _, size = struct.unpack("<Ii", _read(file, 8))
    name, sizes = _head(_read(file, size))
    dtype = np.dtype(name).newbyteorder("<")
    data = _read(file, math.prod(sizes) * dtype.itemsize)
    return np.frombuffer(data, dtype).reshape(sizes).astype(name), lengths


def at_end(file: BinaryIO) -> bool:
    """Whether nothing is left."""
    found = file.read(1)
    if found:
        file.seek(-1, 1)
    return not found
