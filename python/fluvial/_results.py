"""What a built function gives and leaves behind: its result, and its changes of objects of the user's.

The form of a result says where outputs of the program stand in it, and which objects are the caller's own; so a
result has the same identities as one computed line by line: the argument that was returned is that argument, and
one tensor in two places is one object. Changes are done again at each call.
"""

from __future__ import annotations

import collections
import copy
import itertools

from . import _core
from ._fault import fault, user_line
from ._opens import Open, example
from ._tree import children, is_parameter, is_tensor, remade

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._convert.journal import Slot
    from ._convert.outer import Outer
    from ._core import Tensor


#: The tags of tensors that a function has made begin here; those before are numbers of inputs.
MADE = 1 << 32
#: The tags of Python numbers, by kind.
NUMBERS: dict[type, int] = {int: -2, float: -3, bool: -4}
_KINDS = {tag: kind for kind, tag in NUMBERS.items()}
#: The tag of None, where it stands for a gradient that is not there.
NONE = -5


_UNKNOWN = (
    "a number that the function gives is an int or a float, and only the run knows which",
    "write the int as a float, such as `1.0`",
)


class Call:
    """What a call has at hand when the program has run."""

    def __init__(
        self,
        inputs: list[Tensor],
        outputs: Sequence[Tensor],
        arguments: Any,
        numbers: tuple | None,
        targets: list[Callable[[Any], Any]],
    ) -> None:
        self.inputs, self.outputs = inputs, outputs
        #: The user's objects that it speaks of, as they stand before the call changes where they stand.
        self.objects = [get(arguments) for get in targets]
        #: What was computed for the call of open numbers.
        self.numbers = numbers
        self.made: dict[int, Any] = {}
        #: Tensors that the function has made, by their tags.
        self.tagged: dict[int, Tensor] = {}


def object_of(call: Call, tag: int, value: Tensor) -> Any:
    """The object that a tag names, where the program gives this value."""
    if 0 <= tag < MADE:
        return call.inputs[tag]
    if tag in _KINDS:
        return _KINDS[tag](value.item())
    if tag == NONE:
        return None
    return value if tag < 0 else call.tagged.setdefault(tag, value)


class Form:
    """A value that each call makes anew."""

    def value(self, call: Call) -> Any:
        raise NotImplementedError


class Output(Form):
    """An output of the program."""

    def __init__(self, number: int) -> None:
        self.number = number

    def value(self, call: Call) -> Any:
        return call.outputs[self.number]


class Number(Output):
    """An output of the program that is a Python number line by line."""

    def value(self, call: Call) -> Any:
        return call.outputs[self.number].item()


class EitherNumber(Output):
    """An output of the program that is an int or a float line by line."""

    def __init__(self, number: int, kind: Output) -> None:
        super().__init__(number)
        self.kind = kind

    def value(self, call: Call) -> Any:
        number, kind = call.outputs[self.number].item(), call.outputs[self.kind.number].item()
        if kind > 1:
            raise fault(TypeError, *_UNKNOWN)
        return number if kind else int(number)


class Computed(Form):
    """A Python number that is computed at each call of open ones."""

    def __init__(self, place: int) -> None:
        self.place = place

    def value(self, call: Call) -> Any:
        return call.numbers[self.place]  # type: ignore[index]


class Given(Form):
    """The tensor that was given as an input."""

    def __init__(self, number: int) -> None:
        self.number = number

    def value(self, call: Call) -> Any:
        return call.inputs[self.number]


class Tagged(Output):
    """An output of the program, or an object that the tag of the run names."""

    def __init__(self, number: int, tag: Output | int) -> None:
        super().__init__(number)
        self.tag = tag

    def value(self, call: Call) -> Any:
        tag = int(self.tag.value(call)) if isinstance(self.tag, Output) else self.tag
        return object_of(call, tag, call.outputs[self.number])


class Part(Output):
    """An output of the program that line by line is a part of a tensor of the caller's, or of another result."""

    def value(self, call: Call) -> Any:
        return _as_part(super().value(call))


class TaggedPart(Tagged):
    """The same, where the tag of the run may name another object."""

    def value(self, call: Call) -> Any:
        found = super().value(call)
        return _as_part(found) if found is call.outputs[self.number] else found


def _as_part(tensor: Tensor) -> Tensor:
    # Line by line a change of it would reach the whole.
    _core.mark_part(tensor)
    return tensor


class Constant(Form):
    """A tensor that does not depend on the inputs; each call gives one of its own."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def value(self, call: Call) -> Any:
        return copy.copy(self.tensor)


class Same(Form):
    """An object of the user's."""

    def __init__(self, get: Callable[[Any], Any]) -> None:
        self.get = get

    def value(self, call: Call) -> Any:
        return self.get(call)


class Made(Form):
    """A container or an object that the function makes; in several places it is one."""

    def __init__(self, number: int, kind: Any, keys: Any, parts: list) -> None:
        self.number, self.kind, self.keys, self.parts = number, kind, keys, parts

    def value(self, call: Call) -> Any:
        if self.number not in call.made:
            parts = [value_of(part, call) for part in self.parts]
            call.made[self.number] = self.make(parts)
        return call.made[self.number]

    def make(self, parts: list) -> Any:
        return remade(self.kind, self.keys, parts)


class OneOf(Made):
    """A container of the user's, or one that the function makes, as the run chooses."""

    def __init__(self, number: int, kind: Any, keys: Any, parts: list, test: Output, first: Any, second: Any) -> None:
        super().__init__(number, kind, keys, parts)
        self.test, self.targets = test, (second, first)

    def value(self, call: Call) -> Any:
        if self.number not in call.made:
            test = self.test.value(call)
            target = self.targets[bool(test if isinstance(test, bool) else test.item())]
            if target is not None:
                call.made[self.number] = target(call)
        return super().value(call)


class MadeOf(Made):
    """A deque or a set."""

    def make(self, parts: list) -> Any:
        if isinstance(self.kind, set):
            return type(self.kind)(parts)
        return collections.deque(parts, self.kind.maxlen)


class MadeObject(Made):
    """An object of a class of the user's, with its attributes."""

    def make(self, parts: list) -> Any:
        made = self.kind.__new__(self.kind)
        made.__dict__.update(zip(self.keys, parts))
        return made


class Columns(Made):
    """A list of tensors, whose columns are outputs of the program."""

    def value(self, call: Call) -> Any:
        if self.number not in call.made:
            columns = [list(part.value(call)) for part in self.parts]
            kinds = self.kind._kinds
            places = [i for i, own in enumerate(kinds) if own is None]
            for i, found in zip(places, columns[len(kinds) :]):
                columns[i] = [object_of(call, int(tag), x) for tag, x in zip(found, columns[i])]
            call.made[self.number] = [self.kind.element(list(row)) for row in zip(*columns[: len(kinds)])]
        return call.made[self.number]


def value_of(form: Any, call: Call) -> Any:
    """The value of a form; what is not a form is the same at each call."""
    return form.value(call) if isinstance(form, Form) else form


class Results:
    """Collects the outputs of a program while the forms of values are made."""

    def __init__(self, outer: Outer, place: str = "") -> None:
        self.outer, self.outputs = outer, []  # type: ignore[var-annotated]
        #: Whether to refuse objects of which nobody knows which they are. What a failed run leaves are such as they may be.
        self.checks = bool(place)
        #: Where the function stands.
        self.place = place
        #: How to find the user's objects at a call, given the arguments.
        self.targets: list[Callable[[Any], Any]] = []
        self._numbers: dict[int, Form] = {}
        self._made = itertools.count()
        self._alive: list[Any] = []

    def form(self, value: Any) -> Any:
        """The form of a value."""
        known = self._numbers.get(id(value))
        if known is not None:
            return known
        form = self._form(value)
        if isinstance(form, (Output, Given, Constant, Made, Same)):
            self._numbers[id(value)] = form
            self._alive.append(value)
        return form

    def output(self, tensor: Tensor) -> Output:
        """The form of an output of the program."""
        if tensor._is_number and tensor._is_either:
            return self._either(tensor)
        is_number = tensor._is_number
        self.outputs.append(_core.tensor(tensor, tensor.dtype) if is_number else tensor)
        return (Number if is_number else Output)(len(self.outputs) - 1)

    def _either(self, number: Tensor) -> Output:
        from ._convert.tags import kind_of

        kind = kind_of(number)
        if kind is None:
            raise TypeError(f"{self.place or user_line()}: {_UNKNOWN[0]}\n  remedy: {_UNKNOWN[1]}")
        self.outputs.append(_core.tensor(number, number.dtype))
        return EitherNumber(len(self.outputs) - 1, self.output(kind))

    def _form(self, value: Any) -> Any:
        from ._convert import journal
        from ._convert.lists import rows_of

        if is_tensor(value):
            return self._tensor(value)
        if type(value) is Open:
            return Computed(self.outer.tape.number(value))
        if type(value) is _core.Dim:
            return self.output(_core.number_of(_core.whole_size(value, "int64")))
        rows = rows_of(value)
        is_new = journal.made_since(value, self.outer.world.number)
        if rows is not None and (is_new or rows is value):
            return Columns(next(self._made), rows, None, list(map(self.output, rows.stacks())))
        if isinstance(value, (collections.deque, set)) and is_new:
            forms = [self.form(part) for part in value]
            return MadeOf(next(self._made), value, None, forms)
        parts = children(value)
        if parts is None:
            return self._object(value) if is_new and hasattr(value, "__dict__") else value
        if not is_new and not isinstance(value, tuple):
            target = self.target(value)
            if target is not None:
                return Same(target)
            if not self._has_tensors(value):
                return value
        choice = self._choice(value) if self.checks and not isinstance(value, tuple) else None
        forms = [self.form(part) for _, part in parts]
        if choice is not None:
            return OneOf(next(self._made), type(value), [example(key) for key, _ in parts], forms, *choice)
        if isinstance(value, tuple) and not any(isinstance(form, Form) for form in forms):
            return value
        return Made(next(self._made), type(value), [example(key) for key, _ in parts], forms)

    def _choice(self, value: Any) -> tuple[Output, Any, Any] | None:
        """What says which container one is, if it may be one of the user's: a test, and how to get those; None for new ones."""
        from ._convert.journal import LOCAL, is_held, made_since

        def users() -> list:
            """The two that it may be, as far as they are the user's: nothing may hold others while it is asked who does."""
            _, *both = LOCAL.twins.choice(value) or (None, None, None)
            since = self.outer.world.number
            return [None if x is None or made_since(x, since) else x for x in both]

        known = users()
        if LOCAL.twins.others(value, is_held, tuple(known)):
            raise self._unknown(type(value).__name__)
        targets = [None if x is None else self.target(x) for x in known]
        if [x is None for x in known] != [x is None for x in targets]:
            raise self._unknown(type(value).__name__)
        choice = LOCAL.twins.choice(value)
        if choice is None or targets == [None, None]:
            return None
        return self.output(choice[0]), targets[0], targets[1]

    def _tensor(self, tensor: Tensor) -> Any:
        from ._convert.tags import tag_of

        number = self.outer.number_of(tensor)
        if number is not None:
            return Given(number)
        if not is_parameter(tensor) and not _core.held(tensor).is_symbolic:
            if _core.tensor_number(tensor) >= self.outer.world.number:
                return Constant(tensor)
            if self.outer.path_of(tensor) is None:
                return tensor
            # Another tensor may stand there at a later call.
            self.outer.adopt(tensor)
            known = self.outer.number_of(tensor)
            return tensor if known is None else Given(known)
        if is_parameter(tensor):
            return tensor
        tag = tag_of(tensor)
        if tag is None:
            return self.output(tensor)
        return Tagged(self.output(tensor).number, tag if type(tag) is int else self.output(tag))

    def _object(self, value: Any) -> Any:
        own = vars(value)
        forms = {name: self.form(part) for name, part in own.items()}
        if not any(isinstance(form, Form) for form in forms.values()):
            return value
        if type(value).__new__ is not object.__new__:
            raise fault(
                TypeError,
                f"the function returns an object of `{type(value).__name__}` that holds values of the program",
                "return the values themselves, or a dataclass of them",
            )
        return MadeObject(next(self._made), type(value), list(forms), list(forms.values()))

    def _has_tensors(self, value: Any) -> bool:
        parts = children(value)
        if parts is not None:
            return any(self._has_tensors(part) for _, part in parts)
        return is_tensor(value) and (
            _core.held(value).is_symbolic or self.outer.number_of(value) is not None
        )

    def target(self, owner: Any) -> Callable[[Call], Any] | None:
        """How to find an object of the user's at a call."""
        path = self.outer.path_of(owner)
        if path is None:
            return None
        self.targets.append(eval(f"lambda arguments: {path.text}", self.outer.scope))
        number = len(self.targets) - 1
        return lambda call: call.objects[number]

    def freed(self) -> list[tuple[int, _core.FreedBy]]:
        """The outputs behind which a backward pass of the function has freed something, as the lines would."""
        found = ((i, _core.freed_behind(output)) for i, output in enumerate(self.outputs))
        return [(i, freed) for i, freed in found if freed is not None]

    # Changes ----------------------------------------------------------------------------------------

    def effects(self) -> list[Callable[[Call], None]]:
        """What each call has to change, in the order of the first changes."""
        touched = list(self.outer.world.touched.values())
        made = [self._effect(slot, before) for slot, before in touched]
        if self.checks:
            self._check_tensors()
        self._mark_parts()
        return [effect for effect in made if effect is not None]

    def _check_tensors(self) -> None:
        """Refuses to give a tensor that may be one with another that is given or the user's, if no tag says so."""
        from ._convert.journal import LOCAL

        for tensor in LOCAL.perhaps.unsure():
            if id(tensor) not in self._numbers:
                continue
            for other in (ref() for ref in LOCAL.perhaps.of(tensor)):
                if is_tensor(other) and other is not tensor and self._is_seen(other):
                    raise self._unknown("tensor")

    def _mark_parts(self) -> None:
        """Has results know that they are parts of tensors that are given or the user's."""
        for value in self._alive:
            form = self._numbers[id(value)]
            if type(form) in (Output, Tagged) and any(map(self._is_seen, _core.wholes(value))):
                form.__class__ = Part if type(form) is Output else TaggedPart

    def _is_seen(self, tensor: Tensor) -> bool:
        """Whether a tensor is one that the function gives, or one of the user's."""
        return id(tensor) in self._numbers or _core.tensor_number(tensor) < self.outer.world.number

    def _unknown(self, what: str) -> Exception:
        from ._convert.errors import Mismatch

        return Mismatch(
            f"{self.place or user_line()}: only the run knows which {what} the function gives or leaves, one that it makes or "
            "another one\n  remedy: give a copy, such as `x * 1` or `list(x)`"
        )

    def _effect(self, slot: Slot, before: Any) -> Callable[[Call], None] | None:
        from ._convert.journal import Attribute, Global

        now = slot.take()
        if is_tensor(slot.owner):
            number = self.outer.number_of(slot.owner)
            if number is None:
                return None
            form = self.output(now)
            # A leaf stays one, with its gradient.
            put = _core.put_data if self.outer.tracked[number][0] else _core.put_held
            return lambda call: put(call.inputs[number], form.value(call))
        target = slot.owner
        owner = self.target(target) or (lambda call: target)
        if isinstance(slot, Global):
            form = self.form(now)
            return lambda call: slot.put(value_of(form, call))
        if isinstance(slot, Attribute):
            return self._attribute(slot, owner, now, before)
        if hasattr(type(slot.owner), "_fl_with"):
            return None
        if isinstance(now, dict):
            return self._entries(owner, now, before)
        if isinstance(now, list):
            return self._items(slot, owner, now, before)
        if isinstance(now, frozenset):
            if now == before:
                # Another content may change by the same lines.
                self.outer.content(slot.owner)
                return None
            added, removed = frozenset(map(example, now - before)), frozenset(map(example, before - now))
            return lambda call: _change_set(owner(call), added, removed)
        self.outer.content(slot.owner)
        return None if now == before else _putting(type(slot), owner, now)

    def _attribute(self, slot: Any, owner: Callable, now: Any, before: Any) -> Callable[[Call], None] | None:
        from ._convert.trees import UNBOUND

        if now is before:
            return None
        name, put = slot.name, slot.set
        if now is UNBOUND:
            return lambda call: delattr(owner(call), name)
        form = self.form(now)
        if not is_tensor(now):
            return lambda call: put(owner(call), name, value_of(form, call))

        def change(call: Call) -> None:
            target, value = owner(call), value_of(form, call)
            # What a branch that did not run leaves to the class stays there.
            if name in getattr(target, "__dict__", (name,)) or not _is_inherited(target, name, value):
                put(target, name, value)

        return change

    def _entries(self, owner: Callable, now: dict, before: dict) -> Callable[[Call], None]:
        now = {example(key): value for key, value in now.items()}
        changed = {
            key: self.form(value)
            for key, value in now.items()
            if key not in before or before[key] is not value
        }
        removed = [key for key in before if key not in now]
        as_set = [key for key in before if key in now] + [key for key in now if key not in before]
        order = [] if as_set == list(now) else list(now)

        def change(call: Call) -> None:
            entries = owner(call)
            for key in removed:
                dict.pop(entries, key, None)
            for key, form in changed.items():
                dict.__setitem__(entries, key, value_of(form, call))
            for key in order:
                dict.__setitem__(entries, key, dict.pop(entries, key))

        return change

    def _items(self, slot: Any, owner: Callable, now: list, before: list) -> Callable[[Call], None]:
        from ._convert.lists import rows_of

        rows = rows_of(now)
        if rows is not None:
            self.outer.content(slot.owner)
            columns = Columns(next(self._made), rows, None, list(map(self.output, rows.stacks())))
            return _putting(type(slot), owner, columns)
        kept = len(before) <= len(now) and all(a is b for a, b in zip(before, now))
        if kept:
            added = [self.form(value) for value in now[len(before) :]]
            return lambda call: owner(call).extend(value_of(form, call) for form in added)
        places = {id(value): i for i, value in enumerate(before)}
        forms = [places[id(x)] if id(x) in places and not _is_plain(x) else self.form(x) for x in now]
        old = [id(x) in places and not _is_plain(x) for x in now]
        self.outer.content(slot.owner)
        kind = type(slot)

        def change(call: Call) -> None:
            target = owner(call)
            held = list(target)
            new = [held[f] if was else value_of(f, call) for f, was in zip(forms, old)]
            kind(0, target, "").put(new)

        return change


def _putting(kind: type[Slot], owner: Callable, form: Any) -> Callable[[Call], None]:
    return lambda call: kind(0, owner(call), "").put(value_of(form, call))


def _is_inherited(target: Any, name: str, value: Any) -> bool:
    """Whether an object has this value from its class."""
    inherited = getattr(type(target), name, _is_inherited)
    return inherited is value or _is_plain(value) and type(inherited) is type(value) and inherited == value


def _is_plain(value: Any) -> bool:
    return isinstance(value, (int, float, bool, str, bytes, type(None)))


def _change_set(members: set, added: frozenset, removed: frozenset) -> None:
    members -= removed
    members |= added
