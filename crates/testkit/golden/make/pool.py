"""Pools."""

import torch
import torch.nn.functional as F

from golden import Golden, distinct, numbers

g = Golden("pool")


def case(function, reference, x, *, make=distinct, **attributes):
    """A case with one input; `reference` takes the attributes as PyTorch calls them."""
    g.case(function, reference, [make(*x)], **attributes)


def max_pool(axes, x, kernel, **options):
    """Cases of `max_pool<axes>d`, and of the one with positions."""
    pool = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[axes]
    case(f"max_pool{axes}d", lambda x: pool(x, kernel, **options), x, kernel=kernel, **options)
    both = lambda x: pool(x, kernel, return_indices=True, **options)
    case(f"max_pool{axes}d_with_indices", both, x, kernel=kernel, **options)


def avg_pool(axes, x, kernel, divisor=None, **options):
    """A case of `avg_pool<axes>d`."""
    pool = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[axes]
    more = {} if divisor is None else {"divisor_override": divisor}
    attributes = dict(options) if divisor is None else dict(options, divisor=divisor)
    reference = lambda x: pool(x, kernel, **options, **more)
    case(f"avg_pool{axes}d", reference, x, make=numbers, kernel=kernel, **attributes)


def lp_pool(axes, x, p, kernel, low=0.25, **options):
    """A case of `lp_pool<axes>d`."""
    pool = {1: F.lp_pool1d, 2: F.lp_pool2d, 3: F.lp_pool3d}[axes]
    torch_options = dict(options)
    if axes == 1 and "stride" in options:
        torch_options["stride"] = options["stride"][0]
    reference = lambda x: pool(x, p, kernel if axes > 1 else kernel[0], **torch_options)
    g.case(f"lp_pool{axes}d", reference, [numbers(*x, low=low)], p=p, kernel=kernel, **options)


def unpool(axes, x, kernel, size=None, grad=True, **options):
    """A case of `max_unpool<axes>d`, with the positions of a pool. PyTorch's gradient is none if
    windows have an element in common."""
    pool = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[axes]
    unpool = {1: F.max_unpool1d, 2: F.max_unpool2d, 3: F.max_unpool3d}[axes]
    values, places = pool(distinct(*x), kernel, return_indices=True, **options)
    attributes = dict(options) if size is None else dict(options, size=size)
    reference = lambda y, i: unpool(y, i, kernel, output_size=size, **options)
    g.case(f"max_unpool{axes}d", reference, [values, places], grad=grad, kernel=kernel, **attributes)


max_pool(1, (2, 2, 6), [2])
max_pool(1, (1, 2, 7), [3], stride=[2])
max_pool(1, (1, 2, 7), [3], stride=[2], ceil_mode=True)
max_pool(1, (1, 2, 8), [3], stride=[2], padding=[1], ceil_mode=True)
max_pool(1, (1, 2, 8), [2], stride=[3], padding=[1], ceil_mode=True)
max_pool(1, (1, 2, 5), [1], stride=[4], ceil_mode=True)
max_pool(1, (1, 2, 6), [2], stride=[1], dilation=[3])
max_pool(1, (1, 1, 9), [3], stride=[3], dilation=[2], padding=[1], ceil_mode=True)
max_pool(1, (2, 6), [4], stride=[1])
max_pool(1, (1, 1, 1), [2], stride=[2], ceil_mode=True)
max_pool(2, (2, 1, 4, 4), [2, 2])
max_pool(2, (1, 2, 5, 4), [3, 2], stride=[2, 1], padding=[1, 0])
max_pool(2, (1, 2, 5, 5), [2, 2], stride=[2, 2], ceil_mode=True)
max_pool(2, (1, 1, 5, 6), [3, 3], stride=[2, 3], padding=[1, 1], ceil_mode=True)
max_pool(2, (1, 1, 6, 6), [2, 3], stride=[1, 2], dilation=[2, 1])
max_pool(2, (1, 1, 6, 7), [2, 3], stride=[2, 2], dilation=[3, 2], padding=[1, 1], ceil_mode=True)
max_pool(2, (2, 4, 4), [3, 3], stride=[1, 1], padding=[1, 1])
max_pool(3, (1, 1, 4, 3, 3), [2, 2, 2])
max_pool(3, (1, 2, 3, 3, 4), [2, 1, 3], stride=[1, 2, 2], padding=[1, 0, 1], ceil_mode=True)
max_pool(3, (1, 4, 4, 3), [2, 2, 2], stride=[1, 1, 1], dilation=[2, 1, 2])

avg_pool(1, (2, 2, 6), [2])
avg_pool(1, (1, 2, 7), [3], stride=[2], padding=[1])
avg_pool(1, (1, 2, 7), [3], stride=[2], padding=[1], count_include_pad=False)
avg_pool(1, (1, 2, 8), [3], stride=[2], padding=[1], ceil_mode=True)
avg_pool(1, (1, 2, 8), [3], stride=[2], padding=[1], ceil_mode=True, count_include_pad=False)
avg_pool(1, (1, 2, 7), [2], stride=[3], padding=[1], ceil_mode=True)
avg_pool(1, (2, 6), [4], stride=[2], ceil_mode=True)
avg_pool(2, (2, 1, 4, 4), [2, 2])
avg_pool(2, (1, 2, 5, 4), [3, 2], stride=[2, 1], padding=[1, 0])
avg_pool(2, (1, 2, 5, 5), [2, 3], stride=[2, 2], padding=[1, 1], ceil_mode=True)
avg_pool(2, (1, 2, 5, 5), [2, 3], stride=[2, 2], padding=[1, 1], ceil_mode=True, count_include_pad=False)
avg_pool(2, (1, 1, 4, 5), [2, 2], stride=[1, 2], padding=[1, 0], divisor=3)
avg_pool(2, (2, 4, 4), [3, 3], stride=[1, 1], padding=[1, 1], count_include_pad=False)
avg_pool(3, (1, 1, 4, 3, 3), [2, 2, 2])
avg_pool(3, (1, 1, 3, 3, 4), [2, 1, 3], stride=[1, 2, 2], padding=[1, 0, 1], ceil_mode=True)
avg_pool(3, (1, 1, 3, 3, 4), [2, 2, 2], stride=[2, 2, 2], padding=[1, 1, 1], count_include_pad=False, ceil_mode=True)
avg_pool(3, (1, 1, 3, 3, 4), [2, 2, 2], stride=[2, 1, 2], padding=[1, 0, 1], divisor=5)

lp_pool(1, (2, 2, 6), 2.0, [2])
lp_pool(1, (1, 2, 7), 3.0, [3], stride=[2])
lp_pool(1, (1, 2, 7), 2.0, [3], stride=[2], ceil_mode=True)
lp_pool(1, (1, 2, 6), 2.0, [3], low=-2.0)
lp_pool(2, (1, 2, 4, 4), 2.0, [2, 2])
lp_pool(2, (1, 2, 5, 4), 1.5, [2, 3], stride=[2, 1])
lp_pool(2, (1, 1, 5, 5), 3.0, [2, 2], ceil_mode=True)
lp_pool(3, (1, 1, 3, 4, 2), 2.0, [2, 2, 2])
lp_pool(3, (1, 1, 3, 4, 3), 4.0, [1, 2, 2], stride=[1, 2, 1])

for axes, x, sizes in [
    (1, (1, 2, 5), [2]),
    (1, (1, 2, 5), [3]),
    (1, (2, 3), [5]),
    (1, (1, 2, 6), [1]),
    (2, (1, 2, 4, 5), [2, 3]),
    (2, (1, 1, 3, 4), [5, 2]),
    (2, (2, 3, 3), [1, 1]),
    (3, (1, 1, 3, 4, 5), [2, 2, 3]),
    (3, (1, 2, 2, 3, 2), [1, 4, 1]),
]:
    avg = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}[axes]
    most = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}[axes]
    case(f"adaptive_avg_pool{axes}d", lambda x: avg(x, sizes), x, make=numbers, sizes=sizes)
    case(f"adaptive_max_pool{axes}d", lambda x: most(x, sizes), x, sizes=sizes)

for x in [(2, 3, 4), (2, 2, 3, 3), (1, 2, 2, 2, 3)]:
    axes = tuple(range(2, len(x)))
    case("global_avg_pool", lambda x: x.mean(axes, keepdim=True), x, make=numbers)
    case("global_max_pool", lambda x: torch.amax(x, axes, keepdim=True), x)

unpool(1, (1, 2, 6), [2])
unpool(1, (1, 2, 7), [3], stride=[2], grad=False)
unpool(1, (1, 2, 7), [2], size=[7])
unpool(2, (1, 2, 4, 4), [2, 2])
unpool(2, (1, 1, 5, 5), [2, 2], size=[5, 5])
unpool(2, (1, 1, 6, 4), [2, 2], stride=[2, 2], padding=[1, 1])
unpool(3, (1, 1, 2, 4, 4), [2, 2, 2])

# Not a number spreads.
odd = distinct(1, 1, 6)
odd[0, 0, 2] = float("nan")
g.case("max_pool1d", lambda x: F.max_pool1d(x, 2, 1), [odd], grad=False, kernel=[2], stride=[1])
low = torch.full((1, 1, 4), float("-inf"))
low[0, 0, 3] = -1.0
g.case("max_pool1d", lambda x: F.max_pool1d(x, 2, 1, 1), [low], grad=False, kernel=[2], stride=[1], padding=[1])
g.write()
