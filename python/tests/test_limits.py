"""`fl.limits`, checkpoints of runs, seeds of scripts: what a run may need, and what it goes on from."""

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import fluvial as fl
import fluvial.torch as torch


@fl.function
def endless(x):
    while x < 1:
        x = x * 0.5
    return x


class TestLimits:
    def test_trips(self):
        with pytest.raises(RuntimeError, match="loops made 500 trips, which is the limit") as caught:
            with fl.limits(steps=500):
                endless(fl.tensor(0.5))
        assert caught.value.kind == "limit"

    def test_time(self):
        with pytest.raises(RuntimeError, match="the limit of time"):
            with fl.limits(time=0.2):
                endless(fl.tensor(0.5))

    def test_memory(self):
        with pytest.raises(MemoryError, match="limit"):
            with fl.limits(memory=1 << 20):
                fl.zeros((1 << 20,)) + 1.0
        # It ends with its scope.
        assert (fl.zeros((1 << 20,)) + 1.0).shape == (1 << 20,)

    def test_outside_nothing_is_limited(self):
        with fl.limits(steps=10):
            pass
        program = fl.build(lambda x: {"y": x * 2}, {"x": "f32[n]"})
        assert program.run(x=fl.tensor([1.0]))["y"].tolist() == [2.0]

    @pytest.mark.parametrize("time", [-1.0, float("nan")])
    def test_no_time(self, time):
        with pytest.raises(ValueError, match="not a number of seconds"):
            fl.limits(time=time)


def counting():
    def run(x):
        def body(i, y):
            return [i + 1, y * 0.5]

        i, y = fl.while_loop(lambda i, y: i < 60, body, [fl.tensor(0), x])
        return {"y": y}

    return fl.build(run, {"x": "f32[4]"})


class TestCheckpoints:
    def test_a_damaged_one_is_told_of(self, tmp_path):
        program, x = counting(), np.ones(4, np.float32)
        whole = fl.run(program, {"x": x}, checkpoint=tmp_path, every=20)["y"].tolist()
        files = sorted(tmp_path.glob("step-*"))
        assert len(files) == 2 and len(list(tmp_path.iterdir())) == 2
        data = bytearray(files[-1].read_bytes())
        data[-1] ^= 1
        files[-1].write_bytes(data)
        with pytest.warns(UserWarning, match="a checkpoint is left out"):
            again = fl.run(program, {"x": x}, checkpoint=tmp_path, every=20)["y"].tolist()
        assert again == whole

    def test_other_inputs_are_refused(self, tmp_path):
        program = counting()
        fl.run(program, {"x": np.ones(4, np.float32)}, checkpoint=tmp_path, every=20)
        with pytest.raises(Exception, match="the input `x` is not what the run began with"):
            fl.run(program, {"x": np.zeros(4, np.float32)}, checkpoint=tmp_path, every=20)
        with pytest.raises(OSError, match="has checkpoints of another run"):
            fl.run(program, {"x": np.ones(4, np.float32)}, checkpoint=tmp_path, resume=False)

    def test_no_warning_without_a_cause(self, tmp_path):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fl.run(counting(), {"x": np.ones(4, np.float32)}, checkpoint=tmp_path, every=20)


SCRIPT = """
import sys
import fluvial as fl

if len(sys.argv) > 1:
    fl.seed(int(sys.argv[1]))
reader = fl.batch_reader("points.csv", batch_size=5)
layer = fl.nn.Linear(1, 1)
sgd = fl.optimizer.SGD(layer.parameters(), 0.1)
with reader.iterate(epochs=2) as (x, y):
    x, y = x.reshape((-1, 1)), y.reshape((-1, 1))
    sgd.minimize(fl.mean(fl.square(layer(x) - y)))
"""


def test_a_seed_in_a_script_is_that_of_its_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    points = "".join(f"{i % 5}.5,{i % 5}.0\n" for i in range(20))
    (tmp_path / "points.csv").write_text("x,y\n" + points)

    def weights(*args):
        build = [sys.executable, "-m", "fluvial._build", "train.py", "-o", "train.flb", *args]
        package = os.path.dirname(os.path.dirname(os.path.abspath(fl.__file__)))
        subprocess.run(build, check=True, timeout=120, env={**os.environ, "PYTHONPATH": package})
        # States of a file begin anew in a scope of their own.
        with fl.State() as state:
            fl.Program.load("train.flb").initialise()
            return state["linear.weight"].tolist()

    assert weights("--", "7") != weights()
    assert weights("--", "7") == weights("--", "7")
    # The number of samples, which the batch size divides, is not part of the program.
    assert "f32[5]" not in fl.Program.load("train.flb").text()


ARRAYS = """
import numpy as np
import fluvial as fl

x = np.arange(40, dtype="f4").reshape(20, 2) / 40
reader = fl.reader({"x": x, "y": x.sum(1, keepdims=True)}).batch(4)
layer = fl.nn.Linear(2, 1)
sgd = fl.optimizer.SGD(layer.parameters(), 0.1)
with reader.MAPPED.iterate(epochs=2) as (x, y):
    sgd.minimize(fl.mean(fl.square(layer(x) - y)))
fl.run()
fl.save_states("python.safetensors")
"""


def test_a_script_over_arrays_in_memory_runs_by_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package = os.path.dirname(os.path.dirname(os.path.abspath(fl.__file__)))
    environment = {**os.environ, "PYTHONPATH": package, "FLUVIAL_PYTHON": sys.executable}

    def run(*words):
        return subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, timeout=120, env=environment, check=False
        )

    (tmp_path / "train.py").write_text(ARRAYS.replace("MAPPED", "take(5)"))
    assert run("train.py").returncode == 0
    ran = run("-m", "fluvial", "run", "train.py", "--save", "command.safetensors")
    assert ran.returncode == 0, ran.stderr
    weights = [fl.load_safetensors(name)["linear.weight"].tolist() for name in ("python.safetensors", "command.safetensors")]
    assert weights[0] == weights[1]
    # A file cannot bring them along.
    refused = run("-m", "fluvial", "build", "train.py", "-o", "train.flb")
    assert refused.returncode == 1 and not os.path.exists("train.flb")
    assert "train.py:9: the program reads arrays that are in memory" in refused.stderr
    assert "`y` f32[20, 1]" in refused.stderr and "remedy: save them" in refused.stderr
    # Functions of Python stay behind.
    (tmp_path / "train.py").write_text(ARRAYS.replace("MAPPED", "map(lambda x, y: (x, y))"))
    refused = run("-m", "fluvial", "run", "train.py")
    assert refused.returncode == 1 and "runs without Python" in refused.stderr, refused.stderr


def test_a_path_is_no_array():
    with pytest.raises(TypeError, match="(?s)test_limits.py.*is a path.*batch_reader"):
        fl.reader("points.csv")


def test_files_of_the_flavour_have_a_checksum(tmp_path):
    path = tmp_path / "net.pt"
    state = fl.nn.Linear(30, 20).state_dict()
    torch.save(state, path)
    whole = path.read_bytes()
    assert pickle.loads(whole).keys() == state.keys() == torch.load(path).keys()
    places = range(0, len(whole), 97)
    damaged = [whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in places]
    damaged += [whole[:at] + bytes(len(whole) - at) for at in places] + [whole[:at] for at in places]
    damaged += [whole + b"more", whole + whole]
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises((ValueError, TypeError, EOFError, pickle.UnpicklingError)):
            torch.load(path)
    # Those of others have none.
    path.write_bytes(pickle.dumps({"epoch": 3}, protocol=2))
    assert torch.load(path) == {"epoch": 3}
