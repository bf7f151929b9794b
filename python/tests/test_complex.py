"""Complex numbers as NumPy has them, with PyTorch's gradients; in both modes and in files."""

import numpy as np
import pytest

import fluvial as fl

NAMES = ["complex64", "complex128"]
TOLERANCE = {"complex64": 2e-5, "complex128": 1e-12}
OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "square": lambda a, b: a**2 + b**-3,
    "numbers": lambda a, b: (2 - 1j) * a + b / 2.5 - 3,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
FUNCTIONS = (
    "exp expm1 exp2 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh "
    "abs square reciprocal sign conj real imag isnan isinf isfinite"
).split()
OF_NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


def numbers(name, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(name)


def same(found, expected):
    assert found.dtype.name == expected.dtype.name
    tolerance = TOLERANCE.get("complex64" if expected.dtype.name in ("complex64", "float32") else "complex128")
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
class TestEachType:
    @pytest.mark.parametrize("operator", OPERATORS)
    def test_operators_in_both_modes(self, name, operator):
        function = OPERATORS[operator]
        a, b = numbers(name, 3, 4), numbers(name, 4, seed=1)
        expected = function(a, b)
        x, y = fl.tensor(a), fl.tensor(b)
        same(function(x, y), expected)
        same(fl.function(function)(x, y), expected)

    @pytest.mark.parametrize("function", FUNCTIONS)
    def test_functions(self, name, function):
        a = numbers(name, 40)
        expected = getattr(np, OF_NUMPY.get(function, function))(a)
        same(getattr(fl, function)(fl.tensor(a)), expected)
        same(fl.function(lambda x: getattr(fl, function)(x))(fl.tensor(a)), expected)

    def test_reductions_and_products(self, name):
        a, b = numbers(name, 5, 7), numbers(name, 7, 6, seed=1)
        x, y = fl.tensor(a), fl.tensor(b)
        for function in ("sum", "prod", "mean"):
            for axis in (None, 0, 1):
                same(getattr(fl, function)(x, axis=axis), np.asarray(getattr(np, function)(a, axis=axis)))
        same(fl.cumsum(x, 1), np.cumsum(a, 1))
        same(fl.cumprod(x, 0), np.cumprod(a, 0))
        same(x @ y, a @ b)
        large = numbers(name, 2, 40, 50), numbers(name, 50, 30, seed=2)
        same(fl.matmul(fl.tensor(large[0]), fl.tensor(large[1])), np.matmul(*large))
        same(fl.einsum("ij,jk->ki", x, y), np.einsum("ij,jk->ki", a, b))
        same(fl.linalg.vecdot(x, x), np.sum(a.conj() * a, -1))
        same(fl.var(x, axis=0), np.var(a, axis=0))
        same(fl.linalg.vector_norm(x), np.asarray(np.linalg.norm(a)))
        assert fl.any(x).item() and fl.all(x).item() and not fl.any(x * 0).item()

    def test_what_moves_elements(self, name):
        a = numbers(name, 4, 5)
        x = fl.tensor(a)
        same(fl.concat([x, x[::-2]]), np.concatenate([a, a[::-2]]))
        same(fl.stack([x, x], axis=1), np.stack([a, a], axis=1))
        same(fl.where(fl.real(x) > 0, x, fl.zeros_like(x)), np.where(a.real > 0, a, 0).astype(name))
        same(x.reshape((5, 4)).T, a.reshape(5, 4).T)
        same(fl.roll(x, 2, axis=1), np.roll(a, 2, axis=1))
        same(fl.flip(x, axis=0), np.flip(a, 0))
        same(fl.tril(x), np.tril(a))
        same(fl.take(x, fl.tensor([2, 0]), axis=1), a[:, [2, 0]])
        same(x[fl.tensor([1, 3])], a[[1, 3]])
        same(fl.pad(x, [1, 0], [0, 2]), np.pad(a, [(1, 0), (0, 2)]))
        same(fl.broadcast_to(x, (2, 4, 5)), np.broadcast_to(a, (2, 4, 5)))
        y = fl.tensor(a)
        y[1] = 2 - 3j
        b = a.copy()
        b[1] = 2 - 3j
        same(y, b)
        same(fl.zeros((2,), name), np.zeros(2, name))
        same(fl.full((2, 3), 1 + 2j, dtype=name), np.full((2, 3), 1 + 2j, name))
        same(fl.ones_like(x), np.ones_like(a))
        for found, expected in zip(fl.nonzero(fl.tensor([0, 1j, 2])), np.nonzero([0, 1j, 2])):
            np.testing.assert_array_equal(found.numpy(), expected)

    def test_parts(self, name):
        a = numbers(name, 3, 2)
        x = fl.tensor(a)
        same(x.real, a.real)
        same(x.imag, a.imag)
        same(fl.angle(x), np.angle(a))
        same(fl.complex(x.real, x.imag), a)
        same(fl.polar(fl.abs(x), fl.angle(x)), a)
        same(fl.view_as_complex(fl.view_as_real(x)), a)
        assert fl.view_as_real(x).shape == (3, 2, 2)
        assert fl.allclose(x, x + 1e-9) and not fl.allclose(x, x + 1j)

    def test_files_and_programs(self, name, tmp_path):
        a = numbers(name, 3)
        x = fl.tensor(a)
        program = fl.build(lambda z: z * (1 - 2j) + fl.tensor(a[::-1].copy()), {"z": x.type_text})
        for path in (tmp_path / "program.fl", tmp_path / "program.flb"):
            program.save(path)
            same(fl.load(path)(x), a * np.asarray(1 - 2j, name) + a[::-1])
        np.save(tmp_path / "a.npy", x.numpy())
        same(fl.tensor(np.load(tmp_path / "a.npy")), a)
        import pickle

        same(pickle.loads(pickle.dumps(x)), a)
        assert np.from_dlpack(x).dtype == name
        same(fl.from_dlpack(a.copy()), a)
        same(fl.from_numpy(a.copy()), a)


class TestNumbers:
    def test_numbers_of_python(self):
        z = fl.tensor(1 + 2j)
        assert (z.dtype, z.item(), complex(z), bool(z)) == (fl.complex64, 1 + 2j, 1 + 2j, True)
        assert fl.tensor([1, 2j]).tolist() == [1 + 0j, 2j]
        assert fl.tensor([1.0, 2.0]).dtype == fl.float32 and (fl.tensor([1.0]) + 1j).dtype == fl.complex64
        assert (fl.tensor([1.0], dtype="float64") * 1j).dtype == fl.complex128
        assert (fl.tensor([1]) * 1j).dtype == fl.complex64
        assert fl.tensor(1j, dtype="complex128").dtype == fl.complex128
        assert fl.result_type(fl.float64, fl.complex64) == fl.complex128
        assert fl.zeros((1,), complex).dtype == fl.complex64 and fl.zeros((1,), "c128").dtype == fl.complex128
        assert repr(fl.tensor(0.5 - 2j)).count("0.5-2.0j") == 1

    @pytest.mark.parametrize(
        "call",
        [
            lambda z: fl.sort(z),
            lambda z: fl.argmax(z),
            lambda z: z < z,
            lambda z: fl.maximum(z, z),
            lambda z: fl.relu(z),
            lambda z: fl.softmax(z, 0),
            lambda z: fl.floor(z),
            lambda z: z % 2,
            lambda z: fl.erf(z),
            lambda z: fl.sort(z),
        ],
    )
    def test_what_has_no_meaning_is_refused(self, call):
        z = fl.tensor([1 + 2j, 3 - 1j])
        for function in (call, fl.function(call)):
            with pytest.raises(Exception, match="not defined for complex numbers"):
                function(z)

    @pytest.mark.parametrize("name", ["float32", "int64", "float16"])
    def test_a_part_is_never_lost_by_a_cast(self, name):
        with pytest.raises(Exception, match="would lose the imaginary part"):
            fl.cast(fl.tensor([1j]), name)
        assert fl.cast(fl.tensor([0j, 1j]), "bool").tolist() == [False, True]
        with pytest.raises(TypeError):
            float(fl.tensor(1j))

    def test_losses_are_real(self):
        z = fl.tensor([1 + 2j], requires_grad=True)
        with pytest.raises(Exception, match="only of a real number there is one gradient"):
            (z * z).sum().backward()

    def test_safetensors(self, tmp_path):
        path = tmp_path / "w.safetensors"
        fl.save_safetensors({"z": fl.tensor([1 + 2j, -3j])}, path)
        assert fl.load_safetensors(path)["z"].tolist() == [1 + 2j, -3j]
        with pytest.raises(Exception, match="no c128 elements"):
            fl.save_safetensors({"z": fl.tensor([1j], dtype="complex128")}, path)


#: Real losses of complex numbers.
LOSSES = {
    "abs2": lambda z, w: fl.sum(fl.abs(z * w) ** 2),
    "exp": lambda z, w: fl.sum(fl.real(fl.exp(z) * w)),
    "div": lambda z, w: fl.sum(fl.imag(z / w) + fl.real(w / z)),
    "log": lambda z, w: fl.sum(fl.real(fl.log(z) * fl.sin(w))),
    "pow": lambda z, w: fl.sum(fl.abs(z**w)),
    "angle": lambda z, w: fl.sum(fl.angle(z) * fl.abs(w)),
    "tanh": lambda z, w: fl.sum(fl.imag(fl.tanh(z) + fl.sqrt(z) + fl.acosh(z))),
    "sign": lambda z, w: fl.sum(fl.real(fl.sign(z) * w)),
    "prod": lambda z, w: fl.abs(fl.prod(z * w)),
    "cumprod": lambda z, w: fl.sum(fl.abs(fl.cumprod(z * w, 0))),
    "matmul": lambda z, w: fl.abs(fl.sum(fl.matmul(fl.reshape(z, (1, 2)), fl.reshape(w, (2, 1))))),
    "real": lambda z, w: fl.sum(fl.real(z) ** 2 * fl.imag(z)),
    "conj": lambda z, w: fl.sum(fl.real(fl.conj(z) * z * w)),
    "parts": lambda z, w: fl.sum(fl.view_as_real(z * w) ** 3),
    "complex": lambda z, w: fl.sum(fl.abs(fl.complex(fl.real(z) * 2, fl.imag(w) * fl.imag(z)))),
    "index": lambda z, w: fl.abs(z[1] * w[0] + fl.sum(fl.concat([z, w]))),
    "var": lambda z, w: fl.var(z * w),
    "real input": lambda z, w: fl.abs(fl.sum(fl.real(z) * w)),
}


def differences(loss, z, w):
    """The gradient of a real loss by differences of both parts."""
    gradient = np.zeros_like(z)
    for i in range(len(z)):
        for unit in (1, 1j):
            step = np.zeros_like(z)
            step[i] = 1e-6 * unit
            up, down = (loss(fl.tensor(z + s), fl.tensor(w)).item() for s in (step, -step))
            gradient[i] += unit * (up - down) / 2e-6
    return gradient


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_of_both_parts_in_both_modes(name):
    loss = LOSSES[name]
    z, w = np.array([0.5 + 1.5j, -1 + 0.25j]), np.array([2 - 1j, 0.75 + 0.5j])
    expected = differences(loss, z, w)
    x = fl.tensor(z, requires_grad=True)
    loss(x, fl.tensor(w)).backward()
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6, atol=1e-7)
    compiled = fl.function(fl.grad(lambda x: loss(x, fl.tensor(w))))
    np.testing.assert_allclose(compiled(fl.tensor(z)).numpy(), expected, rtol=1e-6, atol=1e-7)


def test_a_real_leaf_gets_a_real_gradient():
    x = fl.tensor([1.0, 2.0], requires_grad=True)
    fl.sum(fl.abs(x * (3 + 4j))).backward()
    assert x.grad.dtype == fl.float32
    np.testing.assert_allclose(x.grad.numpy(), [5.0, 5.0], rtol=1e-6)


def test_gradient_descent_with_complex_numbers_by_hand():
    """The gradient points where a step against it makes the loss less."""
    z = fl.tensor([3 - 2j])
    for _ in range(50):
        z = z.detach().track()
        fl.sum(fl.abs(z - (1 + 1j)) ** 2).backward()
        z = z.detach() - 0.25 * z.grad
    np.testing.assert_allclose(z.numpy(), [1 + 1j], atol=1e-5)


def test_optimizers_train_complex_numbers_of_real_parameters():
    p = fl.nn.Parameter(fl.tensor([[0.0, 1.0], [2.0, 0.0]]))
    optimizer = fl.optimizer.SGD([p], learning_rate=0.25)
    for _ in range(40):
        optimizer.clear_grad()
        fl.sum(fl.abs(fl.view_as_complex(p) - fl.tensor([1 + 1j, -1j])) ** 2).backward()
        optimizer.step()
    np.testing.assert_allclose(p.numpy(), [[1, 1], [0, -1]], atol=1e-5)
