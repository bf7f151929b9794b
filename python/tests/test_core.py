"""Tensors, programs and control flow from Python, in both modes."""

import ast
import doctest
import importlib.util
import inspect
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl
from fluvial import _core, _modes

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_state():
    """Each test has a state scope of its own."""
    with fl.State() as state:
        yield state


def line_of(text):
    """The number of the line of this file that ends in a comment `# <text>`."""
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


def run_script(script):
    """What a script prints in a process of its own."""
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert run.returncode == 0, run.stderr
    return run.stdout


def both_modes(function, *inputs):
    """What a function gives line by line and as a program, after checking that they agree."""
    inputs = [fl.tensor(x) for x in inputs]
    with fl.State():
        direct = function(*inputs)
    direct = direct if isinstance(direct, (tuple, list)) else (direct,)
    program = fl.build(function, {f"x{i}": x for i, x in enumerate(inputs)})
    with fl.State():
        built = program.run(**{f"x{i}": x for i, x in enumerate(inputs)}).values()
    direct, built = ([np.asarray(x) for x in values] for values in (direct, built))
    for a, b in zip(direct, built, strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), program.text()
    return direct[0] if len(direct) == 1 else direct


class TestExample:
    def test_both_modes_give_the_same_bits(self):
        path = REPOSITORY / "examples/python/both_modes.py"
        spec = importlib.util.spec_from_file_location("both_modes", path)
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        direct, built = example.run("imperative"), example.run("program")
        assert direct[:2] == built[:2] and direct[0] > 1
        assert direct[2].keys() == built[2].keys() and len(direct[2]) == 5
        for name in direct[2]:
            assert direct[2][name].tobytes() == built[2][name].tobytes(), name


class TestArrays:
    @pytest.mark.parametrize("dtype", ["bool", "u1", "i1", "i4", "i8", "f2", "f4", "f8"])
    @pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3), (2, 3, 4)])
    def test_round_trip(self, dtype, shape):
        array = (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)
        for tensor in [fl.tensor(array), fl.from_numpy(array)]:
            back = tensor.numpy()
            assert back.dtype == array.dtype and back.shape == array.shape
            assert np.array_equal(back, array)
            assert tensor.tolist() == array.tolist()

    def test_strided_arrays(self):
        array = np.arange(24.0).reshape(2, 3, 4)
        repeated = np.broadcast_to(array, (5, 2, 3, 4))
        for view in [array.T, array[:, ::-1], array[:, 1:, ::2], repeated]:
            assert np.array_equal(fl.tensor(view).numpy(), view)
            assert np.array_equal(fl.from_numpy(view).numpy(), view)

    def test_out_is_a_view_and_in_a_copy(self):
        array = np.arange(6.0)
        copied, shared = fl.tensor(array), fl.from_numpy(array)
        assert np.shares_memory(shared.numpy(), array)
        assert not np.shares_memory(copied.numpy(), array)
        assert np.shares_memory(copied.numpy(), copied.numpy())
        view = copied.numpy()
        assert not view.flags.writeable
        del copied
        assert view.sum() == 15

    def test_unaligned_and_foreign_bytes(self):
        raw = np.zeros(17, np.uint8)[1:].view(np.float64)
        assert fl.from_numpy(raw).tolist() == [0.0, 0.0]
        odd = np.array([0, 2, 255], np.uint8).view(bool)
        assert fl.from_numpy(odd).tolist() == [False, True, True]

    def test_refused(self):
        with pytest.raises(TypeError, match="astype"):
            fl.tensor(np.zeros(2, np.longdouble))
        with pytest.raises(TypeError, match="astype"):
            fl.tensor(np.zeros(2, ">f4"))
        with pytest.raises(TypeError, match="bfloat16"):
            fl.tensor([1.0], dtype="bfloat16").numpy()

    def test_lists_and_dtypes(self):
        assert fl.tensor([[1.0, 2.0]]).dtype == fl.float32
        assert fl.tensor([1, 2]).dtype == fl.int64
        assert fl.tensor([True]).dtype == fl.bool
        assert fl.tensor(1.5, dtype=np.float64).dtype == "float64"
        assert fl.tensor([1.5], dtype=int).tolist() == [1]
        assert fl.tensor(0.1, dtype="f64").item() == 0.1
        assert np.asarray(fl.tensor([1.0])).dtype == np.float32
        assert np.asarray(fl.tensor([1.0]), dtype=np.float64).dtype == np.float64


class TestTensor:
    def test_operators(self):
        x = np.array([[1.0, -2.0], [3.0, 0.5]])
        a = fl.tensor(x)
        pairs = [
            (a + a, x + x), (a - 1, x - 1), (2 - a, 2 - x), (a * a, x * x), (a / 2, x / 2),
            (1 / a, 1 / x), (-a, -x), (+a, x), (abs(a), abs(x)), (a @ a, x @ x), (a**2, x**2),
            (2**a, 2**x), (a < 1, x < 1), (a >= a, x >= x), (a == 0.5, x == 0.5), (a != 3, x != 3),
            (~(a < 1), ~(x < 1)), ((a < 1) & (a > -1), (x < 1) & (x > -1)),
            (x + a, x + x), (x @ a, x @ x), (x < a, x < x), (a + x[0], x + x[0]),
        ]
        for ours, numpys in pairs:
            assert isinstance(ours, fl.Tensor)
            np.testing.assert_allclose(ours.numpy(), numpys, rtol=1e-15)

    @pytest.mark.parametrize(
        ("dtype", "number", "result"),
        [
            ("float32", 2, "float32"), ("float16", 2.5, "float16"), ("int32", 2, "int32"),
            ("int32", 2.0, "float32"), ("bool", 1, "int64"), ("uint8", True, "uint8"),
        ],
    )
    def test_numbers_take_the_type_of_the_tensor(self, dtype, number, result):
        x = fl.full((2,), 1.0, dtype)
        for y in [x + number, number * x, fl.maximum(x, number), fl.where(x == x, x, number)]:
            assert y.dtype == result
        assert fl.where(x == x, 1.0, 0.0).dtype == fl.float32

    def test_numbers_that_do_not_fit(self):
        with pytest.raises(ValueError, match="300 does not fit"):
            fl.full((2,), 1.0, "uint8") + 300
        big = 2**53 + 1
        assert (fl.tensor([0]) + big).item() == big

    def test_other_operands(self):
        x = fl.tensor([1.0])
        assert (x == None) is False  # noqa: E711
        assert (x != "one") is True
        with pytest.raises(TypeError):
            x + "one"
        with pytest.raises(TypeError, match="not a tensor, number or array"):
            fl.exp("one")
        assert len({x, x}) == 1

    def test_protocol(self):
        x = fl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        assert (x.shape, x.ndim, x.size, len(x)) == ((2, 3), 2, 6, 2)
        assert repr(x.dtype) == "fluvial.float32" and {fl.float32: 1}[x.dtype] == 1
        assert repr(fl.tensor([1.0, 2.0])) == "Tensor(f32[2] [1.0, 2.0])"
        one = fl.tensor(2.5)
        assert (float(one), int(one), bool(one)) == (2.5, 2, True)
        assert [10, 20, 30][fl.tensor(1)] == 20
        assert [type(fl.tensor(x).item()) for x in (1, 1.0, True)] == [int, float, bool]
        with pytest.raises(ValueError, match="no truth value"):
            bool(x)
        with pytest.raises(TypeError):
            len(one)
        assert [row.tolist() for row in x] == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

    def test_indexing(self):
        array = np.arange(24.0).reshape(2, 3, 4)
        x = fl.tensor(array)
        keys = [
            0, -1, (1, 2), (0, 1, 2), slice(None), (slice(None), 1), (..., 0), (None, 1),
            (slice(0, 2), ..., slice(None, None, -2)), (slice(None), None, 1), np.array([1, 0, 1]),
            (slice(None), np.array([[2], [0]])), (-1, slice(1, None), -2), [1, 0], [], (0, [2, 0]),
            (slice(None), [0, 2], [1, 3]), ([0, 1], slice(None), [1, 3]), (0, slice(None), [1, 3]),
            (np.array([[0], [1]]), 0, np.array([1, 2])), array > 10, (slice(None), array[0] > 5),
            (0, [True, False, True]), np.array([True, False]), True, False, (None, [1], ..., None),
            np.array(1), np.array([1, 0], dtype=np.int32), (array[:, :, 0] > 3, 2), (),
        ]
        for key in keys:
            expected = array[key]
            found = x[key].numpy()
            assert found.shape == expected.shape and np.array_equal(found, expected), key
        assert x[:, fl.tensor([2, 0])].shape == (2, 2, 4)
        assert np.array_equal(x[x > 10].numpy(), array[array > 10])
        for key in [2, -3, (0, 0, 0, 0), [2], (slice(None), [0, 3])]:
            with pytest.raises(IndexError):
                x[key]
        for key in ["a", 1.5, np.array([1.0]), (0, "a")]:
            with pytest.raises(TypeError):
                x[key]
        with pytest.raises(IndexError, match="mask"):
            x[[True, False, True]]

    def test_a_size_that_follows_from_the_others(self):
        x = fl.tensor(np.arange(6.0).reshape(2, 3))
        assert fl.reshape(x, -1).shape == (6,) and fl.reshape(x, (3, -1)).shape == (3, 2)
        assert fl.broadcast_to(x, (4, -1, -1)).shape == (4, 2, 3)
        with pytest.raises(ValueError, match="negative"):
            fl.full((2, -1), 0.0)
        flat = fl.build(lambda x: fl.reshape(x, (-1, 2)), {"x": "f32[batch, 4]"})
        assert "2*batch" in str(flat)

    def test_values_of_a_program_have_no_elements(self):
        def check(x):
            assert x.shape == ("batch", 2) and x.ndim == 2 and x.is_symbolic
            assert "batch" in repr(x)
            methods = [fl.Tensor.numpy, fl.Tensor.tolist, fl.Tensor.item]
            for use in [bool, float, int, len, iter, *methods]:
                with pytest.raises(RuntimeError, match="yet|only when the program runs"):
                    use(x)
            with pytest.raises(RuntimeError, match="fl.cond"):
                if x > 0:
                    pass
            return x

        fl.build(check, {"x": ("float32", ("batch", 2))})


class TestErrors:
    def test_kinds(self):
        x = fl.tensor([1.0, 2.0])
        cases = [
            (ValueError, lambda: x + fl.tensor([1.0, 2.0, 3.0])),
            (TypeError, lambda: fl.where(x, x, x)),
            (IndexError, lambda: fl.sum(x, axis=3)),
            (KeyError, lambda: fl.read_state("missing")),
            (fl.StateError, lambda: fl.assign_state("missing", 1.0)),
            (ValueError, lambda: fl.Program.parse("fluvial 1 main(")),
            (FileNotFoundError, lambda: fl.Program.load("/nowhere/at/all.fl")),
            (MemoryError, lambda: fl.exp(fl.full((2**40, 2**10), 0.0))),
            (ValueError, lambda: fl.full((-1,), 0.0)),
            (TypeError, lambda: fl.full((2,), 0.0, "complex")),
        ]
        for kind, fault in cases:
            with pytest.raises(kind):
                fault()

    def test_the_users_line_comes_first(self):
        a, b = fl.tensor([1.0, 2.0]), fl.tensor([1.0, 2.0, 3.0])
        with pytest.raises(ValueError) as operator:
            a + b  # operator
        with pytest.raises(ValueError) as function:
            fl.maximum(a, b)  # function
        with pytest.raises(ValueError) as derived:
            fl.mean(a, axis=(0, 0))  # derived
        for error, where in [(operator, "operator"), (function, "function"), (derived, "derived")]:
            assert str(error.value).startswith(f"{__file__}:{line_of(where)}: "), error.value
        assert "add(f32[2], f32[3])" in str(operator.value)

    def test_while_building_too(self):
        def wrong(x):
            return x + fl.tensor([1.0, 2.0, 3.0])  # building

        with pytest.raises(ValueError, match=f"{__file__}:{line_of('building')}: add"):
            fl.build(wrong, {"x": "f32[2]"})
        assert not fl.is_building()

    def test_exceptions_pass_through_unchanged(self):
        class Mine(Exception):
            pass

        def fail(*_):
            raise Mine("here")

        x = fl.tensor(1.0)
        calls = [
            lambda x: fl.cond(x > 0, fail, fail),
            lambda x: fl.while_loop(lambda x: x > 0, fail, x),
            lambda x: fl.scan(fail, x, fl.full((3,), 1.0)),
            lambda x: fl.parameter("p", (2,), init=fail),
        ]
        for call in calls:
            with pytest.raises(Mine, match="here") as error:
                call(x)
            assert error.traceback[-1].name == "fail"
            with pytest.raises(Mine, match="here"):
                fl.build(call, {"x": "f32[]"})
            assert not fl.is_building()

    def test_state_errors_show_their_message(self):
        with pytest.raises(fl.StateError) as error:
            fl.read_state("missing")
        assert "there is no state named `missing`\n  remedy: " in str(error.value)


class TestPrograms:
    def test_listing_and_lines(self):
        def double(x):
            return x * 2  # doubled

        program = fl.build(double, {"x": ("float32", ("n",))})
        place = f"{__file__}:{line_of('doubled')} in double"
        assert place in program.text() and __file__ not in str(program)
        assert "mul(%x" in str(program)
        assert program.inputs == {"x": "f32[n]"} and program.outputs == {"out0": "f32[n]"}
        assert repr(program) == "<Program (x) -> (out0)>"

    def test_files(self, tmp_path):
        program = fl.build(lambda x: {"y": fl.exp(x) + 1}, {"x": "f32[n]"})
        for name in ["a.fl", "a.flb"]:
            program.save(tmp_path / name)
            again = fl.Program.load(tmp_path / name)
            assert again == program
            assert again.run(x=np.zeros(2, np.float32))["y"].tolist() == [2.0, 2.0]
        assert fl.Program.parse(program.text()) == program
        assert pickle.loads(pickle.dumps(program)) == program

    def test_feeds(self):
        program = fl.build(lambda x, y: x * y, {"x": "f32[n]", "y": "float32"})
        assert program.run(x=np.ones(2, np.float32), y=3)["out0"].tolist() == [3.0, 3.0]
        assert program(fl.tensor([2.0]), 4.0).tolist() == [8.0]
        for feeds, message in [({}, "was not fed"), ({"z": 1.0}, "no input `z`")]:
            with pytest.raises(ValueError, match=message):
                program.run(**feeds)

    def test_building_scope(self):
        with fl.building() as b:
            x = b.input("x", "float32", ("n",))
            with fl.imperative():
                table = fl.exp(fl.tensor([0.0]))
                assert table.item() == 1.0 and not fl.is_building()
            b.output("y", x + table)
        assert b.program.run(x=fl.tensor([1.0, 2.0]))["y"].tolist() == [2.0, 3.0]
        with pytest.raises(ZeroDivisionError):
            with fl.building():
                1 / 0
        assert not fl.is_building()

    def test_a_program_inside_a_program(self):
        inner = fl.build(lambda x: x * 2, {"x": "f32[n]"})
        outer = fl.build(lambda x: inner(x) + inner(x), {"x": "f32[n]"})
        assert outer(fl.tensor([1.0])).tolist() == [4.0]
        x = fl.tensor([3.0]).track()
        fl.sum(inner(x)).backward()
        assert x.grad.tolist() == [2.0]

    def test_states(self, own_state):
        def count(x):
            step = fl.declare_state("step", (), "int64", init=5, role="counter")
            fl.assign_state("step", step + 1)
            return x * fl.parameter("w", (2,), init=lambda shape, dtype: fl.full(shape, 3.0, dtype))

        program = fl.build(count, {"x": "f32[2]"})
        for i in range(3):
            assert program(fl.tensor([1.0, 2.0])).tolist() == [3.0, 6.0]
            assert own_state["step"].item() == 6 + i
        count(fl.tensor([1.0, 2.0]))
        assert own_state["step"].item() == 9
        own_state["w"] = np.zeros(2, np.float32)
        assert program.run(x=fl.tensor([1.0, 2.0]))["out0"].tolist() == [0.0, 0.0]
        assert own_state.names() == ["rng", "step", "w"] and "w" in own_state
        assert program.states == {"rng": "i64[2]", "step": "i64[]", "w": "f32[2]"}


class TestControlFlow:
    def test_cond(self):
        def f(x):
            return fl.cond(fl.sum(x) > 0, lambda: (x * 2, x), lambda: (-x, x * x))

        for x in [np.array([1.0, 2.0]), np.array([-1.0, -2.0])]:
            y, z = both_modes(f, x)
            assert np.array_equal(y, x * 2 if x.sum() > 0 else -x)
        assert fl.cond(True, lambda: 1.0, lambda: 2.0).item() == 1.0

    def test_while_loop(self):
        def f(x):
            trips, y = fl.while_loop(
                lambda i, y: fl.sum(y) < 100, lambda i, y: (i + 1, y * 2), (0, x)
            )
            return trips, y

        trips, y = both_modes(f, np.array([1.0, 2.0]))
        assert trips == 6 and np.array_equal(y, [64.0, 128.0])

    def test_scan(self):
        def f(xs, start):
            last, (sums, squares) = fl.scan(lambda s, x: (s + x, (s + x, x * x)), start, xs)
            return last, sums, squares

        xs = np.array([1.0, 2.0, 3.0])
        last, sums, squares = both_modes(f, xs, np.array(10.0))
        assert last == 16 and np.array_equal(sums, [11, 13, 16]) and np.array_equal(squares, xs**2)
        step = lambda s, x: (s + x, None)  # noqa: E731
        last, nothing = fl.scan(step, fl.tensor(0.0), fl.tensor(xs, "float32"))
        assert last.item() == 6 and nothing == ()

    def test_if_else(self):
        def f(x):
            return fl.if_else(x < 0, x, lambda rows: -rows, lambda rows: rows * 10)

        assert np.array_equal(both_modes(f, np.array([-1.0, 2.0, -3.0])), [1, 20, 3])

    def test_gradients(self):
        def loss(x):
            y = fl.cond(fl.sum(x) > 0, lambda: x * x, lambda: x * 3)
            _, y = fl.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, y))
            return fl.sum(y)

        def gradient(x):
            x = x.track()
            return fl.grad(loss(x), x)

        def accumulated(x):
            x = x.track()
            loss(x).backward()
            return x.grad

        x = np.array([1.0, 2.0])
        for x, derivative in [(x, lambda x: 5 * x**4), (-x, lambda x: 12 * x**3)]:
            for function in [gradient, accumulated]:
                np.testing.assert_allclose(both_modes(function, x), derivative(x), rtol=1e-12)

    def test_second_order(self):
        def second(x):
            x = x.track()
            first = fl.grad(fl.sum(x * x * x), x, create_graph=True)
            return fl.grad(fl.sum(first), x)

        assert np.array_equal(both_modes(second, np.array([2.0])), [12.0])

    def test_random_numbers(self):
        def draw(x):
            fl.seed(3)
            noise = fl.normal(x)
            return fl.dropout(x, 0.5) + noise + fl.uniform(("float64", (4,)), -1.0, 1.0)

        first = both_modes(draw, np.ones(4))
        assert np.array_equal(first, both_modes(draw, np.ones(4)))

    def test_host_functions(self):
        fl.register_host("test.double", lambda x: x.numpy() * 2)
        x = np.array([1.0, 2.0])
        y = both_modes(lambda x: fl.host_call("test.double", [x], [x])[0], x)
        assert np.array_equal(y, x * 2)

        def fail(x):
            raise LookupError("inside")

        fl.register_host("test.fail", fail)
        program = fl.build(lambda x: fl.host_call("test.fail", [x], [x])[0], {"x": "f64[n]"})
        with pytest.raises(LookupError, match="inside"):
            program.run(x=x)


class TestScopes:
    def test_no_grad(self):
        x = fl.tensor(2.0).track()
        scope = fl.no_grad()
        with scope, scope:
            assert not (x * x).is_tracked
            with fl.enable_grad():
                assert (x * x).is_tracked
        assert (x * x).is_tracked and not (x * x).detach().is_tracked

    def test_leaves(self):
        x = fl.tensor([1.0, 2.0]).track()
        assert x.grad is None
        fl.sum(x * 3).backward()
        fl.sum(x).backward()
        assert x.grad.tolist() == [4.0, 4.0]
        x.zero_grad()
        assert x.grad is None
        (x * 2).backward(fl.tensor([1.0, 10.0]))
        assert x.grad.tolist() == [2.0, 20.0]
        with pytest.raises(RuntimeError, match="no gradient"):
            fl.tensor([1]).track()

    def test_threads(self):
        x = fl.tensor(np.ones((400, 400)))
        results = []

        def work():
            with fl.building() as b:
                b.output("y", b.input("x", "f64[n, n]") + 1)
            results.append((x @ x + 1).numpy().sum() + b.program(x).numpy().sum())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [400 * 400 * 401.0 + 400 * 400 * 2] * 4

    def test_interrupt(self):
        script = """
import fluvial as fl, os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
loop = fl.build(lambda x: fl.while_loop(lambda x: x >= 0, lambda x: x * 1.0, x), {"x": "f32[]"})
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    loop.run(x=1.0)
except KeyboardInterrupt:
    print("stopped")
assert loop.run(x=-1.0)["out0"].item() == -1.0
"""
        assert run_script(script) == "stopped\n"


class TestPackage:
    def test_docstrings_run(self, monkeypatch):
        # Put back afterwards, since examples choose a mode.
        monkeypatch.setattr(_modes._thread, "mode", None)
        globs = {"fl": fl, "np": np, "x": fl.tensor(1.0), "model": fl.exp}
        finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
        modules = [module for name, module in sys.modules.items() if name.startswith("fluvial._")]
        for module in modules:
            for item in vars(module).values():
                own = (getattr(item, "__module__", None) or "fluvial").startswith("fluvial")
                named = hasattr(item, "__name__") and not inspect.ismodule(item)
                if getattr(item, "__doc__", None) and own and named:
                    for test in finder.find(item, module=False, globs=globs):
                        runner.run(test)
        for test in finder.find(fl, module=False, globs=globs):
            runner.run(test)
        assert runner.summarize().failed == 0 and runner.tries > 40

    def test_stubs_name_what_there_is(self):
        tree = ast.parse((Path(fl.__file__).parent / "_core.pyi").read_text())
        aliases = {"TensorLike", "DTypeLike", "Shape", "TypeLike", "Initial", "Values", "T", "S", "OtherNames", "Size"}
        named = set()
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                named.add(node.name)
            elif isinstance(node, ast.AnnAssign):
                named.add(node.target.id)
        public = {name for name in vars(_core) if not name.startswith("_")} | {"Scope"}
        assert named - aliases == public
        assert set(fl.__all__) <= set(dir(fl))

    def test_import_leaves_numpy_alone(self):
        script = """
import time
start = time.perf_counter()
import fluvial
print(time.perf_counter() - start)
"""
        best = min(float(run_script(script)) for _ in range(3))
        print(f"import fluvial: {best * 1000:.1f} ms")
        assert run_script("import sys, fluvial; print('numpy' in sys.modules)") == "False\n"


def test_blocks_opened_and_closed_one_by_one():
    from fluvial import _core

    def doubled_until(x, limit):
        first = fl.sum(x) < limit
        (value,) = _core.begin_block([x])
        grown = value * 2.0
        body = _core.end_block([fl.sum(grown) < limit, grown])
        (grown,) = _core.while_of(first, [x], body)
        _core.begin_block([])
        then = _core.end_block([grown * 0.5])
        _core.begin_block([])
        otherwise = _core.end_block([-grown])
        (result,) = _core.cond_of(fl.sum(grown) > 2 * limit, then, otherwise)
        with pytest.raises(ValueError, match="used already"):
            _core.cond_of(first, then, otherwise)
        return result

    program = fl.build(lambda x: doubled_until(x, 10.0), {"x": "f32[n]"})
    assert program(fl.tensor([1.0, 2.0])).tolist() == [-4.0, -8.0]
    gradient = fl.build(
        lambda x: fl.grad(fl.sum(doubled_until(x, 10.0)), [x])[0], {"x": "f32[n]"}
    )
    assert gradient(fl.tensor([1.0, 2.0])).tolist() == [-4.0, -4.0]
