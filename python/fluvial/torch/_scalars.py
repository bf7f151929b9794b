"""Axes of tensors that have none: PyTorch takes 0 and -1 for them, and gives tensors without axes."""

from __future__ import annotations

import functools

from .. import _core
from .._core import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Functions that take an axis of a number.
FUNCTIONS = """
all amax amin aminmax any argmax argmin argsort count_nonzero cummax cummin cumprod cumsum index_fill index_select
kthvalue log_softmax logcumsumexp logsumexp max mean median min mode nanmean nanmedian nanquantile nansum norm prod quantile softmax sort
std std_mean sum topk transpose var var_mean
""".split()


#: Functions that take the last axis where none is given.
DEFAULT = frozenset("argsort mode sort".split())


def of_scalars(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which takes a number as a vector of one element where it names an axis."""

    @functools.wraps(function)
    def wrapped(input: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(input, Tensor) or input.ndim or not (args or options or function.__name__ in DEFAULT):
            return function(input, *args, **options)
        if function.__name__ == "transpose":
            return input
        if any(isinstance(value, Tensor) for value in args) and function.__name__ in ("max", "min"):
            return function(input, *args, **options)
        return _without_axes(function(_core.reshape(input, (1,)), *args, **options))

    return wrapped


def _without_axes(found: Any) -> Any:
    if isinstance(found, Tensor):
        return _core.reshape(found, ()) if found.shape == (1,) else found
    if isinstance(found, tuple):
        parts = [_without_axes(part) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    return found


def wrap(namespace: dict[str, Any]) -> None:
    """Has the functions of a namespace take axes of numbers."""
    for name in FUNCTIONS:
        namespace[name] = of_scalars(namespace[name])
