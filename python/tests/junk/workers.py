"""Child processes that make the calls, with limits of memory and of time."""

from __future__ import annotations

import contextlib
import importlib.util
import mmap
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: Beyond what the process holds before the first call.
MEMORY = 1 << 30
#: With little memory: a few tensors of the sizes in question.
LITTLE_MEMORY = 12 << 20
#: Seconds of a call, after which it is interrupted, and then until it is killed.
SLOW, DEAF = 5.0, 5.0


class Fault(NamedTuple):
    """A call that ended neither with a result nor with an exception."""

    kind: str
    seed: int
    #: The seed with which its process began; calls in between may matter.
    since: int
    text: str


def serve(first: int, last: int, only: str, kind: str, board: str) -> None:
    """Makes the calls of these seeds, or reads their files, and writes on the board which one it is at."""
    from . import values
    from .calls import Call
    from .files import File

    made_by, little = File if kind == "files" else Call, kind == "little"
    # What is loaded at its first use is loaded before memory gets scarce.
    for seed in range(40):
        made_by(seed).make()
    limit = bytes_held() + (LITTLE_MEMORY if little else MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if little:
        values.SHAPES.extend(values.LARGE * 4)
    with open(board, "r+b") as file:
        shared = mmap.mmap(file.fileno(), 4096)
    made: dict[str, int] = {}

    def tell(text: str) -> None:
        data = text.encode(errors="replace")[:4000]
        shared[16 : 16 + len(data)] = data
        shared[8:16] = struct.pack("q", len(data))

    for seed in range(first, last):
        outcome = "interrupted"
        # A call may be over when it is interrupted for taking long.
        with contextlib.suppress(KeyboardInterrupt):
            shared[:16] = struct.pack("qq", seed, 0)
            try:
                call = made_by(seed, only)
                outcome = call.make(tell)
            except MemoryError:
                outcome = "memory"
            if outcome in ("panic", "interrupted"):
                print(f"fault {outcome} {seed} {call}".replace("\n", " "), flush=True)
        made[outcome] = made.get(outcome, 0) + 1
    shared[:8] = struct.pack("q", -2)
    print("made", *(f"{name}={n}" for name, n in made.items()), flush=True)
    os._exit(0)


def bytes_held() -> int:
    """The address space of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder for the files that calls read and write."""
    path = Path(tempfile.mkdtemp(prefix="fluvial-junk-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


#: The command that makes the calls of some seeds, given the first, the last and the board.
Command = Callable[[int, int, str], "list[str]"]


def calls(only: str = "", kind: str = "calls") -> Command:
    """Junk calls of Python; of the kind `little` with memory nearly used up, of the kind `files` damaged files."""

    def command(first: int, last: int, board: str) -> list[str]:
        return [
            *(sys.executable, "-W", "ignore", "-m", "junk", "--serve", f"{first}:{last}"),
            *("--only", only, "--kind", kind, "--board", board),
        ]

    return command


def inputs(binary: str, target: str) -> Command:
    """Inputs of a target of the fuzzer in Rust."""
    return lambda first, last, board: [binary, target, str(first), str(last), board]


def run(first: int, last: int, command: Command) -> tuple[dict[str, int], list[Fault]]:
    """Makes the calls in child processes; a process that dies or hangs is followed by another."""
    outcomes: dict[str, int] = {}
    faults: list[Fault] = []
    while first < last:
        done, fault = _one(first, last, command, outcomes)
        faults += fault
        first = done
    return outcomes, faults


def _bounded() -> None:
    # Started in the background, it would not hear that it is to stop.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What Python needs before the first call comes on top; it sets a narrower limit itself.
    resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY, 2 * MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _one(first: int, last: int, command: Command, outcomes: dict[str, int]) -> tuple[int, list[Fault]]:
    here = Path(__file__).parent.parent
    with folder() as place:
        board = place / "board"
        board.write_bytes(struct.pack("q", -1) + bytes(4088))
        (place / "work").mkdir()
        out = place / "out"
        package = importlib.util.find_spec("fluvial")
        assert package is not None and package.origin is not None
        paths = os.pathsep.join([str(here), str(Path(package.origin).resolve().parent.parent)])
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        with open(out, "wb") as sink:
            child = subprocess.Popen(
                command(first, last, str(board)), cwd=place / "work", env=environment, preexec_fn=_bounded,
                stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True,
            )
        kind = _watch(child, board)
        seed, said = _seed(board), _said(board)
        text = out.read_bytes().decode(errors="replace")
    faults = []
    for line in text.splitlines():
        if line.startswith("fault "):
            _, word, number, shown = line.split(" ", 3)
            # A call that works on more than there is time for, but hears Ctrl-C, is none.
            if word != "interrupted":
                faults.append(Fault(word, int(number), first, shown))
        elif line.startswith("made "):
            for pair in line.split()[1:]:
                name, _, n = pair.partition("=")
                outcomes[name] = outcomes.get(name, 0) + int(n)
    if seed == -2:
        return last, faults
    if seed < first:
        raise RuntimeError(f"the process ended before its first call:\n{text[-3000:]}")
    tail = [line for line in text.splitlines() if not line.startswith(("fault ", "made "))][-4:]
    faults.append(Fault(kind, seed, first, f"{said or 'while making arguments'} | {' | '.join(tail)[-600:]}"))
    outcomes["faults"] = outcomes.get("faults", 0) + 1
    outcomes["before a fault"] = outcomes.get("before a fault", 0) + seed - first
    return seed + 1, faults


def _watch(child: subprocess.Popen, board: Path) -> str:
    """Waits for the end. A call that takes long is interrupted, and killed if it does not hear."""
    at, since, asked = -1, time.monotonic(), False
    while child.poll() is None:
        time.sleep(0.02)
        now, seed = time.monotonic(), _seed(board)
        if seed != at:
            at, since, asked = seed, now, False
        limit = 60.0 if seed == -1 else SLOW
        if now - since > limit + DEAF:
            child.kill()
            child.wait()
            return "hang"
        if now - since > limit and not asked:
            asked = True
            child.send_signal(signal.SIGINT)
    code = child.returncode
    return f"died of signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"


def _seed(board: Path) -> int:
    with open(board, "rb") as file:
        return struct.unpack("q", file.read(8))[0]


def _said(board: Path) -> str:
    data = board.read_bytes()
    return data[16 : 16 + struct.unpack("q", data[8:16])[0]].decode(errors="replace")


def show(seed: int, only: str, kind: str) -> Any:
    """Says what call a seed makes, makes it, and gives the outcome."""
    from .calls import Call
    from .files import File

    if kind == "files":
        return File(seed, only).make(print)
    call = Call(seed, only)
    try:
        call.prepare()
    except Exception as error:
        print(f"while making arguments: {type(error).__name__}: {error}")
    print(call, flush=True)
    again = Call(seed, only)
    return again.make()
