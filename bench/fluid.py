"""Training steps in Fluid's flavour beside the same ones written with `fl.nn`.

    python bench/fluid.py [--repetitions 200]

Both sides take turns in one process, and get the same arrays; what counts is the least time of a step, with the loss
as a number. Their programs are equal call by call (`python/tests/fluid/test_listings.py`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))

import fluvial as fl  # noqa: E402
import fluvial.fluid as fluid  # noqa: E402
import fluvial.fluid.layers as layers  # noqa: E402

Step = Callable[[], object]
RNG = np.random.default_rng(0)


def of_fluid(build: Callable[[], fluid.Variable], feed: Mapping[str, np.ndarray]) -> Step:
    """A step of the program that a function builds."""
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(scope), fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss = build()
        exe.run(startup)
    return lambda: exe.run(main, feed=dict(feed), fetch_list=[loss], scope=scope)[0]


def of_fluvial(step: Callable[..., fl.Tensor], feed: Mapping[str, np.ndarray]) -> Step:
    """The same step, compiled."""
    compiled = fl.function(step)
    return lambda: compiled(*(fl.tensor(value) for value in feed.values())).numpy()


def mlp(batch: int) -> tuple[Step, Step]:
    """Three layers, SGD."""
    sizes = (784, 256, 128, 10)
    feed = {"x": RNG.normal(size=(batch, 784)).astype("f4"), "y": RNG.integers(0, 10, (batch, 1))}

    def build() -> fluid.Variable:
        x, y = layers.data("x", [784]), layers.data("y", [1], dtype="int64")
        for size in sizes[1:-1]:
            x = layers.fc(x, size, act="relu")
        loss = layers.mean(layers.softmax_with_cross_entropy(layers.fc(x, sizes[-1]), y))
        fluid.optimizer.SGD(0.01).minimize(loss)
        return loss

    parts = [fl.nn.Linear(*pair) for pair in zip(sizes, sizes[1:])]
    sgd = fl.optimizer.SGD([p for part in parts for p in part.parameters()], 0.01)

    def step(x: fl.Tensor, y: fl.Tensor) -> fl.Tensor:
        for part in parts[:-1]:
            x = fl.relu(part(x))
        loss = fl.cross_entropy(parts[-1](x), fl.squeeze(y, 1))
        sgd.minimize(loss)
        return loss

    return of_fluid(build, feed), of_fluvial(step, feed)


def convolutions(batch: int) -> tuple[Step, Step]:
    """Two convolutions with pools, Momentum."""
    feed = {"x": RNG.normal(size=(batch, 1, 28, 28)).astype("f4"), "y": RNG.integers(0, 10, (batch, 1))}

    def build() -> fluid.Variable:
        x, y = layers.data("x", [1, 28, 28]), layers.data("y", [1], dtype="int64")
        for filters in (16, 32):
            x = fluid.nets.simple_img_conv_pool(x, filters, 5, 2, 2, act="relu")
        loss = layers.mean(layers.softmax_with_cross_entropy(layers.fc(x, 10), y))
        fluid.optimizer.Momentum(0.01, 0.9).minimize(loss)
        return loss

    parts = [fl.nn.Conv2D(1, 16, 5), fl.nn.Conv2D(16, 32, 5), fl.nn.Linear(512, 10)]
    momentum = fl.optimizer.Momentum([p for part in parts for p in part.parameters()], 0.01, momentum=0.9)

    def step(x: fl.Tensor, y: fl.Tensor) -> fl.Tensor:
        for part in parts[:-1]:
            x = fl.max_pool2d(fl.relu(part(x)), 2, stride=2)
        loss = fl.cross_entropy(parts[-1](fl.flatten(x, 1)), fl.squeeze(y, 1))
        momentum.minimize(loss)
        return loss

    return of_fluid(build, feed), of_fluvial(step, feed)


def lstm(batch: int) -> tuple[Step, Step]:
    """An LSTM over 20 steps, Momentum."""
    steps, width, size = 20, 64, 64
    feed = {"x": RNG.normal(size=(steps, batch, width)).astype("f4"), "y": RNG.normal(size=(batch, 1)).astype("f4")}
    gates = 4 * size
    shapes = [(gates, width), (gates, size), (gates,), (gates,)]

    def build() -> fluid.Variable:
        x = layers.data("x", [steps, batch, width], append_batch_size=False)
        y = layers.data("y", [batch, 1], append_batch_size=False)
        first = layers.fill_constant([1, batch, size], "float32", 0.0)
        out, _, _ = layers.lstm(x, first, first, steps, size, 1)
        gap = layers.fc(layers.reduce_mean(out, dim=0), 1) - y
        loss = layers.mean(gap * gap)
        fluid.optimizer.Momentum(0.01, 0.9).minimize(loss)
        return loss

    flat = fl.nn.Parameter((sum(int(np.prod(shape)) for shape in shapes),))
    dense = fl.nn.Linear(size, 1)
    momentum = fl.optimizer.Momentum([flat, *dense.parameters()], 0.01, momentum=0.9)

    def step(x: fl.Tensor, y: fl.Tensor) -> fl.Tensor:
        first = fl.full((1, batch, size), 0.0)
        parts, at = [], 0
        for shape in shapes:
            count = int(np.prod(shape))
            parts.append(fl.reshape(fl.slice(flat, 0, at, at + count), shape))
            at += count
        out, _, _ = fl.lstm(x, first, first, parts)
        gap = dense(fl.mean(out, axis=0)) - y
        loss = fl.mean(gap * gap)
        momentum.minimize(loss)
        return loss

    return of_fluid(build, feed), of_fluvial(step, feed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    repetitions = parser.parse_args().repetitions
    for name, make in (("mlp", mlp), ("convolutions", convolutions), ("lstm", lstm)):
        for batch in (1, 32):
            sides = make(batch)
            best = [float("inf")] * 2
            for side in sides:
                side()
                side()
            for _ in range(repetitions):
                for i, side in enumerate(sides):
                    start = time.perf_counter()
                    side()
                    best[i] = min(best[i], time.perf_counter() - start)
            one, other = (1e3 * seconds for seconds in best)
            print(f"{name:14} batch {batch:3}: fluid {one:8.3f} ms, fl.nn {other:8.3f} ms ({one / other:.2f}x)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
