"""What to write for names of PyTorch that are not in `fluvial.torch`. Loaded when a name was not found."""

from __future__ import annotations

import difflib
import sys

#: By name: what to write here.
INSTEAD = {
    "distributed": "nothing: one process trains",
    "multiprocessing": "the module `multiprocessing`",
    "onnx": "`fluvial.onnx`",
    "Module": "`torch.nn.Module`",
    "DataLoader": "`torch.utils.data.DataLoader`",
    "Dataset": "`torch.utils.data.Dataset`",
    "TensorDataset": "`torch.utils.data.TensorDataset`",
    "sparse": "`fluvial.optimizer.lookup` for gradients of rows",
}


#: By module behind `fluvial.torch` and name.
IN_MODULES = {
    "nn": {
        "AdaptiveLogSoftmaxWithLoss": "`nn.CrossEntropyLoss`, or `fluvial.nce` for many classes",
        "Container": "`nn.Module`",
        "CrossMapLRN2d": "`nn.LocalResponseNorm`",
        "DataParallel": "the layer itself: one process trains",
        "LinearCrossEntropyLoss": "`nn.Linear` and `nn.CrossEntropyLoss`",
        "RNNBase": "`nn.RNN`, `nn.LSTM` or `nn.GRU`",
        "RNNCellBase": "`nn.RNNCell`, `nn.LSTMCell` or `nn.GRUCell`",
        "SyncBatchNorm": "`nn.BatchNorm2d`: one process trains",
    }
    | {f"FractionalMaxPool{n}d": f"`nn.AdaptiveMaxPool{n}d`, whose windows are not random" for n in (2, 3)}
    | {f"Lazy{kind}Norm{n}d": f"`nn.{kind}Norm{n}d(channels)`" for kind in ("Batch", "Instance") for n in (1, 2, 3)},
    "nn.functional": {
        "assert_int_or_pair": "`isinstance`",
        "conv_tbc": "`F.conv1d(x.permute(1, 2, 0), weight)`",
        "grouped_mm": "`torch.bmm`",
        "linear_cross_entropy": "`F.cross_entropy(F.linear(x, weight), target)`",
        "multi_head_attention_forward": "`nn.MultiheadAttention`, or `F.scaled_dot_product_attention`",
        "native_channel_shuffle": "`F.channel_shuffle`",
    }
    | dict.fromkeys("scaled_addmm scaled_addmm_ scaled_grouped_mm scaled_mm".split(), "`torch.mm`, of floats")
    | {f"{kind}_max_pool{n}d{end}": f"`F.adaptive_max_pool{n}d`" + ("(x, size, return_indices=True)" if end else "") for kind in ("adaptive", "fractional") for n in (1, 2, 3) for end in ("", "_with_indices")},
    "linalg": {
        "ldl_factor": "`linalg.lu_factor`",
        "ldl_factor_ex": "`linalg.lu_factor`",
        "ldl_solve": "`linalg.lu_solve`",
        "matrix_sqrth": "`linalg.eigh`: `v * values.sqrt() @ v.mT`",
        "polar": "`linalg.svd`: `u @ vh` and `vh.mT * s @ vh`",
        "common_notes": "nothing: it is part of PyTorch's documentation",
    },
    "nn.init": {"sparse_": "`init.normal_`, and zeros at random places"},
    "utils.data": dict.fromkeys(
        "DFIterDataPipe DataChunk IterDataPipe MapDataPipe functional_datapipe guaranteed_datapipes_determinism non_deterministic runtime_validation_disabled".split(),
        "`fluvial.reader`, whose stages are data pipes",
    ),
}


def missing(module: str, name: str) -> AttributeError:
    """An error to raise: the namespace has no such name.

    Args:
        module: The module's name.
        name: The name.
    """
    text = f"module `{module}` has no attribute `{name}`"
    if name.startswith("_"):
        return AttributeError(text)
    instead = IN_MODULES.get(module.partition("fluvial.torch.")[2], {}).get(name) or INSTEAD.get(name)
    if instead is None:
        known = [known for known in vars(sys.modules[module]) if not known.startswith("_")]
        near = difflib.get_close_matches(name, known, 1)
        root = sys.modules[str(__package__).rpartition(".")[0]]
        if name in vars(root):
            instead = f"`fluvial.{name}`"
        elif near:
            return AttributeError(f"{text}\n  remedy: is it `{near[0]}`?")
    return AttributeError(f"{text}\n  remedy: write {instead}" if instead else text)
