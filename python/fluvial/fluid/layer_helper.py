"""Parameters of functions in `fluid.layers`.

A function of `layers` is written over tensors of the core, and asks a `LayerHelper` for its parameters:

    def fc(input, size, param_attr=None, bias_attr=None, act=None, name=None):
        helper = LayerHelper("fc", name=name)
        w = helper.create_parameter(param_attr, [input.shape[1], size], "float32")
        b = helper.create_parameter(bias_attr, [size], "float32", is_bias=True)   # None if bias_attr is False
        return helper.act(_core.matmul(input, w) + b, act)

It works in all modes: in a program a parameter is a state called `fc_0.w_0`; under `dygraph.guard` it belongs to the
layer object that called the function, or is new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._fault import fault
from . import unique_name
from .framework import (
    CALLS,
    Parameter,
    ParameterState,
    Program,
    State,
    Variable,
    default_main_program,
    default_startup_program,
    applied,
    dygraph_tensor,
)
from .core import dtype_of
from .param_attr import ParamAttr

__all__ = ["Held", "LayerHelper"]


class Held:
    """A state of a layer that is not trained, such as a running mean: read it, assign it.

    Args:
        var: The variable.
    """

    def __init__(self, var: Variable) -> None:
        self.var = var

    def get(self) -> Any:
        """The value, as a tensor."""
        return _tensor(self.var)

    def set(self, value: Any) -> None:
        """Gives it another value, now or when the program runs.

        Args:
            value: A tensor of the same sizes.
        """
        if CALLS.dygraph:
            with _core.no_grad():
                held: Any = self.var._tensor
                held.set(value)
        else:
            block = CALLS.block or default_main_program().current_block()
            with block.building():
                block.write(self.var, value)


class LayerHelper:
    """Names and parameters of one call of a layer.

    Args:
        layer_type: The name of the function, such as "fc".
        name: The name that the user gave.
        kwargs: Further arguments of the function, for those who look at them.
    """

    def __init__(self, layer_type: str, name: str | None = None, **kwargs: Any) -> None:
        self.layer_type, self.kwargs = layer_type, kwargs
        owner = CALLS.owner
        self.name: str = owner.full_name() if owner is not None else name or unique_name.generate(layer_type)
        if CALLS.layer is None:
            CALLS.layer = self.name

    @property
    def main_program(self) -> Program:
        """The program that calls are appended to."""
        return default_main_program()

    @property
    def startup_program(self) -> Program:
        """The program that makes initial values."""
        return default_startup_program()

    def create_parameter(
        self,
        attr: Any,
        shape: Sequence[int],
        dtype: Any = "float32",
        is_bias: bool = False,
        default_initializer: Callable[..., Any] | None = None,
        stop_gradient: bool = False,
    ) -> Any:
        """The tensor of a parameter; None if `attr` is False.

        Args:
            attr: What the user says of it.
            shape: Its sizes.
            dtype: Its element type.
            is_bias: Whether its name ends in `b_0` and not `w_0`, and it begins as zeros.
            default_initializer: How its initial value is made, unless `attr` says it.
            stop_gradient: Whether it is not trained.
        """
        if attr is False:
            return None
        if getattr(attr, "is_divided", False):
            return self._divided(attr, shape, dtype, default_initializer)
        if CALLS.owner is not None:
            return CALLS.owner._next_parameter(self, attr, shape, dtype, is_bias, default_initializer)
        return _tensor(self.new_parameter(attr, shape, dtype, is_bias, default_initializer, stop_gradient))

    def _divided(self, attr: Any, shape: Sequence[int], dtype: Any, default_initializer: Any) -> Any:
        """The tensor of a weight that is trained as lengths and directions."""
        if CALLS.dygraph or CALLS.owner is not None:
            raise fault(
                NotImplementedError,
                "`WeightNormParamAttr` is for functions of `fluid.layers` in programs",
                "multiply two parameters in `forward`",
            )
        count, dim = len(shape), attr.dim
        if dim is not None and not (isinstance(dim, int) and 0 <= dim < count):
            raise fault(ValueError, f"`dim` is {dim!r}, and the weight has {count} axes", f"use 0 to {count - 1}, or None")
        name = attr.name or unique_name.generate(f"{self.name}.w")
        axes = [axis for axis in range(count) if axis != dim]

        def norms(direction: Any) -> Any:
            return _core.sqrt(_core.sum(_core.square(direction), axis=axes, keepdims=True))

        def part(label: str, init: Any) -> ParamAttr:
            return ParamAttr(
                f"{name}_{label}", init, attr.learning_rate, attr.regularizer, attr.trainable, attr.gradient_clip,
                attr.do_model_average,
            )  # fmt: skip

        direction = self.new_parameter(part("v", attr.initializer), shape, dtype, False, default_initializer)
        lengths = [size if axis == dim else 1 for axis, size in enumerate(shape)]
        length = self.new_parameter(part("g", lambda *_: norms(_core.read_state(f"{name}_v"))), lengths, dtype)
        value = _tensor(direction)
        return value * (_tensor(length) / norms(value))

    def looked_up(self, table: Any, ids: Any, rows: Any) -> None:
        """Hears of rows of a table that were looked up, whose gradients are those of rows; see `_sparse`."""
        from . import _sparse

        _sparse.looked_up(table, ids, rows)

    def updated_whole(self, table: Any) -> None:
        """Hears of a table with `is_sparse` whose gradient is that of all rows."""
        from . import _sparse

        _sparse.used_whole(table)

    def new_parameter(
        self,
        attr: Any,
        shape: Sequence[int],
        dtype: Any = "float32",
        is_bias: bool = False,
        default_initializer: Callable[..., Any] | None = None,
        stop_gradient: bool = False,
    ) -> Parameter:
        """The same as a variable."""
        from .initializer import Constant, Xavier

        said = ParamAttr._to_attr(attr)
        if said.is_divided:
            raise fault(
                NotImplementedError,
                "a parameter as length and direction is made by functions such as `layers.fc`, not by itself",
                "use `ParamAttr`",
            )
        first = said.initializer or default_initializer or (Constant(0.0) if is_bias else Xavier())
        name = said.name or unique_name.generate(f"{self.name}.{'b' if is_bias else 'w'}")
        sizes = _sizes_of(first, _known(shape, name), name)
        trainable = bool(said.trainable) and not stop_gradient
        if CALLS.dygraph:
            return dygraph_parameter(name, sizes, dtype, first, trainable, said)
        block = default_main_program().global_block()
        made = State.of(
            block, name, sizes, dtype, first, kind=ParameterState, startup=default_startup_program(),
            trainable=trainable, attr=said,
        )  # fmt: skip
        return made  # type: ignore[return-value]

    def create_state(
        self,
        shape: Sequence[int],
        value: Any = 0.0,
        dtype: Any = "float32",
        name: str | None = None,
        label: str = "global",
    ) -> Held:
        """A state that is not trained, such as a running mean.

        Args:
            shape: Its sizes.
            value: Its initial value: a number, or an initialiser.
            dtype: Its element type.
            name: Its name; two calls with one name have one state.
            label: What the name is made of, if none is given.
        """
        if CALLS.owner is not None:
            return CALLS.owner._next_state(self, shape, value, dtype, name, label)
        return Held(self.new_state(shape, value, dtype, name, label))

    def new_state(
        self, shape: Sequence[int], value: Any = 0.0, dtype: Any = "float32", name: str | None = None,
        label: str = "global",
    ) -> Variable:  # fmt: skip
        """The same as a variable."""
        name = name or unique_name.generate(f"{self.name}.{label}")
        sizes = _known(shape, name)
        if CALLS.dygraph:
            buffer = _core.Buffer(sizes, str.__str__(dtype_of(dtype).value), value)
            buffer.key = name
            var = Variable(None, name, tensor=buffer, persistable=True, stop_gradient=True)
            return var
        made = State.of(default_main_program().global_block(), name, sizes, dtype, value,
                        startup=default_startup_program())  # fmt: skip
        made._stop_gradient = True
        return made

    def act(self, x: Any, act: str | dict[str, Any] | None) -> Any:
        """A tensor under the function that is named, with Fluid's options of it.

        Args:
            x: The tensor.
            act: The name, or nothing.
        """
        return activation(x, act)

    # What layers of Fluid's users call, with variables ----------------------------------------------

    def append_activation(self, input_var: Any, act: Any = None) -> Any:
        """A variable under a function.

        Args:
            input_var: The variable.
            act: The name of the function; what the layer was given as `act` if nothing is said.
        """
        act = self.kwargs.get("act") if act is None else act
        if not isinstance(input_var, Variable):
            return activation(input_var, act)
        return input_var if act is None else applied(activation, "activation", input_var, act)

    def append_op(self, type: str, inputs: Any = None, outputs: Any = None, attrs: Any = None) -> None:
        """Appends an operator by Fluid's name.

        Args:
            type: The operator.
            inputs: Variables by slot.
            outputs: Variables that get the results, by slot.
            attrs: Attributes by name.
        """
        from .operators import append

        append(type, inputs, outputs, attrs)

    def create_variable_for_type_inference(self, dtype: Any = None, stop_gradient: bool = False) -> Variable:
        """A variable without a value, for an output of `append_op`.

        Args:
            dtype: Its element type.
            stop_gradient: Whether no gradient passes.
        """
        name = unique_name.generate(f"{self.name}.tmp")
        if CALLS.dygraph:
            return Variable(None, name, dtype=dtype, stop_gradient=stop_gradient)
        return default_main_program().current_block().create_var(name, None, dtype, stop_gradient=stop_gradient)

    create_tmp_variable = create_variable_for_type_inference

    def input(self, input_param_name: str = "input") -> Any:
        """The variable that the layer was given by this name.

        Args:
            input_param_name: The name.
        """
        if input_param_name not in self.kwargs:
            raise fault(ValueError, f"the layer was given no `{input_param_name}`", "give it to `LayerHelper` by name")
        return self.kwargs[input_param_name]

    def input_dtype(self, input_param_name: str = "input") -> Any:
        """The element type of the variable that the layer was given by this name.

        Args:
            input_param_name: The name.
        """
        given = self.input(input_param_name)
        return (given[0] if isinstance(given, (list, tuple)) else given).dtype


def activation(x: Any, act: str | dict[str, Any] | None) -> Any:
    """A tensor under the function of this name, as `fluid.layers` has it.

    Args:
        x: The tensor.
        act: The name, or a dict with "type" and options, or nothing.
    """
    if act is None:
        return x
    options: dict[str, Any] = dict(act) if isinstance(act, dict) else {"type": act}
    name = options.pop("type")
    if name == "softmax":
        return _core.softmax(x, options.get("axis", -1))
    from . import layers

    function = getattr(layers, name, None)
    if function is None:
        raise fault(ValueError, f"no activation is named {name!r}", "use one such as relu, tanh or softmax")
    return getattr(function, "__wrapped__", function)(x, **options)


def _sizes_of(first: Any, sizes: tuple[int, ...], name: str) -> tuple[int, ...]:
    """The sizes of a parameter: as in Fluid, a given array makes the parameter as large as it is itself."""
    from .initializer import NumpyArrayInitializer

    given = tuple(map(int, first.value.shape)) if isinstance(first, NumpyArrayInitializer) else sizes
    if given == sizes or len(given) != len(sizes):
        return sizes
    import warnings

    warnings.warn(
        f"`{name}` should have the sizes {list(sizes)}, and its initial value has {list(given)}, which it gets",
        stacklevel=2,
    )
    return given


def _known(shape: Sequence[Any], name: str) -> tuple[int, ...]:
    for size in shape:
        if not isinstance(size, int) or size < 0:
            raise fault(
                ValueError,
                f"the parameter `{name}` would have the sizes {list(shape)}, of which not all are known",
                "give the input of the layer fixed sizes, but for the batch",
            )
    return tuple(shape)


def dygraph_parameter(
    name: str, shape: Sequence[int], dtype: Any, init: Any, trainable: bool, attr: ParamAttr
) -> Parameter:
    """A parameter with a value at once."""
    own = _core.Parameter(tuple(shape), str.__str__(dtype_of(dtype).value), init, None, trainable)
    own.key = name
    var = Parameter(None, name, trainable=trainable, attr=attr, tensor=own)
    own.get()
    from .dygraph.base import note_parameter

    note_parameter(var)
    return var


def _tensor(var: Variable) -> Any:
    """The tensor of a variable for the call under way."""
    if CALLS.dygraph:
        return var._tensor if isinstance(var._tensor, _core.Parameter) else dygraph_tensor(var)
    block = CALLS.block or default_main_program().current_block()
    with block.building():
        return block.value(var)
