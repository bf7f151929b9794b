"""Compiled functions on the tape: they stay compiled, and have the numbers of line by line."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl
from fluvial import _core


@pytest.fixture(autouse=True)
def own_scope():
    with fl.State():
        yield


def net(x):
    w = fl.parameter("w", (3, 2), init=fl.initializer.Constant(0.3))
    return fl.tanh(x @ w)


def gradients(f, x):
    """Values of three calls, with the gradients of the input and of the parameter."""
    found = []
    for _ in range(3):
        leaf = fl.tensor(x).track()
        y = f(leaf)
        fl.sum(y * y).backward()
        w = fl.read_state("w")
        found += [y.numpy(), leaf.grad.numpy(), w.grad.numpy()]
        w.zero_grad()
    return found


def test_a_recorded_call_is_one_node_with_the_bits_of_the_lines():
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    compiled = fl.function(net)
    assert _core.history(compiled(fl.tensor(x))) == ["program"]
    assert "program" not in _core.history(net(fl.tensor(x)))
    for found, expected in zip(gradients(compiled, x), gradients(net, x)):
        np.testing.assert_array_equal(found, expected)


def test_without_gradients_nothing_is_recorded():
    compiled = fl.function(net)
    with fl.no_grad():
        y = compiled(fl.ones((4, 3)))
    assert not y.is_tracked


def test_the_mask_of_dropout_is_the_same_on_the_way_back():
    @fl.function
    def dropped(x):
        return fl.dropout(x, 0.5)

    for _ in range(3):
        x = fl.ones((64,)).track()
        y = dropped(x)
        fl.sum(y).backward()
        np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


def test_second_derivatives():
    @fl.function
    def cube(x):
        return fl.sum(x * x * x)

    for _ in range(3):
        x = fl.tensor([2.0, 3.0]).track()
        (first,) = fl.grad(cube(x), [x], create_graph=True)
        (second,) = fl.grad(fl.sum(first), [x])
        assert second.tolist() == [12.0, 18.0]


def test_a_loop_in_a_recorded_function():
    def powers(x):
        y = x
        while fl.sum(y) < 100.0:
            y = y * x
        return y

    compiled = fl.function(powers)
    for _ in range(3):
        found = []
        for f in (compiled, powers):
            x = fl.tensor([2.0, 3.0]).track()
            y = f(x)
            fl.sum(y).backward()
            found.append((y.tolist(), x.grad.tolist()))
        assert found[0] == found[1]


def test_states_are_assigned_once():
    @fl.function
    def counted(x):
        n = fl.declare_state("n", (), init=lambda shape, dtype: fl.zeros(shape, dtype))
        fl.assign_state("n", n + 1.0)
        return x * n

    for trip in range(4):
        x = fl.tensor(3.0).track()
        y = counted(x)
        assert float(fl.read_state("n")) == trip + 1
        y.backward()
        assert (float(x.grad), float(fl.read_state("n"))) == (trip, trip + 1)


def test_a_donated_input_stays_if_the_call_is_recorded():
    double = fl.function(lambda x: x * x, donate=("x",))
    x = fl.tensor([1.0, 2.0]).track()
    y = double(x)
    fl.sum(y).backward()
    assert x.grad.tolist() == [2.0, 4.0]
    z = fl.tensor([1.0, 2.0])
    double(z)
    with pytest.raises(ValueError, match="given away"):
        z.numpy()


def test_errors_have_a_kind():
    square = fl.function(lambda x: x * x)
    x = fl.tensor(3.0).track()
    y = square(x)
    y.backward()
    with pytest.raises(RuntimeError) as freed:
        y.backward()
    assert (freed.value.kind, freed.value.op) == ("freed", None)
    assert "retain_graph" in freed.value.remedy
    with pytest.raises(RuntimeError) as unreached:
        fl.grad(square(x), [fl.tensor(1.0).track()])
    assert unreached.value.kind == "unreached"
    with pytest.raises(ValueError) as shape:
        fl.ones((2,)) + fl.ones((3,))
    error = shape.value
    assert (error.kind, error.op, "test_recorded.py:" in error.line) == ("shape", "add", True)
    with pytest.raises(TypeError) as argument:
        fl.function(lambda x: x, donate=("y",))(x)
    assert (argument.value.kind, argument.value.op) == ("argument", None)
    assert argument.value.remedy.startswith("name some")


def test_a_file_run_by_the_command_has_the_bits_of_the_lines(tmp_path):
    def spelled(x):
        e = fl.exp(x - fl.max(x, axis=1, keepdims=True))
        return {"y": (e / fl.sum(e, axis=1, keepdims=True)) * (1.0 / (1.0 + fl.exp(-x)))}

    x = np.linspace(-4, 4, 320, dtype=np.float32).reshape(10, 32)
    np.save(tmp_path / "x.npy", x)
    fl.build(spelled, {"x": "f32[n, 32]"}).save(tmp_path / "model.fl")
    run = [sys.executable, "-m", "fluvial", "-q", "run", "model.fl", "-f", "x=x.npy", "-o"]
    environment = os.environ | {"PYTHONPATH": str(Path(fl.__file__).resolve().parents[1])}
    subprocess.run([*run, "y.npy"], cwd=tmp_path, env=environment, check=True, timeout=60)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), spelled(fl.tensor(x))["y"].numpy())
    subprocess.run([*run, "fast.npy", "--fast"], cwd=tmp_path, env=environment, check=True, timeout=60)
    np.testing.assert_allclose(np.load(tmp_path / "fast.npy"), np.load(tmp_path / "y.npy"), rtol=1e-5)
