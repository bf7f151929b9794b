"""A training loop that is one compiled program, with a fault: the temperature falls below zero."""

import numpy as np

import fluvial as fl
from fluvial import nn

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1), name="net")
adam = fl.optimizer.Adam(net.parameters(), 1e-2)


@fl.function
def train(x, y, steps):
    temperature, loss = 0.7, 0.0
    for step in range(steps):
        guess = net(x)
        error = guess - y
        scale = fl.sqrt(temperature)
        loss = fl.mean(error * error) * scale
        adam.minimize(loss)
        temperature = temperature - 0.2
    return loss


random = np.random.default_rng(0)
x = fl.tensor(random.normal(size=(16, 4)).astype("float32"))
y = fl.sum(x, axis=1, keepdims=True)
print("the last loss is", train(x, y, fl.tensor(5)).item(), flush=True)
