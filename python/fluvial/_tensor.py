"""Methods and attributes of tensors under the names that users of PyTorch and NumPy know."""

from __future__ import annotations

import builtins
import types
import weakref

from . import _array_api, _core, _derived
from ._array_api.making import full, is_dtype, ones, zeros
from ._core import Tensor
from ._derived.making import together
from ._fault import fault
from ._tree import is_parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._core import DTypeLike


class Device(str):
    """A device; there is one, "cpu". It is equal to its name.

    Args:
        type: "cpu".
        index: None or 0.

    Example:
        >>> fl.tensor(1.0).device.type
        'cpu'
    """

    index: Any = None  # type: ignore[assignment]
    #: The names of devices, also of those that are not there.
    OTHERS = frozenset("cpu cuda mps xpu mtia meta ipu hpu xla".split())

    def __new__(cls, type: str = "cpu", index: int | None = None) -> Device:
        name = str(type).partition(":")[0]
        if name != "cpu":
            raise fault(ValueError, f'there is no device "{type}"', 'tensors are in main memory: use "cpu"')
        return str.__new__(cls, name)

    @property
    def type(self) -> str:
        """Its name."""
        return str(self)

    def __reduce__(self) -> Any:
        return Device, (str(self),)


CPU = Device()
#: What PyTorch calls element types in `x.type("...")`.
_TYPES = {
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}


def view(self: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: `reshape` under PyTorch's name. If it is changed in place, so is the tensor.

    Args:
        *shape: Its sizes, one by one or as a tuple; -1 follows from the others.
    """
    if len(shape) == 1 and is_dtype(shape[0]):
        raise fault(TypeError, "the bytes of a tensor have one element type", "convert the elements: `x.to(dtype)`")
    return _core.reshape(self, together(shape))


def numel(self: Tensor) -> int:
    """The number of elements."""
    return self.size + 0


def dim(self: Tensor) -> int:
    """The number of axes."""
    return self.ndim


def element_size(self: Tensor) -> int:
    """The number of bytes of an element."""
    return self.dtype.itemsize


def is_floating_point(self: Tensor) -> builtins.bool:
    """Whether the elements are floats."""
    return "float" in self.dtype.name


def is_complex(self: Tensor) -> builtins.bool:
    """Whether the elements are complex numbers."""
    return self.dtype.is_complex


def clone(self: Tensor) -> Tensor:
    """A tensor of its own with the same elements, through which gradients pass.

    Example:
        >>> x = fl.tensor([1.0, 2.0])
        >>> y = x.clone()
        >>> y[0] = 5.0
        >>> x.tolist(), y.tolist()
        ([1.0, 2.0], [5.0, 2.0])
    """
    if type(self) is Tensor and not self.is_leaf and not self._is_number:
        return self.__copy__()
    return _core.reshape(self, self.shape).__copy__()


def contiguous(self: Tensor) -> Tensor:
    """The tensor itself; of a part of another one the same elements, which cannot be changed in place."""
    return _core.same_elements(self) if _core.wholes(self) else self


def is_contiguous(self: Tensor) -> builtins.bool:
    """True: layouts are not the concern of users."""
    return True


def cpu(self: Tensor) -> Tensor:
    """The tensor itself: there is one device."""
    return self


def to(
    self: Tensor,
    *args: Any,
    dtype: DTypeLike | None = None,
    device: Any = None,
    non_blocking: builtins.bool = False,
    copy: builtins.bool = False,
    memory_format: Any = None,
) -> Tensor:
    """The tensor with another element type, or that of another tensor; on "cpu", where it is.

    Args:
        *args: An element type, a device, or a tensor whose element type is wanted.
        dtype: The element type.
        device: None or "cpu".
        non_blocking: No matter on one device.
        copy: Whether the result is a new object even if nothing changes.
        memory_format: No matter: layouts are not seen.

    Example:
        >>> fl.tensor([1.5]).to("cpu", fl.int64).tolist()
        [1]
    """
    for given in args:
        if isinstance(given, Tensor):
            dtype = given.dtype
        elif isinstance(given, (Device, str)) and not is_dtype(given):
            device = given
        elif given is not None and not isinstance(given, builtins.bool):
            dtype = given
    if device is not None:
        Device(device)
    if dtype is not None and self.dtype != _array_api.dtypes.dtype_of(dtype):
        return _core.cast(self, dtype)
    return clone(self) if copy else self


def type_(self: Tensor, dtype: Any = None) -> Any:
    """The tensor with another element type; without one, the name of its own.

    Args:
        dtype: An element type, or PyTorch's name of one, such as "torch.LongTensor".
    """
    if dtype is None:
        return self.dtype.name
    name = str(dtype).rpartition(".")[2]
    return to(self, _TYPES.get(name, dtype))


def _as(name: str) -> Any:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return to(self, name)

    method.__doc__ = f"The tensor with the element type {name}."
    return method


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with the element type of another one.

    Args:
        other: The other one.
    """
    return to(self, other.dtype)


def t(self: Tensor) -> Tensor:
    """The transpose of a matrix; a vector stays as it is."""
    return self if self.ndim < 2 else self.T


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the shape of another one, repeated along axes.

    Args:
        other: The other one.
    """
    return _core.broadcast_to(self, other.shape)


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of another tensor.

    Args:
        other: The other one.
    """
    return _core.reshape(self, other.shape)


def repeat(self: Tensor, *repeats: Any, axis: int | None = None, dim: int | None = None) -> Tensor:
    """Each element several times, as `fl.repeat`. PyTorch's meaning is `x.tile(2, 3)`.

    Args:
        *repeats: How often: an int, or a tensor with a number for each place of the axis.
        axis: Along this axis; None for the flat tensor.
        dim: The same.
    """
    if len(repeats) != 1 or isinstance(repeats[0], (list, tuple)):
        shown = ", ".join(map(str, together(repeats)))
        remedy = f"`x.tile({shown})` puts a tensor beside itself; in files that import `fluvial.torch`, `repeat` does"
        raise fault(TypeError, "`repeat` takes one number: how often each element is repeated", remedy)
    return _array_api.repeat(self, repeats[0], axis=dim if axis is None else axis)


def _new(make: Any) -> Any:
    def method(self: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
        return make(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)

    method.__doc__ = f"`{make.__name__}` with the element type of the tensor, unless another one is given."
    return method


def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False
) -> Tensor:
    """`full` with the element type of the tensor, unless another one is given.

    Args:
        size: Sizes.
        fill_value: The number.
        dtype: The element type.
        device: None or "cpu".
        requires_grad: Whether the new tensor is a leaf.
    """
    return full(size, fill_value, dtype or self.dtype, device=device, requires_grad=requires_grad)


def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, requires_grad: builtins.bool = False) -> Tensor:
    """`fl.tensor` with the element type of the tensor, unless another one is given.

    Args:
        data: The elements.
        dtype: The element type.
        requires_grad: Whether the new tensor is a leaf.
    """
    made = _core.tensor(data, dtype or self.dtype)
    return made.track() if requires_grad else made


def requires_grad_(self: Tensor, requires_grad: builtins.bool = True) -> Tensor:
    """Makes the tensor a leaf, in whose `grad` gradients accumulate, or no longer one; returns it.

    Args:
        requires_grad: Whether it is one.

    Example:
        >>> x = fl.tensor(3.0).requires_grad_()
        >>> (x * x).backward()
        >>> x.grad.item()
        6.0
    """
    _core.set_leaf(self, requires_grad)
    return self


#: Gradients of computed tensors that were asked for, by the number of the object, with a reference that tells when it dies.
_RETAINED: dict[int, list[Any]] = {}


_REGISTER_HOOK = Tensor.__dict__["register_hook"]


def register_hook(self: Tensor, function: Any) -> Any:
    """Calls a function with the gradient of this value whenever it is complete, in both modes.

    On a leaf or a parameter the hook stays until it is removed, whatever values come and go, and is called with each gradient
    before that is added to `grad`. A function that runs as a program calls it once, while its gradients are built, with a value
    of the program.

    Args:
        function: Takes the gradient; what it returns, if not None, takes its place.

    Returns:
        A handle, whose `remove()` takes the hook away.

    Example:
        >>> x = fl.tensor([1.0, 2.0]).track()
        >>> handle = x.register_hook(lambda grad: fl.clip(grad, -1.0, 1.0))
        >>> fl.sum(x * 5).backward()
        >>> x.grad.tolist()
        [1.0, 1.0]
    """
    from ._convert import hooks

    if _core.is_building():
        if is_parameter(self):
            raise hooks.refusal()
        return hooks.registering(self, _REGISTER_HOOK.__get__(self))(function)
    if is_parameter(self):
        with _core.enable_grad():
            return _REGISTER_HOOK(self, hooks.of_leaf(function))
    return _REGISTER_HOOK(self, hooks.of_leaf(function) if self.is_leaf else function)


def retain_grad(self: Tensor) -> None:
    """Has `backward` leave the gradient of this computed tensor in its `grad`, too."""
    if self.is_leaf or id(self) in _RETAINED:
        return
    key = id(self)
    entry: list[Any] = [weakref.ref(self, lambda _: _RETAINED.pop(key, None)), None]

    def keep(grad: Tensor) -> None:
        entry[1] = grad if entry[1] is None else entry[1] + grad

    self.register_hook(keep)
    _RETAINED[key] = entry


_GRAD = Tensor.__dict__["grad"]


def _get_grad(self: Tensor) -> Any:
    if _RETAINED and id(self) in _RETAINED:
        return _RETAINED[id(self)][1]
    return _GRAD.__get__(self)


def _set_grad(self: Tensor, grad: Any) -> None:
    if id(self) in _RETAINED:
        _RETAINED[id(self)][1] = grad
    else:
        _core.set_grad(self, grad)


_BACKWARD = Tensor.__dict__["backward"]


def backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: builtins.bool | None = None,
    create_graph: builtins.bool = False,
    *,
    seed: Any = None,
) -> None:
    """Accumulates the gradient of this value in every leaf it depends on.

    Args:
        gradient: The cotangent to start from; one, if the value is a scalar.
        retain_graph: Keep what was recorded, for another call.
        create_graph: Record the gradients, so that they can be differentiated.
        seed: Another name of `gradient`.
    """
    if seed is not None and gradient is not None:
        raise fault(TypeError, "`gradient` is another name of `seed`, which is given, too", "give `backward` one of them")
    keep = create_graph if retain_graph is None else retain_graph
    _BACKWARD(self, seed if gradient is None else gradient, retain_graph=keep, create_graph=create_graph)


def _taken_over() -> dict[str, Any]:
    """The functions that are methods as they are."""
    found = {name: getattr(_derived, name) for name in _derived.METHODS}
    for name in _array_api.__all__:
        # Methods of ops, which have another signature than the function of that name.
        if name in Tensor.__dict__ and name not in BY_SIZES:
            found[name] = getattr(_array_api, name)
    return found


def _bound(name: str, function: Any) -> Any:
    """A function of the core as a method: of itself it would not be given the tensor."""

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method.__name__, method.__doc__ = name, function.__doc__
    method.__wrapped__ = function  # type: ignore[attr-defined]
    return method


#: Methods that take sizes or axes one by one; see `fluvial._methods`.
BY_SIZES = ("reshape", "flip", "squeeze", "tile")


def _adjoint(self: Tensor) -> Tensor:
    """The conjugates, with the last two axes exchanged."""
    return _core.conj(self.mT)


def register() -> None:
    """Gives the class its methods and attributes."""
    methods: dict[str, Any] = _taken_over()
    for function in (view, numel, dim, element_size, is_floating_point, is_complex, clone, contiguous, is_contiguous, cpu, to, type_as, t):
        methods[function.__name__] = function
    for method in (expand_as, view_as, repeat, new_full, new_tensor, requires_grad_, register_hook, retain_grad, backward):
        methods[method.__name__] = method
    methods |= {"type": type_, "nelement": numel, "ndimension": dim, "reshape_as": view_as}
    methods |= {"new_zeros": _new(zeros), "new_empty": _new(zeros), "new_ones": _new(ones), "isin": _derived.isin}
    methods |= {"multiply": _core.mul, "divide": _core.div, "subtract": _core.sub, "negative": _core.neg}
    methods |= {"adjoint": _adjoint}
    methods |= {"floor_divide": _core.floor_div, "moveaxis": _array_api.moveaxis, "diff": _array_api.diff}
    for name in "equal not_equal greater greater_equal less less_equal signbit positive take".split():
        methods[name] = getattr(_array_api, name)
    kinds = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "bool": "bool"}
    kinds |= {"cfloat": "complex64", "cdouble": "complex128"}
    for name, dtype in (kinds | {"long": "int64", "int": "int32", "short": "int16", "char": "int8", "byte": "uint8"}).items():
        methods[name] = _as(dtype)
    for name, method in methods.items():
        setattr(Tensor, name, _bound(name, method) if isinstance(method, types.BuiltinFunctionType) else method)
    _core.Parameter.register_hook = register_hook  # type: ignore[method-assign]
    Tensor.requires_grad = property(lambda self: self.is_tracked, _core.set_leaf)  # type: ignore[assignment]
    Tensor.data = property(_core.data_of, _core.put_data)  # type: ignore[assignment]
    Tensor.grad = property(_get_grad, _set_grad, doc=_GRAD.__doc__)  # type: ignore[assignment]
    Tensor.real = property(_core.real, doc="The real part.")  # type: ignore[assignment]
    Tensor.imag = property(_core.imag, doc="The imaginary part; zero for real numbers.")  # type: ignore[assignment]
    Tensor.mH = property(_adjoint, doc="The conjugates, with the last two axes exchanged.")  # type: ignore[assignment]
    Tensor.H = property(lambda self: _core.conj(self.T), doc="The conjugates of a matrix, with its axes exchanged.")  # type: ignore[assignment]
    Tensor.device = property(lambda self: CPU, doc="Where the elements are: \"cpu\".")  # type: ignore[assignment]
