"""`sum`, `min`, `max`, `any`, `all` and `sorted` of values that only the run knows."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from .. import _core, _numbers
from .._checks import must
from .._fault import fault
from . import journal, logic
from .errors import Mismatch
from .items import getitem
from .lists import rows_of, wrapped
from .regions import abort, begin, end
from .sequences import Sequence, sequence_of, unrolled
from .trees import (
    OPEN_SIZE,
    flatten,
    is_number,
    is_symbolic,
    is_tensor,
    joined,
    natural,
    rebuild,
    tensor_of,
    type_text,
    zeros_like,
)

_ABSENT: Any = object()


def _parts(iterable: Any) -> list | None:
    """The items as a list, unless only the run knows how many there are."""
    return unrolled(iterable) if _of_program(iterable) else [_as_number(part) for part in iterable]


def _as_number(value: Any) -> Any:
    """A size that only the run knows as a number of the program; any other value is itself."""
    is_open = type(value) is OPEN_SIZE and is_tensor(value == 1)
    return _numbers.number(value, int) if is_open else value


def _of_program(iterable: Any) -> bool:
    return is_symbolic(iterable) or isinstance(iterable, Sequence) or rows_of(iterable) is not None


def _converted(key: Callable | None) -> Callable | None:
    from .runtime import callee

    return None if key is None else callee(key)


def _fold(values: Any, first: Callable[[Any], Any], step: Callable[[Any, Any, Any], Any]) -> Any:
    """Goes through a sequence of the program. `first` gives the form of what is carried, of an item;
    `step` gives its next value from whether there is one yet, the value, and an item."""
    source: Any = sequence_of(values)
    position = source.start(0)
    params = begin(position)
    leaves: list = []
    with journal.refusing():
        form = flatten(first(source.item(params)), leaves)
    # A value of the block must not be used after it.
    types = [natural(leaf) for leaf in leaves]
    shapes = [zeros_like(leaf) if _numbers.is_number(leaf) else (leaf.shape, leaf.dtype) for leaf in leaves]
    abort()
    zeros = [tensor_of(_core.zeros(*x) if type(x) is tuple else x, own) for x, own in zip(shapes, types)]
    params = begin([*position, _core.tensor(False), *zeros])
    at, (started, *own) = params[: len(position)], params[len(position) :]
    new: list = []
    with journal.refusing():
        flatten(step(started, rebuild(form, list(own)), source.item(at)), new)
    for before, leaf, dtype in zip(own, new, types):
        if joined(before, leaf) != dtype:
            abort()
            raise fault(
                Mismatch,
                f"what is folded is {type_text(before)} first and {type_text(leaf)} later",
                "give the items and the start one type",
            )
    after = source.advance(at)
    results = list(map(tensor_of, new, types))
    body = end([source.more(after), *after, True, *results])
    more = _core.tensor(source.more(position))
    outputs = _core.while_of(more, [*position, _core.tensor(False), *zeros], body)
    return journal.made_inside(rebuild(form, list(outputs[len(position) + 1 :])))


def extreme(function: Callable, better: Callable[[Any, Any], Any]) -> Callable:
    """`max` or `min`."""

    def pick(*values: Any, key: Callable | None = None, default: Any = _ABSENT) -> Any:
        options = {} if default is _ABSENT else {"default": default}
        parts = _parts(values[0] if len(values) == 1 else values)
        key = _converted(key)
        if parts is None:
            return _extreme_of(values[0], key, default, function.__name__, better)
        keys = parts if key is None else [key(part) for part in parts]
        if not any(map(is_symbolic, keys)):
            if not parts or key is None:
                return function(parts, key=key, **options)
            return parts[keys.index(function(keys))]
        best = (parts[0], keys[0])
        for pair in zip(parts[1:], keys[1:]):
            test = better(pair[1], best[1])
            if key is None:
                best = (_chosen(test, pair[0], best[0]),) * 2
            else:
                best = _chosen(test, pair, best)
        return best[0]

    return pick


def _chosen(test: Any, value: Any, other: Any) -> Any:
    return logic.choose(test, lambda: value, lambda: other)


def _extreme_of(values: Any, key: Any, default: Any, name: str, better: Callable) -> Any:
    any_there = _has_items(values)
    if default is _ABSENT:
        must(any_there, ValueError, f"{name}() iterable argument is empty")
    pair = lambda item: (item, item if key is None else key(item))  # noqa: E731

    def step(started: Any, best: Any, item: Any) -> Any:
        new = pair(item)
        test = _core.logical_or(_core.logical_not(started), logic.as_condition(better(new[1], best[1])))
        return _chosen(test, new, best)

    best = _fold(values, pair, step)[0]
    return best if default is _ABSENT else _chosen(any_there, best, default)


def _has_items(values: Any) -> Any:
    source: Any = sequence_of(values)
    return source.more(source.start(0))


def total(iterable: Any, /, start: Any = 0) -> Any:
    """`sum`."""
    parts = _parts(iterable)
    if parts is None:
        return _total_of(iterable, start)
    if not any(map(is_symbolic, [start, *parts])):
        return sum(parts, start)
    result, lost = start, None
    for part in parts:
        if lost is None and _keeps_lost(result, part):
            lost = 0.0
        if lost is not None and _numbers.is_number(part) and _numbers.kind(part) is float:
            result, lost = _plus(result, lost, part)
            continue
        if lost is not None and not _numbers.is_number(part):
            result, lost = _with_lost(result, lost), None
        result = result + part
    return result if lost is None else _with_lost(result, lost)


def _keeps_lost(so_far: Any, part: Any) -> bool:
    """Whether Python, as it adds these, keeps what is lost in rounding."""
    if sys.version_info < (3, 12) or not _numbers.is_number(so_far) or not _numbers.is_number(part):
        return False
    return _numbers.kind(so_far) is float


def _plus(so_far: Any, lost: Any, part: Any) -> tuple[Any, Any]:
    """The sum of two floats, and what all sums have lost in rounding until now."""
    if not any(map(is_tensor, (so_far, lost, part))):
        new = so_far + part
        larger = abs(so_far) >= abs(part)
        return new, lost + ((so_far - new) + part if larger else (part - new) + so_far)
    s, c, x = (_numbers.strong(value, float) for value in (so_far, lost, part))
    new = s + x
    more = _core.where(_core.abs(s) >= _core.abs(x), (s - new) + x, (x - new) + s)
    return _core.number_of(new), _core.number_of(c + more)


def _with_lost(so_far: Any, lost: Any) -> Any:
    if not is_tensor(so_far) and not is_tensor(lost):
        return so_far + lost if lost and math.isfinite(lost) else so_far
    s, c = _numbers.strong(so_far, float), _numbers.strong(lost, float)
    usable = _core.logical_and(c != 0, _core.isfinite(c))
    return _core.number_of(_core.where(usable, s + c, s))


def _total_of(iterable: Any, start: Any) -> Any:
    """The sum of a sequence whose length only the run knows."""

    def first(item: Any) -> Any:
        made = start + item
        keeps = sys.version_info >= (3, 12) and _numbers.is_number(made) and _numbers.kind(made) is float
        return (made, 0.0) if keeps else (made,)

    def step(started: Any, so_far: Any, item: Any) -> Any:
        before = _chosen(started, so_far[0], start)
        if len(so_far) == 1 or _numbers.kind(item) is not float:
            return (before + item, *so_far[1:])
        return _plus(before, so_far[1], item)

    summed = _fold(iterable, first, step)
    made = summed[0] if len(summed) == 1 else _with_lost(*summed)
    if is_number(start) and not made._is_number:
        return made
    return _chosen(_has_items(iterable), made, start)


def _truths(iterable: Any) -> Any:
    """The items of a sequence of unknown length as bools."""
    rows = rows_of(iterable)
    stack = iterable if rows is None else rows.stack()
    if not is_symbolic(stack) or stack.ndim != 1:
        raise fault(
            TypeError,
            "whether something holds of values whose number only the run knows is asked of single values",
            "use a list comprehension of conditions",
        )
    return stack if stack.dtype == "bool" else stack != 0


def _first_that(holds: bool, iterable: Any) -> Any:
    """Whether an item is true, or is not; what follows it in a generator is not computed."""
    if isinstance(iterable, (list, tuple)):
        return logic.any_of(tuple(map(_turned(holds), iterable)))
    rest = iter(iterable)

    def found() -> Any:
        for part in rest:
            test = _turned(holds)(part)
            if is_tensor(test):
                return logic.choose(test, lambda: True, found)
            if test:
                return True
        return False

    return found()


def _turned(holds: bool) -> Callable[[Any], Any]:
    return logic.as_condition if holds else lambda part: logic.negated(logic.as_condition(part))


def any_(iterable: Any, /) -> Any:
    """`any`."""
    if _of_program(iterable):
        parts = unrolled(iterable)
        if parts is None:
            return logic.truth(_core.any(_truths(iterable)))
        iterable = parts
    return logic.truth(_first_that(True, iterable))


def all_(iterable: Any, /) -> Any:
    """`all`."""
    if _of_program(iterable):
        parts = unrolled(iterable)
        if parts is None:
            return logic.truth(_core.all(_truths(iterable)))
        iterable = parts
    return logic.not_(_first_that(False, iterable))


def sorted_(iterable: Any, /, *, key: Callable | None = None, reverse: Any = False) -> Any:
    """`sorted`."""
    parts = _parts(iterable)
    if parts is None:
        rows = rows_of(iterable)
        if rows is None:
            raise fault(
                TypeError,
                "values whose number only the run knows are sorted as a list of the program",
                "use `fl.sort(x, 0)`",
            )
        return wrapped(rows.sorted(key, reverse))
    key = _converted(key)
    keys = parts if key is None else [key(part) for part in parts]
    if not any(map(is_symbolic, keys)):
        order = sorted(range(len(parts)), key=keys.__getitem__, reverse=reverse)
        return journal.made([parts[i] for i in order])
    tensors: list = list(map(_core.tensor, keys))
    if all(map(_numbers.is_number, keys)):
        own = float if float in map(_numbers.kind, keys) else int
        tensors = [_numbers.strong(x, own) for x in keys]
    if len({x.type_text for x in tensors}) > 1 or tensors[0].ndim:
        raise fault(
            TypeError,
            "what is sorted has several types: " + ", ".join(x.type_text for x in tensors),
            "give the keys one type, without axes",
        )
    places = _core.argsort(_core.stack(tensors, 0), 0, bool(reverse))
    return journal.made([getitem(parts, places[i]) for i in range(len(parts))])
