"""Products of matrices."""

import torch

CUBES = [128, 256, 384, 512, 768, 1024]


def rows():
    shapes = [(n, n, n) for n in CUBES] + [(2048, 768, 768), (2048, 3072, 768)]
    for m, k, n in shapes:
        a, b, out = torch.rand(m, k), torch.rand(k, n), torch.empty(m, n)
        yield f"gemm {m}x{k}x{n}", f"gemm {m} {k} {n}", lambda a=a, b=b, out=out: torch.mm(a, b, out=out), 1.0
