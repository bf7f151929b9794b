"""Writes the losses of the small workloads, by PyTorch: python golden.py FILE."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

import small
import torch_peer


def main() -> None:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    record: dict[str, object] = {"torch": torch.__version__}
    for name, spec in small.SMALL.items():
        net = torch_peer.make_net(spec)
        shapes = {key: tuple(value.shape) for key, value in net.state_dict().items()}
        weights = {k: torch.from_numpy(v) for k, v in small.weights(shapes).items()}
        record[name] = {
            "float32": torch_peer.losses(spec, weights, torch.float32),
            "float64": torch_peer.losses(spec, weights, torch.float64),
        }
    Path(sys.argv[1]).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
