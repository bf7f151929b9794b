"""Writes small recordio files in both dialects, with nothing but the standard library.

python make_recordio.py   # in this folder; the files come out the same each time
"""

import gzip
import struct
import zlib

MAGIC = 0x01020304


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def snappy(data):
    """Literals, and copies of what was seen before."""
    out, seen, at, start = varint(len(data)), {}, 0, 0

    def literal(text):
        parts = [text[i : i + 60] for i in range(0, len(text), 60)]
        return b"".join(bytes([(len(part) - 1) << 2]) + part for part in parts)

    while at + 4 <= len(data):
        before = seen.get(data[at : at + 4])
        seen[data[at : at + 4]] = at
        if before is None or at - before > 0xFFFF:
            at += 1
            continue
        count = 4
        while count < 64 and at + count < len(data) and data[before + count] == data[at + count]:
            count += 1
        out += literal(data[start:at]) + bytes([(count - 1) << 2 | 2]) + struct.pack("<H", at - before)
        at += count
        start = at
    return out + literal(data[start:])


def cpp_snappy(data):
    out = b"snappy\0"
    for i in range(0, len(data), 1 << 15):
        raw = data[i : i + (1 << 15)]
        packed = snappy(raw)
        smaller = len(packed) < len(raw) - len(raw) // 8
        block = packed if smaller else raw
        out += struct.pack(">BHI", int(smaller), len(block), masked(raw)) + block
    return out


def framed_snappy(data):
    out = b"\xff\x06\x00\x00sNaPpY"
    for i in range(0, len(data), 1 << 16):
        raw = data[i : i + (1 << 16)]
        packed = snappy(raw)
        kind, block = (0, packed) if len(packed) < len(raw) else (1, raw)
        out += bytes([kind]) + struct.pack("<I", len(block) + 4)[:3] + struct.pack("<I", masked(raw)) + block
    return out


def chunk(records, compressor, go):
    raw = b"".join(struct.pack("<I", len(record)) + record for record in records)
    pack = [bytes, framed_snappy if go else cpp_snappy, lambda data: gzip.compress(data, mtime=0)][compressor]
    stored = pack(raw)
    crc = zlib.crc32(stored)
    if go:
        head = (MAGIC, crc, compressor, len(stored), len(records))
    else:
        head = (MAGIC, len(records), crc, compressor, len(stored))
    return struct.pack("<5I", *head) + stored


def tensor(dtype, dims, data, lod=(), packed=False):
    out = struct.pack("<IQ", 0, len(lod))
    for level in lod:
        out += struct.pack("<Q", 8 * len(level)) + struct.pack(f"<{len(level)}Q", *level)
    if packed:
        sizes = b"".join(varint(size) for size in dims)
        about = b"\x08" + varint(dtype) + b"\x12" + varint(len(sizes)) + sizes
    else:
        about = b"\x08" + varint(dtype) + b"".join(b"\x10" + varint(size) for size in dims)
    return out + struct.pack("<Ii", 0, len(about)) + about + data


def record(*tensors):
    return struct.pack("<I", len(tensors)) + b"".join(tensors)


def batch(i, packed=False):
    """Two rows: 13 numbers from 26 i on, halved, and a label 2 i or 2 i + 1."""
    x = struct.pack("<26f", *((26 * i + k) / 2 for k in range(26)))
    y = struct.pack("<2q", 2 * i, 2 * i + 1)
    return record(tensor(5, [2, 13], x, packed=packed), tensor(3, [2, 1], y, packed=packed))


def sequences(i):
    """Two sequences, of i and 2 words, and a label for each."""
    words = struct.pack(f"<{i + 2}q", *range(10 * i, 10 * i + i + 2))
    labels = struct.pack("<2h", -i, i)
    return record(tensor(3, [i + 2, 1], words, lod=[[0, i, i + 2]]), tensor(1, [2], labels))


def write(name, chunks, compressor, go):
    with open(name, "wb") as file:
        file.write(b"".join(chunk(records, compressor, go) for records in chunks))


def main():
    batches = [[batch(i) for i in range(4)], [batch(i) for i in range(4, 6)]]
    packed = [[batch(i, packed=True) for i in range(6)]]
    lines = [[b"record %d: " % i + b"again " * (3 * i) for i in range(5)], [b"", b"the last one"]]
    for number, name in enumerate(["none", "snappy", "gzip"]):
        write(f"cpp_{name}.recordio", batches, number, go=False)
        write(f"go_{name}.recordio", lines, number, go=True)
    write("go_tensors.recordio", packed, 1, go=True)
    write("cpp_sequences.recordio", [[sequences(i) for i in range(3)]], 1, go=False)


main()
