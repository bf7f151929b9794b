"""Gradients inside and outside of the function."""

from __future__ import annotations

from .statements import Kind

HELPERS = (
    "def loss_of(t):\n    if fl.sum(t) > 0.5:\n        return fl.sum(t * t)\n    return fl.sum(fl.exp(t))",
    "def cut(t):\n    with fl.no_grad():\n        return t * 2.0",
)

FORMS = {
    "grad inside": (
        "{new} = (x * 1.0).detach().track()\na = a + fl.grad(fl.sum({new} * {new} * {num}), {new})",
        "{new} = b.detach().track()\nb = fl.grad(loss_of({new}), {new})",
        "{new} = x.track()\na = a + fl.grad(fl.sum(fl.tanh({new}) * c.detach()), {new})",
    ),
    "grad of branch": (
        "{new} = x.track()\n{new}l = fl.sum({new} * w)\nif {q}:\n    {new}l = {new}l * {new}l\na = a + fl.grad({new}l, {new})",
        "{new} = y.track()\n{new}l = {new}\nfor {new}i in range(j):\n    {new}l = {new}l * {new}\na = a + fl.grad(fl.sum({new}l), {new})",
    ),
    "no_grad": (
        "with fl.no_grad():\n    b = a * 2.0\na = a + b",
        "a = a + cut({t})",
        "with fl.no_grad():\n    {new} = net({t})\nc = c * {new}",
    ),
    "detach": ("b = a.detach() * {t}", "a = a + {t}.detach()", "c = {t}.detach() - a"),
    "several uses": (
        "a = a * w + w",
        "b = w * w * b",
        "a = a + net(a) + net(b)",
        "c = fl.sum(w) * c",
    ),
    "layer": (
        "a = net(a)",
        "b = fl.relu(net({t}))",
        "c = fl.matmul(m, net.weight)[0] + c",
        "a = a + net.bias",
    ),
    "item": ("a[{i}] = {s}", "b[0:2] = w[0:2]", "c[{i}] = fl.sum(w)"),
    "selected": (
        "a = fl.where({t} > 0, a, w)",
        "b = fl.clip({t}, -1.0, 1.0)",
        "a = fl.maximum(a, w)",
        "a = a * fl.max({t})",
    ),
    "rows": (
        "for {new} in m:\n    a = a + {new} * w",
        "b = fl.sum(m * {t}, axis=0)",
        "c = fl.stack([a, b], 0)[1] * c",
        "for {new} in [a, b]:\n    c = c + net({new})",
    ),
    "scalar": ("k = fl.sum({t} * {t})", "a = a / (1.0 + k * k)", "a = a * {num}"),
    "numbers": ("n += 1", "k = k * 0.5"),
    "backward inside": (
        "fl.sum(w * a.detach()).backward()",
        "fl.mean(net({t}.detach())).backward()",
    ),
    "perhaps": (
        "{new}l = fl.sum(x * x)\nif {q}:\n    {new}l = {new}l + fl.sum(w * a.detach())\n{new} = fl.grad({new}l, w, allow_unused=True)\nif {new} is not None:\n    a = a + {new}",
        "if w.grad is not None:\n    b = b + w.grad",
        "w.zero_grad()",
        "net.weight.zero_grad()",
    ),
    "hook": ("{new} = {t} * 2.0\n{new}.register_hook(lambda grad: grad * 0.5)\na = a + {new}",),
    "failing": (
        "assert fl.sum({t}) > -3.0, 'low'",
        "try:\n    fl.sum(w * a.detach()).backward()\n    assert {q}, 'inner'\nexcept AssertionError:\n    b = b * 2.0",
    ),
    "kept": ("items.append(a)", "model.h = a", "rows[0] = a"),
}

GRADIENTS = Kind(
    FORMS,
    weights=(6, 2, 3),
    results=(
        "fl.sum(a)",
        "fl.sum(a * w)",
        "fl.sum(a) + fl.sum(b)",
        "a",
        "a, b",
        "fl.sum(net(a))",
        "[a, b * w]",
        '{"a": a, "b": b}',
    ),
    helpers=HELPERS,
    places={"t": ("a", "x", "y", "w", "rows[0]")},
    n_statements=(2, 4),
    after=(
        "pass",
        "total(result).backward()",
        "return fl.grad(total(result), given[0])",
        "return fl.grad(total(result) * total(result), given[0])",
    ),
)
