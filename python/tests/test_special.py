"""Functions that are computed in pieces: incomplete gamma functions, `torch.special`, pseudoinverses, norms at zero."""

import math

import numpy as np
import pytest

import fluvial as fl
import fluvial.torch as torch

MODES = pytest.mark.parametrize("mode", ["lines", "function"])
#: a, x, P(a, x), Q(a, x); from SciPy.
GAMMA = [
    (0.5, 0.25, 0.520499877813047, 0.479500122186953), (3.0, 2.0, 0.323323583816937, 0.676676416183063),
    (3.0, 9.0, 0.993767804893623, 0.00623219510637732), (100.0, 90.0, 0.15822098918643, 0.84177901081357),
    (1e4, 10100.0, 0.84134875044718, 0.15865124955282), (0.001, 1e-5, 0.989123044695783, 0.0108769553042173),
]  # fmt: skip


def run(function, mode, *args):
    return (fl.function(function) if mode == "function" else function)(*args)


@MODES
def test_incomplete_gamma(mode):
    a, x, lower, upper = (np.array(column) for column in zip(*GAMMA))
    found = run(lambda a, x: (fl.igamma(a, x), fl.igammac(a, x)), mode, fl.tensor(a), fl.tensor(x))
    np.testing.assert_allclose(found[0].numpy(), lower, rtol=1e-11)
    np.testing.assert_allclose(found[1].numpy(), upper, rtol=1e-10)


def test_incomplete_gamma_at_the_edges():
    inf, nan = math.inf, math.nan
    a, x = fl.tensor([1.0, 0.0, 0.0, 2.0, -1.0, 1.0, nan]), fl.tensor([0.0, 1.0, 0.0, inf, 1.0, -1.0, 1.0])
    np.testing.assert_array_equal(fl.igamma(a, x).numpy(), [0.0, 1.0, nan, 1.0, nan, nan, nan])
    np.testing.assert_array_equal(fl.igammac(a, x).numpy(), [1.0, 0.0, nan, 0.0, nan, nan, nan])
    assert fl.igamma(fl.tensor([2.0]), fl.tensor([1.0], dtype="float64")).dtype == fl.float64
    with pytest.raises(RuntimeError, match="no gradient by the first argument"):
        fl.igamma(fl.tensor(1.0, requires_grad=True), fl.tensor(1.0))


@MODES
def test_incomplete_gamma_has_three_derivatives(mode):
    def f(x):
        first = torch.autograd.grad(fl.igamma(fl.tensor(3.0, dtype="float64"), x), x, create_graph=True)[0]
        second = torch.autograd.grad(first, x, create_graph=True)[0]
        return first, second, torch.autograd.grad(second, x)[0]

    x = fl.tensor(1.5, dtype="float64", requires_grad=True)
    # The density x^2 e^-x / 2, and its derivatives.
    want = [1.125, 0.375, -0.875]
    np.testing.assert_allclose([found.item() for found in run(f, mode, x)], np.array(want) * math.exp(-1.5), rtol=1e-12)


@MODES
def test_pseudoinverse_of_deficient_matrices_has_a_gradient(mode):
    rng = np.random.default_rng(0)
    a, b, w = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), rng.normal(size=(3, 4))

    def loss(a, b):
        return (fl.linalg.pinv(a @ b.mT) * fl.tensor(w)).sum()

    def gradients(a, b):
        return torch.autograd.grad(loss(a, b), (a, b))

    found = run(gradients, mode, *(fl.tensor(part, requires_grad=True) for part in (a, b)))
    for place, part in enumerate((a, b)):
        for at in np.ndindex(part.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [a.copy(), b.copy()]
                moved[place][at] += step
                ends.append((np.linalg.pinv(moved[0] @ moved[1].T, rcond=1e-10) * w).sum())
            assert math.isclose(found[place].numpy()[at], (ends[0] - ends[1]) / 2e-6, rel_tol=1e-5, abs_tol=1e-6)


@MODES
@pytest.mark.parametrize("order", [0.5, 1, 2, 3, -1, math.inf])
def test_norms_have_no_slope_at_zero(mode, order):
    def f(x):
        return torch.autograd.grad(fl.linalg.vector_norm(x, ord=order), x)[0]

    assert run(f, mode, fl.tensor([0.0, 0.0], requires_grad=True)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "name, x, want",
    [
        ("i0e", 3.0, 0.243000354161825), ("i1", -3.0, -3.95337021740260), ("i1e", 20.0, 0.0875062221832887), ("ndtr", -3.0, 0.00134989803163009),
        ("log_ndtr", -30.0, -454.32124395634327), ("ndtri", 0.3, -0.524400512708040), ("erfcx", 10.0, 0.0561409927438225), ("entr", 0.5, 0.346573590279972),
        ("zeta", (3.0, 2.0), 0.202056903159594), ("xlog1py", (2.0, 1.0), 1.38629436111989), ("gammainc", (3.0, 2.0), 0.323323583816936),
    ],
)  # fmt: skip
def test_special_functions(name, x, want):
    args = [fl.tensor(value, dtype="float64") for value in (x if isinstance(x, tuple) else (x,))]
    assert math.isclose(getattr(torch.special, name)(*args).item(), want, rel_tol=1e-10)


def test_methods_that_are_functions_of_the_core_are_given_the_tensor():
    x = fl.tensor([6.0, 4.0])
    assert x.multiply(2.0).tolist() == [12.0, 8.0] and x.divide(2.0).tolist() == [3.0, 2.0]
    assert x.subtract(1.0).tolist() == [5.0, 3.0] and x.negative().tolist() == [-6.0, -4.0]
    assert x.greater(5.0).tolist() == [True, False] and x.floor_divide(4.0).tolist() == [1.0, 1.0]
