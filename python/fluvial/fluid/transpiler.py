"""Programs for several machines: not in this front yet."""

from __future__ import annotations

from typing import Any

from .._fault import fault
from .framework import Program

__all__ = [
    "DistributeTranspiler", "memory_optimize", "release_memory", "HashName", "RoundRobin", "DistributeTranspilerConfig",
]  # fmt: skip


class HashName:
    """A way to spread variables over servers."""


class RoundRobin:
    """A way to spread variables over servers."""


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

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise fault(RuntimeError, "`transpile` comes first, and it is refused", "run the program itself in one process")

    get_trainer_program = get_pserver_program = get_pserver_programs = get_startup_program = _refused


def memory_optimize(
    input_program: Any = None, skip_opt_set: Any = None, print_log: bool = False, level: int = 0,
    skip_grads: bool = True,
) -> None:  # fmt: skip
    """For Fluid's programs: memory is planned for each program anyway."""


def release_memory(input_program: Any = None, skip_opt_set: Any = None) -> None:
    """For Fluid's programs: memory is planned for each program anyway."""
