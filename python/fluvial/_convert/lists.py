"""Lists of the program: Python lists that grow or shrink where only the run knows how often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._checks import must
from .._fault import fault
from .._numbers import DTYPES, is_number, kind, number, widest
from .._tree import children
from . import journal, tags
from .errors import Mismatch
from .parts import Window, chosen, fresh, get, is_open, position, put
from .state import BUILD
from .trees import (
    OPEN_SIZE,
    Tensor,
    flatten,
    is_symbolic,
    joined,
    natural,
    promoted,
    rebuild,
    same,
    shape,
    tensor_of,
    type_text,
)


class _Holder:
    """What lists with the same elements have in common: while one of them lives, it holds these elements."""

    def __init__(self) -> None:
        self.others: list[_Holder] = []


class TensorList:
    """A list whose length is known when the program runs, with what Python's lists have.

    All elements have one type. Python lists become such lists when a loop or a branch of the
    program changes their length.
    """

    def __init__(self, lists: list[Tensor], spec: Any, length: Any, kinds: list) -> None:
        self._fl_lists, self._fl_spec, self._length = lists, spec, length
        #: By how much it grew since the trip of a loop began, where that is known.
        self._grown: int | None = None
        #: For each part of an element what it is in Python: `bool`, `int`, `float`, or None for tensors. In a function, a list
        #: of tags for each part that is a tensor stands behind the lists of the parts.
        self._kinds = kinds
        self._holder = _Holder()

    @staticmethod
    def of(values: list, like: Any) -> TensorList:
        """A Python list whose elements are as `like`."""
        if len(values) == 1 and isinstance(values[0], TensorList):
            return values[0]
        if isinstance(like, TensorList):
            made = like._empty()
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
        for i, own in enumerate(kinds):
            if own is None and BUILD.outer is not None:
                column = _core.list_new("i64[]")
                for row in rows:
                    column = _core.list_push(column, tags.as_value(tags.beside(row[i], None)))
                lists.append(column)
        made = TensorList(lists, spec, len(values), kinds)
        for value in values:
            made._holds(value)
        return made

    def _empty(self) -> TensorList:
        """A list for the same elements, without any."""
        types = [part.type_text.removeprefix("list ") for part in self._fl_lists]
        return TensorList([_core.list_new(text) for text in types], self._fl_spec, 0, self._kinds)

    # What control flow asks of it ----------------------------------------------------------------

    def _fl_with(self, lists: list[Tensor]) -> TensorList:
        return self._like(lists, self._length, self._grown)

    def _fl_long(self, lists: list[Tensor], length: Any) -> TensorList:
        """A list with such elements, of another length."""
        return self._like(lists, length, None)

    def _like(self, lists: list[Tensor], length: Any, grown: int | None) -> TensorList:
        made = TensorList(lists, self._fl_spec, length, self._kinds)
        made._grown, made._holder = grown, self._holder
        return made

    def _fl_unknown(self) -> TensorList:
        return self._fl_long(self._fl_lists, None)

    def _fl_merged(self, other: TensorList) -> TensorList:
        """Either of two lists: what both know of their length."""
        length = self._length if repr(self._length) == repr(other._length) else None
        grown = self._grown if self._grown == other._grown else None
        self._holder.others.append(other._holder)
        return self._like(self._fl_lists, length, grown)

    def _fl_begin(self) -> TensorList:
        """Inside a loop, the growth is counted from its trip's start."""
        return self._like(self._fl_lists, None, 0)

    def _fl_end(self, entry: TensorList, last: TensorList, trips: Any) -> TensorList:
        """After a loop: so many more in each trip."""
        more: Any = last._grown
        before: Any = entry._length
        length: Any = None
        if before is not None and isinstance(more, int) and isinstance(trips, (int, OPEN_SIZE)):
            length = before + more * trips
        return self._fl_long(self._fl_lists, length)

    def element(self, leaves: list) -> Any:
        """An element, from its tensors."""
        parts = [leaf if own is None else _number(leaf, own) for leaf, own in zip(leaves, self._kinds)]
        for part, tag in zip((x for x, own in zip(parts, self._kinds) if own is None), leaves[len(parts) :]):
            tags.note(part, tag)
        return rebuild(self._fl_spec, parts)

    def taken(self, leaves: list) -> Any:
        """An element that a function gets from the list, where others may have the same one."""
        element = journal.made_inside(self.element(leaves))
        self._holds(element)
        return element

    def _holds(self, value: Any) -> None:
        """Notes that the list has a value, so that the value cannot be changed in place."""
        if isinstance(value, Tensor):
            journal.is_held_by(value, self._holder)
            return
        journal.stands_for(value, self._holder)
        for _, part in children(value) or ():
            self._holds(part)

    def length(self) -> Tensor:
        """The number of elements, as Python's `len` gives it."""
        return _core.number_of(self.count())

    def count(self) -> Tensor:
        """The number of elements as a tensor."""
        return _core.list_len(self._fl_lists[0])

    def stacks(self) -> list[Tensor]:
        """The elements along a new first axis, one tensor for each of their tensors."""
        size = fresh(self.count()) if self._length is None else self._length
        return [_core.list_stack(part, size, True) for part in self._fl_lists]

    def stack(self) -> Tensor:
        """The only tensor of `stacks`."""
        if len(self._kinds) != 1:
            raise fault(
                TypeError,
                f"each element of the list has {len(self._kinds)} tensors, where one is needed",
                "keep one list for each of them",
            )
        return self.stacks()[0]

    def _from(self, stacks: list[Tensor]) -> TensorList:
        """A list of the same kind, whose elements are the rows of these."""
        size = stacks[0].shape[0]
        length = size if isinstance(size, int) else None
        return self._fl_long([_core.list_unstack(x, True) for x in stacks], length)

    def _become(self, other: TensorList, grown: int | None = None) -> None:
        journal.touch(self)
        self._fl_lists, self._length, self._grown = other._fl_lists, other._length, grown

    def _counted(self, by: int) -> None:
        self._length = self._length + by if self._length is not None else None
        self._grown = None if self._grown is None else self._grown + by

    def _row(self, value: Any) -> list[Tensor]:
        """The tensors of a value that is to be an element."""
        leaves: list = []
        if not same(self._fl_spec, flatten(value, leaves)):
            raise Mismatch(f"the list has elements of another form than {value!r}")
        row = []
        for column, own, leaf in zip(self._fl_lists, self._kinds, leaves):
            element = column.type_text.removeprefix("list ")
            if own is not None and not (is_number(leaf) and widest(kind(leaf), own) is own):
                raise Mismatch(f"the list has elements of Python's {own.__name__}, not {type_text(leaf)}")
            tensor = tensor_of(leaf, own or column.dtype)
            if tensor.type_text != element:
                raise Mismatch(f"the list has elements {element}, not {type_text(leaf)}")
            row.append(tensor)
        if len(self._fl_lists) > len(self._kinds):
            row += [tags.as_value(tags.beside(x, None)) for x, own in zip(leaves, self._kinds) if own is None]
        self._holds(value)
        return row

    def _push(self, value: Any) -> None:
        """Adds an element to a list that nobody else has."""
        row = self._row(value)
        self._fl_lists = [_core.list_push(x, leaf) for x, leaf in zip(self._fl_lists, row)]
        self._counted(1)

    # What Python's lists have --------------------------------------------------------------------

    def append(self, value: Any) -> None:
        """Adds an element at the end."""
        journal.touch(self)
        self._push(value)

    def extend(self, values: Any) -> None:
        """Adds several elements at the end."""
        values = unwrapped(values)
        if is_symbolic(values):
            column = _core.list_unstack(values, True)
            size = values.shape[0]
            columns = [column]
            if len(self._fl_lists) > len(self._kinds):
                columns.append(_core.list_unstack(_core.full((size,), tags.NEW, "int64"), True))
            values = TensorList(columns, "*", size if isinstance(size, int) else None, [None])
        if not isinstance(values, TensorList):
            for value in values:
                self.append(value)
            return
        form = lambda rows: ([x.type_text for x in rows._fl_lists], rows._kinds)  # noqa: E731
        if not same(self._fl_spec, values._fl_spec) or form(self) != form(values):
            raise Mismatch(f"the list has other elements than {values!r}")
        more = values._length if isinstance(values._length, int) else None
        length = self._length + more if isinstance(self._length, int) and more is not None else None
        pairs = zip(self.stacks(), values.stacks())
        grown = None if self._grown is None or more is None else self._grown + more
        self._become(self._from([_core.concat([a, b], 0) for a, b in pairs]), grown)
        self._length = length
        self._holder.others.append(values._holder)

    def __iadd__(self, values: Any) -> TensorList:
        self.extend(values)
        return self

    def __add__(self, values: Any) -> Any:
        if not isinstance(values, (list, TensorList)):
            return NotImplemented
        made = journal.made(self.copy())
        made.extend(values)
        return made

    def __radd__(self, values: Any) -> Any:
        if not isinstance(values, list):
            return NotImplemented
        return journal.made(TensorList.of(values, self)) + self

    def __mul__(self, times: Any) -> TensorList:
        if is_symbolic(times):
            count = self.count()
            places = _core.iota(fresh(_core.maximum(position(times), 0) * count), "int64")
            places = places % _core.maximum(count, 1)
            return self._from([x[places] for x in self.stacks()])
        made = journal.made(self._empty())
        for _ in range(times):
            made.extend(self)
        return made

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> TensorList:
        self._become(self * times)
        return self

    def copy(self) -> TensorList:
        """A list with the same elements."""
        return self._fl_with(list(self._fl_lists))

    def clear(self) -> None:
        """Takes all elements off."""
        self._become(self._empty())

    def reverse(self) -> None:
        """Puts the elements into the opposite order."""
        self._become(self._from([_core.flip(x, [0]) for x in self.stacks()]), self._grown)

    def sort(self, *, key: Callable | None = None, reverse: Any = False) -> None:
        """Puts the elements into order."""
        self._become(self.sorted(key, reverse), self._grown)

    def sorted(self, key: Callable | None, reverse: Any) -> TensorList:
        """The elements in order; equal ones stay as they were."""
        stack = self.stack()
        if key is not None or stack.ndim != 1 or type(reverse) is not bool:
            raise fault(
                TypeError,
                "a list of the program is sorted by its elements, which are numbers",
                "use `fl.argsort(fl.stack(keys), 0)`, and take the elements in that order",
            )
        order = _core.argsort(stack, 0, reverse)
        return self._from([x[order] for x in self.stacks()])

    def _moved(self, place: Callable[[Tensor, Tensor], Tensor]) -> None:
        """Has the element at each place come from another one: a function of place and length."""
        stacks = self.stacks()
        size = stacks[0].shape[0]
        places = place(_core.iota(size, "int64"), _core.dim_size(size, "int64"))
        journal.touch(self)
        self._fl_lists = self._from([x[places] for x in stacks])._fl_lists

    def insert(self, index: Any, value: Any) -> None:
        """Adds an element before that at a position."""
        at = position(index) if is_symbolic(index) else _core.tensor(index, "int64")
        count = self.count()
        at = _core.minimum(_core.where(at < 0, _core.maximum(at + count, 0), at), count)
        self.append(value)
        where = _core.where
        self._moved(lambda i, n: where(i < at, i, where(i == at, n - 1, i - 1)))

    def pop(self, index: Any = -1) -> Any:
        """Takes an element off, the last one unless told."""
        return self._popped(index, "pop from empty list", "pop index out of range")

    def _popped(self, index: Any, empty: str, outside: str) -> Any:
        if is_symbolic(index) or index != -1:
            count = self.count()
            at = position(index) if is_symbolic(index) else _core.tensor(index, "int64")
            at = _core.where(at < 0, at + count, at)
            if empty != outside:
                must(count > 0, IndexError, empty)
            inside = _core.logical_and(at >= 0, at < count)
            must(inside, IndexError, outside)
            where = _core.where
            self._moved(lambda i, n: where(i < at, i, where(i == n - 1, at, i + 1)))
        elif not (isinstance(self._length, int) and self._length > 0):
            must(self.count() > 0, IndexError, empty)
        journal.touch(self)
        pairs = [_core.list_pop(part) for part in self._fl_lists]
        self._fl_lists = [rest for rest, _ in pairs]
        self._counted(-1)
        return self.taken([last for _, last in pairs])

    def _place(self, index: Any, what: str) -> Tensor:
        """A position, counted from the front, that the run checks."""
        at = position(index) if is_symbolic(index) else _core.tensor(index, "int64")
        count = self.count()
        inside = _core.logical_and(at >= -count, at < count)
        must(inside, IndexError, f"list {what} out of range")
        return _core.where(at < 0, at + count, at)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (slice, Window)):
            return self._range(as_slice(index))
        if not is_symbolic(index) and index == -1:
            if not (isinstance(self._length, int) and self._length > 0):
                must(self.count() > 0, IndexError, "list index out of range")
            return self.taken([_core.list_pop(part)[1] for part in self._fl_lists])
        at = self._place(index, "index")
        return self.taken([stack[at] for stack in self.stacks()])

    def _range(self, part: slice) -> TensorList:
        """The elements of a range."""
        stacks = self.stacks()
        if not is_open(part) and (part.step or 1) < 0:
            turned = self._from([_core.flip(x, [0]) for x in stacks])
            start, stop = [None if bound is None else -1 - bound for bound in (part.start, part.stop)]
            return turned._range(slice(start, stop, -part.step))
        if isinstance(self._length, int) and not is_open(part):
            return self._from([x[part] for x in stacks])
        return self._from([x[chosen(x.shape[0], part)] for x in stacks])

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, (slice, Window)):
            raise fault(
                TypeError,
                "a range of a list of the program is not replaced",
                "set its elements one by one, or make a new list: `a[:i] + b + a[j:]`",
            )
        row = self._row(value)
        at = self._place(index, "assignment index")
        stacks = [put(x, at, leaf) for x, leaf in zip(self.stacks(), row)]
        journal.touch(self)
        self._fl_lists = self._from(stacks)._fl_lists

    def __delitem__(self, index: Any) -> None:
        if not isinstance(index, (slice, Window)):
            text = "list assignment index out of range"
            self._popped(index, text, text)
            return
        stacks = self.stacks()
        kept = _core.logical_not(chosen(stacks[0].shape[0], as_slice(index)))
        self._become(self._from([get(x, kept) for x in stacks]))

    def __len__(self) -> int:
        if isinstance(self._length, int):
            return self._length
        raise TypeError("the length of this list is known only when the program runs")

    def __bool__(self) -> bool:
        raise TypeError("whether this list has elements is known only when the program runs")

    def __iter__(self):
        if isinstance(self._length, int):
            stacks = self.stacks()
            return iter([self.taken([x[i] for x in stacks]) for i in range(self._length)])
        raise fault(
            TypeError,
            "the length of this list is known only when the program runs, and Python needs it now",
            "use a `for` statement or `fl.stack`",
        )

    def __getattr__(self, name: str) -> Any:
        if not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        raise fault(
            AttributeError,
            f"a list of the program has no `{name}`",
            "use a `for` statement, or the tensor that `fl.stack` makes of it",
        )

    def __repr__(self) -> str:
        return f"TensorList({', '.join(part.type_text for part in self._fl_lists[: len(self._kinds)])})"


def as_slice(index: Any) -> slice:
    """A range of a list, which may end before the size of a window."""
    return slice(index.start, index.start + index.size) if isinstance(index, Window) else index


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


def wrapped(value: Any) -> Any:
    """A new list of the program as a list of Python; any other value is itself."""
    return journal.made([journal.made(value)]) if type(value) is TensorList else value


def _wider(a: Any, b: Any) -> Any:
    """The type of elements that have either, as `natural` gives it."""
    if a in DTYPES and b in DTYPES:
        return widest(a, b)
    return b if a in DTYPES else a if b in DTYPES else promoted(a, b)


def _number(element: Tensor, kind: type) -> Any:
    return number(element, kind) if element.is_symbolic else element.item()
