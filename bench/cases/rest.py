"""Reductions, normalisations, order, random numbers, rows by number and optimizer updates."""

import torch
import torch.nn.functional as F


def rows():
    x = torch.rand(2048, 2048) * 2 - 1
    for axis, name in enumerate(["over 0", "over 1", "over all"]):
        dim = [0, 1] if axis == 2 else [axis]
        yield f"sum 2048x2048 {name}", f"sum 2048 2048 {axis}", lambda dim=dim: x.sum(dim), 1.0
        yield f"max 2048x2048 {name}", f"max 2048 2048 {axis}", lambda dim=dim: x.amax(dim), 1.0
    for axis in (0, 1):
        yield f"argmax 2048x2048 over {axis}", f"argmax 2048 2048 {axis}", lambda axis=axis: x.argmax(axis), 1.0
    million = torch.rand(1, 1_000_000)
    yield "argmax 1M", "argmax 1 1000000 1", lambda: million.argmax(1), 1.0
    t = x.t()
    yield "transpose copy 2048x2048", "transpose 2048 2048", t.contiguous, 1.0

    a = torch.rand(2048, 1024) * 2 - 1
    yield "softmax 2048x1024", "softmax 2048 1024", lambda: F.softmax(a, 1), 1.2
    yield "log_softmax 2048x1024", "log_softmax 2048 1024", lambda: F.log_softmax(a, 1), 1.2

    weight, bias = torch.rand(1024), torch.rand(1024)
    yield "layer_norm 2048x1024", "layer_norm 2048 1024", lambda: F.layer_norm(a, (1024,), weight, bias), 1.2
    leaves = [a.clone().requires_grad_(), weight.clone().requires_grad_(), bias.clone().requires_grad_()]
    with torch.enable_grad():
        normed = F.layer_norm(leaves[0], (1024,), *leaves[1:])
    yield (
        "layer_norm gradient 2048x1024",
        "layer_norm_grad 2048 1024",
        lambda: torch.autograd.grad(normed, leaves, a, retain_graph=True),
        1.2,
    )
    image, scale = torch.rand(32, 64, 56, 56), torch.rand(64)
    yield (
        "batch_norm train 32x64x56x56",
        "batch_norm 32 64 56 56",
        lambda: F.batch_norm(image, None, None, scale, scale, True),
        1.2,
    )
    logits, classes = torch.rand(4096, 10000), torch.randint(0, 10000, (4096,))

    def entropy():
        with torch.enable_grad():
            leaf = logits.requires_grad_()
            return torch.autograd.grad(F.cross_entropy(leaf, classes), leaf)

    yield "cross entropy + gradient 4096x10000", "cross_entropy 4096 10000", entropy, 1.2
    params = [torch.rand(1_000_000) for _ in range(25)]
    state = [[torch.rand(1_000_000) for _ in range(25)] for _ in range(3)]
    steps = [torch.tensor(10.0) for _ in range(25)]

    def adam():
        torch._fused_adam_(
            params, *state, [], steps,
            lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
        )

    yield "Adam 25M", "adam 1000000 25", adam, 1.05

    table, ids = torch.rand(30000, 512), torch.randint(0, 30000, (4096,))
    grad = torch.rand(4096, 512)
    yield "embedding 30000x512 4096", "gather 30000 512 4096", lambda: F.embedding(ids, table), 1.0
    yield (
        "embedding gradient",
        "index_add 30000 512 4096",
        lambda: torch.ops.aten.embedding_dense_backward(grad, ids, 30000, -1, False),
        1.0,
    )
    flat = million[0]
    yield "argsort 1M", "sort 1000000", lambda: flat.sort(), 1.0
    yield "topk 1M 100", "topk 1000000 100", lambda: flat.topk(100), 1.0
    buffer, half = torch.empty(1_000_000), x[:1024, :1024].contiguous()
    yield "uniform 1M", "uniform 1000000", lambda: buffer.uniform_(), 1.0
    yield "normal 1M", "normal 1000000", lambda: buffer.normal_(), 1.0
    mask = torch.empty(1_000_000, dtype=torch.bool)
    yield "dropout mask 1M", "bernoulli 1000000", lambda: mask.bernoulli_(0.9), 1.0
    for axis in (0, 1):
        yield f"logsumexp 2048x2048 over {axis}", f"logsumexp 2048 2048 {axis}", lambda axis=axis: x.logsumexp(axis), 1.0
        yield f"cumsum 2048x2048 over {axis}", f"cumsum 2048 2048 {axis}", lambda axis=axis: x.cumsum(axis), 1.0
        yield f"cat of two 1024x1024 along {axis}", f"cat 1024 1024 {axis}", lambda axis=axis: torch.cat([half, half], axis), 1.0
    yield "pad 1024x1024 by 8", "pad 1024 1024 8", lambda: F.pad(half, (8, 8)), 1.0
    yield "max_pool2d 32x64x56x56 k3 s2", "max_pool 32 64 56 56", lambda: F.max_pool2d(image, 3, 2, 1), 1.0
    yield "avg_pool2d 32x64x56x56 k3 s2", "avg_pool 32 64 56 56", lambda: F.avg_pool2d(image, 3, 2, 1), 1.0
    values, places = F.max_pool2d(image, 3, 2, 1, return_indices=True)
    yield (
        "max_pool2d gradient",
        "max_pool_grad 32 64 56 56",
        lambda: torch.ops.aten.max_pool2d_with_indices_backward(
            values, image, [3, 3], [2, 2], [1, 1], [1, 1], False, places
        ),
        1.0,
    )
    yield (
        "avg_pool2d gradient",
        "avg_pool_grad 32 64 56 56",
        lambda: torch.ops.aten.avg_pool2d_backward(
            values, image, [3, 3], [2, 2], [1, 1], False, True, None
        ),
        1.0,
    )
