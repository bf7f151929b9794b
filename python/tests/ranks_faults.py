"""What may go wrong with ranks, one thing after another, each of which ends with the bits of a run that nobody disturbed: `make
test-dist`, or

    python python/tests/ranks_faults.py --fluvial target/debug/fluvial --prefix .venv-mpich [--kills 20] [--only NAME ...]

The states after the run are compared by their sha256. The exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ranks_mpi import ROOT, SECONDS, Library, ranks_of

import fluvial as fl

#: How often each loop reads its data, and after how many steps ranks save.
EPOCHS, EVERY = 60, 7


def program(folder: str) -> str:
    """A training whose checkpoints take a while to be written: about 1 MB of each rank, by Adam with dropout."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(96, 64)).astype("float32")
    np.savez(os.path.join(folder, "faults.npz"), x=x, y=(x[:, :1] - x[:, 1:2]).astype("float32"))
    fl.seed(2)
    net = fl.nn.Sequential(fl.nn.Linear(64, 2000), fl.nn.Tanh(), fl.nn.Dropout(0.2), fl.nn.Linear(2000, 1))
    optimizer = fl.optimizer.Adam(net.parameters(), 0.001)
    before = os.getcwd()
    os.chdir(folder)
    try:
        reader = fl.batch_reader("faults.npz", batch_size=4, shuffle=5)

        @fl.function
        def train() -> Any:
            loss = fl.tensor(0.0)
            for x, y in reader.iterate():
                loss = fl.mse_loss(net(x), y)
                optimizer.minimize(loss)
            return loss

        fl.build(train, {}).save("faults.flb")
    finally:
        os.chdir(before)
    return os.path.join(folder, "faults.flb")


def sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Bench:
    """A library of MPI, a program, and the states that it ends with if nobody disturbs it."""

    def __init__(self, library: Library, fluvial: str, folder: str, n_kills: int) -> None:
        self.library, self.fluvial, self.folder, self.n_kills = library, fluvial, folder, n_kills
        self.path = program(folder)
        self.random = random.Random(11)
        self.count = 0
        whole = self.place("whole.safetensors")
        done = library.run(2, *self.words(whole))
        assert done.returncode == 0, done.stderr
        self.whole = sha256(whole)

    def place(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def new_place(self) -> tuple[str, str]:
        """A folder for the checkpoints of a run, and a file for its states."""
        self.count += 1
        return self.place(f"kept-{self.count}"), self.place(f"end-{self.count}.safetensors")

    def words(self, to: str, kept: str | None = None) -> list[str]:
        words = [self.fluvial, "run", self.path, "--dist", "zero1", "--epochs", str(EPOCHS), "--quiet"]
        words += ["--root", self.folder, "--save", to]
        return words if kept is None else [*words, "--checkpoint", kept, "--every", str(EVERY), "--resume"]

    def environment(self) -> dict[str, str]:
        path = f"{os.path.dirname(self.library.launcher)}:{os.environ['PATH']}"
        return {**self.library.environment(), **ROOT, "FLUVIAL_THREADS": "1", "PATH": path}

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Starts two ranks, and does not wait for them."""
        words = (self.library.launcher, "-n", "2", *words)
        # What they write goes to a file: nobody reads a pipe meanwhile.
        self.errors = self.place("errors")
        return subprocess.Popen(
            words,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=open(self.errors, "w"),
            text=True,
            start_new_session=True,
        )

    def told(self) -> str:
        return open(self.errors).read()

    def goes_on(self, kept: str, to: str) -> None:
        """Another start takes the run up, and ends it with the bits of an undisturbed one."""
        done = self.library.run(2, *self.words(to, kept))
        assert done.returncode == 0, done.stderr
        self.same(to)

    def same(self, to: str) -> None:
        assert sha256(to) == self.whole, "the run ended with other bits"

    def ranks(self, kept: str) -> list[int]:
        return ranks_of(self.fluvial, kept)

    def wait(self, what: Callable[[], Any], started: subprocess.Popen[str] | None = None, pause: float = 0.005) -> Any:
        """Waits until something is so, while what was started runs."""
        began = time.monotonic()
        while time.monotonic() - began < SECONDS:
            found = what()
            if found:
                return found
            assert started is None or started.poll() is None, f"the run was over too early: {self.told()}"
            time.sleep(pause)
        raise AssertionError("it has waited in vain")

    def steps(self, kept: str, rank: int = 0) -> list[str]:
        return sorted(os.path.basename(path) for path in glob.glob(os.path.join(kept, f"rank-{rank}-of-2", "step-*")))


def kill(process: int) -> bool:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def ranks_at_random(bench: Bench) -> str:
    """kill -9 of any rank at random steps."""
    n_killed = n_runs = 0
    while n_killed < bench.n_kills:
        n_runs += 1
        kept, to = bench.new_place()
        command = [bench.fluvial, "launch", "-n", "2", "--restarts", "1000", "--", *bench.words(to, kept)[1:]]
        started = subprocess.Popen(
            command,
            env=bench.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        seen: list[str] = []
        began = time.monotonic()
        while started.poll() is None:
            assert time.monotonic() - began < 4 * SECONDS, "the run does not end"
            ranks = bench.ranks(kept)
            if n_killed < bench.n_kills and len(ranks) == 2 and bench.steps(kept) not in ([], seen):
                time.sleep(bench.random.random() * 0.3)
                seen = bench.steps(kept)
                n_killed += kill(bench.random.choice(ranks))
            time.sleep(0.01)
        assert started.returncode == 0, started.returncode
        bench.same(to)
    return f"a rank was killed {n_killed} times in {n_runs} runs"


def in_a_checkpoint(bench: Bench) -> str:
    """kill -9 of a rank while it writes a checkpoint."""
    for rank in (0, 1):
        kept, to = bench.new_place()
        started = bench.start(*bench.words(to, kept))
        folder = os.path.join(kept, f"rank-{rank}-of-2")
        bench.wait(lambda kept=kept: len(bench.steps(kept)) == 2, started)

        def draft(folder: str = folder) -> bool:
            return any(not name.startswith("step-") and name != "lock" for name in os.listdir(folder))

        bench.wait(draft, started, 0.0)
        ranks = bench.ranks(kept)
        assert ranks and [kill(process) for process in ranks]
        assert started.wait(SECONDS) != 0
        assert set(bench.steps(kept, 0)) & set(bench.steps(kept, 1)), "there is no checkpoint that both have"
        bench.goes_on(kept, to)
        assert not draft(), "what was begun is left behind"
    return "ranks were killed while they wrote checkpoints"


def the_launcher(bench: Bench) -> str:
    """kill -9 of mpirun."""
    kept, to = bench.new_place()
    started = bench.start(*bench.words(to, kept))
    bench.wait(lambda: bench.steps(kept), started)
    assert kill(started.pid)
    assert started.wait(SECONDS) == -signal.SIGKILL
    bench.wait(lambda: not bench.ranks(kept))
    bench.goes_on(kept, to)
    return "mpirun was killed, its ranks ended"


def a_signal(bench: Bench) -> str:
    """SIGTERM to one rank."""
    kept, to = bench.new_place()
    started = bench.start(*bench.words(to, kept))
    bench.wait(lambda: bench.steps(kept), started)
    os.kill(bench.ranks(kept)[-1], signal.SIGTERM)
    assert started.wait(SECONDS) == 0, bench.told()
    assert not os.path.exists(to), "the run was over before it could be stopped"
    assert bench.steps(kept)[-1] == bench.steps(kept, 1)[-1]
    bench.goes_on(kept, to)
    return "a signal to one rank stopped both"


def a_full_disk(bench: Bench) -> str:
    """The disk of one rank takes no checkpoints any more: the run goes on, and the latest that both ranks have stays."""
    kept, to = bench.new_place()
    # What is too large is an error of the one who writes it, not a signal.
    started = bench.start("sh", "-c", 'trap "" XFSZ; exec "$@"', "sh", *bench.words(to, kept))
    bench.wait(lambda: bench.steps(kept, 1), started)
    process = int(open(os.path.join(kept, "rank-1-of-2", "lock")).read())
    resource.prlimit(process, resource.RLIMIT_FSIZE, (1000, 1000))
    assert started.wait(SECONDS) == 0, bench.told()
    assert "could not be written" in bench.told(), bench.told()
    bench.same(to)
    common = bench.steps(kept, 1)[-1]
    assert common in bench.steps(kept, 0), (bench.steps(kept, 0), bench.steps(kept, 1))
    assert bench.steps(kept, 0)[-1] > common
    os.remove(to)
    bench.goes_on(kept, to)
    return "a full disk of one rank: the run goes on, the checkpoint of both stays"


def a_stale_start(bench: Bench) -> str:
    """A start that was thought to be dead wakes up while a later one has written."""
    kept, to = bench.new_place()
    late = bench.place("late.safetensors")
    started = bench.start(*bench.words(late, kept))
    bench.wait(lambda: bench.steps(kept), started)
    stale = bench.ranks(kept)
    assert len(stale) == 2
    for process in stale:
        os.kill(process, signal.SIGSTOP)
    # As where machines do not see each other's locks.
    for lock in glob.glob(os.path.join(kept, "rank-*", "lock")):
        os.remove(lock)
    told = bench.errors
    bench.goes_on(kept, to)
    after = {path: sha256(path) for path in glob.glob(os.path.join(kept, "rank-*", "step-*"))}
    for process in stale:
        os.kill(process, signal.SIGCONT)
    assert started.wait(SECONDS) != 0, "a stale start went on to its end"
    assert "was started again since" in open(told).read(), open(told).read()
    assert not os.path.exists(late)
    now = {path: sha256(path) for path in glob.glob(os.path.join(kept, "rank-*", "step-*"))}
    assert after == now, (sorted(after), sorted(now))
    bench.goes_on(kept, to)
    return "a stale start is refused and damages nothing"


def another_number(bench: Bench) -> str:
    """A run of two ranks goes on with three, and again with two: parts are cut and put together without a difference."""
    kept, to = bench.new_place()
    started = bench.start(*bench.words(to, kept))
    bench.wait(lambda: bench.steps(kept), started)
    os.kill(bench.ranks(kept)[0], signal.SIGTERM)
    assert started.wait(SECONDS) == 0, bench.told()
    ends = []
    for _ in range(2):
        copy = f"{kept}-{len(ends)}"
        shutil.copytree(kept, copy)
        done = bench.library.run(3, *bench.words(to, copy))
        assert done.returncode == 0, done.stderr
        ends.append(sha256(to))
    assert ends[0] == ends[1], "going on again gave other bits"
    bench.goes_on(kept, to)
    return "a run of two ranks goes on with three, twice with the same bits"


FAULTS = {
    "ranks": ranks_at_random,
    "checkpoint": in_a_checkpoint,
    "launcher": the_launcher,
    "signal": a_signal,
    "disk": a_full_disk,
    "stale": a_stale_start,
    "number": another_number,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fluvial", required=True)
    parser.add_argument("--prefix", nargs="+", required=True)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=list(FAULTS), choices=list(FAULTS))
    options = parser.parse_args()
    for prefix in map(os.path.abspath, options.prefix):
        found = sorted(glob.glob(os.path.join(prefix, "lib", "libmpi*.so.*")))
        assert found, f"there is no library of MPI in {prefix}"
        print(found[0])
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Library(found[0], prefix), options.fluvial, folder, options.kills)
            for name in options.only:
                began = time.monotonic()
                told = FAULTS[name](bench)
                print(f"  {told} ({time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
