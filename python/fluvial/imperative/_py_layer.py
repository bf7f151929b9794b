"""Layers written in numpy, forward and backward, in both modes."""

from __future__ import annotations

import re

from .. import _core
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np

    from .._core import Tensor, TensorLike, TypeLike

_classes: dict[str, type[PyLayer]] = {}


class PyLayer:
    """A layer whose `forward` and `backward` work on numpy arrays. In a program they become calls
    into Python.

    `forward(inputs)` gets a list of arrays, and returns an array or several. `backward(inputs)`
    gets a list of the inputs, the outputs, and the gradients of the outputs, in that order, and
    returns the gradients of the inputs. Without a `backward`, gradients that pass through are an
    error.

    While a program is built, the types of the outputs must be known: `infer(inputs)` may return
    them, or else `forward` is tried on arrays of ones.

    Calling the layer with tensors, or a list of them, gives a list of outputs.

    Example:
        >>> class Tanh(fl.PyLayer):
        ...     @staticmethod
        ...     def forward(inputs):
        ...         return np.tanh(inputs[0])
        ...     @staticmethod
        ...     def backward(inputs):
        ...         x, y, dy = inputs
        ...         return dy * (1 - np.square(y))
        >>> x = fl.tensor([0.0, 1.0]).track()
        >>> y, = Tanh()(x)
        >>> fl.sum(y).backward()
        >>> x.grad.numpy().round(3).tolist() == [1.0, np.float32(0.42)]
        True
        >>> program = fl.build(lambda x: Tanh()(x), {"x": "f32[n]"})
        >>> program(fl.tensor([0.0, 0.0, 0.0])).tolist()
        [0.0, 0.0, 0.0]
    """

    _host_name = ""

    def __init__(self) -> None:
        pass

    @staticmethod
    def forward(inputs: list[np.ndarray]) -> Any:
        """What the layer does, in numpy."""
        raise fault(
            NotImplementedError,
            "a PyLayer needs a `forward`",
            "define `def forward(inputs):` as a static method",
        )

    @staticmethod
    def backward(inputs: list[np.ndarray]) -> Any:
        """The gradients of the inputs, in numpy."""
        raise fault(
            NotImplementedError,
            "a PyLayer needs a `backward` for gradients",
            "define `def backward(inputs):` as a static method",
        )

    @staticmethod
    def infer(inputs: list[Tensor]) -> Sequence[TypeLike] | None:
        """The types of the outputs, such as "f32[batch, 2]", if they are not to be tried.

        Args:
            inputs: The values of the program.
        """
        return None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = base = f"pylayer.{cls.__module__}.{cls.__qualname__}"
        number = 1
        while name in _classes:
            number += 1
            name = f"{base}.{number}"
        _classes[name] = cls
        cls._host_name = name
        _core.register_host(name, lambda *inputs: cls._forward(inputs))
        _core.register_host(f"{name}.outputs", lambda n, *values: list(values[int(n) :]))
        _core.register_host(f"{name}.backward", lambda n, *values: _backward(cls, int(n), values))

    def __call__(self, *inputs: TensorLike | Sequence[TensorLike]) -> list[Tensor]:
        """The outputs, in both modes."""
        is_list = len(inputs) == 1 and isinstance(inputs[0], (list, tuple))
        flat: Any = inputs[0] if is_list else inputs
        tensors = [x if isinstance(x, _core.Tensor) else _core.tensor(x) for x in flat]
        return _call(type(self), tensors)

    @classmethod
    def apply(cls, *inputs: TensorLike) -> list[Tensor]:
        """The outputs, without an object of the class."""
        return cls()(*inputs)

    @classmethod
    def _forward(cls, inputs: Sequence[Tensor]) -> list[np.ndarray]:
        return _arrays(cls, "forward", cls.forward([x.numpy() for x in inputs]))


def _call(cls: type[PyLayer], inputs: list[Tensor]) -> list[Tensor]:
    name = cls._host_name
    if not name:
        raise fault(TypeError, "PyLayer itself does nothing", "call a class derived from it")
    constants = [x.detach() for x in inputs]
    if _core.is_building():
        types = _infer(cls, inputs)
        outputs = _core.host_call(name, constants, types)
    else:
        outputs = [_core.tensor(array) for array in cls._forward(constants)]
    # The second call passes the outputs on. Its gradient sees them because they are its inputs.
    backward = None if cls.backward is PyLayer.backward else f"{name}.backward"
    values = [_core.tensor(len(inputs), "int64"), *inputs, *outputs]
    return _core.host_call(f"{name}.outputs", values, outputs, backward)


def _backward(cls: type[PyLayer], n: int, values: Sequence[Tensor]) -> list[np.ndarray]:
    """Gradients of `n` inputs, from inputs, outputs and gradients of outputs."""
    import numpy as np

    arrays, m = [x.numpy() for x in values], (len(values) - n) // 2
    found = _arrays(cls, "backward", cls.backward(arrays))
    floats = [x for x in arrays[:n] if x.dtype.kind in "fc"]
    if len(found) == n:
        found = [g for g, x in zip(found, arrays) if x.dtype.kind in "fc"]
    if len(found) != len(floats):
        raise fault(
            ValueError,
            f"`{cls.__name__}.backward` returned {len(found)} gradients for {n} inputs",
            "return one for each input",
        )
    for i, (gradient, x) in enumerate(zip(found, floats)):
        if gradient.shape != x.shape:
            raise fault(
                ValueError,
                f"`{cls.__name__}.backward` returned a gradient of shape {gradient.shape} for "
                f"input {i}, whose shape is {x.shape}",
            )
        if gradient.dtype.kind == "c" and x.dtype.kind != "c":
            raise fault(
                TypeError,
                f"`{cls.__name__}.backward` returned a complex gradient for input {i}, which is real",
                "return its real part",
            )
    gradients = [g.astype(x.dtype, copy=False) for g, x in zip(found, floats)]
    # Outputs are constants of the second call, so nothing reads their gradients.
    return gradients + [np.zeros_like(y) for y in arrays[n : n + m] if y.dtype.kind in "fc"]


def _arrays(cls: type[PyLayer], what: str, returned: Any) -> list[np.ndarray]:
    import numpy as np

    if returned is None:
        raise fault(
            TypeError, f"`{cls.__name__}.{what}` returned nothing", "return an array or several"
        )
    many = returned if isinstance(returned, (list, tuple)) else [returned]
    return [np.ascontiguousarray(x) if np.ndim(x) else np.asarray(x) for x in many]


def _infer(cls: type[PyLayer], inputs: list[Tensor]) -> list[TypeLike]:
    """The types of the outputs: those that the class gives, or those found by two trials with
    different sizes."""
    import numpy as np

    given = cls.infer(inputs)
    if given is not None:
        return list(given)
    shapes = [[s if isinstance(s, int) else repr(s) for s in x.shape] for x in inputs]
    sizes = [size for shape in shapes for size in shape if isinstance(size, str)]
    symbols = sorted({symbol for size in sizes for symbol in re.findall(r"[A-Za-z_]\w*", size)})
    trials = []
    for first in (5, 11) if symbols else (5,):
        values = {symbol: first + 2 * i for i, symbol in enumerate(symbols)}
        arrays = [
            np.ones([_size(s, values) for s in shape], x.dtype.name)
            for x, shape in zip(inputs, shapes)
        ]
        with np.errstate(all="ignore"):
            trials.append((values, _arrays(cls, "forward", cls.forward(arrays))))
    (values, outputs), (others, again) = trials[0], trials[-1]
    types: list[TypeLike] = []
    for y, z in zip(outputs, again):
        shape: list[int | str] = []
        for a, b in zip(y.shape, z.shape):
            known = [s for s in sizes if (_size(s, values), _size(s, others)) == (a, b)]
            if a == b:
                shape.append(a)
            elif known:
                shape.append(known[0])
            else:
                raise fault(
                    ValueError,
                    f"the sizes of what `{cls.__name__}.forward` returns do not follow from those "
                    f"of its inputs: {y.shape} and {z.shape} for {values} and {others}",
                    'define `def infer(inputs):` as a static method; it returns ["f32[n, 2]", …]',
                )
        types.append((y.dtype.name, shape))
    return types


def _size(size: int | str, values: dict[str, int]) -> int:
    return size if isinstance(size, int) else int(eval(size, {"__builtins__": {}}, dict(values)))
