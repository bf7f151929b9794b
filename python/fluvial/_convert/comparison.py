"""Comparisons: `in`, `==` of lists, and chains, where the run decides."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .. import _core, _numbers
from .._fault import fault
from . import own, tags
from .calls import looked_at
from .lists import rows_of
from .logic import any_of, as_condition, choose, known_truth, negated, now, truth, when
from .plain import example, is_plain
from .sequences import Range
from .trees import OPEN_SIZE, is_symbolic, is_tensor


def contains(value: Any, owner: Any) -> Any:
    """`value in owner`."""
    rows = rows_of(owner)
    if rows is not None:
        stack = rows.stack()
        if stack.ndim != 1:
            raise fault(
                TypeError,
                "what is looked for in a list of the program is one of several numbers",
                "use a `for` statement with a test of your own",
            )
        if rows._kinds[0] is not None and is_tensor(value) and not value._is_number:
            stack = _core.cast(stack, value.dtype)
        return truth(_core.any(stack == value))
    if is_plain(owner):
        # No number has something in it.
        return 0 in example(owner)
    if is_tensor(owner) and (is_symbolic(owner) or is_symbolic(value)):
        return truth(_core.any(owner == value))
    if isinstance(owner, (range, Range)) and (_is_open(value) or isinstance(owner, Range)):
        return truth(_in_range(value, *(owner.bounds if isinstance(owner, Range) else _bounds(owner))))
    if isinstance(owner, (list, tuple, set, frozenset)) and (_is_open(value) or any(map(_is_open, owner))):
        return truth(any_of(tuple(value is x or as_condition(equal(value, x)) for x in owner)))
    if isinstance(owner, dict) and is_symbolic(value) and value._is_number:
        return truth(any_of(tuple(as_condition(equal(value, key)) for key in owner if _numbers.is_number(key))))
    found = own.method(owner, "__contains__")
    return value in owner if found is None else truth(as_condition(found(value)))


def _is_open(value: Any) -> bool:
    """Whether only the run knows a value, or a part of it."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_open, value))
    return is_symbolic(value) or type(value) is OPEN_SIZE


def _bounds(owner: range) -> tuple[int, int, int]:
    return owner.start, owner.stop, owner.step


def _in_range(value: Any, start: Any, stop: Any, step: Any) -> Any:
    if type(step) is not int:
        raise fault(
            TypeError,
            "whether a number is in a range is asked where the step is known",
            "compare with the bounds",
        )
    if step > 0:
        inside = when(as_condition(value >= start), as_condition(value < stop))
    else:
        inside = when(as_condition(value <= start), as_condition(value > stop))
    return when(inside, as_condition((value - start) % step == 0))


def equal(a: Any, b: Any) -> Any:
    """`a == b`; lists and tuples are compared part by part."""
    if not isinstance(a, (list, tuple)) or not isinstance(b, list if isinstance(a, list) else tuple):
        return tags.compared(operator.eq, a, b)
    if rows_of(a) is not None or rows_of(b) is not None:
        raise fault(
            TypeError,
            "whether lists of the program are equal is not asked",
            "compare their lengths, and the tensors that `fl.stack` makes of them",
        )
    if len(a) != len(b) or not any(map(_is_open, (*a, *b))):
        return a == b
    result: Any = True
    for x, y in zip(a, b):
        result = when(result, x is y or as_condition(equal(x, y)))
    return truth(result)


def unequal(a: Any, b: Any) -> Any:
    """`a != b`."""
    same = own.compared("Eq", a, b)
    if same is not NotImplemented:
        return truth(negated(as_condition(same)))
    if isinstance(a, (list, tuple)):
        return truth(negated(as_condition(equal(a, b))))
    return tags.compared(operator.ne, a, b)


def _ordered(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: tags.compared(function, a, b)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": _ordered(operator.lt),
    "LtE": _ordered(operator.le),
    "Gt": _ordered(operator.gt),
    "GtE": _ordered(operator.ge),
    "Eq": equal,
    "NotEq": unequal,
    "Is": tags.identical,
    "IsNot": lambda a, b: truth(negated(tags.identical(a, b))),
    "In": contains,
    "NotIn": lambda a, b: truth(negated(contains(a, b))),
}


def _of_sizes(result: Any, left: Any, right: Any) -> Any:
    """What a comparison gives; that of numbers, some of them sizes that only the run knows, is a bool of Python."""
    if type(left) is not OPEN_SIZE and type(right) is not OPEN_SIZE or not is_tensor(result):
        return result
    return _numbers.number(result, bool) if _numbers.is_number(left) and _numbers.is_number(right) else result


def chain(left: Any, sign: str, right: Any, *others: Any) -> Any:
    """`left < right < …`: each part is computed once, and only if those before it hold."""
    if sign not in ("Is", "IsNot"):
        looked_at(left)
        looked_at(right)
    result = own.compared(sign, left, right)
    if result is NotImplemented:
        result = _of_sizes(_OPERATORS[sign](left, right), left, right)
    if not others:
        return result
    test = as_condition(result)
    rest = lambda: chain(right, others[0], now(others[1]), *others[2:])  # noqa: E731
    if is_tensor(test):
        return choose(test, lambda: known_truth(rest()), lambda: test)
    return rest() if test else result
