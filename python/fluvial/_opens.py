"""Python numbers from outside that change from call to call: a program takes them, and what is computed of them, as inputs.

At its second value a number that a function reads (an argument, an attribute, a global name) becomes an `Open`. What Python
computes of it is written down line by line, and is computed again by Python at each call, so that it has Python's bits. Where it
meets a tensor it is an input of the program. Where its value has to be known (a condition, a size, a place in a list), the
decision is noted, and the program is used only for calls for which it comes out the same.
"""

from __future__ import annotations

import math
import operator

from . import _core
from ._fault import user_line
from ._tree import is_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Tensor

#: The element types in which numbers are inputs.
_DTYPES = {bool: "bool", int: "int64", float: "float64"}
#: What is never equal to a number.
_OTHERS = (str, bytes, type(None), list, tuple, dict, set, frozenset)


class Line:
    """A number of the tape: how it is computed, of which others, and what was decided on it."""

    def __init__(self, text: str, of: tuple[int, ...], shown: str) -> None:
        self.text, self.of, self.shown = text, of, shown
        #: Conditions under which the program is right, each with the reason for it.
        self.checks: dict[str, str] = {}


class Tape:
    """What a function being built computes of open numbers.

    Args:
        scope: The names that lines use, which is filled.
        constant: Gives a name for a value.
        take: Makes an input of the program for the number at a place among those that each call gives, of an element type.
    """

    def __init__(
        self, scope: dict[str, Any], constant: Callable[[Any], str], take: Callable[[int, str], Tensor]
    ) -> None:
        self.scope, self._constant, self._take = scope, constant, take
        self.lines: list[Line] = []
        #: The numbers of lines that each call needs: those of inputs and results.
        self.wanted: list[int] = []
        self._first: dict[str, Open] = {}
        scope["_is"] = is_same

    def forget(self) -> None:
        """Lets the build go, which would hold its objects in a circle; nothing is computed any more."""
        del self._constant, self._take

    def outer(self, text: str, shown: str, value: Any) -> Open:
        """The open number that an expression gives at each call."""
        known = self._first.get(text)
        if known is None:
            known = self._first[text] = self._added(text, (), shown, value, True)
        return known

    def _added(self, text: str, of: tuple[int, ...], shown: str, value: Any, checked: bool) -> Open:
        line = Line(text, of, shown)
        if checked:
            line.checks[f"type({{}}) is {type(value).__name__}"] = "it had another type"
        self.lines.append(line)
        return Open(self, len(self.lines) - 1, value)

    def applied(self, function: Callable[..., Any], *operands: Any, sign: str = "", checked: bool = True) -> Any:
        """What a function without effects gives for numbers, of which some are open."""
        value = function(*(x._example if type(x) is Open else x for x in operands))
        if type(value) not in _DTYPES:
            return function(*(x._known("what is computed of it is not a number") if type(x) is Open else x for x in operands))
        texts = [f"t{x._place}" if type(x) is Open else self._constant(x) for x in operands]
        shown = next(self.lines[x._place].shown for x in operands if type(x) is Open)
        text = f"{texts[0]} {sign} {texts[1]}" if sign else f"{self._constant(function)}({', '.join(texts)})"
        of = tuple(x._place for x in operands if type(x) is Open)
        return self._added(text, of, shown, value, checked)

    def number(self, number: Open) -> int:
        """Has each call give a number; says where it stands."""
        if number._place not in self.wanted:
            self.wanted.append(number._place)
        return self.wanted.index(number._place)

    def input(self, number: Open) -> Tensor:
        """The input of the program that a number is."""
        kind = type(number._example)
        if kind is int and not -(2**63) <= number._example < 2**63:
            return _core.number_of(_core.tensor(number._known("it has more than 64 bits"), "int64"))
        return _core.number_of(self._take(self.number(number), _DTYPES[kind]))

    def decide(self, number: Open, check: str, why: str) -> None:
        """Notes that the program is right only if a condition holds, in which `{}` stands for the number."""
        self.lines[number._place].checks.setdefault(check, f"{why} ({user_line()})")

    def compiled(self) -> Callable[[list], tuple | None] | None:
        """A function that takes the numbers among the arguments and gives those that a call needs, or None if the program
        is not for them. None if there is nothing to do."""
        needed = set(self.wanted) | {i for i, line in enumerate(self.lines) if self._decides(line)}
        for i in reversed(range(len(self.lines))):
            if i in needed:
                needed.update(self.lines[i].of)
        if not needed:
            return None
        texts = ["def host(given):"]
        for i in sorted(needed):
            texts.append(f"    t{i} = {self.lines[i].text}")
            texts += [f"    if not ({check.format(f't{i}')}): return None" for check in self.lines[i].checks]
        texts.append(f"    return ({''.join(f't{i}, ' for i in self.wanted)})")
        made: dict[str, Any] = {}
        exec("\n".join(texts), self.scope, made)
        return made["host"]

    @staticmethod
    def _decides(line: Line) -> bool:
        return any(not check.startswith("type(") for check in line.checks)

    def fixed(self) -> dict[str, str]:
        """The numbers from outside whose value is guarded as it was: how each is got, and what messages call it."""
        first = [line for line in self.lines if not line.of]
        return {line.text: line.shown for line in first if any(check.startswith("_is(") for check in line.checks)}

    def reason(self, text: str) -> str | None:
        """Why the value of a number from outside is guarded."""
        for line in self.lines:
            if line.text == text and not line.of:
                return next((why for check, why in line.checks.items() if check.startswith("_is(")), None)
        return None

    def broken(self, given: list) -> str | None:
        """Why the program is not for these numbers."""
        scope = {"given": given}
        for i, line in enumerate(self.lines):
            name = f"t{i}"
            try:
                scope[name] = eval(line.text, self.scope, scope)
                for check, why in line.checks.items():
                    if not eval(check.format(name), self.scope, scope):
                        return f"`{line.shown}` has changed, and {why}"
            except Exception:
                return f"`{line.shown}` has changed"
        return None


def is_same(value: Any, before: Any) -> bool:
    """Whether a number is what it was, to the bit."""
    if type(value) is not type(before) or value != before:
        return type(value) is type(before) is float and math.isnan(value) and math.isnan(before)
    return type(value) is not float or math.copysign(1.0, value) == math.copysign(1.0, before)


class Open:
    """A Python number that each call of a built function has anew. It behaves as a number; whoever needs its value gets that
    of the call at hand, and has the program guarded by it."""

    __slots__ = ("__weakref__", "_example", "_place", "_tape", "_tensor")
    __array_ufunc__ = None

    def __init__(self, tape: Tape, place: int, example: Any) -> None:
        self._tape, self._place, self._example = tape, place, example
        self._tensor: Tensor | None = None

    if TYPE_CHECKING:
        # Operators are defined below, from a table.
        def __sub__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...

    @property
    def _fl_number(self) -> Tensor:
        """The number as a value of the program."""
        if self._tensor is None:
            self._tensor = self._tape.input(self)
        return self._tensor

    def _known(self, why: str) -> Any:
        """The value, which guards the program."""
        value = self._tape._constant(self._example)
        self._tape.decide(self, f"_is({{}}, {value})", why)
        return self._example

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._example)

    def __bool__(self) -> bool:
        truth = bool(self._example)
        self._tape.decide(self, "{}" if truth else "not {}", "a condition on it is decided")
        return truth

    def __index__(self) -> int:
        return operator.index(self._known("its value decides a size, a place or a number of trips"))

    def __int__(self) -> int:
        return int(self._known("its value is asked for"))

    def __float__(self) -> float:
        return float(self._known("its value is an option of an op"))

    def __complex__(self) -> complex:
        return complex(self._known("its value is asked for"))

    def __hash__(self) -> int:
        return hash(self._known("its value is a key"))

    def __str__(self) -> str:
        return str(self._known("its value becomes a string"))

    def __repr__(self) -> str:
        return repr(self._known("its value becomes a string"))

    def __format__(self, spec: str) -> str:
        return format(self._known("its value becomes a string"), spec)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(type(self._example), name):
            raise AttributeError(f"'{type(self._example).__name__}' object has no attribute '{name}'")
        return getattr(self._known(f"its `{name}` is asked for"), name)

    def __copy__(self) -> Open:
        return self

    def __deepcopy__(self, _: object) -> Open:
        return self

    def __reduce__(self) -> Any:
        value = self._known("its value is saved")
        return type(value), (value,)

    def __neg__(self) -> Any:
        return self._tape.applied(operator.neg, self, checked=False)

    def __pos__(self) -> Any:
        return self._tape.applied(operator.pos, self, checked=False)

    def __abs__(self) -> Any:
        return self._tape.applied(operator.abs, self, checked=False)

    def __invert__(self) -> Any:
        return self._tape.applied(operator.invert, self, checked=False)

    def __round__(self, *digits: Any) -> Any:
        return self._tape.applied(round, self, *digits)

    def __trunc__(self) -> Any:
        return self._tape.applied(math.trunc, self)

    def __floor__(self) -> Any:
        return self._tape.applied(math.floor, self)

    def __ceil__(self) -> Any:
        return self._tape.applied(math.ceil, self)


def _combined(function: Callable[[Any, Any], Any], sign: str, a: Any, b: Any) -> Any:
    if is_tensor(a) or is_tensor(b):
        return function(*(x._fl_number if type(x) is Open else x for x in (a, b)))
    own, other = (a, b) if type(a) is Open else (b, a)
    if type(other) in _DTYPES or type(other) is Open:
        return own._tape.applied(function, a, b, sign=sign, checked=sign == "**")
    if sign in ("==", "!=") and isinstance(other, _OTHERS):
        return sign == "!="
    return function(*(x._known("it meets something that is not a number") if type(x) is Open else x for x in (a, b)))


def _define(name: str, sign: str, reflected: bool = True) -> None:
    function = getattr(operator, name)
    setattr(Open, f"__{name.strip('_')}__", lambda self, other: _combined(function, sign, self, other))
    if reflected:
        setattr(Open, f"__r{name.strip('_')}__", lambda self, other: _combined(function, sign, other, self))


for _name, _sign in (
    ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"), ("mod", "%"), ("pow", "**"),
    ("and_", "&"), ("or_", "|"), ("xor", "^"), ("lshift", "<<"), ("rshift", ">>"), ("matmul", "@"),
):  # fmt: skip
    _define(_name, _sign)
for _name, _sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    _define(_name, _sign, reflected=False)


def _divmod(a: Any, b: Any) -> tuple:
    return a // b, a % b


setattr(Open, "__divmod__", _divmod)
setattr(Open, "__rdivmod__", lambda self, other: _divmod(other, self))


def is_open(value: Any) -> bool:
    """Whether a value is an open number."""
    return type(value) is Open


def example(value: Any) -> Any:
    """The value of an open number at the call at hand, where it is guarded already; any other value is itself."""
    return value._example if type(value) is Open else value


def known(value: Any) -> Any:
    """The value of an open number, which guards the program; any other value is itself."""
    return value._known("its value is a key or a place") if type(value) is Open else value


def closed(value: Any) -> Any:
    """An open number as a value of the program; any other value is itself."""
    return value._fl_number if type(value) is Open else value


def applied(function: Callable[..., Any], values: tuple) -> Any:
    """What a function of Python numbers without effects gives, if one of them is open; `NotImplemented` for others."""
    first = next((value for value in values if type(value) is Open), None)
    if first is None or not all(type(value) is Open or type(value) in _DTYPES for value in values):
        return NotImplemented
    return first._tape.applied(function, *values)
