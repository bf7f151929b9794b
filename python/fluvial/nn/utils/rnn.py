"""Sequences of several lengths."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ..._sequence import listed
from ._packed import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence, unpack_sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..._core import Tensor

__all__ = [
    "PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences side by side, filled up to the length of the longest.

    Args:
        sequences: Tensors whose first axis is their length, and whose other sizes agree.
        batch_first: Whether the batch is the first axis of the result, and not the second.
        padding_value: What they are filled up with.
        padding_side: "right" for their ends, or "left" for their beginnings.

    Example:
        >>> fl.nn.utils.rnn.pad_sequence([fl.ones(2), fl.ones(1)], batch_first=True).tolist()
        [[1.0, 1.0], [1.0, 0.0]]
    """
    if padding_side not in ("right", "left"):
        raise fault(ValueError, f"there is no side {padding_side!r}", 'use "right" or "left"')
    items = listed(sequences, "sequences")
    longest = max(item.shape[0] for item in items)
    padded = []
    for item in items:
        missing: Any = longest - item.shape[0]
        rest = [0] * (item.ndim - 1)
        before, after = (0, missing) if padding_side == "right" else (missing, 0)
        padded.append(_core.pad(item, [before, *rest], [after, *rest], value=padding_value))
    return _core.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Iterable[int], batch_first: bool = False) -> list[Tensor]:
    """The sequences that `pad_sequence` has put side by side.

    Args:
        padded_sequences: What it gave.
        lengths: Their lengths.
        batch_first: Whether the batch is the first axis.
    """
    counts = [int(n) for n in (lengths.tolist() if isinstance(lengths, _core.Tensor) else lengths)]
    rows = _core.unbind(padded_sequences, 0 if batch_first else 1)
    return [_core.narrow(row, 0, 0, n) for row, n in zip(rows, counts)]
