"""Each kernel beside PyTorch: time, share of the machine's peak, and error.

Both run in this process, in turns, on the same number of threads; the fastest of many repetitions
counts. A ratio above 1 means that ours is faster. The peak is that of multiplications with additions or
that of moving memory, whichever the kernel is nearer to, measured in the same run; a kernel that
needs fewer operations than its definition, or whose data stay in the cache, can be above it. Errors are
root mean squares against f64, in relation to the result.

Cases are grouped: one file in `bench/cases` for each file in `crates/bench/src`, with rows of (class,
our case, PyTorch's function, target).
"""

import argparse
import ctypes
import importlib
import math
import pathlib
import sys
import time

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

HERE = pathlib.Path(__file__).resolve().parent
HEADER = ["class", "ours us", "torch us", "ratio", "target", "peak", "error", "torch's"]
WIDTHS = [40, 10, 10, 6, 6, 5, 8, 8]


class Library:
    """The built library of crates/bench."""

    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        for name in ["bench", "error", "flops", "bytes"]:
            function = getattr(self.functions, f"fluvial_{name}")
            function.restype = ctypes.c_double
            function.argtypes = [ctypes.c_char_p]
        self.functions.fluvial_bench.argtypes = [ctypes.c_char_p, ctypes.c_uint32]

    def time(self, case, repetitions):
        seconds = self.functions.fluvial_bench(case.encode(), repetitions)
        if seconds < 0:
            sys.exit(f"there is no case `{case}`")
        return seconds

    def about(self, what, case):
        return getattr(self.functions, f"fluvial_{what}")(case.encode())


class Wide(TorchFunctionMode):
    """Runs PyTorch's functions on f64 instead of f32."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = {name: value for name, value in (kwargs or {}).items() if name != "out"}
        floats = (torch.float32, torch.bfloat16)
        widen = lambda x: x.double() if isinstance(x, torch.Tensor) and x.dtype in floats else x
        return function(*tree_map(widen, args), **tree_map(widen, kwargs))


def error_of(theirs):
    """PyTorch's error against itself in f64; none where the function has no such meaning."""
    try:
        found = theirs()
        with Wide():
            exact = theirs()
    except Exception:  # whatever a function of PyTorch does not take in f64
        return None
    first = lambda result: result[0] if isinstance(result, (tuple, list)) else result
    found, exact = first(found), first(exact)
    if not isinstance(exact, torch.Tensor) or exact.dtype != torch.float64 or found.shape != exact.shape:
        return None
    return ((found.double() - exact).square().sum() / exact.square().sum()).sqrt().item()


def fastest(function, repetitions):
    best = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def compare(ours, case, theirs, rounds, budget):
    """The fastest times of both, measured in turns; about `budget` seconds for each."""
    once = max(ours.time(case, 2), 1e-7)
    theirs()
    repetitions = max(3, min(2000, int(budget / rounds / once)))
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        best[0] = min(best[0], ours.time(case, repetitions))
        time.sleep(0.01)
        best[1] = min(best[1], fastest(theirs, repetitions))
        time.sleep(0.01)
    return best


def number(value):
    return "" if value is None or value < 0 or math.isnan(value) else f"{value:.1e}"


def line(cells, markdown):
    if markdown:
        return "| " + " | ".join(cell.strip() for cell in cells) + " |"
    first, *rest = cells
    return f"{first:{WIDTHS[0]}}" + "".join(f" {cell:>{width}}" for cell, width in zip(rest, WIDTHS[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="the built library of crates/bench")
    parser.add_argument("groups", nargs="*", help="the groups to run, such as gemm; all by default")
    parser.add_argument("--only", default="", help="run classes that have this text in their name")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.6, help="for each side of a case")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args()
    ours = Library(options.library)
    ours.functions.fluvial_threads(options.threads)
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    flops = ours.about("flops", "peak_fma") / ours.time("peak_fma", 300)
    bandwidth = ours.about("bytes", "peak_triad 33554432") / ours.time("peak_triad 33554432", 12)
    print(f"{options.threads} threads; peak {flops / 1e9:.0f} GFLOP/s, {bandwidth / 1e9:.1f} GB/s\n")
    print(line(HEADER, options.markdown))
    if options.markdown:
        print("|---|" + "---:|" * (len(HEADER) - 1))
    for group in options.groups or sorted(path.stem for path in (HERE / "cases").glob("[!_]*.py")):
        for name, case, theirs, target in importlib.import_module(f"cases.{group}").rows():
            if options.only not in name:
                continue
            mine, torchs = compare(ours, case, theirs, options.rounds, options.seconds)
            ideal = max(ours.about("flops", case) / flops, ours.about("bytes", case) / bandwidth)
            error, their_error = ours.about("error", case), error_of(theirs)
            cells = [name, f"{mine * 1e6:.1f}", f"{torchs * 1e6:.1f}", f"{torchs / mine:.2f}", f"{target:.2f}"]
            cells += [f"{ideal / mine:.0%}" if ideal else "", number(error), number(their_error)]
            mark = "" if torchs / mine >= target else "  below target"
            if their_error and error > 2 * max(their_error, 3e-8):
                mark += "  error above twice PyTorch's"
            print(line(cells, options.markdown) + mark, flush=True)


if __name__ == "__main__":
    main()
