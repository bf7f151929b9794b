"""Steps of several ranks on this machine: through MPI beside PyTorch's DistributedDataParallel with gloo, and beside what
`fluvial plan --dist` predicts of them.

    python bench/ranks.py --mpi .venv-mpich [--torch .venv-peers] [--fluvial target/demo/fluvial]
        [--workloads mlp resnet18 gpt] [--dist dp zero1] [--world 2] [--rounds 3] [--seconds 1.5]

Each rank has one thread and the whole batch of the workload. Sides take turns, each in processes of its own; what counts is
the least of all rounds of the median of a step. A link is what all ranks together measure with tensors of 8 bytes and of 16
MB, a step alone is that of one rank: from both the prediction is made. The package has to be built with optimisation.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "peers"))
sys.path.append(str(HERE.parent / "python"))

WARM_UP = 3
LARGE = 4 << 20
LIMIT = 600
#: Open MPI asks root whether it is meant, and counts cores.
LAUNCHED = {f"{name}_ALLOW_RUN_AS_ROOT{tail}": "1" for name in ("OMPI", "PRTE") for tail in ("", "_CONFIRM")}
LAUNCHED["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"

Found = dict[str, Any]


def median(call: Callable[[], object], seconds: float) -> float:
    """The median time of a call, in seconds."""
    for _ in range(WARM_UP):
        call()
    times: list[float] = []
    # All ranks make as many calls: how many follows from the time of the first ones.
    began = time.perf_counter()
    call()
    count = agreed(max(3, int(seconds / max(time.perf_counter() - began, 1e-6))))
    for _ in range(count):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


#: Brings the numbers of all ranks to one; each side has its own.
agreed: Callable[[int], int] = int


def of_fluvial(name: str, how: str, seconds: float, folder: str) -> Found:
    """A rank of ours: the time of a step, and of exchanges."""
    import fluvial_peer as peer
    import workloads as w

    import fluvial as fl

    global agreed
    fl.dist.init()
    world = fl.dist.world()
    agreed = lambda n: int(fl.dist.all_reduce(fl.tensor(n), "max").item())  # noqa: E731
    fl.set_num_threads(1)
    spec = w.WORKLOADS[name]
    fl.seed(spec.seed)
    net = peer.make_net(spec)
    batch = peer.to_tensors(spec.make_batch(fl.dist.rank(), spec.batch))
    program = peer.build(peer.make_step(net, spec), batch)
    path = os.path.join(folder, f"{name}.flb")
    if fl.dist.is_first() and not os.path.exists(path):
        program.save(path)
    spread = fl.compile(fl.dist.transpile(program, how))
    found: Found = {"step": median(lambda: spread.run(batch), seconds), "program": path}
    if world > 1:
        small, large = fl.tensor([1.0, 2.0]), fl.full((LARGE,), 1.0)
        found["small"] = median(lambda: fl.dist.all_reduce(small), 0.2)
        found["large"] = median(lambda: fl.dist.all_reduce(large), 0.5)
    return found


def of_torch(name: str, seconds: float) -> Found:
    """A rank of PyTorch."""
    import torch
    import torch.distributed as dist
    import torch_peer as peer
    import workloads as w
    from torch.nn.parallel import DistributedDataParallel

    global agreed
    dist.init_process_group("gloo")

    def greatest(n: int) -> int:
        number = torch.tensor(n)
        dist.all_reduce(number, dist.ReduceOp.MAX)
        return int(number)

    agreed = greatest
    torch.set_num_threads(1)
    spec = w.WORKLOADS[name]
    torch.manual_seed(spec.seed)
    net = peer.make_net(spec)

    class Loss(torch.nn.Module):
        """Only what `forward` does is seen by the wrapper."""

        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, batch: Any) -> Any:
            return self.net.loss(batch)

    loss_of = DistributedDataParallel(Loss())
    optim = peer.make_optim(spec.optim, net.parameters(), fused=True)
    batch = peer.to_tensors(spec.make_batch(dist.get_rank(), spec.batch))

    def step() -> float:
        optim.zero_grad(set_to_none=True)
        loss = loss_of(batch)
        loss.backward()
        if spec.optim.clip_norm:
            torch.nn.utils.clip_grad_norm_(net.parameters(), spec.optim.clip_norm)
        optim.step()
        return float(loss.detach())

    found = {"step": median(step, seconds)}
    dist.destroy_process_group()
    return found


def as_member(options: argparse.Namespace) -> None:
    """What a process does that is one of the ranks."""
    [name], [how] = options.workloads, options.dist
    match options.member:
        case "torch":
            found = of_torch(name, options.seconds)
            rank = int(os.environ["RANK"])
        case _:
            found = of_fluvial(name, how, options.seconds, options.folder)
            import fluvial as fl

            rank = fl.dist.rank()
    if rank == 0:
        print("@" + json.dumps(found), flush=True)


def told(processes: list[subprocess.Popen[str]]) -> Found:
    """What rank 0 says."""
    texts = [process.communicate(timeout=LIMIT)[0] for process in processes]
    assert all(process.returncode == 0 for process in processes), texts
    line = next(line for text in texts for line in text.splitlines() if line.startswith("@"))
    found: Found = json.loads(line[1:])
    return found


def member(options: argparse.Namespace, kind: str, name: str, how: str, world: int, folder: str) -> Found:
    """Runs the ranks of a side."""
    words = [str(Path(__file__).resolve()), "--member", kind, "--workloads", name, "--dist", how]
    words += ["--seconds", str(options.seconds), "--folder", folder, "--mpi", options.mpi]
    if kind == "torch":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        own = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world), "OMP_NUM_THREADS": "1"}
        python = os.path.join(options.torch, "bin", "python")
        return told([
            subprocess.Popen([python, *words], env={**os.environ, **own, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
            for rank in range(world)
        ])  # fmt: skip
    launcher = os.path.join(options.mpi, "bin", "mpiexec")
    library = next(Path(options.mpi).glob("lib/libmpi.so.*"))
    own = {**LAUNCHED, "FLUVIAL_MPI": str(library), "FLUVIAL_THREADS": "1"}
    words = [launcher, "-n", str(world), sys.executable, *words]
    return told([subprocess.Popen(words, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True)])


def predicted(options: argparse.Namespace, how: str, alone: Found, found: Found) -> float:
    """The seconds of a step as `fluvial plan` predicts them."""
    from math import ceil, log2

    world = options.world
    rounds = 2 * ceil(log2(world))
    latency = found["small"] / rounds
    link = 2 * (4 * LARGE) * (world - 1) / world / max(found["large"] - found["small"], 1e-9)
    words = [options.fluvial, "plan", alone["program"], "--dist", how, "--world", str(world), "--json"]
    words += ["--link", f"{link / 1e6:.6f}MB", "--latency", f"{latency * 1e6:.6f}us", "--device-flops", "50G"]
    words += ["--device-bandwidth", "10GB", "--step-time", f"{alone['step'] * 1e3:.6f}ms"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    return float(json.loads(done.stdout)["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", required=True, help="an environment of Python with the wheel of MPICH or Open MPI")
    parser.add_argument("--torch", help="one with PyTorch")
    parser.add_argument("--fluvial", help="the command, for predictions")
    parser.add_argument("--workloads", nargs="+", default=["mlp", "resnet18", "gpt"])
    parser.add_argument("--dist", nargs="+", default=["dp", "zero1"])
    parser.add_argument("--world", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--member", choices=["fluvial", "torch"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.member:
        as_member(options)
        return
    print(f"{options.world} ranks of one thread, load {os.getloadavg()[0]:.1f}")
    for name in options.workloads:
        with tempfile.TemporaryDirectory() as folder:
            sides = [("alone", "fluvial", "dp", 1)]
            sides += [(how, "fluvial", how, options.world) for how in options.dist]
            sides += [("torch", "torch", "dp", options.world)] if options.torch else []
            best: dict[str, Found] = {}
            for _ in range(options.rounds):
                for side, kind, how, world in sides:
                    found = member(options, kind, name, how, world, folder)
                    best[side] = {
                        key: min(value, best[side][key]) if side in best else value for key, value in found.items()
                    }
            for side, _, how, world in sides:
                text = f"{name:10} {side:6} {best[side]['step'] * 1e3:10.2f} ms"
                if "torch" in best and side != "torch" and world > 1:
                    text += f", {best['torch']['step'] / best[side]['step']:.2f}x of DistributedDataParallel"
                if options.fluvial and side in options.dist:
                    seconds = predicted(options, how, best["alone"], best[side])
                    text += f", predicted {seconds * 1e3:.2f} ms ({100 * (seconds / best[side]['step'] - 1):+.0f} %)"
                print(text, flush=True)


if __name__ == "__main__":
    main()
