"""A residual network with grouped convolutions and squeeze-and-excitation tells images apart.

Data: synthetic, images of 64 x 64 in ten classes. `--data` may be a folder with `train.rec` and
`test.rec` (or `.npz`): `x: u8[3, 64, 64]`, `y: i64[]`.

    python examples/models/se_resnext.py --mode imperative    # line by line
    python examples/models/se_resnext.py --save out --resume  # goes on from what was saved
    python examples/models/se_resnext.py --export se_resnext.flb  # for `fluvial run`
"""

import datasets
import fluvial as fl
import training
from fluvial import nn
from resnet18 import ResNet, conv, shortcut


class SqueezeExcite(nn.Layer):
    """Scales each channel by what all channels say on average."""

    def __init__(self, channels, reduction=16):
        super().__init__()
        self.fc1 = nn.Linear(channels, channels // reduction)
        self.fc2 = nn.Linear(channels // reduction, channels)

    def forward(self, x):
        gate = fl.sigmoid(self.fc2(fl.relu(self.fc1(x.mean((2, 3))))))
        return x * gate[:, :, None, None]


class SEBottleneck(nn.Layer):
    """1x1, grouped 3x3 and 1x1 convolutions, squeeze-and-excitation, and the input added."""

    expansion = 4

    def __init__(self, inputs, planes, stride, groups=32, group_width=4):
        super().__init__()
        width, outputs = planes * group_width // 64 * groups, planes * self.expansion
        self.conv1, self.bn1 = conv(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, 3, stride, groups), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = conv(width, outputs, 1), nn.BatchNorm2d(outputs)
        self.se = SqueezeExcite(outputs)
        self.downsample = shortcut(inputs, outputs, stride)

    def forward(self, x):
        y = fl.relu(self.bn1(self.conv1(x)))
        y = fl.relu(self.bn2(self.conv2(y)))
        y = self.se(self.bn3(self.conv3(y)))
        return fl.relu(y + (x if self.downsample is None else self.downsample(x)))


class SEResNeXt(ResNet):
    def __init__(self, layers=(2, 2, 2, 2), classes=100, channels=3, first=64):
        super().__init__(SEBottleneck, layers, classes, channels, first, name="se_resnext")


def main(arguments=None, side=64, classes=10, **sizes):
    def task(options):
        net = SEResNeXt(classes=classes, **sizes)
        optimizer = fl.optimizer.Momentum(net.parameters(), 0.01, momentum=0.9)
        return training.Task(net, optimizer, datasets.images(options, (3, side, side), classes))

    return training.main(task, __doc__, arguments, epochs=3, batch_size=8)


if __name__ == "__main__":
    main()
