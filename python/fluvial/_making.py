"""What PyTorch's older classes of tensors make."""

from __future__ import annotations

from . import _core
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._core import Tensor


def typed(dtype: str, data: tuple[Any, ...]) -> Tensor:
    """A tensor of these sizes, with zeros, or with these elements; PyTorch's `FloatTensor(…)` and its like.

    Args:
        dtype: The element type.
        data: Sizes as ints or as one shape, or one list, array or tensor of elements.
    """
    if all(isinstance(size, int) and not isinstance(size, bool) for size in data):
        return _core.zeros(list(data) or [0], dtype)
    if len(data) != 1:
        raise fault(TypeError, "sizes are ints, and elements come in one list", "write `torch.tensor([1.0, 2.0])`, or `torch.zeros(2, 3)`")
    if type(data[0]).__name__ == "Size" and isinstance(data[0], tuple):
        return _core.zeros(list(data[0]), dtype)
    found = _core.tensor(data[0])
    if found.ndim == 0:
        raise fault(TypeError, f"neither a size nor a list of elements: {data[0]!r}", "write `torch.tensor(x)`")
    return found.detach() if found.dtype == dtype else _core.cast(found, dtype).detach()
