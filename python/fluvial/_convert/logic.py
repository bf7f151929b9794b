"""Conditions: plain ones are Python's, symbolic ones become ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .errors import Mismatch
from .numbers import Number, kind_of, tensor_among
from .regions import abort, begin, end
from .trees import (
    flatten,
    is_symbolic,
    is_tensor,
    joined,
    keeps,
    merged,
    natural,
    rebuild,
    same,
    tensor_of,
)


def as_condition(value: Any) -> Any:
    """A symbolic value as a bool tensor, any other one as Python's truth of it."""
    if is_symbolic(value):
        if value.type_text.startswith("list"):
            return _core.list_len(value) > 0
        return value if value.dtype == "bool" else value != 0
    if isinstance(value, Number):
        return value.value != 0
    if hasattr(value, "_fl_lists"):
        return _core.list_len(value._fl_lists[0]) > 0
    return bool(value)


def negated(condition: Any) -> Any:
    """`not` of a condition."""
    return _core.logical_not(condition) if is_tensor(condition) else not condition


def any_of(flags: tuple) -> Any:
    """Whether a flag is set: a bool if that is known."""
    result: Any = False
    for flag in flags:
        if not is_tensor(flag):
            if flag:
                return True
        else:
            result = flag if result is False else _core.logical_or(result, flag)
    return result


def when(condition: Any, value: Any) -> Any:
    """`condition and value`, both computed already."""
    if not is_tensor(condition):
        return value if condition else False
    if not is_tensor(value):
        return condition if value else False
    return _core.logical_and(condition, value)


def now(thunk: Callable[[], Any]) -> Any:
    """The value of a part that was moved into a lambda. An unbound local is one there, too."""
    try:
        return thunk()
    except NameError as error:
        if type(error) is not NameError or "free variable" not in str(error):
            raise
        name = str(error).split("'")[1]
        text = f"cannot access local variable '{name}' where it is not associated with a value"
        raise UnboundLocalError(text).with_traceback(
            getattr(error.__traceback__, "tb_next", None)
        ) from None


def choose(test: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """`then if test else other`."""
    test = as_condition(test)
    if not is_tensor(test):
        return now(then if test else other)
    types = None
    while True:
        begin([])
        first = now(then)
        leaves: list = []
        spec = flatten(first, leaves)
        types = types or [natural(leaf) for leaf in leaves]
        block = end(list(map(tensor_of, leaves, types)))
        begin([])
        second = now(other)
        others: list = []
        form = flatten(second, others)
        kind = kind_of(first, second)
        if kind is not None and not _are_numbers(first, second, kind):
            abort()
            number = lambda part: lambda: Number.of(now(part), kind)  # noqa: E731
            return choose(test, number(then), number(other))
        like = tensor_among(first, second)
        if like is not None:
            abort()
            dtype = like.dtype
            tensor = lambda x: x.typed(dtype) if isinstance(x, Number) else x  # noqa: E731
            return choose(test, lambda: tensor(now(then)), lambda: tensor(now(other)))
        if not same(spec, form):
            abort()
            raise Mismatch(f"the two values of a choice differ in form: {first!r} and {second!r}")
        try:
            wanted = [t if keeps(a, b) else joined(a, b) for a, b, t in zip(leaves, others, types)]
        except Mismatch as fault:
            abort()
            text = f"the two values of a choice are {fault}\n  remedy: give them one type and shape"
            raise Mismatch(text) from None
        if wanted == types:
            break
        abort()
        types = wanted
    outputs = _core.cond_of(test, block, end(list(map(tensor_of, others, types))))
    return rebuild(
        merged(spec, form), [a if keeps(a, b) else o for a, b, o in zip(leaves, others, outputs)]
    )


def _are_numbers(first: Any, second: Any, kind: str) -> bool:
    return all(isinstance(x, Number) and x._fl_spec == kind for x in (first, second))


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    """`first and …`: what stands right of a value that does not hold is not run."""
    value = first
    for i, other in enumerate(others):
        test = as_condition(value)
        if is_tensor(test):
            rest = others[i + 1 :]
            if value is test or not is_tensor(value):
                return choose(test, lambda: and_(truth(now(other)), *rest), lambda: test)
            return choose(test, lambda: and_(now(other), *rest), lambda: value)
        if not test:
            return value
        value = now(other)
    return value


def or_(first: Any, *others: Callable[[], Any]) -> Any:
    """`first or …`: what stands right of a value that holds is not run."""
    value = first
    for i, other in enumerate(others):
        test = as_condition(value)
        if is_tensor(test):
            rest = others[i + 1 :]
            if value is test or not is_tensor(value):
                return choose(test, lambda: test, lambda: or_(truth(now(other)), *rest))
            return choose(test, lambda: value, lambda: or_(now(other), *rest))
        if test:
            return value
        value = now(other)
    return value


def truth(value: Any) -> Any:
    return value if type(value) is bool else as_condition(value)


def not_(value: Any) -> Any:
    """`not value`."""
    return negated(as_condition(value))
