"""`x[key]`, `x[key] = value` and `del x[key]` where only the run knows the key."""

from __future__ import annotations

from typing import Any

from .. import _core, _numbers
from .._checks import must
from .._fault import fault
from .._opens import Open, known
from .._tree import is_array
from . import journal, tags
from .errors import Mismatch
from .lists import as_slice, rows_of, wrapped
from .logic import choose
from .paths import decided_here
from .parts import Window, get, is_open, position, put_in_place
from .plain import example, is_plain
from .trees import flatten, is_symbolic, is_tensor, rebuild, same, type_text


def getitem(owner: Any, key: Any) -> Any:
    """`owner[key]`."""
    rows = rows_of(owner)
    if is_plain(owner):
        return example(owner)[0]
    key = _index(owner if rows is None else rows, key)
    if rows is not None:
        return wrapped(rows[key])
    if is_tensor(owner) and (is_symbolic(owner) or is_of_run(key)):
        return get(owner, key)
    if isinstance(owner, (list, tuple)) and is_symbolic(key):
        return _one_of(owner, key)
    if isinstance(owner, (list, tuple, dict, str, range)) and is_of_run(key):
        raise fault(
            TypeError,
            f"which part of a {type(owner).__name__} this is, is known only when the program runs",
            "use a tensor, `fl.stack(list)`, or an `if` for each case",
        )
    return owner[as_slice(key)]


def _index(owner: Any, key: Any) -> Any:
    """What stands between brackets, without open numbers: of a tensor or a list of the program they are values of the program,
    of other objects their value is asked for."""
    if type(key) is tuple and any(type(part) in (Open, slice) for part in key):
        in_order = is_tensor(owner) and all(type(part) in (int, slice, Open) for part in key)
        sizes = owner.shape if in_order else ()
        return tuple(_part(owner, part, sizes[i] if i < len(sizes) else None) for i, part in enumerate(key))
    sizes = owner.shape if is_tensor(owner) else ()
    return _part(owner, key, sizes[0] if sizes else None)


def _part(owner: Any, part: Any, size: Any) -> Any:
    if not is_tensor(owner) and not hasattr(type(owner), "_fl_with"):
        part = _decided(owner, part)
    if type(part) is Open:
        return part._fl_number if is_tensor(owner) or hasattr(type(owner), "_fl_with") else known(part)
    if type(part) is not slice or not any(type(x) is Open for x in (part.start, part.stop, part.step)):
        return part
    start: Any = part.start
    stop: Any = part.stop
    if type(size) is int and part.step is None and type(start) is Open and type(stop) is Open:
        if start >= 0 and stop <= size and stop >= start:
            return Window(start._fl_number, (stop - start)._known("it decides the size of a range"))
    return slice(*map(known, (start, stop, part.step)))


def _decided(owner: Any, key: Any) -> Any:
    """A key of a container of Python; in a program for one path, what it is in the call at hand."""
    if isinstance(key, slice):
        return slice(*(_decided(owner, part) for part in (key.start, key.stop, key.step)))
    # A tensor is a key by itself.
    is_place = is_symbolic(key) and (key._is_number or isinstance(owner, (list, tuple)))
    return decided_here(key) if is_place else key


def is_of_run(key: Any) -> bool:
    """Whether what stands between brackets is known only when the program runs."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(is_symbolic(part) or is_open(part) for part in parts)


def _place(owner: Any, key: Any, text: str) -> Any:
    """The place that a key of the run names, counted from the front."""
    at, n = position(key), len(owner)
    must(_core.logical_and(at >= -n, at < n), IndexError, text)
    return _core.where(at < 0, at + n, at)


def _one_of(owner: Any, key: Any) -> Any:
    at = _place(owner, key, f"{type(owner).__name__} index out of range")
    if not owner:
        raise IndexError(f"{type(owner).__name__} index out of range")
    elements = list(owner)
    leaves: list[list] = [[] for _ in elements]
    forms = [flatten(x, found) for x, found in zip(elements, leaves)]
    if not all(same(forms[0], form) for form in forms):
        raise fault(
            TypeError,
            "which element this is, is known only when the program runs, and they differ in form",
            "give them one type and shape, or use an `if` for each case",
        )
    picked = [_picked(column, at) for column in zip(*leaves)]
    made = journal.made_inside(rebuild(forms[0], picked))
    journal.stands_inside(made, *elements)
    return made


def _picked(column: tuple, at: Any) -> Any:
    """The leaf at a place that the run knows."""
    types = {_numbers.kind(x) if _numbers.is_number(x) else (x.dtype, x.shape) for x in column}
    if len(types) != 1:
        raise fault(
            TypeError,
            "which element this is, is known only when the program runs, and their types differ: "
            + ", ".join(map(type_text, column)),
            "give them one type and shape, or use an `if` for each case",
        )
    if _numbers.is_number(column[0]):
        own = _numbers.kind(column[0])
        return _core.number_of(_core.stack([_numbers.strong(x, own) for x in column], 0)[at])
    made = _core.stack(list(column), 0)[at]
    own_tags = list(map(tags.name, column))
    if any(tag is not None for tag in own_tags):
        tags.note(made, _core.stack(list(map(tags.as_value, own_tags)), 0)[at], *column)
    journal.may_be(made, *column)
    return made


def setitem(value: Any, owner: Any, key: Any) -> None:
    """`owner[key] = value`; who calls it has noted that `owner` changes."""
    rows = rows_of(owner)
    if is_plain(owner):
        example(owner)[0] = value
    key = _index(owner if rows is None else rows, key)
    if rows is not None:
        rows[key] = value
    elif is_tensor(owner):
        put_in_place(owner, key, value)
    elif type(owner) is list and is_symbolic(key):
        at = _place(owner, key, "list assignment index out of range")
        for i, old in enumerate(owner):
            owner[i] = choose(at == i, lambda: value, lambda old=old: old)  # type: ignore[misc]
    elif isinstance(owner, (list, dict)) and is_of_run(key):
        raise fault(
            TypeError,
            f"which part of a {type(owner).__name__} this is, is known only when the program runs",
            "use a tensor, or an `if` for each case",
        )
    else:
        owner[as_slice(key)] = _for_array(value) if is_array(owner) else value


def _for_array(value: Any) -> Any:
    """What is put into an array of NumPy, which holds no values of a program."""
    known = decided_here(value) if is_symbolic(value) and not value.ndim else value
    if is_symbolic(known):
        raise fault(
            Mismatch,
            f"an array of NumPy would be given {known.type_text}, which is known only when the program runs",
            "use a tensor in the place of the array",
        )
    return known


def delitem(owner: Any, key: Any) -> None:
    """`del owner[key]`; who calls it has noted that `owner` changes."""
    rows = rows_of(owner)
    if is_plain(owner):
        del example(owner)[0]
    key = _index(owner if rows is None else rows, key)
    if rows is not None:
        del rows[key]
        return
    if is_of_run(key):
        raise fault(
            TypeError,
            f"which part of a {type(owner).__name__} this is, is known only when the program runs",
            "use a list that the program makes, or an `if` for each case",
        )
    del owner[as_slice(key)]
