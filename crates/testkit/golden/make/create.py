"""Tensors made from sizes and numbers."""

import torch
import torch.nn.functional as F

from golden import Golden, ints, numbers

g = Golden("create")
DTYPES = {"f32": torch.float32, "i64": torch.int64}

for dtype, kind in DTYPES.items():
    for dims in [[], [3], [2, 0], [2, 3]]:
        g.case("full", lambda: torch.full(dims, 3, dtype=kind), [], dims=dims, value=3.0, dtype=dtype)
        g.case("zeros", lambda: torch.zeros(dims, dtype=kind), [], dims=dims, dtype=dtype)
        g.case("ones", lambda: torch.ones(dims, dtype=kind), [], dims=dims, dtype=dtype)
    for start, stop, step in [(0, 5, 1), (2, 9, 3), (5, -2, -2), (3, 3, 1), (3, 1, 1)]:
        # PyTorch refuses an empty range that runs the wrong way; numpy, whose name it is, does not.
        count = range(start, stop, step)
        g.case(
            "arange",
            lambda: torch.tensor(list(count), dtype=kind),
            [],
            start=float(start),
            stop=float(stop),
            step=float(step),
            dtype=dtype,
        )
    for size in [0, 1, 4]:
        g.case("iota", lambda: torch.arange(size, dtype=kind), [], size=size, dtype=dtype)
    for rows, columns, k in [(3, 3, 0), (2, 4, 1), (4, 2, -1), (2, 2, 5), (0, 3, 0)]:
        g.case(
            "eye",
            lambda: torch.ones(rows, columns, dtype=kind).tril(k).triu(k),
            [],
            rows=rows,
            columns=columns,
            k=k,
            dtype=dtype,
        )
for start, stop, step in [(0.0, 1.0, 0.25), (1.0, -1.0, -0.3), (0.0, 1.0, 0.1)]:
    g.case(
        "arange",
        lambda: torch.arange(start, stop, step, dtype=torch.float64).float(),
        [],
        start=start,
        stop=stop,
        step=step,
        dtype="f32",
    )
for start, stop, size in [(0.0, 1.0, 5), (-1.0, 2.5, 8), (3.0, -3.0, 4), (2.0, 7.0, 1), (2.0, 7.0, 0)]:
    g.case(
        "linspace",
        lambda: torch.linspace(start, stop, size, dtype=torch.float64).float(),
        [],
        start=start,
        stop=stop,
        size=size,
        dtype="f32",
    )
for x in [numbers(2, 3), ints(4), numbers()]:
    g.case("full_like", lambda x: torch.full_like(x, 7), [x], grad=False, value=7.0)
    g.case("zeros_like", torch.zeros_like, [x], grad=False)
    g.case("ones_like", torch.ones_like, [x], grad=False)
for dims, classes in [((4,), 10), ((2, 3), 10), ((), 12), ((0,), 3)]:
    g.case("one_hot", lambda x: F.one_hot(x, classes), [ints(*dims)], classes=classes)
for name, f in [("tril", torch.tril), ("triu", torch.triu)]:
    for dims, k in [((3, 3), 0), ((3, 4), 1), ((4, 2), -1), ((2, 3, 3), -2), ((2, 2, 2, 3), 1), ((2, 2), 9)]:
        g.case(name, lambda x: f(x, k), [numbers(*dims)], k=k)
    g.case(name, lambda x: f(x, 0), [ints(3, 3)], k=0)
for indexing in ["ij", "xy"]:
    for sizes in [[3], [2, 3], [2, 1, 3], [2, 0]]:
        xs = [numbers(n, seed=i) for i, n in enumerate(sizes)]
        g.case("meshgrid", lambda *xs: torch.meshgrid(*xs, indexing=indexing), xs, indexing=indexing)
g.write()
