"""Trainings of PyTorch, step by step, as `.safetensors` files.

`parity_<model>` has a small variant of a model of `bench/peers`: its initial weights (`weights.…`), six batches
(`x`, `y`), and the losses in f32 and f64 (`loss`, `loss64`), each from before its update.
`parity_optim` has what such curves hardly show: trainings with settings of optimizers that matter from the first
step on. Each case is the parameters after the last step, in f64, one after another.
"""

import dataclasses
import itertools
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch.optim import lr_scheduler as schedulers

FOLDER = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(FOLDER.parents[2] / "bench" / "peers"))

import torch_peer as peer  # noqa: E402
import workloads  # noqa: E402

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
SMALL = {
    "mlp": {"batch": 8, "shape": (16,), "hidden": (16, 16)},
    "lenet": {"batch": 4, "shape": (1, 14, 14), "channels": (4, 6), "kernel": 3, "hidden": 16},
    "gpt": {"batch": 2, "vocab": 24, "d_model": 16, "heads": 2, "layers": 2, "length": 12},
}


def write(name, tensors):
    path = FOLDER / f"parity_{name}.safetensors"
    save_file({key: value.contiguous() for key, value in tensors.items()}, path)
    print(f"parity_{name}: {len(tensors)} tensors, {path.stat().st_size // 1024} KB")


def curves():
    for name, sizes in SMALL.items():
        spec = dataclasses.replace(workloads.WORKLOADS[name], **sizes)
        weights = {k: v.clone() for k, v in peer.make_net(spec).state_dict().items()}
        batches = [peer.to_tensors(spec.make_batch(i)) for i in range(peer.DUMP_STEPS)]
        tensors = {f"weights.{k}": v for k, v in weights.items()}
        tensors |= {k: torch.stack([b[k] for b in batches]) for k in batches[0]}
        for key, dtype in [("loss", torch.float32), ("loss64", torch.float64)]:
            found = peer.losses(spec, weights, dtype)["loss"]
            tensors[key] = torch.tensor(found, dtype=torch.float64)
        write(name, tensors)


STEPS = 8
SPEC = dataclasses.replace(
    workloads.WORKLOADS["mlp"], batch=6, shape=(8,), hidden=(6,), classes=4
)


def trained(optimizer, clip=None, schedule=None, **options):
    """The parameters after the last step of a small mlp."""
    net = peer.make_net(SPEC).double()
    params = list(net.parameters())
    optim = optimizer(params, **options)
    after = schedule(optim) if schedule else None
    for i in range(STEPS):
        optim.zero_grad()
        net.loss(peer.to_tensors(SPEC.make_batch(i), torch.float64)).backward()
        if clip is not None:
            kind, limit = clip
            norm = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in params]))
            largest = max(p.grad.abs().max() for p in params)
            assert (norm if kind == "norm" else largest) > 1.5 * limit, "it does not bite"
            if kind == "norm":
                torch.nn.utils.clip_grad_norm_(params, limit)
            else:
                torch.nn.utils.clip_grad_value_(params, limit)
        optim.step()
        if after:
            after.step()
    return torch.cat([p.detach().flatten() for p in params])


def warm_up_cosine(optim):
    parts = [schedulers.LinearLR(optim, 0.25, 1.0, 3), schedulers.CosineAnnealingLR(optim, 7)]
    return schedulers.SequentialLR(optim, parts, [3])


def settings():
    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    s = schedulers
    one_cycle = lambda o: s.OneCycleLR(o, max_lr=0.5, total_steps=10, cycle_momentum=False)
    whole = {"lr": 0.1, "weight_decay": 0.5, "clip": ("norm", 0.3), "schedule": warm_up_cosine}
    cases = {
        "clip_global": trained(sgd, clip=("norm", 0.25), lr=0.5, momentum=0.5),
        "clip_value": trained(sgd, clip=("value", 0.05), lr=0.5),
        "decay_coupled": trained(sgd, lr=0.25, weight_decay=0.5),
        "decay_coupled_adam": trained(adam, lr=0.05, weight_decay=0.5),
        "decay_decoupled": trained(adamw, lr=0.05, weight_decay=2.0),
        "momentum": trained(sgd, lr=0.1, momentum=0.9),
        "nesterov": trained(sgd, lr=0.1, momentum=0.9, nesterov=True),
        "dampening": trained(sgd, lr=0.25, momentum=0.9, dampening=0.5),
        "amsgrad": trained(adam, lr=0.05, betas=(0.5, 0.5), amsgrad=True),
        "step": trained(sgd, lr=0.5, schedule=lambda o: s.StepLR(o, 3, 0.5)),
        "exponential": trained(sgd, lr=0.5, schedule=lambda o: s.ExponentialLR(o, 0.75)),
        "cosine": trained(adam, lr=0.05, schedule=lambda o: s.CosineAnnealingLR(o, 10, 0.01)),
        "one_cycle": trained(sgd, lr=0.5, schedule=one_cycle),
        "whole": trained(adamw, **whole),
    }
    # What two cases share, a test of one of them would not tell from the other.
    for (a, x), (b, y) in itertools.combinations(cases.items(), 2):
        assert (x - y).abs().max() > 1e-3, (a, b)
    net = peer.make_net(SPEC)
    batches = [peer.to_tensors(SPEC.make_batch(i)) for i in range(STEPS)]
    tensors = {f"weights.{k}": v.clone() for k, v in net.state_dict().items()}
    tensors |= {k: torch.stack([b[k] for b in batches]) for k in batches[0]}
    write("optim", tensors | cases)


curves()
settings()
