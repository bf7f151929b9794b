"""What it costs to build the training step of a transformer, and to call a built function of a few lines.

Each build happens in a process of its own, of which the fastest counts. Two packages are compared by `--beside`, a folder
with the other one: the builds of both take turns, so that a busy machine slows both. The time of the processor is what it
changes least.
"""

import argparse
import os
import subprocess
import sys

SCRIPT = """
import time
import fluvial as fl

fl.seed(1)
width, depth, length = {width}, {depth}, 16


class Block:
    def __init__(self):
        self.attention = fl.nn.MultiHeadAttention(width, 4)
        self.norms = [fl.nn.LayerNorm(width), fl.nn.LayerNorm(width)]
        self.wide, self.narrow = fl.nn.Linear(width, 4 * width), fl.nn.Linear(4 * width, width)

    def __call__(self, x):
        y = self.norms[0](x)
        found = self.attention(y, y, y)
        x = x + (found[0] if isinstance(found, tuple) else found)
        return x + self.narrow(fl.gelu(self.wide(self.norms[1](x))))


blocks, head = [Block() for _ in range(depth)], fl.nn.Linear(width, 50)
table = fl.nn.Embedding(50, width)
optimizer = fl.optimizer.Adam(1e-3)


@fl.function
def step(tokens, targets):
    x = table(tokens)
    for block in blocks:
        x = block(x)
    loss = fl.cross_entropy(head(x).reshape((-1, 50)), targets.reshape((-1,)))
    optimizer.minimize(loss)
    return loss


@fl.function
def small(x):
    return x * 2.0 + 1.0


tokens = fl.arange(2 * length).reshape((2, length)) % 50
start = time.perf_counter(), time.process_time()
step(tokens, tokens)
build = time.perf_counter() - start[0], time.process_time() - start[1]
x = fl.tensor([1.0])
small(x)
calls = []
for _ in range(20):
    start = time.perf_counter()
    for _ in range(1000):
        small(x)
    calls.append((time.perf_counter() - start) / 1000)
print(*build, min(calls))
"""


def figures(package, options):
    """The seconds of one build, those of the processor, and those of one call of a small function."""
    script = SCRIPT.format(width=options.width, depth=options.depth)
    env = dict(os.environ, FLUVIAL_MODE="program")
    if package is not None:
        env["PYTHONPATH"] = package
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env)
    if run.returncode:
        sys.exit(run.stderr)
    return [float(part) for part in run.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--beside", help="a folder with another `fluvial` package")
    options = parser.parse_args()
    packages = [None] if options.beside is None else [None, options.beside]
    found = {package: [] for package in packages}
    for _ in range(options.repetitions):
        for package in packages:
            found[package].append(figures(package, options))
    for package, rows in found.items():
        build, processor, call = map(min, zip(*rows))
        print(f"{package or 'this package':40} build {build:7.3f} s, of the processor {processor:7.3f} s; call {call * 1e6:6.2f} us")


if __name__ == "__main__":
    main()
