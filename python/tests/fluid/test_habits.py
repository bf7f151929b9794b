"""What Fluid's programs do besides: seeds of initialisers, flags, gradients of what was computed, files, predictors."""

import itertools
import warnings

import numpy as np
import pytest

import fluvial.fluid as fluid
import fluvial.fluid.layers as layers
from fluvial.fluid.dygraph import FC, Linear, to_variable

PLACE = fluid.CPUPlace()


@pytest.fixture
def programs():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        yield main, startup


INITIALISERS = [
    lambda seed: fluid.initializer.Uniform(-1.0, 1.0, seed=seed),
    lambda seed: fluid.initializer.Normal(0.0, 1.0, seed=seed),
    lambda seed: fluid.initializer.TruncatedNormal(0.0, 1.0, seed=seed),
    lambda seed: fluid.initializer.Xavier(seed=seed),
    lambda seed: fluid.initializer.MSRA(uniform=False, seed=seed),
]


@pytest.mark.parametrize("made", INITIALISERS)
def test_seeds_of_initialisers(programs, made):
    """One seed gives the same numbers whatever the name and the program's seed; without one they differ."""
    main, startup = programs
    for name, seed in (("a", 5), ("b", 5), ("c", 6), ("d", 0), ("e", 0)):
        layers.create_parameter([4, 3], "float32", name=name, default_initializer=made(seed))
    exe = fluid.Executor(PLACE)
    found = []
    for random_seed in (1, 2):
        startup.random_seed = random_seed
        exe.run(startup)
        found.append({name: np.array(fluid.global_scope().find_var(name).get_tensor()) for name in "abcde"})
    for values in found:
        assert (values["a"] == values["b"]).all()
        assert (values["a"] != values["c"]).any() and (values["d"] != values["e"]).any()
    assert (found[0]["a"] == found[1]["a"]).all() and (found[0]["d"] != found[1]["d"]).any()
    with fluid.dygraph.guard():
        at_once = layers.create_parameter([4, 3], "float32", default_initializer=made(5)).numpy()
    assert (at_once == found[0]["a"]).all()


def test_seeds_are_checked():
    for seed in (-1, 1.5, True):
        with pytest.raises(ValueError, match="a seed is an integer"):
            fluid.initializer.Uniform(seed=seed)


def test_flags():
    with pytest.warns(UserWarning, match="FLAGS_eager_delete_tensor_gb.*no effect"):
        fluid.set_flags({"FLAGS_eager_delete_tensor_gb": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fluid.set_flags({"FLAGS_eager_delete_tensor_gb": 2.0})
    assert fluid.get_flags("FLAGS_eager_delete_tensor_gb") == {"FLAGS_eager_delete_tensor_gb": 2.0}
    with pytest.raises(ValueError, match="no flag 'FLAGS_unheard_of'"):
        fluid.set_flags({"FLAGS_unheard_of": 1})


def test_gradients_of_what_was_computed():
    with fluid.dygraph.guard():
        x = to_variable(np.array([1.0, 2.0], "float32"))
        y = x * 3.0
        z = layers.reduce_sum(y * y)
        z.backward()
        assert y.gradient().tolist() == [6, 12] and x.gradient().tolist() == [18, 36]
        y.clear_gradient()
        assert y.gradient() is None


def test_a_backward_pass_ends_what_lies_before_it():
    """A state that is carried from step to step is a leaf of the next one."""
    with fluid.dygraph.guard():
        w = to_variable(np.array([2.0], "float32"))
        state = to_variable(np.array([1.0], "float32"))
        found = []
        for _ in range(3):
            state = state * w
            layers.reduce_sum(state).backward()
            found.append(w.gradient().tolist()[0])
            w.clear_gradient()
        # The state of the step before, not that of all steps before.
        assert found == [1.0, 2.0, 4.0]


class TestBeforeTheFirstCall:
    def test_values_wait_for_parameters(self, tmp_path):
        folder, x = str(tmp_path / "model"), np.ones((2, 3), "float32")

        def models():
            model = FC("fc", 2)
            return model, fluid.optimizer.Adam(0.1), fluid.optimizer.SGD(fluid.dygraph.NaturalExpDecay(0.1, 10, 0.5))

        with fluid.dygraph.guard():
            model, adam, sgd = models()
            for _ in range(2):
                layers.reduce_mean(model(to_variable(x))).backward()
                adam.minimize(None, parameter_list=model.parameters())
                sgd.minimize(None, parameter_list=model.parameters())
                model.clear_gradients()
            fluid.dygraph.save_persistables(model.state_dict(), folder, [adam, sgd])
            expected = model(to_variable(x)).numpy()
        with fluid.dygraph.guard():
            model, adam, sgd = models()
            values, remembered = fluid.dygraph.load_persistables(folder)
            model.load_dict(values)
            adam.load(remembered)
            sgd.load(remembered)
            assert (model(to_variable(x)).numpy() == expected).all()
            assert sgd._learning_rate.step_num == 2

    def test_a_layer_that_has_them_refuses_others(self):
        with fluid.dygraph.guard():
            with pytest.raises(ValueError, match="has no parameter `other`"):
                Linear(2, 2).set_dict({"other": np.zeros(2, "float32")})


def test_a_given_array_has_the_last_word_on_sizes(programs):
    main, startup = programs
    table = np.arange(8, dtype="float32").reshape(4, 2)
    attr = fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(table))
    with pytest.warns(UserWarning, match=r"should have the sizes \[5, 2\].*\[4, 2\]"):
        out = layers.embedding(layers.data("x", [1], dtype="int64"), [5, 2], param_attr=attr)
    exe = fluid.Executor(PLACE)
    exe.run(startup)
    assert exe.run(main, feed={"x": np.array([[3]])}, fetch_list=[out])[0].ravel().tolist() == [6, 7]


def test_whether_there_is_a_variable(programs):
    assert layers.data("bias", [4])
    with pytest.raises(TypeError, match="known only when the program runs"):
        bool(layers.less_than(layers.data("a", [1]), layers.data("b", [1])))
    with fluid.dygraph.guard():
        assert to_variable(np.zeros((2, 2), "float32"))
        assert not to_variable(np.zeros(1, "float32"))


def test_predictors(programs, tmp_path):
    main, startup = programs
    out = layers.fc(layers.data("x", [3]), 2)
    exe = fluid.Executor(PLACE)
    exe.run(startup)
    x = np.ones((2, 3), "float32")
    (expected,) = exe.run(main, feed={"x": x}, fetch_list=[out])
    fluid.io.save_inference_model(str(tmp_path / "m"), ["x"], [out], exe)
    config = fluid.core.AnalysisConfig(str(tmp_path / "m"))
    (found,) = fluid.core.create_paddle_predictor(config).run([fluid.core.PaddleTensor(x)])
    assert (found.as_ndarray() == expected).all() and found.data.float_data() == expected.ravel().tolist()
    compiled = fluid.CompiledProgram(main).with_inference_optimize(config)
    assert exe.run(compiled, feed=[fluid.core.PaddleTensor(x)])[0].shape == [2, 2]
    with pytest.raises(ValueError, match="takes 1 tensors"):
        fluid.core.create_paddle_predictor(config).run([])


def test_what_is_no_list(programs):
    with pytest.raises(TypeError, match="repeat is not a list of variables"):
        fluid.io.PyReader(itertools.repeat(1), 4)
    with pytest.raises(TypeError, match="repeat is not a list of parameters"):
        fluid.optimizer.SGD(0.1, parameter_list=itertools.repeat(1))
    with pytest.raises(TypeError, match="int is not a variable"):
        fluid.io.DataLoader.from_generator(feed_list=[1])
    with pytest.raises(AssertionError, match="NoneType is not a variable"):
        fluid.dygraph.grad(None, None)


def test_sizes_that_only_the_run_can_check(programs):
    main, _ = programs
    flat = layers.reshape(layers.data("x", [2, 3]), [4, 6])
    exe = fluid.Executor(PLACE)
    assert exe.run(main, feed={"x": np.zeros((4, 2, 3), "float32")}, fetch_list=[flat])[0].shape == (4, 6)
    with pytest.raises(ValueError):
        exe.run(main, feed={"x": np.zeros((3, 2, 3), "float32")}, fetch_list=[flat])


def test_gradients_of_gradients(programs):
    """What was computed of a gradient is differentiated again: of (x - 2x)² it is 2x."""
    main, startup = programs
    x = layers.create_parameter([1], "float32", name="x", default_initializer=fluid.initializer.Constant(3.0))
    (once,) = fluid.gradients(x * x, x)
    gap = x - once
    twice = fluid.gradients(gap * gap, x)
    loss = layers.reduce_sum(once * once * once)
    ((_, of_loss),) = fluid.backward.append_backward(loss)
    exe = fluid.Executor(PLACE)
    exe.run(startup)
    found = exe.run(main, fetch_list=[once, twice, of_loss])
    assert [float(value) for value in found] == [6.0, 6.0, 3 * 36 * 2]


def test_what_is_no_array(programs):
    zero = layers.fill_constant([1], "int64", 0)
    for call in (lambda: layers.array_read(np.zeros(2), zero), lambda: layers.array_read(zero, zero),
                 lambda: layers.array_length([1]), lambda: layers.array_write(zero, zero, "array")):  # fmt: skip
        with pytest.raises(TypeError, match="is not an array"):
            call()
    with pytest.raises(TypeError, match="list is not a variable"):
        layers.increment([1, 2])
