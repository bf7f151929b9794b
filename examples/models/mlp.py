"""A multilayer perceptron reads digits.

Data: MNIST, if `data/get_mnist.py` has fetched it, else the small digits that come with the
examples, enlarged to 28 x 28. `--data` may be a folder with `train.rec` and `test.rec`
(`x: u8[1, 28, 28]`, `y: i64[]`), or `synthetic`.

    python examples/models/mlp.py --mode imperative    # line by line
    python examples/models/mlp.py --save out --resume  # goes on from what was saved
    python examples/models/mlp.py --export mlp.flb  # for `fluvial run`
"""

from itertools import pairwise

import datasets
import fluvial as fl
import training
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


class Digits(training.Task):
    def inputs(self, x, y):
        return {"x": x.flatten(1), "y": y}


def main(arguments=None, **sizes):
    def task(options):
        net = Mlp(**sizes)
        optimizer = fl.optimizer.Momentum(net.parameters(), 0.02, momentum=0.9)
        return Digits(net, optimizer, datasets.digits(options))

    return training.main(task, __doc__, arguments, epochs=5, batch_size=128)


if __name__ == "__main__":
    main()
