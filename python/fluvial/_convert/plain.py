"""What Python's own numbers have and can do, where only the run knows the number."""

from __future__ import annotations

from typing import Any

from .. import _core, _numbers
from .._fault import fault
from .paths import decided_here
from .trees import is_symbolic


def is_plain(value: Any) -> bool:
    """Whether a value stands for a number of Python's that only the run knows."""
    return is_symbolic(value) and value._is_number


def example(value: Any) -> Any:
    """A number of the kind that a value stands for; Python says by it what no number can do. Other values are themselves."""
    return _numbers.known_kind(value)(0) if is_plain(value) else value


def attribute(number: Any, name: str) -> Any:
    """An attribute of a number of Python's."""
    kind = _numbers.known_kind(number)
    found = getattr(kind(0), name)
    if name in ("real", "numerator", "conjugate"):
        value = _numbers.number(number, int) if kind is bool else number
        return (lambda: value) if name == "conjugate" else value
    if name in ("imag", "denominator"):
        return found
    if name == "is_integer":
        if kind is not float:
            return found
        whole = _core.number_of(_core.logical_and(number == _core.floor(number), _core.isfinite(number)))
        return lambda: whole
    known = decided_here(number)
    if not is_symbolic(known):
        return getattr(known, name)
    raise fault(
        TypeError,
        f"`{name}` of {_article(kind)} that only the run knows",
        "compute it with operators or with `math`, or outside of the function",
    )


def _article(kind: type) -> str:
    return f"an {kind.__name__}" if kind is int else f"a {kind.__name__}"
