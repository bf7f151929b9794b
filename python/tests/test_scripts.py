"""Scripts as PyTorch users write them give PyTorch's losses, line by line and compiled."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from user_scripts import SCRIPTS, fill, mlp, numbers

import fluvial as fl

GOLDEN = json.loads((Path(__file__).parent / "golden" / "scripts.json").read_text())


def fluvial(compiled):
    return SimpleNamespace(
        Module=fl.nn.Layer,
        nn=fl.nn,
        optim=fl.optimizer,
        compiled=fl.function if compiled else lambda function: function,
        clip_grad_norm_=fl.nn.utils.clip_grad_norm_,
        StepLR=fl.optimizer.lr.StepLR,
        grad=fl.grad,
        tensor=fl.tensor,
        no_grad=fl.no_grad,
        softmax=fl.softmax,
        log_softmax=fl.log_softmax,
        matmul=fl.matmul,
        relu=fl.relu,
        tanh=fl.tanh,
        amax=fl.max,
    )


@pytest.mark.parametrize("compiled", [False, True], ids=["lines", "compiled"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_losses_are_pytorchs(script, compiled):
    losses = script(fluvial(compiled))
    assert np.allclose(losses, GOLDEN[script.__name__], rtol=2e-4, atol=1e-6), losses


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_both_modes_have_the_same_bits(script):
    assert script(fluvial(False)) == script(fluvial(True))


def test_a_model_is_served_from_eight_threads(tmp_path):
    T = fluvial(False)
    net = fill(T, mlp(T, 3, 8, 2)).eval()
    fl.save_inference_model(tmp_path / "m.safetensors", {"x": "f32[n, 3]"}, net)
    model = fl.load_model(tmp_path / "m.safetensors")
    predict = fl.function(lambda x: net(x))
    x = [fl.tensor(numbers(1 + k % 3, 3, at=k)) for k in range(40)]
    expected = [net(part).numpy() for part in x]
    for served in (net, predict, model):
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda part: served(part).numpy(), x * 4))
        assert all(np.array_equal(a, b) for a, b in zip(found, expected * 4))
