"""Our side of the micro benchmarks: the cases of peers/micro_torch.py, by their groups and names.

Each entry makes the inputs and returns the call to time, through the public functions, line by
line; those of `COMPILED` run as compiled programs. Gradients are those that PyTorch's cases take:
for all float inputs, with an upstream gradient of ones, which here is that of a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import fluvial as fl
import numpy as np
from fluvial import Tensor

MILLION = 1 << 20

Call = Callable[[], object]
Prepare = Callable[[], Call]
Entry = tuple[str, str, Prepare]  # group, name, how to prepare it


def randn(*shape: int) -> Tensor:
    return fl.tensor(np.random.RandomState(0).randn(*shape).astype(np.float32))


def ids(high: int, count: int) -> Tensor:
    return fl.tensor(np.random.RandomState(0).randint(0, high, count, dtype=np.int64))


def forward_backward(f: Callable[..., Tensor], *inputs: Tensor) -> Call:
    """Forward, then the gradients of all float inputs of the sum of the result."""
    tracked = [x.track() if x.dtype == fl.float32 else x for x in inputs]
    wanted = [x for x in tracked if x.is_tracked]
    return lambda: fl.gradients(f(*tracked), wanted)


def apply(f: Callable[[Tensor], object], *shape: int) -> Call:
    x = randn(*shape)
    return lambda: f(x)


def overhead() -> Iterator[Entry]:
    def add(grad: bool) -> Call:
        x, y = fl.full((1,), 1.0), fl.full((1,), 1.0)
        x = x.track() if grad else x
        return lambda: x + y

    def chain() -> Call:
        x, y = fl.full((1,), 1.0).track(), fl.full((1,), 1.0)

        def call() -> None:
            z = x
            for _ in range(10):
                z = z + y
            z.backward()

        return call

    yield "overhead", "add of 1 element", partial(add, False)
    yield "overhead", "add of 1 element, requires_grad", partial(add, True)
    yield "overhead", "10 adds of 1 element, backward", chain


def chained(x: Tensor, y: Tensor) -> Tensor:
    return fl.tanh(x * y + 1)


def elementwise() -> Iterator[Entry]:
    def binary(f: Callable[[Tensor, Tensor], Tensor], n: int) -> Call:
        x, y = randn(n), randn(n)
        return lambda: f(x, y)

    for label, n in {"1M": MILLION, "64k": MILLION >> 4}.items():
        yield "elementwise", f"add {label}", partial(binary, lambda x, y: x + y, n)
        for name, f in {"exp": fl.exp, "tanh": fl.tanh, "gelu": fl.gelu}.items():
            yield "elementwise", f"{name} {label}", partial(apply, f, n)
        yield "elementwise", f"(x*y+1).tanh() {label}", partial(binary, chained, n)


def rows_and_reductions() -> Iterator[Entry]:
    rows = {
        "softmax": lambda x: fl.softmax(x, -1),
        "log_softmax": lambda x: fl.log_softmax(x, -1),
        "layer_norm": lambda x: fl.layer_norm(x, 1),
    }
    sums = {
        "sum axis 0": lambda x: fl.sum(x, axis=0),
        "sum axis 1": lambda x: fl.sum(x, axis=1),
        "sum all": fl.sum,
        # A view that is not in order cannot be flattened without a copy.
        "transpose copy": lambda x: x.T.reshape((-1,)),
    }

    def affine_norm() -> Call:
        inputs = randn(2048, 1024), fl.full((1024,), 1.0), fl.full((1024,), 0.0)
        return forward_backward(lambda x, a, b: fl.layer_norm(x, 1, a, b), *inputs)

    for name, f in rows.items():
        yield "rows", f"{name} 2048x1024", partial(apply, f, 2048, 1024)
    yield "rows", "layer_norm affine bwd 2048x1024", affine_norm
    for name, f in sums.items():
        yield "reduce", f"{name} 2048x2048", partial(apply, f, 2048, 2048)


def matmul() -> Iterator[Entry]:
    def pair(*shapes: tuple[int, ...]) -> Call:
        x, y = (randn(*shape) for shape in shapes)
        return lambda: x @ y

    cubes = [(n, n, n) for n in (64, 128, 256, 512, 1024)]
    for m, k, n in [*cubes, (32, 1024, 1024), (2048, 768, 768), (2048, 3072, 768)]:
        yield "matmul", f"{m}x{k}x{n}", partial(pair, (m, k), (k, n))
    yield "matmul", "batched 48 of 128x64x128", partial(pair, (48, 128, 64), (48, 64, 128))


def convolution() -> Iterator[Entry]:
    def prepare(
        n: int, c: int, side: int, k: int, stride: int, o: int, groups: int, backward: bool
    ) -> Call:
        x, kernel = randn(n, c, side, side), randn(o, c // groups, k, k)
        f = partial(fl.conv2d, stride=stride, padding=k // 2, groups=groups)
        return forward_backward(f, x, kernel) if backward else lambda: f(x, kernel)

    shapes = [  # n, c, side, kernel, stride, out, groups
        (8, 64, 56, 3, 1, 64, 1),
        (8, 128, 28, 3, 1, 128, 1),
        (8, 256, 14, 3, 1, 256, 1),
        (8, 512, 7, 3, 1, 512, 1),
        (8, 3, 224, 7, 2, 64, 1),
        (8, 256, 56, 1, 1, 64, 1),
        (8, 128, 28, 3, 1, 128, 128),
    ]
    for shape, backward in product(shapes, (False, True)):
        n, c, side, k, stride, o, groups = shape
        kind = "depthwise " if groups > 1 else ""
        name = f"{kind}{n}x{c}x{side}x{side} {k}x{k}/{stride} to {o}{' bwd' if backward else ''}"
        yield "conv2d", name, partial(prepare, *shape, backward)


def pooling_and_norm() -> Iterator[Entry]:
    pools = {
        "maxpool 3x3/2": lambda x: fl.max_pool2d(x, 3, stride=2, padding=1),
        "avgpool 2x2/2": lambda x: fl.avg_pool2d(x, 2),
    }

    def pool(f: Callable[[Tensor], Tensor], backward: bool) -> Call:
        x = randn(8, 64, 112, 112)
        return forward_backward(f, x) if backward else lambda: f(x)

    def batch_norm() -> Call:
        x, layer = randn(8, 64, 56, 56).track(), fl.nn.BatchNorm2d(64)

        def call() -> object:
            y = layer(x)
            return fl.gradients(y, [x, layer.weight, layer.bias])

        return call

    for (name, f), backward in product(pools.items(), (False, True)):
        yield "pool", f"{name} 8x64x112x112{' bwd' if backward else ''}", partial(pool, f, backward)
    yield "norm", "batch_norm train bwd 8x64x56x56", batch_norm


def embedding_and_loss() -> Iterator[Entry]:
    def embedding(backward: bool) -> Call:
        inputs = ids(50_000, 4096), randn(50_000, 256)
        f = fl.embedding
        return forward_backward(f, *inputs) if backward else lambda: f(*inputs)

    def cross_entropy(backward: bool) -> Call:
        inputs = randn(4096, 10_000), ids(10_000, 4096)
        f = fl.cross_entropy
        return forward_backward(f, *inputs) if backward else lambda: f(*inputs)

    for backward in (False, True):
        suffix = " bwd" if backward else ""
        yield "embedding", f"4096 ids of 50000x256{suffix}", partial(embedding, backward)
        yield "loss", f"cross_entropy 4096x10000{suffix}", partial(cross_entropy, backward)


class Weights(fl.nn.Layer):
    """The hundred parameters of the Adam cases."""

    def __init__(self) -> None:
        super().__init__()
        zeros = fl.initializer.Zeros()
        for index in range(100):
            setattr(self, f"w{index}", fl.nn.Parameter((500, 500), "float32", zeros))


def adam_step(compiled: bool) -> Call:
    optimizer = fl.optimizer.Adam(Weights().parameters(), 1e-3)
    gradients = [fl.full((500, 500), 1e-3) for _ in range(100)]
    if not compiled:
        return partial(optimizer.step, gradients)

    def step(*values: Tensor) -> dict[str, Tensor]:
        optimizer.step(list(values))
        return {}

    program = fl.build(step, {f"g{index}": "f32[500, 500]" for index in range(100)})
    return partial(fl.compile(program), *gradients)


ADAM = tuple(f"step, 100 x 250k parameters, {kind}" for kind in ("default", "foreach", "fused"))


def adam() -> Iterator[Entry]:
    """One step of ours stands beside each of PyTorch's three ways."""
    for name in ADAM:
        yield "adam", name, partial(adam_step, False)


def ordering() -> Iterator[Entry]:
    calls = {
        "argmax": fl.argmax,
        "topk 10": lambda x: fl.topk(x, 10, 0),
        "sort": lambda x: x.sort(0),  # with the positions, as PyTorch's
    }
    for name, f in calls.items():
        yield "ordering", f"{name} 1M", partial(apply, f, MILLION)


def compiled_chain(n: int) -> Call:
    x, y = randn(n), randn(n)
    f = fl.compile(fl.build(chained, {"x": "f32[n]", "y": "f32[n]"}))
    return lambda: f(x, y)


GROUPS = (
    overhead,
    elementwise,
    rows_and_reductions,
    matmul,
    convolution,
    pooling_and_norm,
    embedding_and_loss,
    adam,
    ordering,
)
IMPERATIVE: dict[tuple[str, str], Prepare] = {
    (group, name): prepare for entries in GROUPS for group, name, prepare in entries()
}
COMPILED: dict[tuple[str, str], Prepare] = {
    ("elementwise", "(x*y+1).tanh() 1M"): partial(compiled_chain, MILLION),
    ("elementwise", "(x*y+1).tanh() 64k"): partial(compiled_chain, MILLION >> 4),
    **{("adam", name): partial(adam_step, True) for name in ADAM},
}
