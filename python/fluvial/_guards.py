"""What a program takes for granted: conditions under which it may be used.

While a function is built, whatever is decided by the call at hand, and is not part of the signature, is a guard.
A call for which a guard does not hold gets another program. Sizes of arguments guard themselves (`_core.begin_examples`).
"""

from __future__ import annotations

import threading

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple, TypeAlias

    #: Open sizes of a call, by name.
    Sizes: TypeAlias = dict[str, int]

    class Guard(NamedTuple):
        """A condition, and what it says."""

        check: Callable[[Sizes], bool]
        why: str
else:
    from collections import namedtuple

    Guard = namedtuple("Guard", "check why")


class _Local(threading.local):
    #: The guards of the program being built; None outside.
    found: list[Guard] | None = None


_LOCAL = _Local()


def guard(check: Callable[[Sizes], bool], why: str) -> None:
    """Notes a condition under which the program being built may be used.

    Args:
        check: Takes the open sizes of a call by name; says whether the program is right for it.
        why: What the condition says.
    """
    if _LOCAL.found is not None and all(why != other.why for other in _LOCAL.found):
        _LOCAL.found.append(Guard(check, why))


class guarding:
    """A scope in which a program is built for a call, whose guards are noted.

    Args:
        sizes: The open sizes of the call, by name: what cannot stay open is decided by them.
    """

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        #: The guards.
        self.found: list[Guard] = []
        #: Names of sizes whose numbers were asked for, so that each one needs a program of its own.
        self.fixed: set[str] = set()

    def __enter__(self) -> guarding:
        self._former, _LOCAL.found = _LOCAL.found, self.found
        _core.begin_examples(list(self._sizes.items()))
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        checks, fixed = _core.end_examples()
        for check in checks:
            guard(check, repr(check))
            if error is None:
                # The program may be run from elsewhere, too.
                _core.assert_(check.holds(), f"this program was built for {check!r}", [])
        self.fixed.update(fixed)
        _LOCAL.found = self._former
        if error is not None and self.fixed:
            error._fl_fixed = self.fixed  # type: ignore[attr-defined]
