"""Exports models as crates of Rust, builds them, and compares what they give with the executor: `make test-export-rust`.

    python python/tests/export_rust.py TARGET
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np

import exported_models
import fluvial as fl

MODELS = ("mlp", "lenet", "ptb_lstm")
CRATES = os.path.join(os.path.dirname(__file__), "../../crates")


def built(program: Any, name: str, target: str) -> str:
    """The path of the binary of a program."""
    folder = os.path.join(target, name)
    fl.export.rust(program, folder, name=name, crates=os.path.realpath(CRATES))
    # Decompositions take a minute to build, and none of these has one.
    command = ["cargo", "build", "--quiet", "--release", "--no-default-features", "--target-dir", os.path.join(target, "build")]
    subprocess.run(command, cwd=folder, check=True)
    return os.path.join(target, "build/release", name)


def run(binary: str, given: dict[str, Any], *more: str) -> None:
    folder = os.path.dirname(binary)
    for key, value in given.items():
        np.save(os.path.join(folder, f"in_{key}.npy"), value)
    inputs = [f"{key}=in_{key}.npy" for key in given]
    subprocess.run([binary, *inputs, *more], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=120)


def same(binary: str, expected: dict[str, Any]) -> bool:
    folder = os.path.dirname(binary)
    found = {key: np.load(os.path.join(folder, f"{key}.npy")) for key in expected}
    return all(np.array_equal(found[key], value.numpy(), equal_nan=True) for key, value in expected.items())


def main() -> int:
    target = os.path.realpath(sys.argv[1])
    faults = 0
    for name in MODELS:
        program, given = exported_models.prediction(name)
        binary = built(program, name, target)
        given = {key: value for key, value in given.items() if key in program.inputs}
        run(binary, given)
        right = same(binary, program.run({key: fl.tensor(value) for key, value in given.items()}))
        faults += not right
        print(f"{'right' if right else 'wrong'}  {name}: {os.path.getsize(binary) / 2**20:.1f} MB")
    program, given = exported_models.step("mlp")
    binary = built(program, "training", target)
    run(binary, given, "--steps", "20", "--save", "after.safetensors")
    for _ in range(20):
        expected = program.run({key: fl.tensor(value) for key, value in given.items()})
    right = same(binary, expected)
    run(binary, given, "--weights", "after.safetensors")
    right = right and same(binary, program.run({key: fl.tensor(value) for key, value in given.items()}))
    faults += not right
    print(f"{'right' if right else 'wrong'}  a training step: {os.path.getsize(binary) / 2**20:.1f} MB")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
