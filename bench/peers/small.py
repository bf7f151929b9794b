"""Small variants of the ten workloads, with weights that any framework can make for itself.

The weights are a pure function of their names and shapes, so a golden file holds nothing but losses.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.random import RandomState

import workloads as w

_CHANGES: dict[str, dict[str, object]] = {
    "mlp": {"batch": 8, "shape": (20,), "hidden": (16, 16)},
    "lenet": {"batch": 4, "channels": (4, 6), "hidden": 20},
    "resnet18": {"batch": 4, "shape": (3, 32, 32), "classes": 10, "layers": (1, 1, 1, 1)},
    "se_resnext": {"batch": 4, "shape": (3, 32, 32), "classes": 10, "layers": (1, 1, 1, 1)},
    "ptb_lstm": {"batch": 3, "vocab": 50, "hidden": 12, "length": 7},
    "transformer": {"batch": 3, "vocab": 60, "d_model": 16, "heads": 4, "ffn": 32, "length": 10},
    "gpt": {"batch": 3, "d_model": 24, "heads": 3, "layers": 2, "length": 12},
    "gan": {"batch": 4, "latent": 8, "width": 4},
    "deepcf": {"batch": 32, "users": 40, "items": 30, "dim": 8, "hidden": (8, 4)},
    "gnn": {"nodes": 60, "features": 40, "edges": 300, "hidden": 8},
}

SMALL: dict[str, w.Workload] = {
    name: replace(w.WORKLOADS[name], **changes)  # type: ignore[arg-type]
    for name, changes in _CHANGES.items()
}


def weights(shapes: Mapping[str, Sequence[int]]) -> dict[str, np.ndarray]:
    """First values by name: scales near one, biases near zero, the rest normal by fan-in."""
    values = {}
    for name, shape in shapes.items():
        rng = RandomState(zlib.crc32(name.encode()))
        noise = rng.randn(*shape)
        if name.endswith("num_batches_tracked"):
            value = np.zeros(shape)
        elif name.endswith("running_var") or (name.endswith("weight") and len(shape) == 1):
            value = 1.0 + 0.1 * np.abs(noise)
        elif len(shape) == 1:
            value = 0.1 * noise
        else:
            value = noise / np.sqrt(np.prod(shape[1:]))
        kind = np.int64 if name.endswith("num_batches_tracked") else np.float32
        values[name] = np.asarray(value).astype(kind)
    return values
