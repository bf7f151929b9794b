"""Sequences of different lengths: the rows of all of them in one tensor, and how many each has."""

from __future__ import annotations

from . import _core
from ._core import Tensor
from ._fault import fault
from ._tree import is_tensor, register_container, same_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ._core import DTypeLike, TensorLike

    #: A tensor, or lists that become one.
    Listed = TensorLike | Sequence[Any]


class Ragged:
    """Sequences of different lengths. `data` holds the rows of all of them, one after another; `lengths` says how
    many rows each has. With several levels a sequence consists of sequences.

    It is a tree of tensors: functions of `@fl.function` take and return it, and gradients, programs and files know its
    parts, `data` and `row_lengths`. It is not changed in place.

    Args:
        data: The rows of all sequences, along the first axis.
        *offsets: For each level, the outermost first: where its sequences begin, and where the last one ends.

    Example:
        >>> r = fl.Ragged(fl.tensor([1.0, 2.0, 3.0]), [0, 2, 2, 3])
        >>> r
        Ragged([[1.0, 2.0], [], [3.0]])
        >>> (r * 10)[0].tolist(), len(r), r.lengths.tolist()
        ([10.0, 20.0], 3, [2, 0, 1])
    """

    __slots__ = ("data", "row_lengths", "__weakref__")

    #: Operators of NumPy's arrays leave it to those of this class.
    __array_ufunc__ = None

    #: The rows of all sequences.
    data: Tensor
    #: For each level, the outermost first, how many parts each sequence has: parts of the next level, or rows.
    row_lengths: tuple[Tensor, ...]

    def __init__(self, data: Listed, *offsets: Listed) -> None:
        if not offsets:
            raise fault(
                TypeError,
                "where sequences begin is not said",
                "give offsets, or use `fl.Ragged.from_rows` or `fl.Ragged.from_lengths`",
            )
        levels = []
        for level in offsets:
            level = _whole(level, "offsets")
            if not level.is_symbolic and level.ndim == 1 and level.size and (first := level.tolist()[0]):
                raise fault(ValueError, f"the offsets begin with {first}", "the first sequence begins at row 0")
            levels.append(_core.sequence_lengths(level))
        _fill(self, as_tensor(data), tuple(levels))

    def __setattr__(self, name: str, value: Any) -> None:
        raise fault(
            AttributeError,
            f"`{name}` of a Ragged is not changed in place",
            "make another: `fl.Ragged.from_lengths(data, lengths)`, or `ragged.map(…)`",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Ragged.from_lengths, (self.data, *self.row_lengths)

    # Making --------------------------------------------------------------------------------------

    @staticmethod
    def from_lengths(data: Listed, *lengths: Listed) -> Ragged:
        """Rows that stand one after another, and how many each sequence has.

        Args:
            data: The rows of all sequences, along the first axis.
            *lengths: For each level, the outermost first, how many parts each sequence has.

        Example:
            >>> fl.Ragged.from_lengths([1, 2, 3], [1, 2], [2, 0, 1])
            Ragged([[[1, 2]], [[], [3]]])
        """
        if not lengths:
            raise fault(TypeError, "how long sequences are is not said", "give the lengths of at least one level")
        made = object.__new__(Ragged)
        _fill(made, as_tensor(data), tuple(_whole(level, "lengths") for level in lengths))
        return made

    @staticmethod
    def from_rows(rows: Sequence[Any], dtype: DTypeLike | None = None, levels: int = 1) -> Ragged:
        """Sequences from a list of them: tensors, arrays or lists of rows.

        Args:
            rows: The sequences.
            dtype: The element type; otherwise that of the elements.
            levels: How many levels of lists are sequences.

        Example:
            >>> fl.Ragged.from_rows([[1.0, 2.0], [], [3.0]]).padded().tolist()
            [[1.0, 2.0], [0.0, 0.0], [3.0, 0.0]]
            >>> fl.Ragged.from_rows([[[1], [2, 3]], [[4]]], levels=2).row_lengths[1].tolist()
            [1, 2, 1]
        """
        if levels < 1:
            raise fault(ValueError, f"{levels} levels of sequences", "there is at least one")
        lengths: list[list[Any]] = []
        parts = list(rows)
        for _ in range(levels - 1):
            lengths.append([len(part) for part in parts])
            parts = [inner for part in parts for inner in part]
        tensors = _rows(parts, dtype)
        lengths.append([tensor.shape[0] for tensor in tensors])
        if tensors:
            data = _core.concat(tensors, 0) if len(tensors) > 1 else tensors[0]
        else:
            data = _core.tensor([], dtype or "float32")
        return Ragged.from_lengths(data, *[_numbers(level) for level in lengths])

    @staticmethod
    def from_padded(x: Listed, lengths: Listed) -> Ragged:
        """The beginnings of sequences that stand beside each other.

        Args:
            x: The sequences, `[sequences, steps, ..]`.
            lengths: How many rows of each count.

        Example:
            >>> fl.Ragged.from_padded([[1, 2], [3, 0]], [2, 1])
            Ragged([[1, 2], [3]])
        """
        x, lengths = as_tensor(x), _whole(lengths, "lengths")
        return Ragged.from_lengths(_core.sequence_unpad(x, lengths), lengths)

    @staticmethod
    def concat(parts: Sequence[Ragged], axis: int = 0) -> Ragged:
        """Several as one: behind each other, or sequence by sequence.

        Args:
            parts: What is put together, with as many levels each.
            axis: 0 for the sequences of the first, then those of the second, and so on; 1 to join the sequences
                that have the same number.

        Example:
            >>> a, b = fl.Ragged.from_rows([[1], [2, 3]]), fl.Ragged.from_rows([[4, 5], []])
            >>> fl.Ragged.concat([a, b]), fl.Ragged.concat([a, b], axis=1)
            (Ragged([[1], [2, 3], [4, 5], []]), Ragged([[1, 4, 5], [2, 3]]))
        """
        if not parts or any(not isinstance(part, Ragged) or part.levels != parts[0].levels for part in parts):
            raise fault(TypeError, "only Ragged with as many levels each are put together", "give at least one")
        if axis == 0:
            lengths = [_core.concat(list(level), 0) for level in zip(*[part.row_lengths for part in parts])]
            return Ragged.from_lengths(_core.concat([part.data for part in parts], 0), *lengths)
        if axis != 1 or parts[0].levels != 1:
            raise fault(
                ValueError,
                f"axis {axis} of Ragged with {parts[0].levels} levels",
                "axis 0 puts them behind each other; axis 1 joins sequences of one level",
            )
        joined = _core.sequence_concat([part.data for part in parts], [part.lengths for part in parts])
        return Ragged.from_lengths(*joined)

    # What it is ----------------------------------------------------------------------------------

    @property
    def lengths(self) -> Tensor:
        """How many parts each sequence of the outermost level has: rows, if there is one level."""
        return self.row_lengths[0]

    @property
    def offsets(self) -> Tensor:
        """Where each sequence of the outermost level begins, and where the last one ends."""
        return _core.sequence_offsets(self.row_lengths[0])

    @property
    def levels(self) -> int:
        """How many levels of sequences there are."""
        return len(self.row_lengths)

    lod_level = levels

    @property
    def inner(self) -> Ragged:
        """The sequences of the next level, without the outermost."""
        if self.levels == 1:
            raise fault(ValueError, "there is one level of sequences", "`data` has their rows")
        return Ragged.from_lengths(self.data, *self.row_lengths[1:])

    @property
    def dtype(self) -> _core.DType:
        """The element type."""
        return self.data.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of `data`: all rows, then those of a row."""
        return self.data.shape

    @property
    def ndim(self) -> int:
        """The number of axes of `data`."""
        return self.data.ndim

    @property
    def type_text(self) -> str:
        """The types of its parts."""
        return f"Ragged({self.data.type_text}, {', '.join(level.type_text for level in self.row_lengths)})"

    def recursive_sequence_lengths(self) -> list[list[int]]:
        """The lengths of all levels, the outermost first, as Fluid has them."""
        return [level.tolist() for level in self.row_lengths]

    def lod(self) -> list[list[int]]:
        """The offsets of all levels, the outermost first, as Fluid has them."""
        return [_core.sequence_offsets(level).tolist() for level in self.row_lengths]

    def __len__(self) -> int:
        return len(self.row_lengths[0])

    def __bool__(self) -> bool:
        raise fault(
            TypeError, "sequences are neither true nor false", "compare their number: `len(ragged) > 0`"
        )

    def __repr__(self) -> str:
        if self.data.is_symbolic or any(level.is_symbolic for level in self.row_lengths):
            return self.type_text
        if self.data.size > 1000:
            return f"{self.type_text} of {len(self)} sequences"
        return f"Ragged({self.tolist()})"

    def tolist(self) -> list[Any]:
        """The elements as nested lists.

        Example:
            >>> fl.Ragged.from_rows([[[1, 2]], []]).tolist()
            [[[1, 2]], []]
        """
        return nested(self.data.tolist(), [level.tolist() for level in self.row_lengths])

    def numpy(self) -> list[Any]:
        """The sequences as a list of arrays; with several levels, a list of such lists."""
        rows = self.data.numpy()
        return nested(rows, [level.tolist() for level in self.row_lengths])

    # Parts ---------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._taken(_core.element_numbers((self.lengths.shape[0],))[key])
        is_index = is_tensor(key) and key.ndim > 0
        if is_index or isinstance(key, list) or (hasattr(key, "__array__") and not is_tensor(key) and key.ndim):
            return self._taken(_whole(key, "index"))
        return self._one(key)

    def _one(self, number: Any) -> Any:
        if not is_tensor(number) and not hasattr(number, "__index__"):
            raise fault(
                TypeError,
                f"{number!r} is not a number of a sequence",
                "write `ragged[i]`, `ragged[a:b]` or `ragged[[i, j]]`; `ragged.map(f)` reaches into rows",
            )
        number = number if is_tensor(number) else _core.tensor(number.__index__(), "int64")
        one = self._taken(_core.reshape(_core.cast(number, "int64"), (1,)))
        return one.data if self.levels == 1 else one.inner

    def _taken(self, index: Tensor) -> Ragged:
        lengths = [_core.gather(self.lengths, index, 0)]
        group = self.lengths
        for level in self.row_lengths[1:]:
            lengths.append(_core.sequence_take(level, group, index)[0])
            group = _core.sequence_pool(level, group, pool="sum")
        return Ragged.from_lengths(_core.sequence_take(self.data, group, index)[0], *lengths)

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self._one(i)

    # To padded, and by time ----------------------------------------------------------------------

    def padded(self, value: TensorLike = 0.0, steps: int | None = None) -> Tensor:
        """The sequences beside each other, `[sequences, steps, ..]`, filled up at their ends.

        Args:
            value: What they are filled up with: a number, or a row.
            steps: How long they become; as long as the longest if not given. For one level.
        """
        if self.levels > 1:
            if steps is not None:
                raise fault(ValueError, "`steps` is for one level of sequences", "leave it out, or pad `ragged.inner`")
            inner = self.inner.padded(value)
            value = value if _ndim(value) == 0 else _core.broadcast_to(as_tensor(value), inner.shape[1:])
            return _core.sequence_pad(inner, self.lengths, value)
        return _core.sequence_pad(self.data, self.lengths, value, steps)

    def mask(self, steps: int | None = None) -> Tensor:
        """Which places of `padded` hold rows: bools `[sequences, steps]`.

        Args:
            steps: As for `padded`.
        """
        return _core.sequence_mask(self._of_one_level("mask").lengths, steps=steps)

    def scan(
        self, step: Callable[..., Any], init: Any, others: Sequence[Ragged] = (), reverse: bool = False
    ) -> tuple[Any, Any]:
        """Goes through the steps of all sequences at once, as `fl.scan` goes through slices. Where a sequence has
        ended, what it carries stays as it is.

        Args:
            step: Takes what is carried, then a row of each sequence, `[sequences, ..]`, and one of each of `others`;
                returns what is carried next, and a row of the result, or several.
            init: What is carried at first: a tensor `[sequences, ..]`, or a tuple of them.
            others: Further sequences of the same lengths.
            reverse: Whether time runs from the last row of each sequence to its first.

        Returns:
            What is carried at the end, and the results as Ragged.

        Example:
            >>> r = fl.Ragged.from_rows([[1.0, 2.0, 3.0], [4.0]])
            >>> last, sums = r.scan(lambda h, x: (h + x, h + x), fl.full((2,), 0.0))
            >>> last.tolist(), sums
            ([6.0, 4.0], Ragged([[1.0, 3.0, 6.0], [4.0]]))
        """
        own = self._of_one_level("scan")
        lengths = own.lengths
        for other in others:
            check_alike(own, other)
        single = not isinstance(init, (tuple, list))
        carried = (init,) if single else tuple(init)
        xs = [own.data, *[other.data for other in others]]
        steps = tuple(_core.sequence_steps(x, lengths, reverse) for x in xs)
        # All have the steps of the first, which a program cannot know of the others.
        steps = (steps[0], *[_core.assume_dims(x, (steps[0].shape[0], *x.shape[1:])) for x in steps[1:]])
        form: list[bool] = []

        def masked(carried: Any, slices: Any) -> Any:
            time, *states = carried
            rows = slices if isinstance(slices, (tuple, list)) else (slices,)
            next, outs = step(states[0] if single else tuple(states), *rows)
            nexts = (next,) if single else tuple(next)
            runs = _core.lt(time, lengths)
            kept = [
                _core.where(_core.reshape(runs, (runs.shape[0], *[1] * (max(new.ndim, 1) - 1))), new, old)
                for new, old in zip(nexts, states)
            ]
            several = isinstance(outs, (tuple, list))
            form.append(several)
            return (time + 1, *kept), tuple(outs) if several else outs

        last, outs = _core.scan(masked, (_core.tensor(0, "int64"), *carried), steps if len(steps) > 1 else steps[0])

        def ragged(out: Tensor) -> Ragged:
            return Ragged.from_lengths(_core.sequence_rows(out, own.data, lengths, reverse), lengths)

        results = tuple(map(ragged, outs)) if isinstance(outs, (tuple, list)) else ragged(outs)
        return last[1] if single else tuple(last[1:]), results

    # Rows ----------------------------------------------------------------------------------------

    def map(self, function: Callable[[Tensor], Tensor]) -> Ragged:
        """The sequences with what a function makes of their rows.

        Args:
            function: Takes the rows of all sequences, `data`, and gives as many.

        Example:
            >>> fl.Ragged.from_rows([[1.0], [2.0, 3.0]]).map(fl.square)
            Ragged([[1.0], [4.0, 9.0]])
        """
        made = function(self.data)
        if not is_tensor(made) or made.ndim == 0 or not same_sizes(made.shape[0], self.data.shape[0]):
            what = made.type_text if is_tensor(made) else repr(made)
            raise fault(
                ValueError,
                f"the function gave {what} for {self.data.type_text}",
                "it has to give one row for each; `ragged.pool` makes one of a sequence",
            )
        return self._with(made)

    def pool(self, kind: str = "sum", pad_value: float = 0.0) -> Any:
        """One row for each sequence of the innermost level: a tensor, or, with several levels, a Ragged of one less.

        Args:
            kind: "sum", "average", "sqrt", "max", "min", "first" or "last".
            pad_value: What a sequence without rows gives.
        """
        rows = _core.sequence_pool(self.data, self.row_lengths[-1], pool=kind, pad_value=pad_value)
        return rows if self.levels == 1 else Ragged.from_lengths(rows, *self.row_lengths[:-1])

    def softmax(self) -> Ragged:
        """The softmax over the rows of each sequence.

        Example:
            >>> fl.Ragged.from_rows([[1.0, 1.0], [5.0]]).softmax()
            Ragged([[0.5, 0.5], [1.0]])
        """
        return self._with(_core.sequence_softmax(self.data, self.row_lengths[-1]))

    def reverse(self) -> Ragged:
        """The rows of each sequence in reverse order."""
        return self._with(_core.sequence_reverse(self.data, self.row_lengths[-1]))

    def expand(self, x: Listed) -> Ragged:
        """A tensor with a row for each sequence of the outermost level, repeated for the rows of the sequence.

        Args:
            x: The tensor, `[sequences, ..]`.
        """
        return self._with(along(as_tensor(x), self))

    def astype(self, dtype: DTypeLike) -> Ragged:
        """The rows with another element type."""
        return self._with(_core.cast(self.data, dtype))

    def detach(self) -> Ragged:
        """The same without gradients."""
        return self._with(self.data.detach())

    def track(self) -> Ragged:
        """The same with rows whose gradient can be asked for: that of `data`."""
        return self._with(self.data.track())

    def _with(self, data: Tensor) -> Ragged:
        made = object.__new__(Ragged)
        object.__setattr__(made, "data", data)
        object.__setattr__(made, "row_lengths", self.row_lengths)
        return made

    def _of_one_level(self, name: str) -> Ragged:
        if self.levels > 1:
            raise fault(
                ValueError, f"`{name}` is for one level of sequences, not {self.levels}", "take `ragged.inner`"
            )
        return self

    # Operators -----------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Ragged:
        if isinstance(other, Ragged):
            raise fault(TypeError, "rows of two Ragged have no product by rows", "take a tensor on the right side")
        other = as_tensor(other)
        if other.ndim > 2:
            # A matrix for each sequence.
            own = self._of_one_level("@")
            product = _core.matmul(_core.sequence_pad(own.data, own.lengths), other)
            index = _core.sequence_unpad(product, own.lengths)
            return self._with(_core.assume_dims(index, (self.data.shape[0], *index.shape[1:])))
        return self._with(_core.matmul(self.data, other))

    def __neg__(self) -> Ragged:
        return self._with(-self.data)

    def __pos__(self) -> Ragged:
        return self

    def __abs__(self) -> Ragged:
        return self._with(_core.abs(self.data))

    def __invert__(self) -> Ragged:
        return self._with(~self.data)

    __hash__ = object.__hash__

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Ragged: ...
        def __radd__(self, other: Any) -> Ragged: ...
        def __sub__(self, other: Any) -> Ragged: ...
        def __rsub__(self, other: Any) -> Ragged: ...
        def __mul__(self, other: Any) -> Ragged: ...
        def __rmul__(self, other: Any) -> Ragged: ...
        def __truediv__(self, other: Any) -> Ragged: ...
        def __rtruediv__(self, other: Any) -> Ragged: ...
        def __floordiv__(self, other: Any) -> Ragged: ...
        def __rfloordiv__(self, other: Any) -> Ragged: ...
        def __mod__(self, other: Any) -> Ragged: ...
        def __rmod__(self, other: Any) -> Ragged: ...
        def __pow__(self, other: Any) -> Ragged: ...
        def __rpow__(self, other: Any) -> Ragged: ...
        def __and__(self, other: Any) -> Ragged: ...
        def __or__(self, other: Any) -> Ragged: ...
        def __xor__(self, other: Any) -> Ragged: ...
        def __lt__(self, other: Any) -> Ragged: ...
        def __le__(self, other: Any) -> Ragged: ...
        def __gt__(self, other: Any) -> Ragged: ...
        def __ge__(self, other: Any) -> Ragged: ...
        def __eq__(self, other: object) -> Ragged: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Ragged: ...  # type: ignore[override]


def _fill(made: Ragged, data: Tensor, lengths: tuple[Tensor, ...]) -> None:
    """Gives a new object its parts, of which each level counts the next."""
    for level in lengths:
        if level.ndim != 1:
            raise fault(ValueError, f"lengths are {level.type_text}", "they have one axis")
    if data.ndim == 0:
        raise fault(ValueError, f"the rows are {data.type_text}", "their first axis goes through the rows")
    counted = [*lengths[1:], data]
    for i, (level, parts) in enumerate(zip(lengths, counted)):
        if level.is_symbolic or not isinstance(parts.shape[0], int) or not isinstance(level.shape[0], int):
            continue
        found = level.tolist()
        if min(found, default=0) < 0 or sum(found) != parts.shape[0]:
            what = "rows" if parts is data else f"sequences of level {i + 1}"
            shown = f"{found}" if len(found) < 9 else f"{found[:8]} and so on"
            raise fault(
                ValueError,
                f"the lengths {shown} do not add up to {parts.shape[0]} {what}",
                "give each sequence its length; they count all rows, and none is negative",
            )
    object.__setattr__(made, "data", data)
    object.__setattr__(made, "row_lengths", lengths)


def _remade(keys: list, parts: list) -> Ragged:
    made = object.__new__(Ragged)
    object.__setattr__(made, "data", parts[0])
    object.__setattr__(made, "row_lengths", tuple(parts[1:]))
    return made


def _parts(ragged: Ragged) -> list[tuple[str, Any]]:
    lengths = [("lengths" if i == 0 else f"lengths{i}", level) for i, level in enumerate(ragged.row_lengths)]
    return [("data", ragged.data), *lengths]


register_container(Ragged, _parts, _remade)


def as_tensor(x: Any) -> Tensor:
    return x if is_tensor(x) else _core.tensor(x)


def _ndim(x: Any) -> int:
    return getattr(x, "ndim", 0)


def _whole(x: Any, what: str) -> Tensor:
    x = _numbers(x) if isinstance(x, (list, tuple)) else as_tensor(x)
    if "int" not in x.dtype.name:
        raise fault(TypeError, f"the {what} are {x.type_text}", "give integers")
    return x if x.dtype.name == "int64" else _core.cast(x, "int64")


def _numbers(numbers: Any) -> Tensor:
    # The sizes of tensors of a program may be open.
    if any(isinstance(number, _core.Dim) or is_tensor(number) for number in numbers):
        return _core.stack([x if is_tensor(x) else _core.dim_size(x, "int64") for x in numbers], 0)
    return _core.tensor(list(numbers)) if len(numbers) else _core.tensor([], "int64")


def _row(part: Any) -> Tensor:
    try:
        return _core.tensor(part)
    except ValueError:
        if not isinstance(part, (list, tuple)):
            raise
        raise fault(
            ValueError,
            "the rows of a sequence have different sizes",
            "say how many levels of lists are sequences: `fl.Ragged.from_rows(rows, levels=2)`",
        ) from None


def _rows(parts: list[Any], dtype: Any) -> list[Tensor]:
    """Each sequence as a tensor; those without rows get the sizes of the others."""
    found: list[Tensor | None] = []
    for part in parts:
        # A list without rows tells neither sizes nor element type.
        is_open = isinstance(part, (list, tuple)) and not len(part)
        found.append(None if is_open else part if is_tensor(part) else _row(part))
    like = next((tensor for tensor in found if tensor is not None), None)
    empty = _core.tensor([], dtype or "float32") if like is None else like[0:0] if like.ndim else like
    tensors = [empty if tensor is None else tensor for tensor in found]
    for tensor in tensors:
        if tensor.ndim == 0:
            raise fault(
                ValueError, f"a sequence is {tensor.type_text}", "give a list of sequences, each a list of rows"
            )
        if not same_sizes(tensor.shape[1:], tensors[0].shape[1:]):
            raise fault(
                ValueError,
                f"rows of {tensors[0].type_text} and {tensor.type_text} differ in size",
                "all rows have the same sizes; only the number of rows may differ",
            )
    return [tensor if dtype is None else _core.cast(tensor, dtype) for tensor in tensors]


# What goes with sequences needs the class.
from ._ragged_functions import along, check_alike, install, nested

install()
