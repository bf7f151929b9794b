"""Functions follow `train`, `eval` and `freeze` of layers that they were not given as arguments."""

import pytest

import fluvial as fl
from fluvial import nn

X = fl.ones((64,))


@pytest.fixture(autouse=True)
def own_state():
    with fl.State(), fl.mode("program"):
        fl.seed(0)
        yield


def kept(y):
    """Whether nothing was dropped."""
    return y.tolist() == X.tolist()


def test_a_captured_layer_follows_train_and_eval():
    net = nn.Sequential(nn.Dropout(0.5), nn.Identity())

    @fl.function
    def f(x):
        return net(x)

    assert not kept(f(X))
    net.eval()
    assert kept(f(X)) and kept(f(X))
    net.train()
    assert not kept(f(X))
    assert len(f.programs) == 2
    net[0].training = False
    assert kept(f(X))
    net[0].training = True
    assert not kept(f(X)) and len(f.programs) == 3


def test_it_serves_all_sizes_in_each_phase():
    net = nn.Dropout(0.5)

    @fl.function
    def f(x):
        return net(x)

    for _ in range(2):
        for n in (2, 3, 4, 5):
            f(fl.ones((n,)))
        assert len(f.programs) == (2 if net.training else 3)
        net.eval()


def test_phases_that_the_function_itself_changes():
    net = nn.Dropout(0.5)

    @fl.function
    def used_and_trained(x):
        before = net(x)
        net.eval()
        used = net(x)
        net.train()
        return before, used

    for _ in range(3):
        before, used = used_and_trained(X)
        assert not kept(before) and kept(used)
    assert len(used_and_trained.programs) == 1


def test_a_build_that_starts_again_starts_with_the_same_phases():
    net, outer = nn.Dropout(0.5), fl.tensor(2.0)

    @fl.function
    def f(x):
        first = net(x)
        net.eval()
        i = fl.tensor(0)
        while i < 2:
            x, i = net(x) * outer, i + 1  # found in a block, so the build starts again
        return first, x

    first, x = f(X)
    assert not kept(first) and x.tolist() == [4.0] * 64


def test_frozen_parameters_stay():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1), name="net")
    sgd = fl.optimizer.SGD(net.parameters(), 0.1)

    @fl.function
    def step(x):
        loss = fl.sum(net(x))
        sgd.minimize(loss)
        return loss

    step(fl.ones((1, 2)))
    net[0].freeze()
    before = net.state_dict()
    step(fl.ones((1, 2)))
    after = net.state_dict()
    assert before["0.weight"].tolist() == after["0.weight"].tolist()
    assert before["1.bias"].tolist() != after["1.bias"].tolist()
    net[0].freeze(False)
    step(fl.ones((1, 2)))
    assert net.state_dict()["0.weight"].tolist() != after["0.weight"].tolist()
    assert len(step.programs) == 2


def test_layers_inside_functions_inside_functions():
    net = nn.Dropout(0.5)

    @fl.function
    def inner(x):
        return net(x)

    @fl.function
    def outer(x):
        return inner(x) * 1.0

    assert not kept(outer(X))
    net.eval()
    assert kept(outer(X)) and kept(inner(X))
