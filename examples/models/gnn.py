"""A graph network: each node of a graph gets its class from its words and its neighbours."""

import fluvial as fl
from fluvial import nn
from model import Model


class Gnn(Model):
    """Two layers of `adj · (x · w) + b`, with relu between."""

    def __init__(self, features=1433, hidden=64, classes=7):
        super().__init__("gnn")
        first = fl.initializer.XavierUniform()
        self.w1 = nn.Parameter((features, hidden), init=first)
        self.b1 = nn.Parameter((hidden,), init=0.0)
        self.w2 = nn.Parameter((hidden, classes), init=first)
        self.b2 = nn.Parameter((classes,), init=0.0)

    def forward(self, x, adj):
        x = fl.relu(adj @ (x @ self.w1) + self.b1)
        return adj @ (x @ self.w2) + self.b2

    def loss(self, x, adj, y):
        return fl.cross_entropy(self(x, adj), y)
