"""A residual network of 18 layers tells images apart."""

import fluvial as fl
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

    def __init__(self, block=BasicBlock, layers=(2, 2, 2, 2), classes=100, channels=3, name="resnet"):
        super().__init__(name)
        self.conv1, self.bn1 = conv(channels, 64, 7, 2), nn.BatchNorm2d(64)
        width, stages = 64, []
        for stage, depth in enumerate(layers):
            planes, blocks = 64 * 2**stage, []
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
