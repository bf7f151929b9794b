"""Writes `python/tests/torch_members.txt`: the public names of PyTorch that users meet, by the object that has them."""

import inspect
from pathlib import Path

import torch

PATH = Path(__file__).parents[2] / "python" / "tests" / "torch_members.txt"


def public(owner, kind=None):
    names = [name for name in dir(owner) if not name.startswith("_")]
    return [name for name in names if kind is None or (inspect.isclass(getattr(owner, name)) and issubclass(getattr(owner, name), kind))]


if __name__ == "__main__":
    functional = [name for name in public(torch.nn.functional) if getattr(getattr(torch.nn.functional, name), "__module__", "") in ("torch.nn.functional", "torch._C._nn", None) or name in dir(torch)]
    found = {
        "Tensor": public(torch.Tensor),
        "Module": public(torch.nn.Module()),
        "Optimizer": public(torch.optim.SGD([torch.zeros(1)], 0.1)),
        "nn": public(torch.nn, torch.nn.Module),
        "functional": [name for name in functional if callable(getattr(torch.nn.functional, name)) and not inspect.isclass(getattr(torch.nn.functional, name))],
        "optim": public(torch.optim, torch.optim.Optimizer),
        "lr_scheduler": public(torch.optim.lr_scheduler, torch.optim.lr_scheduler.LRScheduler),
        "init": [name for name in public(torch.nn.init) if name.endswith("_")],
        "distributions": public(torch.distributions, torch.distributions.Distribution),
        "linalg": [name for name in public(torch.linalg) if not inspect.ismodule(getattr(torch.linalg, name)) and not inspect.isclass(getattr(torch.linalg, name))],
        "utils.data": public(torch.utils.data, object),
    }
    PATH.write_text("\n".join(f"# {name}\n" + "\n".join(names) for name, names in found.items()) + "\n")
    print({name: len(names) for name, names in found.items()})
