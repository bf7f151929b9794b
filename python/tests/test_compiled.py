"""Compiled programs: running, reports, the lockstep check, profiles."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl


@pytest.fixture(autouse=True)
def own_state():
    """Each test has a state scope of its own."""
    with fl.State() as state:
        yield state


def line_of(text):
    """The number of the line of this file that ends in a comment `# <text>`."""
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


def two_outputs():
    return fl.build(lambda x: {"y": fl.exp(x) * 2, "z": x + 1}, {"x": "f32[n]"})


class TestRun:
    def test_compiled_and_interpreted_agree(self):
        def f(x):
            y = fl.while_loop(lambda y: fl.sum(y) < 100, lambda y: y * 1.5, x)
            return y, fl.softmax(y, 0), fl.mean(fl.tanh(y) + fl.exp(-y))

        program = fl.build(f, {"x": "f32[n]"})
        for n in [1, 7, 100]:
            x = np.linspace(0.1, 1, n, dtype=np.float32)
            ours = program.run(x=x)
            reference = program.run({"x": x}, compiled=False)
            assert ours.keys() == reference.keys() == {"out0", "out1", "out2"}
            for name in ours:
                assert ours[name].numpy().tobytes() == reference[name].numpy().tobytes()

    def test_fetch(self):
        program = two_outputs()
        assert list(program.run(x=[0.0], fetch=["z"])) == ["z"]
        assert program.run({"x": [0.0]}, fetch=["z", "y"])["y"].tolist() == [2.0]
        with pytest.raises(ValueError, match="no output"):
            program.run(x=[0.0], fetch=["w"])

    def test_called_by_position_and_name(self):
        program = fl.build(lambda x, y: x - y, {"x": "f32[n]", "y": "f32[n]"})
        for compiled in [program, fl.compile(program)]:
            assert compiled([3.0], y=[1.0]).tolist() == [2.0]
            assert compiled(y=[3.0], x=[1.0]).tolist() == [-2.0]
            with pytest.raises(ValueError, match="fed twice"):
                compiled([3.0], [1.0], x=[1.0])
            with pytest.raises(ValueError, match="takes 2 inputs"):
                compiled([3.0], [1.0], [1.0])

    def test_faults_name_the_users_line(self):
        program = fl.build(lambda x: x * 2, {"x": "f32[2]"})
        with pytest.raises(ValueError) as error:
            program.run(x=np.zeros(3, np.float32))  # wrong size
        assert str(error.value).startswith(f"{__file__}:{line_of('wrong size')}: ")
        with pytest.raises(TypeError, match="f64"):
            program.run(x=np.zeros(2))

        def inside(x):
            fl.assert_(fl.sum(x) > 0, "positive", [x])  # asserted
            return x

        program = fl.build(inside, {"x": "f32[n]"})
        with pytest.raises(AssertionError) as error:
            program.run(x=[-1.0])
        assert str(error.value).startswith(f"{__file__}:{line_of('asserted')}: ")

    def test_gradients_pass_through_a_call(self, own_state):
        w = fl.parameter("w", (2,), init=3.0)
        program = fl.build(lambda x: x * fl.parameter("w", (2,), init=3.0), {"x": "f32[2]"})
        x = fl.tensor([1.0, 2.0]).track()
        fl.sum(program(x)).backward()
        assert x.grad.tolist() == [3.0, 3.0] and own_state["w"].grad.tolist() == [1.0, 2.0]
        assert w.shape == (2,)
        with fl.no_grad():
            assert not program(x).is_tracked
        assert not program.run(x=x)["out0"].is_tracked

    def test_what_is_not_needed_is_not_fed(self):
        def f(x, label):
            y = x * 2
            return {"y": y, "loss": fl.sum(fl.square(y - label))}

        program = fl.build(f, {"x": "f32[n]", "label": "f32[n]"})
        assert program.run(x=[1.0, 2.0], fetch=["y"])["y"].tolist() == [2.0, 4.0]
        assert fl.compile(program, fetch="y")([3.0]).tolist() == [6.0]
        with pytest.raises(ValueError, match="`label` was not fed"):
            program.run(x=[1.0], fetch=["loss"])
        with pytest.raises(ValueError, match="no input `z`"):
            program.run(x=[1.0], z=[1.0], fetch=["y"])

    def test_a_training_step_is_not_recorded(self, own_state):
        def step(x):
            w = fl.parameter("w", (2,), init=1.0)
            loss = fl.sum(fl.square(w * x))
            fl.assign_state("w", w - 0.25 * fl.grad(loss, w))
            return loss

        program = fl.build(step, {"x": "f32[2]"})
        losses = [program([1.0, 1.0]), fl.compile(program)([1.0, 1.0])]
        assert [loss.item() for loss in losses] == [2.0, 0.5]
        assert not any(loss.is_tracked for loss in losses)

    def test_the_state_is_that_of_the_caller(self):
        def count(x):
            step = fl.declare_state("step", (), "int64", init=0, role="counter")
            fl.assign_state("step", step + 1)
            return x + fl.cast(step, "float32")

        f = fl.compile(fl.build(count, {"x": "f32[]"}))
        assert [f(0.0).item() for _ in range(3)] == [0.0, 1.0, 2.0]
        with fl.State() as other:
            assert f(0.0).item() == 0.0 and other["step"].item() == 1
        assert f(0.0).item() == 3.0

    def test_threads(self):
        f = fl.compile(fl.build(lambda x: fl.tanh(x @ x) + 1, {"x": "f64[n, n]"}))
        inputs = [fl.tensor(np.full((n, n), 1 / n)) for n in (50, 100, 150, 200)]
        expected = [f(x).numpy().tobytes() for x in inputs]
        found = [None] * 4

        def work(i):
            for _ in range(10):
                found[i] = f(inputs[i]).numpy().tobytes()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == expected

    def test_other_threads_run_meanwhile(self):
        loop = fl.build(
            lambda x: fl.while_loop(lambda x: x < 3e4, lambda x: x + 1.0, x), {"x": "f32[]"}
        )
        loop.run(x=3e4)
        done = threading.Event()
        thread = threading.Thread(target=lambda: (loop.run(x=0.0), done.set()))
        thread.start()
        ticks = 0
        while not done.is_set():
            ticks += 1
            time.sleep(0)
        thread.join()
        assert ticks > 10

    def test_interrupt(self):
        script = """
import fluvial as fl, os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
loop = fl.compile(
    fl.build(lambda x: fl.while_loop(lambda x: x >= 0, lambda x: x * 1.0, x), {"x": "f32[]"})
)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    loop(x=1.0)
except KeyboardInterrupt:
    print("stopped")
assert loop(x=-1.0).item() == -1.0
"""
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50)
        assert run.stdout == "stopped\n", run.stderr


class TestCompile:
    def test_forms_of_results(self):
        program = two_outputs()
        x = fl.tensor([0.0])
        assert [y.tolist() for y in fl.compile(program)(x)] == [[2.0], [1.0]]
        assert fl.compile(program, fetch="z")(x).tolist() == [1.0]
        (only,) = fl.compile(program, fetch=["y"])(x=x)
        assert only.tolist() == [2.0]
        f = fl.compile(program, "y")
        assert f.inputs == ["x"] and f.outputs == ["y"] and repr(f) == "<Compiled (x) -> (y)>"
        assert "fused" in str(f) and any("fuse" in what[0] for what in f.patches)
        with pytest.raises(TypeError, match="fl.build"):
            fl.compile(lambda x: x)

    def test_given_away(self):
        f = fl.compile(fl.build(lambda x: x * 2, {"x": "f32[n]"}), donate=True)
        x = fl.tensor(np.ones(1000, np.float32)) + 0
        before = x.__array__().__array_interface__["data"][0]
        y = f(x)
        assert y.__array__().__array_interface__["data"][0] == before and y[0].item() == 2.0
        with pytest.raises(ValueError, match="given away"):
            x + 1
        kept = fl.tensor(np.ones(1000, np.float32))
        view = kept.numpy()
        f(kept)
        assert view.sum() == 1000

    def test_memory_limit(self):
        def deep(x):
            w = fl.full((16, 16), 0.1).named("w")
            y = x
            for _ in range(24):
                y = fl.gelu(y @ w)
            return fl.grad(fl.mean(fl.square(y)), [x])[0]

        program = fl.build(deep, {"x": "f32[64, 16]"})
        x = np.linspace(-1, 1, 1024, dtype=np.float32).reshape(64, 16)
        free = fl.compile(program)
        limit = free.report(x).peak_bytes * 6 // 10
        bound = fl.compile(program, memory_limit=limit)
        assert bound.report(x).peak_bytes <= limit
        assert bound(x).numpy().tobytes() == free(x).numpy().tobytes()

    def test_exact_or_not(self):
        program = fl.build(lambda x: 1 / (1 + fl.exp(-x)), {"x": "f32[n]"})
        assert "sigmoid" not in str(fl.compile(program))
        assert "sigmoid" in str(fl.compile(program, fast=True))

    def test_it_becomes_part_of_another_program(self):
        f = fl.compile(two_outputs(), fetch="z")
        outer = fl.build(lambda x: f(x) * 10, {"x": "f32[n]"})
        assert outer([1.0]).tolist() == [20.0]


class TestTools:
    def test_report(self):
        program = fl.build(lambda x: fl.sum(fl.exp(x) * 2 + x, axis=1), {"x": "f32[n, 100]"})
        report = program.report(x="f32[50, 100]")
        assert report.peak_bytes < report.unplanned_bytes
        assert report.steps[0][1].startswith(__file__) and "KB" in str(report)
        assert program.report(x=np.ones((50, 100), np.float32)).peak_bytes == report.peak_bytes
        with pytest.raises(ValueError, match="open sizes"):
            program.report(x="f32[n, 100]")

    def test_profile(self, tmp_path):
        f = fl.compile(fl.build(lambda x: fl.cumsum(fl.matmul(x, x), 0), {"x": "f32[n, n]"}))
        path = tmp_path / "trace.json"
        with fl.profile(path) as profile:
            f(np.ones((4, 4), np.float32))
            f(np.ones((4, 4), np.float32))
        counts = {op: count for op, _, count in profile.by_op()}
        assert counts == {"matmul": 2, "cumsum": 2}
        assert all(line.startswith(__file__) for line, _, _ in profile.by_line())
        assert "matmul" in str(profile)
        assert {event["name"] for event in json.loads(path.read_text())} == {"matmul", "cumsum"}
        f(np.ones((4, 4), np.float32))
        assert {op: count for op, _, count in profile.by_op()} == counts

    def test_check(self):
        x = fl.tensor([1.0, 2.0])
        y, z = fl.check(lambda x: (fl.exp(x) * 2, fl.sum(x)), [x])
        assert z.item() == 3.0 and y.tolist() == (fl.exp(x) * 2).tolist()
        calls = []

        def different(x):
            calls.append(1)
            return fl.exp(x * float(len(calls)))  # differs

        with pytest.raises(RuntimeError) as error:
            fl.check(different, [x])
        message = str(error.value)
        assert message.startswith(f"{__file__}:{line_of('differs')}") and "imperatively" in message


def test_a_frozen_program_has_the_numbers_in_it():
    with fl.State():
        net = fl.nn.Sequential(fl.nn.Linear(3, 4), fl.nn.BatchNorm1d(4), fl.nn.ReLU(), name="net").eval()
        x = fl.uniform("f32[5, 3]")
        program = fl.build(net, {"x": "f32[5, 3]"}).freeze()
        expected = net(x)
        net.load_state_dict({name: 0 * value for name, value in net.state_dict().items()})
        assert not program.states
        fl.testing.assert_close(program(x), expected)


def test_what_a_program_prints_goes_to_sys_stdout(capsys):
    program = fl.build(lambda x: fl.print(x, "x"), {"x": "f32[]"})
    program(fl.tensor(3.0))
    assert "3" in capsys.readouterr().out
