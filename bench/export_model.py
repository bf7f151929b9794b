"""Writes the program of a workload, and a batch to feed it: a child of command.py.

    python bench/export_model.py FOLDER WORKLOAD PHASE BATCH

FOLDER/program.flb is a training step, or the outputs for the weights as they are; FOLDER/feeds.npz has its
inputs.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

import fluvial as fl  # noqa: E402
import fluvial_peer as peer  # noqa: E402
import numpy as np  # noqa: E402
from workloads import WORKLOADS  # noqa: E402


def main() -> None:
    folder, workload, phase, size = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    spec = WORKLOADS[workload]
    fl.seed(spec.seed)
    net, batch = peer.make_net(spec), spec.make_batch(0, size)
    if phase == "train":
        call = peer.make_step(net, spec)
    else:
        call = net.eval()
        batch = {name: batch[name] for name in peer.inputs_of(net)}
    program = peer.build(call, peer.to_tensors(batch))
    if phase != "train":
        program = program.freeze()
    folder.mkdir(parents=True, exist_ok=True)
    program.save(folder / "program.flb")
    np.savez(folder / "feeds.npz", **batch)


if __name__ == "__main__":
    main()
