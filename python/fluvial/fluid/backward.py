"""Gradients as a part of a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import _core
from .._fault import fault
from .._ragged import Ragged
from . import _sparse
from .framework import Block, Parameter, Program, Variable

__all__ = ["append_backward", "gradients"]


def _block_of(var: Any, what: str) -> Block:
    if not isinstance(var, Variable) or var.block is None:
        raise fault(
            TypeError,
            f"{what} is a variable of a program, not {type(var).__name__}",
            "under `dygraph.guard`, call `loss.backward()`",
        )
    return var.block


def _names(given: Iterable[Any] | None) -> set[str]:
    return {item if isinstance(item, str) else item.name for item in given or ()}


def parameters_for(program: Program, parameter_list: Iterable[Any] | None, no_grad_set: Any) -> list[Parameter]:
    """What is trained, of all that a program has.

    Args:
        program: The program.
        parameter_list: Parameters, or names of them; all that are trained if none are given.
        no_grad_set: Those that get no gradient.
    """
    block = program.global_block()
    without = _names(no_grad_set)
    if parameter_list is None:
        chosen: list[Any] = [var for var in block.all_parameters() if var.trainable]
    else:
        chosen = [block.var(item) if isinstance(item, str) else item for item in parameter_list]
    return [var for var in chosen if var.name not in without]


def constants_for(block: Block, no_grad_set: Any) -> list[Any]:
    """The tensors of variables that no gradient passes, in a block that is being built.

    Args:
        block: The block.
        no_grad_set: Variables, or names of them.
    """
    found: list[Any] = []
    for name in sorted(_names(no_grad_set)):
        tensor = block.raw(block._var_recursive(name))
        found += [tensor.data] if isinstance(tensor, Ragged) else [tensor]
    return [tensor for tensor in found if "float" in tensor.dtype.name]


def loss_tensor(block: Block, loss: Variable) -> Any:
    """The number that is differentiated."""
    tensor = block.raw(loss)
    if tensor.ndim == 0:
        return tensor
    if all(size == 1 for size in tensor.shape):
        return _core.reshape(tensor, ())
    raise fault(
        ValueError,
        f"the loss `{loss.name}` has the sizes {list(loss.shape)}",
        "take `layers.mean` or `layers.reduce_sum` of it",
    )


def append_backward(
    loss: Variable,
    parameter_list: Iterable[Any] | None = None,
    no_grad_set: Any = None,
    callbacks: Any = None,
    checkpoints: Sequence[Variable] | None = None,
) -> list[tuple[Parameter, Variable]]:
    """Appends the gradients of a loss.

    Args:
        loss: A variable of one element.
        parameter_list: For which parameters; for all that are trained if nothing is said.
        no_grad_set: Variables that get none, and that none passes.
        callbacks: Refused: there are no operators to be told of.
        checkpoints: For Fluid's programs: what is kept and what is computed again is chosen by the compiler.

    Returns:
        Parameters with their gradients, which are called `fc_0.w_0@GRAD`. Those that the loss does not depend on are
        left out.
    """
    if callbacks:
        raise fault(NotImplementedError, "`callbacks` would be called for Fluid's operators", "leave it out")
    # A loss of an outer block has its gradients there, also if they are asked for inside of a `Switch` or another block.
    block = _block_of(loss, "a loss")
    program = block.program
    chosen = parameters_for(program, parameter_list, no_grad_set)
    pairs: list[tuple[Parameter, Variable]] = []
    program._losses = [known for known in program._losses if known is not loss] + [loss]
    program._no_grad = frozenset(_names(no_grad_set))
    if not chosen:
        return pairs
    with block.building():
        number = loss_tensor(block, loss)
        found = _sparse.differentiated(block, number, chosen, constants_for(block, no_grad_set))
        for var, (gradient, rows) in zip(chosen, found):
            if gradient is not None:
                name = f"{var.name}@GRAD"
                block.vars.pop(name, None)
                made = block.made(gradient, name)
                made._rows = rows
                pairs.append((var, made))
    return pairs


def gradient_of(program: Program, name: str) -> bool:
    """Appends `name@GRAD` of the last loss that gradients were taken of; False if there is no way."""
    block = program.global_block()
    var = block.vars.get(name)
    if var is None or not program._losses or program._losses[-1].block is not block:
        return False
    with block.building():
        number = loss_tensor(block, program._losses[-1])
        constants = constants_for(block, program._no_grad)
        (found,) = _of_values(number, [block.raw(var)], constants)
        if found is None:
            return False
        block.made(found, f"{name}@GRAD")
    return True


def _rows(value: Any) -> Any:
    return value.data if isinstance(value, Ragged) else value


def _of_values(number: Any, values: list[Any], constants: list[Any]) -> list[Any]:
    """Gradients for tensors, and for sequences, which are sequences of the same lengths."""
    tensors = [_rows(value) for value in values]
    found = _core.grad(number, tensors, create_graph=True, allow_unused=True, constants=constants)
    return [
        value._with(gradient) if isinstance(value, Ragged) and gradient is not None else gradient
        for value, gradient in zip(values, found)
    ]


def gradients(
    targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Any = None
) -> list[Variable | None]:
    """Appends gradients of some variables with respect to others.

    Args:
        targets: What is differentiated; of several elements their sum.
        inputs: With respect to what.
        target_gradients: Factors of the elements of `targets`.
        no_grad_set: Variables that get no gradient, and that none passes.

    Returns:
        One for each input; None where nothing depends on it.
    """
    outs = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    ins = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    factors = list(target_gradients) if isinstance(target_gradients, (list, tuple)) else [target_gradients]
    if target_gradients is None:
        factors = [None] * len(outs)
    block = _block_of(outs[0], "a target").program.current_block()
    found: list[Variable | None] = []
    with block.building():
        total: Any = None
        for out, factor in zip(outs, factors):
            tensor = _rows(block.raw(out))
            if factor is not None:
                weight = _rows(block.raw(factor))
                tensor = tensor * (_core.reshape(weight, tuple(tensor.shape)) if weight.ndim != tensor.ndim else weight)
            tensor = tensor if tensor.ndim == 0 else _core.sum(tensor)
            total = tensor if total is None else total + tensor
        results = _of_values(total, [block.raw(var) for var in ins], constants_for(block, no_grad_set))
        for var, gradient in zip(ins, results):
            found.append(None if gradient is None else block.made(gradient, label=f"{var.name}@GRAD"))
    return found


calc_gradient = gradients
