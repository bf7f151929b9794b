"""`Print`, with Fluid's options."""

from __future__ import annotations

import os

from .. import _core
from .._core import Tensor
from .._fault import fault, user_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import TensorLike

_PHASES = ("forward", "backward", "both")


def Print(
    input: TensorLike,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_tensor_lod: bool = True,
    print_phase: str = "both",
) -> Tensor:
    """Shows a value whenever the run passes here, and its gradient when that does; passes the value on.

    It works in both modes, in loops and branches, too. In a program use what it returns: what nothing depends on has no
    gradient to show.

    Args:
        input: The value.
        first_n: How often it prints at most, for each line of yours; -1 means always.
        message: What stands before the value.
        summarize: How many elements it shows at most; -1 means all.
        print_tensor_name: Whether a value without a message is named by your line, since tensors have no names.
        print_tensor_type: Whether the type is shown: element type and shape are one.
        print_tensor_shape: The same; only if both are false the type is left out.
        print_tensor_lod: Taken for old scripts; tensors have no levels of detail.
        print_phase: "forward" for the value, "backward" for the gradient, "both".

    Example:
        >>> x = fl.layers.Print(fl.tensor([1.0, 2.0]), message="x")
        x: f32[2] [1.0, 2.0]
    """
    if print_phase not in _PHASES:
        choices = ", ".join(f'"{phase}"' for phase in _PHASES)
        raise fault(ValueError, f'there is no phase "{print_phase}" to print', f"use one of {choices}")
    x = input if isinstance(input, Tensor) else _core.tensor(input)
    if message is None:
        message = os.path.basename(user_line()) if print_tensor_name else ""
    limit = None if first_n < 0 else first_n
    # More elements than there can be.
    most = 2**62 if summarize < 0 else summarize
    plain = not (print_tensor_type or print_tensor_shape)
    if print_phase != "backward":
        x = _core.print_with(x, message, first_n=limit, summarize=most, plain=plain)
    if print_phase != "forward" and (x.dtype.is_floating_point or x.dtype.is_complex):
        about = f"{message}@GRAD" if message else "@GRAD"
        x = _core.print_grad(x, about, first_n=limit, summarize=most, plain=plain)
    return x
