"""Modes, programs built the Fluid way, and expressions of variables."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import fluvial as fl
from fluvial import _modes


@pytest.fixture(autouse=True)
def own_state():
    """Each test has a state scope of its own, and leaves the mode as it was."""
    former = _modes._thread.mode
    with fl.State() as state:
        yield state
    # It leaves the default program; the mode itself is not asked for afterwards.
    fl.set_mode("imperative")
    _modes._thread.mode = former


def script(text, **environment):
    """What a script prints in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=50,
        env=os.environ | environment,
    )
    return run.stdout if run.returncode == 0 else run.stderr


class TestMode:
    def test_set_and_scoped(self):
        fl.set_mode("program")
        assert fl.get_mode() == "program"
        with fl.mode("imperative"):
            assert fl.get_mode() == "imperative"
            with fl.mode("program"):
                assert fl.get_mode() == "program"
            assert fl.get_mode() == "imperative"
        assert fl.get_mode() == "program"
        with pytest.raises(ValueError, match="remedy"):
            fl.set_mode("eager")

    def test_imperative_inside_a_program(self):
        with fl.program_guard(fl.Program()):
            assert fl.is_building()
            with fl.mode("imperative"):
                assert not fl.is_building() and fl.exp(fl.tensor(0.0)).item() == 1.0
            assert fl.is_building()

    def test_environment(self):
        text = "import fluvial as fl; print(fl.get_mode())"
        assert script(text, FLUVIAL_MODE="program") == "program\n"
        assert script(text, FLUVIAL_MODE="") == "imperative\n"
        assert "remedy" in script(text, FLUVIAL_MODE="graph")

    def test_show_config(self, capsys):
        text = fl.show_config()
        assert capsys.readouterr().out == text + "\n"
        for word in ["fluvial", "python", "vector instructions", "threads", "mode"]:
            assert word in text


class TestFluid:
    def test_the_default_program(self):
        out = script(
            """
import numpy as np, fluvial as fl
fl.set_mode("program")
x = fl.data("x", [None, 2])
w = fl.parameter("w", (2, 1), init=1.0)
y = fl.matmul(x, w)
loss = fl.mean(y)
(slope,) = fl.gradients(loss, [w])
fl.assign_state("w", w - slope)
exe = fl.Executor()
exe.run(fl.default_startup_program())
for n in [1, 3]:
    found = exe.run(feed={"x": np.ones((n, 2), "float32")}, fetch_list=[loss, y])
    print(found[0].item(), found[1].shape)
assert "matmul" in str(fl.default_main_program())
fl.set_mode("imperative")
print(fl.exp(fl.tensor(0.0)).item())
"""
        )
        assert out == "2.0 (1, 1)\n0.0 (3, 1)\n1.0\n"

    def test_guards(self, own_state):
        main, startup = fl.Program(), fl.Program()
        with fl.program_guard(main, startup):
            x = fl.data("x", (None, 3))
            assert repr(x.shape) == "(batch, 3)"
            w = fl.parameter("w", (3,), init=2.0)
            y = x * w
            assert fl.default_main_program() is main and fl.default_startup_program() is startup
        assert not fl.is_building()
        exe = fl.Executor()
        exe.run(startup)
        assert own_state["w"].tolist() == [2.0, 2.0, 2.0]
        with fl.program_guard(main):
            z = fl.sum(y, axis=1)
        feed = {"x": np.ones((2, 3), np.float32)}
        a, b = exe.run(main, feed, [z, y])
        assert a.tolist() == [6.0, 6.0] and b.shape == (2, 3)
        (tensor,) = exe.run(main, feed, [z], return_numpy=False)
        assert isinstance(tensor, fl.Tensor)
        assert "mul" in str(main) and main.inputs == {"x": "f32[batch, 3]"}

    def test_compiled_once(self):
        main = fl.Program()
        with fl.program_guard(main):
            x = fl.data("x", ("n",))
            y = fl.exp(x)
        assert main.snapshot({"y": y}) == main.snapshot({"y": y})
        exe = fl.Executor()
        for n in range(1, 5):
            assert exe.run(main, {"x": [0.0] * n}, [y])[0].tolist() == [1.0] * n

    def test_gradients(self):
        main = fl.Program()
        with fl.program_guard(main):
            a, b = fl.data("a", ("n",)), fl.data("b", ("n",))
            y = fl.sum(a * b)
            ga, gb = y.grad(wrt=[a, b])
            gaa = (a * a).grad(wrt=a)
        feed = {"a": [1.0, 2.0], "b": [3.0, 4.0]}
        found = fl.Executor().run(main, feed, [ga, gb, gaa])
        assert [x.tolist() for x in found] == [[3.0, 4.0], [1.0, 2.0], [2.0, 4.0]]
        assert "wrt" in repr_of_gradient()

    def test_compile_of_tensors(self):
        with fl.program_guard(fl.Program()):
            x = fl.data("x", ("n",))
            f = fl.compile(x * 2)
            g = fl.compile([x * 2, x + 1])
        assert f(x=[1.0, 2.0]).tolist() == [2.0, 4.0]
        assert [y.tolist() for y in g([1.0])] == [[2.0], [2.0]]

    def test_saved(self, tmp_path):
        main = fl.Program()
        with fl.program_guard(main):
            x = fl.data("x", ("n",))
            main.output("y", x * 3)
        for name in ["p.fl", "p.flb"]:
            main.save(tmp_path / name)
            again = fl.Program.load(tmp_path / name)
            assert again.run(x=[2.0])["y"].tolist() == [6.0]
            assert fl.Executor().run(again, {"x": [2.0]}, ["y"])[0].tolist() == [6.0]
        with pytest.raises(TypeError, match="by name: y"):
            fl.Executor().run(again, {"x": [2.0]}, [x])

    def test_faults(self):
        with pytest.raises(RuntimeError, match="program_guard"):
            fl.data("x", (2,))
        main = fl.Program()
        with pytest.raises(ZeroDivisionError):
            with fl.program_guard(main):
                x = fl.data("x", (2,))
                fl.cond(fl.sum(x) > 0, lambda: 1 / 0, lambda: x)
        assert not fl.is_building()
        with fl.program_guard(main):
            y = x * 2
        assert fl.Executor().run(main, {"x": [1.0, 2.0]}, [y])[0].tolist() == [2.0, 4.0]
        with pytest.raises(RuntimeError):
            y + 1
        finished = fl.build(lambda x: x, {"x": "f32[]"})
        with pytest.raises(RuntimeError, match="fl.Program"):
            with fl.program_guard(finished):
                pass

    def test_another_thread_cannot_go_on(self):
        main, errors = fl.Program(), []

        def work():
            try:
                main.enter()
            except RuntimeError as error:
                errors.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert "another thread" in errors[0]

    def test_nested_guards(self):
        one, two = fl.Program(), fl.Program()
        with fl.program_guard(one):
            x = fl.data("x", (2,))
            with fl.program_guard(two):
                y = fl.data("y", (2,)) * 2
            z = x * 3
        exe = fl.Executor()
        assert exe.run(one, {"x": [1.0, 1.0]}, [z])[0].tolist() == [3.0, 3.0]
        assert exe.run(two, {"y": [1.0, 1.0]}, [y])[0].tolist() == [2.0, 2.0]


def repr_of_gradient():
    with fl.program_guard(fl.Program()):
        return repr((fl.data("x", (2,)) * 2).grad)


class TestVariables:
    def test_the_symbolic_flavour(self, tmp_path):
        A = fl.Variable("A")
        B = fl.Variable("B")
        C = B * A
        D = C + fl.Constant(1)
        f = fl.compile(D)
        d = f(A=np.ones(10), B=np.ones(10) * 2)
        assert d.tolist() == [3.0] * 10 and d.dtype == fl.float64
        gA, gB = D.grad(wrt=[A, B])
        g = fl.compile([gA, gB])
        found = g(A=np.ones(10), B=np.ones(10) * 2)
        assert [x.tolist() for x in found] == [[2.0] * 10, [1.0] * 10]
        D.save(tmp_path / "mygraph")
        again = fl.Program.load(tmp_path / "mygraph")
        assert again(A=np.ones(10), B=np.ones(10)).tolist() == [2.0] * 10

    def test_shapes_are_bound_at_the_call(self):
        x = fl.Variable("x")
        f = fl.compile((x * x).sum())
        assert f(x=np.ones(3)).item() == 3.0 and f(np.ones((2, 2))).item() == 4.0
        assert f(x=2.0).item() == 4.0
        y = 1 - x / 2
        assert fl.compile(y)(x=[2.0]).tolist() == [0.0]
        assert fl.compile(x[1:].exp())(x=[5.0, 0.0]).tolist() == [1.0]

    def test_functions_take_expressions(self):
        x, y = fl.Variable("x"), fl.Variable("y")
        assert fl.compile(fl.exp(x))(x=[0.0, 0.0]).tolist() == [1.0, 1.0]
        both = fl.sum(fl.concat([x, fl.maximum(y, 2.0)], axis=0), keepdims=True)
        assert fl.compile(both)(x=[1.0], y=[0.0, 5.0]).tolist() == [8.0]
        slope = fl.sum(fl.square(x)).grad(x)
        assert fl.compile(slope)(x=[3.0]).tolist() == [6.0]
        assert fl.exp(fl.tensor(0.0)).item() == 1.0 and fl.exp.__name__ == "exp"
        assert fl.clip(fl.tensor([3.0]), 0.0, 1.0).tolist() == [1.0]

    def test_declared_shapes(self, tmp_path):
        x = fl.Variable("x", shape=("n", 2))
        (x * 2).save(tmp_path / "p.fl")
        assert fl.Program.load(tmp_path / "p.fl").inputs == {"x": "f32[n, 2]"}
        assert fl.compile(x * 2)(x=np.ones((1, 2), np.float32)).tolist() == [[2.0, 2.0]]

    def test_faults(self):
        x, y = fl.Variable("x"), fl.Variable("y")
        with pytest.raises(RuntimeError, match="give it a shape"):
            (x + y).save("nowhere")
        f = fl.compile(x + y)
        with pytest.raises(ValueError, match="`y` was not fed"):
            f(x=1.0)
        with pytest.raises(ValueError, match="no variable"):
            f(x=1.0, y=1.0, z=2.0)
        with pytest.raises(RuntimeError, match="fl.function"):
            bool(x > y)
        with pytest.raises(ValueError, match="broadcast"):
            f(x=np.ones(2), y=np.ones(3))
        assert not fl.is_building() and repr(x + y) == "<expression of x, y>"
