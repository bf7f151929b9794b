"""Sizes that differ between blocks, that only a run knows, and that Fluid's programs say loosely."""

import numpy as np
import pytest

import fluvial.fluid as fluid
import fluvial.fluid.layers as layers


@pytest.fixture(autouse=True)
def own_programs():
    """Each test has programs, names and a scope of its own."""
    with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            yield


def run(fetch, feed=None):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(fluid.default_main_program(), feed=feed, fetch_list=fetch)


def flag(name="on"):
    return layers.data(name, [1], dtype="bool", append_batch_size=False)


class TestBranches:
    @pytest.mark.parametrize("on", [True, False])
    def test_results_of_different_sizes(self, on):
        def filled(shape, value):
            return lambda: layers.fill_constant(shape, "int32", value)

        out = layers.cond(flag(), filled([2, 3], 2), filled([3, 2], -1))
        assert out.shape == (-1, -1)
        wanted = np.full((2, 3), 2) if on else np.full((3, 2), -1)
        np.testing.assert_array_equal(run([out], {"on": np.array([on])})[0], wanted)

    @pytest.mark.parametrize("on", [True, False])
    def test_gradients_pass(self, on):
        x = layers.data("x", [4], append_batch_size=False)
        x.stop_gradient = False
        part = layers.cond(flag(), lambda: layers.slice(x, [0], [0], [2]) * 3.0, lambda: x * 2.0)
        (gradient,) = fluid.gradients(layers.reduce_sum(part * part), [x])
        values = np.arange(1, 5, dtype="float32")
        wanted = np.where(np.arange(4) < 2, 18 * values, 0) if on else 8 * values
        np.testing.assert_allclose(run([gradient], {"x": values, "on": np.array([on])})[0], wanted)

    @pytest.mark.parametrize("number, size", [(0, 1), (1, 2), (2, 3)])
    def test_more_than_two(self, number, size):
        i = layers.data("i", [1], dtype="int64", append_batch_size=False)
        fns = [lambda n=n: layers.fill_constant([n, 2], "float32", n) for n in (1, 2, 3)]
        out = layers.switch_case(i, fns)
        assert out.shape == (-1, 2)
        assert run([out], {"i": np.array([number])})[0].tolist() == [[size] * 2] * size

    def test_variables_that_are_written(self):
        x = layers.fill_constant([1, 2], "float32", 1.0)
        with layers.Switch() as switch:
            with switch.case(flag()):
                layers.assign(layers.concat([x, x], axis=0), x)
        assert [run([x], {"on": np.array([on])})[0].shape for on in (True, False)] == [(2, 2), (1, 2)]

    def test_other_numbers_of_axes_are_refused(self):
        with pytest.raises(ValueError, match="in one branch and"):
            layers.cond(flag(), lambda: layers.zeros([2], "float32"), lambda: layers.zeros([2, 1], "float32"))

    def test_what_is_no_function(self):
        with pytest.raises(TypeError, match="`false_fn` is ndarray"):
            layers.cond(flag(), None, np.array([3]))

    def test_gradients_of_constants(self):
        a, b = (layers.fill_constant([1], "float32", value) for value in (1.5, 2.5))
        a.stop_gradient = b.stop_gradient = False
        out = layers.cond(a < b, lambda: a * 3.0, lambda: b)
        fluid.append_backward(out)
        assert [value.tolist() for value in run([out, a.grad_name, b.grad_name])] == [[4.5], [3.0], [0.0]]


class TestUpdatesInBlocks:
    def test_the_case_chooses_who_trains(self):
        x = layers.data("x", [2])
        w = layers.create_parameter([2, 1], "float32", "w", default_initializer=fluid.initializer.Constant(1.0))
        loss = layers.mean(layers.matmul(x, w))
        with layers.Switch() as switch:
            with switch.case(flag()):
                fluid.optimizer.SGD(0.1).minimize(loss)
            with switch.default():
                fluid.optimizer.SGD(10.0).minimize(loss)
        exe = fluid.Executor()
        feed = {"x": np.ones((3, 2), "float32")}
        for on, value in ((True, 0.9), (False, -9.0)):
            exe.run(fluid.default_startup_program())
            exe.run(feed={**feed, "on": np.array([on])})
            found = np.array(fluid.global_scope().find_var("w").get_tensor())
            np.testing.assert_allclose(found, [[value]] * 2, rtol=1e-6)

    def test_a_loss_of_both_sides_says_so(self):
        hidden = layers.fc(layers.data("x", [2]), 2)
        with layers.Switch() as switch:
            with pytest.raises(ValueError, match="inside of a block, compute the whole loss there"):
                with switch.case(flag()):
                    fluid.optimizer.SGD(0.1).minimize(layers.mean(hidden))
            with switch.default():
                pass


class TestInputs:
    def test_one_column_is_fed_with_any_sizes(self):
        x = layers.data("x", [1])
        state = layers.reshape(x, [2, -1, 3])
        assert state.shape == (2, -1, 3)
        test = fluid.default_main_program().clone(for_test=True)
        values = np.arange(24, dtype="float32").reshape(2, 4, 3)
        for program in (fluid.default_main_program(), test):
            exe = fluid.Executor()
            (found,) = exe.run(program, feed={"x": values}, fetch_list=[state.name])
            np.testing.assert_array_equal(found, values)
            with pytest.raises(ValueError, match=r"`x` is fed with the sizes \[5\], and reshaped to \[2, -1, 3\]"):
                exe.run(program, feed={"x": np.zeros(5, "float32")}, fetch_list=[state.name])

    def test_the_column_itself_is_there_too(self):
        x = layers.data("x", [1])
        both = [layers.reshape(x, [-1, 2, 1]), x * 2.0]
        found = run(both, {"x": np.arange(4, dtype="float32")[:, None]})
        assert found[0].shape == (2, 2, 1) and found[1].ravel().tolist() == [0, 2, 4, 6]

    def test_a_variable_that_is_read_before_it_is_written(self):
        x = fluid.default_main_program().global_block().create_var("x", [-1, 2], "float32")
        y = layers.reduce_sum(x, dim=1)
        assert run([y], {"x": np.ones((3, 2), "float32")})[0].tolist() == [2, 2, 2]
        with pytest.raises(ValueError, match="needs `x`, which is not fed"):
            run([y])

    def test_what_nothing_reads_need_not_be_fed(self, tmp_path):
        x, label = layers.data("x", [2]), layers.data("label", [1], dtype="int64")
        y = x * 2.0
        feed = {"x": np.ones((1, 2), "float32")}
        for program in (fluid.default_main_program(), fluid.default_main_program().clone()):
            for more in ({}, {"label": np.zeros((1, 1), "int64")}):
                found = fluid.Executor().run(program, feed={**feed, **more}, fetch_list=[y.name])
                assert found[0].tolist() == [[2.0, 2.0]]
        exe = fluid.Executor()
        assert exe.run(feed={**feed, "label": np.array([[3]])}, fetch_list=[label])[0].tolist() == [[3]]
        fluid.io.save_inference_model(str(tmp_path), ["x", "label"], [y], exe)
        program, names, targets = fluid.io.load_inference_model(str(tmp_path), exe)
        found = exe.run(program, feed={**feed, "label": np.zeros((1, 1), "int64")}, fetch_list=targets)
        assert names == ["x", "label"] and found[0].tolist() == [[2.0, 2.0]]

    def test_numbers(self):
        x = layers.data("x", [1], append_batch_size=False)
        assert run([x * 2.0], {"x": 1.5})[0].tolist() == [3.0]

    def test_parameters(self):
        x = layers.data("x", [2])
        y = layers.matmul(x, layers.create_parameter([2, 1], "float32", "w"))
        feed = {"x": np.ones((1, 2), "float32")}
        assert run([y], {**feed, "w": np.array([[1.0], [2.0]])})[0].tolist() == [[3.0]]
        assert fluid.Executor().run(feed=feed, fetch_list=[y])[0].tolist() == [[3.0]]
        with pytest.raises(ValueError, match=r"`w` has the sizes \[2, 1\], and is fed \[2\]"):
            run([y], {**feed, "w": np.ones(2)})

    def test_whole_numbers_for_reals(self):
        x = layers.data("x", [1])
        assert run([x * 0.5], {"x": np.array([[3]])})[0].tolist() == [[1.5]]
        with pytest.raises(TypeError, match="has elements of float32, and is fed int64"):
            run([x], {"x": np.array([[2**24 + 1]])})

    def test_declared_again(self):
        x = layers.data("x", [3], lod_level=1)
        assert layers.data("x", [3], lod_level=1) is x
        with pytest.raises(ValueError, match="has a variable `x` already"):
            layers.data("x", [3])


class TestKnownSizes:
    def test_sizes_as_variables_are_known_where_they_are(self):
        x = layers.data("x", [3, 5])
        wide = layers.expand(layers.unsqueeze(layers.fc(x, 4), [1]), [1, layers.cast(layers.shape(x)[1], "int64"), 1])
        assert wide.shape == (-1, 3, 4)
        assert layers.reshape(x, [-1, layers.shape(x)[2]]).shape == (-1, 5)
        assert layers.fill_constant(layers.shape(layers.zeros([2, 4], "float32")), "float32", 1.0).shape == (2, 4)

    def test_a_size_of_one_is_not_taken_for_an_open_one(self):
        x, y = fluid.data("x", [None, None, 4]), layers.data("y", [4])
        wide = layers.unsqueeze(y, [1])
        total = x + layers.expand(wide, [1, layers.shape(wide)[1], 1])
        feed = {"x": np.zeros((2, 3, 4), "float32"), "y": np.ones((2, 4), "float32")}
        np.testing.assert_array_equal(run([total], feed)[0], np.ones((2, 3, 4)))

    def test_labels_fit_from_the_first_axis(self):
        scores = fluid.data("scores", [None, None, 5])
        label = fluid.data("label", [None, None], "int64")
        loss = layers.cross_entropy(layers.softmax(scores), label)
        values = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
        feed = {"scores": values, "label": np.array([[0, 1, 2], [3, 4, 0]])}
        (found,) = run([loss], feed)
        shares = np.exp(values) / np.exp(values).sum(-1, keepdims=True)
        np.testing.assert_allclose(found, -np.log(np.take_along_axis(shares, feed["label"][..., None], -1)[..., 0]), rtol=1e-5)
        with pytest.raises(ValueError, match="assume_dims"):
            run([loss], {**feed, "label": np.zeros((2, 4), "int64")})

    def test_a_memory_of_an_open_size(self):
        x = layers.data("x", [4, 2, 3], append_batch_size=False)
        start = layers.data("h", [3])
        rnn = layers.StaticRNN()
        with rnn.step():
            row = rnn.step_input(x)
            before = rnn.memory(init=start)
            now = row + before
            rnn.update_memory(before, now)
            rnn.step_output(now)
        (found,) = run([rnn()], {"x": np.ones((4, 2, 3), "float32"), "h": np.zeros((2, 3), "float32")})
        assert found[:, 0, 0].tolist() == [1, 2, 3, 4]


def test_an_open_number_of_rows_becomes_steps(fluid):
    layers = fluid.layers
    x = layers.data("x", [8])
    y = layers.fc(x, 4)
    steps = layers.reshape(y, [-1, 5, 4])
    again = layers.reshape(steps, [-1, 4])
    loss = layers.mean(again * y)
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    rows = np.arange(120, dtype="float32").reshape(15, 8) / 100
    found = exe.run(feed={"x": rows}, fetch_list=[y, steps, again])
    assert steps.shape == (-1, 5, 4) and found[1].shape == (3, 5, 4)
    np.testing.assert_array_equal(found[0].reshape(3, 5, 4), found[1])
    np.testing.assert_array_equal(found[0], found[2])
    with pytest.raises(ValueError, match="assume_dims"):
        exe.run(feed={"x": rows[:14]}, fetch_list=[steps])


def test_rows_without_lengths_that_nothing_reads(fluid):
    layers = fluid.layers
    x = layers.data("x", [4, 3, 8], append_batch_size=False, lod_level=2)
    plain = layers.data("plain", [2])
    loss = layers.mean(layers.fc(x, 2, num_flatten_dims=2)) + layers.mean(plain)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((4, 3, 8), "float32"), "plain": np.ones((7, 2), "float32")}
    assert np.isfinite(exe.run(feed=feed, fetch_list=[loss])[0]).all()
    with pytest.raises(ValueError, match="`x` has rows with 2 levels of lengths, and is fed ndarray without them"):
        exe.run(feed=feed, fetch_list=[layers.sequence_pool(x, "sum")])


def test_numbers_for_a_column(fluid):
    x = fluid.layers.data("x", [1], dtype="int64")
    (found,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.array([1, 2, 3])}, fetch_list=[x + 1])
    assert found.tolist() == [[2], [3], [4]]


def test_windows_of_images_of_different_sizes(fluid):
    layers = fluid.layers
    x, sizes = layers.data("x", [1, 4, 5]), layers.data("sizes", [2])
    every = layers.im2sequence(x, [2, 2], [1, 1])
    own = layers.im2sequence(x, [2, 2], [1, 1], input_image_size=sizes, out_stride=[2, 2])
    images = np.arange(40, dtype="float32").reshape(2, 1, 4, 5)
    feed = {"x": images, "sizes": np.array([[8, 10], [5, 7]], "float32")}
    found = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[every, own], return_numpy=False)
    rows, chosen = (np.array(value) for value in found)
    # The second image has 3 by 4 elements, so 2 by 3 windows.
    assert found[0].recursive_sequence_lengths() == [[12, 12]] and found[1].recursive_sequence_lengths() == [[12, 6]]
    np.testing.assert_array_equal(chosen, rows[[*range(12), 12, 13, 14, 16, 17, 18]])
