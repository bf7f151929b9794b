"""Programs on several devices: on one, which uses all cores."""

from __future__ import annotations

from typing import Any

from .._fault import fault
from .compiler import BuildStrategy, ExecutionStrategy
from .executor import Executor, Scope
from .framework import Program, default_main_program

__all__ = ["ParallelExecutor", "ExecutionStrategy", "BuildStrategy"]


class ParallelExecutor:
    """Runs a program; fed lists of dicts are put together by rows.

    Args:
        use_cuda: False.
        loss_name: For Fluid's programs.
        main_program: The program; the default main program if none is given.
        share_vars_from: For Fluid's programs: programs of one scope share variables.
        exec_strategy: For Fluid's programs.
        build_strategy: For Fluid's programs.
        num_trainers: 1.
        trainer_id: 0.
        scope: Where states are.
    """

    def __init__(
        self,
        use_cuda: bool,
        loss_name: str | None = None,
        main_program: Program | None = None,
        share_vars_from: Any = None,
        exec_strategy: ExecutionStrategy | None = None,
        build_strategy: BuildStrategy | None = None,
        num_trainers: int = 1,
        trainer_id: int = 0,
        scope: Scope | None = None,
    ) -> None:
        if use_cuda:
            raise fault(RuntimeError, "there are no GPUs: programs run on the CPU", "write `use_cuda=False`")
        if num_trainers != 1:
            raise fault(NotImplementedError, "training by several machines is not in this front yet", "use one")
        self._main = main_program or default_main_program()
        self._scope, self._executor = scope, Executor()

    def run(self, fetch_list: Any, feed: Any = None, feed_dict: Any = None, return_numpy: bool = True) -> list[Any]:
        """Runs the program.

        Args:
            fetch_list: Variables, or names of variables.
            feed: Arrays by name, or a list of such dicts.
            feed_dict: An older name of `feed`.
            return_numpy: Whether arrays are returned.
        """
        given = feed if feed is not None else feed_dict
        return self._executor.run(self._main, given, fetch_list, scope=self._scope, return_numpy=return_numpy)

    @property
    def device_count(self) -> int:
        """The number of devices: one."""
        return 1

    def drop_local_exe_scopes(self) -> None:
        """For Fluid's programs: there are no scopes of devices."""
