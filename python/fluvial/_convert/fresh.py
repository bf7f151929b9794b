"""Calls that give something else each time: a program would keep what the first one gave, so they are refused."""

from __future__ import annotations

import io
import sys
import types
from collections.abc import Iterator
from typing import Any

from .._fault import fault
from .._tree import is_array
from .errors import Mismatch

#: Packages of which it is known what their functions do.
KNOWN_MODULES = frozenset(sys.stdlib_module_names | {"numpy", "fluvial"})
#: Modules whose functions and objects draw numbers or read clocks.
_DRAWING = ("random", "_random", "secrets", "uuid", "numpy.random")
_CLOCKS = ("time",)
#: Functions of modules that have others as well, by what Python calls them.
_OTHERS = {
    "builtins.input": "what is typed",
    "posix.urandom": "random numbers",
    "posix.getrandom": "random numbers",
    "datetime.now": "the time",
    "datetime.utcnow": "the time",
    "datetime.today": "the time",
    "date.today": "the time",
}
#: Modules that reach for what is outside of the process, or is shared with other threads.
_OUTSIDE = frozenset(
    "queue _queue multiprocessing subprocess socket _socket shutil tempfile glob urllib http posix nt genericpath".split()
)
_OF_PATHS = frozenset(
    "exists is_file is_dir read_text read_bytes write_text write_bytes open iterdir glob rglob stat mkdir unlink touch "
    "rename rmdir".split()
)
#: Functions of these modules that give the same for the same arguments, or nothing.
_STEADY = frozenset(
    "seed setstate getstate set_state get_state default_rng Random SystemRandom RandomState SeedSequence PCG64 UUID spawn "
    "sleep strftime strptime mktime gmtime localtime asctime uuid3 uuid5 fspath getpid cpu_count commonprefix".split()
)


def refuse_fresh(function: Any) -> None:
    """Refuses a function that gives something else each time, or that reads or writes a file."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "it")
    if isinstance(owner, io.IOBase) or function is open:
        raise _effect(name, "a file")
    module = _module_of(function, owner)
    if module.partition(".")[0] in _OUTSIDE and name not in _STEADY and not isinstance(function, type):
        raise _effect(name, f"`{module}`")
    if module.partition(".")[0] == "pathlib" and name in _OF_PATHS:
        raise _effect(name, "a path")
    what = _given_by(function, owner)
    if what is None:
        return
    raise fault(
        Mismatch,
        f"`{name}` gives {what}, another in each call; a program would keep what it gave first",
        "use `fl.uniform`, `fl.normal` or others of `fl`, which draw in each run; or call it outside, and give what it gives as "
        "an argument"
        if what == "random numbers"
        else "call it outside, and give what it gives as an argument",
    )


def without_effect(function: Any, result: Any) -> Any:
    """What a function gave; one of another package that gives nothing is refused: it was called for what it does."""
    if result is not None or getattr(function, "__name__", "").startswith("__"):
        return result
    package = _module_of(function, getattr(function, "__self__", None)).partition(".")[0]
    if package and package not in KNOWN_MODULES:
        raise _effect(getattr(function, "__name__", type(function).__name__), f"the package `{package}`")
    return result


def _effect(name: str, whose: str) -> Exception:
    return fault(
        Mismatch,
        f"`{name}` of {whose} reaches outside of the program: it would run while the program is built, and not in each call",
        "call it outside: before, giving what it gives as an argument, or after, with what the function returns",
    )


def _module_of(function: Any, owner: Any) -> str:
    """The module of a function, or of the class whose method it is."""
    if owner is None or isinstance(owner, types.ModuleType):
        return str(getattr(function, "__module__", None) or "")
    kind, name = owner if isinstance(owner, type) else type(owner), getattr(function, "__name__", "")
    return str(next((base for base in kind.__mro__ if name in vars(base)), kind).__module__)


def _given_by(function: Any, owner: Any) -> str | None:
    name = getattr(function, "__name__", None)
    if name is None or name in _STEADY:
        return None
    if isinstance(owner, type) and f"{owner.__name__}.{name}" in _OTHERS:
        return _OTHERS[f"{owner.__name__}.{name}"]
    module = _module_of(function, owner)
    if module in _DRAWING or module.startswith("numpy.random."):
        return "random numbers"
    if module in _CLOCKS:
        return "the time"
    return _OTHERS.get(f"{module}.{name}")


def refuse_iterator(value: Any) -> None:
    """Refuses an iterator from outside: it gives something else each time it is asked."""
    if isinstance(value, Iterator) and not is_array(value):
        raise fault(
            Mismatch,
            f"an iterator from outside, a `{type(value).__name__}`, gives something else in each call; a program would keep "
            "what it gave first",
            "take the item outside, and give it as an argument; or go through a list, or a reader of `fl`",
        )
