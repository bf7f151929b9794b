"""`@fl.function`: a Python function that runs as a program, built once for each signature."""

from __future__ import annotations

import functools
import itertools
import threading
import types
import weakref

from . import _core
from ._core import Tensor
from ._entry import MADE_INSIDE, Entry
from ._fault import fault, user_line
from ._guards import guarding
from ._modes import requested_mode
from ._paths import Paths, by_path, can_decide, places_of
from ._phase import Phases, noting
from ._results import Results
from ._retrace import begin_program
from ._signature import (
    PLAIN,
    Given,
    full_key,
    input_names,
    open_sizes,
    pattern_of,
    quick_key,
    size_places,
    without_numbers,
)
from ._tree import is_tensor, leaves, with_tensors

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
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


@overload
def function(
    function: Callable[P, R],
    *,
    fetch: Iterable[str] | None = None,
    donate: Iterable[str] = (),
    log: bool = False,
    whole: bool = False,
) -> Compiled[P, R]: ...
@overload
def function(
    *,
    fetch: Iterable[str] | None = None,
    donate: Iterable[str] = (),
    log: bool = False,
    whole: bool = False,
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def function(
    function: Callable[..., Any] | None = None,
    *,
    fetch: Iterable[str] | None = None,
    donate: Iterable[str] = (),
    log: bool = False,
    whole: bool = False,
) -> Any:
    """Makes a function run as a program.

    The program is built from the function's source at the first call: `if`, `while`, `for`, jumps
    and conditions on tensors become ops, everything else is done by Python while building. Tensors
    in arguments, also inside lists, tuples, dicts and dataclasses, are inputs, and so are tensors from
    outside; other arguments belong to the signature. Other values from outside (numbers, strings, attributes) are
    noted, and another program is built once they have changed; a number that has changed is an input from then on, unless its
    value decides something, such as a size. What the function changes of lists, dicts,
    attributes and tensors is changed by each call. After a second size of an input was seen, the program is
    built for any size. Where a branch or a loop cannot be a part of one program, such as one that adds a key to a dict, its
    tests are decided by the values of the call, a warning of the logger `fluvial.function` says why, and another program is
    built once they come out otherwise. Arrays of numpy become tensors before the function sees them, in both modes. In imperative mode the function is simply called.

    Args:
        function: The function or method.
        fetch: If the function returns a dict: the only entries to compute and return.
        donate: Names of arguments whose tensors are given away with each call: they have no value
            after it, and their memory is used for the results where nobody else holds it. Calls in
            imperative mode, and those that are recorded for gradients, take nothing away.
        log: Whether to log each build to `fluvial.function`.
        whole: Whether one program has to do for all paths. What cannot be a part of one is an error then.

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
        return functools.partial(globals()["function"], fetch=fetch, donate=donate, log=log, whole=whole)
    return Function(function, fetch=fetch, donate=donate, log=log, whole=whole)


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
        whole: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self._name = getattr(function, "__qualname__", repr(function))
        self._fl_function = function
        self.fetch = None if fetch is None else tuple(fetch)
        self.donate = (donate,) if isinstance(donate, str) else tuple(donate)
        self.log, self.whole = log, whole
        #: Whether it is a program also where functions run line by line.
        self.always = False
        #: The narrow type of the scope of `autocast` that its programs are built in, and the same function for others.
        self._narrow: str | None = None
        self._others: dict[str | None, Function] = {}
        #: By form of the arguments: the statements that are decided for each path; None for all.
        self._by_path: dict[tuple, frozenset[str] | None] = {}
        self._entries: dict[tuple, list[Entry]] = {}
        self._seen: dict[tuple, list[tuple]] = {}
        #: By signature: the sizes, by input and axis, each of which needs a program of its own.
        self._fixed: dict[tuple, set[tuple[int, int]]] = {}
        #: Entries by types of the arguments as given, for calls that need no look at the signature.
        self._quick: dict[tuple, Entry] = {}
        #: By form of the arguments: which of their numbers are open, which cannot be, and their values at the last build.
        self._opens: dict[tuple, frozenset[int]] = {}
        self._closed: dict[tuple, frozenset[int]] = {}
        self._former: dict[tuple, list] = {}
        #: By form and number: why a number cannot be open.
        self._decided: dict[tuple, str | None] = {}
        #: Places and names of arguments that are open numbers in some form.
        self._open_places: set[int | str] = set()
        #: What messages call numbers from outside that are open, and those that cannot be.
        self._open_paths: frozenset[str] = frozenset()
        self._closed_paths: frozenset[str] = frozenset()
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
        own = [entry.program for entries in self._entries.values() for entry in entries]
        return own + [program for other in self._others.values() for program in other.programs]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _core.is_building():
            from ._convert import inlined

            return inlined(self._fl_function, with_tensors(args), with_tensors(kwargs))
        if requested_mode() == "imperative" and not self.always:
            return self._fl_function(*with_tensors(args), **with_tensors(kwargs))
        narrow = _core.autocast_type()
        if narrow != self._narrow:
            return self._in_precision(narrow)(*args, **kwargs)
        tensors: list[Tensor] = []
        numbers: list = []
        if self._open_places:
            quick = quick_key(*without_numbers(args, kwargs, self._open_places, numbers), tensors)
        else:
            quick = quick_key(args, kwargs, tensors)
        if quick is not None:
            entry = self._quick.get(quick)
            ready = None if entry is None else entry.ready(tensors, numbers)
            if entry is not None and ready is not None:
                return entry.call(*ready, None)
            # A program that is given up is not kept while another is built.
            entry = None
        given = Given(self._bound(with_tensors(args), with_tensors(kwargs)))
        with self._lock:
            try:
                entry, ready = self._entry(given)
            except Exception as error:
                if getattr(error, "_fl_of_lines", False) and not self.always:
                    self._fail_alike(args, kwargs)
                raise
            if quick is not None and self._is_in_order(given, entry, tensors, numbers, bool(kwargs)):
                if len(self._quick) >= 4 * CACHE_SIZE:
                    self._quick.clear()
                self._quick[quick] = entry
        inputs, computed = ready
        return entry.call(inputs, computed, given.values)

    def _in_precision(self, narrow: str | None) -> Function:
        """The same function, for programs that are built in another scope of `autocast`."""
        with self._lock:
            found = self._others.get(narrow)
            if found is None:
                made = Function(
                    self._fl_function, fetch=self.fetch, donate=self.donate, log=self.log, whole=self.whole
                )
                made.always, made._narrow, made._name = self.always, narrow, self._name
                made.builds = self.builds
                found = self._others[narrow] = made
            return found

    def _is_in_order(
        self, given: Given, entry: Entry, tensors: list[Tensor], numbers: list, by_name: bool
    ) -> bool:
        """Whether tensors and numbers, as they were given, are what the program takes."""
        opens = self._opens.get(given.form, frozenset())
        marked = (i for i, (path, _) in enumerate(given.numbers) if path[0] in self._open_places)
        if not opens.issuperset(marked):
            return False
        ids = [*map(id, tensors), *(map(id, numbers) if entry.takes_numbers else ())]
        known = [*map(id, given.tensors), *(map(id, given.all_numbers) if entry.takes_numbers else ())]
        # What is given twice would hide that keywords stand in another order; an object that is a default may change.
        return not self._has_object_defaults and ids == known and (not by_name or len(set(ids)) == len(ids))

    def _fail_alike(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Runs lines that could not be built: they fail as well, after they have changed what stands before the
        fault. If they do not, the error is told."""
        with _core.imperative():
            self._fl_function(*with_tensors(args), **with_tensors(kwargs))

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        if self._signature is None:
            import inspect

            self._signature = inspect.signature(self._fl_function)
            parts = self._signature.parameters.values()
            self._gathered = frozenset(part.name for part in parts if part.kind in (part.VAR_POSITIONAL, part.VAR_KEYWORD))
            defaults = [part.default for part in parts]
            self._has_object_defaults = any(
                type(default) not in _PLAIN and default is not inspect.Parameter.empty for default in defaults
            )
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

    def _entry(self, given: Given) -> tuple[Entry, tuple]:
        """The program for a call, built if there is none, and what it takes."""
        opens = self._opens.get(given.form, frozenset())
        entries = self._entries.setdefault(given.key(opens), [])
        found = _ready(entries, given)
        if found is not None:
            return found
        self._say_why(given, opens)
        if any(entry.phases.are_gone() for entry in entries):
            # Their parameters go with them, and so their names are free, as they are line by line.
            entries[:] = [entry for entry in entries if not entry.phases.are_gone()]
            self._quick.clear()
        for entry in entries:
            if entry.fits(given.shapes):
                self._open_paths |= entry.outer.changed_numbers() - self._closed_paths
        former = self._former.get(given.form)
        if former is not None:
            opens |= given.changed_since(former) - self._closed.get(given.form, frozenset())
        self._former[given.form] = given.all_numbers
        entry = self._built(given, opens)
        opens = self._opens.get(given.form, frozenset())
        key = given.key(opens)
        self._entries.setdefault(key, []).append(entry)
        self._watch(given.values, key)
        while sum(map(len, self._entries.values())) > CACHE_SIZE:
            self._quick.clear()
            oldest = next(key for key, found in self._entries.items() if found)
            self._entries[oldest].pop(0)
            if not self._entries[oldest]:
                del self._entries[oldest]
                self._watched.pop(oldest, None)
                if all(other[0] != oldest[0] for other in self._entries):
                    tables = (self._seen, self._fixed, self._opens, self._closed, self._former, self._by_path)
                    for table in tables:
                        table.pop(oldest[0], None)
        return entry, entry.taken(given.tensors, given.all_numbers)

    def _built(self, given: Given, opens: frozenset[int]) -> Entry:
        """A program for a call, with numbers open that have changed, if that is possible; or one for its path."""
        if given.form in self._by_path:
            return self._built_by_path(given, self._by_path[given.form])
        try:
            return self._built_whole(given, opens)
        except Exception as error:
            if self.whole or not can_decide(error):
                raise
            try:
                entry = self._built_by_path(given, places_of(error) or None)
            except Exception as other:
                if getattr(other, "_fl_of_lines", False):
                    raise
                raise error from None
            _log("warning", "%s: a program for each path, since one cannot have all: %s", self._name, error)
            return entry

    def _built_by_path(self, given: Given, places: frozenset[str] | None) -> Entry:
        """A program for the path of a call, its sizes and numbers."""
        opens, self._open_paths = self._open_paths, frozenset()
        try:
            build = functools.partial(self._build, given, given.shapes, frozenset())
            entry, self._by_path[given.form] = by_path(build, places)
        finally:
            self._open_paths = opens
        self._opens[given.form] = frozenset()
        return entry

    def _built_whole(self, given: Given, opens: frozenset[int]) -> Entry:
        """A program for a call that has all paths."""
        paths = self._open_paths
        try:
            entry = self._build_for_sizes(given, opens)
        except Exception:
            if not opens and not paths:
                raise
            self._open_paths = frozenset()
            try:
                entry = self._build_for_sizes(given, frozenset())
            except Exception:
                self._open_paths = paths
                raise
            self._closed_paths |= paths
            self._closed[given.form] = self._closed.get(given.form, frozenset()) | opens
            opens = frozenset()
        entry.makes_layers = entry.phases.are_gone()
        fixed = entry.outer.tape.fixed()
        closed = frozenset(i for i in opens if f"given[{i}]" in fixed)
        if closed:
            self._closed[given.form] = self._closed.get(given.form, frozenset()) | closed
        for i in closed:
            self._decided[given.form, i] = entry.outer.tape.reason(f"given[{i}]")
        closed_paths = frozenset(shown for shown in fixed.values() if shown in self._open_paths)
        self._closed_paths |= closed_paths
        self._open_paths -= closed_paths
        self._opens[given.form] = opens - closed
        names = list(given.values)
        for i in opens - closed:
            path = given.numbers[i][0]
            if len(path) == 1:
                self._open_places |= {path[0], names.index(path[0])}
        return entry

    def _build_for_sizes(self, given: Given, opens: frozenset[int]) -> Entry:
        """A program for a call, for any sizes where some were seen, if that is possible."""
        shapes = given.shapes
        seen = self._seen.setdefault(given.form, [])
        if shapes not in seen[-1:]:
            seen.append(shapes)
        del seen[:-8]
        fixed = self._fixed.setdefault(given.form, set())
        pattern = pattern_of(seen, shapes, fixed)
        try:
            entry = self._build(given, pattern, opens)
        except Exception as error:
            if pattern == shapes:
                raise
            fixed |= size_places(pattern, getattr(error, "_fl_fixed", ()))
            _log(
                "warning", "%s: built for %s only, not for any size: %s", self._name, shapes, error
            )
            entry = self._build(given, shapes, opens)
        if entry.fixed:
            fixed |= entry.fixed
            whys = ", ".join(guard.why for guard in entry.guards)
            _log("warning", "%s: a program for each size, whose number is asked for: %s", self._name, whys)
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
                    function._watched.pop(key, None)
                    function._quick.clear()

        for _, leaf in leaves(arguments):
            if not is_tensor(leaf) and not isinstance(leaf, PLAIN):
                try:
                    watched.append(weakref.ref(leaf, forget))
                except TypeError:
                    watched.append(leaf)

    def _say_why(self, given: Given, opens: frozenset[int]) -> None:
        """Notes why a program is built; too many builds are worth a warning."""
        why = self._why(given, opens)
        self.builds.append(why)
        if self.log:
            _log("info", "%s: build %d: %s", self._name, len(self.builds), why)
        if why == MADE_INSIDE and self.builds.count(why) == 1:
            self._warn(why, "make the layer before, outside of the function")
        elif len(self.builds) >= MANY_BUILDS and len(self.builds) % MANY_BUILDS == 0:
            self._warn(
                why, "give what changes as a tensor, or keep it the same; `builds` of the function lists all reasons"
            )

    def _warn(self, why: str, remedy: str) -> None:
        import warnings

        warnings.warn_explicit(
            f"`{self._name}` was built {len(self.builds)} times; the last time because {why}\n  remedy: {remedy}",
            RuntimeWarning,
            *_place(user_line()),
        )

    def _why(self, given: Given, opens: frozenset[int]) -> str:
        if not self.builds:
            return "it was called for the first time"
        key = given.key(opens)
        for entry in reversed(self._entries.get(key, [])):
            if not entry.fits(given.shapes):
                return f"sizes were new: {', '.join(map(str, given.shapes))}"
            broken = entry.broken(given.all_numbers)
            if broken:
                return broken
        former = self._former.get(given.form)
        changed = given.changed_since(former) if former is not None else frozenset()
        if changed:
            name = given.shown(min(changed))
            known = self._decided.get((given.form, min(changed)))
            return f"the argument `{name}` has changed" + (f", and {known}" if known else "")
        others = [other for other in self._entries if other != key and self._entries[other]]
        if others:
            last = dict(others[-1][0][0][1:])
            new = [name for name, part in key[0][0][1:] if last.get(name) != part]
            if new:
                return f"the argument `{new[0]}` was new: another type, value or object"
        return "the arguments were new"

    def _build(
        self, given: Given, pattern: tuple, opens: frozenset[int], paths: Paths | None = None
    ) -> Entry:
        from ._convert.regions import with_long_loops

        before = _core.set_build((self._number, len(self.builds)))
        try:
            with noting() as noted:
                entry = with_long_loops(lambda: self._traced(given, pattern, opens, paths))
        finally:
            _core.set_build(before)
        entry.phases = Phases(noted, entry.program)
        return entry

    def _traced(
        self, given: Given, pattern: tuple, opens: frozenset[int], paths: Paths | None
    ) -> Entry:
        from ._convert import convert, explained
        from ._convert.build import Build

        arguments = dict(given.values)
        sizes = open_sizes(pattern, given.shapes)
        if paths is not None:
            paths.begin()
        begin_program()
        try:
            with Build(opens=self._open_paths, paths=paths) as build:
                for name, tensor, shape in zip(input_names(arguments), given.tensors, pattern):
                    param = _core.program_input(name, _core.held(tensor).dtype, shape)
                    build.outer.take(tensor, param)
                build.outer.arguments(arguments, {i: given.numbers[i][0] for i in opens}, self._gathered)
                with guarding(sizes) as guards, explained(sizes):
                    result = self._called(convert(self._fl_function), arguments)
                    results = Results(build.outer, _place_of(self._fl_function))
                    form = results.form(self._fetched(result))
                    effects = results.effects()
                    freed = results.freed()
                    decided = None if paths is None else paths.decided()
                outputs = {f"out{i}": output for i, output in enumerate(results.outputs)}
        except BaseException as error:
            _core.abort_program()
            if isinstance(error, Exception):
                vars(error)["_fl_tests"] = build.outer.has_tests
            raise
        gradients = _core.program_gradients()
        goes_back, hooks = _core.goes_back(), _core.program_hooks()
        program = _core.end_program(outputs)
        if self.log:
            _log("info", "%s: built for %s", self._name, list(program.inputs.values()))
        donated = self._donated(given.values)
        run: Any = program
        if donated:
            run = program.compile(single=False, donate=donated, recorded=True)
        entry = Entry(program, run, pattern, build.outer, form, effects, results.targets, gradients, goes_back)
        entry.hooks, entry.freed = hooks, freed
        entry.guarded(guards)
        entry.takes_path(decided)
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


def _ready(entries: list[Entry], given: Given) -> tuple[Entry, tuple] | None:
    """The first program that serves a call, and what it takes; the last used stands last."""
    for i, entry in enumerate(entries):
        ready = entry.ready(given.tensors, given.all_numbers) if entry.fits(given.shapes) else None
        if ready is not None:
            entries.append(entries.pop(i))
            return entry, ready
    return None


def _place_of(function: Any) -> str:
    """The file and the line where a function stands."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)


def _place(line: str) -> tuple[str, int]:
    file, _, number = line.rpartition(":")
    return file or "<unknown>", int(number) if number.isdigit() else 0


def _log(level: str, message: str, *args: object) -> None:
    import logging

    getattr(logging.getLogger("fluvial.function"), level)(message, *args)
