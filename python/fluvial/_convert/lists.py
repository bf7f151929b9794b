"""Lists of the program: Python lists that grow or shrink where only the run knows how often."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._numbers import DTYPES, is_number, number, widest
from . import journal
from .errors import Mismatch
from .trees import (
    OPEN_SIZE,
    Tensor,
    flatten,
    joined,
    natural,
    promoted,
    rebuild,
    same,
    shape,
    tensor_of,
    type_text,
)


class TensorList:
    """A list whose length is known when the program runs; `append`, `pop`, `len`, `for`, `fl.stack`.

    All elements have one type. Python lists become such lists when a loop or a branch of the
    program changes their length.
    """

    def __init__(self, lists: list[Tensor], spec: Any, length: Any, kinds: list) -> None:
        self._fl_lists, self._fl_spec, self._length = lists, spec, length
        #: For each list what its elements are in Python: `bool`, `int`, `float`, or None for tensors.
        self._kinds = kinds

    @staticmethod
    def of(values: list, like: Any) -> TensorList:
        """A Python list whose elements are as `like`."""
        if len(values) == 1 and isinstance(values[0], TensorList):
            return values[0]
        if isinstance(like, TensorList):
            spec = like._fl_spec
            types = [part.type_text.removeprefix("list ") for part in like._fl_lists]
            made = TensorList([_core.list_new(text) for text in types], spec, 0, like._kinds)
            for value in values:
                made._push(value)
            return made
        leaves: list = []
        spec = flatten(like, leaves)
        rows = []
        for value in values:
            row: list = []
            if not same(spec, flatten(value, row)):
                raise Mismatch("the elements of a list that a program changes differ in form")
            rows.append(row)
        lists, kinds = [], []
        for i, leaf in enumerate(leaves):
            found = natural(leaf)
            for row in rows:
                found = _wider(found, joined(row[i], leaf))
            column = _core.list_new((DTYPES.get(found, found), shape(leaf)))
            for row in rows:
                column = _core.list_push(column, tensor_of(row[i], found))
            lists.append(column)
            kinds.append(found if found in DTYPES else None)
        made = TensorList(lists, spec, len(values), kinds)
        for row in rows:
            for leaf in row:
                made._holds(leaf)
        return made

    def _fl_with(self, lists: list[Tensor]) -> TensorList:
        return self._fl_long(lists, self._length)

    def _fl_long(self, lists: list[Tensor], length: Any) -> TensorList:
        """A list with such elements, of another length."""
        return TensorList(lists, self._fl_spec, length, self._kinds)

    def _fl_unknown(self) -> TensorList:
        return self._fl_long(self._fl_lists, None)

    def _fl_begin(self) -> TensorList:
        """Inside a loop, the length is counted from its trip's start."""
        return self._fl_long(self._fl_lists, 0)

    def _fl_end(self, entry: TensorList, last: TensorList, trips: Any) -> TensorList:
        """After a loop: so many more in each trip."""
        more: Any = last._length
        before: Any = entry._length
        length: Any = None
        if before is not None and isinstance(more, int) and isinstance(trips, (int, OPEN_SIZE)):
            length = before + more * trips
        return self._fl_long(self._fl_lists, length)

    def element(self, leaves: list) -> Any:
        """An element, from its tensors."""
        pairs = zip(leaves, self._kinds)
        return rebuild(self._fl_spec, [leaf if kind is None else _number(leaf, kind) for leaf, kind in pairs])

    def _counted(self, by: int) -> None:
        self._length = self._length + by if self._length is not None else None

    def append(self, value: Any) -> None:
        """Adds an element at the end."""
        journal.touch(self)
        self._push(value)

    def _push(self, value: Any) -> None:
        leaves: list = []
        if not same(self._fl_spec, flatten(value, leaves)):
            raise Mismatch(f"the list has elements of another form than {value!r}")
        for i, leaf in enumerate(leaves):
            element = self._fl_lists[i].type_text.removeprefix("list ")
            tensor = tensor_of(leaf, self._kinds[i] or self._fl_lists[i].dtype)
            if tensor.type_text != element or (self._kinds[i] and not is_number(leaf)):
                raise Mismatch(f"the list has elements {element}, not {type_text(leaf)}")
            self._fl_lists[i] = _core.list_push(self._fl_lists[i], tensor)
            self._holds(leaf)
        self._counted(1)

    def _holds(self, leaf: Any) -> None:
        if isinstance(leaf, Tensor):
            journal.is_held_by(leaf, self)

    def extend(self, values: Any) -> None:
        """Adds several elements at the end."""
        for value in values:
            self.append(value)

    def __iadd__(self, values: Any) -> TensorList:
        self.extend(values)
        return self

    def pop(self, index: int = -1) -> Any:
        """Takes the last element off."""
        if index != -1:
            raise TypeError(
                "a list of the program gives up its last element only\n  remedy: use `pop()`"
            )
        journal.touch(self)
        pairs = [_core.list_pop(part) for part in self._fl_lists]
        self._fl_lists = [rest for rest, _ in pairs]
        self._counted(-1)
        return self.element([last for _, last in pairs])

    def __getitem__(self, index: Any) -> Any:
        if index == -1:
            return self.element([_core.list_pop(part)[1] for part in self._fl_lists])
        stacks = self.stacks()
        if isinstance(index, slice):
            raise TypeError(
                "a list of the program has no slices\n  remedy: use `fl.stack(list)[…]`"
            )
        return self.element([stack[index] for stack in stacks])

    def length(self) -> Tensor:
        """The number of elements."""
        return _core.number_of(_core.list_len(self._fl_lists[0]))

    def stacks(self) -> list[Tensor]:
        """The elements along a new first axis, one tensor for each of their tensors."""
        size: Any = self._length
        if size is None:
            # The sum of counts gives the size a symbol of its own.
            counts = _core.reshape(_core.list_len(self._fl_lists[0]), (1,))
            size = _core.repeat_interleave_counts(_core.zeros((1,), "float32"), counts, 0).shape[0]
        return [_core.list_stack(part, size, True) for part in self._fl_lists]

    def __len__(self) -> int:
        if isinstance(self._length, int):
            return self._length
        raise TypeError("the length of this list is known only when the program runs")

    def __bool__(self) -> bool:
        raise TypeError("whether this list has elements is known only when the program runs")

    def __iter__(self):
        raise TypeError(
            "this list is known only when the program runs\n  remedy: use a `for` statement or `fl.stack`"
        )

    def __repr__(self) -> str:
        return f"TensorList({', '.join(part.type_text for part in self._fl_lists)})"


def rows_of(value: Any) -> TensorList | None:
    """The list of the program that a list of Python has become; nothing for others.

    Such a list has one element, the `TensorList`, so that whoever holds the list sees it.
    """
    if type(value) is list and len(value) == 1 and type(value[0]) is TensorList:
        return value[0]
    return value if type(value) is TensorList else None


def unwrapped(value: Any) -> Any:
    """The list of the program that a value stands for, or the value."""
    rows = rows_of(value)
    return value if rows is None else rows


def _wider(a: Any, b: Any) -> Any:
    """The type of elements that have either, as `natural` gives it."""
    if a in DTYPES and b in DTYPES:
        return widest(a, b)
    return b if a in DTYPES else a if b in DTYPES else promoted(a, b)


def _number(element: Tensor, kind: type) -> Any:
    return number(element, kind) if element.is_symbolic else element.item()
