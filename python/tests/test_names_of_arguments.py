"""Names and habits of PyTorch and NumPy: arguments, methods, changes in place."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl
from fluvial import _core, _derived
from fluvial._inplace import CHANGING

X = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]
BOTH = pytest.mark.parametrize("mode", ["imperative", "program"])


def same(f, *args, mode="imperative"):
    """What a function gives, line by line and as a program: the same bits."""
    with fl.mode(mode):
        found = fl.function(f)(*args)
    plain = f(*args)
    one = lambda x: x.tolist() if isinstance(x, fl.Tensor) else x
    flat = lambda x: [one(part) for part in x] if isinstance(x, (list, tuple)) else one(x)
    assert flat(found) == flat(plain)
    return found


@BOTH
def test_other_names_of_arguments(mode):
    x = fl.tensor(X)
    for f, g in [
        (lambda x: x.sum(dim=0), lambda x: x.sum(axis=0)),
        (lambda x: fl.sum(x, dim=1, keepdim=True), lambda x: fl.sum(x, 1, True)),
        (lambda x: fl.mean(input=x, dim=(0, 1)), lambda x: fl.mean(x, (0, 1))),
        (lambda x: fl.add(x, other=1.0), lambda x: fl.add(x, 1.0)),
        (lambda x: fl.std(x, unbiased=True), lambda x: fl.std(x, correction=1)),
        (lambda x: fl.flatten(x, start_dim=0, end_dim=1), lambda x: fl.flatten(x)),
        (lambda x: fl.clip(x, min=0.0, max=2.0), lambda x: fl.clip(x, 0.0, 2.0)),
        (lambda x: x.clip(min=0.0), lambda x: x.clip(0.0)),
        (lambda x: fl.clamp(x, max=2.0), lambda x: fl.clip(x, None, 2.0)),
        (lambda x: fl.relu(x, inplace=True), lambda x: fl.relu(x)),
        (lambda x: fl.leaky_relu(x, negative_slope=0.5), lambda x: fl.leaky_relu(x, 0.5)),
        (lambda x: fl.avg_pool1d(x[None], kernel_size=3), lambda x: fl.avg_pool1d(x[None], 3)),
        (lambda x: fl.interpolate(x[None, None], scale_factor=[2.0, 2.0]), lambda x: fl.interpolate(x[None, None], scale=[2.0, 2.0])),
        (lambda x: fl.transpose(x, dim0=0, dim1=1), lambda x: fl.transpose(x, 0, 1)),
        (lambda x: fl.concat([x, x], dim=1), lambda x: fl.concat([x, x], 1)),
        (lambda x: fl.tril(x, diagonal=1), lambda x: fl.tril(x, 1)),
        (lambda x: x.flip(dims=(0,)), lambda x: x.flip(0)),
        (lambda x: x[None].squeeze(dim=0), lambda x: x),
        (lambda x: fl.mean(x, **{"".join(("d", "im")): 0}), lambda x: fl.mean(x, 0)),
    ]:
        assert same(f, x, mode=mode).tolist() == g(x).tolist()


def test_every_function_takes_the_other_names_of_its_arguments():
    tree = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text())
    params = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            params.setdefault(node.name, [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)])
    others = _core.other_names()
    assert len(others) > 250
    for name, pairs in others.items():
        for other, ours in pairs.items():
            if name and ours:
                # Each is the name of an argument, and no other argument has it.
                assert ours in params[name] and other not in params[name], (name, other)


def test_methods_and_functions_have_one_signature():
    by_sizes = {"reshape", "broadcast_to", "expand", "permute", "tile", "flip", "squeeze", "repeat", "numel", "flatten", "mode", "polygamma", "where", "view"}
    both = [n for n in dir(fl.Tensor) if not n.startswith("_") and callable(getattr(fl, n, None)) and n not in by_sizes]
    assert len(both) > 200
    for name in both:
        method, function = getattr(fl.Tensor, name), getattr(fl, name)
        if isinstance(function, type) or inspect.ismodule(function) or not callable(method):
            continue
        try:
            wanted = [p.name for p in inspect.signature(function).parameters.values()][1:]
        except ValueError:
            continue
        found = [p.name for p in inspect.signature(method).parameters.values()][1:]
        assert found == wanted, name


@BOTH
def test_methods(mode):
    x = fl.tensor(X)
    for f, wanted in [
        (lambda x: x.view(3, 2), x.reshape(3, 2)),
        (lambda x: x.view(-1), x.reshape(-1)),
        (lambda x: x.t(), x.T),
        (lambda x: x.float(), x),
        (lambda x: x.long(), x.astype("int64")),
        (lambda x: x.bool(), x.astype("bool")),
        (lambda x: x.to(fl.int32), x.astype("int32")),
        (lambda x: x.to("cpu"), x),
        (lambda x: x.type(fl.float64), x.astype("float64")),
        (lambda x: x.clone(), x),
        (lambda x: x.contiguous().cpu(), x),
        (lambda x: x.clamp(-1.0, 2.0), x.clip(-1.0, 2.0)),
        (lambda x: x.amax(1), x.max(1)),
        (lambda x: x.amin(dim=0), x.min(0)),
        (lambda x: x.mm(x.t()), x @ x.T),
        (lambda x: x[None].bmm(x[None].mT), (x @ x.T)[None]),
        (lambda x: x[0].expand_as(x), x[0].broadcast_to(2, 3)),
        (lambda x: x.view_as(x.t()), x.reshape(3, 2)),
        (lambda x: x.long().type_as(x), x.trunc()),
        (lambda x: x.new_zeros(2, 3) + x.new_ones((2, 3)), fl.ones(2, 3)),
        (lambda x: x.new_full((2,), 3), fl.tensor([3.0, 3.0])),
        (lambda x: x.ravel(), x.reshape(-1)),
        (lambda x: x.unflatten(1, (3, 1)), x.reshape(2, 3, 1)),
        (lambda x: x.swapaxes(0, 1), x.T),
        (lambda x: x.isclose(x), x == x),
        (lambda x: x.argmax(), fl.argmax(x)),
        (lambda x: x.repeat(2), fl.repeat(x, 2)),
        (lambda x: x.split(2, 1)[1], x[:, 2:]),
        (lambda x: x.sum(0) * x.size(1) + x.numel() + x.dim() + x.size, x.sum(0) * 3 + 14),
    ]:
        assert same(f, x, mode=mode).tolist() == wanted.tolist()
    assert x.size == 6 and x.size(0) == 2 and x.size() == (2, 3) and x.numel() == 6 and x.dim() == 2
    assert x.allclose(x + 1e-7) is True and x.device.type == "cpu" and x.is_floating_point()


def test_repeat_of_pytorch_is_refused():
    with pytest.raises(TypeError, match=r"one number.*\n  remedy: `x.tile\(2, 3\)`"):
        fl.tensor(X).repeat(2, 3)


@BOTH
def test_changes_in_place(mode):
    def f(x):
        y = x.clone()
        z = y
        y.add_(1).mul_(2.0).clamp_(min=0.0)
        y.masked_fill_(y > 10, 3.0)
        return y + z.fill_(5) * 0, x

    x = fl.tensor(X)
    found, before = same(f, x, mode=mode)
    assert before.tolist() == X
    assert found.tolist() == fl.full((2, 3), 5.0).tolist()


def test_every_method_in_place_has_one_without():
    for name in CHANGING:
        assert callable(getattr(fl.Tensor, name)) and callable(getattr(fl.Tensor, f"{name}_"))


def test_changes_in_place_are_judged():
    x = fl.tensor([1, 2])
    with pytest.raises(TypeError, match="would lose its fraction"):
        x.add_(0.5)
    with pytest.raises(ValueError, match="does not fit the tensor"):
        fl.tensor([1.0]).add_(fl.tensor([1.0, 2.0]))
    w = fl.tensor([1.0]).track()
    with pytest.raises(RuntimeError, match="a leaf, whose gradient accumulates, cannot be changed"):
        w.add_(1)


def test_leaves_are_trained_by_hand():
    w = fl.tensor([1.0, 2.0], requires_grad=True)
    held = w
    for _ in range(3):
        (w * w).sum().backward()
        with fl.no_grad():
            w -= 0.25 * w.grad
        w.grad.zero_()
    assert w is held and w.requires_grad and w.is_leaf
    assert w.tolist() == [0.125, 0.25] and w.grad.tolist() == [0.0, 0.0]
    w.grad = None
    assert w.grad is None
    w.data -= 1.0
    w.data[0] = 9.0
    assert w.tolist() == [9.0, -0.75] and w.is_leaf
    parameter = fl.nn.Parameter(fl.tensor([1.0]))
    (parameter * 2).sum().backward()
    parameter.grad.zero_()
    assert parameter.grad.tolist() == [0.0]
    parameter.data.fill_(4.0)
    assert parameter.tolist() == [4.0]


def test_requires_grad():
    x = fl.tensor([2.0])
    assert x.requires_grad_() is x and x.requires_grad
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    assert x.grad.tolist() == [36.0] and y.grad.tolist() == [12.0]
    x.requires_grad = False
    assert not x.is_tracked
    (fl.tensor([1.0, 2.0]).requires_grad_() * 2).backward(gradient=fl.tensor([1.0, 1.0]))


def test_functions_under_pytorchs_names():
    fl.seed(0)
    assert fl.rand(2, 3).shape == fl.randn((2, 3)).shape == fl.rand_like(fl.zeros(2, 3)).shape == (2, 3)
    assert sorted(fl.randperm(5).tolist()) == [0, 1, 2, 3, 4]
    assert fl.randint(3, (50,)).numpy().max() < 3 and fl.randint(2, 4, (4,)).dtype == fl.int64
    a, b = fl.tensor(X), fl.tensor(X).T
    assert fl.einsum("ij,jk->ik", a, b).tolist() == (a @ b).tolist() == fl.einsum("ij,jk->ik", [a, b]).tolist()
    values, places = fl.topk(a, 2)
    assert values.tolist() == [[3.0, 1.0], [5.0, 4.0]] and fl.sort(a).shape == a.argsort().shape
    assert [part.shape for part in fl.split(fl.arange(5), 2)] == [(2,), (2,), (1,)]
    assert [part.shape for part in fl.chunk(fl.arange(4), 2)] == [(2,), (2,)]
    assert fl.__version__.count(".") == 2


#: Functions of this package's own that express others, with NumPy's form.
DERIVED = [
    (lambda x: fl.fmod(x, 2.5), lambda x: np.fmod(x, 2.5)),
    (lambda x: fl.frac(x / 4), lambda x: x / 4 - np.trunc(x / 4)),
    (lambda x: fl.deg2rad(x), np.deg2rad),
    (lambda x: fl.rad2deg(x), np.rad2deg),
    (lambda x: fl.sinc(x / 3), lambda x: np.sinc(x / 3)),
    (lambda x: fl.i0(x), np.i0),
    (lambda x: fl.vstack([x, x]), lambda x: np.vstack([x, x])),
    (lambda x: fl.hstack([x, x]), lambda x: np.hstack([x, x])),
    (lambda x: fl.dstack([x, x]), lambda x: np.dstack([x, x])),
    (lambda x: fl.cov(x), np.cov),
    (lambda x: fl.corrcoef(x), np.corrcoef),
    (lambda x: fl.inner(x, x), lambda x: np.inner(x, x)),
    (lambda x: fl.trapezoid(x), np.trapezoid),
    (lambda x: fl.gradient(x)[1], lambda x: np.gradient(x)[1]),
    (lambda x: fl.logaddexp2(x, 1.0), lambda x: np.logaddexp2(x, 1.0)),
    (lambda x: fl.heaviside(x, 0.5), lambda x: np.heaviside(x, 0.5)),
    (lambda x: fl.float_power(x, 2), lambda x: np.float_power(x, 2)),
    (lambda x: fl.ldexp(x, 3), lambda x: np.ldexp(x, 3)),
    (lambda x: fl.nansum(x), np.nansum),
    (lambda x: fl.nanmean(x, 0), lambda x: np.nanmean(x, 0)),
    (lambda x: fl.swapaxes(x, 0, 1), lambda x: np.swapaxes(x, 0, 1)),
    (lambda x: fl.div(x, 2, rounding_mode="trunc"), lambda x: np.trunc(x / 2)),
    (lambda x: fl.gcd(fl.cast(x, "int64"), 6), lambda x: np.gcd(x.astype(int), 6)),
    (lambda x: fl.lcm(fl.cast(x, "int64"), 6), lambda x: np.lcm(x.astype(int), 6)),
    (lambda x: fl.column_stack([x[0], x[1]]), lambda x: np.column_stack([x[0], x[1]])),
]


@BOTH
@pytest.mark.parametrize("case", range(len(DERIVED)))
def test_derived_functions(case, mode):
    ours, theirs = DERIVED[case]
    x = np.array(X)
    with fl.mode(mode):
        found = fl.function(ours)(fl.tensor(x, "float64"))
    np.testing.assert_allclose(found.numpy(), theirs(x), rtol=1e-12, atol=1e-14)


def test_inverse_of_erf():
    y = fl.tensor([-3.0, -1.0, -1e-3, 0.0, 0.5, 2.0, 4.0], "float64")
    np.testing.assert_allclose(fl.erfinv(fl.erf(y[:-1])).numpy(), y[:-1].numpy(), rtol=1e-9, atol=1e-15)
    assert fl.erfinv(fl.tensor([-1.0, 1.0, 2.0])).tolist()[:2] == [-np.inf, np.inf]
    fl.testing.gradcheck(fl.erfinv, [fl.tensor([-0.9, 0.1, 0.7], "float64")])


def test_all_derived_functions_are_there():
    for name in _derived.__all__:
        function = getattr(fl, name)
        # Once variables are used, functions take expressions, too.
        assert getattr(function, "_fl_plain", function) is getattr(_derived, name) and function.__doc__
    for name in _derived.METHODS:
        assert callable(getattr(fl.Tensor, name))
