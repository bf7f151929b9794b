"""Worker processes that make samples in Python, and what they know of themselves.

A worker takes jobs one by one, in the order in which they were sent, and sends a result for each. It ends when its
parent closes the connection or is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import queue
import signal
import threading
import traceback
import warnings
import weakref
from dataclasses import dataclass

from ... import _core
from ..._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@dataclass
class WorkerInfo:
    """What a worker process of a loader knows of itself."""

    #: Its number, from 0.
    id: int
    #: How many workers there are.
    num_workers: int
    #: The seed of the loader.
    seed: int
    #: Its copy of the dataset.
    dataset: Any


_info: list[WorkerInfo] = []


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a loader, what it knows of itself; elsewhere None."""
    return _info[-1] if _info else None


@contextlib.contextmanager
def being(info: WorkerInfo | None) -> Any:
    """Has `get_worker_info` tell this."""
    before = list(_info)
    _info[:] = [] if info is None else [info]
    try:
        yield
    finally:
        _info[:] = before


class WorkerError(RuntimeError):
    """Where an exception came from that a worker has raised."""


class Workers:
    """Processes that run a task.

    Args:
        n: How many.
        make: Called in each process with its `WorkerInfo`; gives a function from jobs to results.
        info: Of the first worker.
        context: How processes start: "fork", "spawn" or "forkserver", or a context of `multiprocessing`.
        timeout: How many seconds a result may take; 0 for as long as it takes.
    """

    def __init__(
        self,
        n: int,
        make: Callable[[WorkerInfo], Callable[[Any], Any]],
        info: WorkerInfo,
        context: Any = None,
        timeout: float = 0,
    ) -> None:
        self.timeout = timeout
        if context is None:
            context = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
        if isinstance(context, str):
            context = multiprocessing.get_context(context)
        self._connections: list[Any] = []
        self._processes: list[Any] = []
        # Children are told apart from the pool, so that nothing keeps it alive.
        weakref.finalize(self, _close, self._connections, self._processes)
        for i in range(n):
            ours, theirs = context.Pipe()
            known = WorkerInfo(i, n, info.seed, info.dataset)
            # A forked worker has its siblings' connections, too, and must let go of them.
            process = context.Process(
                target=_work, args=(theirs, [ours, *self._connections], make, known), daemon=True
            )
            with warnings.catch_warnings():
                # Kernels of a worker use its own thread alone.
                warnings.simplefilter("ignore", DeprecationWarning)
                try:
                    process.start()
                except (TypeError, AttributeError, ImportError) as error:
                    raise fault(
                        TypeError,
                        f"the dataset cannot be sent to a worker process: {error}",
                        'define its class and its functions at the top of a module, or use `multiprocessing_context="fork"`',
                    ) from error
            theirs.close()
            self._connections.append(ours)
            self._processes.append(process)

    def __len__(self) -> int:
        return len(self._processes)

    def send(self, worker: int, job: Any) -> None:
        """Gives a worker something to do."""
        try:
            self._connections[worker].send(job)
        except (BrokenPipeError, ConnectionResetError):
            raise self._gone(worker) from None

    def receive(self, worker: int) -> Any:
        """The next result of a worker."""
        connection, process = self._connections[worker], self._processes[worker]
        wait = self.timeout or None
        ready = multiprocessing.connection.wait([connection, process.sentinel], wait)
        if not ready:
            raise fault(
                TimeoutError,
                f"worker process {worker} gave nothing for {self.timeout} seconds",
                "give the loader a larger `timeout`, or 0 to wait for as long as it takes",
            )
        if not connection.poll():
            raise self._gone(worker)
        try:
            is_right, value = connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._gone(worker) from None
        if is_right:
            return value
        error, text = value
        raise error from WorkerError(f"in worker process {worker}:\n{text}")

    def close(self) -> None:
        """Ends the processes."""
        _close(self._connections, self._processes)

    def _gone(self, worker: int) -> RuntimeError:
        process = self._processes[worker]
        process.join(1)
        code = process.exitcode
        how = f"by signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"with exit code {code}"
        return fault(
            RuntimeError,
            f"worker process {worker} ended {how}",
            "a worker that is killed may have used too much memory: use fewer workers or smaller batches",
        )


def _close(connections: list, processes: list) -> None:
    for connection in connections:
        connection.close()
    for process in processes:
        process.join(2)
        if process.is_alive():
            process.terminate()
            process.join(2)
    connections.clear()
    processes.clear()


def _work(
    connection: Any, others: list, make: Callable[[WorkerInfo], Callable[[Any], Any]], info: WorkerInfo
) -> None:
    """What a worker process does."""
    # Ctrl-C is for the parent, which closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in others:
        other.close()
    _core.set_num_threads(1)
    jobs: queue.SimpleQueue = queue.SimpleQueue()

    def listen() -> None:
        # On a thread of its own, so that the parent is never kept waiting while a result is on its way.
        while True:
            try:
                jobs.put((True, connection.recv()))
            except (EOFError, OSError):
                jobs.put((False, None))
                return

    _info[:] = [info]
    run: Callable[[Any], Any] | None = None
    failed: BaseException | None = None
    try:
        run = make(info)
    except Exception as error:
        failed = error
    threading.Thread(target=listen, daemon=True).start()
    while True:
        is_job, job = jobs.get()
        if not is_job:
            # Threads of the parent that a fork has not brought along must not be waited for.
            os._exit(0)
        try:
            if failed is not None or run is None:
                raise failed or RuntimeError("the worker has no task")
            answer = (True, run(job))
        except Exception as error:
            answer = (False, (_sendable(error), traceback.format_exc()))
        try:
            connection.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)
        except Exception as error:
            connection.send((False, (_sendable(error), traceback.format_exc())))


def _sendable(error: Exception) -> Exception:
    """The exception, or if it cannot be sent, one that says the same."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
