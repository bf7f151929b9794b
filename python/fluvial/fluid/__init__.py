"""Fluid's programs: the public names of Fluid 1.5 to 1.8 over Fluvial's core.

    >>> import fluvial.fluid as fluid
    >>> main = fluid.Program()
    >>> with fluid.program_guard(main, fluid.Program()):
    ...     x = fluid.layers.data("x", shape=[2], dtype="float32")
    ...     y = fluid.layers.fc(x, size=3)
    >>> y.shape
    (-1, 3)
"""

from __future__ import annotations

from typing import Any as _Any

from . import core, framework, unique_name
from .core import CPUPlace, CUDAPinnedPlace, CUDAPlace
from .framework import *
from . import executor
from .executor import *
from . import initializer, layers, regularizer
from .param_attr import ParamAttr, WeightNormParamAttr
from . import backward, clip, optimizer
from .backward import append_backward, gradients
from .lod_tensor import LoDTensor, LoDTensorArray, create_lod_tensor, create_random_int_lodtensor
from . import lod_tensor, param_attr
from . import dygraph, imperative
from .dygraph.layers import *
from .dygraph.nn import *
from .dygraph import disable_dygraph, enable_dygraph, load_dygraph, save_dygraph
from .dygraph import disable_imperative, enable_imperative
from . import data_feeder, reader
from .data_feeder import DataFeeder
from . import io
from .io import load, load_program_state, save, set_program_state
from .programs import load_inference_model, load_program
from . import programs
from . import concurrency
from .concurrency import Go, Select, channel_close, channel_recv, channel_send, make_channel
from . import average, dygraph_grad_clip, evaluator, metrics, nets, profiler, recordio_writer
from . import compiler, parallel_executor, transpiler
from .compiler import *
from .parallel_executor import ParallelExecutor
from .transpiler import *
from . import contrib, install_check, layer_helper
from .data import data, embedding, one_hot
from .record_reader import batch_reader, save_model

Tensor = LoDTensor
VarBase = Variable


def __getattr__(name: str) -> _Any:
    from ._missing import no_attribute

    raise no_attribute(__name__, name)
