"""The explicit forms of control flow, in both modes."""

import doctest

import numpy as np
import pytest

import fluvial as fl
from fluvial import _blocks, _function


@pytest.fixture(autouse=True)
def own_state():
    with fl.State() as state:
        yield state


def both(function, *arrays):
    inputs = [fl.tensor(array) for array in arrays]
    direct = function(*inputs)
    built = fl.build(function, {f"x{i}": x for i, x in enumerate(inputs)})(*inputs)
    assert direct.numpy().tobytes() == built.numpy().tobytes()
    return direct.numpy()


X = np.array([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]], np.float32)


def test_docstrings_run():
    runner = doctest.DocTestRunner()
    for module in (_blocks, _function):
        for test in doctest.DocTestFinder().find(module, extraglobs={"fl": fl, "np": np}):
            runner.run(test)
    assert runner.summarize().failed == 0 and runner.tries > 15


def test_while():
    def grow(x):
        i = fl.tensor(0)
        loop = _blocks.While(i < 3, carried=[i, x])
        with loop.block() as (i, x):
            loop.update(i < 2, i + 1, x * 2)
        return loop.output()[1]

    assert np.array_equal(both(grow, X), X * 8)
    with pytest.raises(RuntimeError, match="update"):
        with _blocks.While(True).block():
            pass
    assert not fl.is_building()


def test_a_training_loop_with_a_recurrent_loop_inside(own_state):
    def train(x, target):
        fl.parameter("w", (2,), init=0.5)
        step = fl.tensor(0)
        training = _blocks.While(step < 5, carried=[step, fl.tensor(0.0)])
        with training.block() as (step, _):
            w = fl.read_state("w")
            t, h = fl.tensor(0), fl.zeros((2,), "float32")
            rnn = _blocks.While(t < 3, carried=[t, h])
            with rnn.block() as (t, h):
                h = fl.tanh(h * w + x[t])
                rnn.update(t < 2, t + 1, h)
            h = rnn.output()[1]
            loss = fl.sum((h - target) * (h - target))
            fl.assign_state("w", w - 0.1 * fl.grad(loss, w))
            training.update(step < 4, step + 1, loss.detach())
        return training.output()[1]

    inputs = fl.tensor(X), fl.tensor(np.array([0.3, -0.2], np.float32))
    direct = train(*inputs).item()
    program = fl.build(train, {"x": "f32[3, 2]", "target": "f32[2]"})
    with fl.State() as other:
        assert program(*inputs).item() == direct
    assert other["w"].tolist() == own_state["w"].tolist() != [0.5, 0.5]


def test_if_else():
    def f(x):
        choice = _blocks.IfElse(fl.sum(x, axis=1) > 0)
        with choice.true_block():
            rows = choice.input(x)
            choice.output(rows * 2)
        with choice.false_block():
            choice.output(-choice.input(x))
        return choice()[0]

    expected = np.where(X.sum(1, keepdims=True) > 0, X * 2, -X)
    assert np.array_equal(both(f, X), expected)
    with pytest.raises(RuntimeError, match="true_block"):
        _blocks.IfElse(fl.tensor([True])).output(1.0)


def test_switch(own_state):
    def f(x):
        fl.declare_state("runs", (), "int64", init=0)
        with _blocks.Switch() as switch:
            for bound in (1.0, 5.0):
                with switch.case(fl.sum(x) < bound):
                    fl.assign_state("runs", fl.read_state("runs") + 1)
                    switch.output(x * bound)
            with switch.default():
                switch.output(x)
        return switch()[0]

    for scale in (0.1, 0.5, 2.0):
        x = X * np.float32(scale)
        bound = next((b for b in (1.0, 5.0) if x.sum() < b), 1.0)
        assert np.allclose(both(f, x), x * bound)
    assert own_state["runs"].item() == 4


def test_static_rnn():
    def f(x):
        rnn = _blocks.StaticRNN()
        with rnn.step():
            word = rnn.step_input(x)
            previous = rnn.memory(shape=(2,))
            hidden = fl.tanh(word + previous)
            rnn.update_memory(previous, hidden)
            rnn.step_output(hidden)
        return rnn()

    hidden, expected = np.zeros(2, np.float32), []
    for row in X:
        hidden = np.tanh(row + hidden)
        expected.append(hidden)
    np.testing.assert_allclose(both(f, X), expected, rtol=1e-4)


def test_case_cond_and_while_loop():
    def f(x):
        y = _blocks.case([(fl.sum(x) < 0, lambda: -x), (fl.sum(x) < 3, lambda: x * 3)], lambda: x)
        (y,) = _blocks.while_loop(lambda y: fl.sum(y) < 50, lambda y: [y * 2], [y])
        return _blocks.cond(fl.sum(y) > 60, lambda: y, lambda: y + 1)

    for scale in (1, -1, 0.1):
        both(f, X * np.float32(scale))
    assert _blocks.cond(True, lambda: None) is None
