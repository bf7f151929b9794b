"""Files of nested dicts, lists, numbers, strings and tensors."""

from __future__ import annotations

import collections
import io
import os
import pickle
import zlib

from .. import _core
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What the checksum of a file, which stands at its end, begins with.
_MARK = b"fluvial.checksum"
#: What a file may name; nothing else of it is run.
_ALLOWED = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("fluvial._core", "tensor_of_bytes"): _core.tensor_of_bytes,
    ("importlib", "import_module"): lambda name: _Core if name == "fluvial._core" else _refuse(name),
    ("builtins", "getattr"): lambda owner, name: getattr(owner, name),
}


class _Core:
    """What files may take from the core."""

    tensor_of_bytes = _core.tensor_of_bytes


def _refuse(name: str) -> Any:
    raise fault(ValueError, f"the file names `{name}`, which is not a tensor, number, string or container", "save a state dict")


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        known = _ALLOWED.get((module, name))
        return _refuse(f"{module}.{name}") if known is None else known


def _plain(obj: Any) -> Any:
    """The object with parameters as tensors; anything but containers, numbers, strings and tensors is refused."""
    if isinstance(obj, _core.Parameter):
        return obj.data.detach()
    if obj is None or isinstance(obj, (_core.Tensor, bool, int, float, str, bytes)):
        return obj
    if isinstance(obj, dict):
        return type(obj)((_plain(key), _plain(value)) for key, value in obj.items())
    if isinstance(obj, (list, tuple)):
        return type(obj)(map(_plain, obj)) if type(obj) in (list, tuple) else tuple(map(_plain, obj))
    name = type(obj).__name__
    remedy = "save `model.state_dict()`" if hasattr(obj, "state_dict") else "save numbers, strings and tensors"
    raise fault(TypeError, f"an object of the class `{name}` cannot be saved", remedy)


def save(obj: Any, f: Any) -> None:
    """Writes nested dicts, lists and tuples of tensors, numbers and strings to a file.

    Args:
        obj: What is written, such as a state dict.
        f: A path, or a file that is open for writing bytes.
    """
    data = pickle.dumps(_plain(obj), protocol=4)
    # Behind its end, where other readers of pickles do not look.
    data += _MARK + zlib.crc32(data).to_bytes(4, "little")
    if hasattr(f, "write"):
        f.write(data)
        return
    with open(os.fspath(f), "wb") as file:
        file.write(data)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Reads what `save` has written, or PyTorch's `torch.save`. No code of the file runs.

    Args:
        f: A path, or a file that is open for reading bytes.
        map_location: None or "cpu".
        weights_only: True: nothing else is read.
    """
    if hasattr(f, "read"):
        return _loaded(io.BytesIO(f.read()))
    with open(os.fspath(f), "rb") as file:
        if file.read(4) == b"PK\x03\x04":
            from .._torch import load_torch

            return load_torch(os.fspath(f))
        return _loaded(file)


def _loaded(file: Any) -> Any:
    """What a pickle holds, if it is what was written."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(end - len(_MARK) - 4, 0))
    tail = file.read()
    if tail.startswith(_MARK) and len(tail) == len(_MARK) + 4:
        end -= len(tail)
        file.seek(0)
        checksum, left = 0, end
        while left > 0:
            part = file.read(min(left, 1 << 20))
            checksum, left = zlib.crc32(part, checksum), left - len(part)
        if checksum.to_bytes(4, "little") != tail[len(_MARK) :]:
            what = "the file is damaged, or holds more than one object: its checksum is another one"
            raise fault(ValueError, what, "take a copy that is whole, or save one dict with all objects")
    file.seek(0)
    found = _Reader(file).load()
    if file.tell() != end:
        what = "the file is damaged, or holds more than one object: there are bytes behind its end"
        raise fault(ValueError, what, "take a copy that is whole, or save one dict with all objects")
    return found
