"""Methods with a trailing underscore, which change the tensor they are called on, and `+=` of leaves.

The object gets a new value, as by `x[...] = value`: all who hold the object see it. If it is a part of another tensor, or the
same elements in another shape, that one is changed, too: `x[0].zero_()`, `x.view(-1)[0] = 1.0`. Other parts that were taken
before keep what they have, until they are changed in place themselves. A leaf is changed inside `fl.no_grad()` only.
"""

from __future__ import annotations

from . import _core
from ._core import Tensor
from ._fault import fault
from ._flavour import is_torch
from ._tree import is_parameter, is_tensor, same_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Methods that give a tensor of the same shape, of which there is a form that changes the tensor.
CHANGING = """
abs acos acosh addbmm addcdiv addcmul addmm addmv addr asin asinh atan atan2 atanh baddbmm bitwise_and bitwise_not
bitwise_or bitwise_xor ceil clamp clamp_max clamp_min clip copysign cos cosh cumprod cumsum deg2rad digamma div divide eq erf
erfc erfinv exp exp2 expm1 float_power floor floor_divide fmod frac gcd ge gt heaviside hypot index_add index_copy
index_fill index_put lcm ldexp le lerp lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor logit
lt masked_fill masked_scatter mul multiply nan_to_num ne neg negative pow rad2deg reciprocal relu remainder
renorm round rsqrt scatter scatter_add scatter_reduce sigmoid sign sin sinc sinh sqrt square subtract tan tanh tril
triu trunc xlogy
""".split()


def put(x: Tensor, value: Any) -> Tensor:
    """Gives a tensor a value of its shape; returns the tensor.

    Args:
        x: The tensor.
        value: A tensor or a number.
    """
    if is_tensor(value):
        if not same_sizes(value.shape, x.shape):
            raise fault(
                ValueError,
                f"a result of shape {tuple(value.shape)} does not fit the tensor of shape {tuple(x.shape)} that it is to change",
                "use the method without the underscore, and what it returns",
            )
        if value.is_complex() and not x.is_complex():
            raise fault(
                TypeError,
                f"a result of {value.dtype} would lose its imaginary part in a tensor of {x.dtype}",
                "convert the tensor to complex numbers before, with `x.to(fl.complex64)`",
            )
        if not x.is_floating_point() and not x.is_complex() and value.is_floating_point():
            raise fault(
                TypeError,
                f"a result of {value.dtype} would lose its fraction in a tensor of {x.dtype}",
                "convert the tensor to floats before, with `x.float()`",
            )
    if is_parameter(x) and not _core.is_recording():
        x.set(_core.broadcast_to(_core.tensor(value, x.dtype), x.shape))  # type: ignore[attr-defined]
    elif type(x) is Tensor and x.is_leaf and not _core.is_recording():
        _core.put_data(x, _core.broadcast_to(_core.tensor(value, x.dtype), x.shape))
    else:
        x[...] = value
    return x


def changing(name: str) -> Callable[..., Tensor]:
    """The form of a method that changes the tensor.

    Args:
        name: The name of the method.
    """

    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        self._renew()
        return put(self, getattr(self, name)(*args, **options))

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"`{name}`, which changes the tensor itself and returns it; see `fluvial._inplace`."
    return method


def add_(self: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """Adds `alpha * other` to the tensor; returns it.

    Args:
        other: A tensor or a number.
        alpha: The factor.
    """
    self._renew()
    return put(self, _core.add(self, other if alpha == 1 else _core.mul(other, alpha)))


def sub_(self: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """Takes `alpha * other` off the tensor; returns it.

    Args:
        other: A tensor or a number.
        alpha: The factor.
    """
    self._renew()
    return put(self, _core.sub(self, other if alpha == 1 else _core.mul(other, alpha)))


def zero_(self: Tensor) -> Tensor:
    """Makes all elements zero; returns the tensor.

    Example:
        >>> x = fl.tensor([1.0, 2.0])
        >>> x.zero_().tolist(), x.tolist()
        ([0.0, 0.0], [0.0, 0.0])
    """
    return put(self, 0)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Gives all elements a value; returns the tensor.

    Args:
        value: A number, or a tensor without axes.
    """
    if is_tensor(value):
        value = _core.broadcast_to(_core.cast(value, self.dtype), self.shape)
    return put(self, value)


def copy_(self: Tensor, other: Any) -> Tensor:
    """Takes the elements of another tensor over, broadcast and cast; returns the tensor.

    Args:
        other: The other one.
    """
    return put(self, _core.broadcast_to(_core.tensor(other, self.dtype), self.shape))


def _type(x: Tensor) -> Any:
    return (x.dtype, x.shape)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Draws all elements from a normal distribution; returns the tensor.

    Args:
        mean: Its mean.
        std: Its standard deviation.
    """
    return put(self, _core.normal(_type(self), mean, std))


def uniform_(self: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Draws all elements evenly between two numbers; returns the tensor.

    Args:
        low: The lower bound.
        high: The upper bound.
    """
    return put(self, _core.uniform(_type(self), low, high))


def random_(self: Tensor, low: int = 0, high: int | None = None) -> Tensor:
    """Draws all elements from the whole numbers between two; returns the tensor.

    Args:
        low: The least; or the end, from zero, if it stands alone.
        high: The end, which is not reached.
    """
    if high is None:
        low, high = (0, low) if low else (0, 2**24 if self.is_floating_point() else 127)
    return put(self, _core.cast(_core.randint(("int64", self.shape), low, high), self.dtype))


def bernoulli_(self: Tensor, p: Any = 0.5) -> Tensor:
    """Makes elements one with a probability, else zero; returns the tensor.

    Args:
        p: The probability, or a tensor of them.
    """
    p = _core.broadcast_to(_core.tensor(p, "float32"), self.shape)
    return put(self, _core.cast(_core.bernoulli(p), self.dtype))


def exponential_(self: Tensor, lambd: float = 1.0) -> Tensor:
    """Draws all elements from an exponential distribution; returns the tensor.

    Args:
        lambd: The rate.
    """
    return put(self, _core.exponential(_type(self), 1.0 / lambd))


def _of_leaf(name: str) -> Callable[..., Any]:
    def method(self: Tensor, other: Any) -> Any:
        # `w -= rate * w.grad`: the leaf stays one. Everything else gets a new tensor under its name, but for files with
        # PyTorch's meaning, where all who hold the object see the change.
        if self.is_leaf and not _core.is_recording() or is_torch():
            return put(self, getattr(self, name)(other))
        return NotImplemented

    return method


def register() -> None:
    """Gives the class its methods."""
    own: tuple[Callable[..., Any], ...] = (add_, sub_, zero_, fill_, copy_, normal_, uniform_, random_, bernoulli_, exponential_)
    for method in (*map(changing, CHANGING), *own):
        setattr(Tensor, method.__name__, method)
    for name, operator in (("add", "__iadd__"), ("sub", "__isub__"), ("mul", "__imul__"), ("div", "__itruediv__")):
        setattr(Tensor, operator, _of_leaf(name))
