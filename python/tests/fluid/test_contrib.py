"""Fluid's `contrib`: recurrent networks of basic functions, and some others; clips and decoders."""

import numpy as np
import pytest
from layer_checks import numbers

import fluvial.fluid as fluid

layers = fluid.layers


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(x, h, w):
    gates = sigmoid(np.concatenate([x, h], 1).sum(1, keepdims=True) * w * np.ones((1, 2 * h.shape[1])))
    r, u = np.split(gates, 2, 1)
    return u * h + (1 - u) * np.tanh(np.concatenate([x, r * h], 1).sum(1, keepdims=True) * w * np.ones((1, h.shape[1])))


def lstm(x, h, c, w):
    i, j, f, o = np.split(np.concatenate([x, h], 1).sum(1, keepdims=True) * w * np.ones((1, 4 * h.shape[1])), 4, 1)
    c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    return np.tanh(c) * sigmoid(o), c


X, INIT = numbers(2, 4, 3), numbers(4, 2, 5, seed=1)
LENGTHS = np.array([4, 2])


def wanted(kind, inits):
    """Two layers, both ways, with weights that are all 0.2."""
    outs, ends = [], {}
    for way in range(2):
        rows = [X[:, t] for t in (range(4) if way == 0 else reversed(range(4)))]
        going = [(t < LENGTHS)[:, None] for t in (range(4) if way == 0 else reversed(range(4)))]
        for layer in range(2):
            states = [init[2 * layer + way] for init in inits]
            new_rows = []
            for row, go in zip(rows, going):
                new = [gru(row, *states, 0.2)] if kind == "gru" else list(lstm(row, *states, 0.2))
                states = [np.where(go, a, b) for a, b in zip(new, states)]
                # Behind the end of a sequence, a step gives the state that stays.
                new_rows.append(states[0])
            rows, ends[layer, way] = new_rows, states
        outs.append(np.stack(rows if way == 0 else rows[::-1], 1))
    order = [ends[layer, way] for layer in range(2) for way in range(2)]
    return [np.concatenate(outs, 2), *(np.stack(kinds) for kinds in zip(*order))]


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("given", [False, True])
def test_networks(kind, given):
    attr = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.2))
    n_states = 1 if kind == "gru" else 2
    inits = [INIT * (k + 1) if given else INIT * 0 for k in range(n_states)]

    def build(x, lengths, *states):
        make = fluid.contrib.layers.basic_gru if kind == "gru" else fluid.contrib.basic_lstm
        options = {"num_layers": 2, "bidirectional": True, "sequence_length": lengths, "param_attr": attr}
        return make(x, *(states if given else [None] * n_states), 5, **options)

    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup), fluid.unique_name.guard():
        x, lengths = fluid.data("x", [None, None, 3]), fluid.data("n", [None], "int64")
        states = [fluid.data(f"s{k}", [4, None, 5]) for k in range(n_states)]
        fetched = build(x, lengths, *states)
        names = sorted(p.name for p in main.all_parameters() if p.name.startswith("w"))
        exe = fluid.Executor()
        exe.run(startup)
        feed = {"x": X, "n": LENGTHS, **{f"s{k}": init for k, init in enumerate(inits)}}
        found = exe.run(main, feed=feed, fetch_list=list(fetched))
    assert names == sorted(f"w_{way}_w_{i}{part}" for way in ("fw", "bw") for i in range(2)
                           for part in (("_gate", "_candidate") if kind == "gru" else ("",)))  # fmt: skip
    for value, expected in zip(found, wanted(kind, inits)):
        np.testing.assert_allclose(value, expected, rtol=2e-4, atol=1e-5)
    with fluid.dygraph.guard():
        now = build(*(fluid.dygraph.to_variable(v) for v in (X, LENGTHS, *(init.reshape(-1, 5) for init in inits))))
        for value, expected in zip(now, found):
            np.testing.assert_allclose(value.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_units_share_parameters_between_calls():
    with fluid.dygraph.guard():
        unit = fluid.contrib.BasicLSTMUnit("unit", 4)
        x, h, c = (fluid.dygraph.to_variable(numbers(2, n)) for n in (3, 4, 4))
        for _ in range(2):
            h, c = unit(x, h, c)
        layers.reduce_sum(h).backward()
        assert [p.shape for p in unit.parameters()] == [[7, 16], [16]]
        assert all(np.abs(p.gradient()).max() > 0 for p in unit.parameters())


def test_functions():
    x, y = numbers(3, 4), numbers(3, 4, seed=1)
    with fluid.dygraph.guard():
        a, b = fluid.dygraph.to_variable(x), fluid.dygraph.to_variable(y)
        own = fluid.contrib.layers
        relu = lambda v: np.maximum(v, 0)  # noqa: E731
        np.testing.assert_allclose(own.fused_elemwise_activation(a, b, ["elementwise_add", "relu"]).numpy(), x + relu(y))
        np.testing.assert_allclose(own.fused_elemwise_activation(a, b, "relu,elementwise_mul").numpy(), relu(x * y))
        scaled = own.fused_elemwise_activation(a, b, ["scale", "elementwise_add"], scale=0.5)
        np.testing.assert_allclose(scaled.numpy(), (x + y) * 0.5, rtol=1e-6)
        with pytest.raises(ValueError, match="are not two such functions"):
            own.fused_elemwise_activation(a, b, ["relu", "tanh"])
        np.testing.assert_array_equal(own.partial_concat([a, b], 1, 2).numpy(), np.concatenate([x[:, 1:3], y[:, 1:3]], 1))
        np.testing.assert_allclose(own.partial_sum([a, b], -3).numpy(), x[:, 1:] + y[:, 1:])
        shuffled = own.shuffle_batch(a, seed=3).numpy()
        assert sorted(map(tuple, shuffled)) == sorted(map(tuple, x))
        np.testing.assert_array_equal(own.shuffle_batch(a, seed=3).numpy(), shuffled)


def test_what_is_not_here_says_so():
    for name in ("Compressor", "HDFSClient", "slim", "Trainer"):
        with pytest.raises(AttributeError, match=f"`{name}`: Fluid has it, and this front does not\n  remedy: "):
            getattr(fluid.contrib, name)
    with pytest.raises(AttributeError, match="`rank_attention`: Fluid has it"):
        fluid.contrib.layers.rank_attention  # noqa: B018


class TestDecoders:
    WORDS, END = 5, 1
    OUTER = numbers(4, 5, seed=5) * 3

    def cell(self):
        class Cell(layers.RNNCell):
            def call(self, inputs, states):
                new = layers.tanh(inputs + states * 0.5)
                return new, new

        return Cell()

    def outputs(self, x):
        return layers.matmul(x, layers.assign(self.OUTER))

    def both(self, build, arrays):
        """What a program gives, and what is computed at once."""
        main, startup = fluid.Program(), fluid.Program()
        with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup), fluid.unique_name.guard():
            inputs = [fluid.data(name, [None] * a.ndim if a.dtype.kind == "i" else [None] * (a.ndim - 1) + [a.shape[-1]], a.dtype)
                      for name, a in arrays.items()]  # fmt: skip
            fetched = list(build(*inputs))
            exe = fluid.Executor()
            exe.run(startup)
            found = exe.run(main, feed=arrays, fetch_list=fetched)
        with fluid.dygraph.guard():
            now = [v.numpy() for v in build(*map(fluid.dygraph.to_variable, arrays.values()))]
        for one, other in zip(found, now):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        return found

    def test_given_inputs(self):
        steps, h, lengths = numbers(2, 3, 4), numbers(2, 4, seed=2), np.array([3, 2])

        def build(x, h, n):
            decoder = layers.BasicDecoder(self.cell(), layers.TrainingHelper(x, n), self.outputs)
            found, last, counts = layers.dynamic_decode(decoder, h, return_length=True)
            return found.cell_outputs, found.sample_ids, last, counts

        outs, ids, last, counts = self.both(build, {"x": steps, "h": h, "n": lengths})
        for t in range(3):
            h = np.tanh(steps[:, t] + h * 0.5)
            np.testing.assert_allclose(outs[:, t], h @ self.OUTER, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(ids, outs.argmax(-1))
        np.testing.assert_allclose(last, h, rtol=1e-4)
        assert counts.tolist() == [3, 2]

    def test_the_most_probable_word(self):
        table, h, starts = numbers(5, 4, seed=3), numbers(2, 4, seed=2), np.array([0, 2])

        def build(h, s):
            embed = lambda ids: layers.gather(layers.assign(table), ids)  # noqa: E731
            decoder = layers.BasicDecoder(self.cell(), layers.GreedyEmbeddingHelper(embed, s, self.END), self.outputs)
            found, _ = layers.dynamic_decode(decoder, h, max_step_num=5)
            return (found.sample_ids,)

        (ids,) = self.both(build, {"h": h, "s": starts})
        words = starts
        for t in range(ids.shape[1]):
            h = np.tanh(table[words] + h * 0.5)
            words = (h @ self.OUTER).argmax(-1)
            assert ids[:, t].tolist() == words.tolist()

    def test_drawn_words(self):
        table = numbers(5, 4, seed=3)
        with fluid.dygraph.guard():
            embed = lambda ids: layers.gather(fluid.dygraph.to_variable(table), ids)  # noqa: E731
            start = fluid.dygraph.to_variable(np.zeros(200, "int64"))
            helper = layers.SampleEmbeddingHelper(embed, start, self.END, softmax_temperature=100.0, seed=1)
            decoder = layers.BasicDecoder(self.cell(), helper, self.outputs)
            found, _ = layers.dynamic_decode(decoder, fluid.dygraph.to_variable(numbers(200, 4)), max_step_num=0)
            counts = np.bincount(found.sample_ids.numpy().ravel(), minlength=5)
        # At a high temperature all words are about as probable.
        assert counts.sum() == 200 and counts.min() > 15


def test_clips_choose_parameters(fluid):
    x = numbers(4, 3)
    with fluid.dygraph.guard():
        found = {}
        for kind, options in (("GradientClipByValue", {"max": 1e-3}), ("GradientClipByNorm", {"clip_norm": 1e-3}),
                              ("GradientClipByGlobalNorm", {"clip_norm": 1e-3})):  # fmt: skip
            layer = fluid.dygraph.Linear(3, 2)
            before = [p.numpy() for p in layer.parameters()]
            clip = getattr(fluid.clip, kind)(**options, need_clip=lambda p: p.name.endswith("w_0"))
            sgd = fluid.optimizer.SGD(1.0, parameter_list=layer.parameters(), grad_clip=clip)
            layers.reduce_sum(layer(fluid.dygraph.to_variable(x))).backward()
            sgd.minimize(layers.reduce_sum(layer(fluid.dygraph.to_variable(x))))
            found[kind] = [np.abs(p.numpy() - old).max() for p, old in zip(layer.parameters(), before)]
        for kind, (weight, bias) in found.items():
            assert weight <= 1.01e-3 and bias == pytest.approx(4.0), kind
        with pytest.raises(TypeError, match="`need_clip` is 3"):
            fluid.clip.GradientClipByNorm(1.0, need_clip=3)


def test_clips_of_older_programs(fluid):
    clip = fluid.dygraph_grad_clip
    assert (clip.GradClipByValue(2.0).min, clip.GradClipByValue(-1.0, 3.0).max) == (-2.0, 3.0)
    with fluid.dygraph.guard():
        w = layers.create_parameter([2], "float32", default_initializer=fluid.initializer.Constant(1.0))
        layers.reduce_sum(w * 30.0).backward()
        fluid.optimizer.SGD(1.0, parameter_list=[w]).minimize(None, grad_clip=clip.GradClipByGlobalNorm(1.0))
        np.testing.assert_allclose(w.numpy(), 1 - np.sqrt(0.5), rtol=1e-5)


def test_clips_are_called(fluid):
    with fluid.dygraph.guard():
        w = layers.create_parameter([2], "float32", default_initializer=fluid.initializer.Constant(1.0))
        gradient = fluid.dygraph.to_variable(np.array([3.0, 4.0], "float32"))
        clip = fluid.clip.GradientClipByGlobalNorm(1.0)
        ((_, cut),) = clip([(w, gradient), (w, None)])
        np.testing.assert_allclose(cut.numpy(), [0.6, 0.8], rtol=1e-5)
        assert clip([(w, None)]) == []


def test_modules_have_what_others_define(fluid):
    from fluvial.fluid.layers.control_flow import StaticRNN, less_than

    assert StaticRNN is fluid.layers.StaticRNN and less_than is fluid.layers.less_than
    assert fluid.layers.learning_rate_scheduler.noam_decay is fluid.layers.noam_decay
    with pytest.raises(AttributeError, match="has no attribute `nonsense`"):
        fluid.layers.nn.nonsense  # noqa: B018


def test_lists_of_layers_lose_some(fluid):
    with fluid.dygraph.guard():
        items = [fluid.dygraph.Linear(2, n) for n in (1, 2, 3)]
        found = fluid.dygraph.LayerList(items)
        del found[1]
        assert list(found) == [items[0], items[2]] and found[1] is items[2] and len(found.parameters()) == 4


def test_tensors_of_variables_are_set(fluid):
    with fluid.dygraph.guard():
        layer = fluid.dygraph.Linear(2, 2)
        layer.weight.value().get_tensor().set(np.ones((2, 2), "float32"), fluid.CPUPlace())
        assert layer.weight.numpy().tolist() == [[1, 1], [1, 1]]
        adam = fluid.optimizer.Adam(0.1, parameter_list=layer.parameters())
        layers.reduce_sum(layer(fluid.dygraph.to_variable(np.ones((1, 2), "float32")))).backward()
        adam.minimize(None)
        kept = adam.state_dict()
        moments = [name for name, value in kept.items() if value.numpy().shape == (2, 2)]
        assert moments and all(isinstance(kept[name], fluid.framework.Variable) for name in moments)
        kept[moments[0]].value().get_tensor().set(np.full((2, 2), 7.0, "float32"), fluid.CPUPlace())
        assert adam.state_dict()[moments[0]].numpy().tolist() == [[7, 7], [7, 7]]
        with pytest.raises(ValueError, match="has the sizes"):
            layer.weight.value().get_tensor().set(np.ones(3, "float32"))


def test_two_optimizers_of_one_name(fluid):
    x = fluid.layers.data("x", [2])
    for name in ("a", "b"):
        with fluid.unique_name.guard():
            w = layers.create_parameter([2, 1], "float32", name, default_initializer=fluid.initializer.Constant(1.0))
            fluid.optimizer.Adam(0.1).minimize(layers.mean(layers.matmul(x, w)), parameter_list=[w])
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for _ in range(3):
        exe.run(feed={"x": np.ones((1, 2), "float32")})
    a, b = (np.array(fluid.global_scope().find_var(name).get_tensor()) for name in "ab")
    np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(a, 0.7, rtol=1e-4)


def test_two_programs_with_optimizers_of_one_name(fluid):
    mains, startup = [fluid.Program(), fluid.Program()], fluid.Program()
    for main, name, steps in zip(mains, "ab", (1, 4)):
        with fluid.program_guard(main, startup), fluid.unique_name.guard():
            w = layers.create_parameter([2, 1], "float32", name, default_initializer=fluid.initializer.Constant(1.0))
            fluid.optimizer.Adam(0.1).minimize(layers.mean(layers.matmul(layers.data("x", [2]), w)))
    exe = fluid.Executor()
    exe.run(startup)
    for main, steps in zip(mains, (1, 4)):
        for _ in range(steps):
            exe.run(main, feed={"x": np.ones((1, 2), "float32")})
    # Each counts its own steps.
    a, b = (np.array(fluid.global_scope().find_var(name).get_tensor()) for name in "ab")
    np.testing.assert_allclose(a, 0.9, rtol=1e-4)
    np.testing.assert_allclose(b, 0.6, rtol=1e-4)
