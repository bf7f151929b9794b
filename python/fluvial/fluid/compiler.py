"""Programs that are compiled, as all are."""

from __future__ import annotations

from typing import Any

from .._fault import fault
from .framework import Program

__all__ = ["CompiledProgram", "ExecutionStrategy", "BuildStrategy"]


class _Settings:
    """Settings of Fluid's compiler, which can be set and change nothing."""

    _known: dict[str, Any] = {}
    #: Settings that would change results: the values that do not, and what to do instead.
    _fixed: dict[str, tuple[tuple[Any, ...], str]] = {}

    def __init__(self) -> None:
        self.__dict__.update(self._known)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._known:
            raise fault(AttributeError, f"`{type(self).__name__}` has no setting `{name}`", f"it has {', '.join(self._known)}")
        same, remedy = self._fixed.get(name, ((value,), ""))
        if value not in same:
            raise fault(NotImplementedError, f"`{type(self).__name__}.{name}` is {value!r}", remedy)
        self.__dict__[name] = value


class ExecutionStrategy(_Settings):
    """How a program is run: by all cores, whatever is set."""

    _known = {
        "num_threads": 0, "allow_op_delay": False, "num_iteration_per_drop_scope": 1, "num_iteration_per_run": 1,
        "use_thread_barrier": False, "use_cuda": False, "use_experimental_executor": False, "dry_run": False,
    }  # fmt: skip
    _fixed = {
        "num_iteration_per_run": ((1,), "call `Executor.run` as often"),
        "use_cuda": ((False, 0), "there is the CPU; leave it out"),
        "dry_run": ((False,), "`fluvial.compile(program)` compiles without a run"),
    }  # fmt: skip


class _Choice:
    class ReduceStrategy:
        """How gradients of devices are added up."""

        AllReduce, Reduce = 0, 1

    class GradientScaleStrategy:
        """How gradients of devices are scaled."""

        CoeffNumDevice, One, Customized = 0, 1, 2


class BuildStrategy(_Settings, _Choice):
    """How a program is compiled: for one device, with all passes that keep its numbers, whatever is set."""

    _known = {
        "reduce_strategy": 0, "gradient_scale_strategy": 0, "debug_graphviz_path": "", "enable_sequential_execution": False,
        "remove_unnecessary_lock": True, "num_trainers": 1, "trainer_id": 0, "trainers_endpoints": [],
        "fuse_elewise_add_act_ops": False, "fuse_bn_act_ops": False, "fuse_relu_depthwise_conv": False,
        "fuse_broadcast_ops": False, "fuse_all_optimizer_ops": False, "sync_batch_norm": False, "memory_optimize": None,
        "enable_inplace": False, "fuse_all_reduce_ops": True, "cache_runtime_context": False, "is_distribution": False,
        "async_mode": False, "enable_parallel_graph": False, "enable_backward_optimizer_op_deps": True,
        "mkldnn_enabled_op_types": set(), "nccl_comm_num": 1, "use_hierarchical_allreduce": False,
        "enable_auto_fusion": False,
    }  # fmt: skip
    _fixed = {
        "gradient_scale_strategy": ((0, 1), "scale the loss; with one device, gradients are not scaled"),
        "debug_graphviz_path": (("",), "print the program, or use `fluvial.debug`"),
        "num_trainers": ((0, 1), "start ranks with `mpirun`; see `fluid.DistributeTranspiler`"),
    }  # fmt: skip


class CompiledProgram:
    """A program to run; it is compiled in any case.

    Args:
        program_or_graph: The program.
        build_strategy: For Fluid's programs.
    """

    def __init__(self, program_or_graph: Any, build_strategy: BuildStrategy | None = None) -> None:
        if not isinstance(program_or_graph, Program):
            raise fault(TypeError, f"{program_or_graph!r} is not a program", "give a `fluid.Program`")
        self._program = program_or_graph
        self._build_strategy = build_strategy
        self._is_inference = False
        self._predictor: Any = None

    def with_data_parallel(
        self,
        loss_name: str | None = None,
        build_strategy: BuildStrategy | None = None,
        exec_strategy: ExecutionStrategy | None = None,
        share_vars_from: Any = None,
        places: Any = None,
    ) -> CompiledProgram:
        """The program on several devices: on one, which uses all cores.

        Args:
            loss_name: For Fluid's programs.
            build_strategy: For Fluid's programs.
            exec_strategy: For Fluid's programs.
            share_vars_from: For Fluid's programs: programs of one scope share variables.
            places: For Fluid's programs.
        """
        return self

    def with_inference_optimize(self, config: Any) -> CompiledProgram:
        """The model of a folder, which `Executor.run` then gives `PaddleTensor`s in order.

        Args:
            config: A `core.NativeConfig` or `core.AnalysisConfig`.
        """
        from .inference import PaddlePredictor

        self._predictor = PaddlePredictor(config)
        self._is_inference = True
        return self

    _with_inference_optimize = with_inference_optimize
