"""Programs for several machines: not in this front yet."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from .._fault import fault, missing
from ._lists import listed
from .framework import Program

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


class DistributeTranspiler:
    """Refused where it is used: training by several machines is not in this front yet.

    Args:
        config: How a program would be spread.
    """

    def __init__(self, config: DistributeTranspilerConfig | None = None) -> None:
        self.config = config or DistributeTranspilerConfig()

    def transpile(
        self, trainer_id: int, program: Program | None = None, pservers: str = "127.0.0.1:6174", trainers: Any = 1,
        sync_mode: bool = True, startup_program: Program | None = None, current_endpoint: str = "127.0.0.1:6174",
    ) -> None:  # fmt: skip
        """Refused."""
        raise fault(
            NotImplementedError,
            f"a program cannot be spread over {pservers} yet",
            "run the program itself in one process, which uses all cores",
        )

    def _refused(self) -> Any:
        raise fault(RuntimeError, "`transpile` comes first, and it is refused", "run the program itself in one process")

    def get_trainer_program(self, wait_port: bool = True) -> Any:
        """Refused."""
        return self._refused()

    def get_pserver_program(self, endpoint: str) -> Any:
        """Refused."""
        return self._refused()

    def get_pserver_programs(self, endpoint: str) -> Any:
        """Refused."""
        return self._refused()

    def get_startup_program(
        self, endpoint: str, pserver_program: Program | None = None, startup_program: Program | None = None
    ) -> Any:
        """Refused."""
        return self._refused()


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
            raise fault(TypeError, f"{program!r} is no program", "give what `load_inference_model` gave")


def memory_optimize(
    input_program: Any = None, skip_opt_set: Any = None, print_log: bool = False, level: int = 0,
    skip_grads: bool = True,
) -> None:  # fmt: skip
    """For Fluid's programs: memory is planned for each program anyway."""


def release_memory(input_program: Any = None, skip_opt_set: Any = None) -> None:
    """For Fluid's programs: memory is planned for each program anyway."""
