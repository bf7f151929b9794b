"""Scopes in which gradients are recorded or not, also as decorators."""

from __future__ import annotations

import functools

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


class _Recording:
    _make: Any

    def __init__(self) -> None:
        self._scope = type(self)._make()

    def __enter__(self) -> _Recording:
        self._scope.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._scope.__exit__(*exception)

    def __call__(self, function: F) -> F:
        """The function, run in this scope."""

        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            with self:
                return function(*args, **options)

        return run  # type: ignore[return-value]


class no_grad(_Recording):
    """A scope, or a decorator of a function, in which nothing is recorded for gradients.

    Example:
        >>> x = fl.tensor(2.0).track()
        >>> with fl.no_grad():
        ...     print((x * x).is_tracked)
        False
        >>> @fl.no_grad()
        ... def square(x):
        ...     return x * x
        >>> square(x).is_tracked
        False
    """

    _make = staticmethod(_core.no_grad)


class enable_grad(_Recording):
    """A scope, or a decorator, in which ops are recorded for gradients, also inside `no_grad`.

    Example:
        >>> x = fl.tensor(2.0).track()
        >>> with fl.no_grad(), fl.enable_grad():
        ...     print((x * x).is_tracked)
        True
    """

    _make = staticmethod(_core.enable_grad)


#: The name of symbolic libraries.
NoGradient = no_grad
