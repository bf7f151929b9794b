"""What the patterns of `match` say of a subject: whether they fit, and what their names are bound to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._fault import fault
from . import journal
from .builtin import is_instance
from .calls import looked_at
from .comparison import equal
from .lists import rows_of
from .logic import and_, any_of, as_condition, choose, truth, when
from .trees import is_tensor

_ABSENT: Any = object()
#: Classes whose only positional pattern is for the subject itself.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


class Found:
    """Whether a pattern fits, perhaps as a value of the program, and the names that it binds."""

    def __init__(self, holds: Any, names: dict[str, Any]) -> None:
        self.holds, self.names = holds, names


_NOT = Found(False, {})


def match(subject: Any, pattern: tuple) -> Found:
    """Looks at a subject with a pattern, as `matching` describes them."""
    looked_at(subject)
    kind, *parts = pattern
    return _KINDS[kind](subject, *parts)


def guarded(found: Found, guard: Callable[..., Any]) -> Any:
    """Whether a pattern fits, and its guard holds as well."""
    return and_(found.holds, lambda: truth(guard(**found.names)))


def _value(subject: Any, value: Any) -> Found:
    return Found(as_condition(equal(subject, value)), {})


def _is(subject: Any, value: Any) -> Found:
    return Found(subject is value, {})


def _as(subject: Any, pattern: tuple | None, name: str | None) -> Found:
    found = Found(True, {}) if pattern is None else match(subject, pattern)
    return found if name is None else Found(found.holds, {**found.names, name: subject})


def _or(subject: Any, *patterns: tuple) -> Found:
    fitting: list[Found] = []
    for pattern in patterns:
        found = match(subject, pattern)
        if found.holds is not False:
            fitting.append(found)
        if found.holds is True:
            break
    if not fitting:
        return _NOT
    names = dict(fitting[-1].names)
    for found in reversed(fitting[:-1]):
        for name, value in found.names.items():
            other = names[name]
            names[name] = choose(found.holds, lambda: value, lambda: other)  # noqa: B023
    return Found(any_of(tuple(found.holds for found in fitting)), names)


def _all(pairs: Any) -> Found:
    """Whether all patterns fit their subjects."""
    holds: Any = True
    names: dict[str, Any] = {}
    for subject, pattern in pairs:
        found = match(subject, pattern)
        holds = when(holds, found.holds)
        if holds is False:
            return _NOT
        names.update(found.names)
    return Found(holds, names)


def _sequence(subject: Any, *patterns: tuple) -> Found:
    rows = rows_of(subject)
    if rows is not None:
        if not isinstance(rows._length, int):
            raise fault(
                TypeError,
                "the length of this list is known only when the program runs, and the pattern needs it now",
                "use `if` with `len(list)`",
            )
        subject = list(rows)
    if not isinstance(subject, Sequence) or isinstance(subject, (str, bytes, bytearray)):
        return _NOT
    star = next((i for i, pattern in enumerate(patterns) if pattern[0] == "star"), None)
    if star is None:
        return _all(zip(subject, patterns)) if len(subject) == len(patterns) else _NOT
    n_after = len(patterns) - star - 1
    if len(subject) < star + n_after:
        return _NOT
    stop = len(subject) - n_after
    pairs = [*zip(subject[:star], patterns[:star]), *zip(subject[stop:], patterns[star + 1 :])]
    found = _all(pairs)
    name = patterns[star][1]
    if found.holds is False or name is None:
        return found
    return Found(found.holds, {**found.names, name: journal.made(list(subject[star:stop]))})


def _mapping(subject: Any, keys: list, patterns: list, rest: str | None) -> Found:
    if not isinstance(subject, Mapping):
        return _NOT
    if any(map(is_tensor, keys)):
        raise fault(
            TypeError, "a key of a pattern is a tensor, which names no entry", "use a number or a string"
        )
    values = [subject.get(key, _ABSENT) for key in keys]
    if any(value is _ABSENT for value in values):
        return _NOT
    found = _all(zip(values, patterns))
    if found.holds is False or rest is None:
        return found
    others = {key: value for key, value in subject.items() if key not in keys}
    return Found(found.holds, {**found.names, rest: journal.made(others)})


def _class(subject: Any, kind: type, own: list, names: list, by_name: list) -> Found:
    if not isinstance(kind, type):
        raise TypeError("called match pattern must be a class")
    if not is_instance(subject, kind):
        return _NOT
    from .runtime import read

    pairs: list = []
    if own and kind in _WHOLE:
        fields: tuple = ("",)
    else:
        fields = getattr(kind, "__match_args__", ())
    if len(own) > len(fields):
        counts = f"accepts {len(fields)} positional sub-pattern{'s' * (len(fields) != 1)} ({len(own)} given)"
        raise TypeError(f"{kind.__name__}() {counts}")
    for name, pattern in [*zip(fields, own), *zip(names, by_name)]:
        value = read(subject, name, _ABSENT) if name else subject
        if value is _ABSENT:
            return _NOT
        pairs.append((value, pattern))
    return _all(pairs)


_KINDS: dict[str, Callable[..., Found]] = {
    "value": _value,
    "is": _is,
    "as": _as,
    "or": _or,
    "sequence": _sequence,
    "mapping": _mapping,
    "class": _class,
}
