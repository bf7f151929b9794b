"""Python's numbers where only the run knows them: what `x.item()`, `int(x)` and `math.sqrt(x)` give."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from .. import _core
from .._fault import fault
from .._tree import children, leaves
from .trees import Tensor, is_number, is_symbolic, is_tensor, keeps

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def must(condition: Any, kind: str, text: str) -> None:
    """A check of the run, which raises an exception of this kind at the user's line."""
    if is_symbolic(condition):
        _core.assert_(condition, f"raise {kind}: {text}", [])
    elif not condition:
        _core.assert_(False, f"raise {kind}: {text}", [])


class Number:
    """A number of Python in a program: `int64` or `float64`, without a type of its own.

    Among themselves such numbers compute as Python's do. A tensor that meets one keeps its element type.
    """

    def __init__(self, value: Tensor) -> None:
        self._fl_lists = [value]
        self._fl_spec = "int" if value.dtype == "int64" else "float"

    @staticmethod
    def of(value: Any, kind: str | None = None) -> Number:
        """A number, or a tensor without axes, as a number of the program."""
        if isinstance(value, Number):
            return value if kind in (None, value._fl_spec) else Number(_core.cast(value.value, "float64"))
        if is_tensor(value):
            floating = value.dtype in _FLOATS
            value = _core.reshape(value.detach(), ())
        else:
            floating = type(value) is float
        dtype = "float64" if floating or kind == "float" else "int64"
        return Number(_core.cast(value, dtype) if is_tensor(value) else _core.tensor(value, dtype))

    def _fl_with(self, lists: list[Tensor]) -> Number:
        return Number(lists[0])

    def _fl_merged(self, _: Number) -> Number:
        return self

    @property
    def value(self) -> Tensor:
        """The number as a tensor."""
        return self._fl_lists[0]

    def typed(self, dtype: Any) -> Tensor:
        """The number as a tensor, beside one of this element type."""
        if dtype in _FLOATS or (self._fl_spec == "int" and dtype != "bool"):
            return _core.cast(self.value, dtype)
        return _core.cast(self.value, "float32") if self._fl_spec == "float" else self.value

    def beside(self, other: Tensor) -> Tensor:
        """The number with the element type that it takes beside a tensor."""
        return self.typed(other.dtype)

    def __add__(self, other: Any) -> Any:
        return _binary(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary(operator.truediv, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _binary(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return _binary(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary(operator.mod, other, self)

    def __pow__(self, other: Any) -> Any:
        return _binary(operator.pow, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _binary(operator.pow, other, self)

    def __and__(self, other: Any) -> Any:
        return _binary(operator.and_, self, other)

    def __or__(self, other: Any) -> Any:
        return _binary(operator.or_, self, other)

    def __xor__(self, other: Any) -> Any:
        return _binary(operator.xor, self, other)

    def __lshift__(self, other: Any) -> Any:
        return _binary(operator.lshift, self, other)

    def __rshift__(self, other: Any) -> Any:
        return _binary(operator.rshift, self, other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __lt__(self, other: Any) -> Any:
        return _compared(operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        return _compared(operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared(operator.ge, self, other)

    def __eq__(self, other: Any) -> Any:
        return _compared(operator.eq, self, other)

    def __ne__(self, other: Any) -> Any:
        return _compared(operator.ne, self, other)

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Number:
        return Number(-self.value)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return Number(_core.abs(self.value))

    def __round__(self, digits: Any = None) -> Any:
        if self._fl_spec == "int" and digits is None:
            return self
        if digits is not None:
            raise fault(
                TypeError,
                "rounding to digits of a number that only the run knows",
                "round what the program returns, or use `fl.round(x * 10**digits) / 10**digits`",
            )
        return Number(_core.cast(_core.round(self.value), "int64"))

    def item(self) -> Number:
        return self

    def _unknown(self, *_: Any) -> Any:
        raise fault(
            TypeError,
            "this number is known only when the program runs, and Python needs it now",
            "use it in arithmetic, conditions, ranges and indices, or pass what depends on it as an argument",
        )

    __bool__ = __int__ = __float__ = __index__ = __trunc__ = __complex__ = _unknown
    __floor__ = __ceil__ = _unknown

    def __str__(self) -> str:
        raise fault(
            TypeError,
            "the text of a number that only the run knows is not there yet",
            "give `print` the number itself: `print(text, number)`",
        )

    def __format__(self, _: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"Number({self.value!r})"


#: What Python says of a division by zero: of whole numbers, and of floats.
_BY_ZERO: dict[Any, tuple[str, str]] = {
    operator.truediv: ("division by zero", "float division by zero"),
    operator.floordiv: ("integer division or modulo by zero", "float floor division by zero"),
    operator.mod: ("integer modulo by zero", "float modulo"),
}


def _binary(apply: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    tensor = next((x for x in (a, b) if is_tensor(x)), None)
    if tensor is not None:
        return apply(*(x.beside(tensor) if isinstance(x, Number) else x for x in (a, b)))
    if not all(isinstance(x, Number) or is_number(x) for x in (a, b)):
        return NotImplemented
    if apply is operator.pow:
        return _power(a, b)
    a, b = Number.of(a), Number.of(b)
    floating = "float" in (a._fl_spec, b._fl_spec)
    if apply in _BY_ZERO:
        must(b.value != 0, "ZeroDivisionError", _BY_ZERO[apply][floating])
    if floating or apply is operator.truediv:
        a, b = Number.of(a, "float"), Number.of(b, "float")
    return Number(apply(a.value, b.value))


def _power(a: Any, b: Any) -> Any:
    if not is_number(b):
        if "float" not in (Number.of(a)._fl_spec, b._fl_spec):
            raise fault(
                TypeError,
                "whether a power with this exponent is whole is known only when the program runs",
                "write `float(n) ** k`",
            )
    elif type(b) is int and b >= 0 and Number.of(a)._fl_spec == "int":
        return Number(Number.of(a).value ** b)
    x, y = Number.of(a, "float").value, Number.of(b, "float").value
    must(
        _core.logical_or(x >= 0, y == _core.floor(y)),
        "ValueError",
        "a power of a negative number is complex",
    )
    must(
        _core.logical_or(x != 0, y >= 0),
        "ZeroDivisionError",
        "zero to a negative power",
    )
    return Number(x**y)


def _compared(apply: Callable[[Any, Any], Any], a: Number, b: Any) -> Any:
    if is_tensor(b):
        return apply(a.beside(b), b)
    if not isinstance(b, Number) and not is_number(b):
        return NotImplemented
    b = Number.of(b)
    kind = "float" if "float" in (a._fl_spec, b._fl_spec) else None
    return apply(Number.of(a, kind).value, Number.of(b, kind).value)


def kind_of(*values: Any) -> str | None:
    """The kind of numbers that these become where only the run knows which it is; none if they are the
    same, or something else than numbers."""
    numbers = [x for x in values if isinstance(x, Number) or type(x) in (int, float)]
    if len(numbers) < len(values) or not any(x is not values[0] and not _keeps(x, values[0]) for x in values):
        return None
    floats = any(type(x) is float or (isinstance(x, Number) and x._fl_spec == "float") for x in values)
    return "float" if floats else "int"


def tensor_among(*values: Any) -> Tensor | None:
    """A tensor among values of which others are numbers that only the run knows."""
    tensors = [x for x in values if is_tensor(x)]
    numbers = [x for x in values if isinstance(x, Number) or is_number(x)]
    mixed = tensors and any(isinstance(x, Number) for x in numbers)
    return tensors[0] if mixed and len(tensors) + len(numbers) == len(values) else None


def has_numbers(value: Any) -> bool:
    """Whether a structure has a number in it that only the run knows."""
    return children(value) is not None and any(isinstance(x, Number) for _, x in leaves(value))


def _keeps(a: Any, b: Any) -> bool:
    return not isinstance(a, Number) and keeps(a, b)


def taking(function: Callable) -> Callable:
    """A function of this package, which takes tensors in the place of numbers that only the run knows."""
    module = str(getattr(function, "__module__", None))
    if not module.startswith("fluvial") or module.startswith("fluvial._convert"):
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(x, Number) for x in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        given = [x for x in (getattr(function, "__self__", None), *args, *kwargs.values()) if is_tensor(x)]
        given.sort(key=lambda x: x.dtype not in _FLOATS)
        # By itself a float is `float32`, as where tensors are made of numbers.
        like = given[0] if given else _core.tensor(True)
        tensor = lambda x: x.beside(like) if isinstance(x, Number) else x  # noqa: E731
        return function(*map(tensor, args), **{name: tensor(x) for name, x in kwargs.items()})

    return called
