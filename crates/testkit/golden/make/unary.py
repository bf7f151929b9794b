"""Functions of one number, against PyTorch and mpmath."""

import mpmath as mp
import torch
import torch.nn.functional as F

from golden import Golden, bools, ints, numbers, weights

g = Golden("unary")

# Where functions are defined, as the ends of a range.
REAL, POSITIVE, UNIT, ABOVE_ONE = (-3.0, 3.0), (0.125, 6.0), (-0.96875, 0.96875), (1.125, 6.0)
DIMS = [(2, 3), (), (7,), (2, 1, 4)]


def check(function, reference, low=-3.0, high=3.0, grad=True, extra=(), **attributes):
    """Cases of several shapes, and one with the numbers at which something changes."""
    for seed, dims in enumerate(DIMS):
        x = numbers(*dims, seed=seed, low=low, high=high)
        g.case(function, reference, [x], grad=grad, **attributes)
    if extra:
        g.case(function, reference, [torch.tensor(extra)], grad=grad, **attributes)


for name, reference, ends in [
    ("neg", torch.neg, REAL),
    ("sqrt", torch.sqrt, POSITIVE),
    ("rsqrt", torch.rsqrt, POSITIVE),
    ("square", torch.square, REAL),
    ("exp", torch.exp, REAL),
    ("expm1", torch.expm1, REAL),
    ("exp2", torch.exp2, REAL),
    ("log", torch.log, POSITIVE),
    ("log1p", torch.log1p, (-0.9375, 4.0)),
    ("log2", torch.log2, POSITIVE),
    ("log10", torch.log10, POSITIVE),
    ("sin", torch.sin, REAL),
    ("cos", torch.cos, REAL),
    ("tan", torch.tan, (-1.25, 1.25)),
    ("asin", torch.asin, UNIT),
    ("acos", torch.acos, UNIT),
    ("atan", torch.atan, REAL),
    ("sinh", torch.sinh, REAL),
    ("cosh", torch.cosh, REAL),
    ("tanh", torch.tanh, REAL),
    ("asinh", torch.asinh, REAL),
    ("acosh", torch.acosh, ABOVE_ONE),
    ("atanh", torch.atanh, UNIT),
    ("erf", torch.erf, REAL),
    ("erfc", torch.erfc, REAL),
    ("lgamma", torch.lgamma, POSITIVE),
    ("sigmoid", torch.sigmoid, (-9.0, 9.0)),
    ("log_sigmoid", F.logsigmoid, (-9.0, 9.0)),
    ("softsign", F.softsign, REAL),
    ("silu", F.silu, (-9.0, 9.0)),
    ("mish", F.mish, (-9.0, 9.0)),
    ("tanh_shrink", F.tanhshrink, REAL),
    ("reciprocal", torch.reciprocal, POSITIVE),
]:
    check(name, reference, *ends)

# PyTorch's gradients at the kinks.
KINKS = [-6.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 7.0]
check("abs", torch.abs, extra=KINKS)
check("sign", torch.sign, extra=KINKS)
check("relu", F.relu, extra=KINKS)
check("relu6", F.relu6, 0, 8, extra=KINKS)
check("hard_sigmoid", F.hardsigmoid, -5, 5, extra=KINKS)
check("hard_swish", F.hardswish, -5, 5, extra=KINKS)
check("selu", F.selu, extra=KINKS)
check("floor", torch.floor, extra=KINKS)
check("ceil", torch.ceil, extra=KINKS)
check("round", torch.round, extra=KINKS + [1.5, 2.5, -1.5, -2.5])
check("trunc", torch.trunc, extra=KINKS)
for low, high in [(-1.0, 1.0), (-0.5, 3.0)]:
    check("hard_tanh", lambda x: F.hardtanh(x, low, high), extra=KINKS, low_bound=low, high_bound=high)
for slope in [0.01, 0.5, -0.25]:
    check("leaky_relu", lambda x: F.leaky_relu(x, slope), extra=KINKS, slope=slope)
for alpha in [1.0, 0.5, 2.0]:
    check("elu", lambda x: F.elu(x, alpha), extra=KINKS, alpha=alpha)
    check("celu", lambda x: F.celu(x, alpha), extra=KINKS, alpha=alpha)
for beta, limit in [(1.0, 20.0), (2.0, 3.0), (0.5, 20.0)]:
    reference = lambda x: F.softplus(x, beta, limit)
    check("softplus", reference, -6, 6, beta=beta, threshold=limit)
for tanh_form in [False, True]:
    form = "tanh" if tanh_form else "none"
    check("gelu", lambda x: F.gelu(x, approximate=form), -6, 6, extra=KINKS, tanh_form=int(tanh_form))
for width in [0.5, 1.0]:
    check("hard_shrink", lambda x: F.hardshrink(x, width), extra=KINKS, width=width)
    check("soft_shrink", lambda x: F.softshrink(x, width), extra=KINKS, width=width)
for limit, value in [(0.5, -3.0), (-1.0, 0.25)]:
    reference = lambda x: F.threshold(x, limit, value)
    check("threshold", reference, extra=KINKS, threshold=limit, value=value)
for low, high in [(-1.0, 1.0), (None, 0.5), (-0.5, None), (1.0, -1.0)]:
    check("clip", lambda x: torch.clamp(x, low, high), extra=KINKS, low_bound=low, high_bound=high)
g.case("clip", lambda x: torch.clamp(x, -2, 3), [ints(3, 4, low=-9, high=9)], low_bound=-2, high_bound=3)
# PyTorch has only ten digits of these.
for n in range(4):
    for seed, dims in enumerate(DIMS):
        x = numbers(*dims, seed=seed, low=0.125, high=6.0)
        psi = lambda order: torch.tensor([float(mp.psi(order, v)) for v in x.ravel().tolist()])
        value, slope = psi(n).reshape(dims), psi(n + 1).reshape(dims)
        slope = slope * weights(0, slope)
        g.add("polygamma", [x], [value], [slope], {"n": n})
        if n == 0:
            g.add("digamma", [x], [value], [slope], {})

for axis, dims in [(0, (4, 3)), (1, (2, 6)), (-1, (2, 2, 4)), (-2, (1, 2, 3))]:
    g.case("glu", lambda x: F.glu(x, axis), [numbers(*dims)], axis=axis)
for dims, n_weights in [((4,), 1), ((2, 3), 3), ((2, 3), 1), ((2, 3, 4), 3), ((1, 2, 3, 2), 2)]:
    g.case("prelu", F.prelu, [numbers(*dims), numbers(n_weights, seed=1)])
g.case("prelu", F.prelu, [torch.tensor([-1.0, 0.0, 1.0]), torch.tensor([0.25])])

INF, NAN = float("inf"), float("nan")
special = torch.tensor([1.5, NAN, INF, -INF, 0.0, -2.0])
for nan, posinf, neginf in [(0.0, 8.0, -8.0), (1.5, 100.0, -3.0), (0.25, 0.0, 0.0)]:
    reference = lambda x: torch.nan_to_num(x, nan, posinf, neginf)
    g.case("nan_to_num", reference, [special], nan=nan, posinf=posinf, neginf=neginf)
g.case("nan_to_num", lambda x: torch.nan_to_num(x), [ints(5)], nan=0.0)
for name, reference in [("isnan", torch.isnan), ("isinf", torch.isinf), ("isfinite", torch.isfinite)]:
    for x in [special, special.reshape(2, 3), torch.tensor(NAN), ints(4)]:
        g.case(name, reference, [x], grad=False)
for x in [special.nan_to_num(0.0), bools(2, 3), ints(4, high=2), torch.tensor(0.0)]:
    g.case("logical_not", torch.logical_not, [x], grad=False)
for x in [ints(6, low=-9, high=9), bools(5), ints(2, 3, low=-(2**62), high=2**62)]:
    g.case("bitwise_not", torch.bitwise_not, [x])
for x in [ints(6, low=-9, high=9), ints(2, 2)]:
    for name, reference in [("abs", torch.abs), ("neg", torch.neg), ("sign", torch.sign)]:
        g.case(name, reference, [x])
    g.case("square", torch.square, [x])
g.write()
