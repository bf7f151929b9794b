"""Each public name of PyTorch's tensors, layers, optimizers and modules is there, or an error says what to write."""

from pathlib import Path

import pytest

import fluvial as fl
import fluvial.torch as torch

TEXT = Path(__file__).with_name("torch_members.txt").read_text()
SECTIONS = {part.split("\n", 1)[0]: part.split("\n", 1)[1].split() for part in TEXT.removeprefix("# ").split("\n# ")}
#: How many names of each may be missing.
MISSING = {
    "Tensor": 121, "Module": 19, "Optimizer": 10, "nn": 16, "functional": 20, "optim": 0, "lr_scheduler": 0, "init": 1,
    "distributions": 18, "linalg": 8, "utils.data": 8,
}  # fmt: skip


def owner_of(section):
    match section:
        case "Tensor":
            return torch.ones(2, 2)
        case "Module":
            return torch.nn.Linear(1, 1)
        case "Optimizer":
            return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
        case "functional" | "init":
            return getattr(torch.nn, section)
        case "lr_scheduler":
            return torch.optim.lr_scheduler
    found = torch
    for part in section.split("."):
        found = getattr(found, part)
    return found


def test_the_table_has_all_sections():
    assert set(SECTIONS) == set(MISSING) and len(SECTIONS["Tensor"]) > 500


@pytest.mark.parametrize("section", MISSING)
def test_names_are_there_or_have_a_remedy(section):
    with fl.State():
        owner, missing, silent = owner_of(section), [], []
        for name in SECTIONS[section]:
            try:
                getattr(owner, name)
            except AttributeError as error:
                missing.append(name)
                remedy = str(error).partition("\n  remedy: ")[2]
                if not remedy or "dir(x)" in remedy:
                    silent.append(name)
        assert not silent
        assert len(missing) <= MISSING[section], missing


def test_methods_that_are_missing_say_what_to_write():
    with pytest.raises(AttributeError, match=r"remedy: write `x = x.squeeze\(\)`"):
        torch.ones(2).squeeze_
    with pytest.raises(AttributeError, match="all tensors are dense"):
        torch.ones(2).to_sparse
    with pytest.raises(AttributeError, match="linalg.eigh"):
        torch.linalg.matrix_sqrth


def test_files_of_the_array_api_do_not_get_methods_of_pytorch():
    scope = {"x": fl.tensor([1.0, 2.0])}
    with pytest.raises(AttributeError, match="remedy"):
        exec(compile("x.isposinf()", "elsewhere.py", "exec"), scope)
    assert torch.tensor([float("inf"), 1.0]).isposinf().tolist() == [True, False]
