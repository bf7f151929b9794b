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
from ._fault import fault
from ._tree import children, is_tensor, remade

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._convert.journal import Slot
    from ._convert.outer import Outer
    from ._core import Tensor


class Call:
    """What a call has at hand when the program has run."""

    def __init__(self, inputs: list[Tensor], outputs: Sequence[Tensor], arguments: Any) -> None:
        self.inputs, self.outputs, self.arguments = inputs, outputs, arguments
        self.made: dict[int, Any] = {}


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


class Given(Form):
    """The tensor that was given as an input."""

    def __init__(self, number: int) -> None:
        self.number = number

    def value(self, call: Call) -> Any:
        return call.inputs[self.number]


class Choice(Form):
    """One of two objects, by a condition that the program gives."""

    def __init__(self, condition: Output, one: Any, other: Any) -> None:
        self.condition, self.one, self.other = condition, one, other

    def value(self, call: Call) -> Any:
        return value_of(self.one if bool(self.condition.value(call)) else self.other, call)


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
        return self.get(call.arguments)


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

    def make(self, parts: list) -> Any:
        columns = [list(part) for part in parts]
        return [self.kind.element(list(row)) for row in zip(*columns)]


def value_of(form: Any, call: Call) -> Any:
    """The value of a form; what is no form is the same at each call."""
    return form.value(call) if isinstance(form, Form) else form


class Results:
    """Collects the outputs of a program while the forms of values are made."""

    def __init__(self, outer: Outer) -> None:
        self.outer, self.outputs = outer, []  # type: ignore[var-annotated]
        self._numbers: dict[int, Form] = {}
        self._made = itertools.count()
        self._alive: list[Any] = []

    def form(self, value: Any) -> Any:
        """The form of a value."""
        known = self._numbers.get(id(value))
        if known is not None:
            return known
        form = self._form(value)
        if isinstance(form, (Output, Given, Choice, Constant, Made, Same)):
            self._numbers[id(value)] = form
            self._alive.append(value)
        return form

    def output(self, tensor: Tensor) -> Output:
        """The form of an output of the program."""
        is_number = tensor._is_number
        self.outputs.append(_core.tensor(tensor, tensor.dtype) if is_number else tensor)
        return (Number if is_number else Output)(len(self.outputs) - 1)

    def _form(self, value: Any) -> Any:
        from ._convert import journal
        from ._convert.lists import rows_of

        if is_tensor(value):
            return self._tensor(value)
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
        forms = [self.form(part) for _, part in parts]
        if isinstance(value, tuple) and not any(isinstance(form, Form) for form in forms):
            return value
        return Made(next(self._made), type(value), [key for key, _ in parts], forms)

    def _tensor(self, tensor: Tensor) -> Any:
        from ._convert.journal import LOCAL

        number = self.outer.number_of(tensor)
        if number is not None:
            return Given(number)
        known = LOCAL.choices.get(id(tensor))
        if known is not None and self._is_of_others(tensor):
            return self._choice(tensor, known)
        if not hasattr(tensor, "is_trainable") and not _core.held(tensor).is_symbolic:
            outer = _core.tensor_number(tensor) < self.outer.world.number
            return tensor if outer else Constant(tensor)
        if hasattr(tensor, "is_trainable"):
            return tensor
        return self.output(tensor)

    def _is_of_others(self, tensor: Any) -> bool:
        """Whether a tensor may be an object of the user's."""
        from ._convert.journal import LOCAL

        if self.outer.number_of(tensor) is not None:
            return True
        known = LOCAL.choices.get(id(tensor))
        return known is not None and any(map(self._is_of_others, known[2:]))

    def _choice(self, tensor: Tensor, known: tuple) -> Choice:
        _, condition, one, other = known
        forms = []
        for source in (one, other):
            # What is none of the user's has no value of its own after the branch.
            forms.append(self.form(source) if self._is_of_others(source) else None)
        if None in forms:
            output = self.output(tensor)
            forms = [output if form is None else form for form in forms]
        if id(condition) not in self._numbers:
            self._numbers[id(condition)] = self.output(condition)
            self._alive.append(condition)
        return Choice(self._numbers[id(condition)], *forms)  # type: ignore[arg-type]

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

    def target(self, owner: Any) -> Callable[[Any], Any] | None:
        """How to find an object of the user's at a call, given the arguments."""
        path = self.outer.path_of(owner)
        if path is None:
            return None
        return eval(f"lambda arguments: {path.text}", self.outer.scope)

    # Changes ----------------------------------------------------------------------------------------

    def effects(self) -> list[Callable[[Call], None]]:
        """What each call has to change, in the order of the first changes."""
        touched = list(self.outer.world.touched.values())
        made = [self._effect(slot, before) for slot, before in touched]
        return [effect for effect in made if effect is not None]

    def _effect(self, slot: Slot, before: Any) -> Callable[[Call], None] | None:
        from ._convert.journal import Attribute, Global

        now = slot.take()
        if is_tensor(slot.owner):
            number = self.outer.number_of(slot.owner)
            if number is None:
                return None
            form = self.output(now)
            return lambda call: _core.put_held(call.inputs[number], form.value(call))
        target = slot.owner
        owner = self.target(target) or (lambda arguments: target)
        if isinstance(slot, Global):
            form = self.form(now)
            return lambda call: slot.put(value_of(form, call))
        if isinstance(slot, Attribute):
            return self._attribute(slot, owner, now, before)
        if hasattr(slot.owner, "_fl_lists"):
            return None
        if isinstance(now, dict):
            return self._entries(owner, now, before)
        if isinstance(now, list):
            return self._items(slot, owner, now, before)
        if isinstance(now, frozenset):
            added, removed = now - before, before - now
            return lambda call: _change_set(owner(call.arguments), added, removed)
        return _putting(type(slot), owner, now)

    def _attribute(self, slot: Any, owner: Callable, now: Any, before: Any) -> Callable[[Call], None] | None:
        from ._convert.trees import UNBOUND

        if now is before:
            return None
        name, put = slot.name, slot.set
        if now is UNBOUND:
            return lambda call: delattr(owner(call.arguments), name)
        form = self.form(now)
        return lambda call: put(owner(call.arguments), name, value_of(form, call))

    def _entries(self, owner: Callable, now: dict, before: dict) -> Callable[[Call], None]:
        changed = {
            key: self.form(value)
            for key, value in now.items()
            if key not in before or before[key] is not value
        }
        removed = [key for key in before if key not in now]
        as_set = [key for key in before if key in now] + [key for key in now if key not in before]
        order = [] if as_set == list(now) else list(now)

        def change(call: Call) -> None:
            entries = owner(call.arguments)
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
            columns = Columns(next(self._made), rows, None, list(map(self.output, rows.stacks())))
            return _putting(type(slot), owner, columns)
        kept = len(before) <= len(now) and all(a is b for a, b in zip(before, now))
        if kept:
            added = [self.form(value) for value in now[len(before) :]]
            return lambda call: owner(call.arguments).extend(value_of(form, call) for form in added)
        places = {id(value): i for i, value in enumerate(before)}
        forms = [places[id(x)] if id(x) in places and not _is_plain(x) else self.form(x) for x in now]
        old = [id(x) in places and not _is_plain(x) for x in now]
        self.outer.content(slot.owner)
        kind = type(slot)

        def change(call: Call) -> None:
            target = owner(call.arguments)
            held = list(target)
            new = [held[f] if was else value_of(f, call) for f, was in zip(forms, old)]
            kind(0, target, "").put(new)

        return change


def _putting(kind: type[Slot], owner: Callable, form: Any) -> Callable[[Call], None]:
    return lambda call: kind(0, owner(call.arguments), "").put(value_of(form, call))


def _is_plain(value: Any) -> bool:
    return isinstance(value, (int, float, bool, str, bytes, type(None)))


def _change_set(members: set, added: frozenset, removed: frozenset) -> None:
    members -= removed
    members |= added
