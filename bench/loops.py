"""The training loop inside a program beside the same compiled step called from a Python loop.

    PYTHONPATH=python python bench/loops.py [--repetitions N]

A linear regression of 13 features and a small MLP, batches of 128 from memory, shuffled. Prints µs per step, the
minimum over repetitions, in turns.
"""

import argparse
import time

import numpy as np

import fluvial as fl

BATCH, N_BATCHES = 128, 400


def make(n_in, n_out, hidden):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(BATCH * N_BATCHES, n_in)).astype(np.float32)
    y = rng.normal(size=(BATCH * N_BATCHES, n_out)).astype(np.float32)
    name = f"net{n_in}"
    layers = [fl.nn.Linear(n_in, hidden, name=f"{name}.a"), fl.nn.ReLU()] if hidden else []
    net = fl.nn.Sequential(*layers, fl.nn.Linear(hidden or n_in, n_out, name=f"{name}.b"))
    sgd = fl.optimizer.SGD(net.parameters(), 0.001)

    def reader(kind):
        made = fl.reader({"x": x, "y": y}, name=f"{name}.{kind}").shuffle(1)
        made = made.batch(BATCH, drop_last=True)
        return made.prefetch(4) if kind.endswith("ahead") else made

    def update(x, y):
        loss = fl.mean((net(x) - y) ** 2)
        sgd.minimize(loss)
        return loss

    step = fl.function(update)

    def python_loop(source):
        for x, y in source.iterate():
            step(x, y)

    @fl.function
    def program_loop(source):
        loss = fl.tensor(0.0)
        for x, y in source.iterate():
            loss = update(x, y)
        return loss

    ways = {}
    for kind in ("here", "ahead"):
        label = "" if kind == "here" else ", prefetch"
        ways[f"step from Python{label}"] = lambda r=reader(f"step_{kind}"): python_loop(r)
        ways[f"loop in the program{label}"] = lambda r=reader(f"loop_{kind}"): program_loop(r)
    return ways


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=10)
    given = parser.parse_args()
    fl.set_mode("program")
    for name, sizes in (("linear regression, 13", (13, 1, 0)), ("MLP 64-128-10", (64, 10, 128))):
        ways = make(*sizes)
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(given.repetitions):
            for way, run in ways.items():
                start = time.perf_counter()
                run()
                best[way] = min(best[way], (time.perf_counter() - start) / N_BATCHES)
        print(name)
        for way, seconds in best.items():
            print(f"  {way:<34}{seconds * 1e6:8.1f} µs")
        pairs = [best["step from Python"], best["step from Python, prefetch"]]
        loops = [best["loop in the program"], best["loop in the program, prefetch"]]
        print(f"  {'best beside best':<34}{min(pairs) / min(loops):8.2f} times")


if __name__ == "__main__":
    main()
