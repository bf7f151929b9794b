"""What a layer is."""

from __future__ import annotations

import copy

from .. import _core, _phase
from .._fault import fault
from ..initializer import Assign, XavierUniform
from . import _state_dict
from ._attributes import Attributes
from ._hooks import Handle, after, before, handle, with_backward_hooks
from ._listing import Listing
from ._parameter import Buffer, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from .._attr import AttrLike, Init
    from .._core import DTypeLike, Tensor, TensorLike
    from ._state_dict import Loaded

    Self = TypeVar("Self", bound="Layer")


class Layer(Attributes):
    """A layer: a function with parameters of its own, and a place in a model.

    A layer of one's own has a `forward`. Parameters, buffers and layers that are assigned to its
    attributes belong to it, in both modes and in every thread, and live as long as it does. Their
    initial values are made at the first use, and depend on the seed and on their labels, such as
    `net.hidden.weight`, only.

    Args:
        name: The name of the model that begins here, for listings and files; without one it is made
            from the class. A part of another layer is called by its attribute.

    Example:
        >>> class Net(fl.nn.Layer):
        ...     def __init__(self):
        ...         super().__init__("net")
        ...         self.hidden = fl.nn.Linear(4, 8)
        ...         self.out = fl.nn.Linear(8, 2)
        ...     def forward(self, x):
        ...         return self.out(fl.tanh(self.hidden(x)))
        >>> net = Net()
        >>> x = fl.full((3, 4), 0.5)
        >>> net(x).shape
        (3, 2)
        >>> [parameter.name for parameter in net.parameters()]
        ['net.hidden.weight', 'net.hidden.bias', 'net.out.weight', 'net.out.bias']
        >>> program = fl.build(net, {"x": "f32[batch, 4]"})
        >>> bool(fl.all(program(x) == net(x)))
        True
    """

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """What the layer does, in both modes. A layer of one's own says it."""
        raise fault(
            NotImplementedError,
            f"the layer `{type(self).__name__}` has no `forward`",
            "define `def forward(self, x):` in the class",
        )

    def _build_once(self, *inputs: Any, **options: Any) -> None:
        """Called with the inputs before the first `forward`: the place to make parameters whose
        sizes depend on them."""

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Calls `forward`, with the hooks before and after it."""
        if self._pre_hooks:
            for hook in tuple(self._pre_hooks.values()):
                inputs, options = before(self, hook, inputs, options)
        if self._backward_hooks or self._backward_pre_hooks:
            return with_backward_hooks(self, inputs, options)
        return self._called(inputs, options)

    def _called(self, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if not self._is_built:
            self._build_once(*inputs, **options)
            object.__setattr__(self, "_is_built", True)
        if _phase.LOCAL.noted is not None:
            _phase.use(self)
        if _core.is_building():
            with _core.in_layer(self._place.name):
                result = self.forward(*inputs, **options)
        else:
            result = self.forward(*inputs, **options)
        if self._hooks:
            for hook in tuple(self._hooks.values()):
                result = after(self, hook, inputs, options, result)
        return result

    def create_parameter(
        self,
        shape: Sequence[int] | None,
        dtype: DTypeLike = "float32",
        attr: AttrLike = None,
        is_bias: bool = False,
        default_initializer: Init | None = None,
    ) -> Parameter:
        """A parameter to assign to an attribute, with Fluid's initial values: Xavier's, or zeros.

        Args:
            shape: Its sizes.
            dtype: The element type.
            attr: What is said of it.
            is_bias: Whether it begins with zeros.
            default_initializer: How its initial value is made, unless `attr` says it.
        """
        init = default_initializer or (None if is_bias else XavierUniform())
        return Parameter(shape, dtype, init, attr)

    def add_parameter(self, name: str, parameter: Parameter) -> Parameter:
        """Adds a parameter under a name that is computed.

        Args:
            name: The name.
            parameter: The parameter.
        """
        setattr(self, name, parameter)
        return parameter

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """PyTorch's name of `add_parameter`; None stands for a parameter that was left out.

        Args:
            name: The name.
            param: The parameter.
        """
        setattr(self, name, param)

    def add_sublayer(self, name: str, layer: Layer) -> Layer:
        """Adds a layer under a name that is computed.

        Args:
            name: The name.
            layer: The layer.
        """
        setattr(self, str(name), layer)
        return layer

    def add_module(self, name: str, module: Layer | None) -> None:
        """PyTorch's name of `add_sublayer`; None stands for a layer that was left out.

        Args:
            name: The name.
            module: The layer.
        """
        setattr(self, str(name), module)

    register_module = add_module

    def register_buffer(self, name: str, tensor: TensorLike | None, persistent: bool = True) -> Buffer | None:
        """Adds a buffer with this initial value.

        Args:
            name: The name.
            tensor: The initial value; None stands for a buffer that was left out.
            persistent: Whether it is a part of `state_dict`.

        Example:
            >>> layer = fl.nn.Layer()
            >>> _ = layer.register_buffer("mask", fl.ones((2,)), persistent=False)
            >>> layer.mask.tolist(), list(layer.state_dict())
            ([1.0, 1.0], [])
        """
        if tensor is None:
            setattr(self, name, None)
            return None
        value = tensor if isinstance(tensor, _core.Tensor) else _core.tensor(tensor)
        shape: Any = value.shape
        buffer = Buffer(shape, value.dtype, Assign(value), persistent=persistent)
        setattr(self, name, buffer)
        return buffer

    @property
    def full_name(self) -> str:
        """The dotted name of its place."""
        return self._place.name

    def named_sublayers(self, include_self: bool = False) -> Iterator[tuple[str, Layer]]:
        """Dotted names, as seen from here, and all layers below; a shared one is there once.

        Args:
            include_self: Whether the layer itself comes first, with an empty name.
        """
        seen: set[int] = set()
        for name, layer in _state_dict.walk(self):
            if id(layer) not in seen:
                seen.add(id(layer))
                if include_self or name:
                    yield name, layer

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        """All layers below."""
        return Listing(layer for _, layer in self.named_sublayers(include_self))

    def modules(self) -> list[Layer]:
        """The layer itself and all layers below, as PyTorch has them.

        Example:
            >>> [type(layer).__name__ for layer in fl.nn.Sequential(fl.nn.Linear(2, 1)).modules()]
            ['Sequential', 'Linear']
        """
        return self.sublayers(include_self=True)

    def named_modules(
        self, memo: set[Layer] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Layer]]:
        """Dotted names and layers, this one first, as PyTorch has them.

        Args:
            memo: Layers to leave out.
            prefix: What names begin with.
            remove_duplicate: Whether a shared layer is there once.
        """
        seen = set() if memo is None else memo
        for name, layer in _state_dict.walk(self, prefix):
            if not remove_duplicate or layer not in seen:
                seen.add(layer)
                yield name, layer

    def children(self) -> list[Layer]:
        """The layers of which it is made, without theirs."""
        return Listing(layer for _, layer in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        """Names, and the layers of which it is made, without theirs; a shared one is there once."""
        seen: set[int] = set()
        for name, layer in list(self._layers().items()):
            if id(layer) not in seen:
                seen.add(id(layer))
                yield name, layer

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Dotted names, as seen from here, and parameters.

        Args:
            prefix: What names begin with.
            recurse: Whether those of layers below are there, too.
            remove_duplicate: Whether a shared one is there once.
        """
        return _state_dict.distinct(self, "_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> list[Parameter]:
        """The parameters of the layer and its parts.

        Args:
            recurse: Whether those of layers below are there, too.

        Example:
            >>> [parameter.shape for parameter in fl.nn.Linear(3, 2).parameters()]
            [(2, 3), (2,)]
            >>> next(fl.nn.Linear(3, 2).parameters()).dtype
            fluvial.float32
        """
        return Listing(parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Dotted names, as seen from here, and buffers.

        Args:
            prefix: What names begin with.
            recurse: Whether those of layers below are there, too.
            remove_duplicate: Whether a shared one is there once.
        """
        return _state_dict.distinct(self, "_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> list[Parameter]:
        """The buffers of the layer and its parts.

        Args:
            recurse: Whether those of layers below are there, too.
        """
        return Listing(buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Layer:
        """The layer below that has this dotted name.

        Args:
            target: The name, as `named_modules` gives it.

        Example:
            >>> net = fl.nn.Sequential(fl.nn.Sequential(fl.nn.Linear(2, 1)))
            >>> net.get_submodule("0.0")
            Linear(2, 1)
        """
        return _state_dict.found(self, target, "_sublayers", "layer") if target else self

    def get_parameter(self, target: str) -> Parameter:
        """The parameter here or below that has this dotted name.

        Args:
            target: The name, as `named_parameters` gives it.
        """
        return _state_dict.found(self, target, "_parameters", "parameter")

    def get_buffer(self, target: str) -> Parameter:
        """The buffer here or below that has this dotted name.

        Args:
            target: The name, as `named_buffers` gives it.
        """
        return _state_dict.found(self, target, "_buffers", "buffer")

    def initialise(self: Self) -> Self:
        """Gives all parameters and buffers their initial values; what has one keeps it."""
        for _, entry in _state_dict.entries(self):
            entry.get()
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """The values of all parameters and buffers, by their names as seen from this layer.

        Example:
            >>> net = fl.nn.Sequential(fl.nn.Linear(4, 2), fl.nn.Tanh())
            >>> list(net.state_dict())
            ['0.weight', '0.bias']
        """
        return _state_dict.values(self)

    def load_state_dict(self, state: Mapping[str, TensorLike], strict: bool = True) -> Loaded:
        """Takes parameters and buffers over. On an error nothing is changed.

        Args:
            state: Tensors or arrays by name.
            strict: Whether names that are missing or unexpected are an error. Sizes must agree in
                any case.

        Returns:
            The names that were `missing` and `unexpected`.

        Example:
            >>> layer = fl.nn.Linear(2, 1)
            >>> layer.load_state_dict({"weight": np.ones((1, 2)), "bias": np.zeros(1)})
            Loaded(missing=[], unexpected=[])
            >>> layer(fl.tensor([[2.0, 4.0]])).item()
            6.0
        """
        return _state_dict.load(self, state, strict)

    def train(self: Self, mode: bool = True) -> Self:
        """From here on the layer and its parts behave as in training, as from the beginning.

        Args:
            mode: Whether they do.
        """
        for layer in self.sublayers(include_self=True):
            _phase.changing(layer)
            object.__setattr__(layer, "training", mode)
        return self

    def _fl_options(self) -> tuple[Any, ...]:
        # The options that change a program that is built of the layer.
        return ()

    def _put_back_options(self, options: tuple[Any, ...]) -> None:
        # Makes the options what `_fl_options` gave.
        pass

    def _fl_key(self) -> tuple[bool, ...]:
        # What about the layer changes a program that is built of it.
        return tuple(layer.training for layer in self.sublayers(include_self=True))

    def eval(self: Self) -> Self:
        """From here on the layer and its parts behave as in use: dropout passes its input on, batch
        norm takes its running statistics. In a program this is settled when it is built.

        Example:
            >>> fl.nn.Dropout(0.5).eval()(fl.tensor([1.0, 2.0])).tolist()
            [1.0, 2.0]
        """
        return self.train(False)

    def freeze(self: Self, frozen: bool = True) -> Self:
        """Keeps the parameters of the layer and its parts as they are: they are read as constants.

        Args:
            frozen: Whether they are kept; if not, they are trained again.
        """
        for parameter in self.parameters():
            parameter.requires_grad = not frozen
        return self

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Says whether the parameters of the layer and its parts are trained, as `freeze` does.

        Args:
            requires_grad: Whether they are.
        """
        return self.freeze(not requires_grad)

    def apply(self: Self, function: Callable[[Layer], object]) -> Self:
        """Calls a function with every layer below, and then with this one.

        Args:
            function: What to call.
        """
        for layer in self._sublayers.values():
            layer.apply(function)
        function(self)
        return self

    def to(self: Self, *args: Any, dtype: DTypeLike | None = None, device: Any = None, **options: Any) -> Self:
        """Changes the element type of parameters and of buffers of real numbers.

        Args:
            args: The new one; or a device, of which there is one; or a tensor that has it.
            dtype: The new one.
            device: "cpu".
            options: `non_blocking`, `memory_format`, which change nothing.

        Example:
            >>> fl.nn.Linear(2, 1).to("float64").weight.dtype
            fluvial.float64
        """
        from .._tensor import Device

        for value in (*args, device):
            if isinstance(value, (Device, str)) and str(value).partition(":")[0] in Device.OTHERS:
                # It is the one that there is, or an error.
                Device(value)
            elif isinstance(value, _core.Tensor):
                dtype = value.dtype
            elif value is not None and not isinstance(value, bool):
                dtype = value
        if wrong := options.keys() - {"non_blocking", "memory_format", "copy"}:
            raise fault(TypeError, f"`to` has no argument `{sorted(wrong)[0]}`", "give an element type or a device")
        for _, entry in _state_dict.entries(self):
            if dtype is not None and "float" in entry.dtype.name:
                entry.convert(dtype)
        return self

    def cpu(self: Self) -> Self:
        """Itself: there is one device, the CPU."""
        return self

    def float(self: Self) -> Self:
        """`to("float32")`."""
        return self.to("float32")

    def double(self: Self) -> Self:
        """`to("float64")`."""
        return self.to("float64")

    def half(self: Self) -> Self:
        """`to("float16")`."""
        return self.to("float16")

    def bfloat16(self: Self) -> Self:
        """`to("bfloat16")`."""
        return self.to("bfloat16")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters.

        Args:
            set_to_none: Gradients that are forgotten are None; they are not kept as zeros.
        """
        if not set_to_none:
            raise fault(ValueError, "gradients that were forgotten are None", "leave `set_to_none` out")
        for parameter in self.parameters():
            if parameter.is_trainable and parameter.is_sized:
                parameter.zero_grad()

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Has a function called before `forward`, with the layer and a tuple of its inputs. What it
        returns, if anything, takes their place.

        Args:
            hook: The function.
            prepend: Whether it is called before the others.
            with_kwargs: Whether it also gets what the layer is called with by name, as a dict behind the inputs.
        """
        return handle(self._pre_hooks, hook, prepend, with_kwargs)

    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Has a function called after `forward`, with the layer, a tuple of its inputs, and the
        result. What it returns, if anything, takes the result's place.

        Args:
            hook: The function.
            prepend: Whether it is called before the others.
            with_kwargs: Whether it also gets what the layer is called with by name, as a dict behind the inputs.

        Example:
            >>> layer = fl.nn.ReLU()
            >>> handle = layer.register_forward_hook(lambda layer, inputs, y: y * 10)
            >>> layer(fl.tensor([2.0])).tolist()
            [20.0]
            >>> handle.remove()
        """
        return handle(self._hooks, hook, prepend, with_kwargs)

    def register_full_backward_hook(self, hook: Callable[..., Any]) -> Handle:
        """Has a function called with the layer, the gradients of its inputs, and those of its outputs, once these
        are known; both are tuples. What it returns, if anything, takes the place of the gradients of the inputs. In a
        function it is called where gradients go on to the inputs.

        Args:
            hook: The function.

        Example:
            >>> layer = fl.nn.Linear(2, 1)
            >>> seen = []
            >>> handle = layer.register_full_backward_hook(lambda layer, gx, gy: seen.append(gy[0].tolist()))
            >>> fl.sum(layer(fl.ones((1, 2))) * 3.0).backward()
            >>> seen
            [[[3.0]]]
        """
        return Handle(self._backward_hooks, hook)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Has a function called with the layer and the gradients of its outputs, a tuple, before those of its
        inputs are computed. What it returns, if anything, takes their place.

        Args:
            hook: The function.
        """
        return Handle(self._backward_pre_hooks, hook)

    def __deepcopy__(self: Self, memo: dict[int, object]) -> Self:
        """A layer with parameters of its own, with the same values.

        Example:
            >>> import copy
            >>> net = fl.nn.Linear(2, 1)
            >>> target = copy.deepcopy(net)
            >>> bool(fl.all(target.weight == net.weight)), target.weight is net.weight
            (True, False)
        """
        copied = memo[id(self)] = type(self).__new__(type(self))
        copied.__dict__["_place"] = self._place.copied(copied, memo)
        for name, value in self.__dict__.items():
            if name != "_place":
                copied.__dict__[name] = copy.deepcopy(value, memo)
        return copied

    def extra_repr(self) -> str:
        """What stands in the parentheses of the layer's `repr`."""
        return ""

    def __repr__(self) -> str:
        head = f"{type(self).__name__}({self.extra_repr()}"
        if not self._sublayers:
            return head + ")"
        parts = (f"({name}): {layer!r}" for name, layer in self._sublayers.items())
        lines = "\n".join(parts).replace("\n", "\n  ")
        return f"{head}\n  {lines}\n)"
