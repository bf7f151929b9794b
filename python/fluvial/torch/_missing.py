"""What to write for names of PyTorch that are not in `fluvial.torch`. Loaded when a name was not found."""

from __future__ import annotations

import difflib
import sys

#: By name: what to write here.
INSTEAD = {
    "compile": "`fluvial.function`, which takes Python functions with control flow",
    "jit": "`fluvial.function`",
    "cuda": "nothing: there is one device, the CPU",
    "backends": "nothing: there is one device, the CPU",
    "distributed": "nothing: one process trains",
    "multiprocessing": "the module `multiprocessing`",
    "onnx": "`fluvial.onnx`",
    "Module": "`torch.nn.Module`",
    "DataLoader": "`torch.utils.data.DataLoader`",
    "Dataset": "`torch.utils.data.Dataset`",
    "TensorDataset": "`torch.utils.data.TensorDataset`",
    "sparse": "`fluvial.optimizer.lookup` for gradients of rows",
    "FloatTensor": "`torch.tensor(data)`",
    "LongTensor": "`torch.tensor(data, dtype=torch.int64)`",
}


def missing(module: str, name: str) -> AttributeError:
    """An error to raise: the namespace has no such name.

    Args:
        module: The module's name.
        name: The name.
    """
    text = f"module `{module}` has no attribute `{name}`"
    if name.startswith("_"):
        return AttributeError(text)
    instead = INSTEAD.get(name)
    if instead is None:
        known = [known for known in vars(sys.modules[module]) if not known.startswith("_")]
        near = difflib.get_close_matches(name, known, 1)
        root = sys.modules[str(__package__).rpartition(".")[0]]
        if name in vars(root):
            instead = f"`fluvial.{name}`"
        elif near:
            return AttributeError(f"{text}\n  remedy: is it `{near[0]}`?")
    return AttributeError(f"{text}\n  remedy: write {instead}" if instead else text)
