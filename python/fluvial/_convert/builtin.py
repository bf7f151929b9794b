"""Builtin functions of Python where they meet values of the program being built."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

from .. import _core, _numbers
from .._array_api import shapes
from .._checks import must
from .._fault import fault
from .._opens import closed
from .._printing import Text, print_later, refuse_hidden
from . import arithmetic, folds, journal, logic, own
from .calls import looked_at
from .errors import log
from .lists import TensorList, rows_of, unwrapped, wrapped
from .parts import Window, get
from .plain import example
from .regions import LOCAL, abort, begin, end
from .sequences import Counted, Range, Sequence, Together, sequence_of, unrolled
from .state import BUILD
from .trees import OPEN_SIZE, Tensor, flatten, is_symbolic, is_tensor, rebuild


def of_program(value: Any) -> bool:
    """Whether a value is known only when the program runs."""
    return is_symbolic(value) or isinstance(value, Sequence) or rows_of(value) is not None


def _range(*bounds: Any):
    if not any(is_symbolic(bound) or isinstance(bound, OPEN_SIZE) for bound in bounds):
        return range(*bounds)
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Range(start, stop, step)


def _len(value: Any):
    value = example(unwrapped(value))
    if isinstance(value, TensorList):
        return value.length()
    if isinstance(value, Sequence):
        length = value.length
        return _core.number_of(length) if is_tensor(length) else length
    if is_symbolic(value) and value.ndim and not value.type_text.startswith("list"):
        return value.shape[0]
    length = own.method(value, "__len__")
    return len(value) if length is None else length()


def _enumerate(iterable: Any, start: Any = 0):
    if not of_program(iterable) and not is_symbolic(start):
        return enumerate(iterable, start)
    source = sequence_of(iterable)
    return Counted(source, start) if source is not None else enumerate(iterable, start)


def _zip(*iterables: Iterable, strict: bool = False):
    if not any(map(of_program, iterables)):
        return zip(*iterables, strict=strict)
    parts: list[Any] = [sequence_of(x) for x in iterables]
    if all(part is not None for part in parts):
        return Together(parts, strict)
    return zip(*map(items, iterables), strict=strict)


def _print(*values: Any, sep: str | None = " ", end: str | None = "\n", **options: Any):
    values = tuple(
        _core.number_of(_core.whole_size(value, "int64")) if isinstance(value, OPEN_SIZE) else closed(value)
        for value in values
    )
    later = [type(value) is Text or is_symbolic(value) for value in values]
    if not any(later):
        for value in values:
            refuse_hidden(value)
        if BUILD.outer is None:
            return print(*values, sep=sep, end=end, **options)
        # Each call prints it, as line by line.
        return print_later(tuple(map(str, values)), sep, end, options)
    # In a program for a file, tensors with texts before them are printed by ops, which need no Python.
    by_ops = BUILD.outer is None and later[-1] and not options and end == "\n" and sep in (None, " ")
    if by_ops and all(type(x) is str or (is_tensor(x) and not x._is_number) for x in values):
        texts: list[str] = []
        for value, is_later in zip(values, later):
            if is_later:
                _core.print(value, " ".join(texts))
                texts = []
            else:
                texts.append(str(value))
    else:
        print_later(values, sep, end, options)
    return None


def _bool(*value: Any):
    return logic.truth(value[0]) if value and of_program(value[0]) else bool(*value)


def _stack(function: Callable, new_axis: bool) -> Callable:
    def stacked(values: Any, *arguments: Any, **options: Any):
        rows = rows_of(values)
        if rows is None:
            return function(values, *arguments, **options)
        axis = arguments[0] if arguments else options.get("axis", 0)
        stack = rows.stack()
        if rows._kinds[0] is float:
            # By itself a float of Python's is a `float32`.
            stack = _core.cast(stack, "float32")
        size = rows._length
        if size == 0 if isinstance(size, int) else size is None or str(size) not in LOCAL.sizes:
            what = f"{function.__name__}(): there is nothing to {function.__name__}"
            must(rows.count() > 0, ValueError, what)
        if new_axis:
            return stack if axis == 0 else _core.movedim(stack, [0], [axis])
        if axis == 0:
            return _core.flatten(stack, 0, 1)
        raise TypeError(
            "a list of the program is joined along the first axis\n  remedy: use `fl.stack`"
        )

    return stacked


def _narrow(x: Any, axis: int, start: Any, len: Any) -> Any:
    if not is_symbolic(start) or not isinstance(len, int):
        return _core.narrow(x, axis, start, len)
    axis = axis % x.ndim
    return get(x, (*(slice(None),) * axis, Window(start, len)))


def _reversed(value: Any):
    rows = rows_of(value)
    if rows is not None:
        return wrapped(rows[::-1])
    return _core.flip(value, [0]) if is_symbolic(value) else reversed(value)


def is_instance(value: Any, kinds: Any):
    """`isinstance`: what stands for a number of Python's is one."""
    if is_symbolic(value) and value._is_number:
        return builtins.isinstance(_numbers.known_kind(value)(0), kinds)
    if isinstance(value, OPEN_SIZE) and builtins.isinstance(0, kinds):
        return True
    return builtins.isinstance(value, kinds)


def _list(*values: Any):
    if not values or not of_program(values[0]):
        return journal.made(list(*values))
    rows, known = rows_of(values[0]), unrolled(values[0])
    if rows is not None:
        return wrapped(rows.copy())
    return journal.made(known) if known is not None else listed(values[0], lambda x: x, None, False)


def _tuple(*values: Any):
    if not values or not of_program(values[0]):
        return tuple(*values)
    known = unrolled(values[0])
    if known is None:
        raise fault(
            TypeError,
            "the length of this tuple would be known only when the program runs",
            "use `list(...)`, which a program can make of any length",
        )
    return tuple(known)


def unpacked(value: Any) -> Any:
    """What `a, b = value` and `f(*value)` go through."""
    rows = rows_of(value)
    return looked_at(example(value)) if rows is None else iter(rows)


#: What is called in the place of a builtin function or of one of ours.
OVERRIDES: dict[Any, Callable] = {
    range: _range,
    len: _len,
    enumerate: _enumerate,
    zip: _zip,
    print: _print,
    bool: _bool,
    list: _list,
    tuple: _tuple,
    reversed: _reversed,
    isinstance: is_instance,
    max: folds.extreme(max, lambda a, b: a > b),
    min: folds.extreme(min, lambda a, b: a < b),
    sum: folds.total,
    any: folds.any_,
    all: folds.all_,
    sorted: folds.sorted_,
    **arithmetic.FUNCTIONS,
    _core.narrow: _narrow,
    _core.stack: _stack(_core.stack, True),
    _core.concat: _stack(_core.concat, False),
    shapes.stack: _stack(shapes.stack, True),
    shapes.concat: _stack(shapes.concat, False),
}


def method(function: Any) -> Callable | None:
    """What to call in the place of a method of a value of the program."""
    owner: Any = getattr(function, "__self__", None)
    if not is_symbolic(owner):
        return None
    name = function.__name__
    if name == "narrow":
        return lambda *a, **k: _narrow(owner, *a, **k)
    if name == "item":
        return lambda: _numbers.of_tensor(owner)
    if name in ("tolist", "numpy"):
        return arithmetic.elements_of(owner, name)
    return None


def items(iterable: Any) -> Iterable:
    """What a comprehension goes through: a tensor of known length is taken apart."""
    if not of_program(iterable):
        return looked_at(iterable)
    known = unrolled(iterable)
    if known is not None:
        log("info", "a comprehension is unrolled, %d items", len(known))
        return known
    raise fault(
        TypeError,
        "this comprehension goes through values whose number only the run knows",
        "use a list comprehension with one `for`, or a `for` statement",
    )


def generated(iterable: Any, make: Callable, test: Callable | None, star: bool) -> Any:
    """`(make(x) for x in iterable if test(x))`; a list, if only the run knows how many there are."""
    if of_program(iterable) and (test is not None or unrolled(iterable) is None):
        return listed(iterable, make, test, star)
    return _generator(items(iterable), make, test, star)


def _generator(known: Iterable, make: Callable, test: Callable | None, star: bool) -> Any:
    for item in known:
        parts = tuple(item) if star else (item,)
        holds = True if test is None else logic.as_condition(test(*parts))
        if is_tensor(holds):
            raise fault(
                TypeError,
                "whether a generator gives a value is known only when the program runs",
                "use a list comprehension",
            )
        if holds:
            yield make(*parts)


def listed(iterable: Any, make: Callable, test: Callable | None, star: bool) -> Any:
    """`[make(x) for x in iterable if test(x)]`."""
    source = None if type(iterable) is range else sequence_of(looked_at(iterable))
    made = _listed(source, iterable, make, test, star)
    return wrapped(made) if isinstance(made, TensorList) else journal.made(made)


def _listed(source: Any, iterable: Any, make: Callable, test: Callable | None, star: bool) -> Any:
    if source is None or (type(source) is Range and source.plain):
        return _listed_here(iterable if source is None else range(*source.bounds), make, test, star)
    call = (lambda f, item: f(*item)) if star else (lambda f, item: f(item))
    return _listed_there(source, lambda x: call(make, x), test and (lambda x: call(test, x)))


def _listed_here(iterable: Any, make: Callable, test: Callable | None, star: bool) -> Any:
    made: Any = []
    for item in iterable:
        if star:
            item = tuple(item)
        element = lambda: make(*item) if star else make(item)  # noqa: B023, E731
        if test is None:
            made.append(element())
            continue
        holds = logic.as_condition(test(*item) if star else test(item))
        if not is_tensor(holds):
            if holds:
                made.append(element())
            continue
        if not isinstance(made, TensorList):
            begin([])
            with journal.refusing():
                like = element()
            abort()
            made = TensorList.of(made, like)
        made = _appended(made, holds, element)
    return made


def _appended(made: TensorList, holds: Tensor, element: Callable[[], Any]) -> TensorList:
    begin([])
    longer = made._fl_with(list(made._fl_lists))
    with journal.refusing():
        longer._push(element())
    then = end(longer._fl_lists)
    begin([])
    lists = _core.cond_of(holds, then, end(made._fl_lists))
    return made._fl_long(list(lists), None)


def _listed_there(source: Sequence, make: Callable, test: Callable | None) -> Any:
    position = source.start(0)
    first = source.more(position)
    params = begin(position)
    with journal.refusing():
        like = make(source.item(params))
    leaves: list = []
    spec = flatten(like, leaves)
    abort()
    nested = any(is_tensor(leaf) and leaf.type_text.startswith("list") for leaf in leaves)
    if nested and type(source.length) is int:
        return _listed_here(unrolled(source), make, test, False)
    empty = TensorList.of([], rebuild(spec, leaves))
    params = begin([*position, *empty._fl_lists])
    at, lists = params[: len(position)], params[len(position) :]
    made = empty._fl_with(list(lists))
    with journal.refusing():
        item = source.item(at)
        holds = True if test is None else logic.as_condition(test(item))
        if holds is True:
            made._push(make(item))
        elif is_tensor(holds):
            made = _appended(made, holds, lambda: make(item))
    after = source.advance(at)
    body = end([source.more(after), *after, *made._fl_lists])
    outputs = _core.while_of(_core.tensor(first), [*position, *empty._fl_lists], body)
    length = source.length if isinstance(source.length, (int, OPEN_SIZE)) and holds is True else None
    return empty._fl_long(list(outputs[len(position) :]), length)
