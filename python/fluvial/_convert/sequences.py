"""What a `for` of the program can go through: ranges, tensors, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._array_api.making import n_between
from .._checks import must
from .._tasks import Channel
from .errors import Mismatch
from .lists import TensorList, rows_of
from .plain import example, is_plain
from .trees import OPEN_SIZE, Tensor, is_symbolic


class Sequence:
    """Items by position. A loop of the program carries the position: some tensors."""

    #: How many items; a symbol or a tensor, if that is known only when the program runs.
    length: Any
    #: Whether Python could go through it as well.
    plain = False

    def start(self, at: int) -> list[Tensor]:
        return [_core.tensor(at)]

    def advance(self, position: list[Tensor]) -> list[Tensor]:
        return [position[0] + 1]

    def more(self, position: list[Tensor]) -> Any:
        """Whether there is an item at a position."""
        length = self.length
        if not isinstance(length, Tensor):
            length = _core.whole_size(length, "int64")
        return position[0] < length

    def item(self, position: list[Tensor]) -> Any:
        raise NotImplementedError

    def python_item(self, at: int) -> Any:
        """The item at a place that is known."""
        raise NotImplementedError

    def decided(self, decide: Callable[[Any], Any]) -> Sequence:
        """The sequence as one that Python goes through.

        Args:
            decide: Gives what a value of the program is in the call at hand.
        """
        length = self.length
        if type(length) is not int:
            length = decide(_core.tensor(length) if is_symbolic(length) else _core.whole_size(length, "int64"))
        return _Decided(self, length)


class _Decided(Sequence):
    """A sequence whose length is known for the call at hand."""

    plain = True

    def __init__(self, source: Sequence, length: int) -> None:
        self.length, self.python_item = length, source.python_item  # type: ignore[method-assign]

    def start(self, at: int) -> list[Tensor]:
        raise Mismatch("only the run knows whether a loop is left that is decided while the program is built")


class Range(Sequence):
    """`range` with bounds that may be tensors."""

    def __init__(self, start: Any, stop: Any, step: Any = 1) -> None:
        self.bounds = (start, stop, step)
        self.first, self.step = start, step
        self.plain = not any(isinstance(bound, (Tensor, OPEN_SIZE)) for bound in self.bounds)
        if self.plain:
            self.length = len(range(start, stop, step))
        elif type(step) is int and step and not isinstance(start, Tensor) and not isinstance(stop, Tensor):
            self.length = n_between(start, stop, step)
        else:
            start, stop, step = (_whole(bound) for bound in self.bounds)
            self.first, self.step = start, step
            if type(self.bounds[2]) is not int or not self.bounds[2]:
                must(step != 0, ValueError, "range() arg 3 must not be zero")
            one = _core.where(step > 0, 1, -1)
            count = _core.floor_div(stop - start + step - one, step)
            self.length = _core.maximum(count, 0)

    def item(self, position: list[Tensor]) -> Any:
        one, zero = (
            type(self.step) is int and self.step == 1,
            type(self.first) is int and self.first == 0,
        )
        scaled = position[0] if one else position[0] * self.step
        return _core.number_of(scaled if zero else scaled + self.first)

    def python_item(self, at: int) -> Any:
        return self.first + at * self.step

    def decided(self, decide: Callable[[Any], Any]) -> Sequence:
        bounds = [decide(_whole(x)) if isinstance(x, (Tensor, OPEN_SIZE)) else x for x in self.bounds]
        return Range(*bounds)


def _whole(bound: Any) -> Tensor:
    if isinstance(bound, OPEN_SIZE):
        return _core.whole_size(bound, "int64")
    bound = _core.tensor(bound)
    if not bound.dtype.is_integer:
        raise TypeError(f"a bound of a range is a whole number, not {bound.type_text}")
    return _core.cast(bound, "int64")


class Rows(Sequence):
    """The rows of tensors, taken one by one off a list."""

    def __init__(self, tensor: Tensor) -> None:
        if tensor.ndim == 0:
            raise TypeError("iteration over a tensor without axes")
        self.tensor = tensor
        self.length = tensor.shape[0]
        #: The rows, once Python goes through them: what the loop changes of the tensor is not seen in them.
        self.rows: list[Tensor] | None = None

    def start(self, at: int) -> list[Tensor]:
        return [_core.tensor(at), _core.list_unstack(self.tensor)]

    def advance(self, position: list[Tensor]) -> list[Tensor]:
        return [position[0] + 1, _core.list_pop(position[1])[0]]

    def item(self, position: list[Tensor]) -> Any:
        row = _core.list_pop(position[1])[1]
        _core.mark_row(row, self.tensor, position[0])
        return row

    def python_item(self, at: int) -> Any:
        if self.rows is None:
            self.rows = [self.tensor[i] for i in range(self.length)]
        return self.rows[at]


class Items(Sequence):
    """The elements of a list of the program."""

    def __init__(self, values: TensorList) -> None:
        self.values, self.rows = values, [Rows(stack) for stack in values.stacks()]
        self.length = self.rows[0].length

    def start(self, at: int) -> list[Tensor]:
        return [_core.tensor(at), *(row.start(at)[1] for row in self.rows)]

    def advance(self, position: list[Tensor]) -> list[Tensor]:
        return [position[0] + 1, *(_core.list_pop(part)[0] for part in position[1:])]

    def item(self, position: list[Tensor]) -> Any:
        return self.values.taken([_core.list_pop(part)[1] for part in position[1:]])

    def python_item(self, at: int) -> Any:
        return self.values.taken([row.python_item(at) for row in self.rows])


class Together(Sequence):
    """`zip` and `enumerate`: several sequences of one length."""

    def __init__(self, parts: list[Sequence], strict: bool = False) -> None:
        self.parts = parts
        lengths = [part.length for part in parts]
        known = {repr(length) for length in lengths if not isinstance(length, Tensor)}
        if strict:
            _check_lengths(lengths)
        if all(type(length) is int for length in lengths):
            self.length = min(lengths)
        elif len(known) == 1 and not any(isinstance(length, Tensor) for length in lengths):
            self.length = lengths[0]
        else:
            sizes = [x if isinstance(x, Tensor) else _core.whole_size(x, "int64") for x in lengths]
            for size in sizes[1:]:
                sizes[0] = _core.minimum(sizes[0], size)
            self.length = sizes[0]

    def start(self, at: int) -> list[Tensor]:
        starts = [part.start(at) for part in self.parts]
        self.counts = [len(start) for start in starts]
        return [tensor for start in starts for tensor in start]

    def _split(self, position: list[Tensor]) -> list[list[Tensor]]:
        rest, parts = list(position), []
        for count in self.counts:
            parts.append(rest[:count])
            rest = rest[count:]
        return parts

    def advance(self, position: list[Tensor]) -> list[Tensor]:
        pairs = zip(self.parts, self._split(position))
        return [tensor for part, own in pairs for tensor in part.advance(own)]

    def item(self, position: list[Tensor]) -> Any:
        return tuple(part.item(own) for part, own in zip(self.parts, self._split(position)))

    def python_item(self, at: int) -> Any:
        return tuple(part.python_item(at) for part in self.parts)

    def decided(self, decide: Callable[[Any], Any]) -> Sequence:
        made = Together([part.decided(decide) for part in self.parts])
        made.plain = True
        return made


def _check_lengths(lengths: list) -> None:
    """`zip(..., strict=True)`: the run checks what only it knows."""
    sizes = [x if isinstance(x, (int, Tensor)) else _core.dim_size(x, "int64") for x in lengths]
    for i, size in enumerate(sizes[1:], 2):
        text = f"zip() argument {i} is shorter or longer than argument 1"
        if isinstance(size, int) and isinstance(sizes[0], int) and size != sizes[0]:
            raise ValueError(text)
        must(size == sizes[0], ValueError, text)


class Counted(Together):
    """`enumerate` with another start than zero."""

    def __init__(self, source: Sequence, first: Any) -> None:
        self.first = first
        super().__init__([_Count(first, source.length), source])


class _Count(Sequence):
    def __init__(self, first: Any, length: Any) -> None:
        self.first, self.length = first, length

    def item(self, position: list[Tensor]) -> Any:
        first = self.first if type(self.first) is int else _whole(self.first)
        return _core.number_of(position[0] + first)

    def python_item(self, at: int) -> Any:
        return at + self.first

    def decided(self, decide: Callable[[Any], Any]) -> Sequence:
        first = decide(_whole(self.first)) if is_symbolic(self.first) else self.first
        length = self.length if type(self.length) is int else decide(_whole(self.length))
        made = _Count(first, length)
        made.plain = True
        return made


class Messages(Sequence):
    """What comes on a channel, until it is closed. The position is the message, and whether there is one."""

    length = None

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    def start(self, at: int) -> list[Tensor]:
        return list(self.channel.recv())

    def advance(self, position: list[Tensor]) -> list[Tensor]:
        return list(self.channel.recv())

    def more(self, position: list[Tensor]) -> Any:
        return position[1]

    def item(self, position: list[Tensor]) -> Any:
        return position[0]

    def decided(self, decide: Callable[[Any], Any]) -> Sequence:
        raise Mismatch("only the run knows what comes on a channel")


def sequence_of(value: Any) -> Sequence | None:
    """The sequence that a program can go through, if the value is one."""
    rows = rows_of(value)
    if rows is not None:
        return Items(rows)
    if isinstance(value, Sequence):
        return value
    if type(value) is range and _core.is_building():
        return Range(value.start, value.stop, value.step)
    if is_plain(value):
        # No number is a sequence.
        iter(example(value))
    if is_symbolic(value):
        tensor: Any = value
        return Rows(tensor)
    return None


def unrolled(value: Any) -> list | None:
    """The items of a sequence of the program, if their number is known while it is built."""
    rows = rows_of(value)
    if rows is not None:
        return list(rows) if isinstance(rows._length, int) else None
    source = sequence_of(value)
    if source is None or type(source.length) is not int:
        return None
    return [source.python_item(i) for i in range(source.length)]
