"""Arrays with lengths of sequences, as Fluid's programs feed and fetch them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._fault import fault
from .._tree import is_size
from .._ragged import Ragged

if TYPE_CHECKING:
    import numpy as np

    from .variable import Variable

__all__ = ["LoDTensor", "LoDTensorArray", "create_lod_tensor", "create_random_int_lodtensor"]


class LoDTensor:
    """An array, and for rows that are sequences of different lengths where each begins.

    `np.array(t)` has the rows; `t.recursive_sequence_lengths()` the lengths; `t.lod()` the offsets.
    """

    def __init__(self) -> None:
        self._array: Any = None
        self._lengths: list[list[int]] = []

    @staticmethod
    def _of(value: Any) -> LoDTensor:
        made = LoDTensor()
        if isinstance(value, _core.Tensor):
            made._array = value.numpy()
        elif isinstance(value, Ragged):
            from . import _ragged

            return _ragged.to_lod(value)
        else:
            made.set(value)
        return made

    def _read(self) -> Any:
        return self._array

    def set(self, array: Any, place: Any = None) -> None:
        """Gives it elements.

        Args:
            array: An array or nested lists.
            place: For Fluid's programs.
        """
        import numpy as np

        self._array = np.asarray(array)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        import numpy as np

        value = self._read()
        if value is None:
            raise fault(RuntimeError, "the tensor has no elements yet", "call `set` first")
        array = as_array(np.array(value.numpy() if isinstance(value, _core.Tensor) else value))
        return array if dtype is None else array.astype(dtype)

    def numpy(self) -> np.ndarray:
        """The rows as an array."""
        return self.__array__()

    def shape(self) -> list[int]:
        """The sizes."""
        return list(self.__array__().shape)

    def _dtype(self) -> Any:
        from .core import dtype_of

        return dtype_of(self.__array__().dtype)

    def set_recursive_sequence_lengths(self, lengths: Sequence[Sequence[int]]) -> None:
        """Says how long sequences are, the outermost level first.

        Args:
            lengths: For each level a list.
        """
        self._lengths = [[int(length) for length in level] for level in lengths]

    def recursive_sequence_lengths(self) -> list[list[int]]:
        """How long sequences are, the outermost level first."""
        return [list(level) for level in self._lengths]

    def set_lod(self, lod: Sequence[Sequence[int]]) -> None:
        """Says where sequences begin and end, the outermost level first.

        Args:
            lod: For each level a list that begins with 0.
        """
        self._lengths = [[b - a for a, b in zip(level, list(level)[1:])] for level in lod]

    def lod(self) -> list[list[int]]:
        """Where sequences begin and end, the outermost level first."""
        offsets = []
        for level in self._lengths:
            ends = [0]
            for length in level:
                ends.append(ends[-1] + length)
            offsets.append(ends)
        return offsets

    def has_valid_recursive_sequence_lengths(self) -> bool:
        """Whether each level has as many entries as the one before counts."""
        counts = [*(len(level) for level in self._lengths[1:]), self.__array__().shape[0]]
        return all(sum(level) == count for level, count in zip(self._lengths, counts))

    def __repr__(self) -> str:
        return f"LoDTensor(lod={self.lod()}, {self.__array__()})"

    __str__ = __repr__


def as_array(array: np.ndarray) -> np.ndarray:
    """An array as Fluid gives it: with an axis at least, and a number if it has one element.

    Args:
        array: The elements.
    """
    if array.ndim == 0:
        array = array.reshape(1)
    return array.view(_array_class())


_classes: list[Any] = []


def _array_class() -> Any:
    """The class of arrays that `float` and `int` take if they have one element, as NumPy's did when Fluid was new."""
    if not _classes:
        import numpy as np

        class Array(np.ndarray):
            def __float__(self) -> float:
                return float(self.item())

            def __int__(self) -> int:
                return int(self.item())

            def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
                # Sums and other single numbers are numbers, as those of plain arrays.
                return array[()] if array.ndim == 0 else array.view(Array)

            def __format__(self, spec: str) -> str:
                return format(self.item(), spec) if self.size == 1 and spec else np.ndarray.__format__(self, spec)

        Array.__name__ = Array.__qualname__ = "ndarray"
        _classes.append(Array)
    return _classes[0]


class LoDTensorArray(list):  # type: ignore[type-arg]
    """Several tensors."""


def create_lod_tensor(data: Any, recursive_seq_lens: Sequence[Sequence[int]], place: Any = None) -> LoDTensor:
    """A tensor of rows with lengths of sequences.

    Args:
        data: An array of all rows, a tensor, or a list of sequences.
        recursive_seq_lens: For each level the lengths.
        place: For Fluid's programs.
    """
    import numpy as np

    made = LoDTensor()
    if isinstance(data, LoDTensor):
        made.set(np.array(data))
    elif isinstance(data, list):
        flat = [np.asarray(part).reshape(len(part), -1) for part in data]
        made.set(np.concatenate(flat, axis=0))
        lengths = [len(part) for part in data]
        if list(recursive_seq_lens[-1]) != lengths:
            raise fault(
                ValueError,
                f"the sequences have the lengths {lengths}, not {list(recursive_seq_lens[-1])}",
                "give the lengths that they have",
            )
    else:
        made.set(data)
    made.set_recursive_sequence_lengths(recursive_seq_lens)
    if not made.has_valid_recursive_sequence_lengths():
        raise fault(
            ValueError,
            f"the lengths {[list(level) for level in recursive_seq_lens]} do not fit {made.shape()[0]} rows",
            "each level sums up to the number of entries of the next one, the last to the number of rows",
        )
    return made


def create_random_int_lodtensor(
    recursive_seq_lens: Sequence[Sequence[int]], base_shape: Sequence[int], place: Any, low: int, high: int
) -> LoDTensor:
    """A tensor of random integers with lengths of sequences.

    Args:
        recursive_seq_lens: For each level the lengths.
        base_shape: The sizes of a row.
        place: For Fluid's programs.
        low: The lowest.
        high: The highest.
    """
    import numpy as np

    rows = sum(recursive_seq_lens[-1])
    return create_lod_tensor(
        np.random.randint(low, high + 1, [rows, *base_shape]).astype("int64"), recursive_seq_lens, place
    )


class OwnTensor(LoDTensor):
    """The elements of a variable that has some at once; `set` changes the variable itself.

    Args:
        var: The variable.
    """

    def __init__(self, var: Variable) -> None:
        super().__init__()
        self._var = var

    def _read(self) -> Any:
        return self._var._value()

    def set(self, array: Any, place: Any = None) -> None:
        """Gives the variable other elements, of the same sizes.

        Args:
            array: The elements.
            place: For Fluid's programs.
        """
        self._var.set_value(array)


def fed_value(var: Variable, value: Any, given: Any, read: set[str] | None = None) -> dict[str, Any]:
    """What the core is fed for a variable of the program: arrays by the names of its inputs.

    Args:
        var: The variable.
        value: Its value in the program.
        given: What the user feeds.
        read: The inputs that are read, if it is known.
    """
    import numpy as np

    if not isinstance(value, _core.Tensor):
        from . import _ragged

        return _ragged.fed(var, value, given, read)
    if isinstance(given, LoDTensor):
        # A variable without levels takes the rows; functions of sequences refuse it.
        given = np.array(given)
    if isinstance(given, _core.Tensor):
        return {var.name: given}
    if hasattr(given, "_value") and hasattr(given, "numpy"):
        given = given.numpy()
    array = np.asarray(given)
    sizes = value.shape
    if isinstance(given, (bool, int, float)):
        # A number is an array of one element, as in Fluid.
        array = array.reshape(1)
    is_sample = array.ndim + 1 == len(sizes) and not isinstance(sizes[0], int)
    if is_sample and all(not isinstance(size, int) or size == n for size, n in zip(sizes[1:], array.shape)):
        # A sample without the axis of the batch is a batch of one.
        array = array[None]
    elif is_sample and len(sizes) == 2 and is_size(sizes[1], 1):
        # Numbers for an input of one column.
        array = array[:, None]
    while array.ndim > len(sizes) > 0 and array.shape[-1] == 1:
        # Columns of one element, as Fluid's programs feed numbers of words.
        array = array[..., 0]
    wanted = np.dtype(value.dtype.name) if value.dtype.name != "bfloat16" else None
    if wanted is not None and array.dtype != wanted:
        is_close = array.dtype.kind in "iu" and wanted.kind in "iu" or array.dtype.kind == wanted.kind == "f"
        is_list = not isinstance(given, np.ndarray)
        # Integers for reals, as labels that were declared without an element type, if none of them is changed by it.
        is_whole = array.dtype.kind in "iu" and wanted.kind == "f" and bool((array.astype(wanted) == array).all())
        if not (is_close or is_list or is_whole):
            raise fault(
                TypeError,
                f"`{var.name}` has elements of {wanted.name}, and is fed {array.dtype.name}",
                f'feed `array.astype("{wanted.name}")`',
            )
        array = array.astype(wanted)
    return {var.name: array}


def fetched_value(value: Any) -> tuple[list[Any], Callable[..., Any]]:
    """The tensors of a value of a program, and how a value is made of their results.

    Args:
        value: The value.
    """
    if isinstance(value, _core.Tensor):
        return [value], lambda tensor: tensor
    from . import _ragged

    return _ragged.fetched(value)
