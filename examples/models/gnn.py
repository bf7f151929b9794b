"""A graph network: each node of a graph gets its class from its words and its neighbours.

Data: synthetic, one graph of 2,708 nodes. It learns from two thirds of the nodes and is judged by
the others.

    python examples/models/gnn.py --mode imperative    # line by line
    python examples/models/gnn.py --save out --resume  # goes on from what was saved
    python examples/models/gnn.py --export gnn.flb  # for `fluvial run`
"""

import datasets
import fluvial as fl
import training
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


def main(arguments=None, nodes=2708, features=1433, edges=5278, classes=7, **sizes):
    def task(options):
        net = Gnn(features, classes=classes, **sizes)
        optimizer = fl.optimizer.Adam(net.parameters(), 1e-2)
        data = datasets.graph(options, nodes, features, classes, edges)
        return training.Task(net, optimizer, data)

    return training.main(task, __doc__, arguments, epochs=5, batch_size=1)


if __name__ == "__main__":
    main()
