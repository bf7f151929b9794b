"""Blocks of Fluid's programs: loops, branches, arrays and recurrences that write variables in place."""

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


class TestWhile:
    def test_counts_in_place(self):
        i = layers.fill_constant([1], "int64", 0)
        n = layers.fill_constant([1], "int64", 10)
        total = layers.fill_constant([1], "float32", 0.0)
        cond = layers.less_than(x=i, y=n)
        loop = layers.While(cond)
        with loop.block():
            layers.assign(total + 2.0, total)
            layers.increment(i, value=1, in_place=True)
            layers.less_than(x=i, y=n, cond=cond)
        found = run([i, total, cond])
        assert [x.tolist() for x in found] == [[10], [20.0], [False]]
        assert found[0].dtype == np.int64

    def test_no_trip(self):
        i = layers.fill_constant([1], "int64", 5)
        n = layers.fill_constant([1], "int64", 5)
        cond = layers.less_than(i, n)
        with layers.While(cond).block():
            layers.increment(i)
            layers.less_than(i, n, cond=cond)
        assert run([i])[0].tolist() == [5]

    def test_arrays_as_in_fluids_own_test(self):
        d = [layers.data(f"d{i}", shape=[10], append_batch_size=False) for i in range(3)]
        i = layers.zeros(shape=[1], dtype="int64")
        init = layers.zeros(shape=[10], dtype="float32")
        mem_array = layers.array_write(x=init, i=i)
        data_array = layers.array_write(x=d[0], i=i)
        i = layers.increment(i)
        layers.array_write(d[1], i, array=data_array)
        i = layers.increment(i)
        layers.array_write(d[2], i, array=data_array)
        i = layers.zeros(shape=[1], dtype="int64")
        array_len = layers.fill_constant(shape=[1], dtype="int64", value=3)
        cond = layers.less_than(x=i, y=array_len)
        while_op = layers.While(cond=cond)
        with while_op.block():
            v = layers.array_read(array=data_array, i=i)
            prev = layers.array_read(array=mem_array, i=i)
            result = layers.sums(input=[v, prev])
            i = layers.increment(x=i, in_place=True)
            layers.array_write(result, i=i, array=mem_array)
            layers.less_than(x=i, y=array_len, cond=cond)
        sum_result = layers.array_read(array=mem_array, i=i)
        loss = layers.mean(sum_result)
        fluid.backward.append_backward(loss)
        values = [np.random.RandomState(k).rand(10).astype("float32") for k in range(3)]
        feed = {f"d{k}": value for k, value in enumerate(values)}
        found, grad, length = run([sum_result, "d1@GRAD", layers.array_length(mem_array)], feed)
        np.testing.assert_allclose(found, sum(values), rtol=1e-6)
        np.testing.assert_allclose(grad, np.full(10, 0.1), rtol=1e-6)
        assert length.tolist() == [4]

    def test_nested(self):
        i = layers.fill_constant([1], "int64", 0)
        n = layers.fill_constant([1], "int64", 3)
        total = layers.fill_constant([1], "int64", 0)
        outer = layers.less_than(i, n)
        with layers.While(outer).block():
            j = layers.fill_constant([1], "int64", 0)
            inner = layers.less_than(j, i)
            with layers.While(inner).block():
                layers.assign(total + 1, total)
                layers.increment(j)
                layers.less_than(j, i, cond=inner)
            layers.increment(i)
            layers.less_than(i, n, cond=outer)
        assert run([total])[0].tolist() == [0 + 1 + 2]

    def test_states_are_written(self):
        counter = layers.create_global_var([1], 0.0, "float32", persistable=True, name="counter")
        i = layers.fill_constant([1], "int64", 0)
        n = layers.fill_constant([1], "int64", 4)
        cond = layers.less_than(i, n)
        with layers.While(cond).block():
            layers.increment(counter, 1.0)
            layers.increment(i)
            layers.less_than(i, n, cond=cond)
        run([])
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_main_program())
        tensor = fluid.global_scope().find_var("counter").get_tensor()
        assert np.array(tensor).tolist() == [8.0]

    def test_gradient_through_a_carried_value(self):
        x = layers.data("x", shape=[3], append_batch_size=False)
        y = layers.assign(x)
        i = layers.fill_constant([1], "int64", 0)
        n = layers.fill_constant([1], "int64", 3)
        cond = layers.less_than(i, n)
        with layers.While(cond).block():
            layers.assign(y * x, y)
            layers.increment(i)
            layers.less_than(i, n, cond=cond)
        loss = layers.reduce_sum(y)
        (grad,) = fluid.gradients(loss, x)
        value = np.array([1.0, 2.0, -1.0], "float32")
        found = run([y, grad], {"x": value})
        np.testing.assert_allclose(found[0], value**4)
        np.testing.assert_allclose(found[1], 4 * value**3)

    def test_mistakes(self):
        i = layers.fill_constant([1], "int64", 0)
        n = layers.fill_constant([1], "int64", 3)
        cond = layers.less_than(i, n)
        with pytest.raises(RuntimeError, match="does not write the condition"):
            with layers.While(cond).block():
                layers.increment(i)
        with pytest.raises(TypeError, match="use a bool variable"):
            layers.While(i)
        with pytest.raises(TypeError, match="known only when the program runs"):
            if cond:
                pass
        with layers.While(cond).block():
            inner = i + 1
            layers.increment(i)
            layers.less_than(i, n, cond=cond)
        with pytest.raises(RuntimeError, match="made in a block that is closed"):
            inner + 1
        with fluid.dygraph.guard(), pytest.raises(RuntimeError, match="ops run at once"):
            with layers.While(cond).block():
                pass


class TestSwitch:
    @pytest.mark.parametrize(("step", "rate"), [(50, 1.0), (150, 0.5), (500, 0.1)])
    def test_first_case_that_holds(self, step, rate):
        lr = layers.create_global_var([1], 0.0, "float32", persistable=True, name="lr")
        global_step = layers.fill_constant([1], "float32", step)
        first, second = (layers.fill_constant([1], "float32", v) for v in (100, 200))
        with layers.Switch() as switch:
            with switch.case(layers.less_than(global_step, first)):
                layers.assign(layers.fill_constant([1], "float32", 1.0), lr)
            with switch.case(layers.less_than(global_step, second)):
                layers.assign(layers.fill_constant([1], "float32", 0.5), lr)
            with switch.default():
                layers.assign(layers.fill_constant([1], "float32", 0.1), lr)
        np.testing.assert_allclose(run([lr])[0], [rate], rtol=1e-6)

    def test_without_default_the_value_stays(self):
        x = layers.fill_constant([2], "float32", 3.0)
        off = layers.fill_constant([1], "bool", False)
        with layers.Switch() as switch:
            with switch.case(off):
                layers.assign(x * 2.0, x)
        assert run([x])[0].tolist() == [3.0, 3.0]

    def test_a_value_in_some_cases_only(self):
        out = layers.create_tensor("float32")
        on = layers.fill_constant([1], "bool", True)
        with pytest.raises(RuntimeError, match="in some of the blocks only"):
            with layers.Switch() as switch:
                with switch.case(on):
                    layers.assign(layers.fill_constant([1], "float32", 1.0), out)


class TestIfElse:
    X = np.array([[1.0], [-2.0], [3.0]], "float32")

    def test_rows(self):
        x = layers.data("x", [1])
        zero = layers.fill_constant_batch_size_like(x, [-1, 1], "float32", 0.0)
        ie = layers.IfElse(layers.less_than(zero, x))
        with ie.true_block():
            ie.output(ie.input(x) * 2.0)
        with ie.false_block():
            ie.output(ie.input(x) - 1.0)
        (out,) = ie()
        (grad,) = fluid.gradients(layers.reduce_sum(out), x)
        found = run([out, grad], {"x": self.X})
        assert found[0].tolist() == [[2.0], [-3.0], [6.0]]
        assert found[1].tolist() == [[2.0], [1.0], [2.0]]

    def test_condition_at_the_end(self):
        x = layers.data("x", [1])
        zero = layers.fill_constant_batch_size_like(x, [-1, 1], "float32", 0.0)
        ie = layers.IfElse()
        with ie.true_block():
            d = x + 1.0
            ie.output(d, d * 2.0)
        with ie.false_block():
            d = x - 1.0
            ie.output(d, d + 1.0)
        o1, o2 = ie(layers.less_than(zero, x))
        found = run([o1, o2], {"x": self.X})
        assert [y.ravel().tolist() for y in found] == [[2.0, -3.0, 4.0], [4.0, -2.0, 8.0]]


class TestFunctions:
    def test_cond(self):
        x = layers.data("x", [2], append_batch_size=False)
        pred = layers.less_than(layers.reduce_sum(x), layers.fill_constant([1], "float32", 0.0))
        y, (z, w) = layers.cond(pred, lambda: (x * 2.0, [x, x + 1.0]), lambda: (x, [x * x, x]))
        (grad,) = fluid.gradients(layers.reduce_sum(y) + layers.reduce_sum(z), x)
        low, high = np.array([-3.0, 1.0], "float32"), np.array([3.0, 1.0], "float32")
        found = run([y, z, w, grad], {"x": low})
        assert [v.tolist() for v in found] == [[-6.0, 2.0], [-3.0, 1.0], [-2.0, 2.0], [3.0, 3.0]]
        found = run([y, z, w, grad], {"x": high})
        assert [v.tolist() for v in found] == [[3.0, 1.0], [9.0, 1.0], [3.0, 1.0], [7.0, 3.0]]

    def test_cond_writes_outer_variables(self):
        x = layers.fill_constant([1], "float32", 1.0)
        on = layers.data("on", [1], dtype="bool", append_batch_size=False)

        def double():
            layers.assign(x * 2.0, x)

        layers.cond(on, double)
        assert run([x], {"on": np.array([True])})[0].tolist() == [2.0]
        assert run([x], {"on": np.array([False])})[0].tolist() == [1.0]

    def test_cond_that_differs(self):
        x = layers.fill_constant([1], "float32", 1.0)
        on = layers.fill_constant([1], "bool", True)
        with pytest.raises(ValueError, match="kinds of results differ"):
            layers.cond(on, lambda: (x, x), lambda: x)

    @pytest.mark.parametrize(("index", "value"), [(0, 1.0), (1, 2.0), (2, 3.0), (7, 3.0)])
    def test_switch_case(self, index, value):
        i = layers.fill_constant([1], "int32", index)
        fns = [lambda v=v: layers.fill_constant([1], "float32", v) for v in (1.0, 2.0, 3.0)]
        assert run([layers.switch_case(i, fns)])[0].tolist() == [value]

    def test_case(self):
        x = layers.fill_constant([1], "float32", 0.3)
        pairs = [
            (layers.less_than(x, layers.fill_constant([1], "float32", bound)), lambda bound=bound: x * bound)
            for bound in (0.1, 0.5)
        ]
        np.testing.assert_allclose(run([layers.case(pairs, default=lambda: x)])[0], [0.15], rtol=1e-6)

    def test_while_loop(self):
        i = layers.fill_constant([1], "int64", 0)
        ten = layers.fill_constant([1], "int64", 10)
        x = layers.fill_constant([2], "float32", 1.0)
        out = layers.while_loop(lambda i, x: layers.less_than(i, ten), lambda i, x: [i + 1, x * 2.0], [i, x])
        found = run([*out, i, x])
        assert [v.tolist() for v in found] == [[10], [1024.0, 1024.0], [0], [1.0, 1.0]]

    def test_both_modes_agree(self):
        def compute(x):
            y = layers.cond(layers.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: -x)
            i = layers.fill_constant([1], "int64", 0)
            _, z = layers.while_loop(lambda i, z: i < 3, lambda i, z: [i + 1, z * y], [i, y])
            return z

        value = np.array([1.5, -0.5], "float32")
        x = layers.data("x", [2], append_batch_size=False)
        program = run([compute(x)], {"x": value})[0]
        with fluid.dygraph.guard():
            at_once = compute(fluid.dygraph.to_variable(value)).numpy()
        assert program.tobytes() == at_once.tobytes()


class TestRecurrences:
    def test_static_rnn(self):
        x = layers.data("x", shape=[4, -1, 3], append_batch_size=False)
        boot = layers.data("boot", shape=[3])
        rnn = layers.StaticRNN()
        with rnn.step():
            word = rnn.step_input(x)
            prev = rnn.memory(init=boot)
            hidden = layers.scale(prev + word, scale=0.5)
            rnn.update_memory(prev, hidden)
            rnn.step_output(hidden)
        out = rnn()
        (grad,) = fluid.gradients(layers.reduce_sum(out), boot)
        rng = np.random.RandomState(0)
        xs, first = rng.randn(4, 2, 3).astype("float32"), rng.randn(2, 3).astype("float32")
        found, found_grad = run([out, grad], {"x": xs, "boot": first})
        h, wanted = first, []
        for t in range(4):
            h = (h + xs[t]) * np.float32(0.5)
            wanted.append(h)
        np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-6)
        np.testing.assert_allclose(found_grad, np.full((2, 3), 0.5 + 0.25 + 0.125 + 0.0625), rtol=1e-6)

    def test_memory_by_the_batch(self):
        x = layers.data("x", shape=[3, -1, 2], append_batch_size=False)
        rnn = layers.StaticRNN()
        with rnn.step():
            word = rnn.step_input(x)
            total = rnn.memory(shape=[-1, 2], batch_ref=word, init_value=1.0)
            rnn.update_memory(total, total + word)
            rnn.output(total + word, word)
        sums, words = rnn()
        xs = np.arange(12, dtype="float32").reshape(3, 2, 2)
        found = run([sums, words], {"x": xs})
        np.testing.assert_allclose(found[0], np.cumsum(xs, 0) + 1.0)
        np.testing.assert_allclose(found[1], xs)


class TestPython:
    def test_py_func(self):
        x = layers.data("x", [3])
        out = fluid.default_main_program().current_block().create_var(name="out", shape=[-1, 3], dtype="float32")
        calls = []

        def tanh(a):
            calls.append(a.shape)
            return np.tanh(a)

        def tanh_grad(y, dy):
            return np.array(dy) * (1 - np.square(np.array(y)))

        layers.py_func(func=tanh, x=x, out=out, backward_func=tanh_grad, skip_vars_in_backward_input=x)
        (grad,) = fluid.gradients(layers.reduce_sum(out), x)
        value = np.array([[0.5, -1.0, 2.0]], "float32")
        found = run([out, grad], {"x": value})
        np.testing.assert_allclose(found[0], np.tanh(value), rtol=1e-6)
        np.testing.assert_allclose(found[1], 1 - np.tanh(value) ** 2, rtol=1e-5)
        assert calls

    def test_py_func_without_result(self):
        x = layers.data("x", [2])
        seen = []
        layers.py_func(func=lambda a: seen.append(np.array(a).sum()), x=x, out=None)
        run([x * 1.0], {"x": np.ones((2, 2), "float32")})
        assert seen == [4.0]

    def test_print(self, capfd):
        x = layers.data("x", [2])
        y = layers.Print(x, message="here")
        run([y], {"x": np.ones((1, 2), "float32")})
        assert "here" in capfd.readouterr().out


def looped(fluid, sizes=(3, 2), persists=True):
    """A loop whose body makes a variable."""
    layers = fluid.layers
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 4)
    x = layers.data("x", list(sizes), append_batch_size=False)
    total = layers.zeros_like(x)
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        inner = x * layers.cast(i, "float32")
        inner.persistable = persists
        layers.assign(total + inner, total)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    return inner, total


def test_what_a_block_made_is_kept_if_it_persists(fluid):
    inner, total = looped(fluid)
    loss = fluid.layers.mean(fluid.layers.fc(total, 2))
    loss.persistable = True
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for factor in (1.0, 2.0):
        x = np.full((3, 2), factor, "float32")
        found = exe.run(feed={"x": x}, fetch_list=[inner.name, loss, total])
        np.testing.assert_array_equal(found[0], x * 3)
        np.testing.assert_array_equal(found[2], x * 6)
        kept = fluid.global_scope().find_var(loss.name)
        assert np.array(kept.get_tensor()) == found[1]
        assert np.array(fluid.global_scope().find_var(inner.name).get_tensor()).tolist() == found[0].tolist()


def test_what_a_block_made_is_gone_otherwise(fluid):
    inner, _ = looped(fluid, persists=False)
    with pytest.raises(ValueError, match=r"is made inside of a block, perhaps many times in a run\n.*persistable = True"):
        fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.ones((3, 2), "float32")}, fetch_list=[inner.name])
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        with pytest.raises(NotImplementedError, match="is to persist, and is of the sizes .* which only the run knows"):
            looped(fluid, (-1, 2))
