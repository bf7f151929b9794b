"""`python -m fluvial`, and the command `fluvial` that the package installs."""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    from . import _core

    # Scripts are built by this Python, and Ctrl-C is the command's own affair.
    os.environ.setdefault("FLUVIAL_PYTHON", sys.executable)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.command_line(["fluvial", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
