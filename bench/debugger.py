"""What the debugger costs: the same training step built with and without it, in turns.

    python bench/debugger.py WITH WITHOUT [--rounds N]

WITH and WITHOUT are two builds of `bench/debugger.rs`; `make bench-debugger` makes them.
"""

import argparse
import subprocess


def least(binary: str, into: dict[str, float]) -> None:
    done = subprocess.run([binary], check=True, capture_output=True, text=True, timeout=600)
    for line in done.stdout.splitlines():
        name, time = line.split("\t")
        into[name] = min(float(time), into.get(name, float("inf")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binaries", nargs=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ours: dict[str, float] = {}
    bare: dict[str, float] = {}
    for _ in range(options.rounds):
        least(options.binaries[0], ours)
        least(options.binaries[1], bare)
    base = bare["nobody"]
    print("| training step of an MLP (784-256-256-10, batch 128) | us | beside without | limit |")
    print("|---|---:|---:|---:|")
    print(f"| built without the debugger | {base:.1f} | | |")
    limits = {"nobody": "1 %", "attached": "5 %", "attached, stops at NaN": ""}
    names = {"nobody": "built with it, nobody debugs", "attached": "a client, no breakpoints"}
    names["attached, stops at NaN"] = "a client that stops at NaN"
    for name, time in ours.items():
        share = (time / base - 1) * 100
        print(f"| {names[name]} | {time:.1f} | {share:+.1f} % | {limits[name]} |")


if __name__ == "__main__":
    main()
