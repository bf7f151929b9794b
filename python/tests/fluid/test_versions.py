"""Arguments in the orders of Fluid 1.5 and of later ones, and what else programs of both do."""

import inspect

import numpy as np
import pytest

import fluvial.fluid as front
import fluvial.fluid.layers as layers
from fluvial.fluid import _versions

PENALTY = front.regularizer.L2Decay(0.1)


class TestArguments:
    @pytest.mark.parametrize("name", sorted(_versions.LAYERS))
    def test_functions_know_all_names_of_both(self, name):
        function = getattr(layers, name)
        assert function.former == _versions.LAYERS[name].split()
        assert set(function.former) <= set(inspect.signature(function).parameters)

    @pytest.mark.parametrize("name", [name for name in dir(front.optimizer) if name.endswith("Optimizer")])
    def test_optimizers_know_all_names_of_both(self, name):
        begin = getattr(front.optimizer, name).__init__
        for argument in getattr(begin, "former", ()):
            assert argument in inspect.signature(begin).parameters

    def test_optimizers(self, fluid):
        optimizer = fluid.optimizer
        for made in (
            optimizer.SGD(0.1, PENALTY, "own"), optimizer.Momentum(0.1, 0.9, True, PENALTY, "own"),
            optimizer.Adam(0.1, 0.8, 0.9, 1e-4, PENALTY, "own"), optimizer.SGD(0.1, None, PENALTY, None, "own"),
            optimizer.Adagrad(0.1, 1e-6, PENALTY, "own", 0.5), optimizer.Lamb(0.1, 0.0, 0.9, 0.99, 1e-6, PENALTY, None, "own"),
        ):  # fmt: skip
            assert made.regularization is PENALTY and made._name == "own" and made._parameter_list is None
        assert optimizer.SGD(0.1, None, "own")._name == "own"
        assert optimizer.Momentum(0.1, 0.9, True)._options["nesterov"] is True
        assert optimizer.Adagrad(0.1, 1e-6, None, None, 0.5)._options["initial_accumulator"] == 0.5
        with fluid.dygraph.guard():
            layer = fluid.dygraph.Linear(2, 1)
            made = optimizer.Momentum(0.1, 0.9, layer.parameters(), True)
            assert made._parameter_list == layer.parameters() and made._options["nesterov"] is True

    def test_layers(self, fluid):
        x = layers.data("x", shape=[4])
        assert layers.fc(x, 2, 1, None, None, "relu", False, "old").name.startswith("old.")
        assert layers.fc(x, 2, 1, None, None, "relu", "new").name.startswith("new.")
        _, order = layers.argsort(x, 1, True)
        assert layers.argsort(x, 1, "named")[1].shape == order.shape
        assert layers.softshrink(x, "named").shape == layers.softshrink(x, 0.3).shape
        with pytest.raises(TypeError, match="`fuse_with_relu` in Fluid 1.5 and `use_global_stats` in later"):
            layers.batch_norm(x, None, False, 0.9, 1e-5, None, None, "NCHW", False, None, None, None, False, True)
        with pytest.raises(TypeError, match="`name` twice"):
            layers.argsort(x, 1, "named", name="again")

    def test_line_by_line(self, fluid):
        with fluid.dygraph.guard():
            variable = fluid.dygraph.to_variable
            assert variable(np.ones(2), None, "old").name == variable(np.ones(2), "old").name == "old"
            layer = fluid.dygraph.Layer("own")
            for made in (layer.create_parameter(None, [2, 3]), layer.create_parameter([2, 3], None)):
                assert tuple(made.shape) == (2, 3)
            assert "num_filters" in inspect.signature(fluid.dygraph.Conv2D).parameters

    def test_servers(self, fluid):
        names = [f"w{i}" for i in range(5)]
        turns = fluid.transpiler.RoundRobin(["a:1", "b:2"])
        assert turns.dispatch(names) == ["a:1", "b:2", "a:1", "b:2", "a:1"]
        assert turns.dispatch(names[:1]) == ["b:2"]
        turns.reset()
        assert turns.dispatch(names[:1]) == ["a:1"]
        hashed = fluid.transpiler.HashName(["a:1", "b:2"])
        assert hashed.dispatch(names) == hashed.dispatch(names) and set(hashed.dispatch(names)) == {"a:1", "b:2"}
        with pytest.raises(ValueError, match="no server"):
            fluid.transpiler.HashName([])

    def test_refusals_take_arguments(self, fluid):
        for call in (
            lambda: fluid.optimizer.PipelineOptimizer(fluid.optimizer.SGD(0.1), num_microbatches=2),
            lambda: fluid.Executor().train_from_dataset(dataset=None, thread=2),
            lambda: fluid.DistributeTranspiler().transpile(0, pservers="a:1", sync_mode=False),
        ):
            with pytest.raises(NotImplementedError, match="remedy"):
                call()


def test_functions_of_modules_take_variables(fluid):
    """`from paddle.fluid.layers.nn import fc` and the like."""
    x = layers.data("x", shape=[4])
    assert layers.nn.fc is layers.fc and layers.ops.exp is layers.exp
    for made in (layers.nn.fc(x, 3), layers.tensor.fill_constant([2], "float32", 1.0), layers.ops.exp(x), layers.loss.mse_loss(x, x)):
        assert isinstance(made, fluid.framework.Variable)


def test_volumes_have_the_arguments_of_images(fluid):
    images, volumes = (inspect.signature(f).parameters for f in (layers.conv2d, layers.conv3d))
    assert list(images) == list(volumes) and volumes["data_format"].default == "NCDHW"
    x = layers.data("x", shape=[2, 4, 4, 4])
    y = layers.conv3d(x, 3, 3, 1, 1, act="relu", name="own")
    assert y.shape == (-1, 3, 4, 4, 4) and fluid.default_main_program().all_parameters()[0].name == "own.w_0"
    assert layers.pool3d(y, 2, pool_stride=2).shape == (-1, 3, 2, 2, 2)
    assert layers.conv3d_transpose(y, 2, filter_size=2, stride=2).shape == (-1, 2, 8, 8, 8)
    with pytest.raises(ValueError, match="conv2d got 5 axes"):
        layers.conv2d(x, 3, 3)


class TestRows:
    def test_open_sizes_that_meet_known_ones(self, fluid):
        x, fixed = layers.data("x", shape=[3]), layers.data("fixed", shape=[2, 3], append_batch_size=False)
        total = layers.elementwise_add(x, fixed)
        exe = fluid.Executor()
        feed = {"x": np.ones((2, 3), "float32"), "fixed": np.ones((2, 3), "float32")}
        assert exe.run(feed=feed, fetch_list=[total])[0].tolist() == [[2.0] * 3] * 2
        with pytest.raises(ValueError):
            exe.run(feed={**feed, "x": np.ones((4, 3), "float32")}, fetch_list=[total])

    def test_columns_of_one_element(self, fluid):
        y = layers.data("x", shape=[3], dtype="int64") * 2
        exe, value = fluid.Executor(), np.arange(6).reshape(2, 3)
        assert exe.run(feed={"x": value[:, :, None]}, fetch_list=[y])[0].tolist() == (2 * value).tolist()
        with pytest.raises(ValueError):
            exe.run(feed={"x": np.zeros((2, 3, 2), "int64")}, fetch_list=[y])

    def test_negative_sizes_are_open(self, fluid):
        batch = -1
        assert layers.data("x", shape=[batch * 4, 1]).shape == (-1, 1)
    def test_labels_with_rows_of_their_own(self, fluid):
        x = layers.data("x", shape=[3, 2])
        y = layers.data("y", shape=[-1, 1])
        scores = layers.reshape(layers.fc(x, 1, num_flatten_dims=2), [-1, 1])
        loss = layers.mean(layers.square_error_cost(scores, y))
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        feed = {"x": np.ones((4, 3, 2), "float32"), "y": np.ones((12, 1), "float32")}
        first, last = (exe.run(feed=feed, fetch_list=[loss])[0] for _ in range(2))
        assert last < first
        with pytest.raises(ValueError, match="12"):
            exe.run(feed={**feed, "y": np.ones((4, 1), "float32")}, fetch_list=[loss])

    def test_files_and_copies_keep_rows(self, fluid, tmp_path):
        x, y = layers.data("x", shape=[2]), layers.data("y", shape=[-1, 2])
        total = layers.reduce_sum(x) + layers.reduce_sum(y)
        exe = fluid.Executor()
        fluid.io.save_inference_model(str(tmp_path), ["x", "y"], [total], exe)
        program, _, fetch = fluid.io.load_inference_model(str(tmp_path), exe)
        feed = {"x": np.ones((2, 2), "float32"), "y": np.ones((3, 2), "float32")}
        assert exe.run(program, feed=feed, fetch_list=fetch)[0].item() == 10.0
        copy = fluid.default_main_program().clone(for_test=True)
        assert exe.run(copy, feed=feed, fetch_list=[total.name])[0].item() == 10.0

    def test_others_are_those_of_the_batch(self, fluid):
        x, y = fluid.data("x", [None, 2]), layers.data("y", shape=[1])
        loss = layers.mean(x) + layers.mean(y)
        with pytest.raises(ValueError, match=r"`y` is fed with 6 rows, and `x` with 2(.|\n)*shape=\[-1"):
            fluid.Executor().run(feed={"x": np.ones((2, 2), "float32"), "y": np.ones((6, 1), "float32")}, fetch_list=[loss])

    def test_gradients_of_sequences(self, fluid):
        x = layers.data("x", shape=[2], lod_level=1, stop_gradient=False)
        (grad,) = fluid.gradients(layers.reduce_sum(layers.sequence_last_step(x * 3.0)), x)
        feed = {"x": fluid.create_lod_tensor(np.ones((5, 2), "float32"), [[3, 2]], fluid.CPUPlace())}
        (found,) = fluid.Executor().run(feed=feed, fetch_list=[grad], return_numpy=False)
        assert found.recursive_sequence_lengths() == [[3, 2]]
        assert np.array(found)[:, 0].tolist() == [0, 0, 3, 0, 3]


def test_both_halves_agree_in_float64(fluid):
    """The rate is a number of the parameters' type."""

    class Net(fluid.dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.first = fluid.dygraph.Linear(4, 2, dtype="float64", param_attr="w", bias_attr="b")

        def forward(self, x):
            return layers.mean(layers.square(self.first(x)))

    value = np.random.default_rng(0).normal(size=(5, 4))
    with fluid.dygraph.guard():
        fluid.default_startup_program().random_seed = 5
        net = Net()
        sgd = fluid.optimizer.SGD(1e-3, parameter_list=net.parameters())
        for _ in range(5):
            loss = net(fluid.dygraph.to_variable(value))
            loss.backward()
            sgd.minimize(loss)
            net.clear_gradients()
        lines = net.first.weight.numpy()
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 5
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        sgd = fluid.optimizer.SGD(1e-3)
        sgd.minimize(Net()(layers.data("x", [4], dtype="float64")))
        exe = fluid.Executor()
        exe.run(startup)
        for _ in range(5):
            exe.run(main, feed={"x": value})
        np.testing.assert_array_equal(np.array(fluid.global_scope().find_var("w").get_tensor()), lines)
        sgd.set_lr(0.5)
        assert exe.run(main, feed={"x": value}, fetch_list=["learning_rate_0"])[0].tolist() == [0.5]


def test_traced_layers_hold_constants(fluid):
    class Net(fluid.dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.first = fluid.dygraph.Linear(3, 2)
            self.offset = fluid.dygraph.to_variable(np.arange(8, dtype="float32").reshape(4, 2))

        def forward(self, x):
            return self.first(x) + self.offset

    with fluid.dygraph.guard():
        net, x = Net(), fluid.dygraph.to_variable(np.ones((4, 3), "float32"))
        out, traced = fluid.dygraph.TracedLayer.trace(net, [x])
        np.testing.assert_array_equal(traced([x])[0].numpy(), out.numpy())


def test_what_optimizers_remember_as_arrays(fluid):
    """Arrays of one element in the place of numbers, as programs of Fluid write them."""
    with fluid.dygraph.guard():
        def trained(remembered):
            net = fluid.dygraph.Linear(2, 1, param_attr=fluid.initializer.Constant(1.0))
            adam = fluid.optimizer.Adam(0.1, parameter_list=net.parameters())
            if remembered is not None:
                adam.set_dict(remembered)
            for _ in range(2):
                layers.mean(net(fluid.dygraph.to_variable(np.ones((1, 2), "float32")))).backward()
                adam.minimize(layers.mean(net.weight))
                net.clear_gradients()
            return {name: np.atleast_1d(value.numpy()) for name, value in adam.state_dict().items()}

        with fluid.unique_name.guard():
            first = trained(None)
        with fluid.unique_name.guard():
            second = trained(first)
    assert first["step"].tolist() == [2] and second["step"].tolist() == [4]


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_weights_as_lengths_and_directions(fluid, dim):
    x = layers.data("x", shape=[3])
    attr = fluid.WeightNormParamAttr(dim, "w", fluid.initializer.Xavier(), gradient_clip=fluid.clip.GradientClipByValue(1e3))
    y = layers.fc(x, 2, param_attr=attr, bias_attr=False)
    params = {var.name: var for var in fluid.default_main_program().all_parameters()}
    assert {name: tuple(var.shape) for name, var in params.items()} == {
        "w_v": (3, 2), "w_g": tuple(size if axis == dim else 1 for axis, size in enumerate((3, 2)))
    }  # fmt: skip
    assert params["w_v"].gradient_clip_attr is attr.gradient_clip
    fluid.optimizer.SGD(0.1).minimize(layers.reduce_sum(y * y))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())

    def now(name):
        return np.array(fluid.global_scope().find_var(name).get_tensor()).astype("float64")

    v, g, value = now("w_v"), now("w_g"), np.array([[1.0, -2.0, 0.5]], "float32")
    axes = tuple(axis for axis in range(2) if axis != dim)
    np.testing.assert_allclose(g, np.sqrt((v * v).sum(axes, keepdims=True)), rtol=1e-6)
    (found,) = exe.run(feed={"x": value}, fetch_list=[y])
    np.testing.assert_allclose(found, value @ v, rtol=1e-5)

    def loss(v, g):
        return ((value @ (v * g / np.sqrt((v * v).sum(axes, keepdims=True)))) ** 2).sum()

    for name, old in (("w_v", v), ("w_g", g)):
        numeric = np.zeros_like(old)
        for place in np.ndindex(*old.shape):
            step = np.zeros_like(old)
            step[place] = 1e-5
            given = [(v + step, g), (v - step, g)] if name == "w_v" else [(v, g + step), (v, g - step)]
            numeric[place] = (loss(*given[0]) - loss(*given[1])) / 2e-5
        np.testing.assert_allclose(now(name), old - 0.1 * numeric, rtol=1e-4, atol=1e-5)


def test_what_lengths_and_directions_refuse(fluid):
    x = layers.data("x", shape=[3])
    with pytest.raises(ValueError, match="`dim` is 2"):
        layers.fc(x, 2, param_attr=fluid.WeightNormParamAttr(2))
    with pytest.raises(NotImplementedError, match="not by itself"):
        layers.create_parameter([2], "float32", attr=fluid.WeightNormParamAttr(0))
    with fluid.dygraph.guard(), pytest.raises(NotImplementedError, match="in programs"):
        fluid.dygraph.Linear(2, 2, param_attr=fluid.WeightNormParamAttr(0))


def test_steps_of_a_decoder_share_their_parameters(fluid):
    class Cell(layers.RNNCell):
        def call(self, inputs, states):
            new = layers.tanh(layers.fc(layers.concat([inputs, states], axis=1), 4))
            return new, new

    table = lambda ids: fluid.embedding(ids, [7, 3], param_attr="table")  # noqa: E731
    first = layers.data("h", [2, 4], append_batch_size=False)
    decoder = layers.BeamSearchDecoder(Cell(), 0, 1, 2, table, lambda x: layers.fc(x, 7, bias_attr=False))
    ids, _ = layers.dynamic_decode(decoder, first, max_step_num=4)
    names = [var.name for var in fluid.default_main_program().all_parameters()]
    assert names == ["table", "fc_0.w_0", "fc_0.b_0", "fc_1.w_0"]
    # What follows has names of its own.
    layers.fc(first, 2)
    assert fluid.default_main_program().all_parameters()[-1].name == "fc_2.b_0"
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    assert exe.run(feed={"h": np.ones((2, 4), "float32")}, fetch_list=[ids])[0].shape[0] == 2


def test_a_weight_in_the_place_of_a_size(fluid):
    x = layers.data("x", shape=[2])
    weight = layers.create_parameter([2, 3], "float32", name="w", default_initializer=fluid.initializer.Constant(2.0))
    y = layers.fc(x, weight, act="relu")
    assert [var.name for var in fluid.default_main_program().all_parameters()] == ["w"]
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    assert exe.run(feed={"x": np.ones((1, 2), "float32")}, fetch_list=[y])[0].tolist() == [[4.0] * 3]
    assert layers.fc(x, weight, bias_attr="b").shape == (-1, 3)
    with pytest.raises(ValueError, match="two axes"):
        layers.fc(x, layers.create_parameter([2], "float32"))
    with pytest.raises(ValueError, match="nothing else is said"):
        layers.fc(x, weight, param_attr="v")
