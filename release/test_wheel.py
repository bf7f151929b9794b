"""Installs a wheel into a fresh environment of each Python of the machine, and tries it there.

    python release/test_wheel.py WHEEL
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

MINORS = range(10, 15)
TRY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "try_wheel.py")
#: Beyond it something hangs.
SECONDS = 600


def interpreters():
    """A Python of each version that is there: of the path, or of pyenv."""
    versions = os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions")
    for minor in MINORS:
        name = f"python3.{minor}"
        for path in [shutil.which(name), *sorted(glob.glob(f"{versions}/3.{minor}.*/bin/{name}"))]:
            if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
                yield name, path
                break
        else:
            print(f"skipped: there is no {name}")


def tried(python, wheel):
    """Whether the wheel works in a fresh environment, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
        fresh = os.path.join(folder, "venv", "bin", "python")
        for command in (
            [python, "-m", "venv", "venv"],
            [fresh, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel],
            [fresh, TRY],
        ):
            done = subprocess.run(command, cwd=folder, env=environment, timeout=SECONDS)
            if done.returncode != 0:
                return False
    return True


def main():
    wheel = os.path.abspath(sys.argv[1])
    print(os.path.basename(wheel))
    results = {name: tried(path, wheel) for name, path in interpreters()}
    for name, works in results.items():
        print(f"{name}: {'ok' if works else 'FAILED'}")
    if not results or not all(results.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
