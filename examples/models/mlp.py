"""A multilayer perceptron reads digits."""

from itertools import pairwise

import fluvial as fl
from fluvial import nn
from model import Model


class Mlp(Model):
    """Linear layers with relu between."""

    def __init__(self, sizes=(784, 256, 256, 10)):
        super().__init__("mlp")
        self.layers = nn.LayerList(nn.Linear(i, o) for i, o in pairwise(sizes))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = fl.relu(layer(x))
        return self.layers[-1](x)

    def loss(self, x, y):
        return fl.cross_entropy(self(x), y)
