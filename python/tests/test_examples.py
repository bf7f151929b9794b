"""The examples of `examples/models`: the same bits in both modes, after a stop, and from a program
file without Python.
"""

import importlib
import os
import pathlib
import subprocess
import sys

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
    command = [sys.executable, "-m", "fluvial", "run", "train.flb"]
    root = pathlib.Path(fl.__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"{task.metric}: f32[] ") == 2
    for file in ("model", "states"):
        path = f"{file}.safetensors"
        assert_same(arrays(f"file/{path}"), arrays(f"python/{path}"))


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
