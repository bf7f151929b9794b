"""Programs for several machines: trainers and parameter servers."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._fault import fault, missing
from ._lists import listed
from .framework import Program, default_main_program

__all__ = [
    "DistributeTranspiler", "memory_optimize", "release_memory", "HashName", "RoundRobin", "DistributeTranspilerConfig",
]  # fmt: skip


class PSDispatcher:
    """Says which server has which variable.

    Args:
        pserver_endpoints: Addresses of the servers.
    """

    def __init__(self, pserver_endpoints: Sequence[str]) -> None:
        self._eps = listed(pserver_endpoints, "addresses")
        if not self._eps:
            raise fault(ValueError, "there is no server to spread variables over", "give at least one address")
        self._step = 0

    @property
    def eps(self) -> list[str]:
        """Addresses of the servers."""
        return self._eps

    def reset(self) -> None:
        """Begins again with the first server."""
        self._step = 0

    def dispatch(self, varlist: Sequence[Any]) -> list[str]:
        """The server of each variable.

        Args:
            varlist: The variables.
        """
        raise missing(self, "dispatch(self, varlist)")


class HashName(PSDispatcher):
    """Spreads variables over servers by their names."""

    def dispatch(self, varlist: Sequence[Any]) -> list[str]:
        names = [var if isinstance(var, str) else var.name for var in varlist]
        return [self._eps[zlib.crc32(name.encode()) % len(self._eps)] for name in names]


class RoundRobin(PSDispatcher):
    """Spreads variables over servers in turn."""

    def dispatch(self, varlist: Sequence[Any]) -> list[str]:
        found = []
        for _ in varlist:
            found.append(self._eps[self._step % len(self._eps)])
            self._step += 1
        return found


class DistributeTranspilerConfig:
    """How a program would be spread over machines."""

    slice_var_up = True
    split_method: Any = None
    min_block_size = 8192
    mode = "pserver"
    sync_mode = True


class _Sides:
    """The programs of trainers and parameter servers that a program is made into, and how many there are of each."""

    def __init__(self, program: Program, trainers: int, servers: int) -> None:
        self.program, self.trainers, self.servers = program, trainers, servers
        self._made: dict[Any, tuple[Any, Any]] = {}

    def made(self, key: Any, runnable: Any) -> tuple[Any, Any]:
        """Both programs of the core.

        Args:
            key: What tells the program from others.
            runnable: The program of one process.
        """
        if key not in self._made:
            sides = (self.trainers, self.servers)
            self._made[key] = _core.dist_served(runnable, sides, (True, False), 25 << 20)
        return self._made[key]

    def pair(self) -> tuple[Any, Any]:
        """Those of a run that fetches nothing."""
        return self.made(self.program._version, self.program.global_block()._core.snapshot({}))

    def parameters(self) -> list[str]:
        """The parameters that servers update."""
        known = {entry.name for entry in self.program.global_block().all_parameters()}
        return sorted(known & set(self.pair()[1].states))


class TrainerProgram:
    """What a trainer runs: the program without updates, which come from parameter servers."""

    def __init__(self, sides: _Sides) -> None:
        self._sides, self._program, self._shared = sides, sides.program, False

    def share(self, state: Any) -> None:
        """Before the first step: all ranks get the parameters of trainer 0.

        Args:
            state: Where they are.
        """
        if self._shared:
            return
        for name in self._sides.parameters():
            if name not in state:
                raise fault(RuntimeError, f"`{name}` has no value in this scope", "run the startup program first")
            state[name] = _core.broadcast_from(state[name], 0)
        self._shared = True


class PserverProgram:
    """What a parameter server runs, until all trainers have closed their executors."""

    def __init__(self, sides: _Sides) -> None:
        self._sides = sides

    def run(self, state: Any) -> None:
        """Serves.

        Args:
            state: Where its parts are.
        """
        missing_one = next((name for name in self._sides.parameters() if name not in state), None)
        if missing_one is not None:
            raise fault(
                RuntimeError,
                f"the server has no `{missing_one}` yet",
                "run `get_startup_program(endpoint, pserver_program)` first",
            )
        self._sides.pair()[1].run({})


class PserverStartup:
    """Gives a parameter server its parts of the parameters of trainer 0."""

    def __init__(self, sides: _Sides, place: int) -> None:
        self._sides, self._place = sides, place

    def run(self, state: Any) -> None:
        """Waits for the parameters.

        Args:
            state: Where its parts go.
        """
        import numpy as np

        server = self._sides.pair()[1]
        parts, types = _core.dist_parts(server), server.states
        for name in self._sides.parameters():
            dtype, sizes = _type_of(parts[name] if name in parts else types[name])
            value = _core.broadcast_from(_core.zeros(sizes, dtype), 0).numpy()
            if name in parts:
                flat = value.reshape(-1)
                length = -(-flat.size // self._sides.servers)
                own = flat[self._place * length : (self._place + 1) * length]
                value = np.concatenate([own, np.zeros(length - own.size, flat.dtype)])
            state.insert(name, _core.tensor(value), "parameter")


def _type_of(text: str) -> tuple[str, list[int]]:
    """Element type and sizes of a type's text: `f32[2, 3]`."""
    dtype, _, sizes = text.partition("[")
    return dtype, [int(size) for size in sizes.rstrip("]").split(",") if size.strip()]


class DistributeTranspiler:
    """Makes programs of trainers and of parameter servers of one program. Ranks are started together, as by
    `mpirun -n 4 python train.py`, with `fl.dist.init()`: the first are trainers, by `trainer_id`, the last are servers, in
    the order of their addresses, which are only names here. Servers update when all trainers have sent their gradients.

    Args:
        config: How a program is spread.
    """

    def __init__(self, config: DistributeTranspilerConfig | None = None) -> None:
        self.config = config or DistributeTranspilerConfig()
        self._sides: _Sides | None = None
        self._endpoints: list[str] = []
        self._trainer_id = 0

    def transpile(
        self, trainer_id: int, program: Program | None = None, pservers: str = "127.0.0.1:6174", trainers: Any = 1,
        sync_mode: bool = True, startup_program: Program | None = None, current_endpoint: str = "127.0.0.1:6174",
    ) -> None:  # fmt: skip
        """Takes a program apart.

        Args:
            trainer_id: The number of this trainer, from 0; for servers it does not matter.
            program: The program of a training, with `minimize`; the default main program if none is given.
            pservers: Addresses of the servers, with commas between them.
            trainers: How many trainers there are.
            sync_mode: Whether servers wait for all trainers; else refused.
            startup_program: For Fluid's programs: trainers run the startup program as it is.
            current_endpoint: For Fluid's programs.
        """
        if self.config.mode != "pserver":
            raise fault(
                NotImplementedError, f"the mode {self.config.mode!r} is not in this front", "use `fl.dist.transpile`"
            )
        if not (sync_mode and self.config.sync_mode):
            raise fault(
                NotImplementedError, "servers that do not wait for all trainers are not there yet", "use sync_mode=True"
            )
        if not isinstance(trainers, int) or isinstance(trainers, bool) or trainers < 1:
            raise fault(ValueError, f"{trainers!r} trainers cannot train", "give a number of them, from 1")
        endpoints = [part.strip() for part in pservers.split(",") if part.strip()]
        if not endpoints or len(set(endpoints)) < len(endpoints):
            raise fault(ValueError, f"{pservers!r} does not name servers, each once", 'write "host:port,host:port"')
        program = program or default_main_program()
        if not isinstance(program, Program):
            raise fault(TypeError, f"{program!r} is not a program", "give a `fluid.Program`")
        self._endpoints, self._trainer_id = endpoints, trainer_id
        self._sides = _Sides(program, trainers, len(endpoints))
        self._sides.pair()

    def _known(self) -> _Sides:
        if self._sides is None:
            raise fault(RuntimeError, "there are no programs yet", "call `transpile` first")
        return self._sides

    def _check_rank(self, expected: int, who: str) -> None:
        """The ranks have to be those that the programs are for."""
        rank, world, _ = _core.dist_ranks()
        sides = self._known()
        if world != sides.trainers + sides.servers:
            raise fault(
                RuntimeError,
                f"{sides.trainers} trainers and {sides.servers} servers are {sides.trainers + sides.servers} ranks, "
                f"but there are {world}",
                "start as many, as by `mpirun -n 4 python train.py`, and call `fl.dist.init()` first",
            )
        if rank != expected:
            raise fault(RuntimeError, f"{who} is rank {expected}, but this is rank {rank}", "choose roles by `fl.dist.rank()`")

    def get_trainer_program(self, wait_port: bool = True) -> TrainerProgram:
        """What this trainer runs.

        Args:
            wait_port: For Fluid's programs: the ranks are there.
        """
        sides = self._known()
        if not 0 <= self._trainer_id < sides.trainers:
            raise fault(ValueError, f"there is no trainer {self._trainer_id} of {sides.trainers}", "give a number from 0")
        self._check_rank(self._trainer_id, f"trainer {self._trainer_id}")
        return TrainerProgram(sides)

    def _place(self, endpoint: str) -> int:
        if endpoint not in self._endpoints:
            raise fault(ValueError, f"{endpoint!r} is not a server", f"the servers are {', '.join(self._endpoints)}")
        place = self._endpoints.index(endpoint)
        self._check_rank(self._known().trainers + place, f"the server {endpoint!r}")
        return place

    def get_pserver_program(self, endpoint: str) -> PserverProgram:
        """What a server runs.

        Args:
            endpoint: Its address.
        """
        self._known()
        self._place(endpoint)
        return PserverProgram(self._known())

    def get_pserver_programs(self, endpoint: str) -> tuple[PserverProgram, PserverStartup]:
        """What a server runs, and what it runs before.

        Args:
            endpoint: Its address.
        """
        return self.get_pserver_program(endpoint), self.get_startup_program(endpoint)

    def get_startup_program(
        self, endpoint: str, pserver_program: Any = None, startup_program: Program | None = None
    ) -> PserverStartup:
        """What a server runs first: it gets its parts of the parameters of trainer 0, when that makes its first step.

        Args:
            endpoint: Its address.
            pserver_program: For Fluid's programs.
            startup_program: For Fluid's programs.
        """
        return PserverStartup(self._known(), self._place(endpoint))


class InferenceTranspiler:
    """For Fluid's programs: what it would fuse in a program for use is left to the compiler."""

    def transpile(self, program: Program, place: Any, scope: Any = None) -> None:
        """Checks its arguments, and leaves the program as it is: its results are the same.

        Args:
            program: A program for use.
            place: For Fluid's programs.
            scope: For Fluid's programs.
        """
        if not isinstance(program, Program):
            raise fault(TypeError, f"{program!r} is not a program", "give what `load_inference_model` gave")


def memory_optimize(
    input_program: Any = None, skip_opt_set: Any = None, print_log: bool = False, level: int = 0,
    skip_grads: bool = True,
) -> None:  # fmt: skip
    """For Fluid's programs: memory is planned for each program anyway."""


def release_memory(input_program: Any = None, skip_opt_set: Any = None) -> None:
    """For Fluid's programs: memory is planned for each program anyway."""
