"""PyTorch's files of weights, read without PyTorch."""

from __future__ import annotations

import os

from ._archive import Archive, Legacy, Plain
from ._machine import Refused
from ._tensors import Tensors
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load_torch(path: str | os.PathLike[str]) -> Any:
    """Reads a file of PyTorch's `torch.save`: a state dict, or a checkpoint that contains one.

    No code of the file runs, and PyTorch is not needed. Tensors, parameters, dicts, lists, tuples,
    numbers, strings, sizes and element types are read; anything else is refused. The files may be of
    any version since 1.6, which are zip archives, and of those before.

    Args:
        path: The file: `.pt`, `.pth`, `.bin`.

    Returns:
        What was saved, with tensors as `fl.Tensor`: a dict by name for a state dict. Tensors that
        were one are one.

    Example:
        >>> net = fl.nn.Sequential(fl.nn.Linear(4, 2), fl.nn.Tanh())
        >>> net.load_state_dict(fl.load_torch("python/tests/torch_files/linear.pt"))
        Loaded(missing=[], unexpected=[])
    """
    return _load(path, Legacy)


def load_pickle(path: str | os.PathLike[str]) -> Any:
    """Reads a pickle of arrays, such as Paddle's `.pdparams`. No code of the file runs.

    Args:
        path: The file.
    """
    return _load(path, Plain)


def _load(path: str | os.PathLike[str], otherwise: type[Legacy | Plain]) -> Any:
    # A number would be a file of the process that is open, which would be closed.
    with open(os.fspath(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            start = file.read(4)
            archive = (Archive if start == b"PK\x03\x04" else otherwise)(file, size)
            return Tensors(file, size, archive).convert(archive.content)
        except Refused as refused:
            raise fault(ValueError, f"{os.fspath(path)}: {refused.what}", refused.remedy) from None
