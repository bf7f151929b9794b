"""Several ranks that train together: processes through MPI, or threads of one process.

Each rank has the whole model and reads a part of the data; gradients are averaged. Line by line `DataParallel` does it, under
`mpirun -n 2 python train.py`; a program is spread by `transpile`, or by `fluvial run --dist dp`. See `docs/scaling.md`.

Example:
    >>> def train(rank):
    ...     net = fl.dist.DataParallel(fl.nn.Linear(2, 1))
    ...     optimizer = fl.optimizer.SGD(net.parameters(), 0.1)
    ...     fl.mean(net(fl.full((4, 2), float(rank)))).backward()
    ...     optimizer.step()
    ...     return net.module.weight.tolist()
    >>> first, second = fl.dist.spawn(train, 2)
    >>> first == second
    True
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import types

from . import _core
from ._core import Program, State, Tensor, all_gather, all_to_all, recv_from, reduce_scatter, send_to
from ._fault import fault
from .nn._parallel import DataParallel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from ._core import TensorLike

    Result = TypeVar("Result")

__all__ = [
    "DataParallel",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "describe",
    "end_of_steps",
    "finish",
    "init",
    "is_first",
    "rank",
    "recv",
    "reduce_scatter",
    "send",
    "spawn",
    "to_servers",
    "transpile",
    "world",
]

_failed = False


def init() -> bool:
    """Joins the processes that `mpirun`, `srun` or `fluvial launch` has started with this one. Gives whether there are any:
    without a launcher this process is a run of one rank, and all of this module works.

    The library of MPI is the one that FLUVIAL_MPI names, or one that belongs to the launcher. An error, if the launcher belongs
    to another library: each process would train by itself. If this process ends by an exception, so do the others.
    """
    folders = [os.path.join(prefix, "lib") for prefix in (sys.prefix, sys.base_prefix)]
    joined = _core.dist_init(folders)
    if joined and not _hooked():
        atexit.register(finish)
    return joined


def _hooked() -> bool:
    """Notes uncaught exceptions from here on; says whether that was so already."""
    before = sys.excepthook
    if getattr(before, "_is_of_ranks", False):
        return True

    def hook(kind: Any, error: Any, trace: Any) -> None:
        global _failed
        _failed = True
        before(kind, error, trace)

    hook._is_of_ranks = True  # type: ignore[attr-defined]
    sys.excepthook = hook
    return False


def finish() -> None:
    """Ends together with the other processes. It is called by itself when Python ends."""
    _core.dist_finish(not _failed)


def rank() -> int:
    """The number of this rank, from 0."""
    return _core.dist_ranks()[0]


def world() -> int:
    """How many ranks there are."""
    return _core.dist_ranks()[1]


def is_first() -> bool:
    """Whether this is rank 0, which writes files and tells how it goes."""
    return rank() == 0


def describe() -> str:
    """What the ranks are: threads, or processes and their library."""
    return _core.dist_ranks()[2]


def barrier() -> None:
    """Waits until all ranks are here."""
    _core.dist_barrier()


def all_reduce(x: TensorLike, how: str = "sum") -> Tensor:
    """The values of all ranks as one, which each rank gets. All have to call it, in the same order. The gradient of a sum is the
    sum of the gradients of all ranks, that of a mean their mean.

    Args:
        x: The value of this rank.
        how: "sum", "mean", "max" or "min".
    """
    return _core.all_reduce(x, how)


def broadcast(x: TensorLike, root: int = 0) -> Tensor:
    """The value of one rank on all of them; those of the others say its type.

    Args:
        x: The value of this rank.
        root: The rank whose value counts.
    """
    return _core.broadcast_from(x, root)


def send(x: TensorLike, to: int, tag: int = 0) -> None:
    """Sends a value to another rank, which has to `recv` it.

    Args:
        x: The value.
        to: The rank that gets it.
        tag: What tells it from others.
    """
    send_to(x, to, tag)


def recv(like: TensorLike, source: int, tag: int = 0) -> Tensor:
    """The value that another rank sends here.

    Args:
        like: A tensor of its type and sizes.
        source: The rank that sends it.
        tag: What tells it from others.
    """
    return recv_from(like, source, tag)


def transpile(program: Program, how: str = "dp", *, world: int | None = None, bucket_mb: float = 25.0) -> Program:
    """The program that each rank runs, made of the program of one process: gradients are averaged, and loops over readers that
    train read the part of their rank. It is the same for all ranks, and for `dp` for any number of them. What cannot be spread
    is an error at its line.

    With `zero1` each rank has a part of what the optimizer remembers, with `zero3` also of the parameters; results have the
    same bits. These states are then parts for everybody who looks at them.

    Args:
        program: The program of a training.
        how: "dp", data parallel; "zero1", with what the optimizer remembers in parts; "zero3", with parameters in parts, too.
        world: For how many ranks, where states are cut; those of this run by default.
        bucket_mb: Gradients are averaged together until they have so many megabytes.

    Example:
        >>> layer = fl.nn.Linear(2, 1)
        >>> optimizer = fl.optimizer.SGD(layer.parameters(), 0.1)
        >>> def step(x):
        ...     loss = fl.mean(layer(x))
        ...     optimizer.minimize(loss)
        ...     return loss
        >>> program = fl.dist.transpile(fl.build(step, {"x": "f32[4, 2]"}))
        >>> str(program).count("= all_reduce")
        1
    """
    return _core.dist_transpile(program, how, _core.dist_ranks()[1] if world is None else world, int(bucket_mb * (1 << 20)))


def to_servers(
    program: Program, trainers: int, servers: int = 1, *, until_closed: bool = False, bucket_mb: float = 25.0
) -> tuple[Program, Program]:
    """The programs of trainers, the first ranks, and of parameter servers, the last ones. Trainers compute gradients and send
    them; servers keep parameters and what the optimizer remembers, in parts, update when all trainers have sent theirs, and
    send parameters back. The numbers are those of `transpile(program)`. Outputs are each trainer's own.

    Args:
        program: The program of a training.
        trainers: How many ranks are trainers.
        servers: How many are parameter servers.
        until_closed: For a program of one step: whether servers run theirs once, for all steps, until trainers call
            `end_of_steps`. Else both run theirs equally often. A program with a loop over its data says when it is over.
        bucket_mb: Gradients are sent together until they have so many megabytes.

    Example:
        >>> layer = fl.nn.Linear(2, 1)
        >>> optimizer = fl.optimizer.Adam(layer.parameters(), 0.1)
        >>> def step(x):
        ...     loss = fl.mean(layer(x))
        ...     optimizer.minimize(loss)
        ...     return loss
        >>> trainer, server = fl.dist.to_servers(fl.build(step, {"x": "f32[4, 2]"}), trainers=2)
        >>> "push_parts" in str(trainer), "collect_parts" in str(server), "adam_update" in str(trainer)
        (True, True, False)
    """
    if trainers < 1 or servers < 1:
        raise fault(ValueError, f"{trainers} trainers and {servers} servers do nothing", "use one of each at least")
    return _core.dist_served(program, (trainers, servers), (until_closed, True), int(bucket_mb * (1 << 20)))


def end_of_steps(trainers: int, servers: int = 1) -> None:
    """Tells parameter servers that this trainer makes no further step; they end when all trainers have said so.

    Args:
        trainers: How many ranks are trainers.
        servers: How many are parameter servers.
    """
    _core.dist_end_of_steps(trainers, servers)


def spawn(f: Callable[..., Result], world: int, *args: Any) -> list[Result]:
    """Calls `f(rank, *args)` on so many ranks, which are threads of this process, and gives what they return. Each has a scope of
    states of its own. The first exception of one of them is raised; others that wait for it are told.

    Args:
        f: What each rank does.
        world: How many ranks.
        args: What `f` takes besides.
    """
    results: list[Any] = [None] * world
    errors: list[BaseException] = []

    def run(number: int, own: _core.ThreadRank) -> None:
        with own, State():
            try:
                results[number] = f(number, *args)
            except BaseException as error:  # It is raised by the caller.
                errors.append(error)

    if world < 1:
        raise fault(ValueError, f"{world} ranks do nothing", "use one at least")
    threads = [
        threading.Thread(target=run, args=(number, own), name=f"rank {number}")
        for number, own in enumerate(_core.dist_threads(world))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


class _Module(types.ModuleType):
    """The module is the function, too, of the distance of two tensors: `fl.dist(a, b)`."""

    @property
    def _fl_plain(self) -> Callable[..., Tensor]:
        from ._derived import dist

        return dist

    def __call__(self, *args: Any, **options: Any) -> Tensor:
        return self._fl_plain(*args, **options)


sys.modules[__name__].__class__ = _Module
