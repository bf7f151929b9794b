"""Scripts as PyTorch users write them give PyTorch's losses, line by line and compiled."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from user_scripts import FILES, SCRIPTS, fill, mlp, numbers

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
        load=fl.load_torch,
        load_file=fl.load_safetensors,
    )


def fine_tuned_by_formulas():
    """The losses of `fine_tuning`, by hand."""
    weights = fl.load_torch(FILES / "linear.pt")
    params = {"w": weights["0.weight"], "b": weights["0.bias"]}
    params = {name: value.numpy().astype(np.float64) for name, value in params.items()}
    params["h"], params["c"] = 0.4 * numbers(3, 2, at=2.0), 0.4 * numbers(3, at=3.0)
    x, y, rows = numbers(6, 4).astype(np.float64), np.arange(6) % 3, np.arange(6)
    velocities, losses = {}, []
    for i in range(8):
        hidden = np.tanh(x @ params["w"].T + params["b"])
        logits = hidden @ params["h"].T + params["c"]
        logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        losses.append(-logs[rows, y].mean())
        out = (np.exp(logs) - np.eye(3)[y]) / 6
        inner = (out @ params["h"]) * (1 - hidden**2)
        grads = {"h": out.T @ hidden, "c": out.sum(0), "w": inner.T @ x, "b": inner.sum(0)}
        for name in "hc" if i < 4 else "hcwb":
            velocities[name] = 0.9 * velocities.get(name, 0.0) + grads[name]
            params[name] = params[name] - (0.2 if name in "hc" else 0.05) * velocities[name]
    return 2 * losses


@pytest.mark.parametrize("compiled", [False, True], ids=["lines", "compiled"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_losses_are_pytorchs(script, compiled):
    losses = script(fluvial(compiled))
    known = GOLDEN.get(script.__name__) or fine_tuned_by_formulas()
    assert np.allclose(losses, known, rtol=2e-4, atol=1e-6), losses


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
