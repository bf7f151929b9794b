"""Functions of `fluid.layers` that keep counts, write to variables or take lists, in programs and at once."""

import math

import numpy as np
import pytest
from layer_checks import numbers

import fluvial.fluid as fluid

layers = fluid.layers


def program(build, feed, runs=1):
    """What a program gives in its last run."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        given = [
            layers.data(name, [-1, *array.shape[1:]], append_batch_size=False, dtype=array.dtype.name)
            for name, array in feed.items()
        ]
        fetched = build(*given)
    with fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        for _ in range(runs):
            found = exe.run(main, feed=feed, fetch_list=list(fetched))
    return found


def both(build, feed):
    """The same at once, after a comparison."""
    found = program(build, feed)
    with fluid.dygraph.guard():
        now = build(*[fluid.dygraph.to_variable(array) for array in feed.values()])
        for a, b in zip(found, now):
            assert a.shape == b.numpy().shape
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-6)
    return found


P = np.array([[0.1, 0.9], [0.6, 0.4], [0.3, 0.7], [0.8, 0.2]], np.float32)
LABELS = np.array([[1], [1], [0], [0]])


def test_accuracy_writes_its_counts():
    def build(p, label):
        correct, total = layers.create_tensor("int64"), layers.create_tensor("int64")
        share = layers.accuracy(p, label, correct=correct, total=total)
        return share, correct, total

    share, correct, total = program(build, {"p": P, "label": LABELS})
    assert (share.tolist(), correct.tolist(), total.tolist()) == ([0.5], [2], [4])


def area(p, labels):
    right, wrong = p[labels == 1], p[labels == 0]
    wins = (right[:, None] > wrong).sum() + 0.5 * (right[:, None] == wrong).sum()
    return wins / (len(right) * len(wrong))


def test_area_under_the_curve():
    def build(p, label):
        total, batch, states = layers.auc(p, label)
        assert len(states) == 4 and states[2].shape == (1, 4096)
        return total, batch, states[2]

    wanted = area(P[:, 1], LABELS[:, 0])
    total, batch, counts = program(build, {"p": P, "label": LABELS}, runs=3)
    assert total.tolist() == pytest.approx([wanted]) and batch.tolist() == pytest.approx([wanted])
    assert counts.sum() == 6
    with pytest.raises(NotImplementedError, match='use "ROC"'):
        layers.auc(None, None, curve="PR")


def test_lists_of_variables():
    x, y = numbers(2, 3), numbers(2, 3, seed=1)

    def build(x, y):
        rows = layers.concat([x, y], axis=0)
        return (
            layers.stack([x, y], axis=1), layers.sum([x, y]), layers.sums([x, y]), rows,
            layers.multiplex([x, y], layers.fill_constant_batch_size_like(x, [-1, 1], "int32", 1)),
            layers.fill_constant_batch_size_like(rows, [-1, 2], "float32", 3.0),
            *layers.split(x, 3, dim=1),
        )  # fmt: skip

    found = both(build, {"x": x, "y": y})
    np.testing.assert_array_equal(found[0], np.stack([x, y], 1))
    np.testing.assert_array_equal(found[1], x + y)
    np.testing.assert_array_equal(found[4], y)
    assert found[5].tolist() == [[3.0, 3.0]] * 4 and found[6].shape == (2, 1)


def test_results_written_to_variables():
    def build(x):
        out = layers.create_tensor("float32")
        layers.assign(x * 2.0, out)
        total = layers.fill_constant([1], "float32", 0.0)
        layers.sums([layers.reduce_sum(x), layers.reduce_sum(out)], out=total)
        return out, total

    out, total = program(build, {"x": P})
    np.testing.assert_array_equal(out, P * 2)
    assert total.tolist() == pytest.approx([3 * P.sum()])


def test_distributions():
    values = np.array([[0.5], [1.5]], np.float32)

    def build(x):
        even, bell = layers.Uniform(0.0, 2.0), layers.Normal(0.0, 2.0)
        return (
            even.log_prob(x), even.entropy(), bell.log_prob(x), bell.entropy(),
            bell.kl_divergence(layers.Normal(1.0, 1.0)), even.sample([3]), bell.sample([3], seed=1),
        )  # fmt: skip

    found = program(build, {"x": values})
    np.testing.assert_allclose(found[0], [[-math.log(2)]] * 2, rtol=1e-6)
    assert found[1].tolist() == pytest.approx([math.log(2)])
    wanted = -((values / 2) ** 2) / 2 - math.log(2) - 0.5 * math.log(2 * math.pi)
    np.testing.assert_allclose(found[2], wanted, rtol=1e-6)
    assert found[3].tolist() == pytest.approx([0.5 + 0.5 * math.log(2 * math.pi) + math.log(2)])
    assert found[4].tolist() == pytest.approx([0.5 * (4 + 1 - 1 - math.log(4))])
    assert found[5].shape == found[6].shape == (3, 1) and (0 <= found[5]).all() and (found[5] < 2).all()
    logits = numbers(2, 4)

    def classes(x):
        own, other = layers.Categorical(x), layers.Categorical(x * 0.5)
        return own.entropy(), own.kl_divergence(other), own.kl_divergence(own)

    entropy, lost, nothing = both(classes, {"x": logits})
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(entropy, -(p * np.log(p)).sum(1, keepdims=True), rtol=1e-5)
    assert (lost > 0).all() and np.allclose(nothing, 0)
    with pytest.raises(TypeError, match="give another Normal"):
        layers.Normal(0.0, 1.0).kl_divergence(layers.Uniform(0.0, 1.0))


def test_wide_normal_distribution():
    scale = np.diag([0.4, 0.5]).astype(np.float32)

    def build(loc, scale):
        own = layers.MultivariateNormalDiag(loc, scale)
        return own.entropy(), own.kl_divergence(layers.MultivariateNormalDiag(loc + 1.0, scale * 2.0))

    found = program(lambda: build(layers.assign(np.zeros(2, np.float32)), layers.assign(scale)), {})
    assert found[0].tolist() == pytest.approx([0.5 * (2 * (1 + math.log(2 * math.pi)) + math.log(0.2))], rel=1e-5)
    assert found[1].tolist() == pytest.approx([0.5 * (1 + 1 / 0.8 + 1 / 1.0 - 2 + math.log(4))], rel=1e-5)


def test_training_moves_parameters_by_their_attributes():
    def build(x):
        frozen = fluid.ParamAttr(name="frozen", trainable=False)
        fast = fluid.ParamAttr(name="fast", learning_rate=2.0, initializer=fluid.initializer.Constant(1.0))
        y = layers.fc(layers.fc(x, 2, param_attr=frozen, bias_attr=False), 1, param_attr=fast, bias_attr=False)
        loss = layers.mean(y)
        fluid.optimizer.SGD(0.5).minimize(loss)
        return (loss,)

    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        (loss,) = build(layers.data("x", [2]))
    with fluid.scope_guard(fluid.Scope()) as _:
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        scope = fluid.global_scope()
        frozen = np.array(scope.find_var("frozen").get_tensor())
        exe.run(main, feed={"x": P}, fetch_list=[loss])
        np.testing.assert_array_equal(np.array(scope.find_var("frozen").get_tensor()), frozen)
        moved = np.array(scope.find_var("fast").get_tensor())
        np.testing.assert_allclose(moved, 1 - (P @ frozen).mean(0)[:, None], rtol=1e-5)
