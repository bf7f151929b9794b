"""Comparisons, which may write their result to a variable that is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core

__all__ = [
    "less_than", "less_equal", "greater_than", "greater_equal", "equal", "not_equal",
]  # fmt: skip


def less_than(x: Any, y: Any, force_cpu: bool | None = None, cond: Any = None) -> Any:
    """Whether elements of `x` are less than those of `y`.

    Args:
        x: Values.
        y: Values.
        force_cpu: For Fluid's programs.
        cond: The variable that gets the result.
    """
    return _core.lt(x, y)


def _comparison(function: Callable[[Any, Any], Any], name: str, what: str) -> Callable[..., Any]:
    def compare(x: Any, y: Any, cond: Any = None) -> Any:
        return function(x, y)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"""Whether elements of `x` are {what} those of `y`.

    Args:
        x: Values.
        y: Values.
        cond: The variable that gets the result.
    """
    return compare


less_equal = _comparison(_core.le, "less_equal", "at most")
greater_than = _comparison(_core.gt, "greater_than", "greater than")
greater_equal = _comparison(_core.ge, "greater_equal", "at least")
equal = _comparison(_core.eq, "equal", "equal to")
not_equal = _comparison(_core.ne, "not_equal", "other than")
