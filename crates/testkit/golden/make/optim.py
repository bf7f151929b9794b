"""Golden cases of optimizers, schedules, clipping and averages.

Optimizers that PyTorch has are run by it; the others are written from their papers with NumPy. All of
them fit a logistic regression with a weight and a bias for a dozen steps.
"""

import warnings

import numpy as np
import torch
from torch.optim import lr_scheduler as schedulers
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from golden import Golden, numbers

warnings.simplefilter("ignore")
STEPS = 12
W, B = [0.5, -1.25, 0.75], 0.25
X = numbers(6, 3, seed=3)
Y = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
g = Golden("optim")


def loss_of(w, b):
    z = X @ w + b
    return torch.nn.functional.softplus(z).mean() - (Y * z).mean()


def add(function, weights, biases, **attributes):
    attributes = {"w": W, "b": B, "steps": STEPS, **attributes}
    g.add(function, [X, Y], [torch.stack(weights), torch.stack(biases)], [None, None], attributes)


def torch_case(function, optimizer, *, clip=None, groups=None, accumulate=1, schedule=None, **options):
    """Runs an optimizer of PyTorch. Its options become the attributes of the case."""
    w, b = torch.tensor(W, requires_grad=True), torch.tensor(B, requires_grad=True)
    params = [w, b] if groups is None else [{"params": [w]}, {"params": [b], **groups}]
    opt = optimizer(params, **options)
    after = schedule(opt) if schedule else None
    weights, biases = [], []
    for step in range(STEPS):
        # The data of each call differ a little, so that accumulation is seen.
        (loss_of(w, b) * (1 + step % 3 / 4) / accumulate).backward()
        if (step + 1) % accumulate == 0:
            if clip and clip[0] == "value":
                torch.nn.utils.clip_grad_value_([w, b], clip[1])
            elif clip and clip[0] == "norm":
                torch.nn.utils.clip_grad_norm_([w], clip[1])
                torch.nn.utils.clip_grad_norm_([b], clip[1])
            elif clip:
                torch.nn.utils.clip_grad_norm_([w, b], clip[1])
            opt.step()
            opt.zero_grad()
            if after:
                after.step()
        weights.append(w.detach().clone())
        biases.append(b.detach().clone())
    given = {"clip": clip, "groups": groups, "accumulate": accumulate}
    add(function, weights, biases, **{k: v for k, v in given.items() if v not in (None, 1)}, **options)


def numpy_case(function, update, **options):
    """Runs `update(value, gradient, memory, t, **options)`, which returns the new value."""
    values = [np.array(W), np.array(B)]
    memories = [{}, {}]
    weights, biases = [], []
    for step in range(STEPS):
        leaves = [torch.tensor(v, requires_grad=True) for v in values]
        loss = loss_of(*leaves) * (1 + step % 3 / 4)
        grads = torch.autograd.grad(loss, leaves)
        values = [
            np.asarray(update(v, d.numpy(), m, step + 1, **options))
            for v, d, m in zip(values, grads, memories)
        ]
        weights.append(torch.tensor(values[0]))
        biases.append(torch.tensor(values[1]))
    add(function, weights, biases, **options)


def ftrl(w, d, memory, t, lr, l1=0.0, l2=0.0, beta=1.0, initial_accumulator=0.0):
    """Algorithm 1 of "Ad Click Prediction: a View from the Trenches" (2013)."""
    z = memory.get("z", np.zeros_like(w))
    n = memory.get("n", np.full_like(w, initial_accumulator))
    sigma = (np.sqrt(n + d**2) - np.sqrt(n)) / lr
    memory["z"], memory["n"] = z + d - sigma * w, n + d**2
    z, n = memory["z"], memory["n"]
    solution = -1 / ((beta + np.sqrt(n)) / lr + l2) * (z - np.sign(z) * l1)
    return np.where(np.abs(z) <= l1, 0.0, solution)


def lars(w, d, memory, t, lr, momentum=0.9, trust=0.001, weight_decay=0.0):
    """Algorithm 1 of "Large Batch Training of Convolutional Networks" (2017)."""
    local = trust * np.linalg.norm(w) / (np.linalg.norm(d) + weight_decay * np.linalg.norm(w))
    v = momentum * memory.get("v", 0.0) + lr * local * (d + weight_decay * w)
    memory["v"] = v
    return w - v


def lamb(w, d, memory, t, lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
    """Algorithm 2 of "Large Batch Optimization for Deep Learning" (2019), phi being the identity."""
    m = memory["m"] = betas[0] * memory.get("m", 0.0) + (1 - betas[0]) * d
    v = memory["v"] = betas[1] * memory.get("v", 0.0) + (1 - betas[1]) * d**2
    m, v = m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)
    direction = m / (np.sqrt(v) + eps) + weight_decay * w
    return w - lr * np.linalg.norm(w) / np.linalg.norm(direction) * direction


def lion(w, d, memory, t, lr, betas=(0.9, 0.99), weight_decay=0.0):
    """Program 1 of "Symbolic Discovery of Optimization Algorithms" (2023)."""
    m = memory.get("m", np.zeros_like(w))
    update = np.sign(betas[0] * m + (1 - betas[0]) * d)
    memory["m"] = betas[1] * m + (1 - betas[1]) * d
    return w - lr * (update + weight_decay * w)


def optimizers():
    optim = torch.optim
    for options in [{}, {"weight_decay": 0.125}]:
        torch_case("sgd", optim.SGD, lr=0.5, **options)
    for options in [
        {"momentum": 0.9},
        {"momentum": 0.5, "dampening": 0.25},
        {"momentum": 0.9, "nesterov": True},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.125},
        {"momentum": 0.75, "dampening": 0.5, "weight_decay": 0.0625},
    ]:
        torch_case("momentum", optim.SGD, lr=0.25, **options)
    for options in [
        {},
        {"lr_decay": 0.125},
        {"initial_accumulator_value": 0.5, "eps": 1e-3},
        {"weight_decay": 0.125, "lr_decay": 0.25},
    ]:
        torch_case("adagrad", optim.Adagrad, lr=0.25, **options)
    for options in [{}, {"rho": 0.75, "eps": 1e-3}, {"weight_decay": 0.25}]:
        torch_case("adadelta", optim.Adadelta, lr=1.0, **options)
    for options in [
        {},
        {"alpha": 0.75, "eps": 1e-3},
        {"momentum": 0.5},
        {"centered": True},
        {"centered": True, "momentum": 0.75, "weight_decay": 0.125},
    ]:
        torch_case("rmsprop", optim.RMSprop, lr=0.05, **options)
    adams = [
        {},
        {"betas": [0.75, 0.875], "eps": 1e-3},
        {"amsgrad": True, "betas": [0.5, 0.75]},
        {"weight_decay": 0.125},
        {"weight_decay": 0.5, "amsgrad": True},
    ]
    for options in adams:
        torch_case("adam", optim.Adam, lr=0.25, **options)
        torch_case("adamw", optim.AdamW, lr=0.25, **options)
    for options in [{}, {"betas": [0.5, 0.75], "eps": 1e-2}, {"weight_decay": 0.25}]:
        torch_case("adamax", optim.Adamax, lr=0.25, **options)
    for options in [
        {},
        {"betas": [0.75, 0.875]},
        {"momentum_decay": 0.125, "weight_decay": 0.125},
        {"weight_decay": 0.25, "decoupled_weight_decay": True},
    ]:
        torch_case("nadam", optim.NAdam, lr=0.125, **options)
    for options in [
        {},
        {"betas": [0.75, 0.875]},
        {"betas": [0.5, 0.75], "weight_decay": 0.25},
        {"betas": [0.9, 0.96], "weight_decay": 0.25, "decoupled_weight_decay": True},
    ]:
        torch_case("radam", optim.RAdam, lr=0.25, **options)

    for options in [
        {"lr": 0.5},
        {"lr": 0.5, "l1": 0.125},
        {"lr": 1.0, "l1": 0.0625, "l2": 0.5, "beta": 0.5},
        {"lr": 0.25, "initial_accumulator": 0.125, "l2": 0.25},
    ]:
        numpy_case("ftrl", ftrl, **options)
    for options in [
        {"lr": 1.0, "trust": 0.125},
        {"lr": 0.5, "trust": 0.25, "momentum": 0.5, "weight_decay": 0.125},
        {"lr": 8.0, "weight_decay": 0.5},
    ]:
        numpy_case("lars", lars, **options)
    for options in [
        {"lr": 0.125},
        {"lr": 0.125, "betas": [0.5, 0.75], "eps": 1e-3, "weight_decay": 0.25},
        {"lr": 0.0625, "weight_decay": 0.0},
    ]:
        numpy_case("lamb", lamb, **options)
    for options in [
        {"lr": 0.0625},
        {"lr": 0.0625, "weight_decay": 0.5},
        {"lr": 0.125, "betas": [0.5, 0.75], "weight_decay": 0.125},
    ]:
        numpy_case("lion", lion, **options)


def drivers():
    """Groups, clipping, accumulation: what all optimizers share."""
    sgd, adam = torch.optim.SGD, torch.optim.Adam
    for clip in [("value", 0.0625), ("norm", 0.125), ("global", 0.125), ("global", 10.0)]:
        torch_case("sgd", sgd, lr=1.0, clip=clip)
        torch_case("adam", adam, lr=0.25, clip=clip, weight_decay=0.25)
    torch_case("adam", adam, lr=0.25, groups={"lr": 0.5, "betas": [0.5, 0.75], "weight_decay": 0.125})
    torch_case("sgd", sgd, lr=0.5, groups={"lr": 0.125, "weight_decay": 0.5})
    torch_case("nadam", torch.optim.NAdam, lr=0.5, groups={"lr": 0.125, "betas": [0.5, 0.75]})
    for k in [2, 3, 5]:
        torch_case("adam", adam, lr=0.25, accumulate=k, weight_decay=0.125)
        torch_case("sgd", sgd, lr=0.5, accumulate=k, clip=("global", 0.25))


def schedule_case(kind, scheduler, *, lr=0.5, steps=60, **attributes):
    """The rates that a scheduler of PyTorch gives."""
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    after = scheduler(opt)
    rates = []
    for _ in range(steps):
        rates.append(opt.param_groups[0]["lr"])
        opt.step()
        after.step()
    inputs, outputs = [torch.tensor(lr)], [torch.tensor(rates, dtype=torch.float64)]
    g.add("schedule", inputs, outputs, [None], {"kind": kind, **attributes})


def schedules():
    s = schedulers
    for size, gamma in [(10, 0.5), (7, 0.9), (1, 0.99), (25, 2.0)]:
        schedule_case("step", lambda o: s.StepLR(o, size, gamma), size=size, gamma=gamma)
    for at, gamma in [([5, 20, 50], 0.5), ([30], 0.1), ([10, 10, 40], 0.5)]:
        schedule_case("multi_step", lambda o: s.MultiStepLR(o, at, gamma), at=at, gamma=gamma)
    for gamma in [0.95, 0.5, 1.01]:
        schedule_case("exponential", lambda o: s.ExponentialLR(o, gamma), gamma=gamma)
    for factor, size in [(0.25, 10), (0.5, 40)]:
        make = lambda o: s.ConstantLR(o, factor, size)
        schedule_case("delayed", make, factor=factor, size=size)
    for start, end, size in [(0.25, 1.0, 10), (1.0, 0.0625, 50), (0.5, 0.75, 30)]:
        make = lambda o: s.LinearLR(o, start, end, size)
        schedule_case("linear", make, start=start, end=end, size=size)
    for size, power in [(50, 1.0), (40, 2.0), (20, 0.5), (60, 0.9)]:
        make = lambda o: s.PolynomialLR(o, size, power)
        schedule_case("polynomial", make, size=size, power=power)
    for size, low in [(50, 0.0), (20, 0.125), (59, 0.0625), (7, 0.25)]:
        make = lambda o: s.CosineAnnealingLR(o, size, low)
        schedule_case("cosine", make, size=size, low=low)
    for size, factor, low in [(10, 1, 0.0), (5, 2, 0.125), (4, 3, 0.0), (1, 2, 0.0625), (7, 1, 0.25)]:
        make = lambda o: s.CosineAnnealingWarmRestarts(o, size, factor, low)
        schedule_case("cosine_restarts", make, steps=120, size=size, factor=factor, low=low)
    for options in [
        {},
        {"pct_start": 0.5, "div_factor": 10.0, "final_div_factor": 100.0},
        {"anneal_strategy": "linear"},
        {"three_phase": True},
        {"three_phase": True, "anneal_strategy": "linear", "pct_start": 0.25},
        {"pct_start": 0.37},
    ]:
        make = lambda o: s.OneCycleLR(o, max_lr=0.5, total_steps=61, **options)
        schedule_case("one_cycle", make, size=61, **options)
    for dim, warm_up in [(64, 10), (512, 30), (16, 100)]:
        f = lambda step: dim**-0.5 * min((step + 1) ** -0.5, (step + 1) * warm_up**-1.5)
        schedule_case("noam", lambda o: s.LambdaLR(o, f), dim=dim, warm_up=warm_up)
    schedule_case("lambda", lambda o: s.LambdaLR(o, lambda step: 1 / (1 + step / 8)))
    for size, start in [(10, 0.0625), (20, 0.5)]:
        parts = lambda o: [s.LinearLR(o, start, 1.0, size), s.CosineAnnealingLR(o, 50 - size, 0.0)]
        make = lambda o: s.SequentialLR(o, parts(o), [size])
        schedule_case("warm_up", make, size=size, start=start, cosine=50 - size)
    parts = lambda o: [s.ConstantLR(o, 0.5, 1000), s.StepLR(o, 5, 0.5), s.ExponentialLR(o, 0.9)]
    schedule_case("sequential", lambda o: s.SequentialLR(o, parts(o), [10, 40]))
    parts = lambda o: [s.LinearLR(o, 0.25, 1.0, 20), s.ExponentialLR(o, 0.95)]
    schedule_case("chained", lambda o: s.ChainedScheduler(parts(o), optimizer=o))
    f = lambda step: [0.5, 0.125, 0.25][int(np.searchsorted([10, 30], step, side="right"))]
    schedule_case("piecewise", lambda o: s.LambdaLR(o, f), lr=1.0)
    f = lambda step: 0.5 ** (step // 8)
    schedule_case("every", lambda o: s.LambdaLR(o, f))


def plateau_case(measures, **options):
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    after = schedulers.ReduceLROnPlateau(opt, eps=0.0, **options)
    rates = []
    for measure in measures:
        after.step(float(measure))
        rates.append(opt.param_groups[0]["lr"])
    g.add("plateau", [torch.as_tensor(measures)], [torch.tensor(rates)], [None], options)


def plateaus():
    falling = numbers(60, seed=1, low=0.0, high=1.0) + 2.0 / (1 + torch.arange(60) // 8)
    jumping = numbers(60, seed=2, low=-1.0, high=1.0)
    for options in [
        {"patience": 2},
        {"patience": 0, "factor": 0.5, "min_lr": 0.01},
        {"patience": 3, "factor": 0.5, "cooldown": 4},
        {"patience": 2, "factor": 0.5, "threshold": 0.25},
        {"patience": 2, "factor": 0.5, "threshold": 0.25, "threshold_mode": "abs"},
        {"patience": 3, "factor": 0.5, "mode": "max", "cooldown": 2},
        {"patience": 3, "factor": 0.5, "mode": "max", "threshold": 0.125, "threshold_mode": "abs"},
    ]:
        plateau_case(falling, **options)
        plateau_case(jumping, **options)
    holes = falling.clone()
    holes[7:20] = float("nan")
    plateau_case(holes, patience=3, factor=0.5)


def clips():
    for seed, scale in [(1, 1.0), (2, 0.125), (3, 8.0)]:
        grads = [numbers(2, 3, seed=seed) * scale, numbers(4, seed=seed) * scale, torch.tensor(scale)]
        for kind, limit in [("value", 0.5), ("norm", 1.0), ("global", 2.0), ("global", 0.25)]:
            leaves = [torch.zeros_like(x, requires_grad=True) for x in grads]
            for leaf, gradient in zip(leaves, grads):
                leaf.grad = gradient.clone()
            if kind == "value":
                torch.nn.utils.clip_grad_value_(leaves, limit)
            elif kind == "global":
                torch.nn.utils.clip_grad_norm_(leaves, limit)
            else:
                for leaf in leaves:
                    torch.nn.utils.clip_grad_norm_([leaf], limit)
            clipped = [leaf.grad for leaf in leaves]
            g.add("clip", grads, clipped, [None] * 3, {"kind": kind, "limit": limit})


def averages():
    for decay in [0.5, 0.9, 0.999]:
        values = numbers(8, 3, seed=5)
        model = torch.nn.Linear(3, 1, bias=False)
        average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))
        seen = []
        for row in values:
            model.weight.data = row[None].clone()
            average.update_parameters(model)
            seen.append(average.module.weight.detach()[0].clone())
        g.add("ema", [values], [torch.stack(seen)], [None], {"decay": decay})


def rows_case(kind, optimizer, **options):
    """Rows of an embedding, which gives sparse gradients."""
    start, ids = numbers(7, 3, seed=4), torch.tensor([[0, 2, 2], [5, 0, 1], [2, 3, 6], [6, 6, 6]])
    layer = torch.nn.Embedding(7, 3, sparse=True)
    layer.weight.data = start.clone()
    opt = optimizer(layer.parameters(), **options)
    seen = []
    for row in ids:
        opt.zero_grad()
        (torch.tanh(layer(row)) * numbers(3, 3, seed=6)).sum().backward()
        opt.step()
        seen.append(layer.weight.detach().clone())
    inputs, outputs = [start, ids, numbers(3, 3, seed=6)], [torch.stack(seen)]
    g.add("rows", inputs, outputs, [None] * 3, {"kind": kind, **options})


def rows():
    rows_case("sgd", torch.optim.SGD, lr=0.25)
    rows_case("adagrad", torch.optim.Adagrad, lr=0.25)
    rows_case("adagrad", torch.optim.Adagrad, lr=0.25, lr_decay=0.5, eps=1e-3)
    # Its eps is scaled otherwise than Adam's, so it must not count.
    rows_case("adam", torch.optim.SparseAdam, lr=0.25, eps=1e-30)
    rows_case("adam", torch.optim.SparseAdam, lr=0.25, eps=1e-30, betas=[0.5, 0.75])


optimizers()
drivers()
rows()
schedules()
plateaus()
clips()
averages()
g.write()
