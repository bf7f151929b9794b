"""Calls of functions that are not converted: what they change, and what they look at."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterable
from typing import Any

from .._fault import fault
from .._opens import known
from .._tree import is_tensor
from . import journal
from .errors import Mismatch
from .fresh import refuse_fresh, refuse_iterator, without_effect
from .keys import check_keys
from .lists import rows_of, wrapped
from .paths import decided_here
from .state import BUILD
from .trees import is_symbolic

#: Methods of containers that leave them as they are.
_LOOKS = frozenset(
    "copy count index get keys values items union intersection difference symmetric_difference issubset "
    "issuperset isdisjoint most_common elements total decode hex find startswith endswith".split()
)
_CONTAINERS = (list, dict, set, collections.deque)
#: Functions that do not look into what they are given.
_NAMES_ONLY: tuple[Any, ...] = (id, callable, type, issubclass, isinstance)


def looked_at(iterable: Any) -> Any:
    """What is gone through or looked into as a whole; from outside, its content is guarded."""
    outer = BUILD.outer
    if outer is not None and outer.path_of(iterable) is not None:
        if isinstance(iterable, (*_CONTAINERS, tuple)):
            outer.content(iterable)
        elif isinstance(iterable, Iterable) and not is_tensor(iterable) and not _is_ours(type(iterable)):
            refuse_iterator(iterable)
            outer.content(iterable)
    return iterable


def watched(function: Callable) -> Callable:
    """A function that is called as it is, with what it changes noted."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _CONTAINERS) and isinstance(function, types.BuiltinMethodType):
        return _method(function, owner)
    if _is_ours(function):
        return function
    refuse_fresh(function)
    return lambda *args, **options: _called(function, owner, args, options)


def _is_ours(function: Any) -> bool:
    """Whether it is a function of this package, which changes no container."""
    module = getattr(function, "__module__", None) or ""
    return module == "fluvial" or module.startswith("fluvial.")


def _method(function: Any, owner: Any) -> Callable:
    rows, name = rows_of(owner), function.__name__
    if rows is not None:
        apply = getattr(rows, name)
        return lambda *args, **options: wrapped(apply(*args, **options))
    if name not in _LOOKS:
        journal.touch(owner)
        if name in ("append", "extend") and isinstance(owner, (list, collections.deque)):
            # Whatever the list has, it gets the same at its end.
            return function
    if BUILD.outer is not None and BUILD.outer.path_of(owner) is not None:
        BUILD.outer.content(owner)
    if isinstance(owner, (set, dict)):
        return lambda *args, **options: journal.given(function(*_with_keys(owner, args), **options))
    return lambda *args, **options: journal.given(function(*args, **options))


def _with_keys(owner: Any, args: tuple) -> list:
    """Arguments of a method of a set or a dict, in which keys are known; in a program for one path they are those of the call."""
    keys = args if isinstance(owner, set) else args[:1]
    settled = [known(decided_here(x) if is_symbolic(x) and x._is_number else x) for x in keys]
    check_keys(settled)
    for part in settled:
        if isinstance(part, (list, tuple)):
            check_keys(part)
    return [*settled, *args[len(keys) :]]


def _called(function: Callable, owner: Any, args: tuple, options: dict) -> Any:
    outer = BUILD.outer
    every = [owner, *args, *options.values()] if owner is not None else [*args, *options.values()]
    for value in every:
        # A dict keeps what it is given by name.
        looks = function is not dict or any(value is other for other in args)
        if looks and rows_of(value) is not None:
            raise fault(
                Mismatch,
                f"`{getattr(function, '__name__', function)}` is given a list whose length only the run knows",
                "use `fl.stack`, or a loop over the list",
            )
        if outer is not None and outer.path_of(value) is not None and function not in _NAMES_ONLY:
            refuse_iterator(value)
            outer.content(value)
    before = journal.snapshot(every)
    try:
        # No name may hold the result: what nobody else holds was made there.
        return journal.given(_with_known_keys(without_effect(function, function(*args, **options))))
    finally:
        journal.compare(before)


def _with_known_keys(value: Any) -> Any:
    if isinstance(value, (set, frozenset, dict)):
        check_keys(value)
    return value


def constructed(kind: Any, args: tuple, options: dict, convert: Callable) -> Any:
    """An object of a class of the user's, whose `__init__` is converted."""
    made = kind.__new__(kind, *args, **options) if kind.__new__ is not object.__new__ else kind.__new__(kind)
    journal.made(made)
    if isinstance(made, kind):
        convert(kind.__init__)(made, *args, **options)
    return made
