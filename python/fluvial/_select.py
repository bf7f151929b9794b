"""`with fl.Select() as s:`: waits for one of several channels, and runs the block of the one that was ready.

In a function that builds a program the statement is rewritten (`_convert/selects.py`). Line by line Python runs it as it
stands: all cases are known from the source when it begins, so one is chosen there, and the blocks of the others are left
before their first instruction, by an exception that the tracing of Python raises.
"""

from __future__ import annotations

import ast
import functools
import sys
from types import CodeType, FrameType

from . import _core
from ._fault import fault, user_line
from ._tasks import channel_recv, channel_select, channel_send, timeout
from ._tree import is_tensor, same_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._convert.selects import Cases


class Select:
    """Waits until one of its cases can be done, does it, and runs its block: of several that can, any one, at random.

    A case that sends gives its channel and the value. One that receives gives `(value, ok)` to the name behind `as`; with a
    tensor as third argument it puts the message there. With `default`, nothing is waited for.

    Example:
        >>> numbers, quit = fl.make_channel("i64[]", capacity=1), fl.make_channel("i64[]")
        >>> with fl.Select() as s:
        ...     with s.case(fl.channel_send, numbers, fl.tensor(7)):
        ...         print("sent")
        ...     with s.case(fl.channel_recv, quit) as (x, ok):
        ...         print("received", x)
        ...     with s.default():
        ...         print("nobody is there")
        sent
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._at = self._chosen = -2
        self._received: tuple[Any, Any] = (None, None)

    def case(self, channel_action_fn: Any, channel: Any, value: Any = None, is_copy: bool = False) -> _Case:
        """A block that runs if something was sent or received.

        Args:
            channel_action_fn: `fl.channel_send` or `fl.channel_recv`.
            channel: The channel.
            value: What is sent; or a tensor that the message is put into.
            is_copy: Changes nothing, as for `fl.channel_send`.
        """
        self._at += 1
        return _Case(self, self._at, channel_action_fn, channel, value)

    def default(self) -> _Case:
        """The block that runs if no case can be done at once."""
        return _Case(self, -1)

    def __enter__(self) -> Select:
        if _core.is_building():
            raise fault(
                TypeError,
                "a select stands where the function that builds the program is not converted, or holds other lines than cases",
                "put the select into the function itself, and only `with s.case(...)` and `with s.default()` into it; or use "
                "`fl.channel_select`",
            )
        frame = sys._getframe(1)
        cases = _found(frame)
        given = [self.case(*_arguments(cases.call_of(block), frame)) for block in cases.blocks]
        self._chosen, values, flags = selected(self, given, cases.default is not None)
        if self._chosen >= 0:
            self._received = values[self._chosen], flags[self._chosen]
        self._at = -1
        return self

    def __exit__(self, *_: object) -> None:
        self._chosen = -2


class _Case:
    """A case of a select: what it waits for, and its block."""

    def __init__(self, owner: Select, number: int, verb: Any = None, channel: Any = None, value: Any = None) -> None:
        self._owner, self._number = owner, number
        self._verb, self._channel, self._value = verb, channel, value
        self._skipping: _Skipping | None = None

    @property
    def given(self) -> tuple:
        """The case as `fl.channel_select` takes it."""
        if self._verb not in (channel_send, channel_recv):
            raise fault(TypeError, "a case sends or receives", "give `fl.channel_send` or `fl.channel_recv`")
        if self._verb is channel_recv:
            return self._verb, self._channel
        if self._value is None:
            raise fault(TypeError, "a case sends nothing", "give the value behind the channel")
        return self._verb, self._channel, self._value

    def __enter__(self) -> Any:
        owner = self._owner
        if owner._chosen == -2:
            raise fault(RuntimeError, "a case stands inside of its select", "write `with fl.Select() as s:` around it")
        if owner._chosen != self._number:
            self._skipping = _Skipping(sys._getframe(1))
            return None
        if self._number < 0 or self._verb is channel_send:
            return None
        value, ok = owner._received
        if self._value is not None:
            fitted = fitting(self._value, value)
            self._value.copy_(fitted)
        return value, ok

    def __exit__(self, kind: Any, error: Any, _: object) -> bool:
        skipping, self._skipping = self._skipping, None
        return skipping is not None and skipping.ends(error)


class _Skipped(BaseException):
    """Leaves the block of a case that was not chosen."""


class _Skipping:
    """Raises at the next instruction of a frame."""

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.before = sys.gettrace(), frame.f_trace, frame.f_trace_opcodes
        frame.f_trace_opcodes = True
        frame.f_trace = self.raised
        sys.settrace(self.raised)

    def raised(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame is self.frame and event in ("opcode", "line"):
            self.back()
            raise _Skipped
        return None

    def back(self) -> None:
        """Traces what was traced before."""
        of_all, frame_trace, opcodes = self.before
        self.frame.f_trace_opcodes = opcodes
        self.frame.f_trace = frame_trace
        sys.settrace(of_all)

    def ends(self, error: Any) -> bool:
        """Whether the block was left by it."""
        self.back()
        # An error that tracing has raised ends it.
        return isinstance(error, _Skipped)


def is_select(value: Any) -> bool:
    """Whether a `with` is a select."""
    return isinstance(value, Select)


def selected(_: Select, cases: list[_Case], default: bool) -> tuple[Any, Any, Any]:
    """Does one of the cases.

    Args:
        cases: The cases.
        default: Whether it goes on if none can be done.
    """
    return channel_select(*[case.given for case in cases], default=default)


def message(value: Any, ok: Any) -> Any:
    """What a case that receives gives to the name behind `as`.

    Args:
        value: The message.
        ok: Whether there was one.
    """
    return None if value is None else (value, ok)


def fitting(target: Any, value: Any) -> Any:
    """A message that is put into a tensor, or an error if it does not fit there.

    Args:
        target: The tensor.
        value: The message.
    """
    if not is_tensor(target):
        raise fault(
            TypeError,
            f"a message cannot be put into {type(target).__name__}, only into a tensor",
            "write `with s.case(fl.channel_recv, ch) as (value, ok):`",
        )
    if target.dtype != value.dtype or not same_sizes(target.shape, value.shape):
        raise fault(
            TypeError,
            f"a message {value.type_text} cannot be put into a tensor {target.type_text}",
            "write `with s.case(fl.channel_recv, ch) as (value, ok):`",
        )
    return value


@functools.lru_cache(maxsize=256)
def _selects(lines: tuple[str, ...], file: str) -> list[Cases]:
    """The selects of a file."""
    from ._convert.selects import cases_of
    from ._convert.source import PARSING

    with PARSING:
        tree = ast.parse("".join(lines), file)
    found = (cases_of(node) for node in ast.walk(tree) if isinstance(node, ast.With))
    return [cases for cases in found if cases is not None]


@functools.lru_cache(maxsize=1024)
def _at_line(code: CodeType, line: int, lines: tuple[str, ...]) -> Cases | None:
    def holds(cases: Cases) -> bool:
        last = cases.node.items[0].context_expr.end_lineno or 0
        return cases.node.lineno <= line <= last

    found = [cases for cases in _selects(lines, code.co_filename) if holds(cases)]
    return found[0] if len(found) == 1 else None


def _found(frame: FrameType) -> Cases:
    """The cases of the select that a frame enters."""
    from ._convert.original import located_code

    code = frame.f_code
    lines, first = located_code(code, frame.f_globals)
    cases = _at_line(code, frame.f_lineno + first - code.co_firstlineno, lines) if lines else None
    if cases is None:
        raise fault(
            TypeError,
            "the cases of a select are not in its source" if lines else "there is no source for a select",
            "write `with fl.Select() as s:` with nothing but `with s.case(...)` and `with s.default()` in it; or use "
            "`fl.channel_select`",
        )
    return cases


#: What may be called for a case: it gives the same again.
_PURE = (timeout, _core.tensor, float, int, bool, len)
_PLAIN = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare),
    *(ast.IfExp, ast.Tuple, ast.List, ast.Call, ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)


def _arguments(made: ast.Call, frame: FrameType) -> list[Any]:
    """What a case is called with, computed before one is chosen. Python computes it once more when it comes there, so it must
    not do anything besides."""
    names = ("channel_action_fn", "channel", "value", "is_copy")
    given: dict[str, ast.expr] = dict(zip(names, made.args))
    given.update({keyword.arg: keyword.value for keyword in made.keywords if keyword.arg is not None})
    if len(given) != len(made.args) + len(made.keywords) or not set(given) <= set(names) or len(given) < 2:
        raise fault(TypeError, "a case takes a verb, a channel and a value", "write `s.case(fl.channel_send, ch, x)`")
    scope = frame.f_globals, frame.f_locals
    for value in given.values():
        for part in ast.walk(value):
            is_plain = isinstance(part, _PLAIN)
            if isinstance(part, ast.Call):
                is_plain = isinstance(part.func, (ast.Name, ast.Attribute)) and _value(part.func, scope) in _PURE
            if not is_plain:
                raise fault(
                    TypeError,
                    f"`{ast.unparse(part)}` is computed for a case that may not be chosen",
                    "compute it before the select, and give its name to the case",
                )
    return [_value(given[name], scope) if name in given else None for name in names]


def _value(node: ast.expr, scope: tuple[dict, Any]) -> Any:
    return eval(compile(ast.Expression(node), user_line() or "<select>", "eval"), *scope)
