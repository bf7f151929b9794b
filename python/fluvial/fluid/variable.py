"""Variables: named values of a program, or, under `dygraph.guard`, tensors at once."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .. import _core
from .._fault import fault
from ..layers._math import divided
from . import unique_name
from .core import VarType, dtype_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from .framework import Block

__all__ = ["Parameter", "Variable"]


def shown_shape(tensor: Any) -> tuple[int, ...]:
    """Sizes as Fluid shows them: -1 for those that are open, and (1,) for a single number."""
    return tuple(size if isinstance(size, int) else -1 for size in tensor.shape) or (1,)


class Variable:
    """A named value of a block. What an op of a program makes has a value when the program runs;
    under `dygraph.guard` it has one at once.

    Variables are made by `fluid.layers`, by operators, and by `dygraph.to_variable`.
    """

    #: Set for those that keep their value between runs.
    persistable = False
    is_data = False
    lod_level = 0
    type = VarType.LOD_TENSOR
    error_clip: Any = None
    #: Under `dygraph.guard`: the gradient of what was computed.
    _gradient_found: Any = None
    #: Of arrays that were written to: arrays with the lengths of the elements, level by level.
    _lengths: tuple[Variable, ...] | None = None
    #: Of arrays: the sizes that all elements have, if they have the same.
    _sizes: tuple[Any, ...] = ()
    #: Of integers that are sizes: the values, as far as they are known before a run.
    _numbers: tuple[int | None, ...] | None = None
    #: Of inputs: whether the first size is its own, not that of the batch.
    _own_rows = False
    #: Of gradients of tables: those of the rows that were used; see `_sparse`.
    _rows: Any = None
    #: Makes NumPy leave operators between an array and a variable to the variable.
    __array_ufunc__ = None

    def __init__(
        self,
        block: Block | None,
        name: str | None = None,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        *,
        tensor: Any = None,
        persistable: bool = False,
        stop_gradient: bool = False,
        lod_level: int | None = None,
        type: VarType = VarType.LOD_TENSOR,
    ) -> None:
        self.block = block
        self.name = name or unique_name.generate("_generated_var")
        self._shape = None if shape is None else tuple(-1 if size is None else size for size in shape)
        self._dtype = None if dtype is None else dtype_of(dtype)
        self._tensor = tensor
        self._stop_gradient = stop_gradient
        self.persistable = persistable
        self.lod_level = lod_level or 0
        self.type = type

    # What it is -----------------------------------------------------------------------------------

    def _now(self) -> Any:
        """The tensor that it is now, without the change of single numbers to one axis; or None."""
        if self.block is None:
            return self._tensor
        return self.block._peek(self)

    @property
    def shape(self) -> Any:
        """Its sizes, -1 where they are open: a tuple, and under `dygraph.guard` a list, as in Fluid."""
        now = self._now()
        if now is not None and hasattr(now, "shape") and self.type is VarType.LOD_TENSOR:
            found = shown_shape(getattr(now, "data", now) if self.lod_level else now)
        else:
            found = self._shape if self._shape is not None else ()
        return list(found) if self.block is None else found

    @property
    def dtype(self) -> VarType:
        """Its element type."""
        now = self._now()
        dtype = now.dtype if now is not None and hasattr(now, "dtype") else self._dtype
        return VarType.FP32 if dtype is None else dtype_of(dtype)

    @property
    def stop_gradient(self) -> bool:
        """Whether no gradient passes from where it is used to where it was made."""
        return self._stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        self._stop_gradient = bool(stop)
        if self.block is None and self._tensor is not None:
            self._follow()
        elif self.block is not None and not stop:
            self.block._differ(self)

    def _follow(self) -> None:
        """Under `dygraph.guard`: makes the tensor a leaf, or a constant."""
        if not isinstance(self._tensor, _core.Tensor) or isinstance(self._tensor, _core.Parameter):
            return
        if self._stop_gradient:
            self._tensor = self._tensor.detach()
        elif not self._tensor.is_tracked and "float" in self._tensor.dtype.name:
            self._tensor = self._tensor.track()

    def astype(self, dtype: Any) -> Variable:
        """The values with another element type."""
        from .framework import applied

        return applied(_core.cast, "cast", self, str.__str__(dtype_of(dtype).value))

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """Name, sizes and element type as text."""
        return repr(self)

    def __repr__(self) -> str:
        if self.block is None and self._tensor is not None:
            return f"name {self.name}, dtype: {self.dtype.value} shape: {list(self.shape)}\n{self.numpy()}"
        kind = " persistable" if self.persistable else ""
        return f"var {self.name} : {self.type.name}.shape{self.shape}.dtype({self.dtype.value}){kind}"

    __str__ = __repr__

    def __hash__(self) -> int:
        return id(self) >> 4

    # What only tensors have -----------------------------------------------------------------------

    def _value(self) -> Any:
        """The tensor, under `dygraph.guard`."""
        if self.block is not None or self._tensor is None:
            raise fault(
                RuntimeError,
                f"`{self.name}` is a value of a program, which has no elements before it runs",
                "fetch it: `exe.run(program, feed=…, fetch_list=[var])`; or work under `fluid.dygraph.guard()`",
            )
        return self._tensor

    def numpy(self) -> np.ndarray:
        """The elements as an array."""
        from .lod_tensor import as_array

        value = self._value()
        if not isinstance(value, _core.Tensor):
            raise fault(
                RuntimeError,
                f"`{self.name}` has sequences of different lengths, which an array cannot say",
                "`t = variable.value().get_tensor()`: `np.array(t)` has the rows, `t.recursive_sequence_lengths()` the lengths",
            )
        return as_array(value.numpy())

    _numpy = numpy

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def backward(self, backward_strategy: Any = None, retain_graph: bool = False) -> None:
        """Accumulates gradients in all that it was computed from; of several elements those of their sum."""
        value = self._value()
        value.backward(_core.ones_like(value), retain_graph=retain_graph)

    _backward = backward

    def _follow_gradient(self) -> None:
        """Under `dygraph.guard`: keeps the gradient of what was computed, too, not of leaves only."""
        tensor = self._tensor
        if not isinstance(tensor, _core.Tensor) or not tensor.is_tracked or tensor.is_leaf or tensor.is_symbolic:
            return
        # The variable holds the tensor, and a hook that held the variable would hold both for ever.
        own = weakref.ref(self)

        def keep(gradient: Any) -> None:
            from .blocks import CALLS

            var = own()
            if var is not None and CALLS.keeps_gradients:
                var._gradient_found = gradient if var._gradient_found is None else var._gradient_found + gradient

        tensor.register_hook(keep)

    def gradient(self) -> np.ndarray | None:
        """The gradient that `backward` has left, as an array."""
        gradient = self._value().grad if self._gradient_found is None else self._gradient_found
        if gradient is None:
            return None
        from .lod_tensor import as_array

        return as_array(gradient.numpy())

    _gradient = gradient

    @property
    def grad_name(self) -> str:
        """The name of its gradient in a program."""
        return f"{self.name}@GRAD"

    # Names of Fluid's own objects, which its tests and programs of its time use.

    @property
    def _ivar(self) -> Variable:
        return self

    def _grad_ivar(self) -> Variable | None:
        gradient = self.gradient()
        return None if gradient is None else Variable(None, f"{self.name}@GRAD", tensor=_core.tensor(gradient))

    def value(self) -> Variable:
        """The variable itself, which has `get_tensor`."""
        return self

    def get_tensor(self) -> Any:
        """The elements, as an object that NumPy makes an array of."""
        from .lod_tensor import LoDTensor, OwnTensor

        value = self._value()
        return OwnTensor(self) if isinstance(value, _core.Tensor) else LoDTensor._of(value)

    @property
    def grad(self) -> np.ndarray | None:
        """The gradient that `backward` has left, as an array."""
        return self.gradient()

    def clear_gradient(self) -> None:
        """Forgets the gradient."""
        self._gradient_found = None
        self._value().zero_grad()

    _clear_gradient = clear_gradient

    def detach(self) -> Variable:
        """The same value, through which no gradient passes."""
        from .framework import applied

        return applied(lambda x: x.detach(), "detach", self)

    def clone(self) -> Variable:
        """A copy, through which gradients pass."""
        from .framework import applied

        return applied(lambda x: x + 0 if "bool" not in x.dtype.name else _core.cast(x, "bool"), "clone", self)

    def set_value(self, value: Any) -> None:
        """Gives it other elements, of the same sizes and element type."""
        import numpy as np

        old = self._value()
        given = value.numpy() if isinstance(value, Variable) else np.asarray(value)
        if tuple(given.shape) != shown_shape(old):
            raise fault(
                ValueError,
                f"`{self.name}` has the sizes {list(shown_shape(old))}, and the new value {list(given.shape)}",
                "give an array of the same sizes",
            )
        tensor = _core.tensor(given.reshape(tuple(old.shape)), old.dtype)
        if isinstance(old, _core.Parameter):
            with _core.no_grad():
                old.set(tensor)
        else:
            self._tensor = tensor
            if not self._stop_gradient:
                self._follow()

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self._value().item()

    def __float__(self) -> float:
        return float(self._value().item())

    def __int__(self) -> int:
        return int(self._value().item())

    __long__ = __int__

    def __index__(self) -> int:
        return int(self._value().item())

    def __bool__(self) -> bool:
        """Whether its one element is true. As in Fluid, `if bias:` asks whether there is a variable, if it has several
        elements, which are neither true nor false; a condition of a program is refused."""
        if tuple(self.shape) not in ((), (1,)) and self.dtype is not VarType.BOOL:
            return True
        if self.block is not None:
            raise fault(
                TypeError,
                f"whether `{self.name}` is true is known only when the program runs",
                "use `fluid.layers.cond`, `fluid.layers.While` or `fluid.layers.Switch`",
            )
        return bool(self._value().item())

    def __len__(self) -> int:
        size = self.shape[0]
        if size < 0:
            raise fault(TypeError, f"the length of `{self.name}` is known only when the program runs",
                        "use `fluid.layers.shape`")
        return size

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __getitem__(self, key: Any) -> Variable:
        from .framework import applied

        found = applied(_item, "slice", self, key)
        if self._numbers is not None and isinstance(key, (int, slice)):
            chosen = self._numbers[key]
            found._numbers = chosen if isinstance(chosen, tuple) else (chosen,)
        return found

    # A type checker would take any name for an attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name):
            from ._missing import no_member

            raise no_member(self, name)


def again(var: Variable, shape: Sequence[int] | None, dtype: Any) -> Variable:
    """A variable that is there already, unless it is said to be another one.

    Args:
        var: The variable.
        shape: The sizes that it is said to have.
        dtype: The element type that it is said to have.
    """
    sizes = None if shape is None else tuple(shape)
    if sizes is not None and var.shape and sizes != tuple(var.shape):
        raise fault(
            ValueError, f"`{var.name}` is there already, with the sizes {list(var.shape)}, not {list(sizes)}",
            "give it another name",
        )  # fmt: skip
    if dtype is not None and var._dtype is not None and dtype_of(dtype) is not var._dtype:
        raise fault(
            ValueError, f"`{var.name}` is there already, and has elements {var.dtype}, not {dtype_of(dtype)}",
            "give it another name",
        )  # fmt: skip
    return var


def _item(x: Any, key: Any) -> Any:
    """What stands at an index; one element is a row of one, as in Fluid."""
    found = x[key]
    return _core.reshape(found, (1,)) if found.ndim == 0 else found


class Parameter(Variable):
    """A variable that is trained. Its attributes say how."""

    #: The sizes that its layer has asked for.
    _asked: tuple[int, ...] = ()

    def __init__(self, block: Block | None, name: str, *, trainable: bool = True, attr: Any = None, **settings: Any) -> None:
        super().__init__(block, name, persistable=True, stop_gradient=not trainable, **settings)
        self._trainable = trainable
        self.optimize_attr = {"learning_rate": getattr(attr, "learning_rate", 1.0)}
        self.regularizer = getattr(attr, "regularizer", None)
        self.gradient_clip_attr = getattr(attr, "gradient_clip", None)
        self.do_model_average = getattr(attr, "do_model_average", True)
        self.is_distributed = False

    @property
    def trainable(self) -> bool:
        """Whether optimizers change it."""
        return self._trainable

    @trainable.setter
    def trainable(self, trainable: bool) -> None:
        self._trainable, self.stop_gradient = bool(trainable), not trainable
        if isinstance(self._tensor, _core.Parameter):
            self._tensor.requires_grad = bool(trainable)


def _binary(function: Any, name: str, swapped: bool = False) -> Any:
    def operator(self: Variable, other: Any) -> Any:
        from .framework import applied

        if not _is_operand(other):
            return NotImplemented
        return applied(function, name, other, self) if swapped else applied(function, name, self, other)

    return operator


def _is_operand(other: Any) -> bool:
    import numbers

    import numpy as np

    return isinstance(other, (Variable, numbers.Number, np.ndarray, np.generic, list, tuple))


def _numeric(function: Any, place: int | None = None) -> Any:
    """A function of two operands, of which one may be a number or an array.

    Args:
        function: Takes both.
        place: Which of them is the variable whose element type the result has, as in Fluid; none for comparisons.
    """

    def op(a: Any, b: Any) -> Any:
        import numpy as np

        both = [x if not isinstance(x, (np.ndarray, list, tuple)) else _core.tensor(np.asarray(x)) for x in (a, b)]
        if place is not None:
            both[1 - place] = _like(both[place], both[1 - place])
        return function(*both)

    return op


def _like(x: Any, other: Any) -> Any:
    """An operand with the element type of the variable that is calculated with."""
    if not isinstance(x, _core.Tensor) or x.dtype.name == "bool":
        return other
    is_whole = x.dtype.name.startswith(("int", "uint"))
    if isinstance(other, _core.Tensor):
        if other.dtype == x.dtype or other.dtype.name == "bool":
            return other
        if is_whole and not other.dtype.name.startswith(("int", "uint")):
            raise fault(
                TypeError,
                f"integers ({x.dtype.name}) are calculated with {other.dtype.name}: Fluid would cut fractions off",
                "write `fluid.layers.cast` around one of them",
            )
        return _core.cast(other, x.dtype)
    if not is_whole or isinstance(other, (bool, int)):
        return other
    if other != int(other):
        raise fault(
            TypeError,
            f"integers ({x.dtype.name}) are calculated with {other}, which is none",
            "write `fluid.layers.cast(x, 'float32')` around the integers",
        )
    return int(other)


for _name, _function, _label in (
    ("add", _core.add, "elementwise_add"),
    ("sub", _core.sub, "elementwise_sub"),
    ("mul", _core.mul, "elementwise_mul"),
    ("truediv", divided, "elementwise_div"),
    ("div", divided, "elementwise_div"),
    ("pow", _core.pow, "elementwise_pow"),
    ("floordiv", _core.floor_div, "elementwise_floordiv"),
    ("mod", _core.remainder, "elementwise_mod"),
    ("matmul", _core.matmul, "matmul"),
):
    setattr(Variable, f"__{_name}__", _binary(_numeric(_function, 0), _label))
    setattr(Variable, f"__r{_name}__", _binary(_numeric(_function, 1), _label, True))
for _name, _function, _label in (
    ("eq", _core.eq, "equal"),
    ("ne", _core.ne, "not_equal"),
    ("lt", _core.lt, "less_than"),
    ("le", _core.le, "less_equal"),
    ("gt", _core.gt, "greater_than"),
    ("ge", _core.ge, "greater_equal"),
):
    setattr(Variable, f"__{_name}__", _binary(_numeric(_function), _label))


def _negative(self: Variable) -> Variable:
    from .framework import applied

    return applied(_core.neg, "scale", self)


setattr(Variable, "__neg__", _negative)
