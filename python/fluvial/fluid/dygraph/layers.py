"""Layers: objects with parameters, at once and in programs."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._fault import fault, missing
from .._lists import listed
from .._versions import formerly
from .. import unique_name
from ..core import VarType, dtype_of
from ..framework import CALLS, Parameter, State, Variable, in_dygraph_mode
from ..layer_helper import Held, LayerHelper, _tensor

__all__ = ["Layer"]


class _Hook:
    def __init__(self, hooks: dict[int, Any], number: int) -> None:
        self._hooks, self._number = hooks, number

    def remove(self) -> None:
        """The function is called no more."""
        self._hooks.pop(self._number, None)


class Layer:
    """What has parameters and a `forward`. Parameters and layers that are assigned to attributes belong to it.

    Args:
        name_scope: What its name begins with; its class if nothing is said.
        dtype: The element type of its parameters.
    """

    #: Whether dropout drops, and batch norm uses the batch.
    training: bool
    _full_name: str
    _helper: LayerHelper
    _dtype: VarType
    _built: bool
    _parameters: OrderedDict[str, Any]
    _sub_layers: OrderedDict[str, Any]
    _buffers: OrderedDict[str, Any]
    _pre_hooks: dict[int, Any]
    _post_hooks: dict[int, Any]

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        kind = type(self).__name__
        if name_scope is None:
            # `Conv2DTranspose` is `conv2d_transpose`, and `GRUUnit` is `gru_unit`.
            words = re.sub(r"(?<=.)([A-Z][a-z]+)", r"_\1", kind)
            label = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", words).lower()
        else:
            label = f"{name_scope}/{kind}"
        own = self.__dict__
        own["_full_name"] = unique_name.generate(label)
        own["_parameters"], own["_sub_layers"] = OrderedDict(), OrderedDict()
        own["_buffers"] = OrderedDict()
        own["_built"], own["training"] = False, True
        own["_dtype"] = dtype_of(dtype)
        own["_pre_hooks"], own["_post_hooks"] = {}, {}
        own["_helper"] = LayerHelper(own["_full_name"], name=own["_full_name"])

    def full_name(self) -> str:
        """Its name, which those of its parameters begin with."""
        return self.__dict__["_full_name"]

    # Parameters -----------------------------------------------------------------------------------

    @formerly("self attr shape dtype is_bias default_initializer")
    def create_parameter(
        self,
        shape: Any = None,
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
    ) -> Any:
        """A parameter; None if `attr` is False. Assign it to an attribute.

        Args:
            shape: Its sizes.
            attr: What is said of it.
            dtype: Its element type.
            is_bias: Whether it begins as zeros.
            default_initializer: How its initial value is made, unless `attr` says it.
        """
        if attr is False:
            return None
        return self._helper.new_parameter(attr, listed(shape, "sizes"), dtype or self._dtype, is_bias, default_initializer)

    def create_variable(
        self, name: str | None = None, persistable: bool | None = None, dtype: Any = None, type: Any = VarType.LOD_TENSOR
    ) -> Variable:
        """A variable without a value.

        Args:
            name: Its name.
            persistable: Whether it keeps its value between runs.
            dtype: Its element type.
            type: What it is: rows of numbers, `VarType.LOD_TENSOR`.
        """
        from ..layers.arrays import create_tensor

        if type is not VarType.LOD_TENSOR:
            raise fault(NotImplementedError, f"a layer keeps no variable of type {type}", "leave `type` out")
        return create_tensor(dtype or self._dtype, name or f"{self.full_name()}.var", bool(persistable))

    def add_parameter(self, name: str, parameter: Any) -> Any:
        """Makes a parameter one of this layer.

        Args:
            name: The name of the attribute.
            parameter: The parameter.
        """
        if parameter is not None and not isinstance(parameter, Parameter):
            raise fault(TypeError, f"{type(parameter).__name__} is not a parameter", "make one with `create_parameter`")
        self._parameters[name] = parameter
        return parameter

    def add_sublayer(self, name: str, sublayer: Any) -> Any:
        """Makes a layer one of this layer.

        Args:
            name: The name of the attribute.
            sublayer: The layer.
        """
        if not isinstance(sublayer, Layer):
            raise fault(TypeError, f"{type(sublayer).__name__} is not a layer", "derive it from `fluid.dygraph.Layer`")
        self._sub_layers[str(name)] = sublayer
        return sublayer

    def register_buffer(self, name: str, variable: Variable) -> None:
        """Makes a variable that is not trained a part of `state_dict`.

        Args:
            name: The name of the attribute.
            variable: The variable.
        """
        self._buffers[name] = variable

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_parameters" not in own:
            if isinstance(value, (Parameter, Layer)):
                raise fault(
                    RuntimeError, "the layer is not made yet", "call `super().__init__()` before attributes are assigned"
                )
            object.__setattr__(self, name, value)
            return
        for known in (own["_parameters"], own["_sub_layers"]):
            if name in known and not isinstance(value, (Parameter, Layer)):
                del known[name]
        own.pop(name, None)
        if isinstance(value, Parameter):
            own["_sub_layers"].pop(name, None)
            own["_parameters"][name] = value
        elif isinstance(value, Layer):
            own["_parameters"].pop(name, None)
            own["_sub_layers"][name] = value
        elif name in own["_buffers"] and isinstance(value, Variable):
            own["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for known in ("_parameters", "_sub_layers", "_buffers"):
            if name in self.__dict__.get(known, ()):
                del self.__dict__[known][name]
                return
        object.__delattr__(self, name)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            for known in ("_parameters", "_sub_layers", "_buffers"):
                found = self.__dict__.get(known, {})
                if name in found:
                    return found[name]
            raise AttributeError(f"`{type(self).__name__}` has no attribute `{name}`", name=name, obj=self)

    def parameters(self, include_sublayers: bool = True) -> list[Any]:
        """Its parameters, each once.

        Args:
            include_sublayers: Whether those of its layers count.
        """
        return [parameter for _, parameter in self.named_parameters("", include_sublayers)]

    def named_parameters(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Any]]:
        """Its parameters by the path of their attributes, each once.

        Args:
            prefix: What paths begin with.
            include_sublayers: Whether those of its layers count.
        """
        seen: set[int] = set()
        for path, owner in self.named_sublayers(prefix, include_sublayers, True):
            for name, parameter in owner._parameters.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{path}.{name}" if path else name, parameter

    def sublayers(self, include_sublayers: bool = True) -> list[Layer]:
        """Its layers.

        Args:
            include_sublayers: Whether the layers of its layers count.
        """
        if not include_sublayers:
            return [layer for layer in self._sub_layers.values() if layer is not None]
        return [layer for _, layer in self.named_sublayers()]

    def named_sublayers(
        self, prefix: str = "", include_sublayers: bool = True, include_self: bool = False, layers_set: Any = None
    ) -> Iterator[tuple[str, Layer]]:
        """Its layers by the path of their attributes.

        Args:
            prefix: What paths begin with.
            include_sublayers: Whether there are any.
            include_self: Whether it stands before them.
            layers_set: Those that are known already.
        """
        seen: set[Any] = set() if layers_set is None else layers_set
        if include_self and self not in seen:
            seen.add(self)
            yield prefix, self
        if include_sublayers:
            for name, layer in self._sub_layers.items():
                if layer is not None and layer not in seen:
                    path = f"{prefix}.{name}" if prefix else name
                    yield from layer.named_sublayers(path, True, True, seen)

    # Modes ----------------------------------------------------------------------------------------

    def train(self) -> None:
        """Dropout drops, and batch norm uses the batch."""
        self._set_training(True)

    def eval(self) -> None:
        """Dropout passes on, and batch norm uses what it has remembered."""
        self._set_training(False)

    def _set_training(self, training: bool) -> None:
        if in_dygraph_mode():
            CALLS.training = training
        for _, layer in self.named_sublayers("", True, True):
            layer.training = training

    def clear_gradients(self) -> None:
        """Forgets the gradients of its parameters."""
        for parameter in self.parameters():
            if parameter.trainable:
                parameter.clear_gradient()

    # Calls ----------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> _Hook:
        """A function of layer and inputs that is called before `forward`, and may give other inputs."""
        number = len(self._pre_hooks)
        self._pre_hooks[number] = hook
        return _Hook(self._pre_hooks, number)

    def register_forward_post_hook(self, hook: Callable[..., Any]) -> _Hook:
        """A function of layer, inputs and output that is called behind `forward`, and may give another output."""
        number = len(self._post_hooks)
        self._post_hooks[number] = hook
        return _Hook(self._post_hooks, number)

    def _build_once(self, *inputs: Any, **named: Any) -> None:
        """Called before the first `forward`, for parameters whose sizes follow from the input."""

    def build_once(self, *inputs: Any, **named: Any) -> None:
        """Another name of `_build_once`."""

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        for hook in list(self._pre_hooks.values()):
            found = hook(self, inputs)
            if found is not None:
                inputs = found if isinstance(found, tuple) else (found,)
        former, CALLS.owner = CALLS.owner, None
        try:
            if not self._built:
                self._build_once(*inputs, **named)
                self.build_once(*inputs, **named)
                self.__dict__["_built"] = True
            output = self.forward(*inputs, **named)
        finally:
            CALLS.owner = former
        for hook in list(self._post_hooks.values()):
            found = hook(self, inputs, output)
            if found is not None:
                output = found
        return output

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """What the layer computes. A layer of one's own says it."""
        apply = getattr(type(self), "apply", None)
        if apply is not None:
            return apply(self, *inputs, **named)
        raise missing(self, "forward(self, inputs)")

    def backward(self, *inputs: Any) -> None:
        """Refused: gradients follow from `forward`."""
        raise fault(ValueError, "a layer has no `backward` of its own", "call `loss.backward()`")

    # Values ---------------------------------------------------------------------------------------

    def state_dict(
        self, destination: Any = None, include_sublayers: bool = True, structured_name_prefix: str = ""
    ) -> OrderedDict[str, Any]:
        """Its parameters and other states by path.

        Args:
            destination: Where they are put.
            include_sublayers: Whether those of its layers count.
            structured_name_prefix: What paths begin with.
        """
        found: OrderedDict[str, Any] = OrderedDict() if destination is None else destination
        for path, layer in self.named_sublayers("", include_sublayers, True):
            for name, value in (*layer._parameters.items(), *layer._buffers.items()):
                if value is not None:
                    found[structured_name_prefix + (f"{path}.{name}" if path else name)] = value
        return found

    def set_dict(self, stat_dict: Any, include_sublayers: bool = True, use_structured_name: bool = True) -> None:
        """Gives its parameters and other states values.

        Args:
            stat_dict: Arrays or variables by path, or by name.
            include_sublayers: Whether those of its layers count.
            use_structured_name: Whether paths count, or names of parameters.
        """
        known = self.state_dict(include_sublayers=include_sublayers)
        targets = {path if use_structured_name else value.name: value for path, value in known.items()}
        unused = [name for name in stat_dict if name not in targets and name != "StructuredToParameterName@@"]
        if unused:
            # Files of Fluid 1.5 have names of parameters.
            by_name = {value.name: value for value in known.values()}
            if all(name in by_name for name in unused):
                targets.update(by_name)
            elif waiting := [layer for _, layer in self.named_sublayers("", include_sublayers, True) if layer._makes_later()]:
                # Layers of 1.5 make their parameters at their first call, which then have these values.
                targets.update(by_name)
                for layer in waiting:
                    layer.__dict__["_values"] = {**layer.__dict__.get("_values", {}), **stat_dict}
            else:
                raise fault(
                    ValueError,
                    f"the layer has no parameter {', '.join(f'`{name}`' for name in unused[:3])}",
                    "use a model of the same form, or `use_structured_name=False`",
                )
        for name, value in stat_dict.items():
            if name in targets:
                set_value(targets[name], value)

    load_dict = set_state_dict = set_dict

    # What functions of `layers` ask for -----------------------------------------------------------

    #: The attributes of its parameters, in the order in which its function asks for them.
    _slots: tuple[str, ...] = ("weight", "bias")

    def _call(self, function: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
        """Calls a function of `layers` with the parameters of this layer."""
        former, CALLS.owner = CALLS.owner, self
        self._ask_anew()
        try:
            return function(*inputs, **options)
        finally:
            CALLS.owner = former

    def _holds(self) -> tuple[set[str], set[str]]:
        """The names of its parameters and states."""
        return set(self._parameters), set(self._buffers)

    def _ask_anew(self, held: tuple[set[str], set[str]] | None = None) -> None:
        """A function asks for its parameters from the first one on.

        Args:
            held: The names of those that it had before a call that failed; others are forgotten.
        """
        own = self.__dict__
        own["_asked"], own["_asked_states"] = [0, 0], 0
        if held is not None:
            for values, names in zip((self._parameters, self._buffers), held):
                for name in set(values) - names:
                    del values[name]

    def _slot(self, is_bias: bool) -> str:
        asked = self.__dict__["_asked"]
        number = asked[is_bias]
        asked[is_bias] += 1
        names = [name for name in self._slots if ("bias" in name) == is_bias]
        if number < len(names):
            return names[number]
        return f"{'bias' if is_bias else 'weight'}_{number}"

    def _next_parameter(
        self, helper: Any, attr: Any, shape: Sequence[int], dtype: Any, is_bias: bool, default_initializer: Any
    ) -> Any:
        name = self._slot(is_bias)
        known = self._parameters.get(name)
        if known is None:
            known = helper.new_parameter(attr, shape, dtype, is_bias, default_initializer)
            self._parameters[name] = known
            self._take_value(known)
            # A given initial value may have made it larger or smaller than this.
            known._asked = tuple(shape)
        elif tuple(shape) not in (tuple(known.shape), known._asked):
            raise fault(
                ValueError,
                f"`{name}` of `{self.full_name()}` has the sizes {list(known.shape)}, and this input needs {list(shape)}",
                "give the layer inputs of the sizes that it was made for",
            )
        return _tensor(known)

    def _next_state(
        self, helper: Any, shape: Sequence[int], value: Any, dtype: Any, name: str | None, label: str
    ) -> Held:
        number = self.__dict__["_asked_states"]
        self.__dict__["_asked_states"] += 1
        slot = ("_mean", "_variance")[number] if number < 2 else f"_state_{number}"
        known = self._buffers.get(slot)
        if known is None:
            known = helper.new_state(shape, value, dtype, name, label)
            self._buffers[slot] = known
            self._take_value(known)
        return Held(known)

    def _makes_later(self) -> bool:
        """Whether its first call makes parameters."""
        kind = type(self)
        is_own = kind._build_once is not Layer._build_once or kind.build_once is not Layer.build_once
        return not self._built and is_own

    def _take_value(self, made: Any) -> None:
        """Gives a new parameter the value that `set_dict` has kept for its name."""
        values = self.__dict__.get("_values", {})
        if made.name in values:
            set_value(made, values[made.name])


def set_value(var: Any, value: Any) -> None:
    """Gives a parameter or another state a value: at once, or in the scope that programs run in."""
    import numpy as np

    array = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    if isinstance(var, State):
        from ..executor import global_scope

        if tuple(array.shape) != var.sizes:
            raise fault(
                ValueError, f"`{var.name}` has the sizes {list(var.sizes)}, and the value {list(array.shape)}",
                "use a value of the same sizes",
            )  # fmt: skip
        global_scope()._state.insert(var.name, _core.tensor(array, var._dtype_name()), var.role)
    else:
        var.set_value(array)
