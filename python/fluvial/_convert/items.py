"""`x[key]`, `x[key] = value` and `del x[key]` where only the run knows the key."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._fault import fault
from .lists import TensorList
from .logic import choose
from .numbers import Number, kind_of, must
from .parts import Window, get, is_open, of_run, position, put
from .trees import flatten, is_symbolic, is_tensor, rebuild, same


def getitem(owner: Any, key: Any) -> Any:
    """`owner[key]`."""
    if is_symbolic(owner) or (is_tensor(owner) and _is_of_run(key)):
        return get(owner, key)
    if isinstance(owner, TensorList) or not _is_of_run(key):
        return owner[_as_slice(key)] if isinstance(key, Window) else owner[key]
    if isinstance(owner, (list, tuple)) and of_run(key):
        return _one_of(owner, key)
    if isinstance(owner, (list, tuple, dict, str, range)):
        raise fault(
            TypeError,
            f"which part of a {type(owner).__name__} this is, is known only when the program runs",
            "use a tensor, `fl.stack(list)`, or an `if` for each case",
        )
    return owner[_as_slice(key)] if isinstance(key, Window) else owner[key]


def _is_of_run(key: Any) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return any(of_run(part) or is_open(part) for part in parts)


def _as_slice(key: Window) -> slice:
    return slice(key.start, key.start + key.size)


def _place(owner: Any, key: Any, text: str) -> Any:
    """The place that a key of the run names, counted from the front."""
    at, n = position(key), len(owner)
    must(_core.logical_and(at >= -n, at < n), "IndexError", text)
    return _core.where(at < 0, at + n, at)


def _one_of(owner: Any, key: Any) -> Any:
    at = _place(owner, key, f"{type(owner).__name__} index out of range")
    if not owner:
        raise IndexError(f"{type(owner).__name__} index out of range")
    elements = list(owner)
    kind = kind_of(Number.of(0), *elements)
    if kind is not None and len({type(x) for x in elements}) == 1:
        elements = [Number.of(x, kind) for x in elements]
    leaves: list[list] = [[] for _ in elements]
    forms = [flatten(x, found) for x, found in zip(elements, leaves)]
    if not all(same(forms[0], form) for form in forms):
        raise fault(
            TypeError,
            "which element this is, is known only when the program runs, and they differ in form",
            "give them one type and shape, or use an `if` for each case",
        )
    picked = []
    for column in zip(*leaves):
        types = {(leaf.dtype, leaf.shape) if is_tensor(leaf) else type(leaf) for leaf in column}
        if len(types) != 1:
            raise fault(
                TypeError,
                "which element this is, is known only when the program runs, and their types differ: "
                + ", ".join(leaf.type_text if is_tensor(leaf) else repr(leaf) for leaf in column),
                "give them one type and shape, or use an `if` for each case",
            )
        tensors = [leaf if is_tensor(leaf) else _core.tensor(leaf) for leaf in column]
        picked.append(_core.stack(tensors, 0)[at])
    return rebuild(forms[0], picked)


def setitem(value: Any, owner: Any, key: Any) -> Any:
    """`owner[key] = value`; returns what the name of `owner` is bound to then."""
    if is_symbolic(owner) or (is_tensor(owner) and _core.is_building()):
        return put(owner, key, value)
    if type(owner) is list and of_run(key):
        at = _place(owner, key, "list assignment index out of range")
        for i, old in enumerate(owner):
            owner[i] = choose(at == i, lambda: value, lambda old=old: old)  # type: ignore[misc]
        return owner
    if isinstance(owner, (list, dict)) and _is_of_run(key):
        raise fault(
            TypeError,
            f"which part of a {type(owner).__name__} this is, is known only when the program runs",
            "use a tensor, or an `if` for each case",
        )
    owner[key] = value
    return owner


def delitem(owner: Any, key: Any) -> None:
    """`del owner[key]`."""
    if not isinstance(owner, TensorList) and _is_of_run(key):
        raise fault(
            TypeError,
            f"which part of a {type(owner).__name__} this is, is known only when the program runs",
            "use a list that the program makes, or an `if` for each case",
        )
    del owner[key]
