"""PyTorch's `torch.autograd`."""

from __future__ import annotations

import builtins

from .. import _core
from .._core import Tensor
from .._derived.products import as_tensor
from .. import enable_grad, no_grad
from .._fault import fault
from . import _function as function
from . import _functional as functional
from ._function import Function
from ._functional import gradcheck, gradgradcheck
from ._state import set_grad_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Variable = as_tensor
inference_mode = no_grad


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


class set_detect_anomaly:
    """Taken, also as a scope: an error of a gradient names the line of the op, always; numbers that are none are not looked for.

    Args:
        mode: Whether they are to be.
        check_nan: Taken.
    """

    def __init__(self, mode: builtins.bool = True, check_nan: builtins.bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> set_detect_anomaly:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class detect_anomaly(set_detect_anomaly):
    """See `set_detect_anomaly`.

    Args:
        check_nan: Taken.
    """

    def __init__(self, check_nan: builtins.bool = True) -> None:
        super().__init__(True, check_nan)


def __getattr__(name: str) -> object:
    from ._missing import missing

    raise missing(__name__, name)
