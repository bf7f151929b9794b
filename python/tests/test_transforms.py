"""Transforms of functions: `vmap`, `grad`, `jvp`, Jacobians, and `functional_call`, in both modes and combined.

`golden/transforms.json` has what `torch.func` gives for the same functions and inputs.
"""

import json
import logging
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl

GOLDEN = json.loads((Path(__file__).parent / "golden" / "transforms.json").read_text())
A = {name: fl.tensor(np.array(value)) for name, value in GOLDEN["inputs"].items()}
W = {name: fl.tensor(np.array(value)) for name, value in GOLDEN["weights"].items()}
EYE = fl.tensor(np.eye(3) * 4)


def g(x):
    return fl.sum(fl.sin(x) * x**2)


def h(x):
    return fl.stack([x[0] * x[1], fl.sin(x[2]), fl.sum(x**2), x[0] ** 3])


def loss(p, x, y):
    return (fl.sum(fl.tanh(x @ p["w1"].T + p["b1"]) @ p["w2"].T) - fl.sum(y)) ** 2


def maml(p, x, y):
    inner = fl.grad(lambda p: fl.mean(fl.vmap(loss, (None, 0, 0))(p, x, y)))(p)
    q = {name: p[name] - 0.1 * inner[name] for name in p}
    return fl.mean(fl.vmap(loss, (None, 0, 0))(q, x, y))


CASES = {
    "sum": lambda a: fl.vmap(lambda x: fl.sum(x))(a["x"]),
    "softmax": lambda a: fl.vmap(lambda x: fl.softmax(x, -1))(a["x"]),
    "outer": lambda a: fl.vmap(fl.vmap(lambda u, v: u * v, (None, 0)), (0, None))(a["v"], a["w"][:, 0]),
    "matvec": lambda a: fl.vmap(lambda m, x: x @ m)(a["m"], a["x"]),
    "matmul_shared": lambda a: fl.vmap(lambda m: m @ a["w"])(a["m"]),
    "matmul_left": lambda a: fl.vmap(lambda m: a["w"] @ m)(a["m"]),
    "in_axes": lambda a: fl.vmap(lambda c: fl.cumsum(c, 0), in_axes=1)(a["x"]),
    "out_axes": lambda a: fl.vmap(lambda c: c * 2, out_axes=1)(a["x"]),
    "sort": lambda a: fl.vmap(lambda x: fl.sort(x))(a["x"]),
    "gather": lambda a: fl.vmap(lambda x, i: x[i])(a["x"], a["idx"]),
    "gather_shared": lambda a: fl.vmap(lambda i: a["v"][i])(a["idx"]),
    "logsumexp": lambda a: fl.vmap(lambda m: fl.logsumexp(m, [0]))(a["m"]),
    "conv": lambda a: fl.vmap(lambda i: fl.conv2d(fl.unsqueeze(i, 0), a["k"]))(a["img"]),
    "conv_weights": lambda a: fl.vmap(lambda k: fl.conv2d(a["img"], fl.unsqueeze(k, 0)))(a["k"]),
    "layer_norm": lambda a: fl.vmap(lambda x: fl.layer_norm(x, 1))(a["x"]),
    "inverse": lambda a: fl.vmap(fl.linalg.inv)(a["m"][:, :, :3] + EYE),
    "attention": lambda a: fl.vmap(lambda q: fl.scaled_dot_product_attention(q, q, q))(a["q"]),
    "grad": lambda a: fl.grad(g)(a["v"]),
    "vmap_grad": lambda a: fl.vmap(fl.grad(g))(a["x"]),
    "grad_vmap": lambda a: fl.grad(lambda x: fl.sum(fl.vmap(g)(x) ** 2))(a["x"]),
    "grad_grad": lambda a: fl.grad(lambda v: fl.sum(fl.grad(g)(v) ** 2))(a["v"]),
    "jacrev": lambda a: fl.jacrev(h)(a["v"]),
    "jacfwd": lambda a: fl.jacfwd(h)(a["v"]),
    "hessian": lambda a: fl.hessian(g)(a["v"]),
    "vmap_jacrev": lambda a: fl.vmap(fl.jacrev(h))(a["x"]),
    "vmap_hessian": lambda a: fl.vmap(fl.hessian(g))(a["x"]),
    "jvp": lambda a: fl.unsqueeze(fl.jvp(h, (a["v"],), (a["y"][0],))[1], 0),
    "vjp": lambda a: fl.vjp(h, a["v"])[1](fl.arange(0, 4, 1, "float64"))[0],
    "hvp": lambda a: fl.jvp(fl.grad(g), (a["v"],), (a["y"][0],))[1],
}
for _name in W:
    CASES[f"per_sample_{_name}"] = lambda a, name=_name: fl.vmap(fl.grad(loss), (None, 0, 0))(W, a["x"], a["y"])[name]
    CASES[f"maml_{_name}"] = lambda a, name=_name: fl.grad(maml)(W, a["x"], a["y"])[name]


def test_all_references_are_used():
    assert set(CASES) == set(GOLDEN["values"])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["lines", "function"])
def test_as_torch_func(name, mode, caplog):
    case = CASES[name]
    with caplog.at_level(logging.WARNING, logger="fluvial.vmap"):
        found = case(A) if mode == "lines" else fl.function(case)(A)
    assert not caplog.records, "a rule is missing"
    np.testing.assert_allclose(found.numpy(), np.array(GOLDEN["values"][name]), rtol=1e-9, atol=1e-11)


# Control flow.


def halved(x):
    n = 0.0
    while fl.sum(x) > 1.0:
        if x[0] > 2.0:
            x = x / 3
        else:
            x = fl.log(x + 1.0) * 0.9
        n = n + 1.0
    return x * n


def branch(x):
    if fl.sum(x) > 0:
        return fl.log(fl.sum(x)) * x
    return -x * x


ROWS = fl.tensor(np.array([[3.0, 1.0], [0.2, 0.1], [9.0, 5.0], [-1.0, 0.5]]))


@pytest.mark.parametrize("f", [halved, branch])
def test_each_element_takes_its_own_way(f):
    expected = np.stack([f(row).numpy() for row in ROWS])
    np.testing.assert_allclose(fl.vmap(f)(ROWS).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(fl.function(fl.vmap(f))(ROWS).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("f", [halved, branch])
def test_gradients_of_control_flow(f):
    def total(x):
        return fl.sum(f(x))

    expected = np.stack([fl.grad(total)(row).numpy() for row in ROWS])
    assert np.isfinite(expected).all()
    outer = fl.grad(lambda xs: fl.sum(fl.vmap(f)(xs)))
    np.testing.assert_allclose(outer(ROWS).numpy(), expected, rtol=1e-10)
    np.testing.assert_allclose(fl.function(outer)(ROWS).numpy(), expected, rtol=1e-10)
    # Inside, what a loop keeps for its gradient is a list for each element: they run one by one, and it is said.
    inner = fl.vmap(fl.grad(total))
    np.testing.assert_allclose(inner(ROWS).numpy(), expected, rtol=1e-10)
    np.testing.assert_allclose(fl.function(inner)(ROWS).numpy(), expected, rtol=1e-10)


def test_a_loop_that_all_elements_share():
    def powers(x, n):
        total = x
        for _ in range(n):
            total = fl.tanh(total * x)
        i = 0
        while i < 3:
            total = total + fl.sin(total)
            i += 1
        return fl.sum(total)

    mapped = fl.vmap(fl.grad(powers), in_axes=(0, None))
    expected = np.stack([fl.grad(powers)(row, 4).numpy() for row in ROWS])
    np.testing.assert_allclose(mapped(ROWS, 4).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(fl.jacrev(lambda xs: fl.vmap(lambda x: powers(x, 2))(xs))(ROWS).shape, (4, 4, 2))


def test_scan_inside():
    def running(xs):
        _, sums = fl.scan(lambda total, x: (total + x, total * x), xs[0] * 0, xs)
        return sums

    expected = np.stack([running(row).numpy() for row in A["x"]])
    mapped = fl.vmap(running)
    np.testing.assert_allclose(mapped(A["x"]).numpy(), expected, rtol=1e-12)
    inner = fl.vmap(fl.grad(lambda xs: fl.sum(running(xs) ** 2)))
    expected = np.stack([fl.grad(lambda xs: fl.sum(running(xs) ** 2))(row).numpy() for row in A["x"]])
    np.testing.assert_allclose(inner(A["x"]).numpy(), expected, rtol=1e-12)
    assert not mapped.looped and not inner.looped


# What vmap takes and gives.


def test_transforms_that_are_made_anew_share_a_program():
    def square(x):
        return fl.sum(x * x)

    for _ in range(3):
        fl.vmap(fl.grad(square))(A["x"])
    assert len(vars(square)["_fl_programs"]) == 1
    fl.vmap(fl.grad(square), out_axes=1)(A["x"])
    fl.vmap(square)(A["x"])
    assert len(vars(square)["_fl_programs"]) == 3


def test_functions_that_are_made_anew_in_each_step_are_told():
    with pytest.warns(RuntimeWarning, match="made 16 times"):
        for k in range(16):
            fl.vmap(lambda x: x * k)(fl.tensor([1.0]))


def test_nested_arguments_and_results():
    def f(p, xs):
        return {"a": p["w"] * xs[0], "b": (fl.sum(xs[1]), p["w"])}

    p, xs = {"w": fl.tensor([1.0, 2.0])}, [fl.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), fl.tensor([[1.0, 2.0, 3.0]])]
    found = fl.vmap(f, in_axes=({"w": None}, [0, 1]), out_axes={"a": 1, "b": (0, None)})(p, xs)
    assert found["a"].tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]
    assert found["b"][0].tolist() == [1.0, 2.0, 3.0] and found["b"][1].tolist() == [1.0, 2.0]


def test_pytorchs_names_of_axes():
    x = fl.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert fl.vmap(lambda c: fl.sum(c), in_dims=1)(x).tolist() == [9.0, 12.0]


def test_functions_that_run_line_by_line_are_mapped_as_well():
    with fl.mode("imperative"):
        assert fl.vmap(branch)(ROWS).numpy().tolist() == fl.vmap(branch)(ROWS).numpy().tolist()
        assert fl.function(fl.jacrev(h))(A["v"]).shape == (4, 3)


def test_methods_layers_and_partial_functions():
    import functools

    class Scale:
        def __init__(self, by):
            self.by = fl.tensor(by)

        def __call__(self, x):
            return x * self.by

        def apply(self, x):
            return x * self.by

    x = fl.tensor([1.0, 2.0])
    scale = Scale(3.0)
    for f in (scale, scale.apply, functools.partial(fl.mul, fl.tensor(3.0)), fl.function(scale.apply)):
        assert fl.vmap(f)(x).tolist() == [3.0, 6.0]


def test_a_batch_without_elements():
    assert fl.vmap(lambda x: fl.sum(x * x))(fl.full((0, 3), 1.0)).shape == (0,)
    assert fl.vmap(branch)(fl.full((0, 3), 1.0)).shape == (0, 3)


def test_other_sizes_use_one_program():
    mapped = fl.vmap(lambda x: fl.sum(x * 2))
    for n in (2, 3, 5, 7):
        assert mapped(fl.full((n, 4), 1.0)).tolist() == [8.0] * n


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: fl.vmap(lambda x: x, in_axes=None)(x), "no argument of a mapped function"),
        (lambda x: fl.vmap(lambda x: x, in_axes=2)(x), "`in_axes` has 2"),
        (lambda x: fl.vmap(lambda a, b: a)(x, x[:2]), "different sizes"),
        (lambda x: fl.vmap(lambda a, n: a)(x, 3), "the number 3"),
        (lambda x: fl.vmap(lambda a, b: a, in_axes=(0,))(x, x), "1 parts for 2 arguments"),
        (lambda x: fl.vmap(lambda a: a, out_axes=None)(x), "differs by element"),
        (lambda x: fl.vmap(lambda a: a, out_axes=5)(x), "`out_axes` has 5"),
        (lambda x: fl.vmap(lambda a: fl.dropout(a, 0.5))(x), "draws random numbers"),
        (lambda x: fl.vmap(3)(x), "takes a function"),
        (lambda x: fl.vmap(lambda a: a, randomness="often"), "randomness"),
        (lambda x: fl.grad(lambda a: a)(x), "needs a scalar"),
        (lambda x: fl.grad(lambda a, b: fl.sum(a), 1)(x, x), "does not depend on argument 1"),
        (lambda x: fl.grad(lambda a: fl.sum(a), 3)(x), "called with 1 arguments"),
        (lambda x: fl.grad(lambda a: fl.sum(a * 1.0))(fl.tensor([1, 2])), "with respect to int"),
        (lambda x: fl.grad(x), "need `wrt`"),
        (lambda x: fl.grad(x, x, argnums=1), "`argnums` is for gradients of functions only"),
        (lambda x: fl.grad(lambda a: fl.sum(a), create_graph=True), "`create_graph` is for gradients of values only"),
        (lambda x: fl.jvp(lambda a: a, x, x), "are tuples"),
        (lambda x: fl.jvp(lambda a: a, (x,), (x[0],)), "not of the form"),
        (lambda x: fl.functional_call(fl.nn.Linear(2, 1), {"w": x}, x), "no parameter `w`"),
    ],
)
def test_refusals(call, text):
    with pytest.raises((ValueError, TypeError, RuntimeError, KeyError)) as caught:
        call(fl.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert text in str(caught.value)


def test_randomness():
    zeros = fl.full((64, 8), 0.0)
    fl.seed(5)
    same = fl.vmap(lambda x: x + fl.normal("f32[8]"), randomness="same")(zeros).numpy()
    assert (same == same[0]).all()
    different = fl.vmap(lambda x: x + fl.normal("f32[8]"), randomness="different")(zeros).numpy()
    assert len(np.unique(different)) == 512
    ones = fl.full((4, 100), 1.0)
    dropped = fl.vmap(lambda x: fl.dropout(x, 0.5), randomness="different")(ones).numpy()
    assert not (dropped[0] == dropped[1]).all()
    dropped = fl.vmap(lambda x: fl.dropout(x, 0.5), randomness="same")(ones).numpy()
    assert (dropped == dropped[0]).all() and {0.0, 2.0} == set(np.unique(dropped))


def test_what_has_no_rule_is_a_loop_and_said(caplog):
    searched = fl.vmap(lambda s, x: fl.searchsorted(s, x))
    with caplog.at_level(logging.WARNING, logger="fluvial.vmap"):
        places = searched(fl.tensor([[1.0, 2.0], [3.0, 4.0]]), fl.tensor([[1.5], [1.5]]))
    assert places.tolist() == [[1], [0]]
    assert "searchsorted" in searched.report() and "runs element by element" in caplog.text
    assert fl.vmap(lambda x: x * 2).report() == ""


def test_states_that_differ_are_refused():
    norm = fl.nn.BatchNorm1d(2)
    with pytest.raises(ValueError, match="another value for each element"):
        fl.vmap(norm)(fl.full((3, 4, 2), 1.0))
    norm.eval()
    assert fl.vmap(norm)(fl.full((3, 4, 2), 1.0)).shape == (3, 4, 2)


def test_hooks_inside_are_refused():
    def f(x):
        y = x * 2
        y.register_hook(lambda grad: grad * 10)
        return fl.sum(y)

    with pytest.raises(RuntimeError, match="a hook was put on a value of a mapped function"):
        fl.vmap(f)(ROWS)


@pytest.mark.parametrize("layer", [fl.nn.GroupNorm(2, 4), fl.nn.BatchNorm1d(4).eval(), fl.nn.LayerNorm(3), fl.nn.InstanceNorm1d(4)])
def test_normalisations(layer, caplog):
    x = fl.tensor(np.random.default_rng(2).normal(size=(5, 2, 4, 3)).astype("float32"))
    with caplog.at_level(logging.WARNING, logger="fluvial.vmap"):
        found = fl.vmap(layer)(x).numpy()
        grads = fl.vmap(fl.grad(lambda x: fl.sum(layer(x) ** 3)))(x).numpy()
    assert not caplog.records
    for i in range(5):
        np.testing.assert_allclose(found[i], layer(x[i]).numpy(), rtol=1e-5, atol=1e-5)
        expected = fl.grad(lambda x: fl.sum(layer(x) ** 3))(x[i]).numpy()
        np.testing.assert_allclose(grads[i], expected, rtol=1e-3, atol=1e-3)


def test_recurrent_layers():
    lstm = fl.nn.LSTM(2, 3)
    params = {name: value.detach() for name, value in lstm.named_parameters()}
    x = fl.tensor(np.random.default_rng(3).normal(size=(4, 5, 1, 2)).astype("float32"))

    def total(params, x):
        return fl.sum(fl.functional_call(lstm, params, x)[0] ** 2)

    mapped = fl.vmap(fl.grad(total), (None, 0))
    found = mapped(params, x)
    assert not mapped.looped
    for i in range(4):
        for name, grad in fl.grad(total)(params, x[i]).items():
            np.testing.assert_allclose(found[name].numpy()[i], grad.numpy(), rtol=1e-4, atol=1e-6)


def test_tensors_from_outside():
    w = fl.tensor([1.0, 2.0]).track()
    xs = fl.tensor([[1.0, 1.0], [2.0, 3.0]])
    fl.sum(fl.vmap(lambda x: fl.sum(w * x))(xs)).backward()
    assert w.grad.tolist() == [3.0, 4.0]
    # What a mapped function reads is noticed when it changes.
    factor = [fl.tensor(2.0)]
    mapped = fl.vmap(lambda x: x * factor[0])
    assert mapped(fl.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    factor[0] = fl.tensor(3.0)
    assert mapped(fl.tensor([1.0, 2.0])).tolist() == [3.0, 6.0]


# Gradients of functions.


def test_results_have_a_history_only_where_something_outside_has():
    w = fl.tensor(2.0).track()
    x = fl.tensor(3.0)
    assert not fl.grad(lambda x: x**3)(x).is_tracked
    value, grad = fl.value_and_grad(lambda x: w * x**2)(x)
    assert value.is_tracked and grad.is_tracked
    assert fl.grad(grad, w).item() == 6.0
    with fl.no_grad():
        assert fl.grad(lambda x: w * x**2)(x).item() == 12.0
        assert not fl.grad(lambda x: w * x**2)(x).is_tracked


def test_the_function_sees_a_value_of_its_own():
    x = fl.tensor(3.0).track()
    # `x` from outside is not part of the derivative, but of the one around it.
    inner = fl.grad(lambda y: y * x)(x)
    assert inner.item() == 3.0
    assert fl.grad(fl.grad(lambda y: y * x)(x), x).item() == 1.0


def test_aux_and_unused():
    def f(p, x):
        y = fl.sum(p["a"] * x)
        return y, {"twice": y * 2}

    p = {"a": fl.tensor([1.0, 2.0]), "b": fl.tensor(5.0)}
    x = fl.tensor([3.0, 4.0])
    grads, aux = fl.grad(f, has_aux=True, allow_unused=True)(p, x)
    assert grads["a"].tolist() == [3.0, 4.0] and grads["b"].item() == 0.0
    assert aux["twice"].item() == 22.0 and not aux["twice"].is_tracked
    with pytest.raises(RuntimeError, match=r"argument 0\['b'\]"):
        fl.grad(f, has_aux=True)(p, x)
    by_both = fl.grad(lambda a, b: fl.sum(a * b), (0, 1))(x, x * 2)
    assert by_both[0].tolist() == [6.0, 8.0] and by_both[1].tolist() == [3.0, 4.0]


def test_what_only_the_run_knows():
    def f(x, y):
        if x > 0:
            return x * 3
        return y * 2

    one = fl.tensor(1.0)
    for make in (lambda f: f, fl.function):
        found = [make(fl.grad(f, allow_unused=True))(x, one).item() for x in (one, -one)]
        assert found == [3.0, 0.0]
        strict = make(fl.grad(f))
        assert strict(one, one).item() == 3.0
        with pytest.raises(RuntimeError, match="depend"):
            strict(-one, one)
        assert make(fl.jacrev(f))(-one, one).item() == 0.0
        assert make(lambda x: fl.jvp(f, (x, one), (one, one))[1])(-one).item() == 2.0
    assert fl.vmap(fl.grad(f, allow_unused=True), (0, None))(fl.tensor([1.0, -1.0]), one).tolist() == [3.0, 0.0]


def test_grad_outputs():
    def both(x):
        y = x * x
        return fl.grad(y, x, grad_outputs=fl.tensor([1.0, 10.0]))

    x = fl.tensor([1.0, 2.0]).track()
    assert both(x).tolist() == [2.0, 40.0]
    assert fl.function(both)(fl.tensor([1.0, 2.0])).tolist() == [2.0, 40.0]
    z = fl.grad([fl.sum(x), x * x], x, grad_outputs=[None, fl.tensor([1.0, 1.0])])
    assert z.tolist() == [3.0, 5.0]
    with pytest.raises(ValueError, match="the seed is"):
        fl.grad(x * x, x, grad_outputs=fl.tensor([1.0]))


def test_pullbacks_are_used_again_and_differentiated():
    x = fl.tensor([1.0, 2.0])
    y, pull = fl.vjp(lambda x: (x * x, fl.sum(x)), x)
    for _ in range(2):
        assert pull((fl.tensor([1.0, 0.0]), fl.tensor(3.0)))[0].tolist() == [5.0, 3.0]
    assert y[1].item() == 3.0
    second = fl.grad(lambda x: fl.sum(fl.vjp(lambda x: x**3, x)[1](fl.full((2,), 1.0))[0]))
    assert second(x).tolist() == [6.0, 12.0]


def test_linear_functions_have_zero_second_derivatives():
    assert fl.hessian(lambda x: fl.sum(x * 2))(fl.tensor([1.0, 2.0])).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert fl.jvp(lambda x: x * 0 + 1, (fl.tensor([1.0]),), (fl.tensor([1.0]),))[1].tolist() == [0.0]


def test_differences():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=4), rng.normal(size=4)

    def f(x):
        return fl.stack([fl.sum(fl.exp(x) * x), fl.prod(x), fl.logsumexp(x, [0])])

    eps = 1e-6
    expected = (f(fl.tensor(x + eps * t)).numpy() - f(fl.tensor(x - eps * t)).numpy()) / (2 * eps)
    found = fl.jvp(f, (fl.tensor(x),), (fl.tensor(t),))[1].numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fl.jacfwd(f)(fl.tensor(x)).numpy() @ t, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fl.jacrev(f)(fl.tensor(x)).numpy() @ t, expected, rtol=1e-7, atol=1e-8)


# Layers as functions.


def test_functional_call_of_models():
    fl.seed(0)
    net = fl.nn.Sequential(fl.nn.Conv2d(1, 2, 3), fl.nn.ReLU(), fl.nn.Flatten(), fl.nn.Linear(32, 3))
    params = {name: value.detach() for name, value in net.named_parameters()}
    x, labels = fl.normal("f32[5, 1, 6, 6]"), fl.tensor([0, 1, 2, 0, 1])

    def loss(p, x, label):
        return fl.cross_entropy(fl.functional_call(net, p, fl.unsqueeze(x, 0)), fl.unsqueeze(label, 0))

    found = fl.vmap(fl.grad(loss), (None, 0, 0))(params, x, labels)
    for name, own in net.named_parameters():
        rows = [fl.grad(loss)(params, x[i], labels[i])[name].numpy() for i in range(5)]
        np.testing.assert_allclose(found[name].numpy(), np.stack(rows), rtol=2e-4, atol=1e-5)
        assert own.grad is None
    changed = {name: value * 0 for name, value in params.items()}
    assert fl.functional_call(net, changed, x).tolist() == [[0.0] * 3] * 5
    assert (net(x).numpy() != 0).any()
    jacobian = fl.jacrev(lambda p: fl.functional_call(net, p, x))(params)
    assert jacobian["3.weight"].shape == (5, 3, 3, 32)


def test_an_ensemble_of_models():
    fl.seed(0)
    net = fl.nn.Sequential(fl.nn.Linear(3, 4), fl.nn.LayerNorm(4), fl.nn.GELU(), fl.nn.Linear(4, 2))
    stacked = {name: fl.stack([value.detach() * k for k in (0.5, 1.0, 2.0)]) for name, value in net.named_parameters()}
    x = fl.normal("f32[6, 3]")
    found = fl.vmap(lambda p: fl.functional_call(net, p, x))(stacked).numpy()
    for i in range(3):
        own = {name: value[i] for name, value in stacked.items()}
        np.testing.assert_allclose(found[i], fl.functional_call(net, own, x).numpy(), rtol=1e-5, atol=1e-6)


def test_tied_parameters_are_replaced_everywhere():
    class Tied(fl.nn.Layer):
        def __init__(self):
            super().__init__()
            self.first = fl.nn.Linear(2, 2, bias=False)
            self.second = fl.nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x))

    net = Tied()
    weight = fl.tensor([[0.0, 1.0], [2.0, 0.0]])
    assert fl.functional_call(net, {"first.weight": weight}, fl.tensor([1.0, 1.0])).tolist() == [2.0, 2.0]
