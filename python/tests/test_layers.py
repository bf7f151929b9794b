"""Functional layers: names, numbers, both modes."""

import numpy as np
import pytest

import fluvial as fl
from fluvial import layers


@pytest.fixture(autouse=True)
def own_state():
    """Each test has a state scope of its own."""
    with fl.State() as state, layers.step():
        fl.seed(3)
        yield state


def both_modes(function, *inputs):
    """What a function gives line by line and as a program, after checking that they agree."""
    inputs = [fl.tensor(x) for x in inputs]
    with fl.State(), layers.step():
        direct = np.asarray(function(*inputs))
    with fl.State(), layers.step():
        program = fl.build(function, {f"x{i}": x for i, x in enumerate(inputs)})
        built = np.asarray(program(*inputs))
    assert direct.dtype == built.dtype and direct.tobytes() == built.tobytes()
    return direct


def classifier(image, label):
    hidden = layers.conv2d(image, num_filters=4, filter_size=3, padding=1, act="relu")
    hidden = layers.batch_norm(hidden, act="relu")
    hidden = layers.pool2d(hidden, pool_size=2, pool_stride=2)
    for size in [16, 8]:
        hidden = layers.fc(hidden, size=size, act="tanh")
    hidden = layers.dropout(hidden, 0.2)
    prediction = layers.fc(hidden, size=3, act="softmax")
    loss = layers.mean(layers.cross_entropy(prediction, label))
    return loss, layers.accuracy(prediction, label)


class TestNames:
    def test_a_training_loop_finds_its_parameters(self, own_state):
        generator = np.random.default_rng(0)
        image = fl.tensor(generator.normal(size=(6, 1, 4, 4)).astype(np.float32))
        label = fl.tensor(generator.integers(0, 3, (6, 1)))

        def train(image, label):
            loss, accuracy = classifier(image, label)
            fl.optimizer.Adam(learning_rate=0.05, name="adam").minimize(loss)
            return loss, accuracy

        results = []
        for modes in [[False], [True], [False, True, True]]:
            with fl.State() as state, layers.step():
                fl.seed(1)
                program = fl.build(train, {"image": "f32[n, 1, 4, 4]", "label": "i64[n, 1]"})
                steps = [(program if modes[i % len(modes)] else train) for i in range(7)]
                losses = [step(image, label)[0].item() for step in steps]
                results.append((losses, {n: state[n].numpy().tobytes() for n in state.names()}))
        assert results[0] == results[1] == results[2]
        losses, states = results[0]
        assert losses[-1] < losses[0]
        own = [name for name in states if name.startswith("fc") or name.startswith("conv")]
        assert own == ["conv2d_0.b_0", "conv2d_0.w_0"] + [f"fc_{i}.{p}" for i in range(3) for p in ["b_0", "w_0"]]
        assert "adam.m.batch_norm_0.w_0" in states

    def test_given_names_are_shared(self, own_state):
        x = fl.full((2, 3), 1.0)
        a = layers.fc(x, 4, name="same")
        b = layers.fc(x, 4, name="same")
        assert np.array_equal(a.numpy(), b.numpy())
        layers.fc(x, 4, param_attr=fl.ParamAttr(name="shared.w"), bias_attr=False)
        assert [n for n in own_state.names() if n != "rng"] == ["same.b_0", "same.w_0", "shared.w"]

    def test_steps(self, own_state):
        x = fl.full((2, 3), 1.0)
        for _ in range(2):
            with layers.step():
                layers.fc(layers.fc(x, 4), 4)
        assert len([n for n in own_state.names() if n.startswith("fc")]) == 4

    def test_create_parameter(self):
        w = layers.create_parameter([2, 3], default_initializer=fl.initializer.Constant(2.0))
        loss = layers.reduce_sum(w * w)
        fl.optimizer.SGD(0.5).minimize(loss)
        assert fl.read_state("parameter_0").tolist() == [[0.0] * 3] * 2
        count = layers.create_global_var([1], 3.0, "float32", name="count")
        assert count.tolist() == [3.0] and not count.is_tracked


def ramp(*shape, dtype=np.float32):
    return np.sin(np.arange(np.prod(shape)) * 0.7 + 0.3).reshape(shape).astype(dtype)


X, Y = ramp(2, 3, 4), ramp(3)
CASES = {
    "elementwise_add": (lambda x, y: layers.elementwise_add(x, y, axis=1), X + Y[:, None]),
    "elementwise_sub": (lambda x, y: layers.elementwise_sub(x, y, axis=1, act="relu"), np.maximum(X - Y[:, None], 0)),
    "reduce_sum": (lambda x, y: layers.reduce_sum(x, dim=[0, 2], keep_dim=True), X.sum((0, 2), keepdims=True)),
    "reduce_mean": (lambda x, y: layers.reduce_mean(x, dim=1), X.mean(1)),
    "mean": (lambda x, y: layers.mean(x), [X.mean()]),
    "sums": (lambda x, y: layers.sums([x, x, x]), X * 3),
    "scale": (lambda x, y: layers.scale(x, 2.0, 1.0, bias_after_scale=False), (X + 1) * 2),
    "mul": (lambda x, y: layers.mul(x, layers.ones([12, 2])), X.reshape(2, 12).sum(1, keepdims=True) * np.ones((1, 2))),
    "matmul": (lambda x, y: layers.matmul(x, x, transpose_y=True, alpha=2.0), X @ X.transpose(0, 2, 1) * 2),
    "transpose": (lambda x, y: layers.transpose(x, [2, 0, 1]), X.transpose(2, 0, 1)),
    "reshape": (lambda x, y: layers.reshape(x, [0, -1]), X.reshape(2, 12)),
    "split": (lambda x, y: layers.split(x, 2, dim=2)[1], X[:, :, 2:]),
    "sections": (lambda x, y: layers.split(x, [1, 2], dim=1)[1], X[:, 1:]),
    "concat": (lambda x, y: layers.concat([x, x], axis=1), np.concatenate([X, X], 1)),
    "stack": (lambda x, y: layers.stack(layers.unstack(x, 1), 0), X.transpose(1, 0, 2)),
    "expand": (lambda x, y: layers.expand(x, [1, 2, 1]), np.tile(X, (1, 2, 1))),
    "unsqueeze": (lambda x, y: layers.squeeze(layers.unsqueeze(y, [0, 2]), [2]), Y[None]),
    "flatten": (lambda x, y: layers.flatten(x, 2), X.reshape(6, 4)),
    "softmax": (lambda x, y: layers.softmax(y), np.exp(Y) / np.exp(Y).sum()),
    "dropout": (lambda x, y: layers.dropout(y, 0.25, is_test=True), Y * 0.75),
    "l2_normalize": (lambda x, y: layers.l2_normalize(x, 1), X / np.sqrt((X**2).sum(1, keepdims=True))),
    "clip_by_norm": (lambda x, y: layers.clip_by_norm(y, 0.5), Y * 0.5 / np.sqrt((Y**2).sum())),
    "argmax": (lambda x, y: layers.argmax(x, 2), X.argmax(2)),
    "topk": (lambda x, y: layers.topk(y, 2)[0], np.sort(Y)[:0:-1]),
    "one_hot": (lambda x, y: layers.one_hot(layers.assign(np.array([[2], [0]])), 3), np.eye(3)[[2, 0]]),
    "less_than": (lambda x, y: layers.less_than(x, 0.0), X < 0),
    "huber_loss": (lambda x, y: layers.huber_loss(y, y * 0.0, 0.5), np.where(abs(Y) < 0.5, Y**2 / 2, 0.5 * (abs(Y) - 0.25))),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_numbers(case):
    function, expected = CASES[case]
    found = both_modes(function, X, Y)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_losses():
    logits, label = ramp(4, 3), np.array([[0], [2], [1], [1]])
    softmax = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = -np.log(softmax[np.arange(4), label[:, 0]])[:, None]
    direct = both_modes(lambda x, y: layers.cross_entropy(layers.softmax(x), y), logits, label)
    joint = both_modes(layers.softmax_with_cross_entropy, logits, label)
    soft = both_modes(lambda x, y: layers.softmax_with_cross_entropy(x, y, soft_label=True), logits, np.eye(3, dtype=np.float32)[label[:, 0]])
    for found in (direct, joint, soft):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_layers_with_parameters_in_both_modes():
    def net(x, ids):
        words = layers.embedding(ids, size=[7, 3], padding_idx=0)
        x = layers.layer_norm(layers.group_norm(x, 1), begin_norm_axis=2)
        x = layers.prelu(layers.conv2d_transpose(x, 2, filter_size=2, stride=2), mode="channel")
        return layers.fc([layers.flatten(x), words], size=2)

    assert both_modes(net, ramp(2, 2, 3, 3), np.array([[1], [0]])).shape == (2, 2)


def test_rates():
    for rate, step, expected in [
        (layers.exponential_decay(0.1, 10, 0.5), 5, 0.1 * 0.5**0.5),
        (layers.exponential_decay(0.1, 10, 0.5, staircase=True), 15, 0.05),
        (layers.natural_exp_decay(0.1, 10, 0.5), 10, 0.1 * np.exp(-0.5)),
        (layers.inverse_time_decay(0.1, 10, 0.5), 10, 0.1 / 1.5),
        (layers.polynomial_decay(0.1, 10, 0.01), 5, 0.055),
        (layers.piecewise_decay([10, 20], [0.1, 0.05, 0.01]), 15, 0.05),
        (layers.cosine_decay(0.1, 5, 4), 10, 0.05),
        (layers.noam_decay(64, 10), 9, 64**-0.5 * 10**-0.5),
    ]:
        assert rate.at(rate.first, step) == pytest.approx(expected, rel=1e-12)
    fl.parameter("w", (), init=1.0)
    optimizer = fl.optimizer.SGD(["w"], layers.piecewise_decay([1], [1.0, 0.5]))
    for expected in [0.0, -0.5]:
        optimizer.minimize(fl.read_state("w") * 1.0)
        assert fl.read_state("w").item() == expected


def test_inputs_of_programs():
    with fl.building() as b:
        x = layers.data("x", [3])
        y = layers.data("y", [-1, None], append_batch_size=False, dtype="int64")
        b.output("z", layers.fc(x, 2))
        b.output("y", y)
    assert b.program.inputs == {"x": "f32[batch, 3]", "y": "i64[batch, y_1]"}
    with pytest.raises(RuntimeError, match="none is being built"):
        layers.data("x", [3])
    with pytest.raises(ValueError, match="no activation is named 'rellu'"):
        layers.fc(fl.full((1, 2), 1.0), 2, act="rellu")


def test_names_that_are_both_modules_and_functions():
    assert fl.clip(fl.tensor([3.0]), high=1.0).tolist() == [1.0]
    with fl.building() as b:
        with fl.imperative():
            assert not fl.is_building()
        with fl.imperative.guard():
            assert fl.imperative.enabled()
        b.output("y", fl.full((1,), 1.0))
