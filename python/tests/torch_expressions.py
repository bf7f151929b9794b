"""Expressions as users of PyTorch write them, with the words of its tutorials, and how they are evaluated.

`bench/peers/expressions_golden.py` writes what PyTorch gives; `test_torch_names.py` compares what `fluvial.torch` gives.
Statements are separated by `;`, and the last is an expression.
"""

import math
from pathlib import Path

import numpy as np


def names(torch):
    """The tensors that expressions speak of, and the modules."""

    def ramp(*shape, scale=1.0, shift=0.0, dtype="float32"):
        n = math.prod(shape)
        values = np.sin(np.arange(n) * 1.7 + 0.3) * scale + shift
        return torch.tensor(values.reshape(shape).astype(dtype))

    square = ramp(3, 3)
    found = {
        "x": ramp(3, 4, scale=2.0),
        "y": ramp(3, 4, shift=0.5),
        "p": ramp(3, 4, scale=0.4, shift=0.5),
        "v": ramp(5),
        "w": ramp(4),
        "a": square,
        "s": square @ square.t() + 2 * torch.eye(3),
        "t": ramp(2, 3, 4),
        "img": ramp(2, 3, 6, 6),
        "k": ramp(4, 3, 3, 3, scale=0.3),
        "bias": ramp(4),
        "seq": ramp(5, 2, 4),
        "logits": ramp(4, 5, scale=3.0),
        "labels": torch.tensor([1, 0, 4, 2]),
        "targets": torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]]),
        "i": torch.tensor([[3, 1, 2], [0, 2, 2]]),
        "j": torch.tensor([2, 0]),
        "n": torch.tensor([7, -3, 12, 5]),
        "d": torch.tensor([2, 2, -5, 3]),
        "mask": torch.tensor([[True, False, True, False], [False, False, True, True], [True, True, True, False]]),
        "c": torch.complex(square, ramp(3, 3, shift=0.3)),
        "u": torch.complex(ramp(6), ramp(6, scale=0.5)),
        "wave": ramp(32),
        "z": torch.tensor([1.0, float("nan"), 3.0, 2.0]),
    }
    import importlib

    base = torch.__name__
    found |= {"torch": torch, "math": math, "np": np}
    found["nn"] = importlib.import_module(f"{base}.nn")
    found["F"] = importlib.import_module(f"{base}.nn.functional")
    return found


def evaluated(code, scope):
    """What the last of some statements gives."""
    *statements, last = [part.strip() for part in code.split(";")]
    scope = dict(scope)
    for statement in statements:
        exec(compile(statement, "<expression>", "exec"), scope)
    return eval(compile(last, "<expression>", "eval"), scope)


def plain(value):
    """A result as JSON has it: element types by name, tensors by type, shape and elements."""
    if hasattr(value, "detach"):
        value = value.detach()
        name = str(value.dtype).rpartition(".")[2]
        numbers = value.tolist() if name != "bfloat16" else value.float().tolist()
        return {"dtype": name, "shape": [int(n) for n in value.shape], "values": flat(numbers)}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, complex):
        return flat(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return number(value) if isinstance(value, float) else int(value) if type(value) is not bool and isinstance(value, int) else value
    return str(value).rpartition(".")[2]


def number(value):
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def flat(values):
    if isinstance(values, complex):
        return [number(values.real), number(values.imag)]
    if not isinstance(values, list):
        return [number(values)]
    return [one for part in values for one in flat(part)]


def expressions():
    """All of them, in the order of `torch_expressions.txt`."""
    return [line for line in Path(__file__).with_suffix(".txt").read_text().splitlines() if line]
