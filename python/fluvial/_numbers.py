"""Arithmetic of Python numbers that only the run of a program knows: what a loop counts, what a condition chose.

Such a number is a `Tensor` with `_is_number`, of element type bool, int64 or float64. Among themselves and beside plain
numbers they follow Python, errors included; ints have 64 bits, and the run raises an `OverflowError` beyond. Beside a tensor
they take its element type, as plain numbers do.
"""

from __future__ import annotations

import operator

from . import _core
from ._checks import must
from ._fault import fault
from ._opens import Open, closed

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
_TOO_LONG = "an int of the program needs more than 64 bits"


def is_number(value: Any) -> bool:
    """Whether a value is a Python number, known now or when the program runs."""
    if type(value) in DTYPES or type(value) is _core.Dim or type(value) is Open:
        return True
    return isinstance(value, _core.Tensor) and value._is_number


def kind(value: Any) -> type:
    """`bool`, `int`, `float` or `Either`: what the number is in Python."""
    if type(value) in DTYPES:
        return type(value)
    if type(value) is _core.Dim:
        return int
    if type(value) is Open:
        return type(value._example)
    return Either if value._is_either else _KINDS[value.dtype.name]


def widest(a: type, b: type) -> type:
    """The kind of either number, where only the run chooses one of them."""
    if a is b:
        return a
    return Either if float in (a, b) or Either in (a, b) else int


def strong(value: Any, like: type) -> Tensor:
    """A number as a tensor of the element type that a kind is carried in."""
    return _core.tensor(closed(value), DTYPES[like])


def number(value: Any, like: type) -> Tensor:
    """A number as one of the program, of a kind."""
    return _made(strong(value, like), like)


def _made(value: Tensor, like: type) -> Tensor:
    return _core.number_of(value, like is Either)


def _made_of(value: Tensor, like: type, a: Any, b: Any) -> Tensor:
    """What two numbers give; where it is an int or a float, the run knows it of them."""
    made = _made(value, like)
    if like is Either:
        from ._convert.tags import wider

        return wider(made, a, b)
    return made


def of_tensor(value: Tensor) -> Tensor:
    """`value.item()`: the only element as a number, in full precision and without a gradient."""
    if any(size != 1 for size in value.shape):
        raise fault(
            ValueError,
            f"{value.type_text} does not have one element, so it is not a number",
            "take an element, or reduce it with `fl.sum`, `fl.mean` and so on",
        )
    if value._is_number:
        return value
    if value.dtype.is_complex:
        raise fault(
            TypeError,
            "programs know complex tensors, and no complex numbers of Python",
            "go on with the tensor itself, or take `.real.item()` and `.imag.item()`",
        )
    x = _core.reshape(value.detach(), ())
    like = bool if x.dtype == "bool" else float if x.dtype.is_floating_point else int
    return number(x, like)


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
    return _signed(_made_of(made, like, a, b)) if name == "sub" else _made_of(made, like, a, b)


def _signed(number: Tensor) -> Tensor:
    """Notes that a number may be below zero, as a difference may."""
    from ._convert.tags import note_below_zero

    note_below_zero(number)
    return number


def _check_range(name: str, given: tuple, x: Tensor, y: Tensor, made: Tensor) -> None:
    """Has the run raise an error if an int leaves 64 bits. Small steps cannot get there in time."""
    if name == "mul":
        size = abs(x.astype("float64") * y.astype("float64"))
        return must(size < _LIMIT, OverflowError, _TOO_LONG)
    if any(type(part) in (int, bool) and abs(part) < 2**24 for part in given):
        return None
    turned = (x ^ made) & (y ^ made) if name == "add" else (x ^ y) & (x ^ made)
    return must(turned >= 0, OverflowError, _TOO_LONG)


def _said(apply: Callable[[Any, Any], Any], *operands: Any) -> str:
    """What Python says of such operands, which its versions put differently."""
    try:
        apply(*operands)
    except ArithmeticError as error:
        return str(error)
    raise AssertionError(operands)


_QUOTIENTS: dict[str, Callable[[Any, Any], Any]] = {
    "div": operator.truediv,
    "floor_div": operator.floordiv,
    "remainder": operator.mod,
}


def _nonzero(name: str, a: Any, b: Any, divisor: Tensor) -> None:
    if type(b) in DTYPES and b != 0:
        return
    like = _common(a, b)
    must(divisor != 0, ZeroDivisionError, _said(_QUOTIENTS[name], like(1), like(0)))


def _quotient(name: str, a: Any, b: Any) -> Any:
    like = float if name == "div" else _common(a, b)
    x, y = strong(a, like), strong(b, like)
    _nonzero(name, a, b, y)
    return _made_of(_QUOTIENTS[name](x, y), like, a, b)


def _power(name: str, a: Any, b: Any) -> Any:
    known = type(b) in DTYPES
    if _common(a, b) is int and not (known and b < 0):
        made = _int_power(a, b, known)
        if made is not None:
            return made
    x, y = strong(a, float), strong(b, float)
    whole = known and b == int(b)
    if not (known and b >= 0):
        must(_core.logical_or(x != 0, y >= 0), ZeroDivisionError, _said(operator.pow, 0.0, -1.0))
    if not whole and not (type(a) in DTYPES and a >= 0):
        text = "a negative number to a fraction is complex, which programs do not know"
        must(_core.logical_or(x >= 0, y == _core.floor(y)), ValueError, text)
    like = Either if _common(a, b) is Either and not (known and b < 0) else float
    made = x**y
    finite = _core.logical_or(_core.isfinite(made), _core.logical_not(_core.logical_and(_core.isfinite(x), _core.isfinite(y))))
    must(finite, OverflowError, "(34, 'Numerical result out of range')")
    return _made_of(made, like, a, b)


def _int_power(a: Any, b: Any, known: bool) -> Any:
    """An int to the power of an int: an int, or a float if the power is negative. Nothing if it certainly is."""
    from ._convert import paths, tags

    x, y = strong(a, int), strong(b, int)
    positive = True if known else paths.decided_here(y >= 0)
    if positive is False:
        return None
    size = abs(x).astype("float64") ** y.astype("float64")
    if positive is not True and tags.may_be_below_zero(b):
        must(_core.logical_or(positive, x != 0), ZeroDivisionError, _said(operator.pow, 0, -1))
        # In a float, ints have 53 bits.
        must(_core.logical_or(_core.logical_not(positive), size <= 2.0**53), OverflowError, _TOO_LONG)
        whole = x ** _core.maximum(y, 0)
        part = strong(a, float) ** _core.minimum(y, 0).astype("float64")
        made = _made(_core.where(positive, whole.astype("float64"), part), Either)
        tags.note(made, _core.cast(_core.logical_not(positive), DTYPES[int]))
        return made
    if positive is not True:
        text = (
            "an int to a negative power is a float, which the program cannot know\n"
            "  remedy: write the base as a float, such as `2.0 ** k`"
        )
        must(positive, ValueError, text)
    must(size < _LIMIT, OverflowError, _TOO_LONG)
    return _core.number_of(x**y)


def _comparison(name: str, a: Any, b: Any) -> Any:
    like = _common(a, b)
    return _core.number_of(getattr(_core, name)(strong(a, like), strong(b, like)))


def _bits(name: str, a: Any, b: Any) -> Any:
    if {float, Either} & {kind(a), kind(b)}:
        raise fault(TypeError, f"`{name}` is for ints, not for {kind(a).__name__} and {kind(b).__name__}", "use ints")
    like = bool if kind(a) is kind(b) is bool and "shift" not in name else int
    x, y = strong(a, like), strong(b, like)
    if "shift" in name:
        must(y >= 0, ValueError, "negative shift count")
        y = _core.minimum(y, strong(63, int))
    made = getattr(_core, name)(x, y)
    if name == "left_shift":
        fits = _core.logical_and(_core.right_shift(made, y) == x, _core.logical_or(y < 63, x == 0))
        must(fits, OverflowError, _TOO_LONG)
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


def whole(x: Tensor) -> Tensor:
    """A float64 without a fraction as an int."""
    must(x == x, ValueError, "cannot convert float NaN to integer")
    must(_core.logical_not(_core.isinf(x)), OverflowError, "cannot convert float infinity to integer")
    must(abs(x) < _LIMIT, OverflowError, _TOO_LONG)
    return _core.number_of(x.astype("int64"))


def as_int(value: Any) -> Any:
    """`int(value)` of a number, or of a tensor with one element."""
    value = of_tensor(value)
    return whole(_core.trunc(strong(value, float))) if kind(value) is float else number(value, int)


def as_float(value: Any) -> Any:
    """`float(value)` of a number, or of a tensor with one element."""
    return number(of_tensor(value), float)


def rounded(value: Any, digits: Any = None) -> Any:
    """`round(value)`, to even."""
    if digits is not None:
        raise fault(
            TypeError,
            "rounding to digits of a number that only the run knows",
            "round what the program returns, or use `fl.round(x * 10**digits) / 10**digits`",
        )
    if kind(value) in (bool, int):
        return value + 0
    return whole(_core.round(strong(value, float)))


def known_kind(value: Any) -> type:
    """The kind of a number where it shows: one that only the run knows is refused."""
    if kind(value) is Either:
        what = "a number is an int or a float, and only the run knows which"
        raise fault(TypeError, what, "write the int as a float, such as `1.0`")
    return kind(value)
