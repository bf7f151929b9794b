"""The ten workloads in Fluvial: the models of `examples/models`, with the command line of the other peers.

    python fluvial_peer.py mlp gpt --mode both --phase train --steps 20 --threads 2 --json
    python fluvial_peer.py --check DIR        compare with the losses of `torch_peer.py --dump DIR`

Modes are `imperative` (line by line) and `compiled` (one program for a whole step).
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import harness
import workloads as w

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "models"))

MODES = ("imperative", "compiled")
Arrays = dict[str, Any]
Step = Callable[[Arrays], Arrays]


def make_net(spec: w.Workload) -> Any:
    """The model of a workload; only what it needs is imported."""
    match spec:
        case w.Mlp():
            from mlp import Mlp

            return Mlp((*spec.shape, *spec.hidden, spec.classes))
        case w.LeNet():
            from lenet import LeNet

            return LeNet(spec.shape[1], spec.channels, spec.kernel, spec.hidden, spec.classes)
        case w.ResNet(block="basic"):
            from resnet18 import ResNet

            return ResNet(layers=spec.layers, classes=spec.classes)
        case w.ResNet():
            from se_resnext import SEResNeXt

            return SEResNeXt(spec.layers, spec.classes)
        case w.PtbLstm():
            from ptb_lstm import PtbLstm

            return PtbLstm(spec.vocab, spec.hidden, spec.layers, spec.batch)
        case w.Transformer():
            from transformer import Transformer

            return Transformer(
                spec.vocab, spec.d_model, spec.heads, spec.layers, spec.ffn, spec.length,
                spec.smoothing, spec.pad,
            )  # fmt: skip
        case w.Gpt():
            from gpt import Gpt

            return Gpt(spec.vocab, spec.d_model, spec.heads, spec.layers, spec.length)
        case w.Gan():
            from gan import Gan

            return Gan(spec.latent, spec.width)
        case w.DeepCf():
            from deepcf import DeepCf

            return DeepCf(spec.users, spec.items, spec.dim, spec.hidden)
        case w.Gnn():
            from gnn import Gnn

            return Gnn(spec.features, spec.hidden, spec.classes)
    raise TypeError(f"no model for {type(spec).__name__}")


def make_optim(spec: w.Optim, params: Any, name: str | None = None) -> Any:
    """The optimizer of a specification."""
    import fluvial as fl

    clip = fl.clip.GradientClipByGlobalNorm(spec.clip_norm) if spec.clip_norm else None
    common: Arrays = {"grad_clip": clip, "name": name, "weight_decay": spec.weight_decay}
    if spec.kind == "sgd" and spec.momentum:
        return fl.optimizer.Momentum(params, spec.lr, momentum=spec.momentum, **common)
    if spec.kind == "sgd":
        return fl.optimizer.SGD(params, spec.lr, **common)
    kind = fl.optimizer.Adam if spec.kind == "adam" else fl.optimizer.AdamW
    return kind(params, spec.lr, beta1=spec.betas[0], beta2=spec.betas[1], eps=spec.eps, **common)


def make_step(net: Any, spec: w.Workload) -> Callable[..., Arrays]:
    """A function of the arrays of a batch that makes one update and returns the losses."""
    if isinstance(spec, w.Gan):
        optim: Any = (
            make_optim(spec.optim, net.discriminator.parameters(), "d"),
            make_optim(spec.optim, net.generator.parameters(), "g"),
        )
    else:
        optim = make_optim(spec.optim, net.parameters())
    return lambda **batch: net.step(optim, **batch)


def make_call(net: Any, spec: w.Workload, phase: str, mode: str) -> Step:
    """What is timed: a training step, or the outputs of a batch without gradients."""
    import fluvial as fl

    if phase == "train":
        call = make_step(net, spec)
    else:
        net.eval()
        call, names = net, inputs_of(net)

    def picked(batch: Arrays) -> Arrays:
        return batch if phase == "train" else {k: batch[k] for k in names}

    if mode == "imperative":
        if phase == "train":
            return lambda batch: call(**batch)
        return lambda batch: no_grad(call, picked(batch))

    programs: dict[str, Any] = {}

    def compiled(batch: Arrays) -> Arrays:
        if not programs:
            program = build(call, picked(batch))
            programs["it"] = fl.compile(program if phase == "train" else program.freeze())
        return programs["it"].run(picked(batch))

    return compiled


def no_grad(call: Callable[..., Any], batch: Arrays) -> Any:
    import fluvial as fl

    with fl.no_grad():
        return call(**batch)


def inputs_of(net: Any) -> list[str]:
    """The names of the arrays that a network takes."""
    return list(inspect.signature(net.forward).parameters)


def build(call: Callable[..., Any], batch: Arrays) -> Any:
    """The program of a call, for arrays of these types."""
    import fluvial as fl

    types = {name: value.type_text for name, value in batch.items()}
    names = ", ".join(types)
    function = eval(f"lambda {names}: call({', '.join(f'{n}={n}' for n in types)})", {"call": call})
    return fl.build(function, types)


def to_tensors(batch: w.Batch) -> Arrays:
    import fluvial as fl

    return {name: fl.tensor(array) for name, array in batch.items()}


def run(job: harness.Job) -> harness.Row:
    import fluvial as fl

    fl.set_num_threads(job.threads)
    base = harness.status_mb("VmRSS")
    spec = w.WORKLOADS[job.workload]
    fl.seed(spec.seed)
    net = make_net(spec)
    batches = [to_tensors(spec.make_batch(i, job.batch)) for i in range(1 if spec.static else 4)]
    call = make_call(net, spec, job.phase, job.mode)
    row = harness.measure(lambda step: call(batches[step % len(batches)]), job)
    params = sum(int(np.prod(p.shape)) for p in net.parameters())
    return {"framework": "fluvial", **row, "base_rss_mb": base, "params": params}


def weights(path: Path) -> Arrays:
    """The tensors of a file, by name."""
    import fluvial as fl

    with fl.State() as state:
        fl.load_states(path)
        return {name: state[name].detach() for name in state.names()}


def losses(spec: w.Workload, folder: Path, mode: str) -> dict[str, list[float]]:
    """The losses of six steps, from the weights and batches of a dump."""
    import fluvial as fl

    with fl.State():
        net = make_net(spec)
        net.load_state_dict(weights(folder / f"{spec.name}.safetensors"))
        batches = dict(np.load(folder / f"{spec.name}.npz"))
        call = make_call(net, spec, "train", mode)
        curves: dict[str, list[float]] = {}
        for step in range(6):
            batch = to_tensors({k: v[step % len(v)] for k, v in batches.items()})
            for name, value in call(batch).items():
                curves.setdefault(name, []).append(float(value))
        return curves


def check(folder: Path, names: list[str]) -> None:
    """Compares the losses of both modes with PyTorch's; ends with an error if one is off."""
    off = []
    print(f"{'workload':<12}{'mode':<12}{'largest relative difference':>28}{'allowed':>10}")
    for name in names:
        spec, record = w.WORKLOADS[name], json.loads((folder / f"{name}.json").read_text())
        for mode in MODES:
            found = losses(spec, folder, mode)
            pairs = [
                (a, b)
                for key, curve in record["losses"].items()
                for a, b in zip(found[key], curve, strict=True)
            ]
            worst = max(abs(a - b) / abs(b) for a, b in pairs)
            print(f"{name:<12}{mode:<12}{worst:>28.1e}{spec.rtol:>10.0e}")
            if not worst <= spec.rtol:
                off.append(f"{name} ({mode})")
    if off:
        raise SystemExit(f"off by more than rounding: {', '.join(off)}")


def main() -> None:
    names = list(w.WORKLOADS)
    cli = harness.parser(names, MODES)
    cli.add_argument("--check", type=Path, metavar="DIR", help="compare with a dump of torch_peer")
    options = cli.parse_args()
    if options.check is not None:
        check(options.check, harness.chosen(options, names))
        return
    for row in harness.run_isolated(harness.jobs_of(options, names, MODES), run):
        harness.show(row, options.json)


if __name__ == "__main__":
    main()
