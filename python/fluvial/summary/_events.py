"""The messages inside of event files, encoded by hand: they are few, and a library is large.

The numbers are those of TensorFlow's `event.proto`, `summary.proto` and `tensor.proto`.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: The element type of texts in `tensor.proto`.
DT_STRING = 7


def event(time: float, step: int, what: bytes) -> bytes:
    """An event: when, at which step, and what."""
    return double(1, time) + integer(2, step) + what


def version() -> bytes:
    """What the first event of a file says."""
    return chunk(3, b"brain.Event:2")


def summary(values: Iterable[bytes]) -> bytes:
    """What an event says: values."""
    return chunk(5, b"".join(chunk(1, value) for value in values))


def scalar(tag: str, value: float) -> bytes:
    """A value: a number."""
    return chunk(1, tag.encode()) + b"\x15" + struct.pack("<f", value)


def image(tag: str, height: int, width: int, channels: int, png: bytes) -> bytes:
    """A value: an image."""
    sizes = integer(1, height) + integer(2, width) + integer(3, channels)
    return chunk(1, tag.encode()) + chunk(4, sizes + chunk(4, png))


def histogram(
    tag: str, moments: tuple[float, float, float, float, float], limits: bytes, counts: bytes
) -> bytes:
    """A value: least, largest, count, sum and sum of squares; upper ends of buckets and their
    counts, both as packed doubles."""
    body = b"".join(double(i, moment) for i, moment in enumerate(moments, 1))
    return chunk(1, tag.encode()) + chunk(5, body + chunk(6, limits) + chunk(7, counts))


def text(tag: str, text: str) -> bytes:
    """A value: a text, as the text view takes it."""
    metadata = chunk(1, chunk(1, b"text"))
    shape = chunk(2, chunk(2, integer(1, 1)))
    tensor = integer(1, DT_STRING) + shape + chunk(8, text.encode())
    return chunk(1, tag.encode()) + chunk(9, metadata) + chunk(8, tensor)


def varint(value: int) -> bytes:
    """A whole number of 64 bits."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """A field that is a whole number."""
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    """A field that is a number of 64 bits."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def chunk(field: int, data: bytes) -> bytes:
    """A field that is bytes, a text or a message."""
    return varint(field << 3 | 2) + varint(len(data)) + data
