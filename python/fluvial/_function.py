"""`@fl.function`: a Python function that runs as a program, built once for each signature."""

from __future__ import annotations

import functools
import itertools
import threading
import types
import weakref

from . import _core
from ._core import Tensor
from ._fault import fault
from ._modes import requested_mode
from ._phase import Phases, noting
from ._retrace import SNAPSHOTS, begin_program
from ._tree import children, flatten, is_array, is_tensor, leaves, mapped, rebuild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

    P = ParamSpec("P")
    Q = ParamSpec("Q")
    R = TypeVar("R")
    R_co = TypeVar("R_co", covariant=True)

    class Compiled(Protocol[P, R_co]):
        """What type checkers see of `Function`: the signature of what it was made of."""

        @property
        def programs(self) -> list[_core.Program]: ...
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        def __get__(
            self: Compiled[Concatenate[Any, Q], R_co], instance: object, owner: type | None = None
        ) -> Compiled[Q, R_co]: ...
else:

    def overload(function):
        return function


#: How many programs one function keeps; the one unused for longest goes first.
CACHE_SIZE = 32


@overload
def function(
    function: Callable[P, R],
    *,
    fetch: Iterable[str] | None = None,
    donate: Iterable[str] = (),
    log: bool = False,
) -> Compiled[P, R]: ...
@overload
def function(
    *,
    fetch: Iterable[str] | None = None,
    donate: Iterable[str] = (),
    log: bool = False,
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def function(
    function: Callable[..., Any] | None = None,
    *,
    fetch: Iterable[str] | None = None,
    donate: Iterable[str] = (),
    log: bool = False,
) -> Any:
    """Makes a function run as a program.

    The program is built from the function's source at the first call: `if`, `while`, `for`, jumps
    and conditions on tensors become ops, everything else is done by Python while building. Tensors
    in arguments, also inside lists, tuples and dicts, are inputs; other arguments belong to the
    signature. After a second size of an input was seen, the program is built for any size. In
    imperative mode the function is simply called.

    Args:
        function: The function or method.
        fetch: If the function returns a dict: the only entries to compute and return.
        donate: Names of arguments whose tensors are given away with each call: they have no value
            after it, and their memory is used for the results where nobody else holds it. Calls in
            imperative mode, and those that are recorded for gradients, take nothing away.
        log: Whether to log each build to `fluvial.function`.

    Example:
        >>> @fl.function
        ... def doubled(x, limit=100.0):
        ...     steps = 0
        ...     while fl.sum(x) < limit:
        ...         x = x * 2
        ...         steps += 1
        ...     return x, steps
        >>> x, steps = doubled(fl.tensor([1.0, 2.0]))
        >>> x.tolist(), int(steps)
        ([64.0, 128.0], 6)
    """
    if function is None:
        return functools.partial(globals()["function"], fetch=fetch, donate=donate, log=log)
    return Function(function, fetch=fetch, donate=donate, log=log)


_numbers = itertools.count(1)


class Function:
    """What `fl.function` returns; it is called as the function it was made of."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        fetch: Iterable[str] | None = None,
        donate: Iterable[str] = (),
        log: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self._name = getattr(function, "__qualname__", repr(function))
        self._fl_function = function
        self.fetch = None if fetch is None else tuple(fetch)
        self.donate = (donate,) if isinstance(donate, str) else tuple(donate)
        self.log = log
        self._entries: dict[tuple, list[_Entry]] = {}
        self._seen: dict[tuple, list[tuple]] = {}
        #: Entries by types of the arguments as given, for calls that need no look at the signature.
        self._quick: dict[tuple, _Entry] = {}
        #: By signature: the objects whose identity is part of it, weakly where that is possible.
        self._watched: dict[tuple, list[Any]] = {}
        self._lock = threading.RLock()
        self._signature: Any = None
        self._number, self._n_builds = next(_numbers), 0

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<fl.function {self._name}>"

    @property
    def programs(self) -> list[_core.Program]:
        """The programs built so far."""
        return [entry.program for entries in self._entries.values() for entry in entries]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _core.is_building():
            from ._convert import convert

            return convert(self._fl_function)(*args, **kwargs)
        if requested_mode() == "imperative":
            return self._fl_function(*args, **kwargs)
        tensors: list[Tensor] = []
        quick = _quick_key(args, kwargs, tensors)
        if quick is not None:
            entry = self._quick.get(quick)
            if entry is not None and entry.phases.hold() and entry.is_current():
                return entry.call(tensors)
        given, tensors = tensors, []
        arguments = self._bound(args, kwargs)
        key = _key(arguments, tensors)
        shapes = tuple(tensor.shape for tensor in tensors)
        with self._lock:
            entry = self._entry(arguments, key, tensors, shapes)
            ids = list(map(id, given))
            # A tensor given twice would hide that keywords stand in another order.
            in_order = ids == list(map(id, tensors)) and (not kwargs or len(set(ids)) == len(ids))
            if quick is not None and in_order:
                if len(self._quick) >= 4 * CACHE_SIZE:
                    self._quick.clear()
                self._quick[quick] = entry
        return entry.call(tensors)

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        if self._signature is None:
            import inspect

            self._signature = inspect.signature(self._fl_function)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name in self.donate:
            if name not in bound.arguments:
                known = ", ".join(bound.arguments) or "it has none"
                what = f"`{self._name}` has no argument `{name}` to donate"
                raise fault(TypeError, what, f"name some of its arguments: {known}")
        return bound.arguments

    def _entry(self, arguments: dict, key: tuple, tensors: list, shapes: tuple) -> _Entry:
        entries = self._entries.setdefault(key, [])
        for i, entry in enumerate(entries):
            if entry.fits(shapes) and entry.phases.hold():
                if entry.is_current():
                    entries.append(entries.pop(i))
                    return entry
                del entries[i]
                self._quick.clear()
                break
        seen = self._seen.setdefault(key, [])
        seen.append(shapes)
        del seen[:-8]
        pattern = _pattern(seen, shapes)
        try:
            entry = self._build(arguments, tensors, pattern)
        except Exception as error:
            if pattern == shapes:
                raise
            _log(
                "warning", "%s: built for %s only, not for any size: %s", self._name, shapes, error
            )
            entry = self._build(arguments, tensors, shapes)
        entries.append(entry)
        self._watch(arguments, key)
        while sum(map(len, self._entries.values())) > CACHE_SIZE:
            self._quick.clear()
            oldest = next(key for key, found in self._entries.items() if found)
            self._entries[oldest].pop(0)
            if not self._entries[oldest]:
                del self._entries[oldest]
                self._seen.pop(oldest, None)
                self._watched.pop(oldest, None)
        return entry

    def _watch(self, arguments: dict, key: tuple) -> None:
        """Forgets the programs of a signature when an object dies whose identity is part of it."""
        if key in self._watched:
            return
        self._watched[key] = watched = []
        own = weakref.ref(self)

        def forget(_: object) -> None:
            function = own()
            if function is not None:
                with function._lock:
                    function._entries.pop(key, None)
                    function._seen.pop(key, None)
                    function._watched.pop(key, None)
                    function._quick.clear()

        for _, leaf in leaves(arguments):
            if not _is_input(leaf) and not isinstance(leaf, _PLAIN):
                try:
                    watched.append(weakref.ref(leaf, forget))
                except TypeError:
                    watched.append(leaf)

    def _build(self, arguments: dict, tensors: list[Tensor], pattern: tuple) -> _Entry:
        self._n_builds += 1
        before = _core.set_build((self._number, self._n_builds))
        try:
            with noting() as noted:
                entry = self._traced(arguments, tensors, pattern)
        finally:
            _core.set_build(before)
        entry.phases = Phases(noted, entry.program)
        return entry

    def _traced(self, arguments: dict, tensors: list[Tensor], pattern: tuple) -> _Entry:
        from ._convert import convert, explained
        from ._convert.captures import CAPTURES

        spec = flatten(arguments, [], _is_input)
        names = _input_names(arguments)
        counters = [take() for take, _ in SNAPSHOTS]
        outer = CAPTURES.found, CAPTURES.missed
        early: list = []
        sizes = {size for shape in pattern for size in shape if isinstance(size, str)}
        while True:
            CAPTURES.found, CAPTURES.missed = [], []
            begin_program()
            try:
                params = []
                for name, tensor, shape in zip(names, tensors, pattern):
                    params.append(_core.program_input(name, tensor.dtype, shape))
                for get, value in early:
                    CAPTURES.add(value, get)
                with explained(sizes):
                    result = self._called(convert(self._fl_function), rebuild(spec, list(params)))
                    outputs: list = []
                    result = _output(self._fetched(result), outputs)
                missed, captured = CAPTURES.missed, CAPTURES.found
            except BaseException:
                CAPTURES.found, CAPTURES.missed = outer
                _core.abort_program()
                raise
            if not missed:
                break
            _core.abort_program()
            early += missed
            for (_, put_back), counter in zip(SNAPSHOTS, counters):
                put_back(counter)
        CAPTURES.found, CAPTURES.missed = outer
        program = _core.end_program({f"out{i}": output for i, output in enumerate(outputs)})
        if self.log:
            _log("info", "%s: built for %s", self._name, list(program.inputs.values()))
        captures = [(get, value.type_text) for get, value, _ in captured]
        donated = self._donated(arguments)
        run: Any = program
        if donated:
            run = program.compile(single=False, donate=donated, recorded=True)
        return _Entry(program, run, pattern, captures, result)

    def _donated(self, arguments: dict[str, Any]) -> list[str]:
        """The inputs of the program that arguments to donate became."""
        donated: list[str] = []
        before: list[Tensor] = []
        names = _input_names(arguments)
        for name, argument in arguments.items():
            first = len(before)
            _key(argument, before)
            if name in self.donate:
                donated += names[first : len(before)]
        return donated

    def _called(self, function: Callable, arguments: dict[str, Any]) -> Any:
        bound = self._signature.bind_partial()
        bound.arguments.update(arguments)
        return function(*bound.args, **bound.kwargs)

    def _fetched(self, result: Any) -> Any:
        if self.fetch is None:
            return result
        if not isinstance(result, dict):
            raise fault(
                TypeError,
                f"`{self._name}` has `fetch`, but returns no dict",
                "return the results by name, or leave `fetch` out",
            )
        missing = [name for name in self.fetch if name not in result]
        if missing:
            raise KeyError(f"`{self._name}` returns no {', '.join(missing)}")
        return {name: result[name] for name in self.fetch}


class _Entry:
    """A program with what is needed to call it."""

    #: The layers that it was built of, as they were.
    phases: Phases

    def __init__(self, program, run, pattern, captured, result) -> None:
        self.program, self.pattern, self.captured, self.result = program, pattern, captured, result
        #: The program, or a compiled form of it that takes inputs away.
        self.runnable = run

    def fits(self, shapes: tuple) -> bool:
        sizes: dict[str, int] = {}
        for pattern, shape in zip(self.pattern, shapes):
            for wanted, size in zip(pattern, shape):
                if isinstance(wanted, str):
                    if size < 2 or sizes.setdefault(wanted, size) != size:
                        return False
                elif wanted != size:
                    return False
        return True

    def is_current(self) -> bool:
        """Whether the captured tensors have the types they had."""
        for get, text in self.captured:
            value = get()
            if not is_tensor(value) or value.type_text != text:
                return False
        return True

    def call(self, tensors: list[Tensor]) -> Any:
        inputs = [*tensors, *(get() for get, _ in self.captured)] if self.captured else tensors
        return _restored(self.result, list(self.run(inputs)))

    def run(self, inputs: list[Tensor]) -> tuple[Tensor, ...]:
        outputs = self.runnable(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)


_PLAIN = (int, bool, str, bytes, type(None))


def _quick_key(args: tuple, kwargs: dict[str, Any], tensors: list[Tensor]) -> tuple | None:
    """The signature of arguments without structure, as they were given, or nothing."""
    parts: list = [*kwargs]
    for value in (*args, *kwargs.values()) if kwargs else args:
        if is_tensor(value):
            tensors.append(value)
            parts.append(value.type_text)
        elif isinstance(value, (list, tuple, dict)) or type(value).__module__ == "numpy":
            return None
        else:
            parts.append(_own_key(value))
    return tuple(parts)


def _own_key(value: Any) -> tuple:
    """The signature of an object without parts: a value, or itself and what about it changes the program."""
    kind = type(value)
    if kind in _PLAIN:
        return (kind, value)
    if kind is float:
        # Zero has two signs, which are equal.
        return (kind, repr(value))
    if hasattr(value, "_fl_key"):
        return (id(value), value._fl_key())
    return (id(value), getattr(value, "training", None))


def _is_input(value: Any) -> bool:
    return is_tensor(value) or is_array(value)


def _key(value: Any, tensors: list[Tensor]) -> Any:
    """The signature of an argument: types of tensors, and everything else by value or identity."""
    if _is_input(value):
        tensors.append(value if is_tensor(value) else _core.tensor(value))
        return (Tensor, tensors[-1].dtype, tensors[-1].ndim)
    parts = children(value)
    if parts is None:
        return _own_key(value)
    return (type(value), *[(key, _key(part, tensors)) for key, part in parts])


def _input_names(arguments: dict[str, Any]) -> list[str]:
    """Names for the tensors of arguments: that of the argument, with the place of a part behind it."""
    names: list[str] = []
    for path, value in leaves(arguments):
        if not _is_input(value):
            continue
        name = "_".join(map(str, path))
        name = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        # Tensors from outside are `captured0`, `captured1`, …
        name += "_" * name.startswith("captured")
        while name in names:
            name += "_"
        names.append(name)
    return names


class _Place:
    """Where an output of the program stands in a result."""

    def __init__(self, number: int) -> None:
        self.number = number

    def value(self, outputs: list[Tensor]) -> Any:
        return outputs[self.number]


class _Number(_Place):
    """Where an output of the program stands in a result as a number of Python's."""

    def value(self, outputs: list[Tensor]) -> Any:
        return outputs[self.number].item()


class _Rows:
    """Where a list of tensors stands in a result, whose columns are outputs of the program."""

    def __init__(self, numbers: range, like: Any) -> None:
        self.numbers, self.like = numbers, like

    def value(self, outputs: list[Tensor]) -> Any:
        from ._convert.numbers import Number

        columns = [list(outputs[number]) for number in self.numbers]
        rows = [self.like.element(list(row)) for row in zip(*columns)]
        return mapped(lambda leaf: leaf.value.item() if type(leaf) is Number else leaf, rows)


def _output(value: Any, outputs: list) -> Any:
    """The form of a result; its tensors are appended to `outputs`."""
    from ._convert.lists import TensorList
    from ._convert.numbers import Number

    def place(leaf: Any) -> Any:
        first = len(outputs)
        if is_tensor(leaf):
            outputs.append(leaf)
            return _Place(first)
        if type(leaf) is TensorList:
            outputs.extend(leaf.stacks())
            return _Rows(range(first, len(outputs)), leaf)
        if type(leaf) is Number:
            outputs.append(leaf.value)
            return _Number(first)
        return leaf

    return mapped(place, value)


def _restored(form: Any, outputs: list[Tensor]) -> Any:
    """A result, from the outputs of the program."""
    if type(form) is _Place:
        return outputs[form.number]
    placed = (_Place, _Number, _Rows)
    return mapped(lambda leaf: leaf.value(outputs) if type(leaf) in placed else leaf, form)


def _pattern(seen: list[tuple], shapes: tuple) -> tuple:
    """Sizes that were different before become symbols; those that went together share one."""
    usable = [
        other
        for other in seen
        if all(
            a == b or (a > 1 and b > 1) for one, two in zip(other, shapes) for a, b in zip(one, two)
        )
    ]
    symbols: dict[tuple, str] = {}
    pattern = []
    for i, shape in enumerate(shapes):
        dims: list[int | str] = []
        for axis, size in enumerate(shape):
            sizes = tuple(other[i][axis] for other in usable)
            if len(set(sizes)) == 1:
                dims.append(size)
            else:
                dims.append(symbols.setdefault(sizes, f"n{len(symbols)}"))
        pattern.append(tuple(dims))
    return tuple(pattern)


def _log(level: str, message: str, *args: object) -> None:
    import logging

    getattr(logging.getLogger("fluvial.function"), level)(message, *args)
