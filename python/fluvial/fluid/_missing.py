"""What Fluid had and this front does not, and what to use. Loaded when a name was not found."""

from __future__ import annotations

from ._names import LAYERS_REFUSED

_DATASETS = "loop over a reader, or use `fluid.io.DataLoader.from_generator`"
_DECODERS = "write the loop with `layers.while_loop` and `layers.beam_search`, or under `fluid.dygraph.guard()`"
_TRAINERS = "run the program in one process, which uses all cores"

#: Names of Fluid by the module of this front, and what to use in their place.
NAMES: dict[str, dict[str, str]] = {
    "fluvial.fluid": {
        **dict.fromkeys(("DatasetFactory", "InMemoryDataset", "QueueDataset", "DataFeedDesc"), _DATASETS),
        **dict.fromkeys(("TrainerDesc", "MultiTrainer", "DistMultiTrainer", "PipelineTrainer"), _TRAINERS),
        "ComplexVariable": "keep real and imaginary parts in two variables",
        "learning_rate_decay": "the functions are in `fluid.layers`, such as `layers.exponential_decay`",
        "incubate": _TRAINERS,
        "fleet": _TRAINERS,
        "default_scope_funcs": "use `fluid.global_scope()` and `fluid.scope_guard`",
        "graphviz": "print the program, or use `fluvial.debug`",
        "net_drawer": "print the program, or use `fluvial.debug`",
        "debugger": "use `fluvial.debug`",
        "distribute_lookup_table": _TRAINERS,
        "communicator": _TRAINERS,
        "op": "call functions of `fluid.layers`",
        "Inferencer": "use `fluid.io.load_inference_model` and `fluid.Executor`",
        "Trainer": "use `fluid.Executor`",
    },
    "fluvial.fluid.core": {
        "ProgramDesc": "use `fluid.Program`; `program.desc.serialize_to_string()` gives its bytes",
        "Executor": "use `fluid.Executor`",
        "ops": "call functions of `fluid.layers`",
        "NCCL": _TRAINERS,
        "get_all_op_protos": "functions of `fluid.layers` have Python's signatures",
    },
    "fluvial.fluid.dygraph": {
        "ProgramTranslator": "use `fluid.dygraph.declarative`, or `fluvial.function`",
        "Tracer": "use `fluid.dygraph.TracedLayer.trace`",
        **dict.fromkeys(("static_runner", "StaticModelRunner"), "use `fluid.io.load_inference_model` and `fluid.Executor`"),
        "start_gperf_profiler": "use `fluid.profiler.profiler('CPU')`",
        "stop_gperf_profiler": "use `fluid.profiler.profiler('CPU')`",
    },
    "fluvial.fluid.contrib": {
        "slim": "no tools for smaller models are here",
        "quantize": "no tools for smaller models are here",
        "decoder": _DECODERS,
        "Calibrator": "no tools for smaller models are here",
        "InitState": _DECODERS,
        "StateCell": _DECODERS,
        "TrainingDecoder": _DECODERS,
        "BeamSearchDecoder": _DECODERS,
        "memory_usage": "`fluvial.compile(program).report()` says what a run needs",
        "op_freq_statistic": "`print(program)` lists all calls",
        "extend_optimizer": "give `regularization` to the optimizer",
        "extend_with_decoupled_weight_decay": "use `fluvial.optimizer.AdamW`",
        **dict.fromkeys(("Compressor", "QuantizeTranspiler"), "no tools for smaller models are here"),
        **dict.fromkeys(
            ("HDFSClient", "multi_download", "multi_upload", "reader", "distributed_batch_reader", "utils"),
            "read local files with a reader of Python (`fluid.io.batch`), or with `fluvial.batch_reader`",
        ),
        **dict.fromkeys(
            ("convert_dist_to_sparse_program", "load_persistables_for_increment", "load_persistables_for_inference"),
            "tables are not spread over machines here: use `fluid.io.load_persistables`",
        ),
        **dict.fromkeys(("trainer", "Trainer"), "write the loop with `fluid.Executor`"),
        **dict.fromkeys(("inferencer", "Inferencer"), "use `fluid.io.load_inference_model` and `fluid.Executor`"),
    },
    "fluvial.fluid.contrib.layers": {
        **dict.fromkeys(
            ("ctr_metric_bundle", "sparse_embedding", "tdm_child", "tdm_sampler", "rank_attention", "batch_fc",
             "search_pyramid_hash", "match_matrix_tensor", "var_conv_2d", "sequence_topk_avg_pooling",
             "fused_embedding_seq_pool", "multiclass_nms2"),
            "compute it with functions of `fluid.layers`, or in `layers.py_func`",
        ),
    },
    "fluvial.fluid.paddle.reader": {
        "PipeReader": "read the output of a command with Python's `subprocess`, and give its lines as a reader",
    },
    "fluvial.fluid.paddle": {
        "version": "`fluvial.show_config()` has versions",
        "v2": "this front follows Fluid 1.5 to 1.8",
        "nn": "use `fluid.layers` and `fluid.dygraph`, or `fluvial.nn`",
        "tensor": "use `fluid.layers`, or `fluvial`",
        "distributed": _TRAINERS,
    },
    "fluvial.fluid.layers": {
        **LAYERS_REFUSED,
        **dict.fromkeys(
            ("max_sequence_len", "shrink_memory", "lod_tensor_to_array", "array_to_lod_tensor",
             "split_lod_tensor", "merge_lod_tensor"),
            "`layers.DynamicRNN` and `layers.IfElse` are made of it in Fluid: use these"),
        **dict.fromkeys(("Send", "Recv", "ListenAndServ", "BlockGuardServ"), _TRAINERS),
    },
}  # fmt: skip


def no_attribute(module: str, name: str) -> AttributeError:
    """An error to raise: a module has no such name.

    Args:
        module: The module's name.
        name: The name that was asked for.
    """
    text = f"module `{module}` has no attribute `{name}`"
    if name.startswith("_"):
        return AttributeError(text, name=name)
    known = NAMES.get(module, {}).get(name)
    if known is not None:
        return AttributeError(f"{text}: Fluid has it, and this front does not\n  remedy: {known}", name=name)
    return AttributeError(text, name=name)


#: Attributes of Fluid's objects by the class here, and what to write.
_MEMBERS = {
    "Variable": {
        "op": "`program.global_block().ops` lists what was called",
        "desc": "`variable.name`, `variable.shape` and `variable.dtype` say what it is",
        "_ivar": "call methods of the variable itself, such as `gradient()`",
    }
}


def no_member(owner: object, name: str) -> AttributeError:
    """An error to raise: an object has no such attribute.

    Args:
        owner: The object.
        name: The name that was asked for.
    """
    text = f"`{type(owner).__name__}` has no attribute `{name}`"
    for base in type(owner).__mro__:
        known = _MEMBERS.get(base.__name__, {}).get(name)
        if known is not None:
            text += f"\n  remedy: {known}"
    return AttributeError(text, name=name, obj=owner)
