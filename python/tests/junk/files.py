"""Files that are read in Python: PyTorch's weights and Fluid's tensors. A damaged one follows from its seed."""

from __future__ import annotations

import functools
import io
import random
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fluvial as fl
from fluvial import fluid
from fluvial.fluid import _files

HERE = Path(__file__).parent.parent
#: Numbers that readers like to trust.
HOSTILE = [0, 1, 0x7F, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 40, 0x7FFF_FFFF_FFFF_FFF8, (1 << 64) - 1]


class File:
    """One damaged file: what it was made of, and what came of reading it."""

    def __init__(self, seed: int, only: str = "") -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.kind = self.rng.choice([kind for kind in KINDS if only in kind])

    def make(self, tell: Callable[[str], None] = lambda text: None) -> str:
        """Makes the file and reads it; the outcome is one word."""
        read, seeds = KINDS[self.kind]
        name, data = self.rng.choice(seeds())
        data = zipped(self.rng, data) if data[:2] == b"PK" and self.rng.random() < 0.7 else damaged(self.rng, data)
        tell(f"{self}, from {name}")
        try:
            with fl.State():
                read(data)
        except MemoryError:
            return "memory"
        except RecursionError:
            return "recursion"
        except KeyboardInterrupt:
            return "interrupted"
        except Exception:
            return "refused"
        except BaseException as error:
            return "panic" if type(error).__name__ == "PanicException" else "refused"
        return "returned"

    def __str__(self) -> str:
        return f"seed {self.seed}: a file of {self.kind}"


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The bytes with a few of them changed, removed, repeated or replaced by numbers."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        if not found:
            break
        at = rng.randrange(len(found))
        end = min(at + rng.randint(1, 8), len(found))
        kind = rng.randrange(6)
        if kind == 0:
            found[at] = rng.randrange(256)
        elif kind == 1:
            found[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del found[at:end]
        elif kind == 3:
            found[at:at] = found[at:end] * rng.choice([1, 1, 50])
        elif kind == 4:
            size = rng.choice([1, 2, 4, 8])
            number = rng.choice(HOSTILE).to_bytes(8, "little")[:size]
            found[at : at + size] = number if rng.random() < 0.5 else number[::-1]
        else:
            del found[at:]
    return bytes(found)


def zipped(rng: random.Random, data: bytes) -> bytes:
    """An archive whose entries are damaged, and not its frame."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old:
            entries = [(info.filename, old.read(info)) for info in old.infolist()]
    except zipfile.BadZipFile:
        return damaged(rng, data)
    # What says how the rest is to be read is damaged more often.
    heads = [i for i, (name, _) in enumerate(entries) if name.endswith((".pkl", ".npy"))]
    which = rng.choice(heads) if heads and rng.random() < 0.8 else rng.randrange(len(entries))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as new:
        for i, (name, content) in enumerate(entries):
            new.writestr(name, damaged(rng, content) if i == which else content)
    return made.getvalue()


@functools.lru_cache(None)
def torch_files() -> list[tuple[str, bytes]]:
    paths = sorted((HERE / "torch_files").glob("*.pt*"))
    return [(path.name, path.read_bytes()) for path in paths]


@functools.lru_cache(None)
def fluid_tensors() -> list[tuple[str, bytes]]:
    found = []
    for dtype in ("float32", "int64", "uint8"):
        for lengths in ((), ([2, 1],), ([1, 1], [2, 1])):
            buffer = io.BytesIO()
            _files.write_tensor(buffer, np.arange(12).reshape(3, 4).astype(dtype), lengths)
            found.append((f"{dtype} {lengths}", buffer.getvalue()))
    return found


@functools.lru_cache(None)
def fluid_params() -> list[tuple[str, bytes]]:
    found = []
    for write in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        write(buffer, **{"fc_0.w_0": np.ones((3, 4), "f4"), "fc_0.b_0": np.zeros(4, "f4"), "n": np.int64(3)})
        found.append((write.__name__, buffer.getvalue()))
    return found


def _by_path(read: Callable[[str], Any], ending: str) -> Callable[[bytes], Any]:
    def of(data: bytes) -> Any:
        with tempfile.NamedTemporaryFile(suffix=ending, dir=".") as file:
            file.write(data)
            file.flush()
            return read(file.name)

    return of


#: How a kind of files is read, and whole ones.
KINDS: dict[str, tuple[Callable[[bytes], Any], Callable[[], list[tuple[str, bytes]]]]] = {
    "torch": (_by_path(fl.load_torch, ".pt"), torch_files),
    "fluid tensors": (lambda data: _files.read_tensor(io.BytesIO(data)), fluid_tensors),
    "fluid tensor files": (_by_path(lambda path: _files.read_tensor(open(path, "rb")), ""), fluid_tensors),
    "fluid params": (_by_path(fluid.dygraph.load_dygraph, ".pdparams"), fluid_params),
}
