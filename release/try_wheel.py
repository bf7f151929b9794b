"""What `test_wheel.py` runs in a fresh environment: a training in both modes, a model as a file, the command."""

import os
import subprocess
import sys
import time

start = time.perf_counter()
import numpy as np  # noqa: E402

numpy_seconds = time.perf_counter() - start
import fluvial as fl  # noqa: E402

import_seconds = time.perf_counter() - start - numpy_seconds


def losses(mode):
    """A short training; both modes must give the same bits."""
    fl.seed(0)
    net = fl.nn.Sequential(fl.nn.Linear(3, 8), fl.nn.Tanh(), fl.nn.Linear(8, 1), name="net")
    adam = fl.optimizer.Adam(net.parameters(), 0.05)

    @fl.function
    def step(x, y):
        loss = fl.mean((net(x) - y) ** 2)
        adam.minimize(loss)
        return loss

    x = fl.tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
    y = fl.full((4, 1), 0.5)
    with fl.mode(mode):
        return [step(x, y).item() for _ in range(5)], net


first, _ = losses("imperative")
second, net = losses("program")
assert first == second and first[-1] < first[0], (first, second)

fl.save_inference_model("net", {"x": "f32[n, 3]"}, net)
command = os.path.join(os.path.dirname(sys.executable), "fluvial")
for arguments in (["doctor"], ["run", "net", "--set", "x=[[1, 2, 3]]"]):
    done = subprocess.run([command, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
assert "f32[1, 1]" in done.stdout, done.stdout

size = os.path.getsize(fl._core.__file__) / 1e6
print(f"Python {sys.version.split()[0]}, numpy {np.__version__}: import {1000 * import_seconds:.0f} ms, extension {size:.1f} MB")
