"""The examples of `examples/concurrency`, at small sizes."""

import importlib
import pathlib

import pytest

import fluvial as fl

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "concurrency"


@pytest.fixture
def example(request, monkeypatch):
    """Calls the example that a test is called after."""
    monkeypatch.syspath_prepend(str(FOLDER))
    name = request.node.name.removeprefix("test_")
    module = importlib.import_module(name)
    yield lambda text: module.main(text.split())
    importlib.sys.modules.pop("data", None)


def test_every_example_has_a_test():
    names = {path.stem for path in FOLDER.glob("*.py")} - {"data"}
    assert names == {name.removeprefix("test_") for name in globals() if name.startswith("test_")} - {
        "every_example_has_a_test"
    }


def test_reading_ahead(example):
    assert example("--steps 60 --batch 32") > 0.4


def test_k_fold(example):
    scores = example("--folds 3 --steps 15 --samples 300")
    assert len(scores) == 3 and min(scores) > 0.3
    fl.set_num_threads(1)
    try:
        assert example("--folds 3 --steps 15 --samples 300") == scores
    finally:
        fl.set_num_threads(2)


def test_pipeline(example):
    assert example("--steps 60 --batch 32") > 0.3
    assert example("--steps 30 --batch 16") == example("--steps 30 --batch 16")


def test_evaluation_beside(example):
    scores = example("--steps 12 --every 3")
    assert len(scores) >= 2 and scores[-1] > scores[0]


def test_hogwild_word2vec(example):
    before, losses = example("--steps 60 --words 4000 --vocabulary 50 --dim 8 --tasks 3")
    assert len(losses) == 3 and max(losses) < before


def test_actors_and_learner(example):
    first, last = example("--rounds 25 --actors 4")
    assert last > first + 0.2
