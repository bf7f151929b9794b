"""Readers of arrays and files: `paddle.reader.creator`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..._fault import fault
from .reader import Reader

__all__ = ["np_array", "recordio", "text_file"]


def np_array(x: Any) -> Reader:
    """A reader of the rows of an array.

    Args:
        x: The array.

    Example:
        >>> from fluvial.fluid.paddle.reader import creator
        >>> list(creator.np_array(np.array([1, 2]))())
        [np.int64(1), np.int64(2)]
    """

    def rows() -> Iterator[Any]:
        yield from (x if x.ndim else x[None])

    return rows


def text_file(path: str) -> Reader:
    """A reader of the lines of a file, without their ends.

    Args:
        path: The file.
    """

    def lines() -> Iterator[str]:
        with open(os.fspath(path), encoding="utf-8") as file:
            for line in file:
                yield line.rstrip("\n")

    return lines


def recordio(paths: Any, buf_size: int = 100) -> Reader:
    """Refused: records are not given as bytes.

    Args:
        paths: Files.
        buf_size: How many records are read ahead.
    """
    raise fault(
        NotImplementedError,
        f"records of {paths} as bytes",
        "use `fluvial.batch_reader`, which gives the tensors in records, Fluid's too",
    )
