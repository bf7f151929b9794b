"""Lists of the program: Python lists that grow or shrink where only the run knows how often."""

from __future__ import annotations

from typing import Any

from .. import _core
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

    def __init__(self, lists: list[Tensor], spec: Any, length: Any) -> None:
        self._fl_lists, self._fl_spec, self._length = lists, spec, length

    @staticmethod
    def of(values: list, like: Any) -> TensorList:
        """A Python list whose elements are as `like`."""
        if isinstance(values, TensorList):
            return values
        if isinstance(like, TensorList):
            spec = like._fl_spec
            types = [part.type_text.removeprefix("list ") for part in like._fl_lists]
            made = TensorList([_core.list_new(text) for text in types], spec, 0)
            made.extend(values)
            return made
        leaves: list = []
        spec = flatten(like, leaves)
        rows = []
        for value in values:
            row: list = []
            if not same(spec, flatten(value, row)):
                raise Mismatch("the elements of a list that a program changes differ in form")
            rows.append(row)
        lists = []
        for i, leaf in enumerate(leaves):
            dtype = natural(leaf)
            for row in rows:
                dtype = promoted(dtype, joined(row[i], leaf))
            column = _core.list_new((dtype, shape(leaf)))
            for row in rows:
                column = _core.list_push(column, tensor_of(row[i], dtype))
            lists.append(column)
        return TensorList(lists, spec, len(values))

    def _fl_with(self, lists: list[Tensor]) -> TensorList:
        return TensorList(lists, self._fl_spec, self._length)

    def _fl_unknown(self) -> TensorList:
        return TensorList(self._fl_lists, self._fl_spec, None)

    def _fl_begin(self) -> TensorList:
        """Inside a loop, the length is counted from its trip's start."""
        return TensorList(self._fl_lists, self._fl_spec, 0)

    def _fl_end(self, entry: TensorList, last: TensorList, trips: Any) -> TensorList:
        """After a loop: so many more in each trip."""
        more: Any = last._length
        before: Any = entry._length
        length: Any = None
        if before is not None and isinstance(more, int) and isinstance(trips, (int, OPEN_SIZE)):
            length = before + more * trips
        return TensorList(self._fl_lists, self._fl_spec, length)

    def element(self, leaves: list) -> Any:
        """An element, from its tensors."""
        return rebuild(self._fl_spec, list(leaves))

    def _counted(self, by: int) -> None:
        self._length = self._length + by if self._length is not None else None

    def append(self, value: Any) -> None:
        """Adds an element at the end."""
        leaves: list = []
        if not same(self._fl_spec, flatten(value, leaves)):
            raise Mismatch(f"the list has elements of another form than {value!r}")
        for i, leaf in enumerate(leaves):
            element = self._fl_lists[i].type_text.removeprefix("list ")
            tensor = tensor_of(leaf, self._fl_lists[i].dtype)
            if tensor.type_text != element:
                raise Mismatch(f"the list has elements {element}, not {type_text(leaf)}")
            self._fl_lists[i] = _core.list_push(self._fl_lists[i], tensor)
        self._counted(1)

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
        return _core.list_len(self._fl_lists[0])

    def stacks(self) -> list[Tensor]:
        """The elements along a new first axis, one tensor for each of their tensors."""
        size: Any = self._length
        if size is None:
            # The sum of counts gives the size a symbol of its own.
            counts = _core.reshape(self.length(), (1,))
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
