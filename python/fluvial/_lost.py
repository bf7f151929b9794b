"""Changes that nobody would see: `x[0].zero_()` as a statement.

A row of a tensor is a tensor of its own. A method that changes it, called on a row that no name and no container holds,
changes nothing that anybody could look at, while PyTorch changes `x`. Such a statement is an error.
"""

from __future__ import annotations

import functools
import sys

from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Callable
    from typing import Any

#: Instructions that leave a new object: an item or a slice, and the result of a call.
_MADE = frozenset("BINARY_SUBSCR BINARY_SLICE BINARY_OP CALL CALL_METHOD CALL_FUNCTION CALL_FUNCTION_KW CALL_KW".split())


class _Probe:
    def count(self) -> int:
        return sys.getrefcount(self)


def _counts() -> tuple[int, int]:
    """How many references there are to an object in a method of it, where nobody holds it, and where a name does."""
    held = _Probe()
    return _Probe().count(), held.count()


_NOBODY, _NAMED = _counts()


def watched(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that changes a tensor, as an error where the change would be lost.

    Args:
        method: The method.
    """

    @functools.wraps(method)
    def watching(self: Any, *args: Any, **options: Any) -> Any:
        if sys.getrefcount(self) > _NOBODY or _NOBODY == _NAMED:
            return method(self, *args, **options)
        frame = sys._getframe(1)
        is_lost = _is_lost(frame.f_code, frame.f_lasti, method.__name__)
        # What is wrong with the call itself is said first.
        found = method(self, *args, **options)
        if is_lost:
            raise lost(method.__name__)
        return found

    return watching


def lost(name: str) -> RuntimeError:
    """The error for a change that nobody would see.

    Args:
        name: The name of the method.
    """
    return fault(
        RuntimeError,
        f"`{name}` changes a part that was just made, and nobody holds: the tensor that it was taken from stays as it is",
        "assign to the part: `x[i] = ...`; or give it a name before",
    )


def not_lost(value: Any, name: str) -> Any:
    """A part on which converted code calls a method in a statement of its own; an error if its change would be lost.

    Args:
        value: The part.
        name: The name of the method.
    """
    from ._core import Tensor

    if type(value) is Tensor and sys.getrefcount(value) <= _NOBODY < _NAMED and getattr(getattr(Tensor, name, None), "__wrapped__", None):
        raise lost(name)
    return value


@functools.lru_cache(4096)
def _is_lost(code: types.CodeType, at: int, name: str) -> bool:
    """Whether what a call gives is thrown away, and what its method is called on was made just before."""
    import dis

    found = [one for one in dis.get_instructions(code) if one.opname not in ("CACHE", "PRECALL", "EXTENDED_ARG", "NOP")]
    place = max((i for i, one in enumerate(found) if one.offset <= at), default=None)
    if place is None or place + 1 >= len(found) or found[place + 1].opname != "POP_TOP":
        return False
    for i in range(place, 0, -1):
        if found[i].opname in ("LOAD_METHOD", "LOAD_ATTR") and found[i].argval == name:
            return found[i - 1].opname in _MADE
    return False
