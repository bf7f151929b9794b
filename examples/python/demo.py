"""Runs `digits.py` in three ways and prints what they have in common: the parameters, to the bit.

    python demo.py [--fluvial PATH] [--epochs N]
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time

import fluvial as fl
import make_digits

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 1438 // 64


def measured(command, folder, **environment):
    """Runs a command; gives its output, its seconds and its peak memory in MB."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        child = subprocess.Popen(
            command, cwd=folder, stdout=output, env={**os.environ, **environment}
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        if child.returncode != 0:
            sys.exit(f"{' '.join(command)} failed")
        output.seek(0)
        return output.read(), seconds, usage.ru_maxrss / 1024


def fingerprint(folder):
    """The sha256 of the parameters."""
    with fl.State() as state:
        fl.load_states(os.path.join(folder, "model", "model.safetensors"))
        digest = hashlib.sha256()
        for name in state.names():
            digest.update(name.encode() + state[name].numpy().tobytes())
    os.remove(os.path.join(folder, "model", "model.safetensors"))
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fluvial", help="the command line program; by default the package's own")
    parser.add_argument("--epochs", default="12", help="how often the data is gone through")
    given = parser.parse_args()
    fluvial = [given.fluvial] if given.fluvial else [sys.executable, "-m", "fluvial"]
    script = os.path.join(HERE, "digits.py")
    ways = [
        ("imperative", [sys.executable, script, given.epochs], {"FLUVIAL_MODE": "imperative"}),
        ("program", [sys.executable, script, given.epochs], {"FLUVIAL_MODE": "program"}),
        ("file, no Python", [*fluvial, "run", "-q", "digits.flb"], {}),
    ]
    print(f"{'mode':<16}{'steps/s':>9}{'peak MB':>9}{'accuracy':>10}  sha256 of the parameters")
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        make_digits.main(folder)
        environment = {"FLUVIAL_PYTHON": sys.executable}
        build = [*fluvial, "build", "-q", script, "-o", "digits.flb", "--", given.epochs]
        measured(build, folder, **environment)
        for name, command, environment in ways:
            output, seconds, peak = measured(command, folder, **environment)
            accuracy = float(re.search(r"accuracy.*?([0-9]\.[0-9]+)", output)[1])
            digest = fingerprint(folder)
            found.add(digest)
            rate = STEPS * int(given.epochs) / seconds
            print(f"{name:<16}{rate:>9.0f}{peak:>9.0f}{accuracy:>10.4f}  {digest[:32]}…")
    if len(found) != 1:
        sys.exit("the parameters differ")
    print("The parameters are the same, to the bit. Times include the start of the process.")


if __name__ == "__main__":
    main()
