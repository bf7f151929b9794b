"""`x += y` in files that import `fluvial.torch` changes the tensor, as PyTorch does; in all others it binds a name."""

import pytest

import fluvial as fl
import fluvial.torch as torch

MODES = pytest.mark.parametrize("mode", ["lines", "function"])


def run(function, mode, *args):
    return (fl.function(function) if mode == "function" else function)(*args)


@MODES
def test_all_who_hold_the_tensor_see_it(mode):
    def f(x):
        y = x * 1.0
        z = y
        y += 2.0
        y *= x
        return y, z

    found, other = run(f, mode, torch.tensor([1.0, 3.0]))
    assert found.tolist() == other.tolist() == [3.0, 15.0]


@MODES
def test_the_element_type_stays(mode):
    def f(x):
        y = x * 1
        y += torch.tensor([0.5, 0.5], dtype=torch.float64)
        return y

    assert run(f, mode, torch.tensor([1.0, 2.0])).dtype == torch.float32
    with pytest.raises(TypeError, match="would lose its fraction"):
        run(f, mode, torch.tensor([1, 2]))


def test_what_does_not_fit_is_an_error():
    x = torch.tensor([1.0])
    with pytest.raises(ValueError, match="does not fit"):
        x += torch.tensor([1.0, 2.0])
    n = torch.tensor([4])
    with pytest.raises(TypeError, match="would lose its fraction"):
        n /= 2
    assert x.tolist() == [1.0] and n.tolist() == [4]


@MODES
def test_gradients_pass(mode):
    def f(x):
        h = x * 2.0
        h += x * x
        h *= 3.0
        return torch.autograd.grad(h.sum(), x)[0]

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert run(f, mode, x).tolist() == [12.0, 18.0]


def test_leaves_are_changed_without_recording_only():
    w = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        w += 1.0
    with torch.no_grad():
        w += 1.0
    assert w.tolist() == [2.0] and w.is_leaf and w.requires_grad


@MODES
def test_loops_and_branches(mode):
    def f(x):
        total = torch.zeros(2)
        kept = total
        for i in range(3):
            total += x * i
        if total.sum() > 4.0:
            total -= 1.0
        return total, kept

    for given, want in ([1.0, 1.0], [2.0, 2.0]), ([0.5, 0.5], [1.5, 1.5]):
        total, kept = run(f, mode, torch.tensor(given))
        assert total.tolist() == kept.tolist() == want


def test_numbers_of_python_stay_what_they_are():
    total = 0
    total += torch.tensor(2.0)
    total += torch.tensor(3.0)
    assert total.item() == 5.0


def test_elsewhere_a_name_is_bound():
    scope = {"x": fl.tensor([1.0])}
    exec(compile("y = x\nx += 1.0", "elsewhere.py", "exec"), scope)
    assert (scope["x"].tolist(), scope["y"].tolist()) == ([2.0], [1.0])
