"""What a function takes from outside: tensors become inputs of its program, other values are guarded.

A value is known by its path: how to get it again at a later call, as an expression of Python such as
`globals["cfg"].rate`. A tensor is got anew by its path at each call. Of plain values the program keeps what they
were; a guard says whether they still are, or else another program is built. Guards are compiled into one function.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any

from .. import _core
from .._tree import children, is_array, is_tensor
from . import journal
from .journal import World
from .trees import UNBOUND

Tensor = _core.Tensor

_VALUES = (int, float, bool, str, bytes, complex, type(None), frozenset)


class Path:
    """How to get an object again."""

    def __init__(self, text: str, shown: str, *, counted: bool = False, known: bool = False) -> None:
        self.text = text
        #: How messages call it.
        self.shown = shown
        #: Whether its changes are counted (`_core.changes`), so that guards need not look each time.
        self.counted = counted
        #: Whether the signature of the function has its parts already.
        self.known = known

    def part(self, text: str, shown: str, *, counted: bool = False) -> Path:
        return Path(self.text + text, self.shown + shown, counted=counted, known=self.known)


class Outer:
    """The outer world of one function being built. The core asks it for tensors from outside (`adopt`) and
    tells it of changes (`touch`)."""

    def __init__(self, world: World) -> None:
        self.world = world
        #: By identity: tensors from outside, with their inputs and the numbers of these.
        self.inputs: dict[int, tuple[Tensor, Tensor, int]] = {}
        self.n_inputs = self.n_arguments = 0
        #: Whether the program prints.
        self.prints = False
        #: Tensors from outside that are arguments, too: how to get them, and the numbers of the arguments.
        self.same: list[tuple[Callable[[], Any], int]] = []
        #: How to get those that are no arguments, and their types.
        self.captured: list[tuple[Callable[[], Any], str]] = []
        self.paths: dict[int, tuple[Any, Path]] = {}
        self.guards: dict[str, tuple[str, str, bool]] = {}
        self.scope: dict[str, Any] = {"_same": same_plain, "_content": same_content}
        self._names: dict[int, str] = {}

    # What the core asks ---------------------------------------------------------------------------

    def adopt(self, tensor: Tensor) -> Tensor:
        """The input that stands for a tensor from outside."""
        known = self.inputs.get(id(tensor))
        if known is not None:
            return known[1]
        own = _core.held(tensor)
        if own.type_text.startswith("list"):
            return own
        path = self.paths.get(id(tensor))
        get: Callable[[], Any] = lambda: tensor  # noqa: E731
        if path is not None:
            get = self._getter(path[1])
        param = _core.program_input(f"captured{len(self.captured)}", own)
        self.captured.append((get, own.type_text))
        self.take(tensor, param)
        return param

    @staticmethod
    def touch(tensor: Tensor) -> None:
        """Called before a tensor gets another value."""
        journal.touch(tensor)

    def take(self, tensor: Tensor, param: Tensor) -> None:
        """Has a tensor stand for the next input."""
        self.inputs.setdefault(id(tensor), (tensor, param, self.n_inputs))
        self.n_inputs += 1

    def number_of(self, tensor: Tensor) -> int | None:
        """The number of a tensor from outside among the inputs."""
        known = self.inputs.get(id(tensor))
        return None if known is None else known[2]

    def getters(self) -> list[tuple[Callable[[], Any], str]]:
        """How to get the inputs that are no arguments, and their types."""
        return self.captured

    def changed_inputs(self) -> list[int]:
        """The numbers of inputs that get another value."""
        numbers = map(self.inputs.get, self.world.touched)
        return [known[2] for known in numbers if known is not None]

    def arguments(self, arguments: dict[str, Any]) -> None:
        """Notes the containers and objects among the arguments, whose tensors were taken."""
        self.n_arguments = self.n_inputs
        for name, value in arguments.items():
            self._argument(value, Path(f"arguments[{name!r}]", name, known=True))

    def _argument(self, value: Any, path: Path) -> None:
        if is_tensor(value) or isinstance(value, _VALUES) or id(value) in self.paths:
            return
        parts = children(value)
        if parts is None:
            self.root(value, path.shown)
            return
        self.paths[id(value)] = (value, path)
        is_object = not isinstance(value, (list, tuple, dict))
        for key, part in parts:
            text = f".{key}" if is_object else f"[{self.constant(key)}]"
            self._argument(part, path.part(text, text if is_object else f"[{key!r}]"))

    def defaults(self, function: Any) -> None:
        """Notes the objects that stand for arguments that are not given."""
        values = [(f".__defaults__[{i}]", value) for i, value in enumerate(function.__defaults__ or ())]
        for name, value in (function.__kwdefaults__ or {}).items():
            values.append((f".__kwdefaults__[{name!r}]", value))
        for text, value in values:
            if journal.can_change(value) and id(value) not in self.paths:
                shown = f"a default of `{function.__name__}`"
                self.paths[id(value)] = (value, Path(self.constant(function) + text, shown))

    # Paths ----------------------------------------------------------------------------------------

    def constant(self, value: Any) -> str:
        """A name for an object in the text of paths and guards."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"v{len(self._names)}"
            self.scope[name] = value
        return name

    def root(self, owner: Any, shown: str, *, known: bool = False) -> Path:
        """The path of an object that is there for itself, held weakly where that is possible."""
        try:
            text = f"{self.constant(weakref.ref(owner))}()"
        except TypeError:
            text = self.constant(owner)
        path = Path(text, shown, known=known)
        self.paths[id(owner)] = (owner, path)
        return path

    def path_of(self, owner: Any) -> Path | None:
        found = self.paths.get(id(owner))
        return None if found is None else found[1]

    def has_changed(self, key: Any, value: Any) -> bool:
        """Whether the function itself has given a slot this value."""
        touched = self.world.touched.get(key)
        return touched is not None and touched[1] is not value

    def has_changed_item(self, owner: Any, key: Any, value: Any) -> bool:
        """Whether the function itself has put this item there."""
        touched = self.world.touched.get(id(owner))
        if touched is None:
            return False
        before = touched[1]
        if isinstance(before, dict):
            return key not in before or before[key] is not value
        return not any(old is value for old in before)

    def seen(self, value: Any, path: Path) -> Any:
        """Notes a value that was read by a path. Values of the function's own need none."""
        kind = type(value)
        if kind in _VALUES or isinstance(value, _VALUES):
            if not path.known:
                self.guard(path, f"_same({path.text}, {self.constant(value)})", path.counted)
            return value
        if is_tensor(value):
            self._seen_tensor(value, path)
            return value
        if isinstance(value, types.ModuleType):
            return value
        if journal.made_since(value, self.world.number):
            return value
        if id(value) not in self.paths:
            self.paths[id(value)] = (value, path)
            touched = self.world.touched.get(id(value))
            if touched is not None:
                # It was changed before anybody knew where it is from.
                self.changes(*touched, in_block=True)
        if is_array(value):
            self.content(value)
        elif not path.known:
            self.identity(value, path)
        return value

    def _seen_tensor(self, tensor: Tensor, path: Path) -> None:
        """Notes a path to a tensor. Several paths to one object have to lead to one at later calls, too."""
        number = self.number_of(tensor)
        known = self.paths.setdefault(id(tensor), (tensor, path))[1]
        if path.known:
            return
        if number is not None and number < self.n_arguments:
            self.same.append((self._getter(path), number))
        elif known.text != path.text:
            self.guard(path, f"{path.text} is {known.text}", path.counted and known.counted)

    def _getter(self, path: Path) -> Callable[[], Any]:
        return eval(f"lambda: {path.text}", self.scope)

    def changes(self, slot: journal.Slot, before: Any, in_block: bool) -> None:
        """Notes what an object from outside held before it is changed. What a branch or loop of the program may leave
        as it was is guarded; tensors are got again where they stood."""
        path = self.path_of(slot.owner)
        if path is None or is_tensor(slot.owner):
            return
        if isinstance(slot, journal.Attribute):
            part = path.part(f".{slot.name}", f".{slot.name}", counted=hasattr(slot.owner, "_fl_options"))
            if is_tensor(before) or (in_block and slot.name != "training" and before is not UNBOUND):
                self.seen(before, part)
        elif in_block:
            self.content(slot.owner)
        else:
            for key, value in _parts(before):
                if is_tensor(value):
                    self._seen_tensor(value, path.part(f"[{self.constant(key)}]", f"[{key!r}]"))

    # Guards ---------------------------------------------------------------------------------------

    def guard(self, path: Path, check: str, counted: bool = False) -> None:
        self.guards.setdefault(check, (path.shown, path.text, counted))

    def identity(self, value: Any, path: Path) -> None:
        """Guards that a path leads to the same object."""
        try:
            name = f"{self.constant(weakref.ref(value))}()"
        except TypeError:
            name = self.constant(value)
        self.guard(path, f"{path.text} is {name}", path.counted)

    def content(self, value: Any) -> None:
        """Guards the content of a container or an array from outside that was read as a whole."""
        found = self.paths.get(id(value))
        if found is None or journal.made_since(value, self.world.number):
            return
        path = found[1]
        if path.known and not is_array(value):
            return
        before = self.world.touched.get(id(value))
        slot = journal.slot_of(value)
        taken = before[1] if before else slot.take() if slot else list(value)
        name = f"{self.constant(value)}c"
        if name not in self.scope:
            self.scope[name] = Content(taken)
            self.guard(path, f"_content({path.text}, {name})")
        for key, part in _parts(taken):
            inner = path.part(f"[{self.constant(key)}]", f"[{key!r}]")
            if is_tensor(part):
                self._seen_tensor(part, inner)
            elif journal.can_change(part) or hasattr(part, "__dict__"):
                self.paths.setdefault(id(part), (part, inner))

    def forget(self) -> None:
        """Lets the objects of the build go; guards and getters have what they need."""
        self.paths, self.inputs, self._names = {}, {}, {}
        self.world = World()

    def compiled(self) -> tuple[Callable[[], bool] | None, Callable[[], bool] | None]:
        """Two functions that say whether all guards hold: those to ask at each call, and those to ask when
        something was counted. None where there are no guards."""
        fast = [check for check, (_, _, counted) in self.guards.items() if not counted]
        slow = [check for check, (_, _, counted) in self.guards.items() if counted]
        return self._function(fast), self._function(slow)

    def _function(self, checks: list[str]) -> Callable[[], bool] | None:
        if not checks:
            return None
        return eval(f"lambda: {' and '.join(checks)}", self.scope)

    def broken(self) -> str | None:
        """What messages call the first value that is not as it was."""
        for check, (shown, _, _) in self.guards.items():
            try:
                if eval(check, self.scope):
                    continue
            except Exception:
                pass
            return shown
        return None


def same_plain(value: Any, before: Any) -> bool:
    """Whether a plain value is what it was: of the same type, and equal to the bit."""
    if value is before:
        return True
    if type(value) is not type(before):
        return False
    if type(value) is float:
        return value.hex() == before.hex()
    return bool(value == before)


def _parts(taken: Any) -> list[tuple[Any, Any]]:
    """The parts of a content that can be got by a key."""
    if isinstance(taken, dict):
        return list(taken.items())
    return list(enumerate(taken)) if isinstance(taken, (list, tuple)) else []


class Content:
    """What a container held. Tensors in it are inputs, and count by their types only."""

    def __init__(self, taken: Any) -> None:
        self.taken = taken

    def is_in(self, value: Any) -> bool:
        slot = journal.slot_of(value)
        now: Any = slot.take() if slot else list(value)
        before = self.taken
        if isinstance(before, dict):
            if list(now) != list(before):
                return False
            return all(map(_same_part, now.values(), before.values()))
        if isinstance(before, list):
            return len(now) == len(before) and all(map(_same_part, now, before))
        return now == before


def _same_part(value: Any, before: Any) -> bool:
    if value is before:
        return True
    if is_tensor(value) and is_tensor(before):
        return value.type_text == before.type_text
    if isinstance(before, _VALUES):
        return same_plain(value, before)
    return False


def same_content(value: Any, before: Content) -> bool:
    """Whether a container or an array holds what it held."""
    return before.is_in(value)
