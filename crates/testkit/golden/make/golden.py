"""Writes golden files: cases computed by PyTorch, NumPy and SciPy, which the tests compare with.

A script of an area makes a `Golden`, adds cases and writes the file:

    g = Golden("pool")
    g.case("avg_pool2d", lambda x: F.avg_pool2d(x, 2), [numbers(1, 2, 4, 4)], kernel=[2, 2])
    g.write()

`make golden` runs all scripts. Each case is one line of the file: the function, its attributes, the
inputs, the outputs, and the gradients of `sum(weights(k) * outputs[k])` for the float inputs.
"""

import json
import math
import pathlib

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
FOLDER = pathlib.Path(__file__).resolve().parent.parent


def numbers(*dims, seed=0, low=-2.0, high=2.0):
    """Different-looking multiples of 1/32 between low and high; short in a file, exact in f32."""
    generator = np.random.default_rng([seed, *dims])
    steps = generator.integers(math.ceil(low * 32), math.floor(high * 32) + 1, size=dims)
    return torch.from_numpy(np.asarray(steps / 32.0, dtype=np.float64))


def distinct(*dims, seed=0, step=1 / 16):
    """A shuffled range around zero: no two numbers are equal, none is zero."""
    count = math.prod(dims)
    order = np.random.default_rng([seed, *dims]).permutation(count)
    values = (order - count // 2 + 0.5) * step
    return torch.from_numpy(values.reshape(dims).astype(np.float64))


def ints(*dims, low=0, high=10, seed=0):
    """Integers from low up to, but not including, high."""
    generator = np.random.default_rng([seed, *dims])
    return torch.from_numpy(np.asarray(generator.integers(low, high, size=dims), dtype=np.int64))


def bools(*dims, seed=0):
    """True and false, mixed."""
    flips = np.random.default_rng([seed, *dims]).integers(0, 2, size=dims)
    return torch.from_numpy(np.asarray(flips == 1))


def weights(k, like):
    """The cotangent of output k, as the tests make it, too."""
    count = like.numel()
    flat = (torch.arange(count) * 7 + 3 * k) % 11
    return ((flat - 5).to(like.dtype) / 4).reshape(like.shape)


class Golden:
    """The cases of an area."""

    def __init__(self, area):
        self.area = area
        self.lines = []

    def case(self, function, reference, inputs, *, grad=True, **attributes):
        """Adds a case: `reference` gets the inputs as tensors (or None) and returns one tensor or
        several. Without `grad`, only outputs are stored."""
        leaves = [None if x is None else torch.as_tensor(x).clone() for x in inputs]
        for leaf in leaves:
            if grad and leaf is not None and leaf.is_floating_point():
                leaf.requires_grad_(True)
        outputs = reference(*leaves)
        outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        outputs = [torch.as_tensor(y) for y in outputs]
        grads = [None] * len(leaves)
        wrt = [i for i, x in enumerate(leaves) if x is not None and x.requires_grad]
        loss = sum((y * weights(k, y)).sum() for k, y in enumerate(outputs) if y.requires_grad)
        if wrt and torch.is_tensor(loss):
            found = torch.autograd.grad(loss, [leaves[i] for i in wrt], allow_unused=True)
            for i, gradient in zip(wrt, found):
                grads[i] = torch.zeros_like(leaves[i]) if gradient is None else gradient
        self.add(function, leaves, outputs, grads, attributes)

    def add(self, function, inputs, outputs, grads, attributes):
        """Adds a case that was computed by other means."""
        self.lines.append(
            {
                "function": function,
                "attributes": attributes,
                "inputs": [tensor(x) for x in inputs],
                "outputs": [tensor(y) for y in outputs],
                "gradients": [tensor(g) for g in grads],
            }
        )

    def write(self):
        """Writes the file of the area."""
        path = FOLDER / f"{self.area}.json"
        with path.open("w") as file:
            for line in self.lines:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        print(f"{self.area}: {len(self.lines)} cases, {path.stat().st_size // 1024} KB")


def tensor(value):
    """A tensor as the file has it: element type, sizes, elements."""
    if value is None:
        return None
    array = torch.as_tensor(value).detach().numpy()
    kind = {"f": "f64", "i": "i64", "u": "i64", "b": "bool"}[array.dtype.kind]
    if array.dtype == np.float32:
        kind = "f32"
    elements = [element(x) for x in array.ravel().tolist()]
    return [kind, list(array.shape), elements]


def element(x):
    """A number that JSON can hold."""
    if isinstance(x, float) and not math.isfinite(x):
        return "nan" if math.isnan(x) else ("inf" if x > 0 else "-inf")
    if isinstance(x, float) and x == int(x) and abs(x) < 1e15 and math.copysign(1, x) > 0:
        return int(x)
    return x
