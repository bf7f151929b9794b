"""What a function takes from outside: tensors become inputs of its program, other values are guarded.

A value is known by its path: how to get it again at a later call, as an expression of Python such as
`globals["cfg"].rate`. A tensor is got anew by its path at each call. Of plain values the program keeps what they
were; a guard says whether they still are, or else another program is built. Guards are compiled into one function.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _core
from .._opens import Open, Tape
from .._paths import Paths
from .._fault import fault
from .._tree import children, is_array, is_parameter, is_tensor
from . import journal
from .journal import World
from .shares import Shares, pairs
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

    def __init__(
        self, world: World, opens: frozenset[str] = frozenset(), decisions: Paths | None = None
    ) -> None:
        self.world = world
        #: Whether a line asks which tensors from outside are tracked.
        self.asks_tracked = False
        #: Whether there is a value of the program that the run may give as None.
        self.has_none = False
        #: The tests that are decided, and whether there are some that could be.
        self.decisions, self.has_tests = decisions, False
        #: What the inputs are in the call at hand.
        self.values: list[Tensor] = []
        #: Which of the user's tensors were changed in place, of which others may be parts.
        self.shares = Shares()
        #: What messages call the numbers that are inputs of the program.
        self.opens = opens
        #: By identity: tensors from outside, with their inputs and the numbers of these.
        self.inputs: dict[int, tuple[Tensor, Tensor, int]] = {}
        self.n_inputs = self.n_arguments = 0
        #: Tensors from outside that are arguments, too: how to get them, and the numbers of the arguments.
        self.same: list[tuple[Callable[[], Any], int]] = []
        #: Those that are not arguments, or the places of numbers of the tape, and their types.
        self.captured: list[tuple[Tensor | int, str]] = []
        self.paths: dict[int, tuple[Any, Path]] = {}
        self.guards: dict[str, tuple[str, str, bool]] = {}
        self.scope: dict[str, Any] = {"_same": same_plain, "_content": same_content}
        self._names: dict[int, str] = {}
        #: What is computed of open numbers, and those among the arguments by their paths.
        self.tape = Tape(self.scope, self.constant, self._input)
        self._given: dict[str, int] = {}
        #: By number: the gradients of inputs that are leaves; of all inputs whether they are leaves, and tracked.
        self.leaves: list[tuple[int, _core.LeafGradient]] = []
        self.tracked: list[tuple[bool, bool]] = []
        #: Numbers that are guarded: by what messages call them, how to get them, and what they were.
        self.numbers: dict[str, tuple[str, Any]] = {}

    # What the core asks ---------------------------------------------------------------------------

    def adopt(self, tensor: Tensor) -> Tensor:
        """The input that stands for a tensor from outside."""
        self.shares.reads(tensor)
        known = self.inputs.get(id(tensor))
        if known is not None:
            return known[1]
        own = _core.held(tensor)
        if own.type_text.startswith("list"):
            return own
        param = _core.program_input(f"captured{len(self.captured)}", own)
        self.captured.append((tensor, own.type_text))
        self.take(tensor, param)
        return param

    def _input(self, place: int, dtype: str) -> Tensor:
        """The input for a number of the tape."""
        param = _core.program_input(f"captured{len(self.captured)}", dtype, ())
        self.captured.append((place, dtype))
        self.tracked.append((False, False))
        self.n_inputs += 1
        return param

    def touch(self, tensor: Tensor) -> None:
        """Called before a tensor gets another value."""
        if not journal.made_since(tensor, self.world.number):
            self.shares.changes(tensor)
        journal.touch(tensor)

    def take(self, tensor: Tensor, param: Tensor) -> None:
        """Has a tensor stand for the next input."""
        own = _core.held(tensor)
        leaf = _core.leaf_input(param, own)
        if leaf is not None:
            leaf.bring(own)
            self.leaves.append((self.n_inputs, leaf))
        self.tracked.append((own.is_leaf, own.is_tracked))
        self.values.append(own)
        self.inputs.setdefault(id(tensor), (tensor, param, self.n_inputs))
        self.n_inputs += 1

    def tracking(self, tensor: Tensor, name: str) -> bool:
        """`is_tracked` or `is_leaf` of a tensor; if it is from outside, the program is for such ones."""
        if is_parameter(tensor):
            return tensor.requires_grad  # type: ignore[attr-defined]
        if not journal.made_since(tensor, self.world.number):
            self.adopt(tensor)
            self.asks_tracked = True
            return getattr(_core.held(tensor), name)
        if name == "is_leaf":
            return tensor.is_leaf
        raise fault(
            TypeError,
            "whether a gradient reaches a value that the function computes is not asked while its program is built",
            "ask for `is_tracked` of an argument, or of what the function returns",
        )

    def sizes(self) -> dict[str, _core.Dim]:
        """The open sizes of the inputs, by name."""
        shapes = (param.shape for _, param, _ in self.inputs.values())
        return {repr(size): size for shape in shapes for size in shape if type(size) is _core.Dim}

    def number_of(self, tensor: Tensor) -> int | None:
        """The number of a tensor from outside among the inputs."""
        known = self.inputs.get(id(tensor))
        return None if known is None else known[2]

    def getters(self) -> list[tuple[Callable[[Any], Any], str | None]]:
        """How to get the inputs that are not arguments, given the numbers of the tape, and the types of those that are tensors
        outside. A block may have used a tensor before a line said where it is from, so this is asked at the end."""
        return [(self._get(source, text), None if type(source) is int else text) for source, text in self.captured]

    def _get(self, source: Any, text: str) -> Callable[[Any], Any]:
        if type(source) is int:
            return lambda numbers: _core.tensor(numbers[source], text)
        path = self.paths.get(id(source))
        return eval(f"lambda _: {path[1].text}", self.scope) if path is not None else lambda _: source

    def changed_inputs(self) -> list[int]:
        """The numbers of inputs that get another value."""
        numbers = map(self.inputs.get, self.world.touched)
        return [known[2] for known in numbers if known is not None]

    def shared(self) -> frozenset[tuple[int, int]]:
        """Which of the inputs that get another value share elements with which others."""
        return pairs({number: tensor for tensor, _, number in self.inputs.values()}, self.changed_inputs())

    def arguments(
        self, arguments: dict[str, Any], opens: dict[int, tuple], gathered: frozenset[str] = frozenset()
    ) -> None:
        """Notes the containers and objects among the arguments, whose tensors were taken.

        Args:
            arguments: The arguments by name; open numbers take the places of those that are.
            opens: Paths to the numbers that are open, by their number among all.
            gathered: The names of `*rest` and `**options`, which each call makes anew.
        """
        self.n_arguments = self.n_inputs
        for number, path in opens.items():
            self._given[self._path_to(arguments, path).text] = number
            if len(path) == 1:
                arguments[path[0]] = self._open_argument(f"arguments[{path[0]!r}]", path[0], arguments[path[0]])
            elif len(path) == 2 and path[0] in gathered:
                self._open_gathered(arguments, *path)
        for name, value in arguments.items():
            self._argument(value, Path(f"arguments[{name!r}]", name, known=True))

    def _open_gathered(self, arguments: dict[str, Any], name: str, key: Any) -> None:
        """Puts an open number into `*rest` or `**options`."""
        parts = arguments[name]
        number = self._open_argument(*_texts(self._path_to(arguments, (name, key))), parts[key])
        if isinstance(parts, dict):
            arguments[name] = {**parts, key: number}
        else:
            arguments[name] = (*parts[:key], number, *parts[key + 1 :])

    def _argument(self, value: Any, path: Path) -> None:
        if is_tensor(value) or isinstance(value, _VALUES) or id(value) in self.paths:
            return
        parts = children(value)
        if parts is None:
            self.root(value, path.shown)
            return
        self.paths[id(value)] = (value, path)
        for key, part in parts:
            self._argument(part, self._part(value, path, key))

    def _part(self, owner: Any, path: Path, key: Any) -> Path:
        shown = f"[{key!r}]" if isinstance(owner, (list, tuple, dict)) else f".{key}"
        plain = shown[0] == "." or type(key) in (int, str, bool, float)
        return path.part(shown if plain else f"[{self.constant(key)}]", shown)

    def _path_to(self, arguments: dict[str, Any], keys: tuple) -> Path:
        path, value = Path(f"arguments[{keys[0]!r}]", keys[0], known=True), arguments[keys[0]]
        for key in keys[1:]:
            path, value = self._part(value, path, key), dict(children(value) or ())[key]
        return path

    def _open_argument(self, text: str, shown: str, value: Any) -> Any:
        number = self._given.get(text)
        return value if number is None else self.tape.outer(f"given[{number}]", shown, value)

    def _close_parts(self, value: Any, path: Path) -> None:
        """Guards the open numbers in a container among the arguments that is looked at as a whole."""
        for key, part in (children(value) or ()) if self._given else ():
            inner = self._part(value, path, key)
            number = self._open_argument(inner.text, inner.shown, part)
            if type(number) is Open:
                number._known("it is in a container that is looked at as a whole")
            self._close_parts(part, inner)

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
            return self._seen_value(value, path)
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
            name = f"{self.constant(value)}c"
            if name in self.scope:
                # A statement may have told of its change before anybody knew where it is from.
                self.guard(path, f"_content({path.text}, {name})")
        elif not path.known:
            self.identity(value, path)
        return value

    def _seen_value(self, value: Any, path: Path) -> Any:
        """What stands for a plain value: itself, which is guarded, or an open number."""
        if path.known:
            return self._open_argument(path.text, path.shown, value) if type(value) in (int, float) else value
        if type(value) in (int, float):
            if path.shown in self.opens:
                return self.tape.outer(path.text, path.shown, value)
            self.numbers.setdefault(path.shown, (path.text, value))
        self.guard(path, f"_same({path.text}, {self.constant(value)})", path.counted)
        return value

    def changed_numbers(self) -> set[str]:
        """What messages call the guarded numbers that have other values now."""
        found = set()
        for shown, (text, before) in self.numbers.items():
            try:
                value = eval(text, self.scope)
            except Exception:
                continue
            if type(value) is type(before) and not same_plain(value, before):
                found.add(shown)
        return found

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
            part = path.part(f".{slot.name}", f".{slot.name}", counted=hasattr(type(slot.owner), "_fl_options"))
            if is_tensor(before) or (in_block and slot.name != "training" and before is not UNBOUND):
                seen = self.seen(before, part)
                if type(seen) is Open:
                    # What the path that leaves it gives is the number of the call.
                    slot.put(seen)
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
        if journal.made_since(value, self.world.number):
            return
        path = self.path_of(value)
        if path is None:
            if not journal.can_change(value):
                return
            path = self.root(value, f"a {type(value).__name__}")
        if path.known and not is_array(value):
            self._close_parts(value, path)
            return
        before = self.world.touched.get(id(value))
        slot = journal.slot_of(value)
        if slot is None and is_parameter(value):
            # It is a state of the program.
            return
        if before is None and slot is None and not isinstance(value, Iterable):
            self._attributes(value, path)
            return
        taken = before[1] if before else slot.take() if slot else _listed(value)
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

    def _attributes(self, value: Any, path: Path) -> None:
        """Guards the attributes of an object that a function looked at. Layers are noted apart."""
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict and not isinstance(value, type) and not hasattr(type(value), "_fl_options"):
            self.paths.setdefault(id(attributes), (attributes, path.part(".__dict__", ".__dict__")))
            self.content(attributes)

    def reads_of(
        self,
        function: types.FunctionType,
        wanted: Callable[[Any], bool],
        outside: Mapping[str, types.CellType] | None = None,
    ) -> None:
        """Guards all that a function whose lines are not followed may read by name, and those that it calls.

        Args:
            function: The function.
            wanted: Whether another one is the user's as well.
            outside: The cells that are from outside, if the function being built defines it; else all are.
        """
        left, known = [function], {function.__code__}
        while left:
            function = left.pop()
            cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
            if outside is not None:
                cells, outside = {name: cell for name, cell in outside.items() if name in cells}, None
            for name in _names_in(function.__code__):
                if name in cells:
                    value, text = _content_of(cells[name]), f"{self.constant(cells[name])}.cell_contents"
                elif name in function.__globals__:
                    value, text = function.__globals__[name], f"{self.constant(function.__globals__)}[{name!r}]"
                else:
                    continue
                if wanted(value) and value.__code__ not in known:
                    known.add(value.__code__)
                    left.append(value)
                self._read_whole(value, Path(text, name))

    def _read_whole(self, value: Any, path: Path) -> None:
        if isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)):
            return
        if isinstance(value, _VALUES):
            self.guard(path, f"_same({path.text}, {self.constant(value)})")
        elif is_tensor(value):
            self._seen_tensor(value, path)
        elif value is not UNBOUND:
            self.paths.setdefault(id(value), (value, path))
            self.identity(value, path)
            self.content(value)

    def forget(self) -> None:
        """Lets the objects of the build go; guards and getters have what they need."""
        self.paths, self.inputs, self._names, self.captured, self.values = {}, {}, {}, [], []
        self.decisions = None
        self.world = World()
        self.tape.forget()

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


def _texts(path: Path) -> tuple[str, str]:
    return path.text, path.shown


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


def _names_in(code: types.CodeType) -> set[str]:
    """The names that code reads, with those of the functions inside of it."""
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return {*code.co_names, *code.co_freevars}.union(*map(_names_in, inner))


def _content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def _listed(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value)


class Content:
    """What a container held. Tensors in it are inputs, and count by their types only."""

    def __init__(self, taken: Any) -> None:
        self.taken = taken

    def is_in(self, value: Any) -> bool:
        slot = journal.slot_of(value)
        now: Any = slot.take() if slot else _listed(value)
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
