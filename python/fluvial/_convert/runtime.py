"""What converted code calls, under the name `__fl__`."""

from __future__ import annotations

import builtins
import collections
import contextlib
import contextvars
import functools
import operator
import os
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from .. import _core, _select
from .._checks import must
from .._fault import fault
from .._opens import Open, known
from .._printing import text, without_values
from .._tree import is_array, with_tensors
from . import attempts, calls, for_loops, journal, logic, loops, own, paths, patterns, raised, regions, tags
from . import trying as tries
from .builtin import OVERRIDES, generated, items, listed, method, of_program, unpacked
from .calls import looked_at
from .comparison import chain
from .errors import Mismatch
from .fresh import KNOWN_MODULES
from .items import delitem, getitem, is_of_run, setitem
from .keys import hashed
from .lists import rows_of, unwrapped, wrapped
from .outer import Path
from .parts import window
from .plain import attribute, example, is_plain
from .regions import LOCAL, Meta
from .source import convert, is_converted, wanted
from .state import BUILD
from .trees import UNBOUND, is_symbolic, is_tensor

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


#: Operators that make lists, dicts and sets, too.
_MAKING = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
}


class Runtime:
    """The functions that converted code calls, and its table of control statements."""

    locals = staticmethod(builtins.locals)
    globals = staticmethod(builtins.globals)
    slice = staticmethod(builtins.slice)
    and_ = staticmethod(logic.and_)
    or_ = staticmethod(logic.or_)
    not_ = staticmethod(logic.not_)
    all_ = staticmethod(logic.all_)
    any_ = staticmethod(logic.any_)
    truth = staticmethod(logic.truth)
    chain = staticmethod(chain)
    choose = staticmethod(logic.choose)
    unwind = staticmethod(tries.unwind)
    managed = staticmethod(tries.managed)
    listed = staticmethod(listed)
    items = staticmethod(items)
    generated = staticmethod(generated)
    unpacked = staticmethod(unpacked)
    window = staticmethod(window)
    match = staticmethod(patterns.match)
    guarded = staticmethod(patterns.guarded)
    named = staticmethod(raised.named)
    is_select = staticmethod(_select.is_select)
    selected = staticmethod(_select.selected)
    fitting = staticmethod(_select.fitting)
    message = staticmethod(_select.message)
    made = staticmethod(journal.made)
    text = staticmethod(text)

    def __init__(self, metas: list[Meta], module: dict, cells: dict, inner: bool) -> None:
        self.metas, self.module, self.cells = metas, module, cells
        #: Whether the function is one of this package: its objects are not the user's.
        self.inner = inner

    # What is read from outside ----------------------------------------------------------------------

    def name(self, value: Any, name: str) -> Any:
        """A value of a name from outside the function."""
        outer = BUILD.outer
        if outer is None or self.inner:
            return value
        if name in self.cells:
            path = Path(f"{outer.constant(self.cells[name])}.cell_contents", name)
            key = (id(self.cells[name]), "cell_contents")
        elif name in self.module:
            path = Path(f"{outer.constant(self.module)}[{name!r}]", name)
            key = (id(self.module), name)
        else:
            return value
        return value if outer.has_changed(key, value) else outer.seen(value, path)

    def binds(self, *names: str) -> None:
        """Notes that the function binds names from outside."""
        outer = BUILD.outer
        for name in names:
            slot: journal.Slot = journal.Global(self.module, name)
            if name in self.cells:
                slot = journal.Attribute(self.cells[name], "cell_contents")
            value = slot.take()
            if outer is not None and value is not UNBOUND and not self.inner:
                # A loop may begin with the value before a line reads it.
                value = self.name(value, name)
            if type(value) is Open and outer is not None:
                outer.world.note(slot, slot.take())
                slot.put(value)
            journal.touch_slot(slot)

    def field(self, owner: Any, name: str) -> Any:
        """`owner.name`."""
        if is_plain(owner) and not self.inner:
            return attribute(owner, name)
        kind = type(owner)
        found: Any = getattr(kind, name, None)
        getter: Any = found.fget if type(found) is property else None
        if getter is not None and wanted(getter):
            return convert(getter)(owner)
        ask = own.method(owner, "__getattr__")
        if ask is not None and not own.has(owner, name):
            return ask(name)
        outer = BUILD.outer
        if outer is not None and name in ("is_tracked", "is_leaf") and is_tensor(owner):
            return outer.tracking(owner, name)
        value = getattr(owner, name)
        if outer is None or is_tensor(owner):
            return value
        if isinstance(owner, types.ModuleType):
            if callable(value) or _is_steady(owner) and not journal.can_change(value) and not isinstance(value, Mapping):
                return value
            return outer.seen(value, Path(f"{outer.constant(owner)}.{name}", f"{owner.__name__}.{name}"))
        path = outer.path_of(owner)
        if path is None or journal.made_since(owner, outer.world.number):
            return value
        if isinstance(value, (types.MethodType, types.BuiltinMethodType)) and value.__self__ is owner:
            return value
        counted = hasattr(kind, "_fl_options")
        if self.inner and not is_tensor(value) or outer.has_changed((id(owner), name), value):
            return value
        if counted and (hasattr(type(value), "_fl_options") or name == "training"):
            # How layers are made of one another is noted by the layers.
            outer.paths.setdefault(id(value), (value, path.part(f".{name}", f".{name}")))
            return value
        return outer.seen(value, path.part(f".{name}", f".{name}", counted=counted))

    def all_globals(self) -> dict:
        """`globals()`."""
        outer = BUILD.outer
        if outer is not None:
            path = Path(outer.constant(self.module), "globals()")
            outer.paths.setdefault(id(self.module), (self.module, path))
        return self.module

    @staticmethod
    def evaluated(*_: Any) -> Any:
        """`eval(...)` and `exec(...)`."""
        raise fault(
            Mismatch,
            "what `eval` and `exec` read is not seen, so a program would keep what it was",
            "write the expression out, or evaluate it outside",
        )

    def item(self, owner: Any, key: Any) -> Any:
        """`owner[key]`."""
        if type(key) is Open and not is_tensor(owner) and rows_of(owner) is None:
            key = known(key)
        get = own.method(owner, "__getitem__")
        if get is not None:
            return get(key)
        value = getitem(owner, key)
        outer = BUILD.outer
        if outer is None or is_tensor(owner) or self.inner or rows_of(owner) is not None:
            return value
        path = outer.path_of(owner)
        if path is None:
            return journal.given(value) if type(key) is builtins.slice else value
        if is_of_run(key):
            outer.content(owner)
            return value
        if not isinstance(owner, (list, Mapping, tuple)) or type(key) not in (int, str, bool, float):
            outer.content(owner)
            return value
        if outer.has_changed_item(owner, key, value):
            if isinstance(owner, list):
                # Which element stands there depends on those that were there before.
                outer.content(owner)
            return value
        return outer.seen(value, path.part(f"[{key!r}]", f"[{key!r}]"))

    @staticmethod
    def plain_test(value: Any) -> Any:
        """A test in a generator, which cannot have blocks of the program."""
        test = paths.decided_here(logic.as_condition(value))
        if is_symbolic(test):
            raise logic.refused(
                "the path of a generator depends on a value of the program, which only the run knows",
                "fill a list instead of yielding",
            )
        return test

    def If(self, index: int, test: Any) -> regions.If:
        meta = self.metas[index]
        return regions.If(meta, paths.decided(logic.as_condition(test), paths.place_of(meta)))

    def Try(self, index: int, kinds: Callable[[], Any], has_else: bool) -> attempts.Try:
        return attempts.Try(self.metas[index], kinds, has_else)

    def Finally(self, index: int) -> attempts.Finally:
        return attempts.Finally(self.metas[index])

    def While(self, index: int) -> loops.While:
        return loops.While(self.metas[index])

    def For(self, index: int, iterable: Any) -> for_loops.For | for_loops.ForReader:
        return for_loops.for_loop(self.metas[index], looked_at(iterable))

    @staticmethod
    def clear(*flags: Any) -> Any:
        """Whether no flag is set."""
        return logic.negated(logic.any_of(flags))

    @staticmethod
    def depth() -> int:
        return LOCAL.depth

    def fn(self, function: Callable) -> Callable:
        """What to call in the place of a function: its conversion, if it is the user's."""
        found = callee(function)
        if found is function and not self.inner and journal.LOCAL.world is not None:
            return function if is_converted(function) else calls.watched(function)
        return found

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
        must(flag, kind, text)
        return value

    @staticmethod
    def check(value: Any, message: Callable[[], Any] | None = None) -> Any:
        """The test of an `assert`; a program checks it as it runs."""
        value = logic.as_condition(value) if of_program(value) else value
        if not is_tensor(value) or not value.is_symbolic:
            return value
        args: Callable[[], tuple] = lambda: () if message is None else (logic.now(message),)  # noqa: E731
        raised.taken_down(lambda: AssertionError(*args())).unless(value)
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
        found = raised.taken_down(make)
        if attempts.raise_again(found.error):
            return
        if tries.is_caught_here(type(found.error)):
            raise found.error
        found.unless(False)

    @staticmethod
    def current() -> BaseException:
        """The exception that is being handled, for a `raise` of nothing."""
        return sys.exc_info()[1] or RuntimeError("No active exception to reraise")

    @staticmethod
    def binary(name: str, a: Any, b: Any) -> Any:
        """`a + b` and other operators that make lists, dicts and sets, too."""
        if rows_of(a) is not None or rows_of(b) is not None:
            return wrapped(_MAKING[name](unwrapped(a), unwrapped(b)))
        result = own.binary(name, a, b)
        if result is not NotImplemented:
            return result
        looked_at(a)
        looked_at(b)
        return journal.given(tags.applied(_MAKING[name], a, b))

    @staticmethod
    def minus(value: Any) -> Any:
        """`-value`."""
        negative = own.method(value, "__neg__")
        return tags.alike(operator.neg, value) if negative is None else negative()

    @staticmethod
    def plain(value: Any) -> Any:
        """A condition that must be known while the program is built."""
        if is_symbolic(value):
            raise Mismatch(
                "`:=`, `yield` or `super()` stands behind a condition that only the run knows\n"
                "  remedy: compute it in a statement before"
            )
        return value

    # Changes ----------------------------------------------------------------------------------------

    def setitem(self, value: Any, target: Any, key: Any) -> None:
        """`target[key] = value`."""
        if type(key) is Open and not is_tensor(target) and rows_of(target) is None:
            key = known(key)
        if not self.inner and not is_tensor(target) and rows_of(target) is None:
            _watch_items(target)
            _watch_item(target, key, value)
        put = own.method(target, "__setitem__")
        if put is not None:
            put(key, value)
            return
        setitem(value, target, key)

    def delitem(self, target: Any, key: Any) -> None:
        """`del target[key]`."""
        if not self.inner and rows_of(target) is None:
            _watch_items(target)
            if type(key) is builtins.slice:
                looked_at(target)
        delitem(target, key)

    def setattr(self, owner: Any, name: str, value: Any) -> None:
        """`owner.name = value`."""
        found: Any = getattr(type(owner), name, None)
        setter: Any = found.fset if type(found) is property else None
        if setter is not None and wanted(setter):
            convert(setter)(owner, value)
            return
        put = own.method(owner, "__setattr__")
        if put is not None:
            put(name, value)
            return
        if not self.inner and not is_tensor(owner) and not _is_state(owner, name):
            journal.touch_attribute(owner, name)
        setattr(owner, name, value)

    def delattr(self, owner: Any, name: str) -> None:
        """`del owner.name`."""
        if not self.inner:
            journal.touch_attribute(owner, name)
        delattr(owner, name)

    def aug(self, name: str, value: Any, other: Callable[[], Any]) -> Any:
        """`value += other` and so on; gives what the name is bound to then."""
        rows = rows_of(value)
        if rows is not None:
            _IN_PLACE[name](rows, logic.now(other))
            return value
        if not self.inner and isinstance(value, (list, dict, set, collections.deque, bytearray)) or is_array(value):
            journal.touch(value)
            if name != "Add":
                looked_at(value)
        other = logic.now(other)
        result = own.in_place(name, value, other)
        return tags.applied(_IN_PLACE[name], value, other) if result is NotImplemented else result

    def augitem(self, name: str, target: Any, key: Any, value: Callable[[], Any]) -> None:
        """`target[key] += value` and so on."""
        self.setitem(self.aug(name, self.item(target, key), value), target, key)

    def augattr(self, name: str, owner: Any, attribute: str, value: Callable[[], Any]) -> None:
        """`owner.attribute += value` and so on."""
        self.setattr(owner, attribute, self.aug(name, self.field(owner, attribute), value))


def _is_state(owner: Any, name: str) -> bool:
    """Whether an attribute is a parameter or a buffer of a layer: setting it assigns the state."""
    own = getattr(owner, "__dict__", {})
    return "_parameters" in own and (name in own["_parameters"] or name in own["_buffers"])


def _watch_items(target: Any) -> None:
    """Notes that items of an object change, whatever it is."""
    if journal.can_change(target):
        journal.touch(target)


def _watch_item(target: Any, key: Any, value: Any) -> None:
    """Guards what a container from outside had at a key, if a call must not change it only as it was then."""
    outer = BUILD.outer
    if outer is None or not isinstance(target, (list, dict)) or outer.path_of(target) is None:
        return
    touched = outer.world.touched.get(id(target))
    content = target if touched is None else touched[1]
    if is_of_run(key):
        outer.content(target)
        return
    try:
        is_same = type(key) is builtins.slice or content[key] is value
    except (LookupError, TypeError):
        return
    if is_same:
        outer.content(target)


#: The code of what `contextlib.contextmanager` makes of a generator.
_CONTEXT_MANAGER = contextlib.contextmanager(lambda: iter(())).__code__  # type: ignore[attr-defined]


def _setattr(owner: Any, name: str, value: Any) -> None:
    journal.touch_attribute(owner, name)
    setattr(owner, name, value)


def _delattr(owner: Any, name: str) -> None:
    journal.touch_attribute(owner, name)
    delattr(owner, name)


def read(owner: Any, name: str, *default: Any) -> Any:
    """`getattr(owner, name, default)`."""
    if default and not _hasattr(owner, name):
        return default[0]
    return Runtime([], {}, {}, False).field(owner, name)


def _getenv(key: str, default: Any = None) -> Any:
    value, outer = os.environ.get(key, default), BUILD.outer
    if outer is None:
        return value
    text = f"{outer.constant(os.environ)}.get({key!r}, {outer.constant(default)})"
    return outer.seen(value, Path(text, f"os.environ[{key!r}]"))


def _read(owner: Any, name: str) -> Callable[[], Any]:
    """A method of an object from outside that gives what it holds: it is asked again at each call."""

    def read() -> Any:
        value, outer = getattr(owner, name)(), BUILD.outer
        path = outer.path_of(owner) if outer is not None else None
        return value if outer is None or path is None else outer.seen(value, path.part(f".{name}()", f".{name}()"))

    return read


def _is_steady(module: types.ModuleType) -> bool:
    """Whether the numbers and strings of a module stay what they are: it belongs to Python, NumPy or this package."""
    return module.__name__.partition(".")[0] in KNOWN_MODULES


def _hasattr(owner: Any, name: str) -> bool:
    found, outer = hasattr(owner, name), BUILD.outer
    path = outer.path_of(owner) if outer is not None else None
    if outer is not None and path is not None and not path.known:
        asked = path.part(f".{name}", f".{name}")
        outer.guard(asked, f"{'' if found else 'not '}hasattr({path.text}, {name!r})")
    return found


_OWN: dict[Any, Callable] = {
    hash: hashed,
    setattr: _setattr,
    delattr: _delattr,
    getattr: read,
    hasattr: _hasattr,
}

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
    if is_plain(function):
        # No number can be called.
        return example(function)()
    if kind is weakref.ref:
        return _read(function, "__call__")
    if kind is types.FunctionType:
        if function is os.getenv:
            return _getenv
        if function.__code__ is _CONTEXT_MANAGER and wanted(function.__wrapped__):
            return contextlib.contextmanager(convert(function.__wrapped__))
        # Functions of the package that take expressions of variables wrap the plain ones.
        plain = getattr(function, "_fl_plain", function)
        if plain in OVERRIDES:
            return _looking(OVERRIDES[plain])
        if function.__module__ == "logging":
            return without_values(function)
        return convert(function) if wanted(function) else function
    if kind is types.MethodType:
        if function.__self__ is os.environ and function.__name__ == "get":
            return _getenv
        inner = callee(function.__func__)
        return (
            function if inner is function.__func__ else types.MethodType(inner, function.__self__)
        )
    if kind is functools.partial:
        return functools.partial(callee(function.func), *function.args, **function.keywords)
    if isinstance(function, (types.BuiltinFunctionType, type)):
        if function in OVERRIDES:
            return OVERRIDES[function] if function is isinstance else _looking(OVERRIDES[function])
        of_value = method(function)
        if of_value is not None:
            return of_value
        owner: Any = getattr(function, "__self__", None)
        if isinstance(owner, contextvars.ContextVar) and function.__name__ == "get":
            return lambda *default: function(*default) if default else _read(owner, "get")()
        if function in _OWN:
            return _OWN[function]
        if isinstance(function, type) and _is_plain_class(function):
            return lambda *a, **k: calls.constructed(function, a, k, convert)
        if journal.LOCAL.tracing and _pops_nothing(function):
            return _pop_of_nothing
        if function in _CALLBACKS:
            block = function not in (map, filter, functools.reduce) and _core.is_building()
            return lambda *a, **k: function(
                *(_converted(v, block) for v in a),
                **{n: _converted(v, block) for n, v in k.items()},
            )
        return function
    if hasattr(function, "_fl_function"):
        inner = callee(function._fl_function)
        return lambda *a, **k: inner(*with_tensors(a), **with_tensors(k))
    call = getattr(kind, "__call__", None)
    if isinstance(call, types.FunctionType) and wanted(call):
        return types.MethodType(convert(call), function)
    return function


def _looking(function: Callable) -> Callable:
    """A function that looks into what it is given."""
    return lambda *args, **options: function(*map(looked_at, args), **options)


def _is_plain_class(kind: Any) -> bool:
    """Whether a class of the user's makes its objects as most do, so that its `__init__` can be converted."""
    return type(kind).__call__ is type.__call__ and wanted(kind.__init__)


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


def _converted(argument: Any, block: bool) -> Any:
    if not isinstance(argument, (types.FunctionType, types.MethodType)):
        return argument
    found = callee(argument)

    @functools.wraps(found)
    def traced(*args: Any, **options: Any) -> Any:
        # What is traced as a block of the program changes nothing outside of it.
        with journal.refusing():
            return found(*args, **options)

    return traced if block else found
