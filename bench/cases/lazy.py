"""Expressions composed at compile time; the chain also by the scalar machine and by hand."""

import torch


def chain(a, b):
    return (((((a * b + 1.0) * a - b) * 0.5 + a) * b - 0.25) * a + b) * 1.5 - a


def rows():
    for n, name in [(1 << 16, "64k"), (1 << 20, "1M")]:
        x, y = torch.rand(n) * 2 - 1, torch.rand(n) * 2 - 1
        yield f"lazy (x*y+1).tanh {name}", f"lazy_tanh {n}", lambda x=x, y=y: (x * y + 1).tanh(), 1.2
        for kind in ("lazy", "machine", "hand"):
            yield f"{kind} 12-op chain {name}", f"{kind}_chain {n}", lambda x=x, y=y: chain(x, y), 2.0
        yield f"lazy sum((x-y)^2) {name}", f"lazy_distance {n}", lambda x=x, y=y: (x - y).square().sum(), 1.5
