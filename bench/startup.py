"""What importing the package costs beyond NumPy's import, and how large it is.

Each import happens in a process of its own; the fastest of the repetitions counts. The time of the processor is what a
busy machine changes least.
"""

import argparse
import pathlib
import subprocess
import sys

SCRIPT = """
import time
import {before}
start = time.perf_counter(), time.process_time()
import {module}
print(time.perf_counter() - start[0], time.process_time() - start[1])
"""


def milliseconds(module, before, repetitions):
    """The least times of an import, after another one: all of it, and that of the processor."""
    command = [sys.executable, "-c", SCRIPT.format(module=module, before=before)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(repetitions)]
    times = [[1000 * float(seconds) for seconds in run.stdout.split()] for run in runs]
    return tuple(map(min, zip(*times)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--wheel", type=pathlib.Path, help="a wheel whose size is printed")
    options = parser.parse_args()
    for module, before in (("numpy", "time"), ("fluvial", "numpy")):
        wall, processor = milliseconds(module, before, options.repetitions)
        print(f"import {module:10} after {before:8}{wall:8.1f} ms, of the processor {processor:.1f} ms")
    if options.wheel:
        print(f"wheel                          {options.wheel.stat().st_size / 1e6:8.1f} MB")


if __name__ == "__main__":
    main()
