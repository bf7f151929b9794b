"""Whole Jacobians and Hessians: products with all unit vectors at once, by `vmap`."""

from __future__ import annotations

import functools

from . import _core
from ._fault import fault
from ._transforms import Run, _check_function
from ._tree import rebuild, with_tensors
from ._vmap import as_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Tensor
    from ._transforms import Argnums


def jacrev(function: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the Jacobian of a function, row by row: for few outputs and many inputs.

    Args:
        function: The function. What it returns, and the arguments, may be nested.
        argnums: The number of the argument that derivatives are with respect to, or several.
        has_aux: Whether the function returns a pair, whose second part is handed on.

    Returns:
        A function that gives, in the form of what the function returns, and in each part in that of the argument, tensors of
        the axes of the output and then of the input.

    Example:
        >>> fl.jacrev(lambda x: fl.stack([x[0] * x[1], x[1] ** 2]))(fl.tensor([2.0, 3.0])).tolist()
        [[3.0, 2.0], [0.0, 6.0]]
    """
    return _transform("jacrev", function, _rows, argnums, has_aux)


def jacfwd(function: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the Jacobian of a function, column by column: for many outputs and few inputs.

    Args:
        function: The function. What it returns, and the arguments, may be nested.
        argnums: The number of the argument that derivatives are with respect to, or several.
        has_aux: Whether the function returns a pair, whose second part is handed on.

    Returns:
        As `jacrev` does.

    Example:
        >>> fl.jacfwd(lambda x: fl.stack([x[0] * x[1], x[1] ** 2]))(fl.tensor([2.0, 3.0])).tolist()
        [[3.0, 2.0], [0.0, 6.0]]
    """
    return _transform("jacfwd", function, _columns, argnums, has_aux)


def hessian(function: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that gives the second derivatives of a function: `jacfwd(jacrev(function))`.

    Args:
        function: The function.
        argnums: The number of the argument that derivatives are with respect to, or several.

    Example:
        >>> fl.hessian(lambda x: x[0] ** 2 * x[1])(fl.tensor([2.0, 3.0])).tolist()
        [[6.0, 4.0], [4.0, 0.0]]
    """
    return jacfwd(jacrev(function, argnums), argnums)


def _transform(
    name: str, function: Any, compute: Callable[..., Any], argnums: Argnums, has_aux: bool
) -> Callable[..., Any]:
    _check_function(name, function)
    program: Any = None

    def lines(*args: Any, **options: Any) -> Any:
        return compute(function, argnums, has_aux, args, options)

    @functools.wraps(function, updated=())
    def jacobian(*args: Any, **options: Any) -> Any:
        nonlocal program
        args, options = with_tensors(args), with_tensors(options)
        if _core.is_building():
            return lines(*args, **options)
        if program is None:
            program, _ = as_program(lines, jacobian, [])
        return program(*args, **options)

    jacobian._fl_transform = (name, function, repr((argnums, has_aux)))  # type: ignore[attr-defined]
    return jacobian


def _units(tensor: Tensor, what: str) -> Tensor:
    """All unit vectors of a tensor's shape, one after another."""
    from ._ops import eye, reshape

    size = 1
    for dim in tensor.shape:
        if not isinstance(dim, int):
            raise fault(TypeError, f"a Jacobian needs the sizes of its {what}: {tensor.shape}", "give them numbers")
        size *= dim
    return reshape(eye(size, size, 0, tensor.dtype), (size, *tensor.shape))


def _mapped(units: Tensor, product: Callable[[Tensor], list[Tensor]]) -> list[Tensor]:
    """A linear map of each unit vector."""
    from ._ops import expand

    (unit,) = _core.begin_map([units], [True])
    try:
        found = product(unit)
    except BaseException:
        _core.abort_block()
        raise
    results, batched, _ = _core.vmap_of(_core.end_block(found), [units], [True], "same")
    return [
        result if is_batched else expand(result, (units.shape[0], *result.shape))
        for result, is_batched in zip(results, batched)
    ]


def _rows(function: Any, argnums: Argnums, has_aux: bool, args: tuple, options: dict[str, Any]) -> Any:
    from ._ops import reshape, zeros_like

    run = Run(function, args, options, argnums, has_aux)
    parts = []
    for number, output in enumerate(run.outputs):

        def product(unit: Tensor, number: int = number) -> list[Tensor]:
            found = run.grad([run.outputs[number]], run.own, [unit], True, True)
            return [
                zeros_like(value) if gradient is None else gradient for value, gradient in zip(run.own, found)
            ]

        rows = _mapped(_units(output, "outputs"), product)
        shaped = [reshape(row, (*output.shape, *own.shape)) for row, own in zip(rows, run.own)]
        parts.append(run.arguments(shaped, True))
    result = rebuild(run.form, parts)
    return (result, run.aux()) if has_aux else result


def _columns(function: Any, argnums: Argnums, has_aux: bool, args: tuple, options: dict[str, Any]) -> Any:
    from ._ops import movedim, reshape, zeros_like

    run = Run(function, args, options, argnums, has_aux)
    #: By output: the derivatives with respect to each own value.
    by_output: list[list[Tensor]] = [[] for _ in run.outputs]
    for number, own in enumerate(run.own):

        def product(unit: Tensor, number: int = number) -> list[Tensor]:
            zeros = [zeros_like(other) for other in run.own]
            return run.pushed([*zeros[:number], unit, *zeros[number + 1 :]])

        columns = _mapped(_units(own, "inputs"), product)
        for output, column, found in zip(run.outputs, columns, by_output):
            last = movedim(column, [0], [-1])
            found.append(reshape(last, (*output.shape, *own.shape)))
    result = rebuild(run.form, [run.arguments(found, True) for found in by_output])
    return (result, run.aux()) if has_aux else result
