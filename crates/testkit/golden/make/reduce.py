"""Reductions, scans and everything that sorts or counts."""

import math

import numpy as np
import torch

from golden import Golden, distinct, ints, numbers

g = Golden("reduce")

# Sizes, axes and whether the axes stay.
FORMS = [
    ((), [], False),
    ((), [], True),
    ((5,), [0], False),
    ((5,), [], False),
    ((1,), [0], True),
    ((2, 3), [0], False),
    ((2, 3), [1], True),
    ((2, 3), [], True),
    ((2, 3), [-1, 0], False),
    ((4, 1), [1], False),
    ((2, 3, 4), [1], False),
    ((2, 3, 4), [2, 0], False),
    ((2, 3, 4), [-2, -1], True),
    ((2, 3, 4), [], False),
    ((3, 1, 5), [0, 2], True),
    ((2, 2, 3, 2), [1, 3], False),
    ((2, 2, 3, 2), [0, 2, 3], True),
    ((2, 2, 3, 2), [3, 1, 0], False),
    ((2, 1, 2, 1, 3), [2, 4], False),
    ((0, 3), [1], False),
    ((33,), [0], False),
]


def truths(*dims):
    """True and false, mixed; also without axes."""
    return ints(*dims, high=2) == 1


def zeroed(x, every=3):
    """The numbers with every third one zero."""
    flat = x.clone().reshape(-1)
    flat[::every] = 0
    return flat.reshape(x.shape)


def lanes(x, axes):
    """The reduced axes merged into one, at the end."""
    axes = [a % x.dim() for a in axes] if axes else list(range(x.dim()))
    kept = [a for a in range(x.dim()) if a not in axes]
    return x.permute(kept + sorted(axes)).reshape([x.shape[a] for a in kept] + [math.prod(x.shape[a] for a in axes)])


def kept_dims(x, axes, keepdims, lead=()):
    """The sizes of the result."""
    axes = [a % x.dim() for a in axes] if axes else list(range(x.dim()))
    return list(lead) + [1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes]


def dim(axes):
    return tuple(axes) if axes else None


def reduction(name, reference, make=numbers, forms=FORMS, grad=True, **attributes):
    for dims, axes, keepdims in forms:
        g.case(
            name,
            lambda x: reference(x, axes, keepdims),
            [make(*dims)],
            grad=grad,
            axes=axes,
            keepdims=keepdims,
            **attributes,
        )


full_forms = [form for form in FORMS if 0 not in form[0]]
empty = [((0,), [0], False), ((2, 0), [1], True), ((0, 3), [0], False)]


def product(x, axes, keepdims):
    return lanes(x, axes).prod(-1).reshape(kept_dims(x, axes, keepdims))


reduction("sum", lambda x, a, k: torch.sum(x, dim(a), k), forms=FORMS + empty)
reduction("sum", lambda x, a, k: torch.sum(x, dim(a), k), make=truths, forms=FORMS[5:8])
reduction("sum", lambda x, a, k: torch.sum(x, dim(a), k), make=ints, forms=FORMS[5:8])
reduction("mean", lambda x, a, k: torch.mean(x, dim(a), k))
reduction("mean", lambda x, a, k: torch.mean(x.float(), dim(a), k), make=ints, forms=FORMS[5:8])
reduction("prod", product, forms=FORMS + empty)
reduction("prod", product, make=lambda *d: zeroed(numbers(*d)), forms=full_forms)
reduction("prod", product, make=lambda *d: zeroed(numbers(*d), 7), forms=full_forms)
reduction("prod", product, make=ints, forms=FORMS[5:8])
reduction("max", lambda x, a, k: torch.amax(x, a, k), forms=full_forms)
reduction("max", lambda x, a, k: torch.amax(x, a, k), make=lambda *d: torch.round(numbers(*d)), forms=full_forms)
reduction("min", lambda x, a, k: torch.amin(x, a, k), forms=full_forms)
reduction("min", lambda x, a, k: torch.amin(x, a, k), make=lambda *d: torch.round(numbers(*d)), forms=full_forms)
reduction("max", lambda x, a, k: torch.amax(x, a, k), make=ints, forms=FORMS[5:8])
with_nan = torch.tensor([[1.0, math.nan, 2.0], [3.0, 4.0, -math.inf]])
for name, f in [("max", torch.amax), ("min", torch.amin)]:
    g.case(name, lambda x: f(x, 1), [with_nan], grad=False, axes=[1], keepdims=False)


def truth(f):
    return lambda x, a, k: torch.from_numpy(np.asarray(f(x.numpy(), axis=dim(a), keepdims=k)))


for name, f in [("any", np.any), ("all", np.all)]:
    reduction(name, truth(f), make=truths, forms=FORMS + empty, grad=False)
    reduction(name, truth(f), make=lambda *d: zeroed(numbers(*d)), forms=FORMS[5:12], grad=False)
    reduction(name, truth(f), make=lambda *d: ints(*d, high=2), forms=FORMS[5:12], grad=False)

reduction("count_nonzero", truth(np.count_nonzero), make=truths, forms=FORMS + empty, grad=False)
reduction("count_nonzero", truth(np.count_nonzero), make=lambda *d: zeroed(numbers(*d)), forms=FORMS, grad=False)

for name, f in [("argmax", np.argmax), ("argmin", np.argmin)]:
    for dims, axis, keepdims in [((5,), 0, False), ((2, 3), 1, True), ((2, 3), -2, False), ((3, 4, 2), 1, False)]:
        for x in [torch.round(numbers(*dims)), ints(*dims, high=3)]:
            y = torch.from_numpy(np.asarray(f(x.numpy(), axis=axis, keepdims=keepdims)))
            g.case(name, lambda x: y, [x], grad=False, axis=axis, keepdims=keepdims)
    y = torch.from_numpy(f(with_nan.numpy(), axis=1))
    g.case(name, lambda x: y, [with_nan], grad=False, axis=1, keepdims=False)

for name, f in [("var", torch.var), ("std", torch.std)]:
    for correction in [0.0, 1.0, 1.5]:
        # Too few elements give NaN or infinity; one element without correction is a case of its own.
        many = [form for form in full_forms if lanes(numbers(*form[0]), form[1]).shape[-1] > 2]
        reduction(
            name,
            lambda x, a, k: f(x, dim(a), correction=correction, keepdim=k),
            forms=many,
            correction=correction,
        )
    single = [((1,), [0], True), ((4, 1), [1], False)]
    reduction(name, lambda x, a, k: f(x, dim(a), correction=0, keepdim=k), forms=single, correction=0.0)
    reduction(
        name,
        lambda x, a, k: f(x, dim(a), correction=0, keepdim=k),
        make=lambda *d: torch.full(d, 1.5),
        forms=FORMS[5:12],
        correction=0.0,
    )
    # Far from zero, where one pass over the elements would lose all digits.
    reduction(
        name,
        lambda x, a, k: f(x, dim(a), correction=1, keepdim=k),
        make=lambda *d: numbers(*d) + 4096,
        forms=FORMS[10:14],
        correction=1.0,
    )

reduction("logsumexp", lambda x, a, k: torch.logsumexp(x, tuple(range(x.dim())) if not a else a, k))
infinite = torch.tensor([[1.0, -math.inf, 2.0], [-math.inf, -math.inf, -math.inf], [900.0, 901.0, -900.0]])
for axis in [0, 1]:
    # PyTorch's gradient of a lane that is -inf throughout is NaN.
    g.case("logsumexp", lambda x: torch.logsumexp(x, axis), [infinite], grad=axis == 0, axes=[axis], keepdims=False)
g.case("logsumexp", lambda x: torch.logsumexp(x, 1), [infinite[::2]], axes=[1], keepdims=False)

for p in [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, -1.0, -2.0, "inf", "-inf"]:
    forms = FORMS[1:4] + FORMS[5:18] if p in (2.0, 1.0, 3.0) else FORMS[5:13:2]
    reduction(
        "norm",
        lambda x, a, k: torch.linalg.vector_norm(x, float(p), dim(a), k),
        make=lambda *d: numbers(*d, low=0.25) * (1 - 2 * (torch.arange(math.prod(d)).reshape(d) % 2)),
        forms=forms,
        p=p,
    )
for p in [0.0, 1.0, 1.5, 2.0, 3.0]:
    for x in [torch.zeros(2, 3), zeroed(numbers(2, 3))]:
        g.case(
            "norm", lambda x: torch.linalg.vector_norm(x, p, 1), [x], axes=[1], keepdims=False, p=p
        )


def quantile(x, q, axes, keepdims, method):
    lead = torch.as_tensor(q).shape
    found = torch.quantile(lanes(x, axes), torch.as_tensor(q), dim=-1, interpolation=method)
    return found.reshape(kept_dims(x, axes, keepdims, lead))


reduction("median", lambda x, a, k: quantile(x, 0.5, a, k, "linear"), make=distinct, forms=full_forms)
y = torch.from_numpy(np.median(with_nan.numpy(), axis=1))
g.case("median", lambda x: y, [with_nan], grad=False, axes=[1], keepdims=False)
many_infinite = torch.tensor([[1.0, math.inf, math.inf], [-math.inf, -math.inf, 2.0]])
y = torch.from_numpy(np.median(many_infinite.numpy(), axis=1))
g.case("median", lambda x: y, [many_infinite], grad=False, axes=[1], keepdims=False)
for method in ["linear", "lower", "higher", "midpoint", "nearest"]:
    for q, form in zip([0.0, 0.25, 0.4, 0.5, 0.75, 0.9, 1.0], full_forms[1:14:2] ):
        reduction(
            "quantile", lambda x, a, k: quantile(x, q, a, k, method), make=distinct, forms=[form], q=q, method=method
        )
    reduction(
        "quantiles",
        lambda x, a, k: quantile(x, [0.0, 0.1, 0.5, 0.625, 1.0], a, k, method),
        make=distinct,
        forms=full_forms[5:14:2],
        q=[0.0, 0.1, 0.5, 0.625, 1.0],
        method=method,
    )
for method in (
    "inverted_cdf averaged_inverted_cdf interpolated_inverted_cdf hazen weibull "
    "median_unbiased normal_unbiased linear nearest midpoint"
).split():
    qs = [0.0, 0.05, 0.25, 0.3, 0.5, 0.77, 0.95, 1.0]
    for dims in [(5,), (8,), (1,)]:
        x = distinct(*dims)
        y = torch.from_numpy(np.quantile(x.numpy(), qs, method=method))
        g.case("quantiles", lambda x: y, [x], grad=False, axes=[], keepdims=False, q=qs, method=method)

# Scans.
LANES = [((5,), 0), ((2, 3), 0), ((2, 3), -1), ((2, 4, 3), 1), ((1, 3), 0), ((0,), 0), ((3, 0), 1)]
for dims, axis in LANES:
    g.case("cumsum", lambda x: torch.cumsum(x, axis), [numbers(*dims)], axis=axis)
    g.case("cumprod", lambda x: torch.cumprod(x, axis), [numbers(*dims)], axis=axis)
    g.case("cumprod", lambda x: torch.cumprod(x, axis), [zeroed(numbers(*dims))], axis=axis)
    g.case("logcumsumexp", lambda x: torch.logcumsumexp(x, axis), [numbers(*dims)], axis=axis)
    if 0 in dims:
        continue
    for name, f in [("cummax", torch.cummax), ("cummin", torch.cummin)]:
        g.case(name, lambda x: tuple(f(x, axis)), [torch.round(numbers(*dims))], axis=axis)
        g.case(name, lambda x: tuple(f(x, axis)), [distinct(*dims)], axis=axis)

    def recurrence(a, b):
        h, steps = 0, []
        for factor, term in zip(a.unbind(axis), b.unbind(axis)):
            h = factor * h + term
            steps.append(h)
        return torch.stack(steps, axis)

    g.case("linear_scan", recurrence, [numbers(*dims), numbers(*dims, seed=1)], axis=axis)
g.case("cumsum", lambda x: torch.cumsum(x, 0), [truths(5)], axis=0)
g.case("cumprod", lambda x: torch.cumprod(x, 0), [ints(5, low=1)], axis=0)
for f, name in [(torch.cummax, "cummax"), (torch.cummin, "cummin")]:
    g.case(name, lambda x: tuple(f(x, 1)), [with_nan], grad=False, axis=1)
lowest = torch.tensor([-math.inf, -math.inf, 1.0, -math.inf, 800.0, 2.0])
g.case("logcumsumexp", lambda x: torch.logcumsumexp(x, 0), [lowest], grad=False, axis=0)

# Order and counting.
for dims, axis in [((6,), 0), ((3, 4), 0), ((3, 4), -1), ((2, 5, 3), 1), ((0,), 0)]:
    for descending in [False, True]:
        for x in [distinct(*dims), torch.round(numbers(*dims)), ints(*dims, high=4)]:
            g.case(
                "sort",
                lambda x: tuple(torch.sort(x, dim=axis, descending=descending, stable=True)),
                [x],
                axis=axis,
                descending=descending,
            )
            g.case(
                "argsort",
                lambda x: torch.argsort(x, dim=axis, descending=descending, stable=True),
                [x],
                grad=False,
                axis=axis,
                descending=descending,
            )
        for k in [0, 1, 3]:
            if k <= dims[axis]:
                g.case(
                    "topk",
                    lambda x: tuple(torch.topk(x, k, axis, largest=descending)),
                    [distinct(*dims)],
                    k=k,
                    axis=axis,
                    largest=descending,
                )
for descending in [False, True]:
    g.case(
        "sort",
        lambda x: tuple(torch.sort(x, dim=1, descending=descending, stable=True)),
        [with_nan],
        grad=False,
        axis=1,
        descending=descending,
    )
for x in [torch.round(numbers(3, 4)), ints(7, high=4), truths(5), torch.tensor(2.5), torch.zeros(0)]:
    values, inverse, counts = np.unique(x.numpy(), return_inverse=True, return_counts=True)
    found = [torch.from_numpy(np.asarray(y)) for y in (values, inverse.reshape(x.shape), counts)]
    g.case("unique", lambda x: tuple(found), [x], grad=False)
for right in [False, True]:
    row = torch.sort(torch.round(numbers(7) * 2))[0]
    rows = torch.sort(numbers(2, 3, 5))[0]
    for sorted_, values in [(row, numbers(2, 3)), (row, row), (row, torch.tensor(0.25)), (rows, numbers(2, 3, 4))]:
        g.case(
            "searchsorted",
            lambda s, v: torch.searchsorted(s, v, right=right),
            [sorted_, values],
            grad=False,
            right=right,
        )
for x, least in [(ints(9, high=5), 0), (ints(9, high=5), 8), (ints(0), 3), (ints(4, low=7, high=8), 1)]:
    g.case("bincount", lambda x: torch.bincount(x, minlength=least), [x], minlength=least)
    size = max([least] + [int(n) + 1 for n in x])
    g.case(
        "bincount",
        lambda x, w: torch.zeros(size).index_add(0, x, w),
        [x, numbers(len(x))],
        minlength=least,
    )
for x, bins, low, high in [
    (numbers(20), 5, -1.0, 1.5),
    (numbers(4, 5), 3, -2.0, 2.0),
    (ints(12).double(), 10, 0.0, 10.0),
    (torch.tensor([0.0, 0.5, 1.0, 2.0, math.inf]), 4, 0.0, 2.0),
]:
    counts, ends = np.histogram(x.numpy(), bins, (low, high))
    y = (torch.from_numpy(counts), torch.from_numpy(ends))
    g.case("histogram", lambda x: y, [x], grad=False, bins=bins, low=low, high=high)
g.write()
