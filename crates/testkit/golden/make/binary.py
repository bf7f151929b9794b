"""Functions of two numbers and more, against PyTorch and NumPy."""

import numpy as np
import torch

from golden import Golden, bools, distinct, ints, numbers

g = Golden("binary")
DIMS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (4,)), ((3, 1), (1, 2)), ((2, 1, 2), (3, 1))]


def check(function, reference, make=numbers, make_second=None):
    """Cases of several pairs of shapes."""
    for a, b in DIMS:
        g.case(function, reference, [make(*a), (make_second or make)(*b, seed=9)])


def positive(*dims, seed=0):
    return numbers(*dims, seed=seed, low=0.125, high=3.0)


def whole(*dims, seed=0):
    return ints(*dims, low=-9, high=9, seed=seed)


def divisor(*dims, seed=0):
    x = whole(*dims, seed=seed)
    return torch.where(x == 0, 4, x)


def bits(*dims, seed=0):
    return ints(*dims, low=-(2**62), high=2**62, seed=seed)


def places(*dims, seed=0):
    return ints(*dims, low=0, high=63, seed=seed)


check("add", torch.add)
check("sub", torch.sub)
check("mul", torch.mul)
check("div", torch.div, numbers, positive)
check("pow", torch.pow, positive, numbers)
check("remainder", torch.remainder, numbers, positive)
check("maximum", torch.maximum)
check("minimum", torch.minimum)
check("fmax", torch.fmax)
check("fmin", torch.fmin)
check("atan2", torch.atan2, distinct)
check("hypot", torch.hypot, distinct)
check("copysign", torch.copysign)
check("logaddexp", torch.logaddexp)
for function in ["add", "sub", "mul", "remainder", "maximum", "minimum", "fmax", "fmin"]:
    check(function, getattr(torch, function), whole, divisor)
check("pow", torch.pow, whole, lambda *dims, seed=0: ints(*dims, high=12, seed=seed))
for make, make_second in [(numbers, positive), (whole, divisor)]:
    for a, b in DIMS:
        a, b = make(*a), make_second(*b, seed=9)
        floor = torch.from_numpy(np.asarray(np.floor_divide(a.numpy(), b.numpy())))
        g.add("floor_div", [a, b], [floor], [None, None], {})

# Ties, zeros, and signs, where gradients have kinks.
ties_a = torch.tensor([1.0, 2.0, -1.0, 0.0, 0.5, -2.0])
ties_b = torch.tensor([1.0, 1.0, -1.0, 2.0, 0.5, -3.0])
for function in ["maximum", "minimum", "fmax", "fmin", "copysign", "remainder"]:
    g.case(function, getattr(torch, function), [ties_a, ties_b])
bases, exponents = [0.0, 0.0, 0.0, 2.0, -2.0], [0.0, 2.0, 1.0, 0.0, 3.0]
g.case(
    "pow", lambda a: torch.pow(a, torch.tensor(exponents)), [torch.tensor(bases)], powers=exponents
)
nan = torch.tensor([float("nan"), 1.0, float("nan")])
other = torch.tensor([1.0, float("nan"), float("nan")])
for function in ["maximum", "minimum", "fmax", "fmin"]:
    g.case(function, getattr(torch, function), [nan, other], grad=False)

for function in ["eq", "ne", "lt", "le", "gt", "ge"]:
    check(function, getattr(torch, function), lambda *dims, seed=0: numbers(*dims, seed=seed).round())
    check(function, getattr(torch, function), whole)
for function in ["logical_and", "logical_or", "logical_xor"]:
    check(function, getattr(torch, function), bools)
    check(function, getattr(torch, function), lambda *dims, seed=0: ints(*dims, high=2, seed=seed))
    check(function, getattr(torch, function), lambda *dims, seed=0: numbers(*dims, seed=seed).round())
for function in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    check(function, getattr(torch, function), bits)
    check(function, getattr(torch, function), bools)
check("left_shift", torch.bitwise_left_shift, whole, places)
check("right_shift", torch.bitwise_right_shift, bits, places)

for a, b, w in [((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), ()), ((4,), (4,), (4,)), ((2, 1), (1, 3), (3,))]:
    weight = numbers(*w, seed=2, low=-1.0, high=2.0)
    g.case("lerp", torch.lerp, [*torch.broadcast_tensors(numbers(*a), numbers(*b, seed=1)), weight])
    condition = bools(*w, seed=3)
    g.case("where", torch.where, [condition, numbers(*a), numbers(*b, seed=1)])
    g.case("where", torch.where, [condition, whole(*a), whole(*b, seed=1)])
g.write()
