"""Files of Fluid's kind that claim more than they have."""

import io
import struct
import zipfile

import numpy as np
import pytest

from fluvial import fluid
from fluvial.fluid._files import read_tensor, write_tensor


class Counted(io.BytesIO):
    """A file that notes how much was asked for at once."""

    most = 0

    def read(self, size=-1):
        self.most = max(self.most, size)
        return super().read(size)


@pytest.mark.parametrize("sizes", [[1 << 40], [1 << 31, 1 << 31], [1 << 62, 1 << 62]])
def test_a_tensor_that_claims_more_than_the_file_has(sizes):
    buffer = io.BytesIO()
    write_tensor(buffer, np.zeros(3, "f4"))
    head = b"\x08\x05" + b"".join(b"\x10" + _varint(size) for size in sizes)
    file = Counted(struct.pack("<IQIi", 0, 0, 0, len(head)) + head + bytes(12))
    with pytest.raises(ValueError, match="ends in the middle"):
        read_tensor(file)
    assert file.most <= 1 << 24


def _varint(number):
    found = b""
    while number >= 0x80:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def test_levels_that_claim_more_than_the_file_has():
    file = Counted(struct.pack("<IQQ", 0, 1, 1 << 60) + bytes(40))
    with pytest.raises(ValueError, match="ends in the middle"):
        read_tensor(file)
    assert file.most <= 1 << 24


def overlapping(path, n):
    """An archive with `n` names for the same bytes."""
    array = io.BytesIO()
    np.save(array, np.zeros(1 << 18, "f4"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a0000.npy", array.getvalue())
        (entry,) = archive.filelist
        for i in range(1, n):
            twin = zipfile.ZipInfo(f"a{i:04}.npy")
            for field in ("CRC", "compress_size", "file_size", "compress_type", "header_offset"):
                setattr(twin, field, getattr(entry, field))
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
    return path.stat().st_size


def test_arrays_that_overlap_are_refused(tmp_path):
    path = tmp_path / "bomb.pdparams"
    assert overlapping(path, 6000) < 1 << 20
    with pytest.raises(ValueError, match="overlap"):
        fluid.load_dygraph(str(path))


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "net.pdparams"
    np.savez_compressed(path.open("wb"), w=np.zeros((300, 400), "f4"))
    found, _ = fluid.load_dygraph(str(path))
    assert found["w"].shape == (300, 400)
