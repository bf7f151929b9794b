"""Processes that judge cases: bounded in time and memory, and begun anew after a crash."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import queue
import resource
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

#: Seconds that one case may take, also on a busy machine, and the address space of a process in bytes.
SECONDS, MEMORY = 60.0, 4 << 30
#: Seconds in which a process has to begin.
START = 180.0


def serve() -> None:
    """The loop of a process: a line with a kind and a seed, or with a text, gives a line with its verdict."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    # What a case writes past `sys.stdout` must not be taken for an answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    logging.disable(logging.CRITICAL)
    import fluvial as fl

    from . import case
    from .running import Verdict, judged

    fl.set_num_threads(1)
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        begin = time.process_time()
        tags: list = []
        if "text" in asked:
            text = asked["text"]
        else:
            made = case(asked["kind"], asked["seed"])
            text, tags = made.text, [[*tag, count] for tag, count in made.tags.items()]
        try:
            verdict = judged(text, ignored=asked.get("ignored", ""))
        except Exception as error:
            verdict = Verdict("invalid", [type(error).__name__], [str(error)])
        answer = dataclasses.asdict(verdict) | {
            "tags": tags,
            "ms": round((time.process_time() - begin) * 1e3, 1),
        }
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


class Worker:
    """A process that judges; one that dies or takes too long is replaced."""

    process: subprocess.Popen | None = None

    def start(self) -> None:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-m", "random_functions", "--serve"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
        )
        if self.answer(START) != b"ready\n":
            self.stop()
            raise RuntimeError("a process for random functions did not begin")

    def answer(self, seconds: float) -> bytes | None:
        """The next line, empty if the process has ended, or None if it did not come in time."""
        assert self.process is not None and self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline() if ready else None

    def judge(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The verdict on a case."""
        if self.process is None:
            self.start()
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            self.process.stdin.flush()
            line = self.answer(SECONDS)
        except BrokenPipeError:
            line = b""
        if line:
            return json.loads(line)
        code = self.stop()
        name, group = (
            ("timeout", "timeout") if line is None else ("crash", f"crash with code {code}")
        )
        none: dict[str, Any] = {
            "details": [],
            "refusal": "",
            "raised": "",
            "tags": [],
            "ms": SECONDS * 1e3,
        }
        return {"name": name, "groups": [group]} | none

    def stop(self) -> int:
        process, self.process = self.process, None
        if process is None:
            return 0
        if process.poll() is None and process.stdin is not None:
            process.kill()
        return process.wait()


def judge_all(
    asked: Iterable[dict[str, Any]],
    n_jobs: int,
    done: Callable[[dict, dict], None],
    stop: Callable[[], bool] = bool,
) -> None:
    """Judges cases on several processes, until there are no more or `stop` holds.

    `done` is called with each case and its answer.
    """
    todo: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    for one in asked:
        todo.put(one)
    lock = threading.Lock()
    failures: list[BaseException] = []

    def work() -> None:
        worker = Worker()
        try:
            while not stop() and not failures:
                try:
                    one = todo.get_nowait()
                except queue.Empty:
                    break
                answer = worker.judge(one)
                with lock:
                    done(one, answer)
        except BaseException as error:
            failures.append(error)
        finally:
            worker.stop()

    threads = [threading.Thread(target=work) for _ in range(n_jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
