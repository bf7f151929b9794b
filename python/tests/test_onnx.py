"""ONNX models: what is written is read again, with the same bits, and runs in both modes."""

from __future__ import annotations

import os
from typing import Any

import fluvial as fl
import numpy as np
import pytest


def round_trip(tmp_path: Any, what: Any, types: dict[str, str], **feeds: Any) -> Any:
    """Writes and reads a model, and compares it in both modes with what it was made of, to the bit."""
    path = os.path.join(tmp_path, "model.onnx")
    written = fl.onnx.save(what, path, types)
    again = fl.onnx.load(path)
    assert list(again.inputs) == list(written.inputs)
    tensors = {name: fl.tensor(value) for name, value in feeds.items()}
    expected = written.run(tensors)
    for found in (again.run(tensors), again.run(tensors, compiled=False)):
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name].numpy(), value.numpy(), strict=True)
    return again


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_layers(tmp_path: Any) -> None:
    net = fl.nn.Sequential(fl.nn.Linear(4, 8), fl.nn.ReLU(), fl.nn.Dropout(0.5), fl.nn.Linear(8, 3))
    program = round_trip(tmp_path, net, {"x": "f32[batch, 4]"}, x=numbers(5, 4))
    assert program.inputs == {"x": "f32[batch, 4]"}
    assert all("weight" in name or "bias" in name for name in program.states)
    assert program.run(x=numbers(2, 4))["out0"].shape == (2, 3)


def test_images(tmp_path: Any) -> None:
    net = fl.nn.Sequential(
        fl.nn.Conv2d(1, 4, 3, padding=1),
        fl.nn.ReLU(),
        fl.nn.MaxPool2d(2),
        fl.nn.Conv2d(4, 4, 3, stride=2),
        fl.nn.Flatten(),
        fl.nn.Linear(36, 2),
    )
    round_trip(tmp_path, net, {"x": "f32[batch, 1, 14, 14]"}, x=numbers(3, 1, 14, 14))


def test_elementwise_and_shapes(tmp_path: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        a = fl.tanh(x) * y + fl.sigmoid(x - 1.0) / (fl.abs(y) + 2.0)
        b = fl.where(x > y, fl.exp(-fl.abs(x)), fl.sqrt(fl.abs(y)))
        c = fl.concat([a, b], -1).reshape(x.shape[0], 2, -1).permute(0, 2, 1)
        return fl.softmax(c, -1), c.sum(-1), fl.argmax(c, 1)

    types = {"x": "f32[n, 3]", "y": "f32[n, 3]"}
    round_trip(tmp_path, f, types, x=numbers(4, 3), y=numbers(3, 4).reshape(4, 3))


def test_control_flow(tmp_path: Any) -> None:
    def doubled(x: Any) -> Any:
        return fl.while_loop(lambda x: fl.sum(x) < 100.0, lambda x: x * 2.0, x)

    round_trip(tmp_path, doubled, {"x": "f32[3]"}, x=np.array([1, 2, 3], np.float32))

    def signed(x: Any) -> Any:
        return fl.cond(fl.sum(x) > 0.0, lambda: x + 1.0, lambda: x - 1.0)

    for x in ([1, 2], [-1, -2]):
        round_trip(tmp_path, signed, {"x": "f32[2]"}, x=np.array(x, np.float32))


def test_trained_further(tmp_path: Any) -> None:
    path = os.path.join(tmp_path, "model.onnx")
    fl.onnx.save(fl.nn.Linear(3, 1), path, {"x": "f32[batch, 3]"})
    program = fl.onnx.load(path, trainable=True)
    assert "parameter" in program.text() and "parameter" not in fl.onnx.load(path).text()
    loss = fl.mean(program(fl.tensor(numbers(8, 3))) ** 2)
    loss.backward()


def test_what_cannot_be_written(tmp_path: Any) -> None:
    path = os.path.join(tmp_path, "model.onnx")
    with pytest.raises(Exception, match="cannot be written as ONNX"):
        fl.onnx.save(lambda x: fl.linalg.eigh(x @ x.T)[0], path, {"x": "f32[2, 2]"})
    assert not os.path.exists(path)
    with pytest.raises(Exception, match="op set 3"):
        fl.onnx.save(fl.nn.Linear(1, 1), path, {"x": "f32[1]"}, opset=3)
    with pytest.raises(TypeError, match="types of the inputs"):
        fl.onnx.save(fl.nn.Linear(1, 1), path)


def test_what_cannot_be_read(tmp_path: Any) -> None:
    with pytest.raises(Exception, match="not an ONNX model"):
        fl.onnx.load(b"nothing of the kind")
    with pytest.raises(Exception, match="No such file|not found|cannot"):
        fl.onnx.load(os.path.join(tmp_path, "missing.onnx"))


def test_ops_are_listed() -> None:
    names = [name for domain, name, _, _ in fl.onnx.ops() if not domain]
    assert len(names) == len(set(names)) and {"Conv", "Gemm", "Loop", "Resize"} <= set(names)
    assert {"matmul", "while", "conv"} <= set(fl.onnx.exported())
