"""`sum`, `min`, `max`, `any`, `all` and `sorted` of values that only the run knows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import _core
from .._fault import fault
from . import logic
from .items import getitem
from .lists import TensorList
from .numbers import Number, must
from .parts import of_run
from .regions import abort, begin, end
from .sequences import Sequence, sequence_of, unrolled
from .trees import flatten, is_number, is_symbolic, is_tensor, rebuild, tensor_of

_ABSENT: Any = object()


def _parts(iterable: Any) -> list | None:
    """The items as a list, unless only the run knows how many there are."""
    if is_symbolic(iterable) or isinstance(iterable, (Sequence, TensorList)):
        return unrolled(iterable)
    return list(iterable)


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
    form = flatten(first(source.item(params)), leaves)
    # A value of the block must not be used after it.
    types = [(x.dtype, x.shape) for x in leaves if is_tensor(x)]
    abort()
    zeros = [_core.zeros(shape, dtype) for dtype, shape in types]
    params = begin([*position, _core.tensor(False), *zeros])
    at, (started, *own) = params[: len(position)], params[len(position) :]
    new: list = []
    flatten(step(started, rebuild(form, list(own)), source.item(at)), new)
    after = source.advance(at)
    results = [tensor_of(x, dtype) for x, (dtype, _) in zip(new, types)]
    body = end([source.more(after), *after, True, *results])
    more = _core.tensor(source.more(position))
    outputs = _core.while_of(more, [*position, _core.tensor(False), *zeros], body)
    return rebuild(form, list(outputs[len(position) + 1 :]))


def extreme(function: Callable, better: Callable[[Any, Any], Any]) -> Callable:
    """`max` or `min`."""

    def pick(*values: Any, key: Callable | None = None, default: Any = _ABSENT) -> Any:
        options = {} if default is _ABSENT else {"default": default}
        parts = _parts(values[0]) if len(values) == 1 else list(values)
        key = _converted(key)
        if parts is None:
            return _extreme_of(values[0], key, default, function.__name__, better)
        keys = parts if key is None else [key(part) for part in parts]
        if not any(map(of_run, keys)):
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
    any_there = logic.as_condition(values) if isinstance(values, TensorList) else None
    if any_there is None:
        source: Any = sequence_of(values)
        any_there = source.more(source.start(0))
    if default is _ABSENT:
        must(any_there, "ValueError", f"{name}() iterable argument is empty")
    pair = lambda item: (item, item if key is None else key(item))  # noqa: E731

    def step(started: Any, best: Any, item: Any) -> Any:
        new = pair(item)
        test = _core.logical_or(_core.logical_not(started), logic.as_condition(better(new[1], best[1])))
        return _chosen(test, new, best)

    best = _fold(values, pair, step)[0]
    return best if default is _ABSENT else _chosen(any_there, best, default)


def total(iterable: Any, /, start: Any = 0) -> Any:
    """`sum`."""
    parts = _parts(iterable)
    if parts is None:
        like = lambda item: start + item  # noqa: E731
        summed = _fold(iterable, like, lambda started, so_far, item: _chosen(started, so_far, start) + item)
        if is_number(start) and not isinstance(summed, Number):
            return summed
        source: Any = sequence_of(iterable)
        return _chosen(source.more(source.start(0)), summed, start)
    n_plain = next((i for i, part in enumerate(parts) if of_run(part)), len(parts))
    result = sum(parts[:n_plain], start)
    rest = parts[n_plain:]
    numbers = [x for x in rest if isinstance(x, Number) or is_number(x)]
    exact = len(numbers) == len(rest) and (is_number(result) or isinstance(result, Number))
    if rest and exact and sys.version_info >= (3, 12) and "float" in {Number.of(x)._fl_spec for x in rest}:
        return _compensated(parts, start)
    for part in rest:
        result = result + part
    return result


def _compensated(parts: list, start: Any) -> Number:
    """The sum of floats as Python computes it, which keeps what is lost in rounding."""
    so_far, lost = Number.of(start, "float").value, _core.tensor(0.0, "float64")
    for part in parts:
        x = Number.of(part, "float").value
        new = so_far + x
        larger = _core.abs(so_far) >= _core.abs(x)
        lost = lost + _core.where(larger, (so_far - new) + x, (x - new) + so_far)
        so_far = new
    usable = _core.logical_and(lost != 0, _core.isfinite(lost))
    return Number(_core.where(usable, so_far + lost, so_far))


def _truths(iterable: Any) -> Any:
    """The items of a sequence of unknown length as bools."""
    stack = iterable.stack() if isinstance(iterable, TensorList) else iterable
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
    if is_symbolic(iterable) or isinstance(iterable, (Sequence, TensorList)):
        parts = unrolled(iterable)
        if parts is None:
            return _core.any(_truths(iterable), [], False)
        iterable = parts
    return _first_that(True, iterable)


def all_(iterable: Any, /) -> Any:
    """`all`."""
    if is_symbolic(iterable) or isinstance(iterable, (Sequence, TensorList)):
        parts = unrolled(iterable)
        if parts is None:
            return _core.all(_truths(iterable), [], False)
        iterable = parts
    return logic.negated(_first_that(False, iterable))


def sorted_(iterable: Any, /, *, key: Callable | None = None, reverse: Any = False) -> Any:
    """`sorted`."""
    parts = _parts(iterable)
    if parts is None:
        if not isinstance(iterable, TensorList):
            raise fault(
                TypeError,
                "values whose number only the run knows are sorted as a list of the program",
                "use `fl.sort(x, 0)`",
            )
        return iterable.sorted(key, reverse)
    key = _converted(key)
    keys = parts if key is None else [key(part) for part in parts]
    if not any(map(of_run, keys)):
        order = sorted(range(len(parts)), key=keys.__getitem__, reverse=reverse)
        return [parts[i] for i in order]
    tensors = [x.value if isinstance(x, Number) else _core.tensor(x) for x in keys]
    if len({x.type_text for x in tensors}) > 1 or tensors[0].ndim:
        raise fault(
            TypeError,
            "what is sorted has several types: " + ", ".join(x.type_text for x in tensors),
            "give the keys one type, without axes",
        )
    places = _core.argsort(_core.stack(tensors, 0), 0, bool(reverse))
    return [getitem(parts, places[i]) for i in range(len(parts))]
