"""The framing of event files: records with lengths and masked checksums."""

from __future__ import annotations

import functools
import struct

import numpy as np

#: Below this many bytes a loop over them is as quick as arrays.
SHORT = 4096
#: How many bytes of a long text one lane takes.
LANE = 512


def record(payload: bytes) -> bytes:
    """A record of a file: the length, its checksum, the payload, its checksum."""
    length = struct.pack("<Q", len(payload))
    return length + _masked(length) + payload + _masked(payload)


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """The checksum of Castagnoli, which zlib does not have.

    Example:
        >>> from fluvial.summary._records import crc32c
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    state = 0xFFFFFFFF
    if len(data) < SHORT:
        return _walk(state, data) ^ 0xFFFFFFFF
    # A state after a lane is that of the lane alone, begun at zero, and that of the state before it
    # moved on by a lane of zeros; the lanes alone are walked side by side.
    head = len(data) % LANE
    lanes = np.frombuffer(data, np.uint8, offset=head).reshape(-1, LANE).astype(np.uint32)
    alone = _walk_lanes(np.zeros(len(lanes), np.uint32), lanes).tolist()
    state = _walk(state, data[:head])
    first, second, third, fourth = _moves()
    for lane in alone:
        moved = first[state & 255] ^ second[state >> 8 & 255]
        state = moved ^ third[state >> 16 & 255] ^ fourth[state >> 24] ^ lane
    return state ^ 0xFFFFFFFF


def _walk(state: int, data: bytes) -> int:
    table = _TABLE
    for byte in data:
        state = table[(state ^ byte) & 255] ^ state >> 8
    return state


def _walk_lanes(states: np.ndarray, lanes: np.ndarray | None) -> np.ndarray:
    """The states after a lane each; without lanes, after zeros."""
    table = np.array(_TABLE, np.uint32)
    for i in range(LANE):
        mixed = states if lanes is None else states ^ lanes[:, i]
        states = table[mixed & 255] ^ states >> np.uint32(8)
    return states


@functools.cache
def _moves() -> list[list[int]]:
    """Per byte of a state, where a lane of zeros moves it."""
    bytes_ = np.arange(256, dtype=np.uint32)
    return [_walk_lanes(bytes_ << np.uint32(8 * k), None).tolist() for k in range(4)]


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()
