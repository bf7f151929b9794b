"""PyTorch's `torch.autograd.functional`, and checks of gradients by differences."""

from __future__ import annotations

import builtins
import itertools

from .. import _core
from .._core import Tensor
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _many(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _shaped(inputs: Any, found: tuple[Any, ...]) -> Any:
    return found if isinstance(inputs, (tuple, list)) else found[0]


def _detached(found: Any) -> Any:
    if isinstance(found, Tensor):
        return found.detach()
    return type(found)(_detached(part) for part in found) if type(found) in (tuple, list) else found


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: builtins.bool = False, strict: builtins.bool = False, vectorize: builtins.bool = False, strategy: str = "reverse-mode") -> Any:
    """The derivatives of what a function gives by its inputs.

    Args:
        func: The function.
        inputs: A tensor, or a tuple of them.
        create_graph: Whether they can be differentiated.
        strict: Taken.
        vectorize: Taken.
        strategy: "reverse-mode" or "forward-mode".
    """
    from .. import jacfwd, jacrev

    transform = jacfwd if strategy == "forward-mode" else jacrev
    args = _many(inputs)
    found = transform(func, tuple(range(len(args))))(*args)
    found = found if create_graph else _detached(found)
    if isinstance(inputs, (tuple, list)):
        return found
    return tuple(part[0] for part in found) if isinstance(found[0], tuple) else found[0]


def hessian(func: Callable[..., Any], inputs: Any, create_graph: builtins.bool = False, **options: Any) -> Any:
    """The second derivatives of a scalar by its inputs.

    Args:
        func: The function.
        inputs: A tensor, or a tuple of them.
        create_graph: Whether they can be differentiated.
        **options: Taken.
    """
    from .. import jacrev

    args = _many(inputs)
    places = tuple(range(len(args)))
    found = jacrev(jacrev(func, places), places)(*args)
    found = found if create_graph else _detached(found)
    return found if isinstance(inputs, (tuple, list)) else found[0][0]


def _leaves(inputs: Any, create_graph: builtins.bool) -> tuple[Any, ...]:
    return tuple(x if create_graph and x.is_tracked else x.detach().requires_grad_() for x in _many(inputs))


def _filled(args: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_core.zeros(x.shape, x.dtype) if g is None else g for x, g in zip(args, found))


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: builtins.bool = False, strict: builtins.bool = False) -> Any:
    """What a function gives, and the gradients of its inputs for those of its outputs.

    Args:
        func: The function.
        inputs: A tensor, or a tuple of them.
        v: The gradients of the outputs; not needed for a scalar.
        create_graph: Whether they can be differentiated.
        strict: Taken.
    """
    from .autograd import grad

    with _core.enable_grad():
        args = _leaves(inputs, create_graph)
        outputs = func(*args)
        found = grad(_many(outputs), args, None if v is None else _many(v), create_graph=create_graph, allow_unused=True)
    return (outputs if create_graph else _detached(outputs)), _shaped(inputs, _filled(args, found))


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: builtins.bool = False, strict: builtins.bool = False) -> Any:
    """What a function gives, and how it changes along a direction.

    Args:
        func: The function.
        inputs: A tensor, or a tuple of them.
        v: The direction; not needed for an input of one element.
        create_graph: Whether they can be differentiated.
        strict: Taken.
    """
    from .. import jvp as transform

    args = _many(inputs)
    along = tuple(_core.ones(x.shape, x.dtype) for x in args) if v is None else _many(v)
    found = tuple(transform(func, args, along))
    return found if create_graph else _detached(found)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: builtins.bool = False, strict: builtins.bool = False) -> Any:
    """What a function gives, and its second derivatives times a direction.

    Args:
        func: The function, which gives a scalar.
        inputs: A tensor, or a tuple of them.
        v: The direction.
        create_graph: Whether they can be differentiated.
        strict: Taken.
    """
    from .autograd import grad

    with _core.enable_grad():
        args = _leaves(inputs, create_graph)
        output = func(*args)
        first = grad(output, args, create_graph=True)
        along = tuple(_core.ones(x.shape, x.dtype) for x in args) if v is None else _many(v)
        found = grad(first, args, along, create_graph=create_graph, allow_unused=True)
    return (output if create_graph else _detached(output)), _shaped(inputs, _filled(args, found))


vhp = hvp


def gradcheck(func: Callable[..., Any], inputs: Any, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: builtins.bool = True, **options: Any) -> builtins.bool:
    """Whether the gradients of a function are what differences say; an error if not.

    Args:
        func: The function.
        inputs: A tensor of float64 that requires gradients, or a tuple with such tensors.
        eps: The size of the differences.
        atol: The error that is allowed.
        rtol: The share of the gradient that is allowed besides.
        raise_exception: Whether what differs is an error; else False is returned.
        **options: Taken.
    """
    import numpy as np

    from .autograd import grad

    args = list(_many(inputs))
    places = [i for i, x in enumerate(args) if isinstance(x, Tensor) and x.is_tracked]
    if not places:
        raise fault(ValueError, "no input requires gradients", "make one with `requires_grad=True`, in float64")

    def flat(values: Any) -> list[Any]:
        return [y for y in _many(func(*values)) if isinstance(y, Tensor) and y.is_floating_point()]

    for number, output in enumerate(flat(args)):
        for i in places:
            found = np.zeros((output.numel(), args[i].numel()))
            for row in range(output.numel()):
                (g,) = grad(_core.reshape(flat(args)[number], (-1,))[row], [args[i]], allow_unused=True)
                found[row] = 0.0 if g is None else g.detach().numpy().ravel()
            base, wanted = args[i].detach().numpy(), np.zeros_like(found)
            for column, place in enumerate(itertools.product(*map(range, base.shape))):
                ends = []
                for step in (eps, -eps):
                    moved = base.copy()
                    moved[place] += step
                    values = [*args]
                    values[i] = _core.tensor(moved).requires_grad_()
                    ends.append(flat(values)[number].detach().numpy().ravel())
                wanted[:, column] = (ends[0] - ends[1]) / (2 * eps)
            if not np.allclose(found, wanted, rtol=rtol, atol=atol):
                if raise_exception:
                    what = f"the gradient of result {number} by argument {i} is {found.tolist()}, and differences say {wanted.tolist()}"
                    raise fault(RuntimeError, what, "check the gradient's rule, and give tensors of float64")
                return False
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, **options: Any) -> builtins.bool:
    """Whether the second derivatives of a function are what differences of the first say; an error if not.

    Args:
        func: The function.
        inputs: A tensor of float64 that requires gradients, or a tuple with such tensors.
        grad_outputs: The gradients of the outputs; ones by default.
        **options: Those of `gradcheck`.
    """
    from .autograd import grad

    def first(*args: Any) -> Any:
        outputs = [y for y in _many(func(*args)) if isinstance(y, Tensor)]
        given = [_core.ones(y.shape, y.dtype) for y in outputs] if grad_outputs is None else _many(grad_outputs)
        return grad(outputs, [x for x in args if isinstance(x, Tensor) and x.is_tracked], given, create_graph=True)

    return gradcheck(first, inputs, **options)
