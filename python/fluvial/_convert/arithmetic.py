"""`int`, `float`, `item` and the functions of `math`, of values that only the run knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _core
from .._fault import fault
from .numbers import Number, must
from .parts import of_run
from .trees import Tensor


def _one(value: Any) -> Any:
    """The only element of a tensor, as line by line."""
    if isinstance(value, Tensor) and any(size != 1 for size in value.shape):
        raise fault(
            ValueError,
            f"{value.type_text} has not one element, so it is no number",
            "take an element, or reduce it with `fl.sum`, `fl.mean` and so on",
        )
    return value


def item(x: Tensor) -> Any:
    """`x.item()`."""
    return _core.reshape(_one(x).detach(), ()) if x.dtype == "bool" else Number.of(_one(x))


def elements_of(x: Tensor, name: str) -> Callable:
    """`x.tolist` and `x.numpy`, which a program cannot have."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise fault(
            TypeError,
            f"`{name}` needs the elements of {x.type_text}, which are known only when the program runs",
            "compute with ops, go over it with `for`, or return it and call this on the result",
        )

    return refuse


def _whole(value: Tensor) -> Number:
    """A float without a fraction as a whole number."""
    must(value == value, "ValueError", "cannot convert float NaN to integer")
    text = "cannot convert float infinity to integer, nor what has more than 63 bits"
    must(_core.abs(value) < 2.0**63, "OverflowError", text)
    return Number(_core.cast(value, "int64"))


def _float_of(value: Any) -> Tensor:
    return Number.of(_one(value), "float").value


def int_(*values: Any) -> Any:
    """`int`."""
    if len(values) != 1 or not of_run(values[0]):
        return int(*values)
    number = Number.of(_one(values[0]))
    return number if number._fl_spec == "int" else _whole(_core.trunc(number.value))


def float_(*values: Any) -> Any:
    """`float`."""
    return Number.of(_one(values[0]), "float") if values and of_run(values[0]) else float(*values)


def _function(plain: Callable, make: Callable[..., Any]) -> Callable:
    """A function of `math` that is made of ops where an argument is known to the run only."""

    def applied(*values: Any) -> Any:
        if not any(map(of_run, values)):
            return plain(*values)
        return make(*map(_float_of, values))

    return applied


def _domain(inside: Any) -> None:
    must(inside, "ValueError", "math domain error")


def _within(op: Callable, inside: Callable[[Tensor], Any]) -> Callable:
    def made(x: Tensor) -> Number:
        _domain(_core.logical_or(inside(x), x != x))
        return Number(op(x))

    return made


def _bounded(op: Callable) -> Callable:
    """An op whose result is infinite only if that is beyond the range of floats."""

    def made(*values: Tensor) -> Number:
        result = op(*values)
        finite = _core.isfinite(values[0])
        for value in values[1:]:
            finite = _core.logical_and(finite, _core.isfinite(value))
        fits = _core.logical_or(_core.logical_not(finite), _core.logical_not(_core.isinf(result)))
        must(fits, "OverflowError", "math range error")
        return Number(result)

    return made


def _number(op: Callable) -> Callable:
    return lambda *values: Number(op(*values))


def _log(x: Tensor, base: Tensor | None = None) -> Number:
    _domain(_core.logical_or(x > 0, x != x))
    if base is None:
        return Number(_core.log(x))
    return Number(_core.log(x)) / _log(base)


def _power(x: Tensor, y: Tensor) -> Number:
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
    "degrees": lambda x: Number(x * (180.0 / math.pi)),
    "radians": lambda x: Number(x * (math.pi / 180.0)),
    "floor": lambda x: _whole(_core.floor(x)),
    "ceil": lambda x: _whole(_core.ceil(x)),
    "isnan": _core.isnan,
    "isinf": _core.isinf,
    "isfinite": _core.isfinite,
}


def _refused(name: str, plain: Callable) -> Callable:
    def applied(*values: Any, **options: Any) -> Any:
        if any(map(of_run, values)):
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


#: What is called in the place of functions of numbers.
FUNCTIONS: dict[Any, Callable] = {
    int: int_,
    float: float_,
    **{
        getattr(math, name): _of_math(name)
        for name in dir(math)
        if callable(getattr(math, name)) and name not in ("trunc", "prod", "fsum", "sumprod", "dist")
        and not name.startswith("_")
    },
}
