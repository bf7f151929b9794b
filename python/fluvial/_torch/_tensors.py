"""Descriptions of tensors, made tensors."""

from __future__ import annotations

import math

import numpy as np

from .. import _core
from ._arrays import Array
from ._machine import RESAVE, WIDTHS, Kind, Name, Refused, Storage, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from .._core import Tensor
    from ._archive import Archive, Legacy, Plain

#: How deep containers may lie in each other.
DEEPEST = 100
#: How many axes a tensor may have.
MOST_AXES = 32
#: Tensors may share elements, and so be larger together than the file, but only so much.
SHARING, ALWAYS_ALLOWED = 4, 1 << 20
#: How often the bytes of a file may be read for views that leave most of them out.
READING = 64


class Tensors:
    """Makes the tensors of a file."""

    def __init__(self, file: BinaryIO, size: int, archive: Archive | Legacy | Plain) -> None:
        self._file, self._size, self._archive = file, size, archive
        self._memory = max(SHARING * size, ALWAYS_ALLOWED)
        self._reads = max(READING * size, ALWAYS_ALLOWED)
        self._containers: dict[int, Any] = {}
        self._open: set[int] = set()
        self._made: dict[Any, Tensor] = {}

    def convert(self, content: Any) -> Any:
        """The content with tensors."""
        with _core.imperative(), _core.no_grad():
            return self._value(content, 0)

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, View):
            return self._tensor(value)
        if isinstance(value, Array):
            if id(value) not in self._containers:
                self._containers[id(value)] = _core.tensor_of_bytes(value.bytes(), value.kind, value.sizes, False)
            return self._containers[id(value)]
        if isinstance(value, Kind):
            return getattr(_core, value.name)
        if isinstance(value, (Storage, Name)):
            raise Refused("it holds a bare storage or a class", RESAVE)
        if not isinstance(value, (dict, list, tuple)):
            return value
        key = id(value)
        if key not in self._containers:
            if depth == DEEPEST or key in self._open:
                raise Refused(f"its containers lie more than {DEEPEST} deep in each other", RESAVE)
            self._open.add(key)
            if isinstance(value, dict):
                made: Any = {name: self._value(part, depth + 1) for name, part in value.items()}
            else:
                made = type(value)(self._value(part, depth + 1) for part in value)
            self._open.remove(key)
            self._containers[key] = made
        return self._containers[key]

    def _tensor(self, view: View) -> Tensor:
        key = (view.storage.key, view.kind, view.offset, view.sizes, view.strides)
        if key not in self._made:
            self._made[key] = _core.tensor_of_bytes(self._data(view), view.kind, view.sizes, False)
        return self._made[key]

    def _data(self, view: View) -> bytes:
        """The elements of a view, one behind the other, after a look at what it claims."""
        label, storage = f"a tensor of the sizes {list(view.sizes)}", view.storage
        if view.kind not in WIDTHS:
            raise Refused(f"{label} has no element type")
        if len(view.sizes) > MOST_AXES or max(view.sizes, default=0) >= 1 << 62:
            raise Refused(f"a tensor has {len(view.sizes)} axes of up to {max(view.sizes)} elements")
        elements, width = math.prod(view.sizes), WIDTHS[view.kind]
        if not elements:
            return b""
        start, length = self._archive.storage(storage.key)
        claimed = storage.count * WIDTHS.get(storage.kind, 1)
        if claimed > length:
            raise Refused(f"its storage `{storage.key}` has {length} bytes, but claims {claimed}")
        reach = sum((n - 1) * stride for n, stride in zip(view.sizes, view.strides)) + 1
        if (view.offset + reach) * width > claimed:
            last, count = view.offset + reach - 1, claimed // width
            raise Refused(f"{label} needs element {last} of a storage of {count}")
        self._memory -= elements * width
        self._reads -= reach * width
        if self._memory < 0 or self._reads < 0:
            raise Refused(
                f"its tensors take more memory than a file of {self._size} bytes explains: "
                f"{label} repeats or shares elements",
                "in PyTorch, call `.contiguous()` or `.clone()` on such tensors, and save again",
            )
        self._file.seek(start + view.offset * width)
        part = np.frombuffer(self._file.read(reach * width), f"u{width}")
        strides = [stride * width for stride in view.strides]
        array = np.lib.stride_tricks.as_strided(part, view.sizes, strides, writeable=False)
        return (array.byteswap() if self._archive.is_big else array).tobytes()
