"""Methods of tensors with PyTorch's meaning, for files that import `fluvial.torch`."""

from __future__ import annotations

from .._core import Tensor
from .._flavour import is_torch
from . import _functions, _options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Methods whose meaning differs from that of the functions of `fluvial`.
TWO_MEANINGS = """
add aminmax argsort chunk cross cummax cummin diff equal gather index_add index_put kthvalue max median min mode
nanmedian nonzero norm quantile repeat_interleave roll round scatter scatter_add scatter_reduce softmax log_softmax sort split
squeeze std sub svd take topk unbind unique unique_consecutive var movedim slogdet histogram rot90 bincount trace masked_fill tensor_split
""".split()


def repeat(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor put beside itself."""
    sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    return _functions.tile(input, sizes)


def tile(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor put beside itself."""
    return repeat(input, *sizes)


def _both(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    ours = getattr(Tensor, name, None)

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        if is_torch():
            return theirs(self, *args, **options)
        if ours is None:
            return self.__getattr__(name)  # type: ignore[attr-defined]
        return ours(self, *args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = getattr(ours, "__doc__", None) or theirs.__doc__
    if ours is not None:
        method.__wrapped__ = ours  # type: ignore[attr-defined]
    return method


def register() -> None:
    """Gives the class methods that ask whose meaning counts."""
    for name in TWO_MEANINGS:
        setattr(Tensor, name, _both(name, getattr(_options, name, None) or getattr(_functions, name)))
    for function in (repeat, tile):
        setattr(Tensor, function.__name__, _both(function.__name__, function))
