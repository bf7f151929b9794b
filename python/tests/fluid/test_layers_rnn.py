"""Cells as objects, and networks of them."""

import numpy as np
import pytest
from layer_checks import numbers

import fluvial.fluid as fluid

layers = fluid.layers


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def constant(value):
    return fluid.ParamAttr(initializer=fluid.initializer.Constant(value))


def gru(x, h, w):
    """A step with weights that are all one number."""
    gates = sigmoid(np.concatenate([x, h], 1).sum(1, keepdims=True) * w * np.ones((1, 2 * h.shape[1])))
    r, u = np.split(gates, 2, 1)
    c = np.tanh(np.concatenate([x, r * h], 1).sum(1, keepdims=True) * w * np.ones((1, h.shape[1])))
    return u * h + (1 - u) * c


def lstm(x, h, c, w):
    i, j, f, o = np.split(np.concatenate([x, h], 1).sum(1, keepdims=True) * w * np.ones((1, 4 * h.shape[1])), 4, 1)
    c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    return np.tanh(c) * sigmoid(o), c


X = numbers(2, 4, 3)
LENGTHS = np.array([4, 2])


def wanted(kind, lengths=None, reverse=False):
    h, c, outs = np.zeros((2, 5)), np.zeros((2, 5)), [None] * 4
    for t in reversed(range(4)) if reverse else range(4):
        old = h, c
        if kind == "gru":
            h = gru(X[:, t], h, 0.2)
        else:
            h, c = lstm(X[:, t], h, c, 0.2)
        outs[t] = h
        if lengths is not None:
            going = (t < lengths)[:, None]
            h, c = np.where(going, h, old[0]), np.where(going, c, old[1])
    return [np.stack(outs, 1), h] + ([c] if kind == "lstm" else [])


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("with_lengths", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_networks_of_cells(kind, with_lengths, reverse):
    def build(x, lengths):
        cell = (layers.GRUCell if kind == "gru" else layers.LSTMCell)(5, param_attr=constant(0.2))
        outputs, states = layers.rnn(cell, x, sequence_length=lengths if with_lengths else None, is_reverse=reverse)
        return [outputs, *(states if isinstance(states, list) else [states])]

    expected = wanted(kind, LENGTHS if with_lengths else None, reverse)
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup), fluid.unique_name.guard():
        fetched = build(layers.data("x", [4, 3]), layers.data("n", [-1], append_batch_size=False, dtype="int64"))
        loss = layers.mean(fetched[0])
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        found = exe.run(main, feed={"x": X, "n": LENGTHS}, fetch_list=fetched)
        again = exe.run(main, feed={"x": X, "n": LENGTHS}, fetch_list=[loss])[0]
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert again.item() < expected[0].mean()
    with fluid.dygraph.guard():
        now = build(fluid.dygraph.to_variable(X), fluid.dygraph.to_variable(LENGTHS))
        for a, b in zip(now, expected):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-5)


def test_a_cell_has_its_parameters_once():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = layers.data("x", [3])
        cell = layers.GRUCell(5, param_attr=fluid.ParamAttr(name="g"), bias_attr=False)
        state = cell.get_initial_states(x)
        _, state = cell(x, state)
        cell(x, state)
    assert [p.name for p in main.all_parameters()] == ["g_gate_w", "g_candidate_w"]
    assert [tuple(p.shape) for p in main.all_parameters()] == [(8, 10), (8, 5)]


def test_cells_of_ones_own():
    class Adding(layers.RNNCell):
        @property
        def state_shape(self):
            return [3]

        def call(self, inputs, states, by=1.0):
            new = states + inputs * by
            return {"sum": new}, new

    with fluid.dygraph.guard():
        outputs, last = layers.rnn(Adding(), fluid.dygraph.to_variable(X), by=2.0)
        np.testing.assert_allclose(outputs["sum"].numpy(), 2 * X.cumsum(1), rtol=1e-5)
        np.testing.assert_allclose(last.numpy(), 2 * X.sum(1), rtol=1e-5)
        with pytest.raises(NotImplementedError, match="has no `call`"):
            layers.RNNCell()(None, None)


WORDS, WIDTH, BEAMS, END = 5, 4, 3, 1
TABLE, INNER, OUTER = numbers(WORDS, WIDTH, seed=11), numbers(WIDTH, WIDTH, seed=12), numbers(WIDTH, WORDS, seed=13)


def searched(state, last):
    """A beam search over one sequence, beam by beam: numbers and scores, the best first."""
    beams = [([], 0.0, False, state)]
    for _ in range(last + 1):
        grown = []
        for ids, score, ended, h in beams:
            if ended:
                grown.append((ids + [END], score, True, h))
                continue
            x = TABLE[ids[-1] if ids else 0].astype(np.float64)
            new = np.tanh(x + h @ INNER)
            logits = new @ OUTER
            logs = logits - np.log(np.exp(logits).sum())
            grown += [(ids + [word], score + logs[word], word == END, new) for word in range(WORDS)]
        beams = sorted(grown, key=lambda beam: -beam[1])[:BEAMS]
        if all(ended for _, _, ended, _ in beams):
            break
    return beams


@pytest.mark.parametrize("last", [0, 6])
def test_beam_search(last):
    class Cell(layers.RNNCell):
        def call(self, inputs, states):
            new = layers.tanh(inputs + layers.matmul(states, layers.assign(INNER)))
            return new, new

    def build(h):
        decoder = layers.BeamSearchDecoder(
            Cell(), 0, END, BEAMS,
            embedding_fn=lambda ids: layers.reshape(
                layers.gather(layers.assign(TABLE), layers.reshape(ids, [-1])), [-1, BEAMS, WIDTH]
            ),
            output_fn=lambda x: layers.matmul(x, layers.assign(OUTER)),
        )  # fmt: skip
        ids, states, lengths = layers.dynamic_decode(decoder, h, max_step_num=last, return_length=True)
        return ids, states.log_probs, lengths

    h = numbers(2, WIDTH, seed=14)
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup), fluid.unique_name.guard():
        fetched = build(layers.data("h", [WIDTH]))
        found = fluid.Executor(fluid.CPUPlace()).run(main, feed={"h": h}, fetch_list=list(fetched))
    with fluid.dygraph.guard():
        now = [x.numpy() for x in build(fluid.dygraph.to_variable(h))]
    for ids, scores, lengths in (found, now):
        for row in range(2):
            expected = searched(h[row].astype(np.float64), last)
            for i, (words, score, _, _) in enumerate(expected):
                assert ids[row, :, i].tolist()[: len(words)] == words
                assert scores[row, i] == pytest.approx(score, rel=1e-4)
        assert lengths.shape == (2, BEAMS) and lengths.max() <= last + 1


def test_decoders_of_ones_own():
    class Counting(layers.Decoder):
        def initialize(self, inits):
            return inits, inits, layers.cast(inits * 0.0, "bool")

        def step(self, time, inputs, states):
            new = states + 1.0
            return {"count": new}, new, inputs, layers.greater_than(new, layers.fill_constant([1], "float32", 3.5))

    with fluid.dygraph.guard():
        outputs, last = layers.dynamic_decode(Counting(), fluid.dygraph.to_variable(np.array([0.0, 2.0], "float32")), impute_finished=True)
        assert outputs["count"].numpy().tolist() == [[1, 2, 3, 4], [3, 4, 5, 5]] and last.numpy().tolist() == [4, 4]
