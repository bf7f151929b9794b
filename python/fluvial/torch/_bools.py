"""Arithmetic of bools: PyTorch takes them for numbers in which all that is not zero is True."""

from __future__ import annotations

import functools

from .. import _core
from .._core import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Of these the second argument is an operand, and not an axis.
ARITHMETIC = frozenset("add mul multiply clamp_max clamp_min maximum minimum fmax fmin".split())

#: Functions that give bools for bools.
FUNCTIONS = """
add addr amax amin aminmax clamp_max clamp_min cummax cummin fmax fmin index_add index_reduce kron logaddexp max
maximum min minimum mul multiply nan_to_num outer positive put scatter scatter_add scatter_reduce sgn sign sort topk median mode kthvalue
""".split()


def of_bools(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which takes bools as bytes, where all its tensors of values are bools."""

    @functools.wraps(function)
    def wrapped(input: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(input, Tensor) or input.dtype != _core.bool:
            return function(input, *args, **options)
        others = [*args, *options.values()]
        numbers = (int, float, complex) if function.__name__ in ARITHMETIC else (float, complex)
        tensors = [one for one in others if isinstance(one, Tensor)]
        if any(isinstance(one, numbers) and type(one) is not bool for one in others):
            return function(input, *args, **options)
        if function.__name__ in ARITHMETIC and any(one.dtype != _core.bool for one in tensors) or any(one.is_floating_point() or one.is_complex() for one in tensors):
            return function(input, *args, **options)
        args = tuple(map(_byte, args))
        options = {name: _byte(value) for name, value in options.items()}
        return _bool(function(_core.cast(input, "uint8"), *args, **options))

    return wrapped


def _byte(value: Any) -> Any:
    return _core.cast(value, "uint8") if isinstance(value, Tensor) and value.dtype == _core.bool else value


def _bool(found: Any) -> Any:
    if isinstance(found, Tensor):
        return _core.ne(found, 0) if found.dtype == _core.uint8 else found
    if isinstance(found, tuple):
        parts = [_bool(part) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    return found


def wrap(namespace: dict[str, Any]) -> None:
    """Has the functions of a namespace take bools."""
    for name in FUNCTIONS:
        namespace[name] = of_bools(namespace[name])
