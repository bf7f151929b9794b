"""Fluid's programs: executor, scopes, copies, files, readers, and what is refused."""

import os
import subprocess
import sys

import numpy as np
import pytest

RNG = np.random.RandomState(0)
XS = RNG.randn(16, 4).astype("float32")
YS = (XS[:, :1] - 2 * XS[:, 1:2]).astype("float32")


def regression(fluid, hidden=3):
    x = fluid.layers.data("x", shape=[4])
    y = fluid.layers.data("y", shape=[1])
    h = fluid.layers.fc(x, size=hidden, act="tanh")
    predict = fluid.layers.fc(h, size=1)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(predict, y))
    return predict, loss


def value(fluid, name):
    return np.array(fluid.global_scope().find_var(name).get_tensor())


class TestTraining:
    def test_as_fluid_does_it(self, fluid):
        predict, loss = regression(fluid)
        test = fluid.default_main_program().clone(for_test=True)
        fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        feed = {"x": XS, "y": YS}
        losses = [exe.run(fluid.default_main_program(), feed=feed, fetch_list=[loss])[0] for _ in range(40)]
        assert losses[0].shape == (1,) and losses[-1] < 0.3 * losses[0]
        weights = value(fluid, "fc_0.w_0")
        (tested,) = exe.run(test, feed=feed, fetch_list=[loss.name])
        assert tested < losses[-1]
        assert (value(fluid, "fc_0.w_0") == weights).all(), "a copy for tests updates nothing"

    def test_every_variable_by_name(self, fluid):
        predict, loss = regression(fluid)
        pairs = fluid.optimizer.SGD(0.1).minimize(loss)[1]
        assert [(p.name, g.name) for p, g in pairs] == [
            (name, f"{name}@GRAD") for name in ("fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0")
        ]
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        before = value(fluid, "fc_1.w_0")
        names = ["fc_0.tmp_0", "fc_1.w_0@GRAD", "fc_1.w_0", predict.name + "@GRAD", "learning_rate_0"]
        hidden, gradient, after, back, rate = exe.run(feed={"x": XS, "y": YS}, fetch_list=names)
        assert hidden.shape == (16, 3)
        np.testing.assert_allclose(after, before - 0.1 * gradient, rtol=1e-6)
        np.testing.assert_allclose(hidden.T @ back, gradient, rtol=1e-5)
        np.testing.assert_allclose(rate, [0.1])

    def test_the_startup_program_makes_values_anew(self, fluid):
        _, loss = regression(fluid)
        fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
        startup, exe = fluid.default_startup_program(), fluid.Executor()
        startup.random_seed = 7
        exe.run(startup)
        first = value(fluid, "fc_0.w_0")
        exe.run(feed={"x": XS, "y": YS})
        assert (value(fluid, "fc_0.w_0") != first).any()
        exe.run(startup)
        assert (value(fluid, "fc_0.w_0") == first).all()

    def test_values_depend_on_names_and_seed(self, fluid):
        regression(fluid)
        fluid.default_startup_program().random_seed = 7
        exe = fluid.Executor()
        found = []
        for _ in range(2):
            with fluid.scope_guard(fluid.Scope()):
                exe.run(fluid.default_startup_program())
                found.append(value(fluid, "fc_0.w_0"))
        assert (found[0] == found[1]).all()
        # Xavier's numbers of 4 inputs and 3 outputs.
        assert np.abs(found[0]).max() <= np.sqrt(6 / 7)


class TestScopes:
    def test_two_programs_built_alike(self, fluid):
        def build():
            main, startup = fluid.Program(), fluid.Program()
            with fluid.program_guard(main, startup), fluid.unique_name.guard():
                _, loss = regression(fluid)
                fluid.optimizer.SGD(0.1).minimize(loss)
            return main, startup, loss

        first, second = build(), build()
        assert first[2].name == second[2].name
        exe, feed = fluid.Executor(), {"x": XS, "y": YS}
        apart = [fluid.Scope(), fluid.Scope()]
        for (main, startup, _), scope in zip((first, second), apart):
            exe.run(startup, scope=scope)
        before = np.array(apart[1].find_var("fc_0.w_0").get_tensor())
        exe.run(first[0], feed=feed, scope=apart[0])
        assert (np.array(apart[1].find_var("fc_0.w_0").get_tensor()) == before).all()
        # In one scope they share what is called alike, as in Fluid.
        exe.run(first[0], feed=feed, scope=apart[1])
        assert (np.array(apart[1].find_var("fc_0.w_0").get_tensor()) != before).any()

    def test_names_differ_without_a_guard(self, fluid):
        x = fluid.layers.data("x", shape=[4])
        names = [p.name for _ in range(2) for p in [fluid.layers.fc(x, 2)] for p in fluid.default_main_program().all_parameters()]
        assert len(set(names)) == 4

    def test_set_and_find(self, fluid):
        regression(fluid)
        fluid.Executor().run(fluid.default_startup_program())
        tensor = fluid.global_scope().find_var("fc_0.b_0").get_tensor()
        tensor.set(np.array([1.0, 2.0, 3.0], "float32"), fluid.CPUPlace())
        assert value(fluid, "fc_0.b_0").tolist() == [1.0, 2.0, 3.0]
        assert fluid.global_scope().find_var("nothing") is None
        with pytest.raises(ValueError, match="sizes"):
            tensor.set(np.zeros((2, 2), "float32"), None)


class TestCopies:
    def test_text_and_bytes(self, fluid):
        predict, _ = regression(fluid)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        main = fluid.default_main_program()
        again = fluid.Program.parse_from_string(main.desc.serialize_to_string())
        (a,), (b,) = (exe.run(p, feed={"x": XS, "y": YS}, fetch_list=[predict.name]) for p in (main, again))
        assert (a == b).all()
        assert "matmul" in str(main) and main.num_blocks == 1
        assert {v.name for v in again.list_vars()} >= {"x", "y", "fc_0.w_0", predict.name}

    def test_a_copy_goes_on_by_itself(self, fluid):
        predict, loss = regression(fluid)
        copy = fluid.default_main_program().clone()
        with fluid.program_guard(copy):
            double = copy.global_block().var(predict.name) * 2.0
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        feed = {"x": XS, "y": YS}
        a, b = exe.run(copy, feed=feed, fetch_list=[predict.name, double])
        assert (b == 2 * a).all()
        with pytest.raises(ValueError, match="no variable"):
            exe.run(fluid.default_main_program(), feed=feed, fetch_list=[double])

    def test_dropout_and_batch_norm_in_use(self, fluid):
        x = fluid.layers.data("x", shape=[4])
        out = fluid.layers.dropout(fluid.layers.batch_norm(x), 0.5)
        main, exe = fluid.default_main_program(), fluid.Executor()
        test = main.clone(for_test=True)
        exe.run(fluid.default_startup_program())
        (trained,) = exe.run(main, feed={"x": XS}, fetch_list=[out])
        found = [exe.run(test, feed={"x": XS}, fetch_list=[out])[0] for _ in range(2)]
        assert (trained == 0).any() and (found[0] == found[1]).all() and not (found[0] == 0).any()


class TestFiles:
    def test_parameters(self, fluid, tmp_path):
        predict, loss = regression(fluid)
        fluid.optimizer.Adam(0.01).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        exe.run(feed={"x": XS, "y": YS})
        kept = {n: value(fluid, n) for n in ("fc_0.w_0", "fc_1.b_0", "adam_0.moment1.fc_0.w_0")}
        fluid.io.save_params(exe, str(tmp_path / "params"))
        fluid.io.save_persistables(exe, str(tmp_path / "all"), filename="states")
        assert sorted(os.listdir(tmp_path / "params")) == ["fc_0.b_0", "fc_0.w_0", "fc_1.b_0", "fc_1.w_0"]
        exe.run(fluid.default_startup_program())
        fluid.io.load_params(exe, str(tmp_path / "params"))
        assert (value(fluid, "fc_0.w_0") == kept["fc_0.w_0"]).all()
        exe.run(feed={"x": XS, "y": YS})
        fluid.io.load_persistables(exe, str(tmp_path / "all"), filename="states")
        for name, wanted in kept.items():
            assert (value(fluid, name) == wanted).all(), name

    def test_bytes_are_fluids(self, fluid, tmp_path):
        fluid.layers.create_parameter([2, 1], "float32", name="w", default_initializer=fluid.initializer.Constant(1.0))
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        fluid.io.save_params(exe, str(tmp_path))
        data = (tmp_path / "w").read_bytes()
        # Version, no levels, version, six bytes of type, FP32, sizes 2 and 1, elements.
        head = bytes(4) + bytes(8) + bytes(4) + (6).to_bytes(4, "little") + b"\x08\x05\x10\x02\x10\x01"
        assert data == head + np.ones(2, "<f4").tobytes()

    def test_inference_model(self, fluid, tmp_path):
        predict, loss = regression(fluid)
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        exe.run(feed={"x": XS, "y": YS})
        (wanted,) = exe.run(
            fluid.default_main_program().clone(for_test=True), feed={"x": XS, "y": YS}, fetch_list=[predict]
        )
        fluid.io.save_inference_model(str(tmp_path), ["x"], [predict], exe)
        with fluid.scope_guard(fluid.Scope()):
            program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path), exe)
            (found,) = exe.run(program, feed={feeds[0]: XS}, fetch_list=fetches)
        assert feeds == ["x"] and (found == wanted).all()
        with pytest.raises(ValueError, match="need y"):
            fluid.io.save_inference_model(str(tmp_path), ["x"], [loss], exe)

    def test_save_and_load(self, fluid, tmp_path):
        _, loss = regression(fluid)
        fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        exe.run(feed={"x": XS, "y": YS})
        kept = value(fluid, "fc_0.w_0")
        fluid.save(fluid.default_main_program(), str(tmp_path / "model"))
        exe.run(feed={"x": XS, "y": YS})
        fluid.load(fluid.default_main_program(), str(tmp_path / "model"), exe)
        assert (value(fluid, "fc_0.w_0") == kept).all()
        state = fluid.load_program_state(str(tmp_path / "model"))
        state["fc_0.b_0"] = np.full(3, 5.0, "float32")
        fluid.set_program_state(fluid.default_main_program(), state)
        assert value(fluid, "fc_0.b_0").tolist() == [5.0] * 3

    def test_damaged(self, fluid, tmp_path):
        regression(fluid)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        fluid.io.save_params(exe, str(tmp_path))
        with open(tmp_path / "fc_0.w_0", "r+b") as file:
            file.truncate(20)
        with pytest.raises(ValueError, match="middle of a tensor"):
            fluid.io.load_params(exe, str(tmp_path))


class TestReaders:
    def test_feeder_and_batch(self, fluid):
        from fluvial.fluid import paddle

        predict, loss = regression(fluid)
        feeder = fluid.DataFeeder(feed_list=["x", "y"], place=fluid.CPUPlace())
        reader = paddle.batch(paddle.reader.shuffle(lambda: zip(XS, YS), 8), batch_size=5)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        sizes = []
        for samples in reader():
            (found,) = exe.run(feed=feeder.feed(samples), fetch_list=[predict])
            sizes.append(found.shape[0])
        assert sizes == [5, 5, 5, 1]

    def test_py_reader(self, fluid):
        reader = fluid.layers.py_reader(capacity=4, shapes=[(-1, 4), (-1, 1)], dtypes=["float32", "float32"])
        x, y = fluid.layers.read_file(reader)
        loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
        reader.decorate_paddle_reader(fluid.io.batch(lambda: zip(XS, YS), 4))
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        for _ in range(2):
            reader.start()
            count = 0
            try:
                while True:
                    exe.run(fetch_list=[loss])
                    count += 1
            except fluid.core.EOFException:
                reader.reset()
            assert count == 4
        with pytest.raises(RuntimeError, match="start"):
            exe.run(fetch_list=[loss])

    def test_data_loader(self, fluid):
        predict, loss = regression(fluid)
        block = fluid.default_main_program().global_block()
        loader = fluid.io.DataLoader.from_generator(feed_list=[block.var("x"), block.var("y")], capacity=2)
        loader.set_sample_generator(lambda: zip(XS, YS), batch_size=8)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        assert [exe.run(feed=data, fetch_list=[predict])[0].shape for data in loader()] == [(8, 1), (8, 1)]

    def test_decorators(self, fluid):
        from fluvial.fluid.paddle import reader

        numbers = lambda: iter(range(6))  # noqa: E731
        assert list(reader.firstn(numbers, 2)()) == [0, 1]
        assert list(reader.chain(numbers, numbers)()) == [*range(6), *range(6)]
        assert list(reader.map_readers(lambda a, b: a * b, numbers, numbers)()) == [n * n for n in range(6)]
        assert list(reader.compose(numbers, numbers)())[1] == (1, 1)
        assert list(reader.buffered(numbers, 2)()) == list(range(6))
        assert list(reader.xmap_readers(lambda n: n + 1, numbers, 2, 3)()) == list(range(1, 7))
        assert sorted(reader.shuffle(numbers, 4)()) == list(range(6))
        assert sorted(reader.multiprocess_reader([numbers, numbers])()) == sorted([*range(6), *range(6)])
        with pytest.raises(reader.ComposeNotAligned):
            list(reader.compose(numbers, reader.firstn(numbers, 2))())

        def failing():
            yield 1
            raise KeyError("lost")

        with pytest.raises(KeyError, match="lost"):
            list(reader.buffered(failing, 2)())

    def test_parallel_and_compiled(self, fluid):
        predict, loss = regression(fluid)
        fluid.optimizer.SGD(0.01).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        compiled = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(loss_name=loss.name)
        assert exe.run(compiled, feed={"x": XS, "y": YS}, fetch_list=[loss])[0].shape == (1,)
        parallel = fluid.ParallelExecutor(use_cuda=False, loss_name=loss.name)
        halves = [{"x": XS[:8], "y": YS[:8]}, {"x": XS[8:], "y": YS[8:]}]
        assert parallel.run([predict.name], feed=halves)[0].shape == (16, 1)
        strategy = fluid.BuildStrategy()
        strategy.memory_optimize = True
        with pytest.raises(AttributeError, match="no setting"):
            strategy.memory_optimise = True


class TestRefusals:
    def test_gpus(self, fluid):
        for made in (lambda: fluid.CUDAPlace(0), lambda: fluid.cuda_places(), lambda: fluid.CUDAPinnedPlace()):
            with pytest.raises(RuntimeError, match="run on the CPU"):
                made()
        assert not fluid.is_compiled_with_cuda() and not fluid.core.is_compiled_with_cuda()

    def test_feeds(self, fluid):
        predict, loss = regression(fluid)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        with pytest.raises(ValueError, match="no variable `z` to feed"):
            exe.run(feed={"z": XS}, fetch_list=[predict])
        with pytest.raises(ValueError, match="needs `y`"):
            exe.run(feed={"x": XS}, fetch_list=[loss])
        with pytest.raises(TypeError, match="float32, and is fed int64"):
            exe.run(feed={"x": np.full(XS.shape, 2**24 + 1), "y": YS}, fetch_list=[loss])
        with pytest.raises(ValueError, match="cannot be fed"):
            exe.run(feed={"x": XS, "y": YS, predict.name: YS}, fetch_list=[loss])

    def test_names(self, fluid):
        with pytest.raises(AttributeError, match="remedy"):
            fluid.DatasetFactory
        with pytest.raises(AttributeError, match="no attribute `nothing`"):
            fluid.layers.nothing
        with pytest.raises(NotImplementedError, match="do not wait"):
            fluid.DistributeTranspiler().transpile(0, sync_mode=False)
        with pytest.raises(NotImplementedError, match="does not know Fluid's operator"):
            fluid.default_main_program().global_block().append_op(type="unheard_of")

    def test_other_programs(self, fluid):
        x = fluid.layers.data("x", [2])
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            with pytest.raises(RuntimeError, match="another program"):
                x + 1.0
        assert fluid.layers.data("x", [2]) is x
        with pytest.raises(ValueError, match="has a variable `x` already"):
            fluid.layers.data("x", [3])

    def test_arrays_beside_variables(self, fluid):
        x = fluid.layers.data("x", [2])
        found = fluid.Executor().run(
            feed={"x": np.ones((1, 2), "float32")}, fetch_list=[np.full(2, 3.0, "float32") - x, x - np.ones(2, "float32")]
        )
        assert [y.tolist() for y in found] == [[[2.0, 2.0]], [[0.0, 0.0]]]
        assert type(found[0].sum()) is np.float32 and float(found[0][:, :1]) == 2.0 and f"{found[0].max():.1f}" == "2.0"

    def test_values_before_a_run(self, fluid):
        x = fluid.layers.data("x", [2])
        for use in (lambda: x.numpy(), lambda: float(x), lambda: np.array(x), lambda: x.backward()):
            with pytest.raises(RuntimeError, match="no elements before it runs"):
                use()

    def test_open_sizes_are_checked_by_the_run(self, fluid):
        a = fluid.layers.data("a", [-1, -1, 2], append_batch_size=False)
        b = fluid.layers.data("b", [-1, -1, 2], append_batch_size=False)
        both = a + b
        ones = lambda *s: np.ones(s, "float32")  # noqa: E731
        assert fluid.Executor().run(feed={"a": ones(3, 4, 2), "b": ones(3, 4, 2)}, fetch_list=[both])[0].shape == (3, 4, 2)
        with pytest.raises(Exception, match="4|5"):
            fluid.Executor().run(feed={"a": ones(3, 4, 2), "b": ones(3, 5, 2)}, fetch_list=[both])


def test_the_front_is_loaded_when_it_is_imported():
    code = (
        "import sys, fluvial\n"
        "assert not any(name.startswith('fluvial.fluid') for name in sys.modules)\n"
        "import fluvial.fluid.layers as layers\n"
        "from fluvial.fluid.dygraph import Linear, guard\n"
        "import fluvial.fluid.paddle as paddle\n"
        "assert layers.fc is paddle.fluid.layers.fc\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_install_check(fluid, capsys):
    fluid.install_check.run_check()
    assert "works well" in capsys.readouterr().out
