"""A small convolutional network reads digits.

Data: MNIST, if `data/get_mnist.py` has fetched it, else the small digits that come with the
examples, enlarged to 28 x 28. `--data` may be a folder with `train.rec` and `test.rec`
(`x: u8[1, 28, 28]`, `y: i64[]`), or `synthetic`.

    python examples/models/lenet.py --mode imperative    # line by line
    python examples/models/lenet.py --save out --resume  # goes on from what was saved
    python examples/models/lenet.py --export lenet.flb  # for `fluvial run`
"""

import datasets
import fluvial as fl
import training
from fluvial import nn
from model import Model


class LeNet(Model):
    """Two convolutions with relu and pooling, then two linear layers."""

    def __init__(self, side=28, channels=(20, 50), kernel=5, hidden=500, classes=10):
        super().__init__("lenet")
        self.conv1 = nn.Conv2d(1, channels[0], kernel)
        self.conv2 = nn.Conv2d(channels[0], channels[1], kernel)
        side = ((side - kernel + 1) // 2 - kernel + 1) // 2
        self.fc1 = nn.Linear(channels[1] * side * side, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x):
        x = fl.max_pool2d(fl.relu(self.conv1(x)), 2)
        x = fl.max_pool2d(fl.relu(self.conv2(x)), 2)
        return self.fc2(fl.relu(self.fc1(x.flatten(1))))

    def loss(self, x, y):
        return fl.cross_entropy(self(x), y)


def main(arguments=None, **sizes):
    def task(options):
        net = LeNet(**sizes)
        optimizer = fl.optimizer.Adam(net.parameters(), 1e-3)
        return training.Task(net, optimizer, datasets.digits(options))

    return training.main(task, __doc__, arguments, epochs=2, batch_size=64)


if __name__ == "__main__":
    main()
