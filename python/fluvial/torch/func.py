"""PyTorch's `torch.func`: transforms of functions."""

from .. import functional_call as _call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
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


def functional_call(module: "Any", parameter_and_buffer_dicts: "Any", args: "Any" = None, kwargs: "Any" = None, *, tie_weights: bool = True, strict: bool = False) -> "Any":
    """What a layer gives with these tensors in the place of its own parameters and buffers.

    Args:
        module: The layer.
        parameter_and_buffer_dicts: Tensors by name: a dict, or several.
        args: The inputs: a tuple of them, or one.
        kwargs: Inputs by name.
        tie_weights: Taken: a parameter with two names is one.
        strict: Whether the names have to be all that the layer has.
    """
    dicts = parameter_and_buffer_dicts
    merged = {name: tensor for one in (dicts if isinstance(dicts, (tuple, list)) else [dicts]) for name, tensor in one.items()}
    if strict:
        wanted = {name for name, _ in [*module.named_parameters(), *module.named_buffers()]}
        if missing := sorted(wanted - merged.keys()):
            from .._fault import fault

            raise fault(RuntimeError, f"the tensors for {', '.join(missing)} are missing", "give them, or leave `strict` out")
    return _call(module, merged, () if args is None else args, kwargs)


def stack_module_state(models: "Any") -> "tuple[dict[str, Any], dict[str, Any]]":
    """The parameters, and the buffers, of several layers of one kind, stacked along a new first axis, by name.

    Args:
        models: The layers.
    """
    from .. import stack

    def stacked(which: str) -> "dict[str, Any]":
        each = [dict(getattr(model, which)()) for model in models]
        found = {name: stack([one[name] for one in each]).detach() for name in each[0]}
        return {name: tensor.requires_grad_() for name, tensor in found.items()} if which == "named_parameters" else found

    return stacked("named_parameters"), stacked("named_buffers")


__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "stack_module_state", "vjp", "vmap"]
