"""Products of matrices. Sizes are m x k x n."""

import torch
import torch.nn.functional as F

from cases import numbers

CUBES = [128, 256, 384, 512, 768, 1024]


def mm(m, k, n, transpose=""):
    a = numbers(k, m).t() if "a" in transpose else numbers(m, k)
    b = numbers(n, k).t() if "b" in transpose else numbers(k, n)
    out = torch.empty(m, n)
    return lambda: torch.mm(a, b, out=out)


def bmm(count, m, k, n, transpose=False):
    a, out = numbers(count, m, k), torch.empty(count, m, n)
    b = numbers(count, n, k).transpose(1, 2) if transpose else numbers(count, k, n)
    return lambda: torch.bmm(a, b, out=out)


def linear_relu(m, k, n):
    x, weight, bias = numbers(m, k), numbers(n, k), numbers(n)
    return lambda: F.linear(x, weight, bias).relu_()


def bf16(m, k, n):
    a, b = numbers(m, k).bfloat16(), numbers(k, n).bfloat16()
    out = torch.empty(m, n, dtype=torch.bfloat16)
    return lambda: torch.mm(a, b, out=out)


def rows():
    for m, k, n in [(n, n, n) for n in CUBES] + [(2048, 768, 768), (2048, 3072, 768), (128, 784, 256)]:
        yield f"gemm {m}x{k}x{n}", f"gemm {m} {k} {n}", mm(m, k, n), 1.0
    m, k, n = 512, 512, 512
    yield f"gemm {m}x{k}x{n} b transposed", f"gemm_nt {m} {k} {n}", mm(m, k, n, "b"), 1.0
    yield f"gemm {m}x{k}x{n} a transposed", f"gemm_tn {m} {k} {n}", mm(m, k, n, "a"), 1.0
    for m in [32, 64]:
        size, text = (m, 1024, 1024), f"{m} 1024 1024"
        yield f"skinny {m}x1024x1024", f"gemm {text}", mm(*size), 0.85
        yield f"skinny {m}x1024x1024 b transposed", f"gemm_nt {text}", mm(*size, "b"), 0.85
    for m, k, n in [(128, 64, 128), (128, 128, 64)]:
        yield f"batched 48x({m}x{k}x{n})", f"bmm 48 {m} {k} {n}", bmm(48, m, k, n), 1.0
    yield "batched 48x(128x64x128) b transposed", "bmm_nt 48 128 64 128", bmm(48, 128, 64, 128, True), 1.0
    for m, k, n in [(32, 10, 128), (32, 128, 10)]:
        yield f"tiny {m}x{k}x{n}", f"gemm {m} {k} {n}", mm(m, k, n), 1.0
    for m, k, n in [(1, 4096, 4096), (4096, 4096, 1)]:
        yield f"gemv {m}x{k}x{n}", f"gemm {m} {k} {n}", mm(m, k, n), 1.0
    yield "gemv 1x4096x4096 b transposed", "gemm_nt 1 4096 4096", mm(1, 4096, 4096, "b"), 1.0
    for m, k, n in [(32, 1024, 1024), (2048, 768, 768)]:
        yield f"linear+bias+relu {m}x{k}x{n}", f"linear_relu {m} {k} {n}", linear_relu(m, k, n), 1.0
    yield "bf16 512x512x512", "gemm_bf16 512 512 512", bf16(512, 512, 512), 0.5
