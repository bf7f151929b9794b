"""Arguments do their work, or are refused where they would change results: none is silently ignored."""

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl
import fluvial.fluid as fluid
import fluvial.fluid.layers as layers

#: Parameters of public functions that nothing reads, and why they change no result.
UNREAD = {
    "the wrapper of functions of variables reads them": "name cond device stop_gradient",
    "there is one place, and one device": (
        "place places device_ids device_count place_list force_cpu multi_devices num_places for_parallel use_nccl "
        "share_vars_from loss_name concurrency_list start_cpu_core_id current_endpoint trainer_id wait_port sync_stats "
        "is_distributed drop_last"
    ),
    "how fast, or with how much memory": (
        "use_cudnn use_double_buffer buffer_size thread_num num_workers use_buffer_reader use_shared_memory timeout "
        "use_multiprocess use_pipe queue_size use_program_cache build_strategy exec_strategy im2col_step max_len is_test "
        "checkpoints capacity sync_steps in_place compressor input_program skip_opt_set print_log level skip_grads "
        "backward_strategy save_intermediate_out cut_list"
    ),
    "the function is refused as a whole": "dataset thread debug fetch_list fetch_info print_period fetch_handler device_type",
    "Fluid asks for them, and does not use them": (
        "topk padding data_layout moving_mean_name moving_variance_name do_model_average_for_mean_and_var sample_size "
        "anchor_var executor eval_program reset_program feed_var_name fetch_var_name tracer_option is_data "
        "need_check_feed belong_to_optimizer new_para_name_checker throw_on_error with_details block lod_level pserver_program regularization"
    ),
    "what they ask for is done in any case": "order clip need_reorder is_copy persistable startup_program",
    "a class's methods have them for classes of users": (
        "kwargs time states outputs sample_ids sequence_lengths inputs named pre_hidden pre_cell is_old var rows "
        "context return_scalar copy loc scope program"
    ),
    "the element type is that of the input": "dtype",
    "methods of `ModelAverage`, which has nothing to minimize": (
        "loss params_grads no_grad_set parameter_list callbacks stat_dict grad_clip"
    ),
    "checked by another argument": "diag_step diag_val",
    "gradients of counts do not pass here, which the documentation says": "cvm",
}


def unread(path):
    """Functions of a file, each with a parameter that its body does not read."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        given = node.args
        names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg) if arg]
        read = {part.id for line in node.body for part in ast.walk(line) if isinstance(part, ast.Name)}
        body = [line for line in node.body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
        if len(body) == 1 and isinstance(body[0], ast.Raise):
            continue
        for name in names:
            if name not in read and name not in ("self", "cls"):
                yield node.name, name


def test_every_argument_is_read_or_changes_nothing():
    known = {name for names in UNREAD.values() for name in names.split()}
    folder = Path(__file__).parents[2] / "fluvial" / "fluid"
    found = [(path.name, *item) for path in sorted(folder.rglob("*.py")) for item in unread(path)]
    assert len(found) > 100
    assert [item for item in found if item[2].lstrip("_") not in known and not item[1].startswith("__")] == []


def in_program(build, feed=None):
    """What a function of variables gives when its program runs."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup), fluid.unique_name.guard():
        fetched = build()
        exe = fluid.Executor()
        exe.run(startup)
        return exe.run(main, feed=feed, fetch_list=fetched if isinstance(fetched, list) else [fetched])


def both_ways(build):
    """Values line by line, after it was checked that the program gives the same, with the same element types."""
    with fluid.dygraph.guard():
        found = [value.numpy() for value in build()]
    again = in_program(lambda: list(build()))
    for one, other in zip(found, again, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    return found


class TestOperators:
    def test_integers_are_divided_towards_zero(self):
        def build():
            x = layers.assign(np.array([7, -7, 2**60 + 3], "int64"))
            y = layers.assign(np.array([2, 2, 2], "int64"))
            return x / y, x / 2, x / 2.0, 15 / layers.assign(np.array([2, -2, 4], "int64")), x / layers.cast(y, "int32")

        by, by_number, by_whole, under, by_short = both_ways(build)
        for value in (by, by_number, by_whole, by_short):
            assert value.dtype == np.int64 and value.tolist() == [3, -3, 2**59 + 1]
        assert under.tolist() == [7, -7, 3]

    def test_the_variable_says_the_element_type(self):
        def build():
            x = layers.assign(np.array([0.5, 1.5], "float32"))
            n = layers.assign(np.array([2, 3], "int64"))
            return x * n, x / n, n + 1, 1 - n, n - layers.cast(n, "int32"), x + 1, 2 / x

        found = both_ways(build)
        assert [value.dtype.name for value in found] == [*["float32"] * 2, *["int64"] * 3, *["float32"] * 2]
        assert found[0].tolist() == [1.0, 4.5] and found[3].tolist() == [-1, -2]

    @pytest.mark.parametrize("other", [1.5, "float32"])
    def test_fractions_are_not_cut_off(self, other):
        with fluid.dygraph.guard():
            n = fluid.dygraph.to_variable(np.array([2, 3]))
            value = other if other == 1.5 else fluid.dygraph.to_variable(np.ones(2, other))
            for combine in (lambda: n + value, lambda: n / value, lambda: n * value, lambda: n**value):
                with pytest.raises(TypeError, match="integers .*calculated with"):
                    combine()
            # What is compared is not changed.
            assert (n > value).numpy().tolist() == [True, True]


class TestValues:
    def test_a_device_is_heeded(self):
        for make in (
            lambda device: layers.full([2], 1.0, device=device),
            lambda device: layers.randn([2], device=device),
            lambda device: layers.randint(0, 4, [2], device=device),
            lambda device: layers.randperm(4, device=device),
        ):
            with fluid.program_guard(fluid.Program(), fluid.Program()):
                make("cpu")
                with pytest.raises(ValueError, match="no device 'gpu'"):
                    make("gpu")

    def test_stop_gradient_is_heeded(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            assert layers.full([2], 1.0, stop_gradient=True).stop_gradient
            x = layers.randn([2], stop_gradient=False)
            assert not x.stop_gradient
            assert fluid.gradients(layers.reduce_sum(x * x), x) != [None]

    def test_names_by_place(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
            x = layers.data("x", [4, 2, 2])
            assert layers.maxout(x, 2, "wide").name == layers.maxout(x, 2, name="wider").name.replace("wider", "wide")

    def test_seeds_of_samples(self):
        def build(seed):
            x = layers.assign(np.ones((6, 3), "float32"))
            y = layers.assign(np.zeros((6, 1), "int64"))
            one = fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(np.arange(60.0).reshape(20, 3) / 60))
            return layers.nce(x, y, 20, param_attr=one, bias_attr=False, num_neg_samples=4, seed=seed)

        first, again, other = (in_program(lambda s=s: [build(s)])[0] for s in (5, 5, 6))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()

    def test_sampled_numbers_have_the_type_asked_for(self):
        x = np.array([[0, 1], [1, 0]], "float32")
        for dtype in ("float32", "int64"):
            (found,) = in_program(lambda dtype=dtype: layers.sampling_id(layers.assign(x), dtype=dtype))
            assert found.dtype == dtype and found.tolist() == [1, 0]

    def test_sparse_tables_without_rows_refuse_lazy_mode(self):
        for loss in (
            lambda x, y: layers.nce(x, y, 20, is_sparse=True),
            lambda x, y: layers.hsigmoid(x, y, 20, is_sparse=True),
        ):
            with fluid.program_guard(fluid.Program(), fluid.Program()):
                x, y = layers.data("x", [3]), layers.data("y", [1], dtype="int64")
                value = layers.mean(loss(x, y))
                with pytest.raises(NotImplementedError, match="lazy_mode"):
                    fluid.optimizer.Adam(0.1, lazy_mode=True).minimize(value)

    def test_assert_shows_as_many_elements_as_asked(self):
        def message(count):
            with pytest.raises(Exception, match="does not hold") as error:
                in_program(lambda: [layers.Assert(layers.zeros([1], "bool"), [layers.range(100, 130, 1, "int64")], count)][:0])
            return str(error.value)

        assert "[100, 101, 102]" in message(3) and "107, ..]" in message(-1)

    def test_inputs_of_other_kinds_are_refused(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            with pytest.raises(NotImplementedError, match="type"):
                layers.data("x", [4], type=fluid.core.VarDesc.VarType.SELECTED_ROWS)

    def test_channels_have_an_element_type(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            channel = fluid.make_channel(dtype="int64", capacity=1)
            with pytest.raises(TypeError, match="takes int64"):
                fluid.channel_send(channel, layers.fill_constant([1], "float32", 0))
            fluid.channel_send(channel, layers.fill_constant([1], "int64", 0))


class TestBlocks:
    def test_a_variable_of_the_same_name_is_the_same(self):
        block = fluid.Program().global_block()
        var = block.create_var("w", [3, 2], "float64")
        assert block.create_var(name="w") is var and block.create_var(name="w", shape=[3, 2], dtype="float64") is var
        with pytest.raises(ValueError, match=r"the sizes \[3, 2\], not \[2, 3\]"):
            block.create_var(name="w", shape=[2, 3])
        with pytest.raises(ValueError, match="elements"):
            block.create_var(name="w", dtype="int32")

    def test_keywords_are_known(self):
        block = fluid.Program().global_block()
        for call in (block.create_var, block.create_parameter):
            with pytest.raises(TypeError, match="keeps"):
                call(name="x", shape=[1], dtype="float32", keeps=True)
            with pytest.raises(NotImplementedError, match="error_clip"):
                call(name="x", shape=[1], dtype="float32", error_clip=fluid.clip.ErrorClipByValue(1.0))
        with pytest.raises(TypeError, match="attr"):
            block.append_op(type="scale", attr={})

    def test_an_initial_value(self):
        def build():
            var = fluid.default_main_program().global_block().create_var(
                name="v", shape=[2], dtype="float32", persistable=True, initializer=fluid.initializer.Constant(3.0)
            )
            return var + 1.0

        assert in_program(build)[0].tolist() == [4.0, 4.0]


class TestRuns:
    def test_use_prune(self):
        main, startup = fluid.Program(), fluid.Program()
        with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
            x = layers.data("x", [2])
            loss = layers.mean(layers.fc(x, 1))
            exe = fluid.Executor()
            exe.run(startup)
            feed = {"x": np.ones((1, 2), "float32")}
            (plain,) = exe.run(main, feed, [loss], use_prune=True)
            fluid.optimizer.SGD(0.1).minimize(loss)
            with pytest.raises(NotImplementedError, match="use_prune"):
                exe.run(main, feed, [loss], use_prune=True)
            assert exe.run(main, feed, [loss])[0] == plain
            with pytest.raises(NotImplementedError, match="return_merged"):
                exe.run(fluid.CompiledProgram(main).with_data_parallel(loss.name), feed, [loss], return_merged=False)

    def test_strategies_that_would_change_results(self):
        build, run = fluid.BuildStrategy(), fluid.ExecutionStrategy()
        build.gradient_scale_strategy = fluid.BuildStrategy.GradientScaleStrategy.One
        run.num_threads = 4
        with pytest.raises(NotImplementedError, match="scale the loss"):
            build.gradient_scale_strategy = fluid.BuildStrategy.GradientScaleStrategy.Customized
        with pytest.raises(NotImplementedError, match="Executor.run"):
            run.num_iteration_per_run = 3

    def test_variables_of_scopes(self):
        scope = fluid.Scope()
        assert scope.find_var("a") is None
        scope.var("a")
        assert scope.find_var("a") is not None and scope.new_scope().find_var("a") is not None
        assert scope.new_scope().find_var("b") is None

    def test_a_number_is_set_as_fluid_has_it(self):
        main, startup = fluid.Program(), fluid.Program()
        scope = fluid.Scope()
        with fluid.scope_guard(scope), fluid.program_guard(main, startup):
            fluid.optimizer.Adam(0.5).minimize(layers.mean(layers.fc(layers.data("x", [2]), 1)))
            exe = fluid.Executor()
            exe.run(startup)
            exe.run(main, {"x": np.ones((1, 2), "float32")})
            for var in filter(lambda var: var.persistable, main.list_vars()):
                tensor = scope.find_var(var.name).get_tensor()
                old = np.array(tensor)
                assert old.shape
                tensor.set(np.zeros_like(old), fluid.CPUPlace())
                assert not np.array(tensor).any()

    def test_clips_have_fluids_numbers(self):
        """The factor is `limit / max(norm, limit)`, and what is not cut down stays as it is."""
        values = [np.array([3.0, 4.0], "float32"), np.array([12.0], "float32")]

        def cut(clip):
            block = fluid.default_main_program().global_block()
            pairs = [
                (block.create_parameter(f"p{i}", value.shape, "float32"), layers.assign(value)) for i, value in enumerate(values)
            ]
            found = clip([*pairs, (pairs[0][0], None)])
            assert [var.name for var, _ in found] == ["p0", "p1"]
            return [grad for _, grad in found]

        whole = in_program(lambda: cut(fluid.clip.GradientClipByGlobalNorm(6.5)))
        assert [value.tolist() for value in whole] == [[1.5, 2.0], [6.0]]
        each = in_program(lambda: cut(fluid.clip.GradientClipByNorm(6.0)))
        assert [value.tolist() for value in each] == [[3.0, 4.0], [6.0]]
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            grads = cut(fluid.clip.GradientClipByValue(1.0, need_clip=lambda var: var.name == "p1"))
            assert grads[0].name.startswith("assign") and not grads[1].name.startswith("assign")


class TestFiles:
    def test_a_program_to_be_trained_further(self, tmp_path):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            y = layers.fc(layers.data("x", [2]), 1)
            with pytest.raises(NotImplementedError, match="fluid.io.save"):
                fluid.io.save_inference_model(str(tmp_path), ["x"], [y], fluid.Executor(), export_for_deployment=False)

    def test_inputs_of_a_traced_layer(self, tmp_path):
        class Two(fluid.dygraph.Layer):
            def forward(self, x, y):
                return x * 2.0, x + y

        with fluid.dygraph.guard():
            given = [fluid.dygraph.to_variable(np.ones((1, 2), "float32")) for _ in range(2)]
            _, traced = fluid.dygraph.TracedLayer.trace(Two(), given)
            with pytest.raises(ValueError, match="need input 1"):
                traced.save_inference_model(str(tmp_path), feed=[0])
            traced.save_inference_model(str(tmp_path), feed=[0], fetch=[0])
        exe = fluid.Executor()
        program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path), exe)
        assert len(feeds) == 1
        (found,) = exe.run(program, {feeds[0]: np.ones((1, 2), "float32")}, fetches)
        assert found.tolist() == [[2.0, 2.0]]

    def test_names_of_parameters(self, tmp_path):
        with fluid.dygraph.guard():
            linear = fluid.dygraph.Linear(2, 3)
            fluid.save_dygraph(linear.state_dict(), str(tmp_path / "m"))
            found, _ = fluid.load_dygraph(str(tmp_path / "m"), keep_name_table=True)
            table = found.pop("StructuredToParameterName@@")
            assert table == {place: value.name for place, value in linear.state_dict().items()}
            assert set(fluid.load_dygraph(str(tmp_path / "m"))[0]) == set(found) == {"weight", "bias"}
        assert set(fl.load_weights(tmp_path / "m.pdparams")) == {"weight", "bias"}

    def test_files_of_fluid_itself(self, tmp_path):
        """Pickles of the second protocol, which Python 3 writes with `_codecs.encode` for bytes."""
        with fluid.dygraph.guard():
            linear = fluid.dygraph.Linear(2, 3)
            state = {name: np.full(value.shape, 200.5, "float32") for name, value in linear.state_dict().items()}
            state["StructuredToParameterName@@"] = {"weight": "linear_0.w_0", "bias": "linear_0.b_0"}
            (tmp_path / "m.pdparams").write_bytes(pickle.dumps(state, 2))
            (tmp_path / "m.pdopt").write_bytes(pickle.dumps({"w_moment1_0": np.ones(3), "LR": {"last": 0.5}}, 2))
            params, options = fluid.load_dygraph(str(tmp_path / "m"))
            linear.set_dict(params)
            assert (linear.weight.numpy() == 200.5).all() and options["LR"] == {"last": 0.5}
        assert set(fl.load_weights(tmp_path / "m.pdparams")) == {"weight", "bias"}
        (tmp_path / "bad.pdparams").write_bytes(b"\x80\x02cos\nsystem\n(S'exit 1'\ntR.")
        with pytest.raises(ValueError, match=r"os\.system"):
            fluid.load_dygraph(str(tmp_path / "bad"))

    def test_memory_of_arrays(self):
        with fluid.dygraph.guard():
            kept, shared = np.ones(2, "float32"), np.ones(2, "float32")
            one, other = fluid.dygraph.to_variable(kept), fluid.dygraph.to_variable(shared, zero_copy=True)
            kept[0] = shared[0] = 4.0
            assert one.numpy()[0] == 1.0 and other.numpy()[0] == 4.0

    def test_arguments_of_loaders(self):
        with pytest.raises(TypeError, match="batchsize"):
            fluid.io.DataLoader([1, 2], batchsize=2)
        with pytest.raises(NotImplementedError, match="worker_init_fn"):
            fluid.io.DataLoader([1, 2], worker_init_fn=print)


class TestLayerObjects:
    def test_open_sizes_make_no_parameters_twice(self):
        """Where an open batch meets a known one, a function is called again, and takes the parameters that there are."""
        main, startup = fluid.Program(), fluid.Program()
        with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup), fluid.unique_name.guard():
            x, y = layers.data("x", [9]), layers.data("y", [5])
            unit, form = fluid.dygraph.GRUUnit(9), fluid.dygraph.BilinearTensorProduct(5, 4, 3)
            state, wide = layers.fill_constant([2, 3], "float32", 0.0), layers.fill_constant([2, 4], "float32", 1.0)
            for _ in range(2):
                state, _, _ = unit(x, state)
            loss = layers.mean(state) + layers.mean(form(y, wide))
            _, pairs = fluid.optimizer.SGD(0.5).minimize(loss)
            names = [var.name for var in (*unit.parameters(), *form.parameters())]
            assert [var.name for var in main.all_parameters()] == names == [var.name for var, _ in pairs]
            assert names == [f"{layer}_0.{end}" for layer in ("gru_unit", "bilinear_tensor_product") for end in ("w_0", "b_0")]
            exe = fluid.Executor()
            exe.run(startup)
            feed = {"x": np.ones((2, 9), "float32"), "y": np.ones((2, 5), "float32")}
            first, last = (exe.run(main, feed, [loss])[0][0] for _ in range(2))
            assert last < first


class TestReaders:
    def test_examples_in_place_of_variables(self):
        with fluid.dygraph.guard():
            reader = fluid.io.PyReader(feed_list=[np.empty([4, 2], "float32")], capacity=2, return_list=True)
            reader.decorate_batch_generator(lambda: iter([[np.ones([4, 2], "float32")]]))
            assert [batch[0].numpy().sum() for batch in reader()] == [8.0]


def test_states_of_programs(tmp_path):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        fluid.optimizer.Adam(0.5).minimize(layers.mean(layers.fc(layers.data("x", [2]), 1)))
        exe = fluid.Executor()
        exe.run(startup)
        exe.run(main, {"x": np.ones((1, 2), "float32")})
        fluid.io.save_persistables(exe, str(tmp_path / "d"), main)
        fluid.io.save_persistables(exe, str(tmp_path), main, filename="one")
        values = [var for var in main.list_vars() if var.persistable]
        with pytest.raises(TypeError, match="not a variable"):
            fluid.load_program_state(str(tmp_path / "one"), var_list=["fc_0.w_0"])
        with pytest.raises(RuntimeError, match="more tensors than the 1 of"):
            fluid.load_program_state(str(tmp_path / "one"), var_list=values[:1])
        for state in (fluid.load_program_state(str(tmp_path / "d")), fluid.load_program_state(str(tmp_path / "one"), values)):
            for var in values:
                tensor = fluid.global_scope().find_var(var.name).get_tensor()
                np.testing.assert_array_equal(np.array(tensor), state[var.name], strict=True)
            fluid.set_program_state(main, state)


class TestNames:
    def test_a_name_before_arguments_by_name(self):
        with fluid.dygraph.guard():
            relu = fluid.dygraph.PRelu("prelu", mode="all", param_attr=fluid.initializer.Constant(0.5))
            assert relu(fluid.dygraph.to_variable(np.array([[-2.0, 4.0]], "float32"))).numpy().tolist() == [[-1.0, 4.0]]

    def test_seeds_of_all_programs(self):
        program = fluid.Program()
        try:
            program.global_seed(102)
            assert program.random_seed == fluid.Program().random_seed == 102
        finally:
            program.global_seed(0)
        assert fluid.Program().random_seed == 0

    def test_boxes_that_leave_their_places(self):
        """A box whose middle may leave its place can overlap an object of the next one, and is not a background then."""

        def loss(scale):
            x = np.zeros((1, 6, 2, 2), "float32")
            x[0, 0] = 9.0
            box, label = np.array([[[0.6, 0.25, 0.5, 0.5]]], "float32"), np.zeros((1, 1), "int32")
            given = [fluid.dygraph.to_variable(value) for value in (x, box, label)]
            return layers.yolov3_loss(*given, [32, 32], [0], 1, 0.75, 32, scale_x_y=scale).numpy()[0]

        with fluid.dygraph.guard():
            assert loss(1.0) > loss(1.4)


def test_rows_of_their_own_come_in_any_sizes_for_a_list():
    def build():
        words = layers.data("words", [-1, 1], dtype="int64")
        return [layers.reshape(words, [-1])]

    (found,) = in_program(build, {"words": np.arange(10).reshape(2, 5)})
    assert found.tolist() == list(range(10))


def test_arrays_of_loops_are_written_in_place():
    """What `while_loop` was given stays as it is in both modes, but for arrays."""

    def build():
        i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
        values = layers.create_array("float32")
        layers.array_write(layers.fill_constant([2], "float32", 1.0), i, values)

        def body(i, values):
            layers.array_write(layers.array_read(values, i) * 2.0, i + 1, values)
            return [i + 1, values]

        last, _ = layers.while_loop(lambda i, values: layers.less_than(i, n), body, [i, values])
        return i, last, layers.array_read(values, n)

    before, last, value = both_ways(build)
    assert (before.tolist(), last.tolist(), value.tolist()) == ([0], [3], [8.0, 8.0])
