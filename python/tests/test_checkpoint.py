"""`fl.checkpoint`: values that are computed again for gradients, in both modes."""

import numpy as np
import pytest

import fluvial as fl


def _net():
    return fl.nn.Sequential(
        fl.nn.Linear(4, 16), fl.nn.BatchNorm1d(16), fl.nn.Tanh(), fl.nn.Dropout(0.3), fl.nn.Linear(16, 3)
    )


def _trained(mode, again):
    fl.seed(7)
    net = _net()
    optimizer = fl.optimizer.SGD(net.parameters(), 0.1)
    xs = [fl.tensor(np.random.default_rng(i).normal(size=(8, 4)).astype("float32")) for i in range(3)]

    def step(x):
        optimizer.zero_grad()
        y = fl.checkpoint(net, x) if again else net(x)
        loss = fl.sum(y * y)
        loss.backward()
        optimizer.step()
        return loss

    run = fl.function(step) if mode == "function" else step
    losses = [run(x).item() for x in xs]
    return losses, {name: value.numpy() for name, value in net.state_dict().items()}, fl.normal("f32[3]").tolist()


@pytest.mark.parametrize("mode", ["lines", "function"])
def test_checkpoints_keep_the_bits(mode):
    plain, again = _trained(mode, False), _trained(mode, True)
    assert plain[0] == again[0] and plain[2] == again[2]
    for name, value in plain[1].items():
        assert (value == again[1][name]).all(), name


def test_checkpoints_of_any_order():
    def f(x):
        return fl.sum(fl.sin(x) * x * x)

    def twice(f, x):
        return fl.sum(fl.grad(f)(x) ** 2)

    x = fl.tensor([0.3, 0.7])
    expected = fl.grad(lambda x: twice(f, x))(x).tolist()
    again = fl.grad(lambda x: twice(lambda x: fl.checkpoint(f, x), x))
    assert again(x).tolist() == expected
    assert fl.function(again)(x).tolist() == expected
    nested = fl.grad(lambda x: fl.checkpoint(lambda x: fl.checkpoint(f, x * 2), x))
    np.testing.assert_allclose(nested(x).numpy(), fl.grad(lambda x: f(x * 2))(x).numpy())
    mapped = fl.vmap(fl.grad(lambda x: fl.checkpoint(f, x)))(fl.stack([x, x * 2]))
    np.testing.assert_allclose(mapped.numpy(), np.stack([fl.grad(f)(x).numpy(), fl.grad(f)(x * 2).numpy()]), rtol=1e-6)


def test_a_checkpoint_that_does_something_else_is_an_error():
    calls = []

    def f(x):
        calls.append(1)
        return x * x if len(calls) == 1 else fl.sin(x)

    x = fl.tensor(2.0).track()
    y = fl.checkpoint(f, x)
    with pytest.raises(RuntimeError, match="something else"):
        fl.grad(y, x)


def test_arguments_that_change_after_a_checkpoint():
    x = fl.tensor([1.0, 2.0])
    w = fl.tensor(3.0).track()
    y = fl.checkpoint(lambda x: fl.sum(fl.sin(x * w)), x)
    expected = fl.grad(fl.sum(fl.sin(fl.tensor([1.0, 2.0]) * w)), w).item()
    x[0] = 100.0
    assert fl.grad(y, w).item() == expected


def test_effects_in_checkpoints_of_programs_are_refused():
    def f(x):
        fl.assert_(fl.all(x > 0), "positive", [x])
        return x * 2

    with pytest.raises(ValueError, match="has an effect"):
        fl.function(lambda x: fl.checkpoint(f, x))(fl.tensor([1.0]))


def test_checkpoints_save_memory_in_programs():
    def chain(x):
        for _ in range(8):
            x = fl.sin(fl.matmul(x, x) * 0.01)
        return x

    def peak(run):
        def step(x):
            for _ in range(4):
                x = run(x)
            return fl.grad(fl.sum(x), first)

        with fl.building() as b:
            first = b.input("x", "f32[128, 128]")
            b.output("grad", step(first))
        return b.program.report(x=fl.full((128, 128), 0.01)).unplanned_bytes

    plain, again = peak(chain), peak(lambda x: fl.checkpoint(chain, x))
    assert again < 0.6 * plain, (plain, again)
