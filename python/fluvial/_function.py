"""`@fl.function`: a Python function that runs as a program, built once for each signature."""

from __future__ import annotations

import functools
import itertools
import threading
import types
import weakref

from . import _core
from ._core import Tensor
from ._fault import fault, user_line
from ._guards import guarding
from ._modes import requested_mode
from ._phase import Phases, noting
from ._results import Call, Output, Results, value_of
from ._retrace import begin_program
from ._signature import PLAIN, full_key, input_names, open_sizes, pattern_of, quick_key, size_places
from ._tree import is_tensor, leaves, with_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

    from ._guards import Guard

    P = ParamSpec("P")
    Q = ParamSpec("Q")
    R = TypeVar("R")
    R_co = TypeVar("R_co", covariant=True)

    class Compiled(Protocol[P, R_co]):
        """What type checkers see of `Function`: the signature of what it was made of."""

        @property
        def programs(self) -> list[_core.Program]: ...
        @property
        def builds(self) -> list[str]: ...
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        def __get__(
            self: Compiled[Concatenate[Any, Q], R_co], instance: object, owner: type | None = None
        ) -> Compiled[Q, R_co]: ...
else:

    def overload(function):
        return function


#: How many programs one function keeps; the one unused for longest goes first.
CACHE_SIZE = 32
#: After so many builds of one function, and after twice as many, a warning says why.
MANY_BUILDS = 8


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
    in arguments, also inside lists, tuples, dicts and dataclasses, are inputs, and so are tensors from
    outside; other arguments belong to the signature. Other values from outside (numbers, texts, attributes) are
    noted, and another program is built once they have changed. What the function changes of lists, dicts,
    attributes and tensors is changed by each call. After a second size of an input was seen, the program is
    built for any size. Arrays of numpy become tensors before the function sees them, in both modes. In imperative mode the function is simply called.

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
        #: By signature: the sizes, by input and axis, each of which needs a program of its own.
        self._fixed: dict[tuple, set[tuple[int, int]]] = {}
        #: Entries by types of the arguments as given, for calls that need no look at the signature.
        self._quick: dict[tuple, _Entry] = {}
        #: By signature: the objects whose identity is part of it, weakly where that is possible.
        self._watched: dict[tuple, list[Any]] = {}
        self._lock = threading.RLock()
        self._signature: Any = None
        self._number = next(_numbers)
        #: Why each program was built.
        self.builds: list[str] = []

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
            from ._convert import inlined

            return inlined(self._fl_function, with_tensors(args), with_tensors(kwargs))
        if requested_mode() == "imperative":
            return self._fl_function(*with_tensors(args), **with_tensors(kwargs))
        tensors: list[Tensor] = []
        quick = quick_key(args, kwargs, tensors)
        if quick is not None:
            entry = self._quick.get(quick)
            inputs = None if entry is None else entry.inputs(tensors)
            if entry is not None and inputs is not None:
                try:
                    return entry.call(inputs, None)
                except Exception:
                    if entry.is_repeated:
                        self._fail_alike(args, kwargs)
                    raise
        given, tensors = tensors, []
        arguments = self._bound(with_tensors(args), with_tensors(kwargs))
        key = full_key(arguments, tensors)
        shapes = tuple(tensor.shape for tensor in tensors)
        with self._lock:
            try:
                entry, inputs = self._entry(arguments, key, tensors, shapes)
            except Exception as error:
                if getattr(error, "_fl_of_lines", False):
                    self._fail_alike(args, kwargs)
                raise
            ids = list(map(id, given))
            # A tensor given twice would hide that keywords stand in another order.
            in_order = ids == list(map(id, tensors)) and (not kwargs or len(set(ids)) == len(ids))
            if quick is not None and in_order:
                if len(self._quick) >= 4 * CACHE_SIZE:
                    self._quick.clear()
                self._quick[quick] = entry
        try:
            return entry.call(inputs, arguments)
        except Exception:
            if entry.is_repeated:
                self._fail_alike(args, kwargs)
            raise

    def _fail_alike(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Runs lines that could not be built, or that failed: they fail as well, after they have changed what stands
        before the fault. If they do not, the error of the program is told."""
        with _core.imperative():
            self._fl_function(*with_tensors(args), **with_tensors(kwargs))

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        if self._signature is None:
            import inspect

            self._signature = inspect.signature(self._fl_function)
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            remedy = f"its arguments are {self._name}{self._signature}"
            raise fault(TypeError, f"`{self._name}`: {error}", remedy) from None
        bound.apply_defaults()
        for name in self.donate:
            if name not in bound.arguments:
                known = ", ".join(bound.arguments) or "it has none"
                what = f"`{self._name}` has no argument `{name}` to donate"
                raise fault(TypeError, what, f"name some of its arguments: {known}")
        return bound.arguments

    def _entry(self, arguments: dict, key: tuple, tensors: list, shapes: tuple) -> tuple[_Entry, list]:
        """The program for a call, built if there is none, and its inputs."""
        entries = self._entries.setdefault(key, [])
        for i, entry in enumerate(entries):
            inputs = entry.inputs(tensors) if entry.fits(shapes) else None
            if inputs is not None:
                entries.append(entries.pop(i))
                return entry, inputs
        self._say_why(key, shapes)
        seen = self._seen.setdefault(key, [])
        seen.append(shapes)
        del seen[:-8]
        fixed = self._fixed.setdefault(key, set())
        pattern = pattern_of(seen, shapes, fixed)
        try:
            entry = self._build(arguments, tensors, pattern)
        except Exception as error:
            if pattern == shapes:
                raise
            fixed |= size_places(pattern, getattr(error, "_fl_fixed", ()))
            _log(
                "warning", "%s: built for %s only, not for any size: %s", self._name, shapes, error
            )
            entry = self._build(arguments, tensors, shapes)
        if entry.fixed:
            fixed |= entry.fixed
            whys = ", ".join(guard.why for guard in entry.guards)
            _log("warning", "%s: a program for each size, whose number is asked for: %s", self._name, whys)
        entries.append(entry)
        self._watch(arguments, key)
        while sum(map(len, self._entries.values())) > CACHE_SIZE:
            self._quick.clear()
            oldest = next(key for key, found in self._entries.items() if found)
            self._entries[oldest].pop(0)
            if not self._entries[oldest]:
                del self._entries[oldest]
                self._seen.pop(oldest, None)
                self._fixed.pop(oldest, None)
                self._watched.pop(oldest, None)
        return entry, [*tensors, *(get() for get, _ in entry.captured)]

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
                    function._fixed.pop(key, None)
                    function._watched.pop(key, None)
                    function._quick.clear()

        for _, leaf in leaves(arguments):
            if not is_tensor(leaf) and not isinstance(leaf, PLAIN):
                try:
                    watched.append(weakref.ref(leaf, forget))
                except TypeError:
                    watched.append(leaf)

    def _say_why(self, key: tuple, shapes: tuple) -> None:
        """Notes why a program is built; too many builds are worth a warning."""
        why = self._why(key, shapes)
        self.builds.append(why)
        if self.log:
            _log("info", "%s: build %d: %s", self._name, len(self.builds), why)
        if len(self.builds) >= MANY_BUILDS and len(self.builds) % MANY_BUILDS == 0:
            import warnings

            warnings.warn_explicit(
                f"`{self._name}` was built {len(self.builds)} times; the last time because {why}\n"
                "  remedy: give what changes as a tensor, or keep it the same; `builds` of the function lists all reasons",
                RuntimeWarning,
                *_place(user_line()),
            )

    def _why(self, key: tuple, shapes: tuple) -> str:
        if not self.builds:
            return "it was called for the first time"
        for entry in reversed(self._entries.get(key, [])):
            if not entry.fits(shapes):
                return f"sizes were new: {', '.join(map(str, shapes))}"
            broken = entry.broken()
            if broken:
                return broken
        others = [other for other in self._entries if other != key and self._entries[other]]
        if others:
            former = dict(others[-1][0][1:])
            changed = [name for name, part in key[0][1:] if former.get(name) != part]
            if changed:
                return f"the argument `{changed[0]}` was new: another type, value or object"
        return "the arguments were new"

    def _build(self, arguments: dict, tensors: list[Tensor], pattern: tuple) -> _Entry:
        before = _core.set_build((self._number, len(self.builds)))
        try:
            with noting() as noted:
                entry = self._traced(arguments, tensors, pattern)
        finally:
            _core.set_build(before)
        entry.phases = Phases(noted, entry.program)
        return entry

    def _traced(self, arguments: dict, tensors: list[Tensor], pattern: tuple) -> _Entry:
        from ._convert import convert, explained
        from ._convert.build import Build

        sizes = open_sizes(pattern, [tensor.shape for tensor in tensors])
        begin_program()
        try:
            with Build() as build:
                for name, tensor, shape in zip(input_names(arguments), tensors, pattern):
                    param = _core.program_input(name, _core.held(tensor).dtype, shape)
                    build.outer.take(tensor, param)
                build.outer.arguments(arguments)
                with guarding(sizes) as guards, explained(sizes):
                    result = self._called(convert(self._fl_function), arguments)
                    results = Results(build.outer)
                    form = results.form(self._fetched(result))
                    effects = results.effects()
                outputs = {f"out{i}": output for i, output in enumerate(results.outputs)}
        except BaseException:
            _core.abort_program()
            raise
        gradients = _core.program_gradients()
        program = _core.end_program(outputs)
        if self.log:
            _log("info", "%s: built for %s", self._name, list(program.inputs.values()))
        donated = self._donated(arguments)
        run: Any = program
        if donated:
            run = program.compile(single=False, donate=donated, recorded=True)
        entry = _Entry(program, run, pattern, build.outer, form, effects, gradients)
        entry.guarded(guards)
        return entry

    def _donated(self, arguments: dict[str, Any]) -> list[str]:
        """The inputs of the program that arguments to donate became."""
        donated: list[str] = []
        before: list[Tensor] = []
        names = input_names(arguments)
        for name, argument in arguments.items():
            first = len(before)
            full_key({"": argument}, before)
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

    def __init__(self, program, run, pattern, outer, form, effects, gradients) -> None:
        self.program, self.pattern, self.form, self.effects = program, pattern, form, effects
        #: The gradients of parameters that it found and leaves behind.
        self.gradients = gradients
        #: The program, or a compiled form of it that takes inputs away.
        self.runnable = run
        self.captured = outer.getters()
        self.outer = outer
        self._fast, self._slow = outer.compiled()
        self._changes = -1
        self._changed = outer.changed_inputs()
        self._same = outer.same
        #: How many objects the inputs are, where that matters.
        self._n_objects = len(outer.inputs) if self._changed else None
        #: Whether lines that failed are run once more for what they change before: they touch nothing else.
        self.is_repeated = bool(effects) and not program.states and not outer.prints
        outer.forget()
        looks = (self._fast, gradients, self._n_objects)
        self._plain = not self.captured and not self._same and all(look is None for look in looks)
        self._alone = not effects and type(form) is Output and form.number == 0
        #: What the program takes for granted beside its pattern.
        self.guards: list[Guard] = []
        #: The sizes, by input and axis, for each of which it would be another program.
        self.fixed: set[tuple[int, int]] = set()

    def guarded(self, guards: guarding) -> None:
        self.guards = guards.found
        self.fixed = size_places(self.pattern, guards.fixed)

    def fits(self, shapes: tuple) -> bool:
        sizes: dict[str, int] = {}
        for pattern, shape in zip(self.pattern, shapes):
            for wanted, size in zip(pattern, shape):
                if isinstance(wanted, str):
                    if size < 2 or sizes.setdefault(wanted, size) != size:
                        return False
                elif wanted != size:
                    return False
        return not self.guards or all(guard.check(sizes) for guard in self.guards)

    def inputs(self, tensors: list[Tensor]) -> list[Tensor] | None:
        """What the program takes for a call with these tensors. Nothing, if layers or values from outside are not as
        they were, or tensors from outside have other types."""
        changes = _core.changes()
        if self._plain and changes == self._changes:
            return tensors
        try:
            if self._fast is not None and not self._fast():
                return None
            if changes != self._changes:
                if not self.phases.hold() or (self._slow is not None and not self._slow()):
                    return None
                self._changes = changes
            if self.gradients is not None and not self.gradients.hold():
                return None
            found = list(tensors)
            for get, text in self.captured:
                value = get()
                if not is_tensor(value) or value.type_text != text:
                    return None
                found.append(value)
            if self._same and any(get() is not tensors[number] for get, number in self._same):
                return None
            if self._n_objects is not None and len(set(map(id, found))) != self._n_objects:
                return None
        except Exception:
            # A path that leads nowhere any more: an attribute, a key or an object is gone.
            return None
        return found

    def broken(self) -> str | None:
        """Why it cannot be used now."""
        if not self.phases.hold():
            return "a layer or an optimizer has changed"
        if self.gradients is not None and not self.gradients.hold():
            return "a parameter has a gradient that it had not, or has it no longer"
        shown = self.outer.broken()
        return None if shown is None else f"`{shown}` has changed"

    def call(self, inputs: list[Tensor], arguments: dict[str, Any] | None) -> Any:
        for number in self._changed:
            if inputs[number].is_leaf:
                raise fault(
                    RuntimeError,
                    "a leaf, whose gradient accumulates, cannot be changed",
                    "`y = x.setitem(key, value)` makes a new tensor, and keeps the leaf",
                )
        outputs = self.runnable(*inputs)
        if self.gradients is not None:
            self.gradients.settle()
        if self._alone and not isinstance(outputs, tuple):
            return outputs
        call = Call(inputs, outputs if isinstance(outputs, tuple) else [outputs], arguments)
        result = value_of(self.form, call)
        for effect in self.effects:
            effect(call)
        return result


def _place(line: str) -> tuple[str, int]:
    file, _, number = line.rpartition(":")
    return file or "<unknown>", int(number) if number.isdigit() else 0


def _log(level: str, message: str, *args: object) -> None:
    import logging

    getattr(logging.getLogger("fluvial.function"), level)(message, *args)
