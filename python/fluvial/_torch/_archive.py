"""Where the bytes of storages are: in a zip archive, or one behind the other."""

from __future__ import annotations

import struct
import zipfile
import zlib

from ._machine import RESAVE, WIDTHS, Machine, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

LOCAL_HEADER = struct.Struct("<4s5H3I2H")
#: What a file before version 1.6 begins with.
MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


class Bounded:
    """A part of a file that never gives more than it has, whatever is asked for."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._end = file, start + size
        file.seek(start)

    def read(self, count: int) -> bytes:
        return self._file.read(max(0, min(count, self._end - self._file.tell())))

    def readline(self) -> bytes:
        return self._file.readline(max(0, self._end - self._file.tell()))

    def tell(self) -> int:
        return self._file.tell()


class Archive:
    """A zip archive, as versions since 1.6 write it; records are stored, not compressed."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size = file, size
        self._checked: set[str] = set()
        try:
            with zipfile.ZipFile(file) as archive:
                self._records = {info.filename: info for info in archive.infolist()}
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
            raise Refused(f"its list of records is damaged: {error}") from None
        self._refuse_overlaps()
        found = [name for name in self._records if name.endswith("data.pkl") and name.count("/") == 1]
        if len(found) != 1:
            raise Refused("it is a zip archive, but has no record `data.pkl`")
        self._root = found[0].partition("/")[0]
        if f"{self._root}/constants.pkl" in self._records:
            raise Refused("it holds a compiled model of TorchScript, with its code", RESAVE)
        order = f"{self._root}/byteorder"
        self.is_big = False
        if order in self._records:
            self.is_big = Bounded(file, *self._place(order)).read(8) == b"big"
        start, length = self._place(found[0])
        self._check(found[0], start, length)
        #: What was saved, with descriptions of tensors.
        self.content = Machine(Bounded(file, start, length), size).run()

    def _refuse_overlaps(self) -> None:
        """Records that share bytes would be read, and take memory, once for each of them."""
        end, before = 0, ""
        for info in sorted(self._records.values(), key=lambda info: info.header_offset):
            if info.header_offset < end:
                raise Refused(f"its records `{before}` and `{info.filename}` overlap")
            end = info.header_offset + LOCAL_HEADER.size + info.compress_size
            before = info.filename

    def storage(self, key: str) -> tuple[int, int]:
        """Where the bytes of a storage begin, and how many there are, after a look at their
        checksum."""
        name = f"{self._root}/data/{key}"
        if name not in self._records:
            raise Refused(f"its record `{name}` is missing")
        start, length = self._place(name)
        if name not in self._checked:
            self._check(name, start, length)
            self._checked.add(name)
        return start, length

    def _check(self, name: str, start: int, length: int) -> None:
        wanted, found = self._records[name].CRC, 0
        # PyTorch can be told to write zero instead.
        if wanted:
            stream = Bounded(self._file, start, length)
            while chunk := stream.read(1 << 20):
                found = zlib.crc32(chunk, found)
            if found != wanted:
                raise Refused(f"the checksum of its record `{name}` is wrong")

    def _place(self, name: str) -> tuple[int, int]:
        """Where a record begins, and its length, which lies within the file."""
        info = self._records[name]
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise Refused(
                f"its record `{name}` is compressed or encrypted, which PyTorch never does",
                "unpack the archive, and pack it again with `zip -0`",
            )
        self._file.seek(info.header_offset)
        header = self._file.read(LOCAL_HEADER.size)
        if len(header) < LOCAL_HEADER.size or header[:4] != b"PK\x03\x04":
            raise Refused(f"its record `{name}` has no head")
        *_, name_length, extra_length = LOCAL_HEADER.unpack(header)
        start = info.header_offset + LOCAL_HEADER.size + name_length + extra_length
        if start + info.file_size > self._size:
            raise Refused(
                f"its record `{name}` claims {info.file_size} bytes, but the file ends before"
            )
        return start, info.file_size


class Legacy:
    """Pickles one behind the other, and then the storages, as versions before 1.6 wrote it."""

    is_big = False

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size = file, size
        self._stream = Bounded(file, 0, size)
        try:
            magic = self._pickle()
        except Refused:
            magic = None
        if magic != MAGIC:
            raise Refused("it is not a file of PyTorch", "save it by `torch.save`")
        if self._pickle() != PROTOCOL:
            raise Refused("it is of an unknown version", RESAVE)
        system = self._pickle()
        self.is_big = isinstance(system, dict) and system.get("little_endian") is False
        machine = Machine(self._stream, size)
        self.content = machine.run()
        keys = self._pickle()
        if type(keys) is not list or not all(type(key) is str for key in keys):
            raise Refused("its list of storages is damaged")
        self._places: dict[str, tuple[int, int]] = {}
        at = file.tell()
        for key in keys:
            at = self._locate(key, machine.storages, at)

    def _pickle(self) -> Any:
        return Machine(self._stream, self._size).run()

    def _locate(self, key: str, kinds: dict[str, str], at: int) -> int:
        """Notes where a storage is, and returns where it ends."""
        self._file.seek(at)
        head = self._file.read(8)
        if len(head) < 8 or key not in kinds:
            raise Refused(f"its storage `{key}` is missing")
        (count,) = struct.unpack(">q" if self.is_big else "<q", head)
        start, length = at + 8, count * WIDTHS.get(kinds[key], 1)
        if count < 0 or start + length > self._size:
            raise Refused(f"its storage `{key}` claims {count} elements, but the file ends before")
        self._places[key] = (start, length)
        return start + length

    def storage(self, key: str) -> tuple[int, int]:
        """Where the bytes of a storage begin, and how many there are."""
        if key not in self._places:
            raise Refused(f"its storage `{key}` is missing")
        return self._places[key]


class Plain:
    """One pickle, which holds all there is: what Paddle writes."""

    is_big = False

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.content = Machine(Bounded(file, 0, size), size).run()

    def storage(self, key: str) -> tuple[int, int]:
        """There are none."""
        raise Refused(f"its storage `{key}` is missing")
