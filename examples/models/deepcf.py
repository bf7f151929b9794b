"""Collaborative filtering: which user likes which item, by two views of both.

Data: synthetic, 200,000 ratings by hidden tastes and traits.

    python examples/models/deepcf.py --mode imperative    # line by line
    python examples/models/deepcf.py --save out --resume  # goes on from what was saved
    python examples/models/deepcf.py --export deepcf.flb  # for `fluvial run`
"""

from itertools import pairwise

import datasets
import fluvial as fl
import training
from fluvial import nn
from model import Model


class DeepCf(Model):
    """A perceptron on a pair of vectors, and a weighted product of a second pair."""

    def __init__(self, users=6040, items=3706, dim=32, hidden=(32, 16)):
        super().__init__("deepcf")
        first = fl.initializer.Normal(0.0, 0.1)
        self.mlp_user = nn.Embedding(users, dim, weight_attr=first)
        self.mlp_item = nn.Embedding(items, dim, weight_attr=first)
        self.gmf_user = nn.Embedding(users, dim, weight_attr=first)
        self.gmf_item = nn.Embedding(items, dim, weight_attr=first)
        sizes = (2 * dim, *hidden, 1)
        self.mlp = nn.LayerList(nn.Linear(i, o) for i, o in pairwise(sizes))
        self.gmf = nn.Linear(dim, 1)

    def forward(self, user, item):
        x = fl.concat([self.mlp_user(user), self.mlp_item(item)], 1)
        for layer in self.mlp[:-1]:
            x = fl.relu(layer(x))
        gmf = self.gmf(self.gmf_user(user) * self.gmf_item(item))
        return (self.mlp[-1](x) + gmf).squeeze(1)

    def loss(self, user, item, y):
        return fl.binary_cross_entropy_with_logits(self(user, item), y)


class Ratings(training.Task):
    def measure(self, user, item, y):
        """How many guesses are right."""
        hits = (self.net(user, item) > 0) == (y > 0)
        return fl.sum(fl.cast(hits, "float32")), fl.sum(fl.ones_like(y))


def main(arguments=None, users=1000, items=500, **sizes):
    def task(options):
        net = DeepCf(users, items, **sizes)
        optimizer = fl.optimizer.Adam(net.parameters(), 1e-2)
        return Ratings(net, optimizer, datasets.ratings(options, users, items))

    return training.main(task, __doc__, arguments, epochs=5, batch_size=1024)


if __name__ == "__main__":
    main()
