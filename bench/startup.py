"""What importing the package costs beyond NumPy's import, and how large it is.

Each import happens in a process of its own; the fastest of the repetitions counts.
"""

import argparse
import pathlib
import subprocess
import sys

SCRIPT = """
import time
import {before}
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def milliseconds(module, before, repetitions):
    """The least time of an import, after another one."""
    command = [sys.executable, "-c", SCRIPT.format(module=module, before=before)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(repetitions)]
    return 1000 * min(float(run.stdout) for run in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--wheel", type=pathlib.Path, help="a wheel whose size is printed")
    options = parser.parse_args()
    print(f"import numpy           {milliseconds('numpy', 'time', options.repetitions):8.1f} ms")
    print(f"import fluvial after   {milliseconds('fluvial', 'numpy', options.repetitions):8.1f} ms")
    if options.wheel:
        print(f"wheel                  {options.wheel.stat().st_size / 1e6:8.1f} MB")


if __name__ == "__main__":
    main()
