"""The models of `examples/models`, small, as programs with arrays for them: for tests of exported programs."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

import fluvial as fl

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "examples", "models"))

NAMES = ("mlp", "lenet", "resnet18", "se_resnext", "ptb_lstm", "transformer", "gpt", "gan", "deepcf", "gnn")


def model(name: str) -> tuple[Any, Any, dict[str, Any], tuple[str, ...]]:
    """A network, its optimizer, a batch, and which arrays of it a prediction takes."""
    import importlib

    random = np.random.default_rng(3)
    module = importlib.import_module(name)

    def floats(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float32)

    def whole(end: int, *shape: int) -> Any:
        return random.integers(1, end, shape)

    fl.seed(1)
    net: Any
    if name == "gan":
        net = module.Gan(latent=6, width=4)
        optimizers = tuple(fl.optimizer.Adam(part.parameters(), 1e-3) for part in (net.discriminator, net.generator))
        return net, optimizers, {"real": floats(2, 1, 28, 28), "z": floats(2, 6, 1, 1)}, ("z",)
    if name == "mlp":
        net, batch, use = module.Mlp(sizes=(12, 16, 10)), {"x": floats(4, 12), "y": whole(10, 4)}, ("x",)
    elif name == "lenet":
        net = module.LeNet(side=16, channels=(4, 6), kernel=3, hidden=20)
        batch, use = {"x": floats(4, 1, 16, 16), "y": whole(10, 4)}, ("x",)
    elif name == "resnet18":
        net = module.ResNet(layers=(1, 1, 1, 1), classes=5, first=4)
        batch, use = {"x": floats(4, 3, 64, 64), "y": whole(5, 4)}, ("x",)
    elif name == "se_resnext":
        net = module.SEResNeXt(layers=(1, 1, 1, 1), classes=5, first=16)
        batch, use = {"x": floats(4, 3, 64, 64), "y": whole(5, 4)}, ("x",)
    elif name == "ptb_lstm":
        net = module.PtbLstm(vocab=30, hidden=8, layers=2, batch=3)
        batch, use = {"x": whole(30, 3, 5), "y": whole(30, 3, 5)}, ("x",)
    elif name == "transformer":
        net = module.Transformer(vocab=20, dim=16, heads=2, layers=1, ffn=24, length=6)
        batch, use = {key: whole(20, 2, 6) for key in ("src", "tgt", "y")}, ("src", "tgt")
    elif name == "gpt":
        net = module.Gpt(vocab=20, dim=16, heads=2, layers=2, length=6)
        batch, use = {"x": whole(20, 2, 6), "y": whole(20, 2, 6)}, ("x",)
    elif name == "deepcf":
        net = module.DeepCf(users=9, items=7, dim=4, hidden=(6, 4))
        labels = (floats(5) > 0).astype(np.float32)
        batch, use = {"user": whole(9, 5), "item": whole(7, 5), "y": labels}, ("user", "item")
    else:
        net = module.Gnn(features=8, hidden=6, classes=4)
        batch, use = {"x": floats(5, 8), "adj": np.abs(floats(5, 5)), "y": whole(4, 5)}, ("x", "adj")
    return net, fl.optimizer.Adam(net.parameters(), 1e-2), batch, use


def types(batch: dict[str, Any]) -> dict[str, str]:
    """The types of a batch."""
    names = {"float32": "f32", "int64": "i64"}
    return {key: f"{names[str(value.dtype)]}[{', '.join(map(str, value.shape))}]" for key, value in batch.items()}


def prediction(name: str) -> tuple[fl.Program, dict[str, Any]]:
    """The program of a prediction, and arrays for it."""
    net, _, batch, use = model(name)
    given = {key: batch[key] for key in use}
    return fl.build(lambda *arrays: net(*arrays), types(given)), given


def step(name: str) -> tuple[fl.Program, dict[str, Any]]:
    """The program of a step of a training, and arrays for it."""
    net, optimizer, batch, _ = model(name)
    keys = tuple(batch)
    return fl.build(lambda *arrays: net.step(optimizer, **dict(zip(keys, arrays, strict=True))), types(batch)), batch
