"""Exports the models of `examples/models` to CUDA C++, predictions and training steps: part of `make test-cuda`.

Each source is compiled by nvcc, warnings being errors, and run here on a header that runs the threads of a device, since
no device is asked for; what it gives is compared with the program's own results.

    python python/tests/export_cuda.py FOLDER [--nvcc NVCC] [--only mlp gpt]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from typing import Any

import exported_models
import numpy as np

import fluvial as fl

HEADERS = os.path.join(os.path.dirname(__file__), "..", "..", "crates", "export", "tests", "cuda")
FLAGS = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-ffp-contract=fast", "-fno-strict-aliasing"]


def run_emulated(folder: Any, feeds: dict[str, Any], steps: int = 1) -> None:
    """Compiles what was exported for threads of this machine, and runs it on arrays."""
    command = ["g++", *FLAGS, "-I", os.path.abspath(HEADERS), "-o", "model", "-x", "c++", "main.cu", "model.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    given = []
    for key, value in feeds.items():
        np.save(os.path.join(folder, f"in_{key}.npy"), value)
        given.append(f"{key}=in_{key}.npy")
    command = ["./model", *given, "--steps", str(steps)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def check(program: fl.Program, feeds: dict[str, Any], folder: Any, steps: int = 1, **options: Any) -> None:
    """Exports a program, runs it on the header and here, and compares the outputs."""
    fl.export.cuda(program, folder, **options)
    run_emulated(folder, feeds, steps)
    found: dict[str, Any] = {}
    for _ in range(steps):
        found = program.run({key: fl.tensor(value) for key, value in feeds.items()})
    for key, value in found.items():
        expected = value.numpy()
        np.testing.assert_allclose(
            np.load(os.path.join(folder, f"{key}.npy")), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max()
        )


def compiled(folder: str, nvcc: str) -> str:
    """What nvcc says of the sources, if they cannot be compiled without warnings."""
    for source in ("model.cu", "main.cu"):
        command = [nvcc, "-std=c++17", "-arch=sm_80", "-Werror", "all-warnings", "-c", source, "-o", f"{source}.o"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stdout + done.stderr
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--nvcc")
    parser.add_argument("--only", nargs="*", default=exported_models.NAMES)
    options = parser.parse_args()
    faults = 0
    for name in options.only:
        for kind, made in (("prediction", exported_models.prediction), ("step", exported_models.step)):
            folder = os.path.join(options.folder, name, kind)
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            start, said = time.monotonic(), ""
            try:
                program, feeds = made(name)
                check(program, feeds, folder, steps=2 if kind == "step" and "res" not in name else 1)
            except Exception as error:  # one line for each program
                said = f"{type(error).__name__}: {str(error)[:2000]}"
            if not said and options.nvcc:
                said = compiled(folder, options.nvcc)
            faults += bool(said)
            outcome = "wrong" if said else "right"
            kernels = 0
            if os.path.exists(os.path.join(folder, "model.cu")):
                with open(os.path.join(folder, "model.cu"), encoding="utf-8") as file:
                    kernels = file.read().count("static __global__")
            seconds = time.monotonic() - start
            print(f"{outcome}  {name} {kind}: {kernels} kernels, {seconds:.0f} s {said}", flush=True)
    print(f"{2 * len(options.only) - faults} of {2 * len(options.only)} compile without warnings and give our numbers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
