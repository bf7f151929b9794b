"""What the function being built changes of objects, so that each block of the program sees them as its lines would.

A function is built by running it, both branches of an `if` and one trip of a loop included. Whoever changes an
object says so before (`touch`): a tensor that gets another value, a list, a dict, a set, an attribute. Every
control statement under way, and the function as a whole, then notes what the object held when it began; it can
put that back before it traces another block, and hand on what its blocks made of the object. Objects that
were made since do not count: nobody else has seen them.
"""

from __future__ import annotations

import collections
import copy
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import _core
from .._fault import user_line
from .._tree import children, is_array, is_parameter
from .errors import Mismatch
from .fixed import Fixed, Hidden
from .inherited import is_of_class
from .keys import check_keys
from .state import BUILD
from .trees import UNBOUND, Tensor, is_tensor
from .twins import Twins

if TYPE_CHECKING:
    from .regions import Region


class Slot:
    """Something of an object that can be taken, and put back."""

    #: The user's line that changed it first.
    line = ""

    def __init__(self, key: Any, owner: Any, text: str) -> None:
        self.key, self.owner, self.text = key, owner, text

    def take(self) -> Any:
        raise NotImplementedError

    def original(self) -> Any:
        """What the object holds for everybody else."""
        return self.take()

    def put(self, content: Any) -> None:
        raise NotImplementedError


class _Value(Slot):
    #: The leaf that the tensor was when a block began: it stays one, whatever value the block gives it.
    leaf: Any = None

    def take(self) -> Any:
        content = copy.copy(self.owner)
        if self.leaf is None and content.is_leaf:
            self.leaf = content
        return content

    def original(self) -> Any:
        return _core.held(self.owner)

    def put(self, content: Any) -> None:
        if self.leaf is not None and content.is_symbolic and not content.is_leaf:
            if BUILD.outer is None or BUILD.outer.number_of(self.owner) is None:
                raise Mismatch(
                    f"{self.line}: a leaf that the function makes would be changed in a branch or loop that only the run "
                    "decides on\n  remedy: make the leaf outside of the function, or in that branch or loop"
                )
            content = _core.leaf_again(self.leaf, content)
        _core.put_held(self.owner, content)


class _Items(Slot):
    """The elements of a list or a deque."""

    def take(self) -> Any:
        return list.copy(self.owner) if isinstance(self.owner, list) else list(self.owner)

    def put(self, content: Any) -> None:
        if isinstance(self.owner, list):
            list.__setitem__(self.owner, slice(None), content)
        else:
            self.owner.clear()
            self.owner.extend(content)


class _Entries(Slot):
    """The entries of a dict."""

    def take(self) -> Any:
        return dict(dict.items(self.owner))

    def put(self, content: Any) -> None:
        dict.clear(self.owner)
        if isinstance(self.owner, collections.OrderedDict):
            for key, value in content.items():
                collections.OrderedDict.__setitem__(self.owner, key, value)
        else:
            dict.update(self.owner, content)


class _Members(Slot):
    """The members of a set."""

    def take(self) -> Any:
        return frozenset(self.owner)

    def put(self, content: Any) -> None:
        set.clear(self.owner)
        set.update(self.owner, content)


class _Bytes(Slot):
    """The elements of an array or of bytes, which cannot hold values of a program."""

    def take(self) -> Any:
        if isinstance(self.owner, bytearray):
            return Fixed(bytes(self.owner), bytearray)
        array = self.owner.copy()
        return Fixed((str(array.dtype), array.shape, array.tobytes(), Hidden(array)), type(array))

    def put(self, content: Any) -> None:
        if isinstance(self.owner, bytearray):
            self.owner[:] = content.value
        else:
            self.owner[...] = content.value[3].array


class _Columns(Slot):
    """The columns of a list of the program."""

    def take(self) -> Any:
        return self.owner._fl_with(list(self.owner._fl_lists))

    def put(self, content: Any) -> None:
        self.owner._fl_lists = list(content._fl_lists)
        self.owner._length, self.owner._grown = content._length, content._grown


class Attribute(Slot):
    """An attribute of an object."""

    def __init__(self, owner: Any, name: str, setter: Callable | None = None) -> None:
        super().__init__((id(owner), name), owner, f"`{name}` of {type(owner).__name__}")
        self.name, self.set = name, setter or setattr

    def take(self) -> Any:
        own = getattr(self.owner, "__dict__", None)
        if own is not None and self.name in own:
            return own[self.name]
        try:
            return getattr(self.owner, self.name, UNBOUND)
        except ValueError:
            # An empty cell of a closure.
            return UNBOUND

    def put(self, content: Any) -> None:
        if is_of_class(self.owner, self.name, content):
            vars(self.owner).pop(self.name, None)
        elif content is not UNBOUND:
            self.set(self.owner, self.name, content)
        elif self.take() is not UNBOUND:
            delattr(self.owner, self.name)


class Global(Slot):
    """A name of a module."""

    def __init__(self, module: dict, name: str) -> None:
        super().__init__((id(module), name), module, f"`{name}`")
        self.name = name

    def take(self) -> Any:
        return self.owner.get(self.name, UNBOUND)

    def put(self, content: Any) -> None:
        if content is UNBOUND:
            self.owner.pop(self.name, None)
        else:
            self.owner[self.name] = content


def slot_of(value: Any) -> Slot | None:
    """The content of an object that can be changed in place; nothing for others."""
    kind = _kind(value)
    return None if kind is None else kind(id(value), value, f"a {type(value).__name__}")


def _kind(value: Any) -> type[Slot] | None:
    if is_tensor(value):
        # A parameter is a state of the program, which blocks carry by themselves.
        return None if is_parameter(value) else _Value
    if isinstance(value, (list, collections.deque)):
        return _Items
    if isinstance(value, dict):
        return _Entries
    if isinstance(value, set):
        return _Members
    if hasattr(type(value), "_fl_with"):
        return _Columns
    if isinstance(value, bytearray) or is_array(value):
        return _Bytes
    return None


def can_change(value: Any) -> bool:
    """Whether an object has a content that can be changed in place."""
    return _kind(value) is not None


class World:
    """The objects that a function being built has changed, with what they held before."""

    def __init__(self) -> None:
        self.number = _core.number_now()
        self.touched: dict[Any, tuple[Slot, Any]] = {}
        #: What the lines have changed before each call that may fail, as a failed run has to change it.
        self.left: list[tuple[list[Callable[[Any], None]], list[Callable[[Any], Any]]]] = []

    def note(self, slot: Slot, content: Any) -> None:
        self.touched.setdefault(slot.key, (slot, content))

    def put_back(self) -> None:
        """Gives all objects what they held before."""
        for slot, content in reversed(self.touched.values()):
            slot.put(content)


class _Refusing:
    """A part of an expression that only the run decides on: nothing from outside can be changed in it."""

    depth = -1

    def __init__(self) -> None:
        self.number = _core.number_now()
        self.touched: dict[Any, tuple[Slot, Any]] = {}
        self.changed: list[Any] = []

    def note(self, slot: Slot, content: Any) -> None:
        raise Mismatch(
            f"{slot.line}: {slot.text} would be changed in a part of an expression, or in a function of a loop, "
            "that only the run decides on\n"
            "  remedy: use an `if` statement, or a `for` or `while` statement"
        )

    def n_kept(self, _: int) -> int:
        return 0


class refusing:
    """A scope in which no object from outside can be changed."""

    def __enter__(self) -> None:
        self.region = _Refusing()
        LOCAL.tracing.append(self.region)  # type: ignore[arg-type]

    def __exit__(self, kind: object, error: Any, trace: object) -> None:
        if self.region in LOCAL.tracing:
            LOCAL.tracing.remove(self.region)  # type: ignore[arg-type]
        if isinstance(error, Exception):
            # The lines may not come there.
            vars(error)["_fl_in_part"] = True


class Perhaps:
    """By identity of living tensors: weak references to the objects that they may be one with."""

    def __init__(self) -> None:
        self._others: dict[int, tuple[Any, list[Callable[[], Any]]]] = {}
        #: Tensors of which no tag says which of these they are.
        self._unsure: dict[int, Callable[[], Any]] = {}

    def note_unsure(self, tensor: Any) -> None:
        """Notes that no tag says which object a tensor is."""
        self._unsure[id(tensor)] = weakref.ref(tensor)

    def is_unsure(self, tensor: Any) -> bool:
        known = self._unsure.get(id(tensor))
        return known is not None and known() is tensor

    def unsure(self) -> list[Any]:
        """The living tensors of which no tag says which object they are."""
        return [tensor for tensor in (ref() for ref in self._unsure.values()) if tensor is not None]

    def of(self, tensor: Any) -> list[Callable[[], Any]]:
        """The list of a tensor, to read and to extend."""
        known = self._others.get(id(tensor))
        if known is None or known[0]() is not tensor:
            known = self._others[id(tensor)] = (weakref.ref(tensor), [])
        return known[1]

    def add(self, tensor: Any, other: Callable[[], Any]) -> None:
        """Adds one to the list of a tensor, unless it has it."""
        known = self.of(tensor)
        if not any(ref() is other() for ref in known):
            known.append(other)

    def any(self, tensor: Any) -> bool:
        """Whether one of the others is alive."""
        known = self._others.get(id(tensor))
        if known is None or known[0]() is not tensor:
            return False
        return any(other() is not None for other in known[1])


class _Local(threading.local):
    def __init__(self) -> None:
        self.world: World | None = None
        #: The control statements being traced.
        self.tracing: list[Region] = []
        #: Containers and objects made since the build began, with the number of that moment.
        self.made: dict[int, tuple[Any, int]] = {}
        #: Tensors that may be the same object as others, as only the run knows.
        self.perhaps = Perhaps()
        #: By identity of tensors: a weak reference, the number that says which object it is, or a value of the program, and the
        #: numbers that it may be, each with its kind.
        self.tags: dict[int, tuple[Callable[[], Any], Any, frozenset[tuple[type, Any]]]] = {}
        #: By identity: weak references to ints of the program that `-` has made.
        self.signed: dict[int, Callable[[], Any]] = {}
        self.twins = Twins()


LOCAL = _Local()


def worlds() -> Iterator[Any]:
    """All that note changes, the function as a whole first."""
    if LOCAL.world is not None:
        yield LOCAL.world
    yield from LOCAL.tracing


def made_since(value: Any, number: int) -> bool:
    """Whether an object was made after the moment of this number."""
    if is_tensor(value):
        return _core.tensor_number(value) > number
    known = LOCAL.made.get(id(value))
    return known is not None and known[1] > number


def made(value: Any) -> Any:
    """Notes that an object was made just now, if it is one that can change."""
    kind = type(value)
    if kind is dict or kind is set:
        check_keys(value)
    if kind is list or kind is dict or kind is set or (kind not in _PLAIN and _changes(value)):
        if LOCAL.world is not None:
            LOCAL.made[id(value)] = (value, _core.number_now())
    return value


def made_inside(value: Any) -> Any:
    """Notes that a value was made just now, with all containers in it."""
    parts = children(value)
    for _, part in parts or ():
        made_inside(part)
    return made(value) if parts is not None or _kind(value) is _Columns else value


_PLAIN = {int, float, bool, str, bytes, tuple, frozenset, type(None), type, type(len), Tensor}


def _changes(value: Any) -> bool:
    return not is_tensor(value) and (can_change(value) or hasattr(value, "__dict__"))


def given(value: Any) -> Any:
    """What a function has returned that was not converted: if nobody else holds it, it was made there."""
    if LOCAL.world is not None and type(value) not in _PLAIN and not is_tensor(value):
        # The argument, the caller's value on the stack, and the one of this call.
        if sys.getrefcount(value) <= _ALONE and id(value) not in LOCAL.made:
            return made(value)
    return value


def _references() -> int:
    def probe(value: Any) -> int:
        return sys.getrefcount(value)

    return probe([])


_ALONE = _references() + 1


def touch(value: Any) -> None:
    """Has to be called before the content of an object changes in place."""
    if LOCAL.world is None and not LOCAL.tracing:
        return
    if is_tensor(value):
        _check(value)
    else:
        _check_twins(value)
    slot = slot_of(value)
    if slot is not None:
        _note(slot, value, None)


def _check_twins(value: Any) -> None:
    if LOCAL.twins and LOCAL.twins.others(value, is_held):
        raise Mismatch(
            f"{user_line()}: a {type(value).__name__} would be changed, but only the run "
            "knows which other names or lists have the same one\n"
            "  remedy: make a copy first, such as `list(x)`, or change it in each branch"
        )


def touch_attribute(owner: Any, name: str, setter: Callable | None = None) -> None:
    """Has to be called before an attribute of an object is set or deleted."""
    if LOCAL.world is not None or LOCAL.tracing:
        _check_twins(owner)
        _note(Attribute(owner, name, setter), owner, None)


def touch_slot(slot: Slot) -> None:
    """Has to be called before a slot changes."""
    if LOCAL.world is not None or LOCAL.tracing:
        _note(slot, slot.owner, None)


def was_changed(value: Any, before: Any) -> None:
    """Notes a change that has been made already."""
    slot = slot_of(value)
    if slot is not None:
        _note(slot, value, (before,))


def _note(slot: Slot, owner: Any, before: tuple | None) -> None:
    for world in worlds():
        if slot.key in world.touched or made_since(owner, world.number):
            continue
        if not slot.line:
            slot.line = user_line()
        if before is not None:
            world.note(slot, before[0])
        else:
            world.note(slot, slot.original() if world is LOCAL.world else slot.take())
        if isinstance(world, World) and BUILD.outer is not None:
            BUILD.outer.changes(slot, world.touched[slot.key][1], bool(LOCAL.tracing))
    for region in LOCAL.tracing:
        region.changed.append(owner)


def snapshot(values: Any) -> list[tuple[Slot, Any]]:
    """The contents of those objects among some that can change."""
    slots = [slot for slot in map(slot_of, values) if slot is not None]
    return [(slot, slot.take()) for slot in slots if not is_tensor(slot.owner)]


def compare(taken: list[tuple[Slot, Any]]) -> None:
    """Notes what has changed since the snapshot."""
    for slot, before in taken:
        if not _equal(slot.take(), before):
            was_changed(slot.owner, before)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_is, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(_is, a.values(), b.values()))
    if hasattr(type(a), "_fl_with"):
        return all(map(_is, a._fl_lists, b._fl_lists))
    return a == b


def _is(a: Any, b: Any) -> bool:
    return a is b or (type(a) in (int, float, bool, str) and type(a) is type(b) and a == b)


def stands_for(value: Any, *sources: Any, test: Any = None) -> None:
    """Notes that a container may be one of others, as only the run knows.

    Args:
        value: The container.
        sources: The others.
        test: If there are two others: what says that it is the first, outside of all blocks.
    """
    if LOCAL.world is not None and _changes(value):
        LOCAL.twins.note(value, *sources)
        if test is not None:
            LOCAL.twins.note_choice(value, test, *sources)


def stands_inside(value: Any, *sources: Any, test: Any = None) -> None:
    """Notes that a container, and those inside of it, may be one of others of the same form."""
    stands_for(value, *sources, test=test)
    every = [children(part) or () for part in (value, *sources)]
    for part, *others in zip(*every):
        if not is_tensor(part[1]):
            stands_inside(part[1], *(other[1] for other in others), test=test)


def stands_behind(value: Any, entry: Any, last: Any, first: Any, certain: bool, number: int) -> None:
    """Notes that a container behind a loop, and those inside of it, may be those of the entry.

    Args:
        value: The container.
        entry: The one of the entry.
        last: The one at the end of a trip.
        first: What says that there is a trip; None inside of a block.
        certain: Whether there certainly is one.
        number: That of the moment when the loop began.
    """
    is_new = made_since(last, number) and not LOCAL.twins.has(id(last))
    if not (is_new and certain):
        stands_for(value, entry)
        if is_new and first is not None and LOCAL.world is not None and _changes(value):
            LOCAL.twins.note_choice(value, first, None, entry)
    every = [children(part) or () for part in (value, entry, last)]
    for part, own, end in zip(*every):
        if not is_tensor(part[1]):
            stands_behind(part[1], own[1], end[1], first, certain, number)


def is_held(box: list, above: frozenset[int] = frozenset()) -> bool:
    """Whether somebody else than the conversion holds a container.

    Args:
        box: A list that has it, so that nothing else of this call holds it.
        above: Identities of containers that are looked at already.
    """
    own, touched = id(box[0]), [pair for world in worlds() for pair in world.touched.values()]
    # The box, and the argument of the function.
    n_kept = 2 + (own in LOCAL.made) + LOCAL.twins.has(own)
    n_kept += len({id(slot) for slot, _ in touched if id(slot.owner) == own})
    n_kept += sum((id(content) == own) + times_in(content, own) for _, content in touched)
    n_kept += sum(region.n_kept(own) for region in LOCAL.tracing)
    if sys.getrefcount(box[0]) <= n_kept:
        return False
    # Containers that nobody holds do not count.
    for key in list(LOCAL.made):
        times = times_in(LOCAL.made[key][0], own)
        if times and key not in above and not is_held([LOCAL.made[key][0]], above | {own}):
            n_kept += times
    return sys.getrefcount(box[0]) > n_kept


def times_in(container: Any, own: int) -> int:
    """How often an object, given by its identity, stands in a container."""
    parts = children(container) if isinstance(container, (list, dict)) else None
    return sum(id(part) == own for _, part in parts or ())


# Tensors that may be one object ----------------------------------------------------------------------


def may_be(tensor: Any, *others: Any) -> None:
    """Notes that a tensor may be the same object as others: none of them can be changed in place while another is alive."""
    for other in others:
        if other is tensor:
            continue
        # What the other one may be outlives it.
        refs: list[Callable[[], Any]] = [weakref.ref(other)]
        refs += [ref for ref in LOCAL.perhaps.of(other) if ref() is not None and ref() is not tensor]
        for ref in refs:
            LOCAL.perhaps.add(tensor, ref)
            if is_tensor(ref()):
                LOCAL.perhaps.add(ref(), weakref.ref(tensor))
        # A change of a part reaches the whole, of which nobody knows here whether it is the one.
        for whole in _core.wholes(other) if is_tensor(other) else ():
            LOCAL.perhaps.add(tensor, weakref.ref(whole))
        if LOCAL.perhaps.is_unsure(other):
            LOCAL.perhaps.note_unsure(tensor)


def is_held_by(tensor: Any, holder: Any) -> None:
    """Notes that a list of the program holds the value of a tensor."""
    LOCAL.perhaps.of(tensor).append(weakref.ref(holder))


def may_be_another(tensor: Any) -> bool:
    """Whether another object that is alive may be the same as a tensor."""
    return is_tensor(tensor) and LOCAL.perhaps.any(tensor)


def follows(tensor: Any, former: Any) -> None:
    """Notes that a tensor takes the place of another one, and may be what that may be."""
    if LOCAL.perhaps.any(former):
        LOCAL.perhaps.of(tensor).extend(LOCAL.perhaps.of(former))


def _check(tensor: Any) -> None:
    if not may_be_another(tensor):
        return
    raise Mismatch(
        f"{user_line()}: this tensor would be changed in place, but only the run knows which other names or "
        "lists have the same one\n"
        "  remedy: make a copy first: `x = x * 1`, or build the new value and assign it"
    )
