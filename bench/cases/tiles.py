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
    b = torch.rand(1024) * 2 - 1
    for rows in [1024, 16 * 1024]:
        x = torch.rand(rows, 1024) * 2 - 1
        yield f"gelu(x+b) {rows}x1024", f"bias_gelu {rows} 1024", lambda x=x: F.gelu(x + b), 1.5
    x = torch.rand(MILLION) * 2 - 1
    y = torch.rand(MILLION) * 2 - 1
    yield "exp 1M", f"exp {MILLION}", lambda: x.exp(), 1.0
    yield "tanh 1M", f"tanh {MILLION}", lambda: x.tanh(), 1.0
    yield "log(|x|+c) 1M", f"log {MILLION}", lambda: (x.abs() + 0.001).log(), 1.0
    yield "erf 1M", f"erf {MILLION}", lambda: x.erf(), 1.0
    yield "sigmoid 1M", f"sigmoid {MILLION}", lambda: x.sigmoid(), 1.0
    yield "gelu 1M", f"gelu {MILLION}", lambda: F.gelu(x), 1.0
    yield "gelu tanh 1M", f"gelu_tanh {MILLION}", lambda: F.gelu(x, approximate="tanh"), 1.0
    yield "silu 1M", f"silu_alone {MILLION}", lambda: F.silu(x), 1.0
    yield "mish 1M", f"mish {MILLION}", lambda: F.mish(x), 1.0
    yield "expm1 1M", f"expm1 {MILLION}", lambda: x.expm1(), 1.0
    yield "sin 1M", f"sin {MILLION}", lambda: x.sin(), 1.0
    yield "cos 1M", f"cos {MILLION}", lambda: x.cos(), 1.0
    yield "(|x|+c)^1.7 1M", f"pow {MILLION}", lambda: (x.abs() + 0.001).pow(1.7), 1.0
    yield "sum((x-y)^2) 1M", f"distance {MILLION}", lambda: (x - y).square().sum(), 1.5
