"""Conditions: plain ones are Python's, symbolic ones become ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._fault import fault, user_line
from .._paths import note_place
from . import journal, own, tags
from .calls import looked_at
from .errors import Mismatch, now
from .lists import rows_of
from .paths import decided_here
from .regions import LOCAL, abort, begin, end
from .trees import chosen as one_of
from .trees import (
    OPEN_SIZE,
    flatten,
    is_symbolic,
    is_tensor,
    keeps,
    merged,
    natural,
    rebuild,
    same,
    tensor_of,
)


def as_condition(value: Any) -> Any:
    """A symbolic value as a bool tensor without axes, any other one as Python's truth of it."""
    if is_symbolic(value):
        if value.type_text.startswith("list"):
            return _core.list_len(value) > 0
        if value.ndim:
            value = _only_element(value)
        return value if value.dtype == "bool" else value != 0
    rows = rows_of(value)
    if rows is not None:
        return _core.list_len(rows._fl_lists[0]) > 0
    if type(value) is OPEN_SIZE:
        return value != 0
    truth = own.method(value, "__bool__") or own.method(value, "__len__")
    return bool(looked_at(value)) if truth is None else as_condition(truth())


def _only_element(value: Any) -> Any:
    """A tensor of one element without its axes."""
    if all(size == 1 for size in value.shape):
        return _core.reshape(value, ())
    raise fault(
        ValueError,
        f"{value.type_text} has more or less than one element and no truth value",
        "use `fl.all` or `fl.any`",
    )


def truth(value: Any) -> Any:
    """`bool(value)`: a number, also where only the run knows it."""
    test = as_condition(value)
    return _core.number_of(test) if is_tensor(test) and not test._is_number else test


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


def choose(test: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """`then if test else other`."""
    remedy = "give them one type and shape"
    return _chosen(test, then, other, "the two values of a choice are", remedy)


def _chosen(
    test: Any, then: Callable[[], Any], other: Callable[[], Any], what: str, remedy: str
) -> Any:
    test = decided_here(as_condition(test))
    if not is_tensor(test):
        return now(then if test else other)
    types = None
    while True:
        begin([])
        with journal.refusing():
            first = now(then)
        leaves: list = []
        spec = flatten(first, leaves)
        types = types or [natural(leaf) for leaf in leaves]
        first_tags = list(map(tags.beside, leaves, types))
        block = end([*map(tensor_of, leaves, types), *map(tags.as_value, first_tags)])
        begin([])
        with journal.refusing():
            second = now(other)
        others: list = []
        form = flatten(second, others)
        if not same(spec, form):
            abort()
            raise refused(f"{what} of different forms: {first!r} and {second!r}", remedy)
        try:
            wanted = [t if keeps(a, b) else one_of(a, b) for a, b, t in zip(leaves, others, types)]
        except Mismatch as error:
            abort()
            raise refused(f"{what} {error}", remedy) from None
        if wanted == types:
            break
        abort()
        types = wanted
    other_tags = list(map(tags.beside, others, types))
    second_block = end([*map(tensor_of, others, types), *map(tags.as_value, other_tags)])
    outputs = _core.cond_of(test, block, second_block)
    for i, (a, b, output) in enumerate(zip(leaves, others, outputs)):
        journal.may_be(output, *filter(is_tensor, (a, b)))
        if first_tags[i] is not None or other_tags[i] is not None:
            tags.note(output, outputs[len(leaves) + i], a, b)
    chosen = [a if keeps(a, b) else o for a, b, o in zip(leaves, others, outputs)]
    if first is second:
        return first
    made = journal.made_inside(rebuild(merged(spec, form), chosen))
    journal.stands_inside(made, first, second, test=None if LOCAL.depth else test)
    return made


def refused(what: str, remedy: str) -> Mismatch:
    error = fault(Mismatch, what, remedy)
    note_place(error, user_line())
    return error


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    """`first and …`: what stands right of a value that does not hold is not run."""
    value = first
    for i, other in enumerate(others):
        test = decided_here(as_condition(value))
        if is_tensor(test):
            rest = others[i + 1 :]
            return _one_of("and", test, lambda: and_(now(other), *rest), lambda: value)
        if not test:
            return value
        value = now(other)
    return value


def or_(first: Any, *others: Callable[[], Any]) -> Any:
    """`first or …`: what stands right of a value that holds is not run."""
    value = first
    for i, other in enumerate(others):
        test = decided_here(as_condition(value))
        if is_tensor(test):
            rest = others[i + 1 :]
            return _one_of("or", test, lambda: value, lambda: or_(now(other), *rest))
        if test:
            return value
        value = now(other)
    return value


def _one_of(word: str, test: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """`choose`, for an operator that gives one of its operands."""
    what = f"`{word}` gives one of its operands, and only the run knows which: they are"
    remedy = "write both cases, such as `y if condition else 0.0`, or use operands of one type"
    return _chosen(test, then, other, what, remedy)


def all_(*parts: Callable[[], Any]) -> Any:
    """`a and b and …` where only the truth counts: operands of any types."""
    return and_(*_conditions(parts))


def any_(*parts: Callable[[], Any]) -> Any:
    """`a or b or …` where only the truth counts."""
    return or_(*_conditions(parts))


def _conditions(parts: tuple) -> tuple:
    first, *others = [lambda part=part: as_condition(now(part)) for part in parts]
    return (first(), *others)


def known_truth(value: Any) -> Any:
    """The truth of a value as a condition; a bool is one."""
    return value if type(value) is bool else as_condition(value)


def not_(value: Any) -> Any:
    """`not value`."""
    test = negated(as_condition(value))
    return _core.number_of(test) if is_tensor(test) and not test._is_number else test
