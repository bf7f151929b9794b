"""Writes batches of readers into Fluid's record files."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO

from .._fault import fault
from ._files import write_tensor
from .lod_tensor import LoDTensor

__all__ = ["convert_reader_to_recordio_file", "convert_reader_to_recordio_files"]

_MAGIC = 0x01020304


def _record(values: Sequence[Any]) -> bytes:
    """The tensors of one batch."""
    import numpy as np

    record = io.BytesIO()
    record.write(struct.pack("<I", len(values)))
    for value in values:
        lengths = value.recursive_sequence_lengths() if isinstance(value, LoDTensor) else []
        write_tensor(record, np.array(value), lengths)
    return record.getvalue()


def _chunk(file: BinaryIO, records: Sequence[bytes]) -> None:
    payload = b"".join(struct.pack("<I", len(record)) + record for record in records)
    file.write(struct.pack("<5I", _MAGIC, len(records), zlib.crc32(payload), 0, len(payload)) + payload)


def _written(filename: str, batches: Iterable[Any], feeder: Any, max_num_records: int, order: Any) -> int:
    if max_num_records < 1:
        raise fault(ValueError, f"parts of {max_num_records} records", "give at least 1")
    names = list(feeder.feed_names if order is None else order)
    count, kept = 0, []
    # A number would be a file of the process that is open, which would be closed.
    with open(os.fspath(filename), "wb") as file:
        for batch in batches:
            fed = feeder.feed(batch)
            kept.append(_record([fed[name] for name in names]))
            count += 1
            if len(kept) == max_num_records:
                _chunk(file, kept)
                kept = []
        if kept:
            _chunk(file, kept)
    return count


def convert_reader_to_recordio_file(
    filename: str,
    reader_creator: Callable[[], Iterable[Any]],
    feeder: Any,
    compressor: Any = None,
    max_num_records: int = 1000,
    feed_order: Sequence[str] | None = None,
) -> int:
    """Writes a record for each batch; gives their number.

    Args:
        filename: The file.
        reader_creator: Gives batches, each a list of samples.
        feeder: A `fluid.DataFeeder`, which makes tensors of them.
        compressor: For Fluid's programs: records are written as they are, and Fluid reads them.
        max_num_records: How many records a part of the file has.
        feed_order: Names of variables, in the order of their tensors; that of the feeder unless said.
    """
    return _written(filename, reader_creator(), feeder, max_num_records, feed_order)


def convert_reader_to_recordio_files(
    filename: str,
    batch_per_file: int,
    reader_creator: Callable[[], Iterable[Any]],
    feeder: Any,
    compressor: Any = None,
    max_num_records: int = 1000,
    feed_order: Sequence[str] | None = None,
) -> int:
    """Writes batches into several files, `name-00000.recordio` and so on; gives their number. All batches are written.

    Args:
        filename: What names of files are made of, with the ending `.recordio`.
        batch_per_file: How many batches a file has.
        reader_creator: Gives batches, each a list of samples.
        feeder: A `fluid.DataFeeder`, which makes tensors of them.
        compressor: For Fluid's programs.
        max_num_records: How many records a part of a file has.
        feed_order: Names of variables, in the order of their tensors.
    """
    import itertools

    start, ending = os.path.splitext(filename)
    if ending != ".recordio" or batch_per_file < 1:
        raise fault(ValueError, f"`{filename}` for {batch_per_file} batches each", "give `name.recordio` and at least 1")
    source, count = iter(reader_creator()), 0
    for number in itertools.count():
        batches = list(itertools.islice(source, batch_per_file))
        if not batches:
            return count
        count += _written(f"{start}-{number:05d}{ending}", batches, feeder, max_num_records, feed_order)
    return count
