"""Interpolation, sampling, windows as columns, shuffles."""

import torch
import torch.nn.functional as F

from golden import Golden, numbers

g = Golden("image")


def interpolate(x, mode, align_corners=False, **options):
    """A case of `interpolate`."""
    smooth = mode in ("linear", "bilinear", "bicubic", "trilinear")
    torch_options = {"align_corners": align_corners} if smooth else {}
    if "size" in options:
        torch_options["size"] = options["size"]
    if "scale" in options:
        scale = options["scale"]
        torch_options["scale_factor"] = scale[0] if len(scale) == 1 else scale
    reference = lambda x: F.interpolate(x, mode=mode, **torch_options)
    g.case("interpolate", reference, [numbers(*x)], mode=mode, align_corners=align_corners, **options)


for mode in ["nearest", "nearest-exact", "area"]:
    interpolate((1, 2, 5), mode, size=[8])
    interpolate((1, 2, 5), mode, size=[3])
    interpolate((1, 2, 3, 4), mode, size=[5, 2])
    interpolate((1, 1, 2, 3), mode, scale=[2.0])
    interpolate((1, 1, 5, 4), mode, scale=[0.5, 1.5])
    interpolate((1, 1, 2, 3, 2), mode, size=[3, 2, 4])
for align in [False, True]:
    interpolate((2, 1, 4), "linear", align, size=[7])
    interpolate((1, 2, 7), "linear", align, size=[3])
    interpolate((1, 2, 4), "linear", align, scale=[1.7])
    interpolate((1, 2, 4), "linear", align, size=[1])
    interpolate((1, 2, 3, 4), "bilinear", align, size=[5, 7])
    interpolate((1, 1, 5, 6), "bilinear", align, size=[2, 4])
    interpolate((1, 1, 3, 3), "bilinear", align, scale=[2.0])
    interpolate((1, 1, 4, 5), "bilinear", align, scale=[0.6, 1.3])
    interpolate((1, 1, 1, 3), "bilinear", align, size=[3, 1])
    interpolate((1, 1, 3, 4), "bicubic", align, size=[5, 6])
    interpolate((1, 2, 5, 4), "bicubic", align, size=[3, 2])
    interpolate((1, 1, 3, 3), "bicubic", align, scale=[2.0])
    interpolate((1, 1, 4, 4), "bicubic", align, scale=[1.3, 0.7])
    interpolate((1, 1, 2, 3, 2), "trilinear", align, size=[3, 2, 4])
    interpolate((1, 1, 2, 2, 2), "trilinear", align, scale=[2.0])


def grid_sample(x, out, mode="bilinear", padding_mode="zeros", align_corners=False, reach=1.4, seed=0):
    """A case of `grid_sample`, with places also beyond the images."""
    options = dict(mode=mode, padding_mode=padding_mode, align_corners=align_corners)
    # Places away from the elements, where lines have kinks.
    grid = numbers(x[0], *out, len(out), low=-reach, high=reach, seed=seed) + 1 / 128
    g.case("grid_sample", lambda x, i: F.grid_sample(x, i, **options), [numbers(*x), grid], **options)


for mode in ["bilinear", "nearest", "bicubic"]:
    for padding in ["zeros", "border", "reflection"]:
        for align in [False, True]:
            grid_sample((1, 2, 3, 4), (3, 2), mode, padding, align)
for padding in ["zeros", "border", "reflection"]:
    grid_sample((2, 1, 3, 3), (2, 2), "bilinear", padding, reach=3.0, seed=1)
    grid_sample((1, 1, 2, 3, 3), (2, 2, 1), "bilinear", padding, align_corners=padding == "border")
    grid_sample((1, 1, 2, 3, 3), (2, 1, 2), "nearest", padding, align_corners=padding != "border")
grid_sample((1, 2, 1, 1), (2, 2), "bilinear", "reflection", True)
grid_sample((1, 1, 2, 5), (2, 3), "bicubic", "reflection", False, reach=4.0)
halves = torch.tensor([[[[-0.5, 0.5], [0.0, 0.0], [1.0, -1.0]]]])
g.case(
    "grid_sample",
    lambda x, i: F.grid_sample(x, i, mode="nearest", align_corners=True),
    [numbers(1, 1, 4, 6), halves],
    mode="nearest",
    padding_mode="zeros",
    align_corners=True,
)

for factor, x in [(2, (1, 4, 2, 3)), (3, (1, 9, 1, 2)), (2, (8, 2, 1)), (1, (1, 2, 2, 2)), (2, (2, 1, 4, 1, 2))]:
    g.case("pixel_shuffle", lambda x: F.pixel_shuffle(x, factor), [numbers(*x)], factor=factor)
for factor, x in [(2, (1, 1, 4, 6)), (3, (1, 2, 3, 3)), (2, (2, 2, 4)), (1, (1, 2, 2, 2))]:
    g.case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, factor), [numbers(*x)], factor=factor)
for groups, x in [(2, (1, 4, 2, 2)), (3, (2, 6, 2, 1)), (1, (1, 3, 2, 2))]:
    shuffle = lambda x: x.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)
    assert torch.equal(shuffle(numbers(*x)), torch.channel_shuffle(numbers(*x), groups))
    g.case("channel_shuffle", shuffle, [numbers(*x)], groups=groups)

for x, kernel, options in [
    ((2, 2, 3, 4), [2, 3], {}),
    ((1, 2, 4, 5), [2, 2], dict(stride=[2, 3])),
    ((1, 1, 4, 4), [3, 2], dict(padding=[1, 2])),
    ((1, 1, 5, 5), [2, 2], dict(dilation=[3, 2], padding=[0, 1], stride=[1, 2])),
    ((2, 3, 3), [2, 2], dict(padding=[1, 0])),
    ((1, 2, 3, 3), [1, 1], {}),
]:
    g.case("unfold", lambda x: F.unfold(x, kernel, **options), [numbers(*x)], kernel=kernel, **options)
    columns = F.unfold(numbers(*x), kernel, **options)
    reference = lambda c: F.fold(c, x[-2:], kernel, **options)
    inputs = [numbers(*columns.shape)]
    g.case("fold", reference, inputs, output_size=list(x[-2:]), kernel=kernel, **options)
g.write()
