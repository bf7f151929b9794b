"""What users of PyTorch write gives PyTorch's results under `fluvial.torch`."""

import json
import math
from pathlib import Path

import pytest
from torch_expressions import evaluated, expressions, names, plain

import fluvial as fl
import fluvial.torch as torch

GOLDEN = json.loads((Path(__file__).parent / "golden" / "torch_expressions.json").read_text())

#: What is not PyTorch's, and why.
EXCEPTIONS: dict[str, str] = {}


def differs(ours, theirs):
    """Where two results differ; nothing if they agree."""
    if isinstance(theirs, dict) and "dtype" in theirs and isinstance(ours, dict):
        for key in ("dtype", "shape"):
            if ours[key] != theirs[key]:
                return f"{key} {ours[key]}, not {theirs[key]}"
        return differs(ours["values"], theirs["values"])
    if isinstance(theirs, (list, dict)):
        if type(ours) is not type(theirs) or len(ours) != len(theirs):
            return f"{str(ours)[:100]}, not {str(theirs)[:100]}"
        pairs = zip(ours, theirs) if isinstance(theirs, list) else zip(ours.values(), theirs.values())
        return next((found for a, b in pairs if (found := differs(a, b))), None)
    if isinstance(theirs, float) and isinstance(ours, (int, float)) and not isinstance(ours, bool):
        return None if math.isclose(ours, theirs, rel_tol=2e-4, abs_tol=2e-5) else f"{ours}, not {theirs}"
    return None if ours == theirs and type(ours) is type(theirs) else f"{ours!r}, not {theirs!r}"


def outcome(code):
    """Why an expression does not give PyTorch's result; nothing if it does."""
    try:
        with fl.State():
            fl.seed(0)
            return differs(plain(evaluated(code, names(torch))), GOLDEN[code])
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"


def test_the_table_is_as_large_as_said():
    assert len(GOLDEN) == len(expressions()) >= 400


@pytest.mark.parametrize("code", expressions())
def test_expression(code):
    found = outcome(code)
    if code in EXCEPTIONS:
        assert found, "it agrees now: take it from the table of exceptions"
    else:
        assert not found, found


def test_share_that_agrees():
    assert len(EXCEPTIONS) <= 0.05 * len(GOLDEN)


def test_methods_follow_the_file():
    x = torch.tensor([[1.0, 4.0], [3.0, 2.0]])
    values, places = x.max(1)
    assert places.tolist() == [1, 0] and x.std().item() == pytest.approx(1.290994)
    with fl.mode("program"):
        assert fl.function(lambda x: x.max(1).indices)(x).tolist() == [1, 0]
    other = {"x": x}
    exec("found = x.max(1), x.std(), x.sort()", other)
    assert [part.tolist() for part in other["found"]] == [[4.0, 3.0], pytest.approx(1.118034), [[1.0, 4.0], [2.0, 3.0]]]


def test_missing_names_say_what_to_write():
    for name, words in [("distributed", "one process"), ("sparse", "lookup"), ("onnx", "fluvial.onnx"), ("zerros", "zeros")]:
        with pytest.raises(AttributeError, match=f"`fluvial.torch` has no attribute `{name}`\n  remedy: .*{words}"):
            getattr(torch, name)
    with pytest.raises(AttributeError, match="fluvial.torch.nn.functional"):
        torch.nn.functional.no_such_name
    with pytest.raises(AttributeError, match="remedy: `import fluvial.torch as torch` has PyTorch's `fliplr`"):
        fl.fliplr


def test_files(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    state = {"epoch": 3, "model": net.state_dict(), "losses": [0.5, 0.25], "names": ("a", None)}
    torch.save(state, tmp_path / "model.pt")
    found = torch.load(tmp_path / "model.pt", map_location="cpu")
    assert found["epoch"] == 3 and found["losses"] == [0.5, 0.25] and found["names"] == ("a", None)
    assert found["model"]["0.weight"].tolist() == net[0].weight.tolist()
    with pytest.raises(TypeError, match="class `Sequential` cannot be saved\n  remedy: save `model.state_dict"):
        torch.save(net, tmp_path / "net.pt")
    import pickle

    (tmp_path / "bad.pt").write_bytes(pickle.dumps(print))
    with pytest.raises(ValueError, match="names `builtins.print`"):
        torch.load(tmp_path / "bad.pt")
