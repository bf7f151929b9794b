"""Context managers as decorators."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

__all__ = ["signature_safe_contextmanager", "wrap_decorator"]

signature_safe_contextmanager = contextlib.contextmanager


def wrap_decorator(decorator_func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes a function and gives one, as a decorator that keeps the name of what it is put on.

    Args:
        decorator_func: Takes the function, and gives one that is called in its place.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(function)(decorator_func(function))

    return decorate
