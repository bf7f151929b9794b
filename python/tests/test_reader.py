"""Readers in both modes, and programs that read their data by themselves."""

import os
import subprocess
import sys
import textwrap
from contextlib import nullcontext

import fluvial as fl
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def scope():
    with fl.State():
        yield


def arrays(n=21):
    x = ((np.arange(3 * n) * 37) % 64).astype(np.float32).reshape(n, 3) / 32 - 1
    return {"x": x, "y": x @ np.array([[1.0], [-2.0], [0.5]], np.float32)}


def seen(reader, **options):
    return [[part.tolist() for part in batch] for batch in reader.iterate(**options)]


class TestStages:
    def test_batches_and_positions(self):
        reader = fl.reader(arrays(), name="r").shuffle(seed=3).batch(5)
        assert repr(reader) == "Reader(x: f32[batch, 3], y: f32[batch, 1]; 5 a pass)"
        assert len(reader) == 5 and list(reader.fields) == ["x", "y"]
        first = seen(reader)
        assert reader.position == (1, 0)
        assert seen(reader) != first
        reader.position = (0, 0)
        again = []
        for x, y in reader.iterate():
            again.append([x.tolist(), y.tolist()])
            if len(again) == 2:
                break
        assert reader.position == (0, 2)
        assert again + seen(reader) == first

    def test_prefetch_changes_nothing(self):
        plain = fl.reader(arrays(), name="a").shuffle(seed=1).batch(4)
        assert seen(plain, epochs=3) == seen(plain.prefetch(3).named("b"), epochs=3)

    def test_functions(self):
        reader = fl.reader({"x": np.arange(10)}).filter(lambda x: x.item() % 2 == 0)
        reader = reader.map(lambda x: (x, x * x), {"x": "i64[]", "square": "i64[]"}).batch(3)
        assert [s.tolist() for _, s in reader] == [[0, 4, 16], [36, 64]]

    def test_faults_of_functions_come_through(self):
        def bad(x):
            raise KeyError("no such thing")

        reader = fl.reader({"x": np.arange(4)}).map(bad).batch(2)
        with pytest.raises(KeyError, match="no such thing"):
            list(reader)
        with pytest.raises(KeyError, match="no such thing"):
            list(reader.prefetch(2))

    def test_iterables(self):
        reader = fl.reader([(1, 2.0), (3, 4.0), (5, 6.0)], {"a": "i64[]", "b": "f32[]"}).batch(2)
        assert [(a.tolist(), b.tolist()) for a, b in reader] == [([1, 3], [2.0, 4.0]), ([5], [6.0])]

    def test_sequences(self):
        def words():
            for n in (1, 3, 2):
                yield (np.arange(n),)

        reader = fl.reader(words, {"s": "i64[n]"}).pad("s", value=-1, length="n").batch(3)
        ((s, n),) = list(reader)
        assert s.tolist() == [[0, -1, -1], [0, 1, 2], [0, 1, -1]] and n.tolist() == [1, 3, 2]

    def test_other_stages(self):
        reader = fl.reader({"x": np.arange(12)})
        assert [x.item() for x in reader.skip(2).take(3)] == [2, 3, 4]
        assert [x.item() for x in reader.shard(1, 4)] == [1, 5, 9]
        assert [x.tolist() for x in reader.cast("x", "float32").scale("x", 0.5, 1).take(2)] == [1.0, 1.5]
        assert len(reader.repeat(3)) == 36
        with pytest.raises(ValueError, match="remedy"):
            fl.reader({"x": np.arange(12)}).select("z").fields

    def test_no_threads_are_left(self):
        import threading

        before = threading.active_count()
        for _ in range(50):
            for _ in fl.reader({"x": np.arange(100)}).batch(2).prefetch(2).iterate():
                break
        assert threading.active_count() == before


class TestFiles:
    def test_records(self, tmp_path):
        path = tmp_path / "some.rec"
        with fl.RecordWriter(path, {"x": "f32[3]", "y": "f32[1]"}, compression="zstd") as writer:
            for x, y in zip(*arrays().values()):
                writer.write(x, y=y)
        reader = fl.batch_reader(path, batch_size=8, shape=[[3], [1]], dtype=["float32", "float32"])
        x = np.concatenate([x.numpy() for x, y in reader])
        np.testing.assert_array_equal(x, arrays()["x"])
        with fl.RecordWriter(path, {"x": "f32[3]", "y": "f32[1]"}, append=True) as writer:
            writer.write([1, 2, 3], [4])
            with pytest.raises(ValueError, match="a record consists of: x, y"):
                writer.write([1, 2, 3])
        assert sum(len(x) for x, y in fl.batch_reader(path, batch_size=8)) == 22

    def test_formats(self, tmp_path):
        np.save(tmp_path / "x.npy", np.arange(6.0).reshape(3, 2))
        assert [x.tolist() for x in fl.batch_reader(tmp_path / "x.npy")] == [[0, 1], [2, 3], [4, 5]]
        (tmp_path / "t.csv").write_text("a,b\n1,2.5\n3,4.5\n")
        a, b = next(iter(fl.batch_reader(tmp_path / "t.csv", batch_size=2)))
        assert a.numpy().ravel().tolist() == [1, 3] and b.numpy().ravel().tolist() == [2.5, 4.5]
        with pytest.raises(ValueError, match="format"):
            fl.batch_reader(tmp_path / "t.what")
        with pytest.raises(FileNotFoundError, match="none.npy"):
            fl.batch_reader(tmp_path / "none.npy").fields


def fit(reader, epochs=1):
    """Trains, with a branch and an early end, and gives the last loss and the number of steps."""
    layer, steps, last = fl.nn.Linear(3, 1, name="fit"), fl.tensor(0), fl.tensor(0.0)
    sgd = fl.optimizer.Adam(layer.parameters(), 0.05)
    for x, y in reader.iterate(epochs=epochs):
        loss = fl.mean((layer(x) - y) ** 2)
        if steps % 2 == 0:
            loss = loss * 0.5
        sgd.minimize(loss)
        steps = steps + 1
        last = loss
        if steps == 12:
            break
    return last, steps


class TestInPrograms:
    def outcome(self, mode):
        reader = fl.reader(arrays(), name="train").shuffle(seed=5).batch(4).prefetch(2)
        with fl.State() as state, fl.mode(mode):
            last, steps = fl.function(fit)(reader, epochs=3)
            return last.item(), steps.item(), {n: state[n].tolist() for n in state.names()}

    def test_a_for_is_a_loop_of_the_program(self):
        imperative, program = self.outcome("imperative"), self.outcome("program")
        assert imperative == program
        assert program[1] == 12 and program[2]["train.position"] == [1, 6]

    def test_with_builds_and_runs(self):
        results = {}
        for mode in ("imperative", "program"):
            reader = fl.reader(arrays(), name="w").shuffle(seed=5).batch(4)
            with fl.State() as state, fl.mode(mode):
                with fl.program_guard(fl.Program()) if mode == "program" else nullcontext():
                    with reader.iterate() as (x, y):
                        cost = fl.layers.square_error_cost(fl.layers.fc(x, size=1), y)
                        fl.optimizer.SGD(learning_rate=0.1).minimize(fl.layers.mean(cost))
                    if mode == "program":
                        fl.run(fl.default_main_program())
                results[mode] = {n: state[n].tolist() for n in state.names()}
        assert results["imperative"] == results["program"]
        assert len(results["program"]) >= 3

    def test_a_reader_in_a_program_needs_iterate(self):
        reader = fl.reader(arrays())
        with pytest.raises(RuntimeError, match="iterate"):
            fl.build(lambda: next(iter(reader)), {})

    def test_checkpoints(self, tmp_path):
        def program():
            reader = fl.reader(arrays(), name="c").shuffle(seed=5).batch(4)
            with fl.building() as b:
                with reader.iterate(epochs=4) as (x, y):
                    layer = fl.nn.Linear(3, 1, name="ck")
                    loss = fl.mean((layer(x) - y) ** 2)
                    fl.optimizer.Adam(layer.parameters(), 0.1).minimize(loss)
            return b.program

        with fl.State() as whole:
            fl.run(program())
        with fl.State():
            fl.run(program(), checkpoint=tmp_path, every=5, keep=2)
        assert sorted(os.listdir(tmp_path)) == [f"step-{n:012}.safetensors" for n in (15, 20)]
        with fl.State() as resumed:
            fl.run(program(), checkpoint=tmp_path, every=5)
        for name in whole.names():
            assert whole[name].tolist() == resumed[name].tolist(), name


SCRIPT = """
    import sys
    import numpy as np
    import fluvial as fluid

    reader = fluid.batch_reader(file='./data.recordio', batch_size=128, shape=[[13], [1]], dtype=['float32', 'float32'], format='recordio')
    with reader.iterate() as (x, y):
        y_predict = fluid.layers.fc(input=x, size=1, act=None)
        cost = fluid.layers.square_error_cost(input=y_predict, label=y)
        avg_cost = fluid.layers.mean(cost)
        sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.001)
        sgd_optimizer.minimize(avg_cost)
    fluid.save_model(dir='./model')
"""


class TestScripts:
    @pytest.fixture
    def folder(self, tmp_path):
        rng = np.random.default_rng(0)
        with fl.RecordWriter(tmp_path / "data.recordio", {"x": "f32[13]", "y": "f32[1]"}) as writer:
            for _ in range(300):
                x = rng.normal(size=13).astype(np.float32)
                writer.write(x, [x.sum()])
        (tmp_path / "train.py").write_text(textwrap.dedent(SCRIPT))
        return tmp_path

    def python(self, folder, *args):
        env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(fl.__file__))}
        env.pop("FLUVIAL_MODE", None)
        return subprocess.run(
            [sys.executable, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=60
        )

    def test_a_script_that_only_builds_says_so(self, folder):
        done = self.python(folder, "train.py")
        assert done.returncode == 0, done.stderr
        assert "train.py built a program and did not run it" in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not (folder / "model").exists()

    def test_a_script_that_runs(self, folder):
        with open(folder / "train.py", "a") as script:
            script.write("fluid.run()\n")
        done = self.python(folder, "train.py")
        assert (done.returncode, done.stderr) == (0, "")
        with fl.State() as state:
            fl.load_states(folder / "model/model.safetensors")
            assert len(state) == 2 and all(state.role(n) == "parameter" for n in state.names())

    def test_built_and_compiled_elsewhere(self, folder, monkeypatch):
        monkeypatch.chdir(folder)
        compiled = fl.compile("train.py")
        with fl.State():
            compiled.run()
        assert (folder / "model/model.safetensors").exists()
        done = self.python(folder, "-m", "fluvial._build", "train.py", "-o", "train.flb")
        assert (done.returncode, done.stderr) == (0, "")
        program = fl.Program.load(folder / "train.flb")
        assert "for_each" in program.text()
        (folder / "empty.py").write_text("import fluvial\n")
        done = self.python(folder, "-m", "fluvial._build", "empty.py", "-o", "empty.flb")
        assert done.returncode != 0 and "built no program" in done.stderr


class TestCommand:
    def test_the_package_has_the_command(self, tmp_path):
        program = fl.build(lambda x: {"y": x * 2}, {"x": "f32[2]"})
        program.save(tmp_path / "double.fl")
        np.save(tmp_path / "x.npy", np.array([1.0, 2.0], np.float32))
        run = TestScripts().python
        done = run(tmp_path, "-m", "fluvial", "run", "double.fl", "--feed", "x=x.npy", "-o", "y.npz")
        assert done.returncode == 0, done.stderr
        assert np.load(tmp_path / "y.npz")["y"].tolist() == [2.0, 4.0]
        assert run(tmp_path, "-m", "fluvial", "run", "none.fl").returncode == 1

    def test_scripts_run(self, tmp_path):
        (tmp_path / "train.py").write_text(textwrap.dedent(SCRIPT))
        with fl.RecordWriter(tmp_path / "data.recordio", {"x": "f32[13]", "y": "f32[1]"}) as writer:
            for i in range(200):
                writer.write(np.full(13, i % 7, np.float32), [i % 5])
        done = TestScripts().python(tmp_path, "-m", "fluvial", "run", "train.py")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "model/model.safetensors").exists()


def test_the_demo_runs():
    examples = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python")
    done = TestScripts().python(examples, "demo.py", "--epochs", "1")
    assert done.returncode == 0, done.stderr
    assert "The parameters are the same, to the bit." in done.stdout
    digests = {line.split()[-1] for line in done.stdout.splitlines()[1:4]}
    assert len(digests) == 1


class TestModels:
    def test_round_trips(self, tmp_path):
        layer = fl.nn.Sequential(fl.nn.Linear(2, 3), fl.nn.BatchNorm1D(3), fl.nn.Linear(3, 1))
        program = fl.build(lambda x: {"y": layer(x)}, {"x": "f32[batch, 2]"})
        x = np.ones((4, 2), np.float32)
        y = program.run(x=x)["y"].tolist()
        for where in (tmp_path / "folder", tmp_path / "one.safetensors"):
            fl.save_model(where, program)
            with fl.State():
                assert fl.load_model(where).run(x=x)["y"].tolist() == y

    def test_what_is_needed_to_use_a_model(self, tmp_path):
        with fl.program_guard(fl.Program()):
            x, label = fl.data("x", (None, 3)), fl.data("label", (None, 1))
            guess = fl.layers.fc(x, size=1)
            loss = fl.layers.mean(fl.layers.square_error_cost(guess, label))
            fl.optimizer.Adam(learning_rate=0.1).minimize(loss)
            saved = fl.save_inference_model(tmp_path, ["x"], [guess])
            with pytest.raises(ValueError, match="further inputs: label"):
                fl.save_inference_model(tmp_path, ["x"], [loss])
        # Initialisers draw from the random stream.
        assert list(saved.inputs) == ["x"]
        assert sorted(saved.states) == ["fc_0.b_0", "fc_0.w_0", "rng"]
        with fl.State():
            assert fl.load_model(tmp_path).run(x=np.ones((2, 3), np.float32))["out0"].shape == (2, 1)

    def test_a_program_saves_and_loads(self, tmp_path):
        def program(first):
            with fl.building() as b:
                w = fl.parameter("w", (2,), init=first)
                fl.load_model(tmp_path) if first == 0.0 else fl.save_model(tmp_path)
                b.output("w", fl.read_state("w") * 1)
            return b.program

        with fl.State():
            program(3.0).run()
        with fl.State() as state:
            assert program(0.0).run()["w"].tolist() == [3.0, 3.0]
            assert state["w"].tolist() == [3.0, 3.0]

    def test_everything_that_does_not_fit_is_told_at_once(self, tmp_path):
        with fl.State() as state:
            state.insert("a", np.ones(2, np.float32), "parameter")
            state.insert("b", np.ones(3, np.float32), "parameter")
            fl.save_states(tmp_path / "s.safetensors")
        with fl.State() as state:
            state.insert("a", np.zeros(5, np.float32), "parameter")
            state.insert("b", np.zeros(3, np.float64), "parameter")
            with pytest.raises(ValueError) as fault:
                fl.load_states(tmp_path / "s.safetensors", names=["a", "b", "c", "d"])
            for part in ("`a` is f32[5]", "`b` is f64[3]", "`c` is not", "`d` is not", "remedy"):
                assert part in str(fault.value)
            assert state["b"].tolist() == [0, 0, 0]
            loaded = fl.load_states(
                tmp_path / "s.safetensors", names=["b", "z"], cast=True, strict=False
            )
            assert state["b"].tolist() == [1, 1, 1] and loaded.missing == ["z"]
            loaded = fl.load_states(tmp_path / "s.safetensors", rename={"a": "x.a", "b": "x.b"})
            assert loaded.names == ["x.a", "x.b"] and state["x.a"].tolist() == [1, 1]
            loaded = fl.load_states(
                tmp_path / "s.safetensors", rename=lambda key: "only" if key == "a" else None
            )
            assert loaded.names == ["only"]
