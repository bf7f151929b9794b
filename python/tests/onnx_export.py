"""Writes models as ONNX, checks them with `onnx.checker` and full shape inference, and compares onnxruntime's results
with ours: part of `make test-onnx`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import numpy as np

import fluvial as fl


class Gpt(fl.nn.Layer):
    """A small transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = fl.nn.Embedding(11, 8)
        self.norm = fl.nn.LayerNorm(8)
        self.qkv = fl.nn.Linear(8, 24)
        self.out = fl.nn.Linear(8, 8)
        self.wide = fl.nn.Linear(8, 32)
        self.back = fl.nn.Linear(32, 8)
        self.head = fl.nn.Linear(8, 11)

    def forward(self, ids: Any) -> Any:
        x = self.words(ids)
        batch, steps = x.shape[0], x.shape[1]
        parts = self.qkv(self.norm(x)).reshape(batch, steps, 3, 2, 4).permute(2, 0, 3, 1, 4)
        y = fl.scaled_dot_product_attention(parts[0], parts[1], parts[2], causal=True)
        x = x + self.out(y.permute(0, 2, 1, 3).reshape(batch, steps, 8))
        x = x + self.back(fl.gelu(self.wide(self.norm(x))))
        return self.head(x)


def doubled(x: Any) -> Any:
    return fl.while_loop(lambda x: fl.sum(x) < 100.0, lambda x: x * 2.0, x)


def signed(x: Any) -> Any:
    return fl.cond(fl.sum(x) > 0.0, lambda: x + 1.0, lambda: x - 1.0)


def recurrent(layer: Any) -> Any:
    """The outputs of all steps."""
    return lambda x: layer(x)[0]


def models() -> dict[str, tuple[Any, dict[str, str], dict[str, Any]]]:
    nn = fl.nn
    image = {"x": "f32[batch, 3, 16, 16]"}
    return {
        "mlp": (
            nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3), nn.Softmax(-1)),
            {"x": "f32[batch, 4]"},
            {"x": (5, 4)},
        ),
        "convolutions": (
            nn.Sequential(
                nn.Conv2d(3, 8, 3, padding=1),
                nn.BatchNorm2d(8),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(8, 8, 3, stride=2, groups=2),
                nn.GroupNorm(2, 8),
                nn.AvgPool2d(2),
                nn.Flatten(),
                nn.Linear(8, 2),
            ),
            image,
            {"x": (2, 3, 16, 16)},
        ),
        "gpt": (Gpt(), {"ids": "i64[batch, steps]"}, {"ids": (2, 5)}),
        "lstm": (recurrent(nn.LSTM(3, 4)), {"x": "f32[steps, batch, 3]"}, {"x": (6, 2, 3)}),
        "gru": (recurrent(nn.GRU(3, 4)), {"x": "f32[steps, batch, 3]"}, {"x": (6, 2, 3)}),
        "activations": (
            nn.Sequential(nn.GELU(), nn.SiLU(), nn.Softplus(), nn.ELU(), nn.LeakyReLU(), nn.Hardswish(), nn.Mish()),
            {"x": "f32[n]"},
            {"x": (9,)},
        ),
        "while": (doubled, {"x": "f32[3]"}, {"x": (3,)}),
        "cond": (signed, {"x": "f32[3]"}, {"x": (3,)}),
    }


def check(name: str, what: Any, types: dict[str, str], shapes: dict[str, Any], opset: int) -> str:
    """What is wrong with a model, if anything."""
    import onnx
    import onnxruntime

    random = np.random.default_rng(7)
    path = os.path.join(tempfile.mkdtemp(), f"{name}.onnx")
    program = fl.onnx.save(what, path, types, opset=opset)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    feeds: dict[str, Any] = {}
    for key, shape in shapes.items():
        whole = types[key].startswith("i64")
        feeds[key] = random.integers(0, 11, shape) if whole else np.abs(random.standard_normal(shape)).astype(np.float32)
    ours = program.run({key: fl.tensor(value) for key, value in feeds.items()})
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    theirs = session.run(list(ours), feeds)
    again = fl.onnx.load(path).run({key: fl.tensor(value) for key, value in feeds.items()})
    for key, value in zip(ours, theirs, strict=True):
        for whose, found in (("onnxruntime", value), ("the model read again", again[key].numpy())):
            if not np.allclose(ours[key].numpy(), found, rtol=1e-5, atol=1e-6):
                return f"{key} differs from that of {whose} by {np.abs(ours[key].numpy() - found).max()}"
    return ""


def main() -> int:
    faults = 0
    for name, (what, types, shapes) in models().items():
        for opset in (18, 20):
            try:
                fault = check(name, what, types, shapes, opset)
            except Exception as error:  # one line for each model
                fault = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            faults += bool(fault)
            print(f"{'wrong ' if fault else 'right '} {name} at op set {opset}  {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
