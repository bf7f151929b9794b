"""Which object a value is, as data: a number beside a value that only the run chooses.

Where a branch or a loop chooses one of several tensors, the result is a new value of the program; line by line it is one of
these objects. Its *tag* says which: the number of an input, if it is a tensor of the user's, another number for a tensor that
the function has made outside of loops, or -1. Tags are chosen and carried along with the values. Where a number of Python's
is the other choice, the tag says its kind; and so it does for a number that is an int or a float, as the run chooses.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

from .. import _core, _numbers
from .._fault import fault
from .._results import MADE, NONE, NUMBERS
from .._tree import is_parameter, is_tensor
from . import journal
from .errors import Mismatch
from .state import BUILD
from .trees import is_exact

Tensor = _core.Tensor

#: The tag of a value that is not an object of before.
NEW = -1
#: The kind of a number, and its value if that is known.
Number = tuple[type, Any]
#: How many numbers are told apart that a value of a loop may be.
MAX_NUMBERS = 3
_UNKNOWN = (
    "a value is an int, a float or a tensor, and only the run knows which",
    "write the int as a float, such as `1.0`, or make a tensor of the number with `fl.tensor`",
)
#: The tag of a number of which nobody knows whether it is an int or a float.
UNKNOWN = 2


def tag_of(value: Any) -> Any:
    """The tag of a tensor that stands for itself: an int, a value of the program, or None if it has none."""
    outer = BUILD.outer
    if outer is None or not is_tensor(value) or value._is_number or is_parameter(value):
        return None
    known = _known(value)
    if known is not None:
        return known
    if _core.tensor_number(value) >= outer.world.number:
        return None
    if outer.number_of(value) is None:
        outer.adopt(value)
    return outer.number_of(value)


def name(value: Any) -> Any:
    """The tag of a value that a choice may give; a tensor that was made outside of loops gets one."""
    tag = tag_of(value)
    if tag is None and BUILD.outer is not None and is_tensor(value) and not value._is_number:
        tag = _own(value)
        if tag is not None:
            note(value, tag)
    return tag


def _own(value: Tensor) -> int | None:
    """A tag for a tensor that the function has made; what is made in a trip of a loop is another object in each one."""
    inside = [region for region in journal.LOCAL.tracing if not hasattr(region, "branch")]
    if any(journal.made_since(value, region.number) for region in inside):
        return None
    return MADE + _core.tensor_number(value)


def is_of_trip(value: Tensor) -> bool:
    """Whether a tensor was made in a trip of a loop being traced, or may have been, so that no tag says which object it is."""
    known = journal.LOCAL.tags.get(id(value))
    if known is None or known[0]() is not value:
        return _own(value) is None
    return type(known[1]) is not int


def note(value: Tensor, tag: Any, *leaves: Any, numbers: frozenset[Number] = frozenset()) -> None:
    """Gives a value a tag.

    Args:
        value: The value.
        tag: The tag.
        leaves: What it is one of; a number among these may be what it is.
        numbers: Further numbers that it may be.
    """
    found = numbers.union(*map(numbers_of, leaves)) if not value._is_number else frozenset()
    journal.LOCAL.tags[id(value)] = (weakref.ref(value), tag, found)


def own(value: Tensor) -> None:
    """Has what a loop has made be an object of its own. The program computes the tag only if somebody asks for it."""
    own, known = _own(value), journal.LOCAL.tags[id(value)]
    if own is not None and not value._is_number:
        chosen = known[1]
        journal.LOCAL.tags[id(value)] = (
            known[0],
            lambda: _core.where(chosen == NEW, as_value(own), chosen),
            known[2],
        )


def numbers_of(leaf: Any) -> frozenset[Number]:
    """The numbers that a value may be: their kinds, and their values where these are known."""
    if not is_tensor(leaf):
        return frozenset({(_numbers.kind(leaf), leaf if type(leaf) in (bool, int, float) else None)})
    if leaf._is_number:
        kind = _numbers.kind(leaf)
        return frozenset({(int, None), (float, None)} if kind is _numbers.Either else {(kind, None)})
    known = journal.LOCAL.tags.get(id(leaf))
    return frozenset() if known is None or known[0]() is not leaf else known[2]


def further_numbers(begins: Any, ends: Any) -> frozenset[Number]:
    """The floats that a value of a loop may be behind a trip, and not before it; if these become many, any float."""
    known = numbers_of(begins)
    if not known or (float, None) in known:
        return frozenset()
    new = frozenset(number for number in numbers_of(ends) if number[0] not in (int, bool)) - known
    return frozenset({(float, None)}) if len(known | new) > MAX_NUMBERS else new


def applied(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """What an operator gives for two values, of which one may be a number or a tensor, as the run chooses."""
    if not _is_mixed(a) and not _is_mixed(b):
        return function(a, b)
    made = function(a, b)
    if not all(_is_mixed(x) or _numbers.is_number(x) for x in (a, b)) or not is_tensor(made):
        # Beside a tensor both are the same.
        return made
    given: list[Any] = _exact(function, a, b, made.dtype)
    kinds = {type(number) for number in given} or {kind for x in (a, b) for kind, _ in numbers_of(x)}
    if not given and (not kinds <= {int, bool} or made.dtype not in ("int64", "bool")) or len(kinds - {bool}) > 1:
        raise fault(
            Mismatch,
            "a value is a Python number or a tensor, and only the run knows which; what is computed of it and a number has "
            "another precision then",
            "make a tensor of the number with `fl.tensor`",
        )
    kind = bool if made.dtype == "bool" else float if float in kinds else int
    return _chosen(made, kind, a, b, *(given or [_core.number_of(_core.tensor(0, "int64"))]))


def compared(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """What a comparison gives for two values: a bool of Python's, if both are numbers when the program runs."""
    made = function(a, b)
    if not _is_mixed(a) and not _is_mixed(b) or not all(_is_mixed(x) or _numbers.is_number(x) for x in (a, b)):
        return made
    return _chosen(made, bool, a, b, _numbers.number(True, bool)) if is_tensor(made) else made


def _chosen(made: Tensor, kind: type, a: Any, b: Any, *numbers: Any) -> Tensor:
    """Has what an operator makes of two values be a number of a kind where both are numbers."""
    code, tag = as_value(NUMBERS[kind]), as_value(_own(made))
    both: Any = None
    for x in (a, b):
        if _is_mixed(x):
            own_tag = as_value(_known(x))
            is_number = _core.logical_and(own_tag <= NUMBERS[int], own_tag >= NUMBERS[bool])
            both = is_number if both is None else _core.logical_and(both, is_number)
    note(made, _core.where(both, code, tag), *numbers)
    return made


def _exact(function: Callable[[Any, Any], Any], a: Any, b: Any, dtype: Any) -> list:
    """What Python gives for the numbers that two values may be, if all are known and an element type holds each; else nothing."""
    pairs = [(x, y) for _, x in numbers_of(a) for _, y in numbers_of(b)]
    if any(x is None or y is None for x, y in pairs):
        return []
    try:
        found = [function(x, y) for x, y in pairs]
    except ArithmeticError:
        return []
    return found if all(type(x) in (int, float) and is_exact(x, dtype) for x in found) else []


def _is_mixed(value: Any) -> bool:
    return is_tensor(value) and not value._is_number and bool(numbers_of(value))


def identical(a: Any, b: Any) -> Any:
    """`a is b`, where perhaps only the run knows."""
    if a is None or b is None:
        value = b if a is None else a
        asks = a is not b and BUILD.outer is not None and BUILD.outer.has_none
        tag = _known(value) if asks and is_tensor(value) else None
        return a is b if tag is None or type(tag) is int else _core.number_of(tag == NONE)
    if a is b or not is_tensor(a) or not is_tensor(b) or not (a.is_symbolic or b.is_symbolic):
        return a is b
    if not any(_is_known(x) or journal.may_be_another(x) for x in (a, b)):
        return False
    one, two = name(a), name(b)
    if one is None or two is None:
        if any(other() is b for other in journal.LOCAL.perhaps.of(a)):
            raise fault(
                Mismatch,
                "whether these are one object is known only when the program runs",
                "compare what they hold, or keep a flag that says which it is",
            )
        return False
    if type(one) is int and type(two) is int:
        return one == two
    one, two = as_value(one), as_value(two)
    return _core.number_of(_core.logical_and(one == two, one >= 0))


def _known(value: Tensor) -> Any:
    """Its tag, if it has one. One that is computed is a value of the block being built, and is not kept for others."""
    known = journal.LOCAL.tags.get(id(value))
    if known is None or known[0]() is not value:
        return None
    return known[1]() if callable(known[1]) else known[1]


def _is_known(value: Tensor) -> bool:
    known = journal.LOCAL.tags.get(id(value))
    return known is not None and known[0]() is value


def as_value(tag: Any) -> Tensor:
    """A tag as a value of the block being built."""
    return _core.tensor(NEW if tag is None else tag, "int64")


def beside(leaf: Any, dtype: Any) -> Any:
    """The tag of a value that a choice gives, or a list takes, as one of a type; None if it needs none."""
    if dtype is _numbers.Either:
        kind = kind_of(leaf)
        return UNKNOWN if kind is None else kind
    if _numbers.is_number(leaf):
        return None if dtype in _numbers.DTYPES else _tag_of_number(leaf)
    return None if leaf.type_text.startswith("list") else name(leaf)


def _tag_of_number(number: Any) -> Any:
    """The tag of a number where a tensor is the other choice."""
    kind = _numbers.kind(number)
    if kind is not _numbers.Either:
        return NUMBERS[kind]
    is_float = kind_of(number)
    if is_float is None:
        raise fault(Mismatch, *_UNKNOWN)
    return _core.where(as_value(is_float) == 1, as_value(NUMBERS[float]), as_value(NUMBERS[int]))


def kind_of(number: Any) -> Any:
    """What a number is, as data: 0 for an int, 1 for a float; None if that is not known."""
    kind = _numbers.kind(number)
    if kind is not _numbers.Either:
        return 1 if kind is float else 0
    return _known(number)


def note_below_zero(number: Tensor) -> None:
    """Notes that an int may well be below zero."""
    journal.LOCAL.signed[id(number)] = weakref.ref(number)


def may_be_below_zero(number: Any) -> bool:
    """Whether a line made an int of the program by `-` at last."""
    known = journal.LOCAL.signed.get(id(number))
    return known is not None and known() is number


def wider(made: Tensor, a: Any, b: Any) -> Tensor:
    """A number that was computed of two, and is an int if both are."""
    kinds = kind_of(a), kind_of(b)
    if None not in kinds:
        note(made, _core.maximum(*map(as_value, kinds)))
    return made


def alike(function: Callable[[Any], Any], value: Any) -> Any:
    """What `-value` or `abs(value)` gives: a number of the same kind, if it is of a number."""
    made = function(value)
    if not is_tensor(made):
        return made
    if made._is_number:
        if function is operator.neg:
            note_below_zero(made)
        if made._is_either and kind_of(value) is not None:
            note(made, as_value(kind_of(value)))
    elif _is_mixed(value):
        tag = as_value(_known(value))
        of_int = _core.logical_or(tag == NUMBERS[bool], tag == NUMBERS[int])
        of_number = _core.where(of_int, as_value(NUMBERS[int]), tag)
        is_number = _core.logical_and(tag <= NUMBERS[int], tag >= NUMBERS[bool])
        numbers = frozenset(
            (int if kind is bool else kind, None if known is None else function(known)) for kind, known in numbers_of(value)
        )
        note(made, _core.where(is_number, of_number, as_value(_own(made))), numbers=numbers)
    return made
