"""Builtin functions of Python where they meet values of the program being built."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

from .. import _core, _numbers
from .._array_api import shapes
from .._printing import Text, print_later, refuse_hidden
from . import journal, logic
from .errors import log
from .lists import TensorList, unwrapped
from .regions import abort, begin, end
from .sequences import Counted, Range, Sequence, Together, sequence_of
from .trees import OPEN_SIZE, Tensor, flatten, is_symbolic, is_tensor, rebuild


def _range(*bounds: Any):
    if not any(is_symbolic(bound) or isinstance(bound, OPEN_SIZE) for bound in bounds):
        return range(*bounds)
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Range(start, stop, step)


def _len(value: Any):
    value = unwrapped(value)
    if isinstance(value, TensorList):
        return value.length()
    if isinstance(value, Sequence):
        length = value.length
        return _core.number_of(length) if is_tensor(length) else length
    if is_symbolic(value) and value.ndim and not value.type_text.startswith("list"):
        return value.shape[0]
    return len(value)


def _of_program(value: Any) -> bool:
    return is_symbolic(value) or isinstance(unwrapped(value), (Sequence, TensorList))


def _enumerate(iterable: Any, start: Any = 0):
    if not _of_program(iterable) and not is_symbolic(start):
        return enumerate(iterable, start)
    source = sequence_of(iterable)
    return Counted(source, start) if source is not None else enumerate(iterable, start)


def _zip(*iterables: Iterable, strict: bool = False):
    if not any(map(_of_program, iterables)):
        return zip(*iterables, strict=strict)
    parts: list[Any] = [sequence_of(x) for x in iterables]
    if all(part is not None for part in parts):
        return Together(parts)
    return zip(*map(items, iterables), strict=strict)


def _print(*values: Any, sep: str | None = " ", end: str | None = "\n", **options: Any):
    values = tuple(
        _core.number_of(_core.whole_size(value, "int64")) if isinstance(value, OPEN_SIZE) else value
        for value in values
    )
    later = [type(value) is Text or is_symbolic(value) for value in values]
    if not any(later):
        for value in values:
            refuse_hidden(value)
        return print(*values, sep=sep, end=end, **options)
    # Tensors with texts before them are printed by ops, which programs have without Python, too.
    by_ops = later[-1] and not options and end == "\n" and sep in (None, " ")
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
    return logic.truth(value[0]) if value and _of_program(value[0]) else bool(*value)


def _of_number(function: Callable, instead: Callable[[Any], Any]) -> Callable:
    """A builtin function that does something else for a number of the program."""

    def call(*values: Any, **options: Any):
        of_program = len(values) == 1 and not options and is_symbolic(values[0])
        return instead(values[0]) if of_program and values[0]._is_number else function(*values, **options)

    return call


def _divmod(a: Any, b: Any):
    of_program = any(is_symbolic(value) and value._is_number for value in (a, b))
    return (a // b, a % b) if of_program else divmod(a, b)


def _extreme(function: Callable, better: Callable[[Any, Any], Any]) -> Callable:
    def pick(*values: Any, **options: Any):
        if options or not any(map(is_symbolic, values)):
            if options or not any(isinstance(value, OPEN_SIZE) for value in values):
                return function(*values, **options)
        if len(values) == 1:
            values = tuple(items(values[0]))
        best = values[0]
        for value in values[1:]:
            best = _better(better(value, best), value, best)
        return best

    return pick


def _better(test: Any, value: Any, best: Any) -> Any:
    return logic.choose(test, lambda: value, lambda: best)


def _stack(function: Callable, new_axis: bool) -> Callable:
    def stacked(values: Any, *arguments: Any, **options: Any):
        values = unwrapped(values)
        if not isinstance(values, TensorList):
            return function(values, *arguments, **options)
        axis = arguments[0] if arguments else options.get("axis", 0)
        (stack,) = values.stacks()
        if new_axis:
            return stack if axis == 0 else _core.movedim(stack, [0], [axis])
        if axis == 0:
            return _core.flatten(stack, 0, 1)
        raise TypeError(
            "a list of the program is joined along the first axis\n  remedy: use `fl.stack`"
        )

    return stacked


def _reversed(value: Any):
    value = unwrapped(value)
    if is_symbolic(value):
        return _core.flip(value, [0])
    if isinstance(value, TensorList):
        (stack,) = value.stacks()
        return _core.flip(stack, [0])
    return reversed(value)


def _isinstance(value: Any, kinds: Any):
    if is_symbolic(value) and value._is_number:
        return builtins.isinstance(_numbers.known_kind(value)(0), kinds)
    if isinstance(value, OPEN_SIZE) and builtins.isinstance(0, kinds):
        return True
    return builtins.isinstance(value, kinds)


#: What is called in the place of a builtin function or of one of ours.
OVERRIDES: dict[Any, Callable] = {
    range: _range,
    len: _len,
    enumerate: _enumerate,
    zip: _zip,
    print: _print,
    bool: _bool,
    int: _of_number(int, _numbers.as_int),
    float: _of_number(float, _numbers.as_float),
    round: _of_number(round, _numbers.rounded),
    max: _extreme(max, lambda a, b: a > b),
    min: _extreme(min, lambda a, b: a < b),
    divmod: _divmod,
    reversed: _reversed,
    isinstance: _isinstance,
    _core.stack: _stack(_core.stack, True),
    _core.concat: _stack(_core.concat, False),
    shapes.stack: _stack(shapes.stack, True),
    shapes.concat: _stack(shapes.concat, False),
}


def items(iterable: Any) -> Iterable:
    """What a comprehension goes through: a tensor of known length is taken apart."""
    if not _of_program(iterable):
        return iterable
    if is_symbolic(iterable) and isinstance(iterable.shape[0], int):
        log("info", "a comprehension is unrolled, %d items", iterable.shape[0])
        return [iterable[i] for i in range(iterable.shape[0])]
    raise TypeError(
        "this comprehension goes through values whose number only the run knows\n"
        "  remedy: use a list comprehension with one `for`, or a `for` statement"
    )


def listed(iterable: Any, make: Callable, test: Callable | None, star: bool) -> Any:
    """`[make(x) for x in iterable if test(x)]`."""
    source = None if type(iterable) is range else sequence_of(iterable)
    made = _listed(source, iterable, make, test, star)
    return journal.made([made] if isinstance(made, TensorList) else made)


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


def _listed_there(source: Sequence, make: Callable, test: Callable | None) -> TensorList:
    position = source.start(0)
    first = source.more(position)
    params = begin(position)
    with journal.refusing():
        like = make(source.item(params))
    leaves: list = []
    spec = flatten(like, leaves)
    abort()
    empty = TensorList.of([], rebuild(spec, leaves))
    params = begin([*position, *empty._fl_lists])
    at, lists = params[: len(position)], params[len(position) :]
    made = empty._fl_with(list(lists))
    item = source.item(at)
    with journal.refusing():
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
