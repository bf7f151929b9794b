"""Programs with sequences of different lengths under Fluid's names."""

import numpy as np
import pytest

import fluvial as fl
import fluvial.fluid as fluid
from fluvial.fluid import layers


@pytest.fixture(autouse=True)
def fresh():
    with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            yield


def sentences(seed=0, n=6, vocabulary=10):
    """Sentences of words, whose label says whether there is a word above the middle at the end."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        words = rng.integers(0, vocabulary, rng.integers(1, 6)).tolist()
        made.append((words, [int(words[-1] >= vocabulary // 2)]))
    return made


def run(fetch, feed, program=None):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(program or fluid.default_main_program(), feed=feed, fetch_list=fetch, return_numpy=False)


def lod(rows, lengths, dtype="float32"):
    return fluid.create_lod_tensor(np.asarray(rows, dtype), [lengths], fluid.CPUPlace())


def data(width=2, name="x"):
    return layers.data(name, shape=[width], dtype="float32", lod_level=1)


ROWS = np.arange(10.0, dtype="float32").reshape(5, 2)


def train(loss, words, label, optimizer, steps=40):
    optimizer.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(feed_list=[words, label], place=fluid.CPUPlace())
    losses = []
    for step in range(steps):
        batch = sentences(step % 4, n=4 + step % 3)
        losses.append(float(exe.run(feed=feeder.feed(batch), fetch_list=[loss])[0].item()))
    return losses


class TestTraining:
    def test_convolution(self):
        words = layers.data("words", shape=[1], dtype="int64", lod_level=1)
        label = layers.data("label", shape=[1], dtype="int64")
        emb = layers.embedding(words, size=[10, 8])
        conv = fluid.nets.sequence_conv_pool(input=emb, num_filters=8, filter_size=3, act="tanh", pool_type="sqrt")
        last = layers.sequence_last_step(emb)
        prediction = layers.fc([conv, last], size=2, act="softmax")
        loss = layers.mean(layers.cross_entropy(prediction, label))
        losses = train(loss, words, label, fluid.optimizer.Adam(0.05))
        assert losses[-1] < losses[0] / 2

    def test_stacked_lstm(self, tmp_path):
        words = layers.data("words", shape=[1], dtype="int64", lod_level=1)
        label = layers.data("label", shape=[1], dtype="int64")
        emb = layers.embedding(words, size=[10, 8])
        fc1 = layers.fc(emb, size=16)
        lstm1, _ = layers.dynamic_lstm(fc1, size=16)
        fc2 = layers.fc([fc1, lstm1], size=16)
        lstm2, _ = layers.dynamic_lstm(fc2, size=16, is_reverse=True)
        pooled = [layers.sequence_pool(fc2, "max"), layers.sequence_pool(lstm2, "last")]
        prediction = layers.fc(pooled, size=2, act="softmax")
        loss = layers.mean(layers.cross_entropy(prediction, label))
        losses = train(loss, words, label, fluid.optimizer.Adam(0.05))
        assert losses[-1] < losses[0] / 2
        exe = fluid.Executor(fluid.CPUPlace())
        fed = {"words": lod([[3], [9], [1]], [2, 1], "int64")}
        test = fluid.default_main_program().clone(for_test=True)
        fluid.io.save_inference_model(str(tmp_path), ["words"], [prediction], exe)
        (expected,) = exe.run(test, feed={**fed, "label": np.zeros((2, 1), "int64")}, fetch_list=[prediction])
        with fluid.scope_guard(fluid.Scope()):
            program, names, targets = fluid.io.load_inference_model(str(tmp_path), exe)
            assert names == ["words"]
            (found,) = exe.run(program, feed=fed, fetch_list=targets)
        np.testing.assert_array_equal(found, expected)

    def test_random_field(self):
        words = layers.data("words", shape=[1], dtype="int64", lod_level=1)
        target = layers.data("target", shape=[1], dtype="int64", lod_level=1)
        emb = layers.embedding(words, size=[10, 8])
        scores = layers.fc(emb, size=3)
        cost = layers.linear_chain_crf(scores, target, param_attr=fluid.ParamAttr(name="crfw"))
        loss = layers.mean(cost)
        fluid.optimizer.Adam(0.1).minimize(loss)
        path = layers.crf_decoding(scores, param_attr=fluid.ParamAttr(name="crfw"))
        right = layers.crf_decoding(scores, param_attr=fluid.ParamAttr(name="crfw"), label=target)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        feeder = fluid.DataFeeder(feed_list=[words, target], place=fluid.CPUPlace())
        for step in range(40):
            batch = [(s, [w % 3 for w in s]) for s, _ in sentences(step % 4)]
            found = exe.run(feed=feeder.feed(batch), fetch_list=[loss, path, right], return_numpy=False)
        tags = [tag for _, own in batch for tag in own]
        assert np.array(found[1]).ravel().tolist() == tags and np.array(found[2]).all()
        assert found[1].recursive_sequence_lengths() == [[len(own) for _, own in batch]]
        (transition,) = exe.run(feed=feeder.feed(batch), fetch_list=["crfw"])
        assert transition.shape == (5, 3)

    def test_gru(self):
        words = layers.data("words", shape=[1], dtype="int64", lod_level=1)
        label = layers.data("label", shape=[1], dtype="int64")
        emb = layers.embedding(words, size=[10, 8])
        gru = layers.dynamic_gru(layers.fc(emb, size=24), size=8, is_reverse=True)
        prediction = layers.fc(layers.sequence_first_step(gru), size=2, act="softmax")
        loss = layers.mean(layers.cross_entropy(prediction, label))
        losses = train(loss, words, label, fluid.optimizer.Adam(0.05))
        assert losses[-1] < losses[0] / 2


class TestFunctions:
    def fetched(self, made, **feed):
        return run(made if isinstance(made, (list, tuple)) else [made], feed)

    def test_lengths_go_on(self):
        x = data()
        found = self.fetched([layers.relu(x - 3.0), layers.fc(x, 4), layers.concat([x, x], axis=1), layers.mean(x)], x=lod(ROWS, [2, 3]))
        for value in found[:3]:
            assert value.recursive_sequence_lengths() == [[2, 3]]
        assert found[3].recursive_sequence_lengths() == [] and np.array(found[3]).tolist() == [4.5]
        assert np.array(found[2]).shape == (5, 4)

    def test_pools_and_shares(self):
        x = data(1)
        rows = [[1.0], [3.0], [2.0], [4.0], [6.0], [5.0], [1.0]]
        kinds = ["average", "sum", "sqrt", "max", "last", "first"]
        found = self.fetched([layers.sequence_pool(x, kind) for kind in kinds], x=lod(rows, [2, 3, 2, 0]))
        expected = [
            [2, 4, 3, 0], [4, 12, 6, 0], [4 / 2**0.5, 12 / 3**0.5, 6 / 2**0.5, 0], [3, 6, 5, 0], [3, 6, 1, 0], [1, 2, 5, 0],
        ]  # fmt: skip
        for value, own in zip(found, expected):
            np.testing.assert_allclose(np.array(value)[:, 0], own, rtol=1e-6)
        (shares,) = self.fetched(layers.sequence_softmax(x), x=lod(rows, [2, 3, 2, 0]))
        assert np.array(shares)[:2].sum() == pytest.approx(1)

    def test_levels(self):
        x = layers.data("x", shape=[1], dtype="float32", lod_level=2)
        rows = fluid.create_lod_tensor(np.arange(7.0, dtype="f4").reshape(7, 1), [[2, 0, 3], [1, 2, 1, 0, 3]], None)
        (pooled,) = self.fetched(layers.sequence_pool(x, "sum"), x=rows)
        assert np.array(pooled).ravel().tolist() == [0, 3, 3, 0, 15]
        assert pooled.recursive_sequence_lengths() == [[2, 0, 3]]

    def test_expand(self):
        x, y = layers.data("x", shape=[1], dtype="float32"), data(1, "y")
        dense, also = layers.sequence_expand(x, y), layers.sequence_expand_as(x, y)
        feed = {"x": np.array([[1.0], [2.0]], "f4"), "y": lod(np.zeros((5, 1)), [2, 3])}
        for value in self.fetched([dense, also], **feed):
            assert np.array(value).ravel().tolist() == [1, 1, 2, 2, 2]

    def test_expand_of_sequences(self):
        x, y = data(1), layers.data("y", shape=[1], dtype="float32", lod_level=2)
        found = layers.sequence_expand(x, y, ref_level=0)
        feed = {
            "x": lod([[1.0], [2.0], [3.0], [4.0]], [2, 2]),
            "y": fluid.create_lod_tensor(np.zeros((8, 1), "f4"), [[2, 2], [3, 3, 1, 1]], None),
        }
        (value,) = self.fetched(found, **feed)
        assert np.array(value).ravel().tolist() == [1, 2, 1, 2, 3, 4, 3, 4]
        assert value.recursive_sequence_lengths() == [[2, 2, 2, 2]]

    def test_pad_slice_concat_reverse(self):
        x = data()
        pad = layers.fill_constant([1], "float32", 7.0)
        padded, lengths = layers.sequence_pad(x, pad)
        again = layers.sequence_unpad(padded, lengths)
        offset, size = layers.data("offset", shape=[1], dtype="int64"), layers.data("size", shape=[1], dtype="int64")
        part = layers.sequence_slice(x, offset, size)
        both = layers.sequence_concat([x, layers.sequence_reverse(x)])
        feed = {"x": lod(ROWS, [2, 3]), "offset": np.array([[1], [0]]), "size": np.array([[1], [2]])}
        found = self.fetched([padded, lengths, again, part, both], **feed)
        assert np.array(found[0]).shape == (2, 3, 2) and np.array(found[0])[0, 2].tolist() == [7, 7]
        assert np.array(found[1]).ravel().tolist() == [2, 3]
        assert (np.array(found[2]) == ROWS).all() and found[2].recursive_sequence_lengths() == [[2, 3]]
        assert (np.array(found[3]) == ROWS[[1, 2, 3]]).all() and found[3].recursive_sequence_lengths() == [[1, 2]]
        assert (np.array(found[4]) == ROWS[[0, 1, 1, 0, 2, 3, 4, 4, 3, 2]]).all()

    def test_numbers(self):
        x = layers.data("x", shape=[1], dtype="int64", lod_level=1)
        windows = layers.sequence_enumerate(x, win_size=2, pad_value=0)
        mask = layers.sequence_mask(layers.data("n", shape=[], dtype="int64"), maxlen=4, dtype="float32")
        reset = layers.lod_reset(x, target_lod=[0, 1, 5])
        feed = {"x": lod([[1], [2], [3], [4], [5]], [3, 2], "int64"), "n": np.array([1, 3])}
        found = self.fetched([windows, mask, reset], **feed)
        assert np.array(found[0]).tolist() == [[1, 2], [2, 3], [3, 0], [4, 5], [5, 0]]
        assert np.array(found[1]).tolist() == [[1, 0, 0, 0], [1, 1, 1, 0]]
        assert found[2].recursive_sequence_lengths() == [[1, 4]]

    def test_classification(self):
        logits, labels = data(3, "logits"), layers.data("labels", shape=[1], dtype="int64", lod_level=1)
        loss = layers.warpctc(logits, labels)
        decoded = layers.ctc_greedy_decoder(logits, blank=0)
        distance, count = layers.edit_distance(decoded, labels, normalized=False)
        feed = {
            "logits": lod(5 * np.eye(3)[[0, 1, 1, 2, 2, 0]], [4, 2]), "labels": lod([[1], [2], [2]], [2, 1], "int64"),
        }  # fmt: skip
        found = self.fetched([loss, decoded, distance, count], **feed)
        assert np.array(found[0]).shape == (2, 1) and (np.array(found[0]) < 0.5).all()
        assert np.array(found[1]).ravel().tolist() == [1, 2, 2] and found[1].recursive_sequence_lengths() == [[2, 1]]
        assert np.array(found[2]).ravel().tolist() == [0, 0] and np.array(found[3]).tolist() == [2]

    def test_losses_of_many_classes(self):
        x, y = layers.data("x", shape=[4], dtype="float32"), layers.data("y", shape=[1], dtype="int64")
        noise = layers.nce(x, y, num_total_classes=20, num_neg_samples=5)
        tree = layers.hsigmoid(x, y, num_classes=6)
        fluid.optimizer.SGD(0.1).minimize(layers.mean(noise) + layers.mean(tree))
        feed = {"x": np.ones((3, 4), "f4"), "y": np.array([[1], [5], [0]])}
        found = self.fetched([noise, tree], **feed)
        assert [np.array(value).shape for value in found] == [(3, 1), (3, 1)]

    def test_refused(self):
        x, y = data(), layers.data("y", shape=[2], dtype="float32")
        with pytest.raises(TypeError, match="has no lengths"):
            layers.sequence_pool(y, "sum")
        out = layers.sequence_pool(x, "sum")
        with pytest.raises(ValueError, match="is fed ndarray"):
            run([out], {"x": ROWS})
        with pytest.raises(RuntimeError, match="return_numpy=False"):
            fluid.Executor().run(feed={"x": lod(ROWS, [2, 3]), "y": ROWS[:2]}, fetch_list=[x])
        (found,) = run([out], {"x": fl.Ragged.from_lengths(fl.tensor(ROWS), [2, 3]), "y": ROWS[:2]})
        assert np.array(found).tolist() == [ROWS[:2].sum(0).tolist(), ROWS[2:].sum(0).tolist()]
