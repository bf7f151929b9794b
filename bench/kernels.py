"""Each kernel beside PyTorch: time and error, as ratios.

Both run in this process, in turns, on the same number of threads; the fastest of many repetitions
counts. A ratio above 1 means that ours is faster. Cases are grouped: one file in `bench/cases` for each
file in `crates/bench/src`, with rows of (class, our case, PyTorch's function, target).
"""

import argparse
import ctypes
import importlib
import pathlib
import sys
import time

import torch

HERE = pathlib.Path(__file__).resolve().parent


def library(path):
    ours = ctypes.CDLL(path)
    for name in ["fluvial_bench", "fluvial_error"]:
        getattr(ours, name).restype = ctypes.c_double
    ours.fluvial_bench.argtypes = [ctypes.c_char_p, ctypes.c_uint32]
    ours.fluvial_error.argtypes = [ctypes.c_char_p]
    return ours


def fastest(function, repetitions):
    best = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def compare(ours, case, theirs, rounds, budget):
    """The fastest times of both, measured in turns; about `budget` seconds for each."""
    name = case.encode()
    once = max(ours.fluvial_bench(name, 2), 1e-7)
    if once < 0 or ours.fluvial_bench(name, 1) < 0:
        sys.exit(f"there is no case `{case}`")
    theirs()
    repetitions = max(3, min(2000, int(budget / rounds / once)))
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        best[0] = min(best[0], ours.fluvial_bench(name, repetitions))
        time.sleep(0.01)
        best[1] = min(best[1], fastest(theirs, repetitions))
        time.sleep(0.01)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="the built library of crates/bench")
    parser.add_argument("groups", nargs="*", help="the groups to run, such as gemm; all by default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.6, help="for each side of a case")
    options = parser.parse_args()
    ours = library(options.library)
    ours.fluvial_threads(options.threads)
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    known = sorted(path.stem for path in (HERE / "cases").glob("*.py"))
    print(f"{'class':34} {'ours us':>10} {'torch us':>10} {'ratio':>6} {'target':>6} {'error':>9}")
    for group in options.groups or known:
        module = importlib.import_module(f"cases.{group}")
        for name, case, theirs, target in module.rows():
            mine, torchs = compare(ours, case, theirs, options.rounds, options.seconds)
            error = ours.fluvial_error(case.encode())
            mark = "" if torchs / mine >= target else "  below target"
            print(
                f"{name:34} {mine * 1e6:10.1f} {torchs * 1e6:10.1f} {torchs / mine:6.2f}"
                f" {target:6.2f} {error:9.1e}{mark}",
                flush=True,
            )


if __name__ == "__main__":
    main()
