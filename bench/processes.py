"""Child processes of the benchmarks: started, bounded in time, and read."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class Fault(Exception):
    """A child failed; the text is the end of what it said."""


@dataclass(frozen=True)
class Done:
    """What a child printed and took."""

    stdout: str
    seconds: float
    cpu_seconds: float
    peak_mb: float | None  # None if it was over before anybody looked


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """That of this process, with our package on the path."""
    paths = [str(HERE.parent / "python"), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(p for p in paths if p)
    return {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", **(extra or {})}


def run(command: Sequence[str], limit: float, extra: Mapping[str, str] | None = None) -> Done:
    """Runs a command to its end, or kills it and its children after `limit` seconds.

    Raises:
        Fault: If it does not end well.
    """
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        start = time.monotonic()
        # A session of its own, so that the processes a compiler starts end with it.
        child = subprocess.Popen(
            command, stdout=stdout, stderr=stderr, env=environment(extra), start_new_session=True
        )
        try:
            peak = watch(child.pid, start + limit)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
        seconds = time.monotonic() - start
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        for file in (stdout, stderr):
            file.seek(0)
        printed, said = stdout.read(), stderr.read()
    if child.returncode != 0:
        raise Fault(f"exit code {child.returncode}: {last_words(said) or last_words(printed)}")
    return Done(printed, seconds, usage.ru_utime + usage.ru_stime, peak)


def last_words(text: str) -> str:
    """The last two lines that say something; Python underlines the place of a fault."""
    lines = [line.strip() for line in text.splitlines()]
    return " | ".join([line for line in lines if line.strip("^~ ")][-2:])


def watch(pid: int, end: float) -> float | None:
    """Waits until a child is over; its peak of memory in MB, as last seen.

    The kernel's own account of a finished child will not do: it begins with the parent's memory.
    """
    peak, descriptor = None, os.pidfd_open(pid)
    try:
        while not select.select([descriptor], [], [], 0.05)[0]:
            if time.monotonic() > end:
                raise Fault("took longer than the limit allows")
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM"):
                    peak = int(line.split()[1]) / 1024
    finally:
        os.close(descriptor)
    return peak


def last_row(text: str) -> dict[str, Any]:
    """The JSON object in the last line; libraries may have printed before it."""
    lines = text.strip().splitlines()
    try:
        row = json.loads(lines[-1]) if lines else None
    except json.JSONDecodeError:
        row = None
    if not isinstance(row, dict):
        raise Fault(f"printed no row: {text[-200:]!r}")
    return row


def measure_model(peer: str, job: Mapping[str, Any], cache: Path, limit: float) -> dict[str, Any]:
    """One measurement by measure_model.py, with the compiler's cache in `cache`."""
    script, extra = str(HERE / "measure_model.py"), {"TORCHINDUCTOR_CACHE_DIR": str(cache)}
    command = [sys.executable, script, peer, json.dumps(job), str(time.monotonic())]
    return last_row(run(command, limit, extra).stdout)


def versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of the packages that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
