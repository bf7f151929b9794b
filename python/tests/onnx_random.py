"""Compares onnxruntime's results on random models with ours: part of `make test-onnx`, which has the models written by
a test of Rust before, each in a folder of its own with inputs and results.

    python python/tests/onnx_random.py FOLDER
"""

from __future__ import annotations

import collections
import os
import sys
from typing import Any

import numpy as np

import fluvial as fl


def near(found: np.ndarray, expected: np.ndarray) -> bool:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if expected.dtype.kind != "f":
        return np.array_equal(found, expected)
    most = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    return np.allclose(found, expected, rtol=1e-5, atol=1e-5 * float(most), equal_nan=True)


def arrays(path: str) -> dict[str, Any]:
    return {name: tensor.numpy() for name, tensor in fl.load_weights(path).items()}


def judge(folder: str) -> tuple[str, str]:
    """The outcome of a model, and what there is to say."""
    import onnx
    import onnxruntime

    path = os.path.join(folder, "model.onnx")
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    inputs = arrays(os.path.join(folder, "inputs.safetensors"))
    expected = arrays(os.path.join(folder, "outputs.safetensors"))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as error:
        return "lacking", " ".join(str(error).split())[:200]
    used = {info.name for info in session.get_inputs()}
    found = session.run(list(expected), {name: value for name, value in inputs.items() if name in used})
    for name, value in zip(expected, found, strict=True):
        if not near(np.asarray(value), expected[name]):
            return "wrong", f"{name}: {value} instead of {expected[name]}"
    return "right", ""


def main() -> int:
    outcomes: collections.Counter[str] = collections.Counter()
    lacking: collections.Counter[str] = collections.Counter()
    root = sys.argv[1]
    for name in sorted(os.listdir(root), key=int):
        try:
            outcome, said = judge(os.path.join(root, name))
        except Exception as error:  # one line for each model
            outcome, said = "wrong", f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
        outcomes[outcome] += 1
        if outcome == "wrong":
            print(f"wrong   {name}  {said}")
        if outcome == "lacking":
            lacking[said] += 1
    for said, count in lacking.most_common():
        print(f"onnxruntime has no kernel, {count} times: {said}")
    judged = sum(outcomes.values()) - outcomes["lacking"]
    print(f"random models: {judged} run by onnxruntime, {outcomes['right']} right, {outcomes['wrong']} wrong")
    return 1 if outcomes["wrong"] or judged < 0.95 * sum(outcomes.values()) or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
