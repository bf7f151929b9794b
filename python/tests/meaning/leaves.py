"""Leaves and parameters that functions change in place: steps of training written by hand; and hooks that stay on them."""

from . import Case

X = ("fl.tensor([1., 2., 3.])", "fl.tensor([-1., 2., .5])", "fl.tensor([1., 2., 3.])")
#: The same lines for a leaf of the closure, a parameter, and a leaf that is an argument.
KINDS = {
    "leaf": ("x", "w = fl.tensor([1.0, -2.0, 3.0]).track()\nkept = [w]", X),
    "parameter": ("x", "w = fl.nn.Parameter(fl.tensor([1.0, -2.0, 3.0]))\nkept = [w]", X),
    "argument": ("x, w", "", tuple(f"{x}, fl.tensor([1.0, -2.0, 3.0]).track()" for x in X)),
}

STEPS = {
    "zero_": "with fl.no_grad():\n    w.zero_()",
    "fill_": "with fl.no_grad():\n    w.fill_(2.0)",
    "copy_": "with fl.no_grad():\n    w.copy_(x)\nreturn fl.sum(w * w)",
    "an item": "with fl.no_grad():\n    w[0] = 5.0\nreturn w * x",
    "a range": "with fl.no_grad():\n    w[1:] = x[:2]\nreturn w * x",
    "a row": "with fl.no_grad():\n    w[0:2].zero_()\nreturn fl.sum(w * x)",
    "by its gradient": "g = fl.grad(fl.sum(w * w * x), w)\nwith fl.no_grad():\n    w.sub_(0.1 * g)\nreturn g",
    "by backward": "loss = fl.sum(w * w * x)\nloss.backward()\nwith fl.no_grad():\n    w.add_(w.grad, alpha=-0.1)\nw.zero_grad()\nreturn loss",
    "the gradient stays": "loss = fl.sum(w * w * x)\nloss.backward()\nwith fl.no_grad():\n    w.sub_(0.1 * w.grad)\nreturn loss",
    "the gradient is zeroed": "fl.sum(w * w * x).backward()\nwith fl.no_grad():\n    w.sub_(0.1 * w.grad)\n    w.grad.zero_()",
    "the gradient is taken off": "fl.sum(w * w * x).backward()\nwith fl.no_grad():\n    w.sub_(0.1 * w.grad)\n    w.grad = None",
    "used before": "y = w * x\nwith fl.no_grad():\n    w.mul_(2.0)\nreturn fl.sum(y * w)",
    "backward after": "y = w * x\nwith fl.no_grad():\n    w.mul_(2.0)\nfl.sum(y).backward()",
    "a gradient after": "with fl.no_grad():\n    w.sub_(x)\nreturn fl.grad(fl.sum(w * w), w)",
    "the data": "w.data -= 0.1 * x\nreturn fl.sum(w * x)",
    "the data in place": "w.data.sub_(0.1 * x)\nreturn fl.sum(w * x)",
    "the data is set": "w.data = w.data * 2.0\nreturn fl.sum(w * x)",
    "in a branch": "if fl.sum(x) > 2.0:\n    with fl.no_grad():\n        w.sub_(x)\nreturn fl.sum(w * x)",
    "in a loop": "for r in x:\n    with fl.no_grad():\n        w.sub_(r)\nreturn fl.sum(w * x)",
    "steps in a loop": "for r in x:\n    g = fl.grad(fl.sum(w * w * r), w)\n    with fl.no_grad():\n        w.sub_(0.1 * g)\nreturn fl.sum(w * x)",
    "steps by backward": "for i in range(3):\n    fl.sum(w * w * x).backward()\n    with fl.no_grad():\n        w.sub_(0.1 * w.grad)\n    w.zero_grad()\nreturn fl.sum(w * x)",
    "steps by backward in a loop": "for r in x:\n    fl.sum(w * w * r).backward()\n    with fl.no_grad():\n        w.sub_(0.1 * w.grad)\n    w.zero_grad()\nreturn fl.sum(w * x)",
    "a branch in a loop": "for r in x:\n    if r > 0.7:\n        with fl.no_grad():\n            w.mul_(r)\n    else:\n        with fl.no_grad():\n            w[0] = r\nreturn fl.sum(w * x)",
    "by a helper": "step(w, x)\nreturn fl.sum(w * x)",
    "before a fault": "with fl.no_grad():\n    w.sub_(x)\nassert fl.sum(x) > 5.0, 'small'\nreturn fl.sum(w)",
    "recorded": "w.zero_()\nreturn x",
    "an item recorded": "w[0] = 2.0\nreturn x",
    "recorded in a branch": "seen.append(1)\nif fl.sum(x) < 2.0:\n    w[0] = 2.0\nreturn x",
}

HELPER = "\nseen = []\ndef step(t, by):\n    with fl.no_grad():\n        t.sub_(0.5 * by)"

CASES = {
    f"{title}, {kind}": Case(body, calls, parameters, before + HELPER, ignored="is_tracked")
    for title, body in STEPS.items()
    for kind, (parameters, before, calls) in KINDS.items()
}

CASES |= {
    "minus, rebound": Case("nonlocal w\ng = fl.grad(fl.sum(w * w * x), w)\nwith fl.no_grad():\n    w -= 0.1 * g", X, before=KINDS["leaf"][1], ignored="is_tracked"),
    "a layer is trained by hand": Case(
        "loss = fl.mean((net(x) - 1.0) ** 2)\nloss.backward()\nwith fl.no_grad():\n    for p in net.parameters():\n        p -= 0.1 * p.grad\nnet.zero_grad()\nreturn loss",
        X,
        before="fl.seed(2)\nnet = fl.nn.Linear(3, 2)",
        ignored="is_tracked",
    ),
    "a leaf or another tensor": Case(
        "with fl.no_grad():\n    w.mul_(2.0)\nreturn x + w.detach()",
        ("fl.tensor([1.]), fl.tensor([1.])", "fl.tensor([1.]), fl.tensor([1.]).track()", "fl.tensor([1.]), fl.tensor([1.])"),
        "x, w",
        ignored="is_tracked",
    ),
}

HOOKED = {"leaf": "w = fl.tensor([1.0, -2.0, 3.0]).track()", "parameter": "w = fl.nn.Parameter(fl.tensor([1.0, -2.0, 3.0]))"}
HOOK = "\nscale, seen = 3.0, []\ndef hook(g):\n    return g * scale\nhandle = w.register_hook(hook)"
USES = {
    "backward inside": "fl.sum(w * w * x).backward()",
    "a gradient inside": "return fl.grad(fl.sum(w * w * x), w)",
    "backward in a loop": "for r in x:\n    fl.sum(w * w * r).backward()",
    "backward in a branch": "if fl.sum(x) > 2.0:\n    fl.sum(w * w * x).backward()",
    "backward behind a branch": "y = fl.sum(w * x)\nif fl.sum(x) > 2.0:\n    y = y * y\ny.backward()",
    "perhaps none": "y = fl.sum(x * x.track())\nif fl.sum(x) > 2.0:\n    y = y + fl.sum(w * x)\ng = fl.grad(y, w, allow_unused=True)\nif g is None:\n    return x\nreturn g",
    "after an update": "with fl.no_grad():\n    w.mul_(2.0)\nfl.sum(w * w * x).backward()",
    "several uses": "y = w * x\nfor r in x:\n    y = y * w + r\nfl.sum(y).backward()",
}
for kind, before in HOOKED.items():
    for title, body in USES.items():
        CASES[f"a hook on a {kind}: {title}"] = Case(body, X, before=before + HOOK, ignored="is_tracked|closure.handle")
    CASES[f"a hook on a {kind}: backward outside"] = Case("return fl.sum(w * w * x)", X, before=before + HOOK, after="result.backward()")
    CASES[f"a hook on a {kind}: what it reads changes"] = Case("fl.sum(w * x).backward()", X, before=before + HOOK, change="scale += 1.0")
    CASES[f"a hook on a {kind}: removed"] = Case("fl.sum(w * x).backward()", X, before=before + HOOK, change="handle.remove()")
    CASES[f"a hook on a {kind}: put there later"] = Case("fl.sum(w * x).backward()", X, before=before, change="w.register_hook(lambda g: g * 2.0)")
    CASES[f"a hook on a {kind}: appends"] = Case("fl.sum(w * x).backward()", X, before=before + "\nseen = []\nw.register_hook(lambda g: seen.append(g * 1.0))", ignored="is_tracked")
    CASES[f"a hook on a {kind}: branches"] = Case("fl.sum(w * x).backward()", X, before=before + "\ndef hook(g):\n    if fl.sum(g) > 2.0:\n        return g * 2.0\n    return g * 3.0\nw.register_hook(hook)")
    CASES[f"a hook on a {kind}: put there inside"] = Case("w.register_hook(lambda g: g * 2.0)\nfl.sum(w * x).backward()", X, before=before, verdict="refused")
CASES["a hook on a parameter: an optimizer's step"] = Case(
    "opt.minimize(fl.sum(w * w * x))", X, before=HOOKED["parameter"] + HOOK + "\nopt = fl.optimizer.SGD([w], lr=0.1)", ignored="is_tracked|closure"
)
