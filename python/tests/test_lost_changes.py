"""A change of a part that nobody holds is an error: `x[0].zero_()` would change nothing."""

import pytest

import fluvial as fl

MODES = pytest.mark.parametrize("mode", ["lines", "function"])


def run(function, mode, *args):
    return (fl.function(function) if mode == "function" else function)(*args)


def row(x):
    y = x * 1.0
    y[0].zero_()
    return y


def window(x):
    y = x * 1.0
    y[1:].fill_(2.0)
    return y


def view(x):
    y = x * 1.0
    y.reshape(-1).add_(1.0)
    return y


def scaled(x):
    y = x * 1.0
    y[0, 1].mul_(2.0)
    return y


@MODES
@pytest.mark.parametrize("function", [row, window, view, scaled])
def test_lost_changes_are_errors(function, mode):
    with pytest.raises(RuntimeError, match="changes a part that was just made") as error:
        run(function, mode, fl.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert "remedy: assign to the part" in str(error.value)


def used(x):
    return x[0].add_(1.0)


def named(x):
    first = x[0]
    first.add_(1.0)
    return first


def listed(x):
    rows = [x[0], x[1]]
    rows[0].add_(1.0)
    return rows[0]


def kept(x):
    table = {"a": x[0]}
    table["a"].add_(1.0).mul_(1.0)
    return table["a"]


def chained(x):
    y = x[0].add_(0.5).add_(0.5)
    return y


@MODES
@pytest.mark.parametrize("function", [used, named, listed, kept, chained])
def test_what_somebody_holds_is_changed(function, mode):
    assert run(function, mode, fl.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist() == [2.0, 3.0]


def test_data_and_gradients_write_through():
    w = fl.tensor([1.0, 2.0], requires_grad=True)
    w.data.fill_(3.0)
    (w * w).sum().backward()
    w.grad.zero_()
    assert w.tolist() == [3.0, 3.0] and w.grad.tolist() == [0.0, 0.0]
    layer = fl.nn.Linear(2, 1)
    layer.weight.data.fill_(0.5)
    next(layer.parameters()).data.mul_(2.0)
    assert layer.weight.tolist() == [[1.0, 1.0]]


def test_parameters_from_calls_are_changed():
    layer = fl.nn.Linear(2, 1)
    with fl.no_grad():
        next(layer.parameters()).fill_(2.0)
        list(layer.parameters())[1].zero_()
    assert layer.weight.tolist() == [[2.0, 2.0]] and layer.bias.tolist() == [0.0]
