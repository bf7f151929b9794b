"""Decompositions of complex matrices, and eigenvalues, in both modes."""


import fluvial as fl
import numpy as np
import pytest
from fluvial.testing import gradcheck

RNG = np.random.default_rng(3)
KINDS = [("complex128", 1e-10), ("complex64", 1e-4)]


def matrix(*shape, dtype="complex128"):
    return fl.tensor((RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype))


def positive(n, dtype="complex128"):
    a = matrix(n, n)
    return (a @ a.mH + n * fl.eye(n, dtype="complex128")).to(dtype)


def near(a, b, close):
    return np.allclose(np.asarray(a), np.asarray(b), rtol=close, atol=close)


def both(function):
    """The function line by line, and as a program; both must give the same bits."""

    def called(*inputs):
        lines, program = function(*inputs), fl.function(function)(*inputs)
        for one, other in zip(lines, program, strict=True):
            assert np.array_equal(one.numpy(), other.numpy())
        return lines

    return called


@pytest.mark.parametrize(("dtype", "close"), KINDS)
def test_factors_multiply_to_the_matrix(dtype, close):
    for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 3)):
        a = matrix(*shape, dtype=dtype)
        q, r = both(fl.linalg.qr)(a)
        assert near(q @ r, a, close) and near(q.mH @ q, np.broadcast_to(np.eye(q.shape[-1]), (q.mH @ q).shape), close)
        diagonal = fl.diagonal(r, 0, -2, -1).numpy()
        assert np.all(diagonal.imag == 0) and np.all(diagonal.real >= 0)
        u, s, vh = both(lambda a: fl.linalg.svd(a, full_matrices=False))(a)
        assert s.dtype == a.real.dtype and near((u * s.unsqueeze(-2)) @ vh, a, close)
        assert near(s, np.linalg.svd(a.numpy(), compute_uv=False), close)
        full = fl.linalg.svd(a)
        assert near(full.U.mH @ full.U, np.broadcast_to(np.eye(shape[-2]), full.U.shape), close)
        assert near(full.Vh @ full.Vh.mH, np.broadcast_to(np.eye(shape[-1]), full.Vh.shape), close)
        assert near(a @ fl.linalg.pinv(a) @ a, a, 10 * close)
        complete = fl.linalg.qr(a, mode="complete")
        assert near(complete.Q @ complete.R, a, close)
    p = positive(4, dtype)
    lower = both(lambda a: [fl.linalg.cholesky(a)])(p)[0]
    assert near(lower @ lower.mH, p, close) and near(fl.linalg.cholesky(p, upper=True), lower.mH, close)
    w, v = both(fl.linalg.eigh)(p)
    assert w.dtype == p.real.dtype and near(v @ (w.unsqueeze(-1) * v.mH), p, close)


@pytest.mark.parametrize(("dtype", "close"), KINDS)
def test_equations_and_determinants(dtype, close):
    a, b = matrix(2, 3, 3, dtype=dtype), matrix(2, 3, 2, dtype=dtype)
    plain, right = a.numpy(), b.numpy()
    assert near(both(lambda a, b: [fl.linalg.solve(a, b)])(a, b)[0], np.linalg.solve(plain, right), 10 * close)
    assert near(both(lambda a: [fl.linalg.inv(a)])(a)[0], np.linalg.inv(plain), 10 * close)
    assert near(both(lambda a: [fl.linalg.det(a)])(a)[0], np.linalg.det(plain), 10 * close)
    sign, size = both(fl.linalg.slogdet)(a)
    assert size.dtype == a.real.dtype
    assert all(near(one, other, 10 * close) for one, other in zip((sign, size), np.linalg.slogdet(plain)))
    lower = fl.tril(a)
    assert near(lower @ fl.linalg.solve_triangular(lower, b, upper=False), b, 100 * close)
    tall = matrix(5, 3, dtype=dtype)
    right = matrix(5, 2, dtype=dtype)
    assert near(fl.linalg.lstsq(tall, right).solution, np.linalg.lstsq(tall.numpy(), right.numpy())[0], 100 * close)
    real, b = fl.tensor(RNG.standard_normal((3, 3))), matrix(3, 1)
    assert near(real.to("complex128") @ fl.linalg.solve(real, b), b, 1e-9)
    p, l, u = fl.linalg.lu(a)
    assert near(p @ l @ u, a, close)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvalues_of_any_matrix(dtype):
    close = 1e-3 if dtype in ("float32", "complex64") else 1e-9
    for shape in ((1, 1), (4, 4), (2, 3, 3), (0, 0), (2, 0, 0)):
        a = matrix(*shape).to(dtype) if dtype.startswith("complex") else matrix(*shape).real.to(dtype)
        w, v = both(fl.linalg.eig)(a)
        assert w.dtype == v.dtype == (a + 0j).dtype
        assert near(a.to(v.dtype) @ v, v * w.unsqueeze(-2), close)
        assert np.array_equal(fl.linalg.eigvals(a).numpy(), w.numpy())
        lengths = np.linalg.norm(v.numpy(), axis=-2)
        assert near(lengths, np.ones_like(lengths), close)
        want = np.sort_complex(np.linalg.eigvals(a.numpy()))
        assert near(np.sort_complex(w.numpy()), want, close)


def test_eigenvalues_of_odd_matrices():
    w, v = fl.linalg.eig(fl.tensor([[1.0, 1.0], [0.0, 1.0]], "float64"))
    assert near(w, [1, 1], 1e-7) and near(abs(v.numpy()[0]), [1, 1], 1e-7)
    for text, a in [("not a number", [[float("nan")]]), ("square", [[1.0, 2.0]])]:
        with pytest.raises(ValueError, match=text):
            fl.linalg.eig(fl.tensor(a))
    with pytest.raises(TypeError, match="expected floats"):
        fl.linalg.eig(fl.tensor([[1]]))


def invariant(function):
    """A real number that does not depend on the directions of vectors."""
    weights = fl.tensor(RNG.standard_normal(16))

    def called(a):
        total = fl.tensor(0.0, "float64")
        for part in function(a):
            sizes = part.real**2 + part.imag**2 if part.is_complex() else part
            sizes = sizes.flatten()
            total = total + fl.sum(sizes * weights[: sizes.shape[0]]) + fl.sum(fl.sin(sizes))
        return total

    return called


GRADIENTS = {
    "inv": lambda a: [fl.linalg.inv(a)],
    "det": lambda a: [fl.linalg.det(a)],
    "slogdet": fl.linalg.slogdet,
    "solve": lambda a: [fl.linalg.solve(a, a[..., :1] * (1 + 2j))],
    "qr": fl.linalg.qr,
    "qr wide": lambda a: fl.linalg.qr(a[:2]),
    "qr tall": lambda a: fl.linalg.qr(a[:, :2]),
    "svd": lambda a: fl.linalg.svd(a, full_matrices=False),
    "svd wide": lambda a: fl.linalg.svd(a[:2], full_matrices=False),
    "svd tall": lambda a: fl.linalg.svd(a[:, :2], full_matrices=False),
    "eigh": fl.linalg.eigh,
    "eig": fl.linalg.eig,
    "cholesky": lambda a: [fl.linalg.cholesky(a @ a.mH + 3 * fl.eye(3, dtype="complex128"))],
    "pinv": lambda a: [fl.linalg.pinv(a[:2])],
    "lstsq": lambda a: [fl.linalg.lstsq(a[:, :2], a[:, 2:]).solution],
    "lstsq wide": lambda a: [fl.linalg.lstsq(a[:2], a[:2, :1]).solution],
    "matrix_exp": lambda a: [fl.linalg.matrix_exp(a)],
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(name):
    a = matrix(3, 3)
    gradcheck(invariant(GRADIENTS[name]), (a,))
    gradcheck(lambda a: fl.sum(part_sum(GRADIENTS[name](a))), (a,))


def part_sum(parts):
    """Real and imaginary parts, which do depend on the directions that were chosen."""
    return fl.stack([fl.sum(part.real) + 0.3 * fl.sum(part.imag) if part.is_complex() else fl.sum(part) for part in parts])


def test_gradients_of_real_matrices_with_complex_eigenvalues():
    for a in (fl.tensor([[0.0, -1.0], [2.0, 0.5]], "float64"), fl.tensor(RNG.standard_normal((4, 4)))):
        gradcheck(lambda a: part_sum(fl.linalg.eig(a)).sum(), (a,))
        leaf = a.detach().requires_grad_()
        fl.linalg.eigvals(leaf).imag.abs().sum().backward()
        assert leaf.grad.dtype == "float64"


def test_transforms_of_decompositions():
    stack = matrix(3, 2, 2)
    mapped = fl.vmap(fl.linalg.eigvals)(stack)
    assert near(mapped, fl.stack([fl.linalg.eigvals(one) for one in stack]), 1e-12)
    value, slope = fl.jvp(lambda a: fl.linalg.det(a), (stack[0],), (stack[1],))
    step = 1e-7
    assert near(slope, (fl.linalg.det(stack[0] + step * stack[1]) - value) / step, 1e-5)
