"""PyTorch's `torch.autograd`."""

from __future__ import annotations

import builtins

from .. import _core
from .._core import Tensor
from .._derived.products import as_tensor
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Variable = as_tensor


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: builtins.bool | None = None,
    create_graph: builtins.bool = False,
    allow_unused: builtins.bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of a sum of outputs, each times its cotangent.

    Args:
        outputs: A tensor, or several.
        inputs: The tensors by which they are differentiated.
        grad_outputs: The cotangents; None for outputs that are scalars.
        retain_graph: Keep what was recorded, for another call.
        create_graph: Record the gradients, so that they can be differentiated.
        allow_unused: Whether inputs may be without a gradient; they get None.
    """
    one = isinstance(inputs, Tensor)
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    inputs = [inputs] if one else list(inputs)
    given = [None] * len(outputs) if grad_outputs is None else [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    total: Any = None
    for output, cotangent in zip(outputs, given):
        if cotangent is None and output.ndim:
            raise fault(RuntimeError, f"a gradient begins at a scalar, not at {output.type_text}", "give `grad_outputs`, or `y.sum()`")
        part = output if cotangent is None else (output * cotangent).sum()
        total = part if total is None else total + part
    keep = create_graph if retain_graph is None else retain_graph
    found = _core.grad(total, inputs, retain_graph=keep, create_graph=create_graph, allow_unused=allow_unused)
    return tuple(found)


def backward(tensors: Any, grad_tensors: Any = None, **options: Any) -> None:
    """Accumulates gradients in leaves.

    Args:
        tensors: A tensor, or several.
        grad_tensors: The cotangents.
        **options: Those of `Tensor.backward`.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    given = [None] * len(tensors) if grad_tensors is None else [grad_tensors] if isinstance(grad_tensors, Tensor) else list(grad_tensors)
    for tensor, cotangent in zip(tensors, given):
        tensor.backward(cotangent, **options)


def __getattr__(name: str) -> object:
    from ._missing import missing

    raise missing(__name__, name)
