"""Gradients inside and outside of functions."""

from . import Case

T = ("fl.tensor([1.0, 2.0]).track()", "fl.tensor([-3.0, 0.5]).track()", "fl.tensor([2.0, 3.0]).track()")
GRAD = "return fl.grad(fl.sum(result), given[0], allow_unused=True)"
BACK = "fl.sum(result).backward()\nreturn given[0].grad"
COUNTS = "n = 0\ndef hook(g):\n    nonlocal n\n    n += 1\n"
READS = "scale = 2.0\ndef hook(g):\n    return g * scale"
W = "w = fl.tensor([2.0, 3.0]).track()\n"


def back(body: str, **more) -> Case:
    return Case(body, T, after=more.pop("after", BACK), **more)


CASES = {
    # What no gradient reaches.
    "backward of nothing tracked": Case("nonlocal w\nw = x * 2\nfl.sum(w).backward()\nreturn x", before="w = fl.tensor([1., 3.])"),
    "backward of nothing tracked in a branch": Case("nonlocal w\nw = x * 2\nif fl.sum(x) < 0:\n    fl.sum(w).backward()\nreturn x", before="w = fl.tensor([1., 3.])"),
    "backward of nothing tracked in a try": Case("nonlocal w\nw = x * 2\ntry:\n    fl.sum(w).backward()\nexcept ValueError:\n    x = x + 1\nreturn x", before="w = fl.tensor([1., 3.])"),
    "a hook of each trip": Case("for v in y:\n    z = x * v\n    z.register_hook(lambda g: g * 2)\n    x = z + 1\nreturn fl.sum(x)", parameters="x, y", calls=("fl.tensor([1., 2.]).track(), fl.tensor([1., 3.])",) * 2, after="result.backward()\nreturn given[0].grad"),
    "a captured value twice a trip": back("for i in range(fl.tensor(3)):\n    x = x * w + w\nreturn x", before=W),
    "a captured value in two branches": back("if fl.sum(x) > 0:\n    x = x * w + w * 0.1\nelse:\n    x = x - w * w\nreturn x * w", before=W),
    "leaky_relu with a tensor": back("return fl.leaky_relu(x, fl.sum(x) * 0.1)"),
    "masked_fill with a tensor": back("return fl.masked_fill(x, x > 0, fl.sum(x) * 2)"),
    "elu with a tensor": back("return fl.elu(x, fl.sum(x) * 0.1)"),
    "clip with tensors": back("return fl.clip(x, fl.min(x) * 0.5, fl.max(x) * 0.5)"),
    "pad with a tensor": back("return fl.pad(x, [[1, 1]], fl.sum(x))"),
    "a list of tensors": back("v = fl.sum(x)\nreturn fl.tensor([v, v * 2]) * x"),
    "full with a tensor": back("return fl.full((2,), fl.sum(x)) * x"),
    "where with a tensor": back("return fl.where(x > 0, fl.sum(x), x)"),
    "lerp and pow": back("return fl.pow(fl.abs(x), fl.sum(x) * 0.1) + fl.lerp(x, x * 2, fl.sum(x))"),
    "softplus with a tensor is refused": back("return fl.softplus(x, fl.sum(x * x))"),
    "no_grad": Case("with fl.no_grad():\n    y = x * x\nreturn fl.sum(y * x)", ("fl.tensor([2., 3.]).track()",) * 2, after=BACK),
    "no_grad, captured": back("with fl.no_grad():\n    y = w * w\nreturn fl.sum(y * w * x)", before=W, after="fl.sum(result).backward()\nreturn w.grad"),
    "no_grad as a decorator": back("return target(x) * x", before="@fl.no_grad()\ndef target(t):\n    return t * t"),
    "detach": back("return x.detach() * x + (x * 2).detach()"),
    "enable_grad": back("with fl.no_grad():\n    with fl.enable_grad():\n        y = x * x\n    z = x * 3\nreturn y + z"),
    "no_grad in a branch": back("if fl.sum(x) > 0:\n    with fl.no_grad():\n        y = x * 2\nelse:\n    y = x * 3\nreturn y * x"),
    "no_grad in a loop": back("y = x\nfor i in range(fl.tensor(3)):\n    with fl.no_grad():\n        z = y * 2\n    y = y * z\nreturn y"),
    "is_tracked": back("with fl.no_grad():\n    y = x * x\nreturn y, x * 1", after="return result[0].is_tracked, result[1].is_tracked"),
    "a hook": back("y = x * 2\ny.register_hook(lambda g: g * 10)\nreturn y * y"),
    "a hook in a loop": back("for i in range(fl.tensor(2)):\n    x = x * 2\n    x.register_hook(lambda g: g * 10)\nreturn x"),
    "a hook in a branch": back("y = x * 2\nif fl.sum(x) > 0:\n    y.register_hook(lambda g: g * 10)\nreturn y"),
    "a hook that records": back("y = x * 2\ny.register_hook(seen.append)\nreturn y * y", before="seen = []", verdict="refused"),
    "a hook on an argument": back("x.register_hook(lambda g: g * 3)\nreturn x * x"),
    "the branch not taken": Case("l = fl.mean(net(x))\nif not fl.isfinite(l):\n    l = fl.mean(net.weight ** 2)\nreturn l", ("fl.tensor([[1., 2.]])", "fl.tensor([[float('inf'), 2.]])"), before="fl.seed(1)\nnet = fl.nn.Linear(2, 2)", after="result.backward()\nreturn net.weight.grad, net.bias.grad"),
    "minimize of a branch": Case("l = fl.mean(net(x))\nif not fl.isfinite(l):\n    l = fl.mean(net.weight ** 2)\nopt.minimize(l)\nreturn l", ("fl.tensor([[1., 2.]])", "fl.tensor([[float('inf'), 2.]])", "fl.tensor([[3., 2.]])"), before="fl.seed(1)\nnet = fl.nn.Linear(2, 2)\nopt = fl.optimizer.Adam(net.parameters(), lr=0.1)", ignored="is_tracked"),
    "sqrt of a branch": back("return fl.sqrt(x) if fl.min(x) > 0 else x * 2"),
    "log in a loop that does not run": back("n = (fl.min(x) > 0).astype('int64')\nfor i in range(n):\n    x = fl.log(x)\nreturn x * x"),
    "a where of a branch": back("if fl.min(x) > 0:\n    y = 1 / x\nelse:\n    y = x / (x - x[0])\nreturn y[1] + x"),
    "grad inside": Case("y = x.detach().track()\nreturn fl.grad(fl.sum(y * y * y), y)"),
    "grad of a grad inside": Case("y = x.detach().track()\ng = fl.grad(fl.sum(y * y * y), y, create_graph=True)\nreturn fl.grad(fl.sum(g), y)"),
    "grad inside a loop": Case("y = x.detach().track()\nfor i in range(fl.tensor(3)):\n    y = (y - 0.1 * fl.grad(fl.sum(y * y), y)).detach().track()\nreturn y.detach()"),
    "a gradient of an outer value through a carried one": Case("y = x.detach().track()\nz = y\ns = x * 0\nfor i in range(fl.tensor(3)):\n    z = z * y\n    s = s + fl.grad(fl.sum(z), y, retain_graph=True)\nreturn s"),
    "w.grad inside": Case("w.zero_grad()\nfl.sum(w * x).backward()\nreturn w.grad * 2", before=W),
    "backward in a loop": Case("for v in x:\n    fl.sum(w * v).backward()\nreturn w.grad", before=W),
    "backward in a branch": Case("if fl.sum(x) > 0:\n    fl.sum(w * x).backward()\nreturn x", before=W),
    "gradients of what is not tracked": Case("return fl.grad(fl.sum(x), w)", before=W),
    "grad of a constant": Case("fl.sum(x).backward()\nreturn x", ignored="message"),
    "allow_unused of a branch": Case("l = fl.sum(v * x)\nif fl.sum(x) > 0:\n    l = l + fl.sum(w)\ng = fl.grad(l, w, allow_unused=True)\nreturn x if g is None else g", before=W + "v = fl.tensor(1.0).track()"),
    "unused of a branch": Case("l = fl.sum(w * 0) + fl.sum(x)\nv = w * 2\nif fl.sum(x) > 0:\n    l = l + fl.sum(v)\nreturn fl.grad(l, v)", before=W),
    "an optimizer inside": Case("loss = fl.sum((net(x) - 1) ** 2)\nloss.backward()\nopt.step()\nopt.zero_grad()\nreturn loss", ("fl.tensor([[1., 2.]])",) * 3, before="fl.seed(1)\nnet = fl.nn.Linear(2, 1)\nopt = fl.optimizer.SGD(net.parameters(), lr=0.1, momentum=0.9)", ignored="is_tracked"),
    "a changed learning rate": Case("loss = fl.sum((net(x) - 1) ** 2)\nopt.minimize(loss)\nreturn loss", ("fl.tensor([[1., 2.]])",) * 3, before="fl.seed(1)\nnet = fl.nn.Linear(2, 1)\nopt = fl.optimizer.SGD(net.parameters(), lr=0.1)", ignored="is_tracked", change="opt.param_groups[0]['lr'] *= 0.5"),
    "freezing between calls": Case("return fl.sum(net(x))", ("fl.tensor([[1., 2.]])",) * 3, before="fl.seed(1)\nnet = fl.nn.Linear(2, 1)", change="net.bias.requires_grad = False", after="result.backward()\nreturn net.weight.grad, net.bias.grad"),
    "targets under no_grad": Case("with fl.no_grad():\n    t = old(x) * 0.9\nl = fl.mean((net(x) - t) ** 2)\nopt.minimize(l)\nreturn l", ("fl.tensor([[1., 2.]])",) * 3, before="fl.seed(1)\nnet = fl.nn.Linear(2, 1)\nold = net\nopt = fl.optimizer.Adam(net.parameters(), lr=0.1)", ignored="is_tracked"),
    "a moving average": Case("opt.minimize(fl.mean(net(x) ** 2))\nwith fl.no_grad():\n    for a, b in zip(avg.parameters(), net.parameters()):\n        a.copy_(a * 0.9 + b * 0.1) if hasattr(a, 'copy_') else None\nreturn avg(x)", ("fl.tensor([[1., 2.]])",) * 3, before="fl.seed(1)\nnet = fl.nn.Linear(2, 1)\navg = copy.deepcopy(net)\nopt = fl.optimizer.SGD(net.parameters(), lr=0.1)", ignored="is_tracked"),
    "a gradient through item assignment": back("y = x * 1\ny[0] = x[1] * 3\nz = y\nz[1] *= 2\nreturn y"),
    "a gradient through a list": back("rows = []\nfor v in x:\n    rows.append(v * v)\nreturn fl.stack(rows, 0)"),
    "a gradient through while": back("while fl.sum(x * x) < 100:\n    x = x * 2\nreturn x"),
    "is_tracked of an argument": Case("return x * 2 if x.is_tracked else x", ("fl.tensor([1.0]).track()", "fl.tensor([1.0])", "fl.tensor([2.0]).track() * 1")),
    "is_tracked of a captured tensor": Case("return x * 2 if w.is_tracked else x", ("fl.tensor([1.0])",) * 3, before="w = fl.tensor(1.0)", change="w = w.track() if call == 1 else fl.tensor(2.0)"),
    "is_leaf of an argument": Case("return x * 2 if x.is_leaf else x", ("fl.tensor([1.0]).track()", "fl.tensor([1.0])", "fl.tensor([2.0]).track() * 1")),
    "is_tracked of a parameter": Case("return x * 2 if net.weight.is_tracked else x", ("fl.tensor([1.0])",) * 3, before="net = fl.nn.Linear(1, 1)", change="net.weight.requires_grad = not net.weight.requires_grad"),
    "requires_grad of a parameter": Case("return x * 2 if net.weight.requires_grad else x", ("fl.tensor([1.0])",) * 3, before="net = fl.nn.Linear(1, 1)", change="net.weight.requires_grad = not net.weight.requires_grad"),
    "a hook appends": back("y = x * 2\ny.register_hook(lambda g: seen.append(g))\nreturn y * y", before="seen = []", verdict="refused"),
    "a hook counts": back("y = x * 2\ny.register_hook(hook)\nreturn y * y", before=COUNTS, verdict="refused"),
    "a hook inside counts": back("y = x * 2\ndef hook(g):\n    nonlocal n\n    n += 1\ny.register_hook(hook)\nreturn y * y", before="n = 0", verdict="refused"),
    "a hook reads": back("y = x * 2\ny.register_hook(lambda g: g * scale)\nreturn y * y", before="scale = 2.0", change="scale += 1"),
    "a hook outside reads": back("y = x * 2\ny.register_hook(hook)\nreturn y * y", before=READS, change="scale += 1"),
    "a hook branches": back("y = x * 2\ny.register_hook(hook)\nreturn y * y", before=READS.replace("return", "if fl.sum(g) > 10:\n        g = g + 1\n    return")),
    "a hook of a gradient inside": Case("y = x * 2\ny.register_hook(seen.append)\nreturn fl.grad(fl.sum(y * y), x)", T, before="seen = []"),
    "a hook is removed": back("y = x * 2\nh = y.register_hook(lambda g: g * 5)\nh.remove()\nreturn y * y"),
    "sums go on outside of a function": Case("a = net(x + x[0] * 2.0)\nreturn a, x", tuple(f"fl.tensor([{row}]).track()" for row in ("1.5, -0.5, 2.0", "-1.0, 0.25, 0.5", "0.5, 3.0, -2.0")), before="fl.seed(1)\nnet = fl.nn.Linear(3, 3)\ndef total(parts):\n    return sum(fl.sum(part) for part in parts)", after="return fl.grad(total(result) * total(result), given[0])"),
    "sums go on after a failing line": back("try:\n    y = x * w\n    assert fl.sum(y) > 0, 'low'\n    y = y * w\nexcept AssertionError:\n    y = x + w\nreturn y * w", before=W, after="fl.sum(result * w * given[0]).backward()\nreturn given[0].grad, w.grad"),
    "a try that does not use a leaf": back("c = fl.tanh(x)\nk = 0.5\ntry:\n    c[0] = fl.sum(w)\n    x = x + x\nfinally:\n    k += 1\nreturn x", before=W, after="fl.sum(result).backward()\nreturn w.grad"),
    "a try in a try": back("n = 0\ntry:\n    try:\n        assert fl.sum(x) > -9.0, 'low'\n        x = x * w\n    finally:\n        n += 1\nfinally:\n    n += 1\nreturn x", before=W),
    "a result of one path is not tracked": Case("a = x\nif fl.sum(x) > 0:\n    a = fl.tanh(y)\nreturn fl.sum(a)", tuple(f"{one}.track(), fl.tensor([1.0, 2.0])" for one in ("fl.tensor([1.0, 2.0])", "fl.tensor([-3.0, 0.5])")), "x, y", after="return fl.grad(result, given[0])", ignored="is_tracked"),
    "backward of what one path does not track": Case("a = x\nif fl.sum(x) > 0:\n    a = fl.tanh(y)\nreturn fl.sum(a)", tuple(f"{one}.track(), fl.tensor([1.0, 2.0])" for one in ("fl.tensor([1.0, 2.0])", "fl.tensor([-3.0, 0.5])")), "x, y", after="result.backward()\nreturn given[0].grad", ignored="is_tracked"),
    "a hook on what one path does not track": Case("c = fl.tanh(y)\nif fl.sum(x) > 0:\n    c = fl.tanh(x)\nc.register_hook(lambda g: g * 0.5)\nreturn c * x", tuple(f"{one}.track(), fl.tensor([1.0, 2.0])" for one in ("fl.tensor([1.0, 2.0])", "fl.tensor([4.0, 0.5])", "fl.tensor([-3.0, 0.5])")), "x, y"),
    "a value of an earlier call, whose tape is freed": Case("global_w[0] = global_w[0] * 0.5\nreturn fl.sum(x * global_w[0])", T, before="global_w = [fl.tensor([2.0, 3.0]).track()]", after="return fl.grad(result, given[0])"),
    "backward through a freed value of an earlier call": Case("fl.sum(kept[0] * 2.0).backward()\nkept[0] = x * 1.0\nreturn kept[0]", T, before="kept = [fl.tensor([2.0, 3.0]).track()]", after="return fl.grad(fl.sum(result), given[0])"),
    "backward twice": Case("v = w * x\nfl.sum(v * 2.0).backward()\nfl.sum(v * 3.0).backward()\nreturn w.grad", before=W),
    "backward twice, retained": Case("v = w * x\nfl.sum(v * 2.0).backward(retain_graph=True)\nfl.sum(v * 3.0).backward()\nreturn w.grad", before=W),
    "two gradients of one value": Case("v = w * x\na = fl.grad(fl.sum(v), w)\nreturn a + fl.grad(fl.sum(v), w)", before=W),
    "a gradient of what is newer than a freed value": Case("v = w * x\na = fl.grad(fl.sum(v), w)\nz = x.detach().track()\nreturn a + fl.grad(fl.sum(v.detach() * z), z)", before=W),
}
