"""Ops that run at once: where, and values to begin with."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ... import _core
from ..._fault import fault
from ..._ragged import Ragged
from .. import unique_name
from .._versions import formerly
from ..core import CPUPlace
from ..lod_tensor import LoDTensor
from ..framework import CALLS, Parameter, Variable, dygraph_variable, in_dygraph_mode

__all__ = [
    "no_grad", "grad", "guard", "enable_dygraph", "disable_dygraph", "enabled", "to_variable", "enable_imperative",
    "disable_imperative",
]  # fmt: skip

#: All parameters that are alive, in the order in which they were made.
_parameters: list[weakref.ref[Parameter]] = []


def note_parameter(parameter: Parameter) -> None:
    """Notes a parameter, for optimizers that are given no list."""
    _parameters.append(weakref.ref(parameter))


def all_parameters() -> list[Parameter]:
    """The parameters that are alive."""
    _parameters[:] = [ref for ref in _parameters if ref() is not None]
    return [found for ref in _parameters if (found := ref()) is not None]


def enabled() -> bool:
    """Whether ops run at once."""
    return in_dygraph_mode()


def _checked(place: Any) -> None:
    if place is not None and not isinstance(place, CPUPlace):
        raise fault(TypeError, f"{place!r} is not a place", "use `fluid.CPUPlace()`")


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """A scope in which ops run at once.

    Args:
        place: `fluid.CPUPlace()`.
    """
    _checked(place)
    former, CALLS.dygraph = CALLS.dygraph, True
    former_training, CALLS.training = CALLS.training, True
    # Optimizers without a list train what was made inside of this guard.
    former_parameters = _parameters[:]
    _parameters.clear()
    seed = _seed()
    try:
        with unique_name.guard():
            if seed:
                _core.seed(seed)
            yield
    finally:
        CALLS.dygraph, CALLS.training = former, former_training
        _parameters[:] = former_parameters


def _seed() -> int:
    from ..framework import _Defaults

    return _Defaults.startup.random_seed if _Defaults.startup is not None else 0


def enable_dygraph(place: Any = None) -> None:
    """Ops run at once from here on.

    Args:
        place: `fluid.CPUPlace()`.
    """
    _checked(place)
    CALLS.dygraph = True


def disable_dygraph() -> None:
    """Ops are appended to programs from here on."""
    CALLS.dygraph = False


enable_imperative, disable_imperative = enable_dygraph, disable_dygraph


class _NoGrad:
    def __enter__(self) -> None:
        self._scope = _core.no_grad()
        self._scope.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._scope.__exit__(*exception)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            with _NoGrad():
                return function(*args, **named)

        return call


def no_grad(func: Callable[..., Any] | None = None) -> Any:
    """A scope without gradients, `with no_grad():`; or a function that runs in one, `@no_grad`.

    Args:
        func: The function.
    """
    return _NoGrad() if func is None else _NoGrad()(func)


@formerly("value block name")
def to_variable(value: Any, name: str | None = None, zero_copy: bool | None = None, block: Any = None) -> Any:
    """A variable with the elements of an array; real ones get gradients.

    Args:
        value: An array, a list, a number, a variable, or sequences: a `LoDTensor` or a `fl.Ragged`.
        name: Its name.
        zero_copy: Whether the variable has the memory of the array, which is not to be written then; copied unless said.
        block: For Fluid's programs.
    """
    if isinstance(value, Variable):
        return value
    if not in_dygraph_mode():
        raise fault(
            RuntimeError,
            "`to_variable` gives a value at once, and calls are appended to a program here",
            "write `with fluid.dygraph.guard():` around it",
        )
    import numpy as np

    if isinstance(value, LoDTensor) and value.recursive_sequence_lengths():
        value = Ragged.from_lengths(np.array(value), *value.recursive_sequence_lengths())
    if isinstance(value, Ragged):
        made = dygraph_variable(value.map(lambda rows: to_variable(rows)._value()), name)
        made.lod_level = value.levels
        return made
    if isinstance(value, _core.Tensor):
        tensor = value
    elif zero_copy and isinstance(value, np.ndarray):
        tensor = _core.from_numpy(value)
    else:
        tensor = _core.tensor(np.array(value))
    if "float" in tensor.dtype.name and not tensor.is_tracked and not tensor.is_symbolic:
        tensor = tensor.track()
    return dygraph_variable(tensor, name)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
    backward_strategy: Any = None,
) -> list[Any]:
    """Gradients of some variables with respect to others, without leaving any in them.

    Args:
        outputs: What is differentiated; of several elements their sum.
        inputs: With respect to what.
        grad_outputs: Factors of the elements of `outputs`.
        retain_graph: Whether what was recorded is kept for another time.
        create_graph: Whether the gradients can be differentiated again.
        only_inputs: True.
        allow_unused: Whether an input that nothing depends on gives None.
        no_grad_vars: Variables on the way that count as constants: no gradient passes them.
        backward_strategy: For Fluid's programs.
    """
    if not only_inputs:
        raise fault(NotImplementedError, "gradients are for the inputs alone", "call `backward` for those of all leaves")
    outs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    ins = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    factors = list(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(outs)
    constants = list(no_grad_vars) if isinstance(no_grad_vars, (list, tuple, set)) else [no_grad_vars]
    constants = [] if no_grad_vars is None else constants
    for var in (*outs, *ins, *(factor for factor in factors if factor is not None), *constants):
        if not isinstance(var, Variable):
            # Fluid has an assertion here.
            raise fault(AssertionError, f"{type(var).__name__} is not a variable", "give variables, or lists of them")
    if not outs or not ins or len(factors) != len(outs):
        raise fault(
            AssertionError, f"gradients of {len(outs)} variables, with {len(factors)} factors, for {len(ins)} others",
            "give at least one of each, and as many `grad_outputs` as `outputs`",
        )  # fmt: skip
    total: Any = None
    for out, factor in zip(outs, factors):
        value = out._value() if factor is None else out._value() * factor._value()
        part = _core.sum(value) if value.ndim else value
        total = part if total is None else total + part
    keep = create_graph if retain_graph is None else retain_graph
    CALLS.keeps_gradients = False
    try:
        found = _core.grad(
            total, [var._value() for var in ins], create_graph=create_graph, retain_graph=keep,
            allow_unused=allow_unused, constants=[var._value() for var in constants],
        )  # fmt: skip
    finally:
        CALLS.keeps_gradients = True
    results = [None if gradient is None else dygraph_variable(gradient) for gradient in found]
    for result in results:
        if result is not None:
            result._stop_gradient = not create_graph
    return results
