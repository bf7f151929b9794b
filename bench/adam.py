"""Steps of optimizers and predictions: compiled beside line by line, and PyTorch's where it is installed.

    python bench/adam.py [--repetitions 30] [--parameters 100] [--elements 250000]

All sides take turns in one process, so that a busy machine slows them alike; what counts is the least time of a
call. The package has to be built with optimisation (`cargo build --profile demo -p fluvial-py`).
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

Call = Callable[[], object]
REST = 0.01


def least(sides: Mapping[str, Call], repetitions: int) -> dict[str, float]:
    """The least milliseconds of a call of each side, in turns. Threads of the side before have a moment to fall
    asleep: PyTorch's go on spinning for a while, which would cost whoever comes next."""
    best = dict.fromkeys(sides, float("inf"))
    for call in sides.values():
        call()
        call()
    for _ in range(repetitions):
        for name, call in sides.items():
            time.sleep(REST)
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: 1e3 * seconds for name, seconds in best.items()}


def show(what: str, times: Mapping[str, float]) -> None:
    """One line: the times, and how each compares with the last one."""
    last = list(times.values())[-1]
    shown = (f"{name} {ms:.3f} ms ({last / ms:.2f}x)" for name, ms in times.items())
    print(f"{what:32} {', '.join(shown)}", flush=True)


def adam(count: int, elements: int) -> dict[str, Call]:
    """A step of Adam by given gradients."""

    def made() -> fl.optimizer.Adam:
        ones = fl.tensor(np.ones(elements, np.float32))
        return fl.optimizer.Adam([fl.nn.Parameter(ones + 0.0) for _ in range(count)], 1e-3)

    optimizer, its_optimizer = made(), made()
    gradients = [fl.tensor(np.full(elements, 0.1, np.float32)) for _ in range(count)]
    compiled = fl.function(its_optimizer.step)
    sides: dict[str, Call] = {
        "compiled": lambda: compiled(gradients),
        "line by line": lambda: optimizer.step(gradients),
    }
    try:
        import torch
    except ImportError:
        return sides
    theirs = [torch.nn.Parameter(torch.ones(elements)) for _ in range(count)]
    for parameter in theirs:
        parameter.grad = torch.full((elements,), 0.1)
    fused = torch.optim.Adam(theirs, 1e-3, fused=True)
    sides["PyTorch, fused"] = fused.step
    return sides


def rows_of(size: int) -> dict[str, Call]:
    """A step of Adam on 64 rows of a table of that size, which should not depend on it."""
    table = fl.nn.Parameter(fl.tensor(np.zeros((size, 16), np.float32)))
    optimizer = fl.optimizer.Adam([table], 1e-3)
    ids = fl.tensor(np.arange(64) * (size // 64))

    def step(ids: fl.Tensor) -> None:
        rows = fl.optimizer.lookup(table, ids)
        optimizer.minimize_rows(fl.mean(fl.square(rows.values - 1.0)), [rows])

    compiled = fl.function(step)
    return {"compiled": lambda: compiled(ids), "line by line": lambda: step(ids)}


def predictions() -> dict[str, Call]:
    """A network of three layers in use, with and without `no_grad`."""
    layers = [fl.nn.Linear(64, 256), fl.nn.ReLU(), fl.nn.Linear(256, 256), fl.nn.ReLU()]
    net = fl.nn.Sequential(*layers, fl.nn.Linear(256, 10)).eval()
    x = fl.tensor(np.ones((32, 64), np.float32))
    predict = fl.function(lambda x: net(x))

    def without_gradients() -> object:
        with fl.no_grad():
            return predict(x)

    def line_by_line() -> object:
        with fl.no_grad():
            return net(x)

    return {
        "compiled, no_grad": without_gradients,
        "compiled": lambda: predict(x),
        "line by line, no_grad": line_by_line,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--parameters", type=int, default=100)
    parser.add_argument("--elements", type=int, default=250_000)
    args = parser.parse_args()
    what = f"adam, {args.parameters} x {args.elements}"
    show(what, least(adam(args.parameters, args.elements), args.repetitions))
    for size in (20_000, 200_000, 1_000_000):
        show(f"minimize_rows, {size} rows", least(rows_of(size), 10 * args.repetitions))
    show("predict", least(predictions(), 10 * args.repetitions))


if __name__ == "__main__":
    main()
