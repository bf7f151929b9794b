"""Trains a small network; `if`, `while` and a Python loop, in either mode or switching between."""

import numpy as np

import fluvial as fl

LAYERS = [(4, 16), (16, 8), (8, 1)]


def data(rows=64):
    generator = np.random.default_rng(3)
    x = generator.normal(size=(rows, 4)).astype(np.float32)
    y = np.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3]
    return fl.tensor(x), fl.tensor(y.astype(np.float32))


def normal(shape, dtype):
    return fl.normal((dtype, shape), std=0.4)


def parameters():
    found = {}
    for i, (rows, columns) in enumerate(LAYERS):
        found[f"w{i}"] = fl.parameter(f"w{i}", (rows, columns), init=normal)
        found[f"b{i}"] = fl.parameter(f"b{i}", (columns,))
    return found


def model(x, weights):
    for i in range(len(LAYERS)):
        x = x @ weights[f"w{i}"] + weights[f"b{i}"]
        if i < len(LAYERS) - 1:
            x = fl.tanh(x) if fl.mean(x) > 0 else fl.sigmoid(x)
    return x


@fl.function
def train_step(x, y):
    weights = parameters()
    error = model(x, weights) - y
    loss = fl.mean(error * error)
    gradients = fl.grad(loss, list(weights.values()))
    # The longest gradient is halved until it is short.
    size = fl.sum(gradients[0] * gradients[0])
    rate, halvings = fl.tensor(0.2), 0
    while size * rate > 0.05:
        rate = rate * 0.5
        halvings += 1
        if halvings > 5:
            break
    if loss < 0.2:
        rate = rate * 0.5
    for (name, weight), gradient in zip(weights.items(), gradients):
        fl.assign_state(name, weight - rate * gradient)
    return loss.detach(), halvings


def train(steps, switch=None):
    """The losses of all steps; `switch` is called before each step."""
    x, y = data()
    losses = []
    with fl.State():
        fl.seed(1)
        for step in range(steps):
            if switch is not None:
                switch(step)
            loss, _ = train_step(x, y)
            losses.append(loss.item())
    return losses
