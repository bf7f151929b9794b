"""What functions of sequences under Fluid's names share."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ..._ragged import Ragged
from ..._tree import same_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._core import Tensor


def sequences(x: Any, name: str) -> Ragged:
    """The value, which has to be sequences."""
    if isinstance(x, Ragged):
        return x
    what = x.type_text if isinstance(x, _core.Tensor) else repr(x)
    raise fault(
        TypeError,
        f"`{name}` goes along sequences, and {what} has no lengths",
        "feed them with lengths: `layers.data(…, lod_level=1)`, `fluid.create_lod_tensor`; or use `fl.Ragged`",
    )


def rows_of(x: Any) -> Any:
    """The rows of sequences, or the tensor itself."""
    return x.data if isinstance(x, Ragged) else x


def whole(x: Any) -> Tensor:
    """Integers, as `i64`."""
    x = rows_of(x)
    x = x if isinstance(x, _core.Tensor) else _core.tensor(x)
    return x if x.dtype.name == "int64" else _core.cast(x, "int64")


def beginnings(x: Any, length: Any) -> Any:
    """Sequences that are padded, with their lengths, as Ragged."""
    if length is None or isinstance(x, Ragged):
        return x
    return Ragged.from_padded(x, _core.reshape(whole(length), (-1,)))


def like_rows(rows: Tensor, like: Ragged) -> Tensor:
    """Numbers with the axes of size one that those of `like` have."""
    return _core.reshape(rows, (rows.shape[0], *[1] * (like.ndim - 1))) if like.ndim > 1 else rows


def as_many_rows(rows: Tensor, count: Any) -> Tensor:
    """Rows of which there are so many: an open number of them is taken for it, and the run checks it.

    Args:
        rows: The rows.
        count: Their number.
    """
    if not rows.is_symbolic or isinstance(rows.shape[0], int) or same_sizes(rows.shape[0], count):
        return rows
    return _core.assume_dims(rows, (count, *rows.shape[1:]))
