"""`try` whose body only the run can make fail: a block that is attempted, and handlers that are branches.

The body is traced in a block. Before each call of it that may fail, the program notes what names and objects hold
there; so after the attempt they are what the lines before the fault have left, and a number says which fault it was.
Each handler is then a branch on that number, in which the exception is raised once more for Python to catch.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _core
from .._fault import user_line
from . import journal, logic, tags, trying
from .errors import Mismatch, now
from .forms import Form, Kept, form_of, leaves_of, made, with_kept
from .loops import alike
from .paths import is_decided, place_of, refuse_failing
from .raised import class_named, in_program, is_static, remade
from .state import BUILD
from .regions import LOCAL, If, Key, Meta, Region, abort, begin, end, release
from .trees import UNBOUND, Tensor, is_tensor, joined, keeps, natural, tensor_of, zeros_like


class _Faults(threading.local):
    def __init__(self) -> None:
        #: The attempts whose bodies are being traced.
        self.attempts: list[Attempt] = []
        #: How many functions are being converted.
        self.n_scopes = 0
        self.keys = itertools.count(1)
        #: The fault whose error is being raised again.
        self.again: Fault | None = None


FAULTS = _Faults()


def at_fault(op: str, line: str, raised: Any, words: list[str] | None) -> None:
    """Is told of each call that may fail, before it stands in the program."""
    kind = class_named(raised) if isinstance(raised, str) else raised
    known = tuple(words) if words is not None and is_static(words) else None
    fault = FAULTS.again or Fault(op, line, kind, known)
    for attempt in reversed(FAULTS.attempts):
        if attempt.point(fault):
            # It does not get beyond this one.
            return
    outer = BUILD.outer
    if outer is not None and outer.world is journal.LOCAL.world:
        from .._left import note_changes

        note_changes(outer)


class Fault(NamedTuple):
    """What may go wrong in an attempt: an op and its line, the class of the exception, its words if they are known."""

    op: str
    line: str
    kind: type[BaseException] | None
    words: tuple[str, ...] | None

    def error(self, key: str) -> BaseException:
        """The exception, for the handlers of the attempt with this key."""
        kind = self.kind or BaseException
        if self.words is None:
            error = _unknown(kind)
        else:
            error = remade(f"{kind.__module__}:{kind.__qualname__}", list(self.words), [], self.line)
        vars(error)["_fl_again"] = (key, self)
        return error


def raise_again(error: BaseException) -> bool:
    """Raises an exception again that an attempt has caught, where the program is being built; says whether it is one."""
    known = getattr(error, "_fl_again", None)
    if known is None:
        return False
    _again(_core.tensor(True), *known)
    return True


def _again(condition: Any, key: str, fault: Fault) -> None:
    FAULTS.again = fault
    try:
        _core.raise_again(condition, key)
    finally:
        FAULTS.again = None


def _flat(kinds: Any) -> tuple:
    """Classes of handlers, which may stand in tuples."""
    return tuple(part for kind in kinds for part in (_flat(kind) if isinstance(kind, tuple) else (kind,)))


def _unknown(kind: type[BaseException]) -> BaseException:
    """An exception of a class whose text only the run knows."""

    def text(*_: Any) -> Any:
        raise Mismatch(
            f"{user_line()}: the text of this {kind.__name__} is known only when the program runs\n"
            "  remedy: use its class alone, or return a flag and make the text after the call"
        )

    body = {"__str__": text, "__repr__": text, "__reduce__": text, "args": property(text)}
    own: Any = type(kind.__name__, (kind,), {**body, "__module__": kind.__module__, "__qualname__": kind.__qualname__})
    return own.__new__(own)


#: What a name or an object is at an end of the body: its form and leaves, or nothing if it has no value.
End = tuple[Form, list] | None


class Attempt(Region):
    """The body of a `try`, traced in a block that may fail."""

    def __init__(self, meta: Meta, kinds: Callable[[], Any] | None) -> None:
        super().__init__(meta)
        #: The classes of the handlers; nothing stands for all.
        self.kinds = kinds
        self.key = f"@{next(FAULTS.keys)}"
        self.faults: dict[Fault, int] = {}
        #: By key: the form, the element types of its leaves (None for those that stay), once known.
        self.layout = {}
        self.places: dict[tuple[Key, int], int] = {}
        #: By place of a value that may be an object of before: that of its tag; and what it is at the ends.
        self.tags: dict[int, int] = {}
        self.leaves: dict[int, list] = {}
        self.is_known = False

    def start(self, scope: dict, module: dict | None, frame: Any) -> bool:
        self.frame, self.module = frame, module
        self.entry = self.read(scope, module)
        self.snapshot(scope)
        return self.open()

    def open(self) -> bool:
        begin([])
        self.inner_depth = LOCAL.depth
        self.faults = {}
        #: What names and objects are before each fault that is caught.
        self.points: list[dict[Key, End]] = []
        FAULTS.attempts.append(self)
        # Functions that are built into a program of somebody else come here first.
        _core.on_fault(at_fault)
        return self.hand(self.entry)

    # What may fail ----------------------------------------------------------------------------------

    def point(self, fault: Fault) -> bool:
        """Notes what the lines have left where a call may fail; says whether a handler takes it."""
        takes = self.takes(fault)
        same = [known for known in self.faults if (known.kind, known.words) == (fault.kind, fault.words)]
        number = self.faults.setdefault(same[0] if same else fault, len(self.faults) + 1)
        if takes:
            self.points.append({key: self.end(key, value) for key, value in self.now().items()})
        _core.note_value(self.key, _core.tensor(number, "int64"))
        if takes and self.is_known:
            for place, tensor in enumerate(self.tensors()):
                _core.note_value(f"{self.key}.{place}", tensor)
        return takes

    def takes(self, fault: Fault) -> bool:
        """Whether a handler takes a fault. One of which that is not clear is refused."""
        if fault.kind is None:
            return False
        if self.kinds is None:
            return True
        kinds = _flat(now(self.kinds))
        if issubclass(fault.kind, kinds):
            return True
        if any(issubclass(kind, fault.kind) for kind in kinds):
            raise trying.refused(fault.op, fault.line, "only the run knows which exception it would be")
        return False

    def now(self) -> dict[Key, Any]:
        """What names and objects are now."""
        assert self.frame is not None
        scope = self.frame.f_locals
        names = {name: self.value_of(name, scope) for name in self.meta.names if name in self.meta.live}
        release(scope)
        return {**names, **self.contents()}

    def value_of(self, name: str, scope: dict) -> Any:
        names = self.module if self.module is not None and name in self.meta.globals else scope
        return names.get(name, UNBOUND)

    def end(self, key: Key, value: Any) -> End:
        if value is UNBOUND:
            return None
        leaves: list = []
        form = form_of(value, leaves, key not in self.touched)
        return with_kept(form, self.number, key in self.touched), leaves

    def tensors(self) -> list[Tensor]:
        """The values that the attempt gives, as they are now."""
        found: dict[int, Tensor] = {}
        now = self.now()
        for key, (form, like, types) in self.layout.items():
            end = self.end(key, now[key])
            if end is None:
                end = form, [zeros_like(leaf) for leaf in like]
            if not alike(form, end[0]):
                raise self.differs(key, "not of one form", (0, 0))
            for i, dtype in enumerate(types):
                place = self.places.get((key, i))
                if place is not None and place not in found:
                    found[place] = tensor_of(end[1][i], dtype)
                    if place in self.tags:
                        found[self.tags[place]] = tags.as_value(tags.beside(end[1][i], dtype))
        return [found[place] for place in range(len(found))]

    # Closing ----------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends the trace of the body, also of blocks in it that an exception has left."""
        if self in FAULTS.attempts:
            del FAULTS.attempts[FAULTS.attempts.index(self) :]
        while LOCAL.depth > self.inner_depth:
            abort()
        tracing = journal.LOCAL.tracing
        del tracing[tracing.index(self) + 1 :]  # type: ignore[arg-type]

    def give_up(self) -> dict[str, Any]:
        """Forgets the trace: nothing of it can fail so that a handler takes it."""
        abort()
        self.again()
        self.leave()
        return self.entry

    def taken(self) -> list[tuple[int, Fault]]:
        """The faults that handlers take, with their numbers."""
        return [(number, fault) for fault, number in self.faults.items() if self.takes(fault)]

    def settle(self) -> bool:
        """Finds out what the attempt has to give; says whether the body has to be traced again."""
        now = self.now()
        ends = [{key: self.end(key, value) for key, value in now.items()}, *self.points]
        found: dict[Key, tuple] = {}
        kept: dict[tuple[Key, int], list] = {}
        for key in now:
            every = [self.at(end, key) for end in ends]
            bound = [end for end in every if end is not None]
            if not bound:
                continue
            if len(bound) < len(every) and key not in self.meta.fill:
                if key in self.touched:
                    raise self.differs(key, "there on one path only", (0, 0))
                continue
            form, first = bound[0]
            if not all(alike(form, other) for other, _ in bound[1:]):
                values = [slot_value(end) for end in bound]
                if not self.becomes_list(key, *values):
                    raise self.differs(key, "not of one form where it may fail and behind", (0, 0))
                continue
            types: list = []
            used = leaves_of(form)
            for i, leaf in enumerate(first):
                if i not in used:
                    types.append(None)
                    continue
                leaves = [leaves[i] for _, leaves in bound]
                stays = all(keeps(leaf, other) for other in leaves[1:])
                # Where a tensor is not bound, nobody sees it.
                if stays and (len(bound) == len(every) or is_tensor(leaf)) and not self.is_new(leaf):
                    types.append(None)
                    continue
                types.append(self.joined(key, leaves))
                kept[key, i] = leaves
            found[key] = (form, first, types)
        if self.to_list:
            return True
        was, self.layout = self.layout, found
        if self.is_known and [part[2] for part in was.values()] == [part[2] for part in found.values()]:
            return False
        self.is_known = True
        self.places = {}
        known: dict[tuple, int] = {}
        for place, leaves in kept.items():
            ids = tuple(map(id, leaves)) if all(map(is_tensor, leaves)) else (place,)
            self.places[place] = known.setdefault((*ids, found[place[0]][2][place[1]]), len(known))
        self.tags = {}
        for (key, i), leaves in kept.items():
            number, dtype = self.places[key, i], found[key][2][i]
            if number not in self.tags and any(has_tag(leaf, dtype) for leaf in leaves):
                self.tags[number] = len(known) + len(self.tags)
                self.leaves[number] = leaves
        return True

    def at(self, end: dict[Key, End], key: Key) -> End:
        """What a name or an object is at an end; an object that was not changed before is as it was."""
        if key in end:
            return end[key]
        return self.end(key, self.touched[key][1] if key in self.touched else self.entry[key])

    def is_new(self, leaf: Any) -> bool:
        """Whether a leaf was made in the body."""
        return is_tensor(leaf) and _core.tensor_number(leaf) > self.number

    def joined(self, key: Key, leaves: list) -> Any:
        dtype, first = natural(leaves[0]), leaves[0]
        for leaf in leaves[1:]:
            try:
                dtype = joined(first, leaf)
            except Mismatch as fault:
                raise self.differs(key, str(fault), (0, 0)) from None
            first = leaf if natural(leaf) == dtype else first
        return dtype

    def close(self) -> tuple[Tensor, dict[str, Any]]:
        """Closes the body: gives the number of the fault and the names behind it."""
        results = self.tensors()
        sources = list(results)
        block = end(results)
        begin([])
        otherwise = end([tensor_of(zeros_like(tensor), natural(tensor)) for tensor in results])
        caught = [number for number, _ in self.taken()]
        number, outputs = _core.attempt_of(block, otherwise, self.key, caught)
        values: dict[str, Any] = {}
        unchanged = {name: value for name, value in self.entry.items() if name not in self.layout}
        for key, (form, leaves, types) in self.layout.items():
            value = self.made(key, form, leaves, types, outputs)
            if key in self.touched:
                self.touched[key][0].put(value)
            else:
                values[key] = value
        for name in self.meta.live - values.keys():
            self.forget(name, "only a part of the body of `try` binds it")
            unchanged.pop(name, None)
        self.leave()
        for place, (output, source) in enumerate(zip(outputs, sources)):
            if place in self.tags:
                tags.note(output, outputs[self.tags[place]], *self.leaves[place])
            if place not in self.tags.values():
                journal.may_be(output, source)
        self.layout, self.points, self.frame, self.leaves = {}, [], None, {}
        return number, {**unchanged, **values}

    def made(self, key: Key, form: Form, leaves: list, types: list, outputs: list[Tensor]) -> Any:
        if all(dtype is None for dtype in types) and not self.was_made(key, form):
            return self.at_entry(key)

        def leaf(i: int) -> Any:
            place = self.places.get((key, i))
            return leaves[i] if place is None else outputs[place]

        return made(form, leaf)

    def was_made(self, key: Key, form: Form) -> bool:
        """Whether the body gives a name another value than the entry has, though its leaves stay."""
        return key in self.touched or not isinstance(form, Kept) or form.value is not self.entry[key]


def has_tag(leaf: Any, dtype: Any) -> bool:
    """Whether a leaf is an object of before, or a number where others are tensors."""
    if is_tensor(leaf) and not leaf._is_number:
        return not leaf.type_text.startswith("list") and tags.tag_of(leaf) is not None
    return tags.beside(leaf, dtype) is not None


def slot_value(end: tuple[Form, list]) -> Any:
    form, leaves = end
    return getattr(form, "source", None) if not hasattr(form, "number") else leaves[0]


class Tried(Region):
    """What `try` with handlers and `try` with `finally` share: the trace of the body in an attempt."""

    def __init__(self, meta: Meta, kinds: Callable[[], Any] | None) -> None:
        super().__init__(meta)
        self.kinds = kinds
        #: Whether the statement is Python's own, since nothing in it can fail as the program runs.
        self.is_plain = False
        self.attempt: Attempt | None = None
        #: What the body raises while it is traced.
        self.error: BaseException | None = None
        self.begun = False
        #: Whether it has to be Python's own, in a program of one path.
        self.is_decided = False
        self.body: trying.Trying | None = None

    def enter(self, scope: dict, module: dict | None = None) -> bool:
        """Goes on to the next pass; says whether the names have to be taken over."""
        if self.attempt is not None:
            return self.judge(scope)
        if self.begun:
            return self.follow(scope, module)
        self.begun = True
        self.is_decided = _core.is_building() and is_decided(place_of(self.meta))
        if not _core.is_building() or self.is_decided:
            self.is_plain = True
            return False
        self.attempt = Attempt(self.meta, self.kinds)
        return self.takes(self.attempt, self.attempt.start(scope, module, sys._getframe(1)))

    def takes(self, region: Region, hands: bool) -> bool:
        """Hands the names on that a region gives."""
        self.lost, self._values = region.lost, region._values
        return hands

    def judge(self, scope: dict) -> bool:
        """Looks at what the trace of the body has found."""
        attempt = self.attempt
        assert attempt is not None
        attempt.stop()
        if not attempt.taken():
            self.attempt, self.error, self.is_plain = None, None, True
            return self.hand(attempt.give_up())
        if attempt.settle():
            release(scope)
            self.error = None
            abort()
            attempt.again()
            return self.takes(attempt, attempt.open())
        taken = attempt.taken()
        number, values = attempt.close()
        release(scope)
        self.attempt = None
        return self.goes_on(number, attempt.key, taken, values, scope)

    def goes_on(self, number: Tensor, key: str, taken: list, values: dict[str, Any], scope: dict) -> bool:
        """Goes on behind the attempt."""
        raise NotImplementedError

    def follow(self, scope: dict, module: dict | None) -> bool:
        """Goes on in a further pass behind the attempt."""
        self.done = True
        return False

    def __enter__(self) -> None:
        self.body = trying.Trying(self.kinds or (lambda: (BaseException,)))
        self.body.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if self.body is not None and self.is_decided:
            trying.TRIES.active.remove(self.body)
            if not isinstance(error, Mismatch) and self.body.may_fail():
                refuse_failing(place_of(self.meta))
            return False
        if self.body is not None:
            trying.TRIES.active.remove(self.body)
        if self.attempt is None:
            return False
        is_ours = isinstance(error, Mismatch) or not isinstance(error, Exception)
        if error is None or is_ours or LOCAL.depth != self.attempt.inner_depth:
            return False
        self.error = error
        return True


class Case(NamedTuple):
    """What happens after an attempt if a condition holds: an exception is caught, or `else` is reached."""

    test: Any
    error: BaseException | None


class Try(Tried):
    """`try` with handlers."""

    def __init__(self, meta: Meta, kinds: Callable[[], Any], has_else: bool) -> None:
        super().__init__(meta, kinds)
        self.has_else = has_else
        #: Whether the statement is reached in this pass.
        self.branch = True
        self.inner: If | None = None
        self.cases: list[Case] = []
        self.raises: BaseException | None = None

    @property
    def tries(self) -> bool:
        """Whether the body is reached."""
        return self.is_plain or self.attempt is not None

    @property
    def passes(self) -> bool:
        """Whether `else` is reached."""
        return self.is_plain or (self.inner is not None and self.raises is None)

    def goes_on(self, number: Tensor, key: str, taken: list, values: dict[str, Any], scope: dict) -> bool:
        for i, fault in taken:
            self.cases.append(Case(number != 0 if len(taken) == 1 else number == i, fault.error(key)))
        error = self.error
        if error is not None and isinstance(error, now(self.kinds)):  # type: ignore[arg-type]
            self.cases.append(Case(number == 0, error))
        elif error is not None:
            in_program(error, number != 0)
        elif self.has_else:
            self.cases.append(Case(number == 0, None))
        return self.next_case(values, scope)

    def next_case(self, names: dict[str, Any], scope: dict) -> bool:
        """Begins the branch of the next case."""
        if not self.cases:
            self.done = True
            return self.hand(names)
        case = self.cases.pop(0)
        self.raises = case.error
        self.inner = If(self.meta, logic.as_condition(case.test))
        self.inner.entry = {name: names.get(name, UNBOUND) for name in self.meta.names}
        self.inner.snapshot(scope)
        return self.takes(self.inner, self.inner.open_first())

    def follow(self, scope: dict, module: dict | None) -> bool:
        inner = self.inner
        if inner is None:
            return super().follow(scope, module)
        hands = inner.enter(scope, module)
        self.branch = bool(inner.branch)
        if not inner.done:
            return self.takes(inner, hands)
        self.inner, self.branch = None, True
        names = {name: value for name, value in zip(self.meta.names, inner._values) if name not in inner.lost}
        return self.next_case(names, scope)

    def failed(self) -> bool:
        """Takes an exception of a handler that is traced as a branch."""
        return self.inner is not None and self.inner.failed()

    def __enter__(self) -> None:
        if self.inner is not None:
            self.body = None
            if self.raises is not None:
                raise self.raises.with_traceback(None)
            return
        super().__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        return self.body is not None and super().__exit__(kind, error, trace)


class Finally(Tried):
    """`try` with `finally`: the error is raised again behind it."""

    def __init__(self, meta: Meta) -> None:
        super().__init__(meta, None)
        self.ended: Any = None

    def goes_on(self, number: Tensor, key: str, taken: list, values: dict[str, Any], scope: dict) -> bool:
        self.pending = (number, key, taken)
        return self.hand(values)

    def ends(self) -> None:
        """Raises again what the body has raised."""
        number, key, taken = self.pending
        for i, fault in taken:
            _again(number == i, key, fault)
        if self.error is not None:
            in_program(self.error, number != 0)
