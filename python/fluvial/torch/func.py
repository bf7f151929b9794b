"""PyTorch's `torch.func`: transforms of functions."""

from .. import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from .. import value_and_grad as _value_and_grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def grad_and_value(func: "Callable[..., Any]", argnums: "int | tuple[int, ...]" = 0, has_aux: bool = False) -> "Callable[..., Any]":
    """The function that gives the gradients of a function, and what it returns, in this order.

    Args:
        func: The function, which returns a scalar.
        argnums: The number of the argument that gradients are with respect to, or several.
        has_aux: Whether the function returns a pair, whose second part is handed on.
    """
    both = _value_and_grad(func, argnums, has_aux=has_aux)

    def swapped(*args: "Any", **options: "Any") -> "Any":
        value, gradients = both(*args, **options)
        return gradients, value

    return swapped


__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
