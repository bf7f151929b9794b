"""Flags of Fluid's runtime. That runtime is not here, so that they have no effect: those that are known are kept with a
warning, others are refused."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .._fault import fault
from ._lists import listed

__all__ = ["get_flags", "set_flags"]

#: Flags of Fluid 1.5 to 1.8, without the beginning `FLAGS_`.
_KNOWN = frozenset(
    """allocator_strategy benchmark check_kernel_launch check_nan_inf communicator_fake_rpc
communicator_independent_recv_thread communicator_is_sgd_optimizer communicator_max_merge_var_num
communicator_merge_sparse_grad communicator_min_send_grad_num_before_recv communicator_send_queue_size
communicator_send_wait_times communicator_thread_pool_size conv_workspace_size_limit cpu_deterministic
cudnn_batchnorm_spatial_persistent cudnn_deterministic cudnn_exhaustive_search cudnn_exhaustive_search_times
dist_threadpool_size dygraph_debug eager_delete_scope eager_delete_tensor_gb enable_cublas_tensor_op_math
enable_parallel_graph enable_rpc_profiler enable_unused_var_check fast_eager_deletion_mode
fraction_of_cpu_memory_to_use fraction_of_cuda_pinned_memory_to_use fraction_of_gpu_memory_to_use fuse_parameter_groups_size
fuse_parameter_memory_size gpu_allocator_retry_time init_allocated_mem initial_cpu_memory_in_mb
initial_gpu_memory_in_mb inner_op_parallelism local_exe_sub_scope_limit max_inplace_grad_add memory_fraction_of_eager_deletion
multiple_of_cupti_buffer_size paddle_num_threads pe_profile_fname print_sub_graph_dir reader_queue_speed_test_mode
reallocate_gpu_memory_in_mb rpc_deadline rpc_get_thread_num rpc_prefetch_thread_num rpc_retry_times rpc_send_thread_num
selected_gpus skip_fused_all_reduce_check sync_nccl_allreduce tracer_profile_fname use_mkldnn use_ngraph
use_pinned_memory use_system_allocator worker_update_interval_secs""".split()
)
#: What to use in the place of flags that somebody might miss.
_INSTEAD = {
    "check_nan_inf": "`fluvial.debug` finds where a NaN comes from",
    "paddle_num_threads": "`fluvial.set_num_threads` says how many threads there are",
}
_values: dict[str, Any] = {}
_warned: set[str] = set()


def _name(flag: Any) -> str:
    if isinstance(flag, str) and flag.removeprefix("FLAGS_") in _KNOWN:
        return flag.removeprefix("FLAGS_")
    raise fault(ValueError, f"Fluid has no flag {flag!r}", 'flags are named as "FLAGS_check_nan_inf"')


def set_flags(flags: dict[str, Any]) -> None:
    """Keeps flags of Fluid's runtime, which have no effect: the first time that a flag is set there is a warning.

    Args:
        flags: Values by name, as "FLAGS_eager_delete_tensor_gb".
    """
    if not isinstance(flags, dict):
        raise fault(TypeError, f"{type(flags).__name__} is not a dict of flags", 'give {"FLAGS_…": value}')
    names = {_name(flag): value for flag, value in flags.items()}
    for name, value in names.items():
        _values[name] = value
        if name not in _warned:
            _warned.add(name)
            instead = _INSTEAD.get(name)
            warnings.warn(
                f"the flag `FLAGS_{name}` of Fluid's runtime has no effect here" + (f": {instead}" if instead else ""),
                stacklevel=2,
            )


def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """The flags that were set; None for those that were not.

    Args:
        flags: A name, or a list of names.
    """
    wanted = [flags] if isinstance(flags, str) else listed(flags, "names")
    return {flag: _values.get(_name(flag)) for flag in wanted}
