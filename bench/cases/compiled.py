"""Fused elementwise functions beside torch.compile, which needs a C++ compiler on the machine."""

import shutil

import torch
import torch.nn.functional as F

from cases import numbers

MILLION = 1 << 20


def rows():
    if shutil.which("g++") is None:
        print("skipped: torch.compile needs g++")
        return
    b = numbers(1024)
    tanh = torch.compile(lambda x, y: (x * y + 1).tanh())
    silu = torch.compile(lambda x: x * torch.sigmoid(x))
    gelu = torch.compile(lambda x: F.gelu(x + b))
    for n, name in [(MILLION, "1M"), (16 * MILLION, "16M")]:
        x, y, rows = numbers(n), numbers(n), numbers(n // 1024, 1024)
        suffix = f"{name}, torch.compile"
        yield f"(x*y+1).tanh {suffix}", f"tanh_chain {n}", lambda x=x, y=y: tanh(x, y), 1.2
        yield f"x*sigmoid(x) {suffix}", f"silu {n}", lambda x=x: silu(x), 1.2
        yield f"gelu(x+b) {suffix}", f"bias_gelu {n // 1024} 1024", lambda x=rows: gelu(x), 1.2
