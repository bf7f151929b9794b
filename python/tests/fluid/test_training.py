"""Optimizers, rates and layers of Fluid's front, as programs and at once: the same numbers."""

import numpy as np
import pytest

RNG = np.random.RandomState(3)
W0 = RNG.randn(3, 2).astype("float32")
XS = RNG.randn(5, 3).astype("float32")


def steps(make, count=4):
    """Values of a parameter after steps of an optimizer, in float64: `w` with the gradient of `mean((x w)²)`."""
    w, state = W0.astype("float64"), {}
    for t in range(1, count + 1):
        gradient = 2 * XS.T.astype("float64") @ (XS @ w) / (5 * 2)
        w = make(w, gradient, state, t)
    return w


def adam(w, g, s, t, lr=0.1, b1=0.9, b2=0.999, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    return w - lr * np.sqrt(1 - b2**t) / (1 - b1**t) * s["m"] / (np.sqrt(s["v"]) + eps)


def adamax(w, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["n"] = np.maximum(np.abs(g), 0.999 * s.get("n", 0) + 1e-8)
    return w - 0.1 / (1 - 0.9**t) * s["m"] / s["n"]


def momentum(w, g, s, t, nesterov=False):
    s["v"] = 0.9 * s.get("v", 0) + g
    return w - 0.1 * ((g + 0.9 * s["v"]) if nesterov else s["v"])


def adagrad(w, g, s, t):
    s["s"] = s.get("s", 0.5) + g * g
    return w - 0.1 * g / (np.sqrt(s["s"]) + 1e-6)


def decayed(w, g, s, t):
    s["s"] = 0.95 * s.get("s", 0) + 0.05 * g * g
    return w - 0.1 * g / (np.sqrt(s["s"]) + 1e-6)


def adadelta(w, g, s, t):
    s["g"] = 0.95 * s.get("g", 0) + 0.05 * g * g
    change = np.sqrt((s.get("x", 0) + 1e-6) / (s["g"] + 1e-6)) * g
    s["x"] = 0.95 * s.get("x", 0) + 0.05 * change**2
    return w - change


def rmsprop(w, g, s, t):
    s["s"] = 0.95 * s.get("s", 0) + 0.05 * g * g
    s["g"] = 0.95 * s.get("g", 0) + 0.05 * g
    s["v"] = 0.5 * s.get("v", 0) + 0.1 * g / np.sqrt(s["s"] - s["g"] ** 2 + 1e-6)
    return w - s["v"]


def ftrl(w, g, s, t):
    old = s.get("s", 0) + np.zeros_like(g)
    new = old + g * g
    s["l"] = s.get("l", 0) + g - (np.sqrt(new) - np.sqrt(old)) / 0.1 * w
    s["s"] = new
    found = (0.1 * np.sign(s["l"]) - s["l"]) / (np.sqrt(new) / 0.1 + 2 * 0.2)
    return np.where(np.abs(s["l"]) > 0.1, found, 0)


def lars(w, g, s, t):
    of_w, of_g = np.linalg.norm(w), np.linalg.norm(g)
    rate = 0.1 * 0.001 * of_w / (of_g + 0.0005 * of_w)
    s["v"] = 0.9 * s.get("v", 0) + rate * (g + 0.0005 * w)
    return w - s["v"]


def lamb(w, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    way = s["m"] / (np.sqrt(s["v"]) + 1e-6) + 0.01 * w
    return w - 0.1 * np.linalg.norm(w) / np.linalg.norm(way) * way


CASES = {
    "SGD": ({}, lambda w, g, s, t: w - 0.1 * g),
    "Momentum": ({"momentum": 0.9}, momentum),
    "MomentumOptimizer": ({"momentum": 0.9, "use_nesterov": True}, lambda *a: momentum(*a, nesterov=True)),
    "Adam": ({}, adam),
    "AdamaxOptimizer": ({}, adamax),
    "Adagrad": ({"initial_accumulator_value": 0.5}, adagrad),
    "DecayedAdagrad": ({}, decayed),
    "Adadelta": ({}, adadelta),
    "RMSPropOptimizer": ({"momentum": 0.5, "centered": True}, rmsprop),
    "Ftrl": ({"l1": 0.1, "l2": 0.2}, ftrl),
    "LarsMomentum": ({"momentum": 0.9}, lars),
    "LambOptimizer": ({}, lamb),
}


def loss_of(fluid, x, w):
    return fluid.layers.mean(fluid.layers.square(fluid.layers.matmul(x, w)))


def program_result(fluid, optimizer, count=4, attr=None):
    x = fluid.layers.data("x", [3])
    init = fluid.initializer.NumpyArrayInitializer(W0)
    w = fluid.layers.create_parameter([3, 2], "float32", name="w", attr=attr, default_initializer=init)
    optimizer().minimize(loss_of(fluid, x, w))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for _ in range(count):
        exe.run(feed={"x": XS})
    return np.array(fluid.global_scope().find_var("w").get_tensor())


@pytest.mark.parametrize("name", CASES)
def test_formulas(fluid, name):
    options, formula = CASES[name]

    def make():
        return getattr(fluid.optimizer, name)(learning_rate=0.1, **options)

    found = program_result(fluid, make)
    np.testing.assert_allclose(found, steps(formula), rtol=2e-5, atol=1e-6)
    with fluid.dygraph.guard():
        init = fluid.initializer.NumpyArrayInitializer(W0)
        w = fluid.layers.create_parameter([3, 2], "float32", name="w", default_initializer=init)
        optimizer = getattr(fluid.optimizer, name)(learning_rate=0.1, parameter_list=[w], **options)
        for _ in range(4):
            loss = loss_of(fluid, fluid.dygraph.to_variable(XS), w)
            loss.backward()
            optimizer.minimize(loss)
            w.clear_gradient()
        assert w.numpy().tobytes() == found.tobytes()


class TestSettings:
    def test_penalty_clip_and_factor(self, fluid):
        def make():
            return fluid.optimizer.SGD(
                0.1, regularization=fluid.regularizer.L2Decay(0.5), grad_clip=fluid.clip.GradientClipByGlobalNorm(0.1)
            )

        found = program_result(fluid, make, 2, attr=fluid.ParamAttr(learning_rate=2.0))

        def formula(w, g, s, t):
            g = g * min(1.0, 0.1 / np.linalg.norm(g))
            return w - 0.2 * (g + 0.5 * w)

        np.testing.assert_allclose(found, steps(formula, 2), rtol=1e-5)

    def test_frozen(self, fluid):
        x = fluid.layers.data("x", [3])
        a = fluid.layers.fc(x, 2, param_attr=fluid.ParamAttr(trainable=False), bias_attr=False)
        loss = fluid.layers.mean(fluid.layers.fc(a, 1, bias_attr=False))
        pairs = fluid.optimizer.SGD(0.1).minimize(loss)[1]
        assert [p.name for p, _ in pairs] == ["fc_1.w_0"]

    def test_stop_gradient(self, fluid):
        x = fluid.layers.data("x", [3])
        h = fluid.layers.fc(x, 2, bias_attr=False)
        h.stop_gradient = True
        loss = fluid.layers.mean(fluid.layers.fc(h, 1, bias_attr=False))
        assert [p.name for p, _ in fluid.backward.append_backward(loss)] == ["fc_1.w_0"]

    def test_nothing_to_train(self, fluid):
        loss = fluid.layers.mean(fluid.layers.data("x", [3]))
        with pytest.raises(ValueError, match="no parameter has a gradient"):
            fluid.optimizer.SGD(0.1).minimize(loss)

    def test_failed_calls_leave_no_parameters(self, fluid):
        x = fluid.layers.data("x", [-1, 3], append_batch_size=False)
        with pytest.raises(ValueError):
            fluid.layers.fc(x, 2, act="no_such_function")
        assert fluid.default_main_program().all_parameters() == []
        fluid.layers.fc(x, 2)
        assert [p.name for p in fluid.default_main_program().all_parameters()] == ["fc_0.w_0", "fc_0.b_0"]

    def test_averages(self, fluid):
        x = fluid.layers.data("x", [3])
        init = fluid.initializer.NumpyArrayInitializer(W0)
        w = fluid.layers.create_parameter([3, 2], "float32", name="w", default_initializer=init)
        fluid.optimizer.SGD(0.1).minimize(loss_of(fluid, x, w))
        ema = fluid.optimizer.ExponentialMovingAverage(0.5)
        ema.update()
        average = fluid.optimizer.ModelAverage(1.0, min_average_window=2, max_average_window=10)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        values = []
        for _ in range(3):
            exe.run(feed={"x": XS})
            values.append(np.array(fluid.global_scope().find_var("w").get_tensor()))

        def now():
            return np.array(fluid.global_scope().find_var("w").get_tensor())

        with ema.apply(exe):
            wanted = (values[0] * 0.125 + values[1] * 0.25 + values[2] * 0.5) / (1 - 0.125)
            np.testing.assert_allclose(now(), wanted, rtol=1e-5)
        with average.apply(exe):
            np.testing.assert_allclose(now(), np.mean(values, axis=0), rtol=1e-5)
        assert (now() == values[-1]).all()

    def test_lookahead(self, fluid):
        found = program_result(fluid, lambda: fluid.optimizer.LookaheadOptimizer(fluid.optimizer.SGD(0.1), 0.5, 2), 2)
        fast = steps(lambda w, g, s, t: w - 0.1 * g, 2)
        np.testing.assert_allclose(found, W0 + 0.5 * (fast - W0), rtol=1e-5)


RATES = {
    "exponential_decay": ((0.1, 2, 0.5, True), [0.1, 0.1, 0.05, 0.05]),
    "natural_exp_decay": ((0.1, 2, 0.5), [0.1 * np.exp(-0.25 * i) for i in range(4)]),
    "inverse_time_decay": ((0.1, 2, 0.5), [0.1 / (1 + 0.25 * i) for i in range(4)]),
    "polynomial_decay": ((0.1, 3, 0.01), [0.1, 0.07, 0.04, 0.01]),
    "piecewise_decay": (([1, 3], [1.0, 0.5, 0.1]), [1.0, 0.5, 0.5, 0.1]),
    "cosine_decay": ((0.1, 1, 4), [0.05 * (np.cos(np.pi * i / 4) + 1) for i in range(4)]),
    "noam_decay": ((16, 2), [0.25 * min(i**-0.5, i * 2**-1.5) for i in range(1, 5)]),
    "linear_lr_warmup": ((0.5, 2, 0.1, 0.3), [0.1, 0.2, 0.5, 0.5]),
}


@pytest.mark.parametrize("name", RATES)
def test_rates(fluid, name):
    args, wanted = RATES[name]
    rate = getattr(fluid.layers, name)(*args)
    x = fluid.layers.data("x", [3])
    w = fluid.layers.create_parameter([3, 2], "float32", name="w")
    fluid.optimizer.SGD(rate).minimize(loss_of(fluid, x, w))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    found = [exe.run(feed={"x": XS}, fetch_list=[rate])[0].item() for _ in range(4)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    with fluid.dygraph.guard():
        decay = getattr(fluid.layers, name)(*args)
        if name == "linear_lr_warmup":
            decay.step_num = 0
        np.testing.assert_allclose([decay().numpy()[0] for _ in range(4)], wanted, rtol=1e-6)


class TestLayers:
    def both(self, fluid, make, x, steps=2):
        """Parameters after some steps at once, and as a program."""
        with fluid.dygraph.guard():
            fluid.default_startup_program().random_seed = 5
            layer = make()
            optimizer = fluid.optimizer.Momentum(0.1, 0.9)
            for i in range(steps):
                loss = fluid.layers.mean(layer(fluid.dygraph.to_variable(x)))
                if i == 0:
                    first = {p.name: p.numpy() for p in layer.parameters()}
                loss.backward()
                optimizer.minimize(loss)
                layer.clear_gradients()
            at_once = {p.name: p.numpy() for p in layer.parameters()}
        layer = make()
        data = fluid.layers.data("x", list(x.shape[1:]), dtype=str(x.dtype))
        fluid.optimizer.Momentum(0.1, 0.9).minimize(fluid.layers.mean(layer(data)))
        fluid.default_startup_program().random_seed = 5
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        names = [p.name for p in layer.parameters()]
        assert sorted(names) == sorted(at_once)
        for name in names:
            found = np.array(fluid.global_scope().find_var(name).get_tensor())
            assert found.tobytes() == first[name].tobytes(), name
        for _ in range(steps):
            exe.run(feed={"x": x})
        for name in names:
            found = np.array(fluid.global_scope().find_var(name).get_tensor())
            assert found.tobytes() == at_once[name].tobytes(), name

    IMAGES = RNG.randn(2, 3, 6, 6).astype("float32")

    @pytest.mark.parametrize(
        "make",
        [
            lambda d: d.Conv2D(3, 4, 3, act="relu"),
            lambda d: d.Conv2D("scope", 4, 3, 2, 1, act="tanh"),
            lambda d: d.BatchNorm(3),
            lambda d: d.BatchNorm("scope", 3, act="relu"),
            lambda d: d.GroupNorm(channels=3, groups=3),
            lambda d: d.LayerNorm([3, 6, 6]),
            lambda d: d.FC("scope", 5, act="sigmoid"),
            lambda d: d.PRelu("all"),
            lambda d: d.Conv2DTranspose(3, 2, 2),
            lambda d: d.Sequential(d.Conv2D(3, 2, 3), d.Pool2D(2, "max", 2), d.FC("fc", 3)),
        ],
    )
    def test_images(self, fluid, make):
        self.both(fluid, lambda: make(fluid.dygraph), self.IMAGES)

    def test_linear_and_embedding(self, fluid):
        self.both(fluid, lambda: fluid.dygraph.Linear(3, 2, act="relu"), XS)

    def test_table(self, fluid):
        self.both(fluid, lambda: fluid.dygraph.Embedding([10, 4]), np.array([[1], [2], [1]], "int64"))

    def test_state_dict(self, fluid, tmp_path):
        with fluid.dygraph.guard():
            layer = fluid.dygraph.Sequential(("a", fluid.dygraph.Linear(3, 4)), ("b", fluid.dygraph.BatchNorm(4)))
            assert list(layer.state_dict()) == ["a.weight", "a.bias", "b.weight", "b.bias", "b._mean", "b._variance"]
            adam = fluid.optimizer.Adam(0.1, parameter_list=layer.parameters())
            fluid.layers.mean(layer(fluid.dygraph.to_variable(XS))).backward()
            adam.minimize(fluid.layers.mean(layer(fluid.dygraph.to_variable(XS))))
            fluid.save_dygraph(layer.state_dict(), str(tmp_path / "m"))
            fluid.save_dygraph(adam.state_dict(), str(tmp_path / "m"))
            params, states = fluid.load_dygraph(str(tmp_path / "m"))
            kept = layer.state_dict()["a.weight"].numpy().copy()
            layer.state_dict()["a.weight"].set_value(np.zeros((3, 4), "float32"))
            layer.set_dict(params)
            adam.set_dict(states)
            assert (layer.state_dict()["a.weight"].numpy() == kept).all()
            fluid.dygraph.save_persistables(layer.state_dict(), str(tmp_path / "old"), adam)
            params, states = fluid.dygraph.load_persistables(str(tmp_path / "old"))
            layer.state_dict()["a.weight"].set_value(np.zeros((3, 4), "float32"))
            layer.load_dict(params)
            assert (layer.state_dict()["a.weight"].numpy() == kept).all() and states
            with pytest.raises(ValueError, match="no parameter"):
                layer.set_dict({"nothing": kept})
            with pytest.raises(RuntimeError, match="neither"):
                fluid.load_dygraph(str(tmp_path / "nothing"))

    def test_modes(self, fluid):
        with fluid.dygraph.guard():
            dropout = fluid.dygraph.Dropout(0.5)
            x = fluid.dygraph.to_variable(np.ones((50, 4), "float32"))
            assert (dropout(x).numpy() == 0).any()
            dropout.eval()
            assert (dropout(x).numpy() == 0.5).all()
            assert (fluid.layers.dropout(x, 0.5).numpy() == 0.5).all()
            dropout.train()
            assert (fluid.layers.dropout(x, 0.5).numpy() == 0).any()

    def test_gradients(self, fluid):
        with fluid.dygraph.guard():
            x = fluid.dygraph.to_variable(np.array([1.0, 2.0], "float32"))
            y = x * x
            (first,) = fluid.dygraph.grad(y, x, create_graph=True)
            (second,) = fluid.dygraph.grad(first * first, x)
            assert first.numpy().tolist() == [2.0, 4.0] and second.numpy().tolist() == [8.0, 16.0]
            with fluid.dygraph.no_grad():
                z = x * 2.0
            assert z.stop_gradient
            with pytest.raises(RuntimeError, match="loss.backward"):
                fluid.optimizer.SGD(0.1, parameter_list=[]).minimize(y)

    def test_traced(self, fluid, tmp_path):
        with fluid.dygraph.guard():
            layer = fluid.dygraph.Linear(3, 2, act="relu")
            x = fluid.dygraph.to_variable(XS)
            out, traced = fluid.dygraph.TracedLayer.trace(layer, [x])
            (again,) = traced([x])
            assert again.numpy().tobytes() == out.numpy().tobytes()
            traced.save_inference_model(str(tmp_path))
        exe = fluid.Executor()
        program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path), exe)
        (found,) = exe.run(program, feed={feeds[0]: XS[:2]}, fetch_list=fetches)
        np.testing.assert_array_equal(found, out.numpy()[:2])

    def test_declarative(self, fluid):
        class Net(fluid.dygraph.Layer):
            def __init__(self):
                super().__init__()
                self.inner = fluid.dygraph.Linear(3, 2)

            def plain(self, x):
                return fluid.layers.relu(self.inner(x))

            forward = fluid.dygraph.declarative(plain)

        with fluid.dygraph.guard():
            net, x = Net(), fluid.dygraph.to_variable(XS)
            assert net(x).numpy().tobytes() == net.plain(x).numpy().tobytes()

    def test_mistakes(self, fluid):
        with fluid.dygraph.guard():
            with pytest.raises(TypeError, match="needs `output_dim`"):
                fluid.dygraph.Linear(3)
            with pytest.raises(TypeError, match="does not know"):
                fluid.dygraph.Linear(3, 2, bias=True)
            layer = fluid.dygraph.FC("fc", 2)
            layer(fluid.dygraph.to_variable(XS))
            with pytest.raises(ValueError, match="sizes"):
                layer(fluid.dygraph.to_variable(XS[:, :2]))
        with pytest.raises(RuntimeError, match="dygraph.guard"):
            fluid.dygraph.to_variable(XS)


class TestSequences:
    def test_dynamic_rnn_stops_where_sequences_end(self, fluid):
        layers = fluid.layers
        x = layers.data("x", [2], lod_level=1)
        start = layers.data("start", [2])
        rnn = layers.DynamicRNN()
        with rnn.block():
            word = rnn.step_input(x)
            state = rnn.memory(init=start, need_reorder=True)
            new = layers.scale(state, 0.5) + word
            rnn.update_memory(state, new)
            rnn.output(new)
        out = rnn()
        last = layers.sequence_last_step(out)
        (grad,) = fluid.gradients(layers.reduce_sum(last), start)
        rows = RNG.randn(5, 2).astype("float32")
        feed = {"x": fluid.create_lod_tensor(rows, [[2, 3]], None), "start": np.ones((2, 2), "float32")}
        found = fluid.Executor().run(feed=feed, fetch_list=[out, last, grad], return_numpy=False)
        wanted = []
        for part in (rows[:2], rows[2:]):
            state = np.ones(2, "float32")
            for row in part:
                state = state * np.float32(0.5) + row
                wanted.append(state)
        np.testing.assert_allclose(np.array(found[0]), wanted, rtol=1e-6)
        assert found[0].lod() == [[0, 2, 5]]
        np.testing.assert_allclose(np.array(found[2]), [[0.25] * 2, [0.125] * 2])

    def test_clone_and_files(self, fluid, tmp_path):
        layers = fluid.layers
        words = layers.data("words", [1], dtype="int64", lod_level=1)
        label = layers.data("label", [1], dtype="int64", lod_level=1)
        scores = layers.fc(layers.embedding(words, [20, 4]), 3, act="softmax")
        loss = layers.mean(layers.cross_entropy(scores, label))
        test = fluid.default_main_program().clone(for_test=True)
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        feeder = fluid.DataFeeder([words, label], fluid.CPUPlace())
        feed = feeder.feed([([1, 2, 3], [0, 1, 2]), ([4], [1])])
        (wanted,) = exe.run(test, feed=feed, fetch_list=[scores], return_numpy=False)
        assert wanted.recursive_sequence_lengths() == [[3, 1]]
        fluid.io.save_inference_model(str(tmp_path), ["words"], [scores], exe)
        program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path), exe)
        (found,) = exe.run(program, feed={"words": feed["words"]}, fetch_list=fetches, return_numpy=False)
        assert np.array(found).tobytes() == np.array(wanted).tobytes() and found.lod() == wanted.lod()
        with pytest.raises(RuntimeError, match="return_numpy=False"):
            exe.run(test, feed=feed, fetch_list=[scores])
        bare = {**feed, "words": np.array(feed["words"])}
        assert exe.run(test, feed=bare, fetch_list=[loss]) == exe.run(test, feed=feed, fetch_list=[loss])
        with pytest.raises(ValueError, match="levels of lengths"):
            exe.run(test, feed=bare, fetch_list=[scores], return_numpy=False)
