"""Sequences of several lengths without what fills them up, as PyTorch packs them."""

from __future__ import annotations

from typing import NamedTuple

from ... import _core
from ..._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..._core import Tensor


class PackedSequence(NamedTuple):
    """Sequences of several lengths, step by step: the first steps of all, the longest sequence first, then the second steps, and so on."""

    data: Tensor
    #: How many sequences have a first step, a second one, and so on.
    batch_sizes: Tensor
    #: The order in which they stand, if it is not that in which they came, and the way back.
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **options: Any) -> PackedSequence:
        """With the elements in another type; see `Tensor.to`."""
        return self._replace(data=self.data.to(*args, **options))

    def cpu(self) -> PackedSequence:
        """Itself: there is one device."""
        return self

    @property
    def is_cuda(self) -> bool:
        """False: there is one device, the CPU."""
        return False


def counts_of(lengths: Any) -> list[int]:
    """Lengths as Python numbers."""
    if isinstance(lengths, _core.Tensor):
        if lengths.is_symbolic:
            raise fault(RuntimeError, "lengths decide how large the packed data is, and a program being built does not know them", "pack outside of the function, or give the layer `lengths=`")
        return [int(n) for n in lengths.tolist()]
    return [int(n) for n in lengths]


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Takes away what padded sequences are filled up with.

    Args:
        input: The sequences side by side, `[time, batch, …]`.
        lengths: Their lengths, a list or a tensor.
        batch_first: Whether the batch is the first axis.
        enforce_sorted: Whether the longest has to stand first, and the shortest last.

    Example:
        >>> x = fl.tensor([[1.0, 2.0, 3.0], [4.0, 0.0, 0.0]])
        >>> packed = fl.nn.utils.rnn.pack_padded_sequence(x, [3, 1], batch_first=True)
        >>> packed.data.tolist(), packed.batch_sizes.tolist()
        ([1.0, 4.0, 2.0, 3.0], [2, 1, 1])
    """
    counts = counts_of(lengths)
    time = 1 if batch_first else 0
    if input.shape[1 - time] != len(counts) or not counts or min(counts) <= 0 or max(counts) > int(input.shape[time]):
        raise fault(ValueError, f"the lengths {counts} do not fit {input.type_text}", "give one length for each sequence, of 1 to the size of its axis")
    order = sorted(range(len(counts)), key=lambda i: -counts[i])
    if enforce_sorted and any(a < b for a, b in zip(counts, counts[1:])):
        raise fault(RuntimeError, f"the lengths {counts} do not fall", "put the longest sequence first, or give `enforce_sorted=False`")
    ordered = [counts[i] for i in order]
    sizes = [sum(n > step for n in ordered) for step in range(ordered[0])]
    steps = [step for step, size in enumerate(sizes) for _ in range(size)]
    rows = [order[i] for size in sizes for i in range(size)]
    at = (_core.tensor(rows), _core.tensor(steps)) if batch_first else (_core.tensor(steps), _core.tensor(rows))
    back = sorted(range(len(order)), key=order.__getitem__)
    indices = (None, None) if enforce_sorted else (_core.tensor(order), _core.tensor(back))
    return PackedSequence(input[at], _core.tensor(sizes), *indices)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """Packed sequences side by side again, filled up to the length of the longest, and their lengths.

    Args:
        sequence: What `pack_padded_sequence` gave.
        batch_first: Whether the batch is to be the first axis.
        padding_value: What they are filled up with.
        total_length: The length up to which they are filled up, at least that of the longest.
    """
    sizes = counts_of(sequence.batch_sizes)
    length = len(sizes) if total_length is None else total_length
    if length < len(sizes):
        raise fault(ValueError, f"the longest sequence has {len(sizes)} steps, and `total_length` is {total_length}", "give at least that")
    back = list(range(sizes[0])) if sequence.unsorted_indices is None else counts_of(sequence.unsorted_indices)
    starts = [sum(sizes[:step]) for step in range(len(sizes))]
    # What is not there is taken from behind the last element.
    nothing = sum(sizes)
    places = [[starts[t] + i if t < len(sizes) and i < sizes[t] else nothing for i in back] for t in range(length)]
    if batch_first:
        places = [list(row) for row in zip(*places)]
    filled = _core.pad(sequence.data, [0] * sequence.data.ndim, [1] + [0] * (sequence.data.ndim - 1), value=padding_value)
    lengths = [sum(size > i for size in sizes) for i in back]
    return filled[_core.tensor(places)], _core.tensor(lengths)


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences of several lengths.

    Args:
        sequences: Tensors whose first axis is their length.
        enforce_sorted: Whether the longest has to stand first, and the shortest last.
    """
    from .rnn import pad_sequence

    items = list(sequences)
    return pack_padded_sequence(pad_sequence(items), [int(item.shape[0]) for item in items], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that `pack_sequence` has packed.

    Args:
        packed_sequences: What it gave.
    """
    from .rnn import unpad_sequence

    padded, lengths = pad_packed_sequence(packed_sequences)
    return unpad_sequence(padded, lengths.tolist())


def run_packed(run: Callable[..., Any], batch_first: bool, packed: PackedSequence, *state: Any) -> Any:
    """What a recurrent layer gives for packed sequences: packed outputs, and the states behind the last steps.

    Args:
        run: The layer, of padded sequences and their lengths.
        batch_first: Whether it takes the batch as the first axis.
        packed: The sequences.
        state: The first state, if it is not zero.
    """
    padded, lengths = pad_packed_sequence(packed, batch_first)
    outputs, last = run(padded, *state, lengths=lengths)
    is_sorted = packed.unsorted_indices is None
    return pack_padded_sequence(outputs, lengths, batch_first, is_sorted), last
