"""Trains on several processes through MPI: `make test-dist`, or

    python python/tests/ranks_mpi.py --fluvial target/debug/fluvial --prefix .venv-mpi [--library NAME ...]

Each library of MPI below the prefix is tried with its own launcher. What processes do is compared with what threads of one
process do, whose results `test_dist.py` compares with those of one process alone. The exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import fluvial as fl

SECONDS = 120
#: Open MPI asks whether the user knows what he does.
ROOT = {f"{name}_ALLOW_RUN_AS_ROOT{tail}": "1" for name in ("OMPI", "PRTE") for tail in ("", "_CONFIRM")}


def exchanged(rank: int, world: int) -> list[Any]:
    """What all ranks exchange, in every element type."""
    found: list[Any] = []
    for dtype in ("f32", "f64", "f16", "bf16", "i32", "i64", "u8", "i16", "bool"):
        own = fl.cast(fl.tensor([float(rank + 1), 0.0, 3.0] * world), dtype)
        found.append(fl.cast(fl.dist.all_gather(own), "f64").tolist())
        found.append(fl.cast(fl.dist.broadcast(own, world - 1), "f64").tolist())
        found.append(fl.cast(fl.dist.all_to_all(own), "f64").tolist())
        if dtype != "bool":
            found.append(fl.cast(fl.dist.all_reduce(own), "f64").tolist())
            found.append(fl.cast(fl.dist.all_reduce(own, "max"), "f64").tolist())
            found.append(fl.cast(fl.dist.reduce_scatter(own, "sum"), "f64").tolist())
    number = fl.tensor(0.1 * (rank + 1))
    found.append(fl.dist.all_reduce(number, "mean").item())
    fl.dist.send(number, (rank + 1) % world, 3)
    found.append(fl.dist.recv(number, (rank - 1) % world, 3).item())
    fl.dist.barrier()
    return found


def trained(rank: int, world: int) -> str:
    """The checksum of a model after a few steps, line by line."""
    from test_dist import trained as train

    _, values = train(rank, world, 6, True, norm=True, dropout=0.3)
    return hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest()


def as_rank() -> None:
    """What a process that MPI has started does."""
    assert fl.dist.init()
    rank, world = fl.dist.rank(), fl.dist.world()
    if os.environ.get("FLUVIAL_TEST_FAILS") == str(rank):
        raise ValueError("a fault of one rank")
    if os.environ.get("FLUVIAL_TEST_HANGS") == str(rank):
        time.sleep(SECONDS)
    # Others read lines of several processes at once.
    print(f"@{rank} {exchanged(rank, world)!r}|{trained(rank, world)}\n", end="", flush=True)


def program(folder: str) -> str:
    """A training that reads its data by itself."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(64, 4)).astype("float32")
    np.savez(os.path.join(folder, "data.npz"), x=x, y=(x[:, :1] * 2 - x[:, 1:2]).astype("float32"))
    fl.seed(1)
    net = fl.nn.Sequential(fl.nn.Linear(4, 8), fl.nn.Tanh(), fl.nn.Linear(8, 1))
    optimizer = fl.optimizer.Adam(net.parameters(), 0.05)
    before = os.getcwd()
    os.chdir(folder)
    try:
        reader = fl.batch_reader("data.npz", batch_size=8, shuffle=5)

        @fl.function
        def train() -> Any:
            loss = fl.tensor(0.0)
            for x, y in reader.iterate():
                loss = fl.mse_loss(net(x), y)
                optimizer.minimize(loss)
            return loss

        fl.build(train, {}).save("train.flb")
    finally:
        os.chdir(before)
    return os.path.join(folder, "train.flb")


class Library:
    """A library of MPI with its launcher."""

    def __init__(self, path: str, prefix: str) -> None:
        self.path = path
        self.launcher = os.path.join(prefix, "bin", "mpiexec")

    def environment(self) -> dict[str, str]:
        """What its ranks find."""
        own = {"FLUVIAL_MPI": self.path, "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
        return {**os.environ, **ROOT, **own}

    def run(self, world: int, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment(), "FLUVIAL_THREADS": "1", **variables}
        words = [self.launcher, "-n", str(world), *command]
        started = subprocess.Popen(
            words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            out, err = started.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(words, started.returncode, out, err)


def check(library: Library, fluvial: str, folder: str) -> None:
    own = [sys.executable, os.path.abspath(__file__), "--rank"]
    for world in (2, 3):
        done = library.run(world, *own, FLUVIAL_DIST_CHECK="1")
        assert done.returncode == 0, done.stderr
        lines = sorted(line for line in done.stdout.splitlines() if line.startswith("@"))
        threads = fl.dist.spawn(lambda rank, world=world: (exchanged(rank, world), trained(rank, world)), world)
        for rank, line in enumerate(lines):
            found, checksum = line.split(" ", 1)[1].split("|")
            assert found == repr(threads[rank][0]), (found, threads[rank][0])
            assert checksum == lines[0].split("|")[1], "ranks differ"
            # Two numbers have one sum; of three, MPI may add up in another order.
            assert world > 2 or checksum == threads[rank][1]
        print(f"  {world} processes exchange and train as threads do")

    path, saved = program(folder), []
    for world, how in ((1, "dp"), (2, "dp"), (2, "dp"), (2, "zero1"), (2, "zero3"), (3, "ps")):
        to = os.path.join(folder, f"{len(saved)}.safetensors")
        command = [fluvial, "run", path, "--dist", how, "--epochs", "2", "--save", to, "--quiet", "--root", folder]
        done = library.run(world, *command)
        assert done.returncode == 0, done.stderr
        saved.append(open(to, "rb").read())
    assert saved[1] == saved[2], "a run again gave other bits"
    assert saved[1] == saved[3] == saved[4] == saved[5], "states in parts, or of servers, gave other bits"
    assert saved[0] != saved[1]
    print("  fluvial run --dist dp, zero1, zero3, ps: the same bits, and again")

    check_killed(library, fluvial, path, folder)
    check_stopped(library, fluvial, path, folder)
    done = library.run(2, *own, FLUVIAL_TEST_FAILS="1")
    assert done.returncode != 0 and "a fault of one rank" in done.stderr, (done.returncode, done.stderr)
    began = time.monotonic()
    done = library.run(2, *own, FLUVIAL_TEST_HANGS="1", FLUVIAL_DIST_TIMEOUT="3")
    assert done.returncode != 0 and "has waited 3 s" in done.stderr, (done.returncode, done.stderr)
    assert time.monotonic() - began < SECONDS / 2
    print("  a rank that fails or hangs ends them all")


def ranks_of(fluvial: str, folder: str) -> list[int]:
    """The processes of ranks that run a program in a folder."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            words = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0")
        except OSError:
            continue
        if entry.isdigit() and words[:2] == [fluvial.encode(), b"run"] and folder.encode() in words:
            found.append(int(entry))
    return found


def check_killed(library: Library, fluvial: str, path: str, folder: str) -> None:
    """Ranks that are killed go on from their checkpoints, and end with the bits of a run that nobody disturbed."""
    options = ["--dist", "zero1", "--epochs", "150", "--quiet", "--root", folder]
    whole, again, kept = (os.path.join(folder, name) for name in ("whole.safetensors", "again.safetensors", "kept"))
    done = library.run(2, fluvial, "run", path, *options, "--save", whole)
    assert done.returncode == 0, done.stderr
    variables = {"FLUVIAL_MPI": library.path, "FLUVIAL_THREADS": "1", "PATH": f"{os.path.dirname(library.launcher)}:{os.environ['PATH']}"}
    command = [fluvial, "launch", "-n", "2", "--restarts", "20", "--", "run", path, *options]
    command += ["--save", again, "--checkpoint", kept, "--every", "7", "--resume"]
    started = subprocess.Popen(command, env={**os.environ, **ROOT, **variables}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    n_killed, began = 0, time.monotonic()
    while started.poll() is None and time.monotonic() - began < SECONDS:
        time.sleep(0.3)
        steps = glob.glob(os.path.join(kept, "rank-*", "step-*"))
        victims = ranks_of(fluvial, folder)
        if n_killed < 3 and steps and len(victims) == 2:
            os.kill(victims[n_killed % 2], signal.SIGKILL)
            n_killed += 1
            time.sleep(1)
    assert started.wait(SECONDS) == 0, started.stderr and started.stderr.read()
    assert n_killed > 0, "the run was over before a rank could be killed"
    assert open(whole, "rb").read() == open(again, "rb").read(), "a run that was killed ended with other bits"
    other = library.run(3, fluvial, "run", path, *options, "--checkpoint", kept, "--every", "7")
    assert other.returncode == 2 and "checkpoints of 2 ranks" in other.stderr, other.stderr
    print(f"  killed {n_killed} times, and the same bits in the end")


def check_stopped(library: Library, fluvial: str, path: str, folder: str) -> None:
    """A signal to one rank stops them all, with code 0 and a checkpoint. The run goes on, also with another number of ranks."""
    whole = os.path.join(folder, "whole.safetensors")
    ends: dict[tuple[str, int], Any] = {}
    for how in ("dp", "zero1"):
        kept = os.path.join(folder, f"stopped-{how}")
        options = ["--dist", how, "--epochs", "150", "--quiet", "--root", folder, "--every", "5", "--keep", "10000"]
        words = [fluvial, "run", path, *options, "--checkpoint", kept]
        environment = {**library.environment(), "FLUVIAL_THREADS": "1"}
        started = subprocess.Popen(
            [library.launcher, "-n", "2", *words], env=environment, stderr=subprocess.PIPE, text=True
        )
        began = time.monotonic()
        while time.monotonic() - began < SECONDS and not glob.glob(os.path.join(kept, "rank-*", "step-*")):
            time.sleep(0.02)
        victims = ranks_of(fluvial, kept)
        assert victims, "the run was over before it could be stopped"
        os.kill(victims[-1], signal.SIGTERM)
        status = started.wait(SECONDS)
        assert status == 0, (status, started.stderr and started.stderr.read())
        steps = [sorted(os.listdir(os.path.join(kept, f"rank-{rank}-of-2")))[-1] for rank in range(2)]
        assert steps[0] == steps[1], steps
        assert sorted(os.listdir(kept)) == ["generation", "rank-0-of-2", "rank-1-of-2"]
        for world in (2, 3, 1):
            copy = f"{kept}-{world}"
            shutil.copytree(kept, copy)
            # When the signal comes is chance: runs that are compared go on from the same step.
            for step in glob.glob(os.path.join(copy, "rank-*", "step-*")) if world != 2 else []:
                if not step.endswith(f"-{5:012}.safetensors"):
                    os.remove(step)
            to = f"{copy}.safetensors"
            command = [fluvial, "run", path, *options, "--checkpoint", copy, "--resume", "--save", to]
            done = library.run(world, *command)
            assert done.returncode == 0, done.stderr
            ends[how, world] = fl.load_safetensors(to) if world != 2 else open(to, "rb").read()
            assert os.path.exists(os.path.join(copy, f"rank-0-of-{world}"))
            assert open(os.path.join(copy, "generation")).read() == "2\n"
        assert ends[how, 2] == open(whole, "rb").read(), "a run that was stopped ended with other bits"
    for world in (3, 1):
        one, other = ends["dp", world], ends["zero1", world]
        assert sorted(one) == sorted(other)
        # Three ranks may add up in another order, by which Adam goes other ways in many steps.
        for name in (name for name in one if world == 1 or not name.startswith("adam.")):
            atol = 0.0 if world == 1 else 1e-4
            assert np.allclose(one[name].numpy(), other[name].numpy(), atol=atol), (world, name)
    print("  stopped by a signal; goes on with 2, 3 and 1 ranks")


def check_alone(fluvial: str, library: Library, folder: str) -> None:
    """What goes wrong before anything is exchanged."""
    run = [fluvial, "run", program(folder), "--dist", "dp", "--root", folder]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI"))}
    alone = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert alone.returncode == 2 and "fluvial launch" in alone.stderr, alone.stderr
    # As if Open MPI's launcher had started it.
    other = {**environment, "OMPI_COMM_WORLD_SIZE": "2", "FLUVIAL_MPI": library.path}
    wrong = subprocess.run(run, env=other, capture_output=True, text=True, timeout=SECONDS)
    assert wrong.returncode == 3 and "do not belong together" in wrong.stderr, wrong.stderr
    none = subprocess.run(
        run, env={**other, "FLUVIAL_MPI": "/nowhere/libmpi.so"}, capture_output=True, text=True, timeout=SECONDS
    )
    assert none.returncode == 4, none.stderr
    print("  no launcher, another launcher and no library are told apart")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", action="store_true")
    parser.add_argument("--fluvial")
    parser.add_argument("--prefix", nargs="*", default=[])
    options = parser.parse_args()
    if options.rank:
        as_rank()
        return
    n_found = 0
    for prefix in map(os.path.abspath, options.prefix):
        for path in sorted(glob.glob(os.path.join(prefix, "lib", "libmpi*.so.*"))):
            library = Library(path, prefix)
            print(path)
            with tempfile.TemporaryDirectory() as folder:
                check(library, options.fluvial, folder)
                check_alone(options.fluvial, library, folder)
            n_found += 1
    assert n_found, "no library of MPI was found"


if __name__ == "__main__":
    main()
