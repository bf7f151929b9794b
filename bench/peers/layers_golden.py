"""Runs the cases of `python/tests/torch_cases.py` with PyTorch, and writes what they give."""

import json
import sys
import warnings
from pathlib import Path

import torch

tests = Path(__file__).parents[2] / "python" / "tests"
sys.path.insert(0, str(tests))
import torch_cases as cases  # noqa: E402

warnings.simplefilter("ignore")
torch.set_default_dtype(torch.float64)


def listed(value):
    """Tensors as nested lists."""
    if isinstance(value, torch.Tensor):
        return value.detach().tolist()
    return [listed(one) for one in value] if isinstance(value, (tuple, list)) else value


def flat(value):
    return [value] if isinstance(value, torch.Tensor) else [leaf for one in value for leaf in flat(one)]


def of_layer(make, shapes):
    torch.manual_seed(0)
    layer = make(torch.nn)
    inputs = [torch.tensor(cases.numbers(*shape, seed=i + 5)).requires_grad_() for i, shape in enumerate(shapes)]
    layer(*inputs)
    state = {key: torch.tensor(value) for key, value in cases.filled(layer.state_dict()).items()}
    layer.load_state_dict(state, strict=False)
    outputs = flat(layer(*inputs))
    sum((y * torch.cos(y)).sum() for y in outputs if y.is_floating_point()).backward()
    return {
        "keys": sorted(layer.state_dict()),
        "outputs": listed(outputs),
        "inputs": [listed(x.grad) for x in inputs],
        "parameters": {name: listed(p.grad) for name, p in layer.named_parameters()},
        "buffers": {name: listed(p) for name, p in layer.named_buffers()},
    }


def of_call(call, shape):
    x = torch.tensor(cases.numbers(*shape, seed=5)).requires_grad_()
    y = call(torch.nn, x)
    (y * torch.cos(y)).sum().backward()
    return {"outputs": listed([y]), "inputs": [listed(x.grad)]}


def of_bag(make):
    layer, inputs = make(torch.nn, torch.tensor(cases.numbers(5, 3, seed=7)), torch.tensor)
    y = layer(*inputs)
    (y * torch.cos(y)).sum().backward()
    return {"outputs": listed(y), "gradient": listed(layer.weight.grad)}


def loss_of(w, b):
    return ((torch.tanh(torch.tensor(cases.X) @ w + b) - torch.tensor(cases.Y)) ** 2).mean()


def parameters():
    return [torch.nn.Parameter(torch.tensor(x)) for x in (cases.W, cases.B)]


def of_optimizer(make):
    w, b = parameters()
    optimizer = make(torch.optim, [w, b])
    for _ in range(cases.STEPS):
        optimizer.zero_grad()
        loss_of(w, b).backward()
        optimizer.step()
    return listed([w, b])


def of_closure(make):
    w, b = parameters()
    optimizer = make(torch.optim, [w, b])
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w, b)
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(3):
        optimizer.step(closure)
    return {"parameters": listed([w, b]), "losses": losses}


def of_scheduler(make):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    scheduler = make(torch.optim.lr_scheduler, optimizer)
    found = []
    for _ in range(13):
        group = optimizer.param_groups[0]
        found.append([float(group["lr"]), float(group["momentum"])])
        optimizer.step()
        scheduler.step()
    return found


def of_distribution(make, given, value):
    def attempt(function):
        try:
            return listed(function())
        except NotImplementedError:
            return None

    params = [torch.tensor(one).requires_grad_() for one in given]
    made = make(torch.distributions, *params)
    logs = made.log_prob(torch.tensor(value))
    gradients = torch.autograd.grad(logs.sum(), params, allow_unused=True)
    return {
        "log_prob": listed(logs),
        "gradients": listed(gradients),
        "entropy": attempt(made.entropy),
        "mean": attempt(lambda: made.mean),
        "variance": attempt(lambda: made.variance),
        "shapes": [list(made.batch_shape), list(made.event_shape), list(made.sample((3,)).shape)],
    }


def divergence(name, given):
    make, first = next((make, params) for known, make, params, _ in cases.DISTRIBUTIONS if known == name)
    p, q = (make(torch.distributions, *map(torch.tensor, params)) for params in (first, given))
    return listed(torch.distributions.kl_divergence(p, q))


if __name__ == "__main__":
    record = {
        "torch": torch.__version__.split("+")[0],
        "layers": {name: of_layer(make, shapes) for name, make, shapes in cases.LAYERS},
        "bags": {name: of_bag(make) for name, make in cases.BAGS},
        "calls": {name: of_call(call, shape) for name, call, shape in cases.CALLS},
        "optimizers": {name: of_optimizer(make) for name, make in cases.OPTIMIZERS},
        "closures": {name: of_closure(make) for name, make in cases.CLOSURES},
        "schedulers": {name: of_scheduler(make) for name, make in cases.SCHEDULERS},
        "distributions": {name: of_distribution(*rest) for name, *rest in cases.DISTRIBUTIONS},
        "divergences": {name: divergence(name, given) for name, given in cases.DIVERGENCES},
    }
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else tests / "golden" / "torch_cases.json"
    path.write_text(json.dumps(record) + "\n")
