"""The ten models have PyTorch's losses, step by step, in both modes.

`golden/models.json` is written by `make golden`: losses only, as weights and batches follow from names and
numbers of steps. `make parity` compares the models in their full size with PyTorch itself.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers"))

import fluvial_peer  # noqa: E402
import small  # noqa: E402

GOLDEN = json.loads((Path(__file__).parent / "golden" / "models.json").read_text())


def losses(name, mode, rate=1.0):
    """The losses of six steps of a small model; `rate` multiplies the learning rate."""
    spec = small.SMALL[name]
    if rate != 1.0:
        optim = small.replace(spec.optim, lr=spec.optim.lr * rate)
        spec = small.replace(spec, optim=optim)
    with fl.State():
        net = fluvial_peer.make_net(spec)
        shapes = {key: value.shape for key, value in net.state_dict().items()}
        net.load_state_dict(small.weights(shapes))
        call = fluvial_peer.make_call(net, spec, "train", mode)
        curves = {}
        for step in range(6):
            for key, value in call(fluvial_peer.to_tensors(spec.make_batch(step))).items():
                curves.setdefault(key, []).append(float(value))
    return curves


def allowed(name):
    """What the specification allows, or a few times the rounding noise of PyTorch's own float32."""
    golden = GOLDEN[name]
    noise = max(
        abs(a - b) / abs(b)
        for key in golden["float32"]
        for a, b in zip(golden["float32"][key], golden["float64"][key])
    )
    return max(small.SMALL[name].rtol, 4 * noise)


@pytest.mark.parametrize("mode", fluvial_peer.MODES)
@pytest.mark.parametrize("name", list(small.SMALL))
def test_losses_are_pytorchs(name, mode):
    found, golden = losses(name, mode), GOLDEN[name]["float32"]
    assert found.keys() == golden.keys()
    for key, curve in golden.items():
        np.testing.assert_allclose(found[key], curve, rtol=allowed(name))


@pytest.mark.parametrize("name", ["mlp", "gpt", "ptb_lstm", "deepcf"])
def test_a_rate_one_percent_off_is_seen(name):
    found, golden = losses(name, "compiled", rate=1.01)["loss"], GOLDEN[name]["float32"]["loss"]
    assert not np.allclose(found, golden, rtol=allowed(name), atol=0)
