"""What converted code calls, under the name `__fl__`."""

from __future__ import annotations

import builtins
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

from .. import _core
from .._fault import fault
from . import logic, loops, messages, patterns, regions
from .builtin import OVERRIDES, generated, items, listed, method, of_program
from .captures import CAPTURES
from .comparison import chain
from .errors import Mismatch
from .items import delitem, getitem, setitem
from .numbers import must, taking
from .parts import window
from .regions import LOCAL, Meta
from .source import convert, wanted
from .trees import is_symbolic, is_tensor

_IN_PLACE = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "MatMult": operator.imatmul,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
}


class Runtime:
    """The functions that converted code calls, and its table of control statements."""

    locals = staticmethod(builtins.locals)
    globals = staticmethod(builtins.globals)
    and_ = staticmethod(logic.and_)
    or_ = staticmethod(logic.or_)
    not_ = staticmethod(logic.not_)
    chain = staticmethod(chain)
    choose = staticmethod(logic.choose)
    unwind = staticmethod(regions.unwind)
    listed = staticmethod(listed)
    items = staticmethod(items)
    generated = staticmethod(generated)
    getitem = staticmethod(getitem)
    setitem = staticmethod(setitem)
    delitem = staticmethod(delitem)
    window = staticmethod(window)
    text = staticmethod(messages.text)
    match = staticmethod(patterns.match)
    guarded = staticmethod(patterns.guarded)

    def __init__(self, metas: list[Meta], module: dict, cells: dict) -> None:
        self.metas, self.module, self.cells = metas, module, cells

    def name(self, value: Any, name: str) -> Any:
        """A value of a name from outside the function."""
        if not is_tensor(value) or CAPTURES.found is None:
            return value
        if name in self.cells:
            cell = self.cells[name]
            return CAPTURES.add(value, lambda: cell.cell_contents)
        if name in self.module:
            return CAPTURES.add(value, lambda: self.module.get(name))
        return value

    @staticmethod
    def attribute(owner: Any, name: str) -> Any:
        """`owner.name` of what an expression gives; a property of the user's is converted."""
        kind = getattr(type(owner), name, None)
        if type(kind) is property and kind.fget is not None and wanted(kind.fget):
            return callee(kind.fget)(owner)
        return getattr(owner, name)

    @staticmethod
    def field(owner: Any, name: str) -> Any:
        """`owner.name`."""
        value = Runtime.attribute(owner, name)
        if not is_tensor(value) or CAPTURES.found is None or is_tensor(owner):
            return value
        return CAPTURES.add(value, lambda: getattr(owner, name, None))

    def If(self, index: int, test: Any) -> regions.If:
        return regions.If(self.metas[index], logic.as_condition(test))

    def While(self, index: int) -> loops.While:
        return loops.While(self.metas[index])

    def For(self, index: int, iterable: Any) -> loops.For | loops.ForReader:
        return loops.for_loop(self.metas[index], iterable)

    @staticmethod
    def clear(*flags: Any) -> Any:
        """Whether no flag is set."""
        return logic.negated(logic.any_of(flags))

    @staticmethod
    def depth() -> int:
        return LOCAL.depth

    @staticmethod
    def fn(function: Callable) -> Callable:
        """What to call in the place of a function: its conversion, if it is the user's."""
        return callee(function)

    @staticmethod
    def bound(value: Any, flag: Any, name: str, free: bool) -> Any:
        """The value of a name that may have none; a program checks that as it runs."""
        if flag is True:
            return value
        kind: type[NameError] = NameError if free else UnboundLocalError
        text = f"cannot access local variable '{name}' where it is not associated with a value"
        if free:
            text = text.replace("local", "free") + " in enclosing scope"
        if not is_tensor(flag):
            raise kind(text)
        must(flag, kind.__name__, text)
        return value

    @staticmethod
    def check(value: Any, text: str, message: Callable[[], Any] | None = None) -> Any:
        """The test of an `assert`; a program checks it as it runs."""
        value = logic.as_condition(value) if of_program(value) else value
        if not is_symbolic(value):
            return value
        shown: list = []
        if message is not None:
            text, shown = messages.shown(message)
        _core.assert_(value, text, shown)
        return True

    @staticmethod
    def raise_(make: Callable[[], BaseException], cause: Callable | None = None) -> None:
        """`raise`; in a block of the program it becomes a check that fails when it is reached, with
        an exception of the same class."""
        if not LOCAL.depth:
            error = logic.now(make)
            if cause is not None:
                raise error from logic.now(cause)
            raise error
        # The exception that the run raises is made from this text.
        text, shown = messages.shown(make, messages.raised)
        _core.assert_(False, text, shown)

    @staticmethod
    def plain(value: Any) -> Any:
        """A condition that must be known while the program is built."""
        if is_symbolic(value):
            raise Mismatch(
                "`:=`, `yield` or `super()` stands behind a condition that only the run knows\n"
                "  remedy: compute it in a statement before"
            )
        return value

    @staticmethod
    def storing(owner: Any, name: str) -> None:
        """Refuses to set an attribute in a block of the program that does not hand it on."""
        if not LOCAL.regions:
            return
        if any((id(owner), name) in region.owners for _, region in LOCAL.regions):
            return
        raise Mismatch(
            f"`{name}` of {type(owner).__name__} would be set while a branch or loop of the program "
            "is traced, not when it runs\n"
            "  remedy: set it in the function that has the `if` or the loop, or return the value"
        )

    @staticmethod
    def augitem(target: Any, key: Any, name: str, value: Callable[[], Any]) -> Any:
        """`target[key] += value` and so on."""
        made = _IN_PLACE[name](getitem(target, key), logic.now(value))
        return setitem(made, target, key)


_CALLBACKS = {
    map,
    filter,
    functools.reduce,
    _core.cond,
    _core.while_loop,
    _core.scan,
    _core.if_else,
}


def callee(function: Any) -> Any:
    """What to call in the place of a function."""
    kind = type(function)
    if kind is types.FunctionType:
        # Functions of the package that take expressions of variables wrap the plain ones.
        plain = getattr(function, "_fl_plain", function)
        if plain in OVERRIDES:
            return OVERRIDES[plain]
        return convert(function) if wanted(function) else taking(function)
    if kind is types.MethodType:
        inner = callee(function.__func__)
        return (
            function if inner is function.__func__ else types.MethodType(inner, function.__self__)
        )
    if kind is functools.partial:
        return functools.partial(callee(function.func), *function.args, **function.keywords)
    if isinstance(function, (types.BuiltinFunctionType, type)):
        if function in OVERRIDES:
            return OVERRIDES[function]
        own = method(function)
        if own is not None:
            return own
        if LOCAL.regions and _pops_nothing(function):
            return _pop_of_nothing
        if function in _CALLBACKS:
            return lambda *a, **k: function(
                *map(_converted, a), **{n: _converted(v) for n, v in k.items()}
            )
        return function if isinstance(function, type) else taking(function)
    if hasattr(function, "_fl_function"):
        return callee(function._fl_function)
    call = getattr(kind, "__call__", None)
    if isinstance(call, types.FunctionType) and wanted(call):
        return types.MethodType(convert(call), function)
    return function


def _pops_nothing(function: Any) -> bool:
    """Whether it is the `pop` of an empty list."""
    owner = getattr(function, "__self__", None)
    return type(owner) is list and not owner and function.__name__ == "pop"


def _pop_of_nothing(*_: Any) -> Any:
    raise fault(
        IndexError,
        "pop from a list that is empty where this branch or loop of the program is traced",
        "begin the list with elements that are never taken off, as many as are popped here",
    )


def _converted(argument: Any) -> Any:
    is_function = isinstance(argument, (types.FunctionType, types.MethodType))
    return callee(argument) if is_function else argument
