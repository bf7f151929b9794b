"""A small convolutional network reads digits."""

import fluvial as fl
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
