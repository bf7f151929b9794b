"""Arithmetic of Python numbers that only the run of a program knows: what a loop counts, what a condition chose.

Such a number is a `Tensor` with `_is_number`, of element type bool, int64 or float64. Among themselves and beside plain
numbers they follow Python, errors included; ints have 64 bits, and the run raises an `OverflowError` beyond. Beside a tensor
they take its element type, as plain numbers do.
"""

from __future__ import annotations

from . import _core
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Tensor



class Either(float):
    """The kind of a number that is an int or a float, as the run chooses. It computes as a float; where its type would show,
    as beside a tensor of ints, it is refused."""


#: The element type in which a number of a kind is carried.
DTYPES: dict[type, Any] = {bool: _core.bool, int: _core.int64, float: _core.float64, Either: _core.float64}
_KINDS = {"bool": bool, "int64": int, "float64": float}

#: What is greater than this may not fit 64 bits.
_LIMIT = 9.2e18


def is_number(value: Any) -> bool:
    """Whether a value is a Python number, known now or when the program runs."""
    if type(value) in DTYPES or type(value) is _core.Dim:
        return True
    return isinstance(value, _core.Tensor) and value._is_number


def kind(value: Any) -> type:
    """`bool`, `int`, `float` or `Either`: what the number is in Python."""
    if type(value) in DTYPES:
        return type(value)
    if type(value) is _core.Dim:
        return int
    return Either if value._is_either else _KINDS[value.dtype.name]


def widest(a: type, b: type) -> type:
    """The kind of either number, where only the run chooses one of them."""
    if a is b:
        return a
    return Either if float in (a, b) or Either in (a, b) else int


def strong(value: Any, like: type) -> Tensor:
    """A number as a tensor of the element type that a kind is carried in."""
    return _core.tensor(value, DTYPES[like])


def number(value: Any, like: type) -> Tensor:
    """A number as one of the program, of a kind."""
    return _made(strong(value, like), like)


def _made(value: Tensor, like: type) -> Tensor:
    return _core.number_of(value, like is Either)


def raises(error: type, text: str, condition: Tensor) -> None:
    """Has the run raise an error unless a condition holds."""
    # The text is one for `str.format`.
    word = "t" + text.replace("{", "{{").replace("}", "}}")
    _core.raise_unless(condition, f"builtins:{error.__name__}", text, [word], [])


def binary(name: str, a: Any, b: Any) -> Any:
    """What an operator gives for two numbers, one of which only the run knows.

    Args:
        name: The name of its op.
        a: The number on the left.
        b: The number on the right.
    """
    return _BINARY[name](name, a, b)


def _common(a: Any, b: Any) -> type:
    kinds = kind(a), kind(b)
    return float if float in kinds else Either if Either in kinds else int


def _arithmetic(name: str, a: Any, b: Any) -> Any:
    like = _common(a, b)
    x, y = strong(a, like), strong(b, like)
    made = {"add": x.__add__, "sub": x.__sub__, "mul": x.__mul__}[name](y)
    if like is int:
        _check_range(name, (a, b), x, y, made)
    return _made(made, like)


def _check_range(name: str, given: tuple, x: Tensor, y: Tensor, made: Tensor) -> None:
    """Has the run raise an error if an int leaves 64 bits. Small steps cannot get there in time."""
    if name == "mul":
        size = abs(x.astype("float64") * y.astype("float64"))
        return raises(OverflowError, "an int of the program needs more than 64 bits", size < _LIMIT)
    if any(type(part) in (int, bool) and abs(part) < 2**24 for part in given):
        return None
    turned = (x ^ made) & (y ^ made) if name == "add" else (x ^ y) & (x ^ made)
    return raises(OverflowError, "an int of the program needs more than 64 bits", turned >= 0)


def _nonzero(y: Any, divisor: Tensor) -> None:
    if type(y) in DTYPES and y != 0:
        return
    raises(ZeroDivisionError, "division by zero", divisor != 0)


def _quotient(name: str, a: Any, b: Any) -> Any:
    like = float if name == "div" else _common(a, b)
    x, y = strong(a, like), strong(b, like)
    _nonzero(b, y)
    return _made({"div": x.__truediv__, "floor_div": x.__floordiv__, "remainder": x.__mod__}[name](y), like)


def _power(name: str, a: Any, b: Any) -> Any:
    known = type(b) in DTYPES
    if _common(a, b) is int and not (known and b < 0):
        x, y = strong(a, int), strong(b, int)
        if not known:
            text = (
                "an int to a negative power is a float, which the program cannot know\n"
                "  remedy: write the base as a float, such as `2.0 ** k`"
            )
            raises(ValueError, text, y >= 0)
        size = abs(x).astype("float64") ** y.astype("float64")
        raises(OverflowError, "an int of the program needs more than 64 bits", size < _LIMIT)
        return _core.number_of(x**y)
    x, y = strong(a, float), strong(b, float)
    whole = known and b == int(b)
    if not (known and b >= 0):
        raises(ZeroDivisionError, "0.0 cannot be raised to a negative power", _core.logical_or(x != 0, y >= 0))
    if not whole and not (type(a) in DTYPES and a >= 0):
        text = "a negative number to a fraction is complex, which programs do not know"
        raises(ValueError, text, _core.logical_or(x >= 0, y == _core.floor(y)))
    like = Either if _common(a, b) is Either and not (known and b < 0) else float
    made = x**y
    finite = _core.logical_or(_core.isfinite(made), _core.logical_not(_core.logical_and(_core.isfinite(x), _core.isfinite(y))))
    raises(OverflowError, "(34, 'Numerical result out of range')", finite)
    return _made(made, like)


def _comparison(name: str, a: Any, b: Any) -> Any:
    like = _common(a, b)
    return _core.number_of(getattr(_core, name)(strong(a, like), strong(b, like)))


def _bits(name: str, a: Any, b: Any) -> Any:
    if {float, Either} & {kind(a), kind(b)}:
        raise fault(TypeError, f"`{name}` is for ints, not for {kind(a).__name__} and {kind(b).__name__}", "use ints")
    like = bool if kind(a) is kind(b) is bool and "shift" not in name else int
    x, y = strong(a, like), strong(b, like)
    if "shift" in name:
        raises(ValueError, "negative shift count", y >= 0)
        y = _core.minimum(y, strong(63, int))
    made = getattr(_core, name)(x, y)
    if name == "left_shift":
        fits = _core.logical_and(_core.right_shift(made, y) == x, _core.logical_or(y < 63, x == 0))
        raises(OverflowError, "an int of the program needs more than 64 bits", fits)
    return _core.number_of(made)


def _product(name: str, a: Any, b: Any) -> Any:
    raise fault(TypeError, "`@` is for tensors, not for numbers", "use `*`")


_BINARY: dict[str, Callable[[str, Any, Any], Any]] = {
    **dict.fromkeys(("add", "sub", "mul"), _arithmetic),
    **dict.fromkeys(("div", "floor_div", "remainder"), _quotient),
    "pow": _power,
    **dict.fromkeys(("lt", "le", "eq", "ne", "gt", "ge"), _comparison),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"), _bits),
    "matmul": _product,
}


def as_int(value: Any) -> Any:
    """`int(value)`."""
    if kind(value) in (bool, int):
        return number(value, int)
    x = strong(value, float)
    raises(OverflowError, "cannot convert this float to an int of 64 bits", abs(x) < _LIMIT)
    return _core.number_of(x.astype("int64"))


def as_float(value: Any) -> Any:
    """`float(value)`."""
    return number(value, float)


def rounded(value: Any) -> Any:
    """`round(value)`, to even."""
    if kind(value) in (bool, int):
        return value + 0
    return as_int(_core.number_of(_core.round(strong(value, float))))


def known_kind(value: Any) -> type:
    """The kind of a number where it shows: one that only the run knows is refused."""
    if kind(value) is Either:
        what = "a number is an int or a float, and only the run knows which"
        raise fault(TypeError, what, "write the int as a float, such as `1.0`")
    return kind(value)
