"""`int`, `float`, `round`, `item` and the functions of `math`, of values that only the run knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _core, _numbers
from .._checks import must
from .._fault import fault
from .._opens import applied as of_open
from .._opens import closed, is_open
from .._printing import refuse_hidden
from . import tags
from .trees import Tensor, is_symbolic, is_tensor


def elements_of(x: Tensor, name: str) -> Callable:
    """`x.tolist` and `x.numpy`, which a program cannot have."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise fault(
            TypeError,
            f"`{name}` needs the elements of {x.type_text}, which are known only when the program runs",
            "compute with ops, go over it with `for`, or return it and call this on the result",
        )

    return refuse


def _float_of(value: Any) -> Tensor:
    return _numbers.strong(_numbers.of_tensor(value) if is_tensor(value) else value, float)


def _int(*values: Any) -> Any:
    return _numbers.as_int(values[0]) if len(values) == 1 and is_symbolic(values[0]) else int(*values)


def _float(*values: Any) -> Any:
    return _numbers.as_float(values[0]) if values and is_symbolic(values[0]) else float(*values)


def _round(number: Any, ndigits: Any = None) -> Any:
    if is_symbolic(number) and number._is_number:
        return _numbers.rounded(number, ndigits)
    return round(number, ndigits)


def _trunc(value: Any, /) -> Any:
    return _numbers.as_int(value) if is_symbolic(value) and value._is_number else math.trunc(value)


def _divmod(a: Any, b: Any, /) -> Any:
    of_program = any(is_symbolic(value) and value._is_number for value in (a, b))
    return (a // b, a % b) if of_program else divmod(a, b)


def _text(function: Callable) -> Callable:
    """`str`, `repr` and so on: what only the run knows has no text yet."""

    def told(*values: Any, **options: Any) -> Any:
        for value in values:
            refuse_hidden(value)
            if is_symbolic(value) and value._is_number:
                # Tensors say so themselves, but for `repr`.
                str(value)
        return function(*values, **options)

    return told


def _function(plain: Callable, make: Callable[..., Any]) -> Callable:
    """A function of `math` that is made of ops where an argument is known to the run only."""

    def applied(*values: Any) -> Any:
        if not any(map(is_symbolic, values)):
            return plain(*values)
        return make(*map(_float_of, values))

    return applied


def _domain(inside: Any) -> None:
    must(inside, ValueError, "math domain error")


def _within(op: Callable, inside: Callable[[Tensor], Any]) -> Callable:
    def made(x: Tensor) -> Any:
        _domain(_core.logical_or(inside(x), x != x))
        return _core.number_of(op(x))

    return made


def _bounded(op: Callable) -> Callable:
    """An op whose result is infinite only if that is beyond the range of floats."""

    def made(*values: Tensor) -> Any:
        result = op(*values)
        finite = _core.isfinite(values[0])
        for value in values[1:]:
            finite = _core.logical_and(finite, _core.isfinite(value))
        fits = _core.logical_or(_core.logical_not(finite), _core.logical_not(_core.isinf(result)))
        must(fits, OverflowError, "math range error")
        return _core.number_of(result)

    return made


def _number(op: Callable) -> Callable:
    return lambda *values: _core.number_of(op(*values))


def _log(x: Tensor, base: Tensor | None = None) -> Any:
    _domain(_core.logical_or(x > 0, x != x))
    if base is None:
        return _core.number_of(_core.log(x))
    return _core.number_of(_core.log(x)) / _log(base)


def _power(x: Tensor, y: Tensor) -> Any:
    whole = y == _core.floor(y)
    real = _core.logical_or(x >= 0, whole)
    _domain(_core.logical_or(_core.logical_and(real, _core.logical_or(x != 0, y >= 0)), x != x))
    return _bounded(_core.pow)(x, y)


_FINITE = _core.isfinite

_MADE: dict[str, Callable[..., Any]] = {
    "sqrt": _within(_core.sqrt, lambda x: x >= 0),
    "exp": _bounded(_core.exp),
    "exp2": _bounded(_core.exp2),
    "expm1": _bounded(_core.expm1),
    "log": _log,
    "log2": _within(_core.log2, lambda x: x > 0),
    "log10": _within(_core.log10, lambda x: x > 0),
    "log1p": _within(_core.log1p, lambda x: x > -1),
    "sin": _within(_core.sin, _FINITE),
    "cos": _within(_core.cos, _FINITE),
    "tan": _within(_core.tan, _FINITE),
    "asin": _within(_core.asin, lambda x: _core.abs(x) <= 1),
    "acos": _within(_core.acos, lambda x: _core.abs(x) <= 1),
    "atan": _number(_core.atan),
    "sinh": _bounded(_core.sinh),
    "cosh": _bounded(_core.cosh),
    "tanh": _number(_core.tanh),
    "atan2": _number(_core.atan2),
    "copysign": _number(_core.copysign),
    "pow": _power,
    "fabs": _number(_core.abs),
    "degrees": lambda x: _core.number_of(x * (180.0 / math.pi)),
    "radians": lambda x: _core.number_of(x * (math.pi / 180.0)),
    "floor": lambda x: _numbers.whole(_core.floor(x)),
    "ceil": lambda x: _numbers.whole(_core.ceil(x)),
    "isnan": _number(_core.isnan),
    "isinf": _number(_core.isinf),
    "isfinite": _number(_core.isfinite),
}


def _refused(name: str, plain: Callable) -> Callable:
    def applied(*values: Any, **options: Any) -> Any:
        if any(map(is_symbolic, values)):
            raise fault(
                TypeError,
                f"`math.{name}` has no op that gives the same bits, for a value that only the run knows",
                f"use a function of tensors{f': `fl.{name}`' if hasattr(_core, name) else ''}",
            )
        return plain(*values, **options)

    return applied


def _of_math(name: str) -> Callable:
    plain = getattr(math, name)
    return _function(plain, _MADE[name]) if name in _MADE else _refused(name, plain)


_NUMBERS: dict[Any, Callable] = {
    int: _int,
    float: _float,
    round: _round,
    math.trunc: _trunc,
    **{
        getattr(math, name): _of_math(name)
        for name in dir(math)
        if callable(getattr(math, name)) and name not in ("trunc", "prod", "fsum", "sumprod", "dist")
        and not name.startswith("_")
    },
}


def _of_open(plain: Any, function: Callable) -> Callable:
    """A function of numbers, which Python computes at each call if one of them is open."""

    def applied(*values: Any, **options: Any) -> Any:
        if any(map(is_open, values)) and not options:
            given = tuple(map(closed, values)) if any(map(is_symbolic, values)) else values
            found = of_open(plain, given)
            return function(*given) if found is NotImplemented else found
        return function(*values, **options)

    return applied


def _type(*values: Any) -> Any:
    if len(values) == 1 and _numbers.is_number(values[0]):
        return _numbers.known_kind(values[0])
    return type(*values)


def _abs(value: Any, /) -> Any:
    return tags.alike(abs, value)


#: What is called in the place of functions of numbers.
FUNCTIONS: dict[Any, Callable] = {
    abs: _abs,
    divmod: _divmod,
    type: _type,
    **{function: _text(function) for function in (str, repr, ascii, format)},
    **{plain: _of_open(plain, function) for plain, function in _NUMBERS.items()},
}
