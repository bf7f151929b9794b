"""Convolutions: forward, backward to the input, backward to the weights."""

import torch
import torch.nn.functional as F

# name, batch, in, out, size, kernel, stride, padding, groups, target
SHAPES = [
    ("3x3 64@56", 8, 64, 64, 56, 3, 1, 1, 1, 1.2),
    ("3x3 128@28", 8, 128, 128, 28, 3, 1, 1, 1, 1.2),
    ("3x3 256@14", 8, 256, 256, 14, 3, 1, 1, 1, 1.2),
    ("3x3 512@7", 8, 512, 512, 7, 3, 1, 1, 1, 0.95),
    ("7x7/2 3->64@224", 8, 3, 64, 224, 7, 2, 3, 1, 0.95),
    ("1x1 256->64@56", 8, 256, 64, 56, 1, 1, 0, 1, 0.9),
    ("depthwise 3x3 128@28", 8, 128, 128, 28, 3, 1, 1, 128, 2.5),
    ("lenet 5x5 1->20@28", 64, 1, 20, 28, 5, 1, 0, 1, 1.5),
]


def backward(x, weight, y, stride, padding, groups, mask):
    return torch.ops.aten.convolution_backward(
        y, x, weight, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups, mask
    )


def rows():
    for name, batch, into, out, size, kernel, stride, padding, groups, target in SHAPES:
        sizes = f"{batch} {into} {out} {size} {kernel} {stride} {padding} {groups}"
        x = torch.rand(batch, into, size, size) * 2 - 1
        weight = torch.rand(out, into // groups, kernel, kernel) * 2 - 1
        y = F.conv2d(x, weight, None, stride, padding, 1, groups)
        back = (x, weight, torch.rand_like(y) * 2 - 1, stride, padding, groups)
        forward = (x, weight, None, stride, padding, 1, groups)
        yield f"conv {name} forward", f"conv {sizes}", lambda a=forward: F.conv2d(*a), target
        for kind, case, mask in [
            ("data", "conv_data", [True, False, False]),
            ("weights", "conv_weights", [False, True, False]),
        ]:
            theirs = lambda a=back, mask=mask: backward(*a, mask)
            yield f"conv {name} {kind}", f"{case} {sizes}", theirs, target
