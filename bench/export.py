"""Steps of exported C beside our own compiled steps.

    python bench/export.py [mlp lenet ptb_lstm gpt] [--rounds 3] [--threads 1] [--blas none openblas] [--fluvial PATH]

A training step of each workload is written as a program file, exported, compiled with gcc -O3 -march=native, and run in
turns with `fluvial bench` on the same file. What counts is the least time of a step of all rounds. With --threads 2 the C
is built with OPENMP=1. OpenBLAS has to be installed (Debian: libopenblas-dev).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import command
import numpy as np
from processes import HERE

sys.path.insert(0, str(HERE / "peers"))
from workloads import WORKLOADS  # noqa: E402


def made(folder: Path, workload: str) -> None:
    """The program of a training step, and a batch as one file for each input."""
    task = [str(HERE / "export_model.py"), str(folder), workload, "train", str(WORKLOADS[workload].batch)]
    subprocess.run([sys.executable, *task], check=True)
    with np.load(folder / "feeds.npz") as feeds:
        for name, array in feeds.items():
            np.save(folder / f"{name}.npy", np.ascontiguousarray(array))


def exported(folder: Path, fluvial: list[str], blas: str, threads: int) -> Path:
    """The exported program, compiled."""
    to = folder / blas
    program = str(folder / "program.flb")
    subprocess.run([*fluvial, "export", program, "-o", str(to), "--blas", blas, "-q"], check=True)
    options = ["OPENMP=1"] if threads > 1 else []
    subprocess.run(["make", "-s", "-C", str(to), *options], check=True)
    return to


def c_step(folder: Path, to: Path, seconds: float, threads: int) -> float:
    """The least milliseconds of a step in C."""
    inputs = [f"{path.stem}={path}" for path in sorted(folder.glob("*.npy"))]
    env = os.environ | {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    # Large arenas are static, but stacks of threads hold panels of products.
    call = [str(to / "model"), *inputs, "--weights", str(to / "model.bin"), "--out", str(to)]
    steps, least = 2, float("inf")
    for _ in range(2):
        done = subprocess.run([*call, "--steps", str(steps)], check=True, capture_output=True, text=True, env=env)
        mean, best = map(float, re.findall(r"([\d.]+) us", done.stdout.splitlines()[-1]))
        least = min(least, best / 1e3)
        steps = max(3, min(5000, int(seconds * 1e6 / max(mean, 1.0))))
    return least


def our_step(folder: Path, fluvial: list[str], seconds: float, threads: int) -> float:
    """The least milliseconds of a step of the program file."""
    program = [str(folder / "program.flb"), "--feed", str(folder / "feeds.npz"), "--json"]
    options = ["--seconds", str(seconds), "--threads", str(threads)]
    done = subprocess.run([*fluvial, "bench", *program, *options], check=True, capture_output=True, text=True)
    return command.timing(done.stdout)["minimum"] * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=["mlp", "lenet", "ptb_lstm", "gpt"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--blas", nargs="*", default=["none", "openblas"])
    parser.add_argument("--fluvial")
    args = parser.parse_args()
    fluvial = command.command_line(args.fluvial)
    base = Path(tempfile.mkdtemp())
    try:
        for workload in args.workloads:
            folder = base / workload
            made(folder, workload)
            built = {blas: exported(folder, fluvial, blas, args.threads) for blas in args.blas}
            least = dict.fromkeys(["ours", *built], float("inf"))
            for _ in range(args.rounds):
                least["ours"] = min(least["ours"], our_step(folder, fluvial, args.seconds, args.threads))
                for blas, to in built.items():
                    least[blas] = min(least[blas], c_step(folder, to, args.seconds, args.threads))
            shown = ", ".join(f"C ({blas}) {least[blas]:.3f} ms ({least['ours'] / least[blas]:.2f}x)" for blas in built)
            size = (built[args.blas[0]] / "model").stat().st_size / 1024
            print(f"{workload:12} ours {least['ours']:.3f} ms, {shown}, binary {size:.0f} KB", flush=True)
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
