"""Elementwise functions, alone and fused; PyTorch runs them one after the other."""

import torch
import torch.nn.functional as F

MILLION = 1 << 20


def rows():
    for n, name in [(MILLION, "1M"), (16 * MILLION, "16M")]:
        x, y = torch.rand(n) * 2 - 1, torch.rand(n) * 2 - 1
        yield f"(x*y+1).tanh {name}", f"tanh_chain {n}", lambda x=x, y=y: (x * y + 1).tanh(), 1.5
        yield f"x*sigmoid(x) {name}", f"silu {n}", lambda x=x: x * torch.sigmoid(x), 1.5
        yield f"add {name}", f"add {n}", lambda x=x, y=y: x + y, 1.0
    x, b = torch.rand(2048, 1024) * 2 - 1, torch.rand(1024) * 2 - 1
    yield "gelu(x+b) 2048x1024", "bias_gelu 2048 1024", lambda: F.gelu(x + b), 1.5
    x = torch.rand(MILLION) * 2 - 1
    y = torch.rand(MILLION) * 2 - 1
    yield "exp 1M", f"exp {MILLION}", lambda: x.exp(), 1.0
    yield "tanh 1M", f"tanh {MILLION}", lambda: x.tanh(), 1.0
    yield "log(|x|+c) 1M", f"log {MILLION}", lambda: (x.abs() + 0.001).log(), 1.0
    yield "erf 1M", f"erf {MILLION}", lambda: x.erf(), 1.0
    yield "sigmoid 1M", f"sigmoid {MILLION}", lambda: x.sigmoid(), 1.0
    yield "gelu 1M", f"gelu {MILLION}", lambda: F.gelu(x), 1.0
    yield "sum((x-y)^2) 1M", f"distance {MILLION}", lambda: (x - y).square().sum(), 1.5
