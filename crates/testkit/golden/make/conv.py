"""Convolutions and transposed convolutions."""

import torch.nn.functional as F

from golden import Golden, numbers

g = Golden("conv")


def conv(axes, x, weight, bias=False, **options):
    """A case of `conv<axes>d`."""
    reference = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[axes]
    torch_options = dict(options)
    if torch_options.pop("same", False):
        torch_options["padding"] = "same"
    inputs = [numbers(*x), numbers(*weight, seed=1), numbers(weight[0], seed=2) if bias else None]
    g.case(f"conv{axes}d", lambda x, w, b: reference(x, w, b, **torch_options), inputs, **options)


def transposed(axes, x, weight, bias=False, **options):
    """A case of `conv_transpose<axes>d`."""
    reference = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[axes]
    channels = weight[1] * options.get("groups", 1)
    inputs = [numbers(*x), numbers(*weight, seed=1), numbers(channels, seed=2) if bias else None]
    g.case(f"conv_transpose{axes}d", lambda x, w, b: reference(x, w, b, **options), inputs, **options)


# One axis.
conv(1, (2, 2, 5), (3, 2, 3))
conv(1, (2, 2, 5), (3, 2, 3), bias=True)
conv(1, (1, 2, 7), (2, 2, 3), stride=[2])
conv(1, (1, 2, 8), (2, 2, 3), stride=[3], padding=[2], bias=True)
conv(1, (1, 2, 7), (2, 2, 3), dilation=[2], padding=[1])
conv(1, (2, 4, 6), (4, 2, 3), groups=2, bias=True)
conv(1, (1, 3, 6), (6, 1, 2), groups=3, stride=[2])
conv(1, (1, 2, 6), (2, 2, 3), same=True)
conv(1, (1, 2, 6), (2, 2, 4), same=True, bias=True)
conv(1, (1, 1, 7), (2, 1, 4), same=True, dilation=[3])
conv(1, (2, 5), (3, 2, 2), bias=True)
conv(1, (1, 1, 1), (2, 1, 1), padding=[3])
conv(1, (1, 2, 3), (2, 2, 5), padding=[1])
# Two axes.
conv(2, (2, 2, 4, 4), (2, 2, 3, 3))
conv(2, (2, 2, 4, 5), (3, 2, 2, 3), bias=True)
conv(2, (1, 2, 5, 6), (2, 2, 3, 2), stride=[2, 1])
conv(2, (1, 2, 5, 6), (2, 2, 3, 2), stride=[1, 3], padding=[2, 0], bias=True)
conv(2, (1, 1, 6, 6), (2, 1, 2, 3), dilation=[3, 2])
conv(2, (1, 1, 6, 5), (2, 1, 2, 3), dilation=[1, 2], stride=[2, 2], padding=[1, 1])
conv(2, (2, 4, 4, 3), (2, 2, 2, 2), groups=2)
conv(2, (1, 3, 4, 4), (3, 1, 3, 3), groups=3, padding=[1, 1], bias=True)
conv(2, (1, 3, 4, 4), (6, 1, 2, 2), groups=3, stride=[2, 2])
conv(2, (1, 2, 4, 5), (2, 2, 3, 3), same=True)
conv(2, (1, 1, 4, 5), (2, 1, 2, 4), same=True, bias=True)
conv(2, (1, 2, 5, 5), (2, 1, 2, 3), same=True, dilation=[3, 2], groups=2)
conv(2, (2, 4, 4), (2, 2, 3, 3), padding=[1, 1])
conv(2, (2, 3, 3, 3), (4, 3, 1, 1), bias=True)
conv(2, (1, 3, 3, 4), (2, 3, 1, 1), stride=[2, 2])
conv(2, (1, 1, 3, 3), (2, 1, 3, 3))
# Three axes.
conv(3, (1, 2, 3, 3, 3), (2, 2, 2, 2, 2))
conv(3, (1, 1, 3, 4, 3), (2, 1, 2, 1, 3), bias=True, padding=[1, 0, 1])
conv(3, (1, 1, 4, 4, 4), (1, 1, 2, 3, 2), stride=[2, 1, 3])
conv(3, (1, 2, 3, 3, 4), (2, 1, 2, 2, 2), groups=2, dilation=[2, 1, 2], bias=True)
conv(3, (1, 1, 3, 2, 3), (2, 1, 3, 2, 2), same=True)
conv(3, (1, 2, 2, 3), (2, 1, 2, 2, 2), padding=[1, 1, 1])
# Transposed.
transposed(1, (2, 2, 3), (2, 3, 3))
transposed(1, (1, 2, 3), (2, 2, 3), stride=[2], bias=True)
transposed(1, (1, 2, 3), (2, 2, 3), stride=[3], padding=[1], output_padding=[2])
transposed(1, (1, 2, 4), (2, 2, 3), dilation=[2], padding=[2])
transposed(1, (2, 4, 3), (4, 2, 2), groups=2, stride=[2], bias=True)
transposed(1, (2, 3), (2, 2, 3), padding=[1])
transposed(1, (1, 1, 3), (1, 2, 2), dilation=[3], output_padding=[2])
transposed(1, (1, 1, 3), (1, 2, 2), dilation=[4], padding=[1], output_padding=[3], stride=[2])
transposed(1, (1, 1, 3), (1, 1, 3), dilation=[3], padding=[3], output_padding=[2])
transposed(2, (1, 2, 3, 3), (2, 2, 3, 2))
transposed(2, (1, 2, 2, 3), (2, 3, 3, 3), stride=[2, 2], padding=[1, 1], output_padding=[1, 0], bias=True)
transposed(2, (1, 2, 3, 2), (2, 1, 2, 3), stride=[1, 3], padding=[0, 1], dilation=[2, 1])
transposed(2, (1, 4, 2, 2), (4, 2, 2, 2), groups=2, bias=True)
transposed(2, (1, 3, 2, 3), (3, 1, 3, 3), groups=3, stride=[2, 1], padding=[1, 1])
transposed(2, (2, 2, 3), (2, 2, 2, 2), stride=[2, 2])
transposed(3, (1, 2, 2, 2, 2), (2, 2, 2, 2, 2))
transposed(3, (1, 1, 2, 2, 3), (1, 2, 2, 1, 3), stride=[2, 1, 2], padding=[0, 0, 1], output_padding=[1, 0, 1], bias=True)
transposed(3, (1, 2, 2, 2, 2), (2, 1, 2, 2, 1), groups=2, dilation=[1, 2, 1])
g.write()
