"""The ten models of `examples/models`, written as ONNX, run by OpenVINO: its numbers are ours. `make test-openvino`."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import numpy as np
import openvino

import exported_models
import fluvial as fl


def check(core: Any, name: str) -> float:
    """How far OpenVINO's results are from ours, at most, in parts of the largest element."""
    program, given = exported_models.prediction(name)
    path = os.path.join(tempfile.mkdtemp(), f"{name}.onnx")
    written = fl.onnx.save(program, path)
    ours = written.run({key: fl.tensor(value) for key, value in given.items()})
    # Half precision, which some processors are faster at, is not asked for.
    compiled = core.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    theirs = compiled({key: value for key, value in given.items() if key in written.inputs})
    apart = 0.0
    for key, value in ours.items():
        found, wanted = np.asarray(theirs[key]), value.numpy()
        assert found.shape == wanted.shape, f"{key}: {found.shape} and {wanted.shape}"
        apart = max(apart, float(np.max(np.abs(found - wanted)) / max(1e-6, float(np.max(np.abs(wanted))))))
    return apart


def main() -> int:
    core, failed = openvino.Core(), 0
    for name in exported_models.NAMES:
        try:
            apart = check(core, name)
        except Exception as error:  # one line for each model
            failed += 1
            print(f"{name}: {' '.join(str(error).split())[:400]}")
            continue
        failed += apart > 1e-5
        print(f"{name}: within {apart:.1e}")
    count = len(exported_models.NAMES)
    print(f"{count - failed} of {count} models give our numbers in OpenVINO")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
