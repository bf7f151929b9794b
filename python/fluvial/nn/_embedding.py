"""Rows of a table by number."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ..initializer import Initializer, Normal
from ._layer import Layer
from ._parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._attr import AttrLike
    from .._core import DType, DTypeLike, Tensor


class Embedding(Layer):
    """Rows of `weight`, which is `[count, width]`, by their numbers.

    Args:
        count: The number of rows.
        width: The size of a row.
        padding_idx: The number of a row that begins as zeros and is not trained.
        max_norm: Rows that are used and longer are shortened to this norm.
        norm_type: Which norm that is.
        weight_attr: What is said of the weight.
        dtype: The element type of the weight.
        name: The layer's name.

    Shape:
        `[*]` of integers to `[*, width]`.

    Example:
        >>> fl.nn.Embedding(10, 4)(fl.tensor([[1, 2, 3]])).shape
        (1, 3, 4)
    """

    def __init__(
        self,
        count: int,
        width: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        weight_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.sizes, self.padding_idx = (count, width), padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        init = Normal() if padding_idx is None else ZeroRow(padding_idx, count)
        self.weight: Tensor = Parameter((count, width), dtype, init, weight_attr)

    def forward(self, ids: Tensor) -> Tensor:
        if self.max_norm is not None:
            with _core.no_grad():
                weight = _core.renormalise_rows(self.weight, ids, self.max_norm, self.norm_type)
                self.weight = weight
        return _core.embedding(ids, self.weight, padding_idx=self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.sizes[0]}, {self.sizes[1]}{padding}"


class ZeroRow(Initializer):
    """Normally distributed numbers, but for one row of zeros."""

    def __init__(self, idx: int, count: int) -> None:
        self.row, self.count = idx + count if idx < 0 else idx, count
        if not 0 <= self.row < count:
            raise fault(IndexError, f"the padding's number {idx} is none of {count} rows")

    def __call__(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        keep = _core.tensor([[float(i != self.row)] for i in range(self.count)], dtype)
        return _core.normal((dtype, shape), 0.0, 1.0) * keep
