"""A training that debuggers are tried on: two layers, dropout and shuffled batches, as one compiled program.

    python debugged_training.py [PORT]

It waits for a debugger unless there is no port, and prints a hash of what was learnt. `FAULT` is the step at which a
square root gets a negative number, `EPOCHS` how often it goes through the data.
"""

import hashlib
import os
import sys

import numpy as np

import fluvial as fl
from fluvial import nn

random = np.random.default_rng(0)
data = random.normal(size=(40, 4)).astype("float32")
batches = fl.reader({"x": data, "y": data.sum(1, keepdims=True)}, name="batches").shuffle(seed=3).batch(5)

fl.seed(1)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.25), nn.Linear(8, 1), name="net")
adam = fl.optimizer.Adam(net.parameters(), 1e-2)


@fl.function
def train(rest, epochs):
    loss = fl.tensor(0.0)
    for x, y in batches.iterate(epochs=epochs):
        guess = net(x)

        error = guess - y
        scale = fl.sqrt(rest)
        loss = fl.mean(error * error) * scale
        adam.minimize(loss)
        rest = rest - 1.0
    return loss


if len(sys.argv) > 1:
    address = fl.debug.listen(int(sys.argv[1]))
    print(address.port, address.token or "-", flush=True)
    fl.debug.listen(address.port, wait=True)
rest = float(os.environ.get("FAULT", 100))
loss = train(fl.tensor(rest - 0.5), int(os.environ.get("EPOCHS", 3)))
learnt = hashlib.sha256(b"".join(value.numpy().tobytes() for value in net.state_dict().values()))
print("loss", loss.item())
print("learnt", learnt.hexdigest(), flush=True)
