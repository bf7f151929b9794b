"""A residual network of 18 layers tells images apart.

Data: synthetic, images of 64 x 64 in ten classes. `--data` may be a folder with `train.rec` and
`test.rec` (or `.npz`): `x: u8[3, 64, 64]`, `y: i64[]`.

    python examples/models/resnet18.py --mode imperative    # line by line
    python examples/models/resnet18.py --save out --resume  # goes on from what was saved
    python examples/models/resnet18.py --export resnet18.flb  # for `fluvial run`
"""

import datasets
import fluvial as fl
import training
from fluvial import nn
from model import Model


def conv(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)


def shortcut(inputs, outputs, stride):
    """What brings a block's input to the shape of its output; nothing if it has it."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class BasicBlock(nn.Layer):
    """Two 3x3 convolutions, and the input added."""

    expansion = 1

    def __init__(self, inputs, planes, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, planes, 3, stride), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = conv(planes, planes, 3), nn.BatchNorm2d(planes)
        self.downsample = shortcut(inputs, planes, stride)

    def forward(self, x):
        y = fl.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return fl.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(Model):
    """A stem, four stages of blocks, each with twice the channels and half the side, and a head."""

    def __init__(
        self,
        block=BasicBlock,
        layers=(2, 2, 2, 2),
        classes=100,
        channels=3,
        first=64,
        name="resnet",
    ):
        super().__init__(name)
        self.conv1, self.bn1 = conv(channels, first, 7, 2), nn.BatchNorm2d(first)
        width, stages = first, []
        for stage, depth in enumerate(layers):
            planes, blocks = first * 2**stage, []
            for index in range(depth):
                stride = 2 if stage > 0 and index == 0 else 1
                blocks.append(block(width, planes, stride))
                width = planes * block.expansion
            stages.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = fl.relu(self.bn1(self.conv1(x)))
        x = fl.max_pool2d(x, 3, stride=2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))

    def loss(self, x, y):
        return fl.cross_entropy(self(x), y)


def main(arguments=None, side=64, classes=10, **sizes):
    def task(options):
        net = ResNet(classes=classes, **sizes)
        optimizer = fl.optimizer.Momentum(
            net.parameters(), 0.01, momentum=0.9, weight_decay=1e-4
        )
        return training.Task(net, optimizer, datasets.images(options, (3, side, side), classes))

    return training.main(task, __doc__, arguments, epochs=3, batch_size=16)


if __name__ == "__main__":
    main()
