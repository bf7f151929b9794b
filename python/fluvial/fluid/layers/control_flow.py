"""Loops and branches of programs, with variables that blocks write in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ... import _core
from ..._blocks import IfElse as _IfElse
from ..._fault import fault
from .._lists import listed
from .. import unique_name
from ..core import VarType
from ..framework import Block, Variable, applied, default_main_program, in_dygraph_mode
from ._blocks import Closed, Guard, element_of, has_value, joined_branches, lifted
from .arrays import new_array, parts_of

__all__ = [
    "While", "Switch", "IfElse", "cond", "case", "switch_case", "while_loop", "Assert", "is_empty", "ConditionalBlock",
]  # fmt: skip


def _condition(block: Block, var: Variable, what: str) -> Any:
    """A condition as a number that is true or false, while a block is built."""
    if not isinstance(var, Variable):
        raise fault(TypeError, f"{what} is a variable, not {type(var).__name__}", "compare with `layers.less_than`")
    tensor = block.raw(var)
    if tensor.dtype.name != "bool":
        raise fault(TypeError, f"{what} `{var.name}` has elements of {tensor.dtype.name}", "use a bool variable")
    if tensor.ndim and any(size != 1 for size in tensor.shape):
        raise fault(TypeError, f"{what} `{var.name}` has the sizes {list(var.shape)}", "it has one element")
    return tensor if tensor.ndim == 0 else _core.reshape(tensor, ())


class While:
    """A loop whose body is the block of a `with`. What the body writes of outer variables, by `assign(x, out)`,
    `increment`, `less_than(x, y, cond=c)`, `array_write` and others, is there in the next trip and after the loop.

    Args:
        cond: A bool variable of one element, which the body writes.
        is_test: For Fluid's programs: what is kept for gradients is known anyway.
        name: For Fluid's programs.

    Example:
        >>> import fluvial.fluid as fluid
        >>> main = fluid.Program()
        >>> with fluid.program_guard(main, fluid.Program()):
        ...     i = fluid.layers.fill_constant([1], "int64", 0)
        ...     n = fluid.layers.fill_constant([1], "int64", 10)
        ...     c = fluid.layers.less_than(i, n)
        ...     loop = fluid.layers.While(c)
        ...     with loop.block():
        ...         i = fluid.layers.increment(i, value=3, in_place=True)
        ...         c = fluid.layers.less_than(i, n, cond=c)
        >>> fluid.Executor(fluid.CPUPlace()).run(main, fetch_list=[i])[0].tolist()
        [12]
    """

    def __init__(self, cond: Variable, is_test: bool = False, name: str | None = None) -> None:
        self.cond_var = cond
        if not in_dygraph_mode():
            block = default_main_program().current_block()
            with block.building():
                _condition(block, cond, "the condition of a loop")

    def block(self) -> Guard:
        """The body."""
        return Guard(self._leave, "While")

    def _leave(self, body: Block) -> None:
        parent = body.parent
        assert parent is not None
        if self.cond_var.name not in body._written:
            raise fault(
                RuntimeError,
                f"the body does not write the condition `{self.cond_var.name}`, so that the loop would not end",
                "end the body with `layers.less_than(x=i, y=n, cond=cond)` or `layers.assign(c, cond)`",
            )
        with body.building():
            go_on = _condition(body, self.cond_var, "the condition of a loop")
        closed = Closed(body)
        places = {var.name: i for i, var in enumerate(closed.written)}
        names = [var.name for var in closed.written if var is not self.cond_var]
        with parent.building():
            first = _condition(parent, self.cond_var, "the condition of a loop")
            arguments = closed.arguments(parent)
            starts = [
                _start(
                    parent, closed.written[places[name]], closed.values[places[name]],
                    arguments.get(closed.labels.get(name, "")),
                )
                for name in names
            ]
            params = _core.begin_block([start.type_text for start in starts])
            try:
                replaced = dict(zip(names, params))
                # The condition of the trip is true, or it would not run.
                replaced[self.cond_var.name] = _core.full((1,), True, "bool")
                found = closed.call(arguments, replaced)
                again = found[places[self.cond_var.name]]
                results = [
                    _same(found[places[name]], start, name) for name, start in zip(names, starts)
                ]
                ended = _core.end_block([_core.reshape(again, ()), *results])
            except BaseException:
                _core.abort_block()
                raise
            after = _core.while_of(first, starts, ended)
            for name, value in zip(names, after):
                parent.write(closed.written[places[name]], value)
            parent.write(self.cond_var, _core.full((1,), False, "bool"))
        del go_on


def _start(parent: Block, var: Variable, inner: Any, argument: Any) -> Any:
    """What a variable is before the first trip; zeros, or an empty array, if it has no value."""
    if has_value(parent, var):
        return lifted(parent.raw(var)) if argument is None else argument
    if argument is not None:
        return argument
    if inner.type_text.startswith("list"):
        return _core.list_new(element_of(inner))
    return _core.full(tuple(inner.shape), 0, inner.dtype)


def _same(value: Any, start: Any, name: str) -> Any:
    """A value at the end of a trip, of the type that the variable had at its begin."""
    if value.type_text == start.type_text or value.type_text.startswith("list"):
        return value
    if value.dtype != start.dtype:
        value = _core.cast(value, start.dtype)
    pairs = list(zip(value.shape, start.shape))
    if value.ndim == start.ndim and all(repr(a) == repr(b) or not isinstance(a, int) for a, b in pairs):
        # Open sizes that meet are taken for equal, and the run checks it.
        return _core.assume_dims(value, tuple(start.shape))
    if value.type_text != start.type_text:
        raise fault(
            ValueError,
            f"the loop gives `{name}` the type {value.type_text}, and it had {start.type_text}",
            "give it the same sizes before the loop",
        )
    return value


# Branches -------------------------------------------------------------------------------------------


class Switch:
    """Runs the block of the first case whose condition holds.

    Args:
        name: For Fluid's programs.
    """

    def __init__(self, name: str | None = None) -> None:
        self._cases: list[tuple[Variable | None, Closed]] = []
        self._inside = False

    def __enter__(self) -> Switch:
        self._inside = True
        return self

    def case(self, condition: Variable) -> Guard:
        """A block that runs if its condition holds, and none before it.

        Args:
            condition: A bool variable of one element.
        """
        return self._guard(condition)

    def default(self) -> Guard:
        """The block that runs if no condition holds."""
        return self._guard(None)

    def _guard(self, condition: Variable | None) -> Guard:
        if not self._inside:
            raise fault(RuntimeError, "a case stands inside of its switch", "write `with Switch() as switch:` around it")
        if self._cases and self._cases[-1][0] is None:
            raise fault(RuntimeError, "nothing follows the default", "put the default last")
        return Guard(lambda block: self._cases.append((condition, Closed(block))), "Switch")

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        self._inside = False
        if exception is not None:
            return
        if not self._cases:
            raise fault(RuntimeError, "a switch needs a case", "use `with switch.case(condition):`")
        parent = default_main_program().current_block()
        with parent.building():
            cases: list[tuple[Any, Closed | None]] = [
                (None if var is None else _condition(parent, var, "the condition of a case"), closed)
                for var, closed in self._cases
            ]
            if cases[-1][0] is not None:
                cases.append((None, None))
            joined_branches(parent, cases)


class ConditionalBlock:
    """A block that runs if a condition holds.

    Args:
        inputs: A list of one bool variable of one element.
        is_scalar_condition: True; conditions by rows are those of `IfElse`.
        name: For Fluid's programs.
    """

    def __init__(self, inputs: Sequence[Variable], is_scalar_condition: bool = False, name: str | None = None) -> None:
        if not is_scalar_condition or len(inputs) != 1:
            raise fault(NotImplementedError, "a block is run for one condition of one element", "use `layers.IfElse`")
        self._switch = Switch()
        self._switch._inside = True
        self._condition = inputs[0]

    def block(self) -> Guard:
        """The block."""
        inner = self._switch.case(self._condition)
        leave = inner._leave

        def both(block: Block) -> None:
            leave(block)
            self._switch.__exit__(None)

        inner._leave = both
        return inner


class IfElse:
    """Sends the rows of a batch through one of two blocks, and puts the results back in order.

    Args:
        cond: A bool variable with one element for each row. It may be given at the end instead, `ie(cond)`: blocks
            then get whole variables, and results are chosen row by row.
        name: For Fluid's programs.
    """

    def __init__(self, cond: Variable | None = None, name: str | None = None) -> None:
        self._cond = cond
        self._block = default_main_program().current_block()
        with self._block.building():
            self._mask = None if cond is None else self._block.value(cond)
            self._own = _IfElse(self._mask)

    def true_block(self) -> Any:
        """The block for the rows where the condition holds."""
        return self._own.true_block()

    def false_block(self) -> Any:
        """The block for the other rows."""
        return self._own.false_block()

    def input(self, x: Variable) -> Variable:
        """The rows of a variable that belong to the open block.

        Args:
            x: The variable.
        """
        return applied(self._rows, "split_lod_tensor", x)

    def _rows(self, x: Any) -> Any:
        rows = None if self._mask is None else self._mask.shape[0]
        if rows is not None and x.ndim and repr(rows) != repr(x.shape[0]) and not isinstance(x.shape[0], int):
            # An open number of rows is that of the condition, and the run checks it.
            x = _core.assume_dims(x, (rows, *x.shape[1:]))
        return self._own.input(x)

    def output(self, *outs: Variable) -> None:
        """Gives results of the open block: as many, of the same types, as the other block.

        Args:
            outs: Variables.
        """
        block = default_main_program().current_block()
        with block.building():
            self._own.output(*(block.value(out) for out in outs))

    def __call__(self, cond: Variable | None = None) -> list[Variable]:
        """The results, with rows in the order of the inputs.

        Args:
            cond: The condition, if it was not given before.
        """
        given = () if cond is None else (cond,)
        return applied(lambda *condition: self._own(*condition), "merge_lod_tensor", *given)


def _structure(value: Any) -> Any:
    """What a branch gave: the form, and its variables in order."""
    if isinstance(value, (list, tuple)):
        return (type(value), [_structure(item) for item in value])
    if isinstance(value, dict):
        return (dict, [(key, _structure(item)) for key, item in value.items()])
    return None if value is None else "leaf"


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif value is not None:
        yield value


def _rebuilt(like: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(like, (list, tuple)):
        items = [_rebuilt(item, leaves) for item in like]
        if isinstance(like, tuple) and hasattr(like, "_fields"):
            return type(like)(*items)
        return type(like)(items)
    if isinstance(like, dict):
        return {key: _rebuilt(item, leaves) for key, item in like.items()}
    return None if like is None else next(leaves)


def cond(
    pred: Variable,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Calls one of two functions; in a program, the run chooses.

    Args:
        pred: A bool variable of one element.
        true_fn: Returns variables, in any nesting, or None.
        false_fn: Returns the same kind.
        name: For Fluid's programs.
    """
    for which, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if function is not None and not callable(function):
            raise fault(TypeError, f"`{which}` is {type(function).__name__}", "give a function without arguments, or None")
    if in_dygraph_mode():
        chosen = true_fn if bool(pred) else false_fn
        return None if chosen is None else chosen()
    parent = default_main_program().current_block()
    found: list[tuple[Any, Closed | None]] = []
    forms: list[Any] = []
    with parent.building():
        number = _condition(parent, pred, "the condition")
    for i, function in enumerate((true_fn, false_fn)):
        if function is None:
            found.append((None if i else number, None))
            forms.append(None)
            continue
        kept: list[Any] = []

        def leave(block: Block, kept: list[Any] = kept) -> None:
            with block.building():
                leaves = [_leaf(block, leaf) for leaf in _leaves(kept[0])]
            kept.append(Closed(block, leaves))

        with Guard(leave, "cond"):
            kept.append(function())
        forms.append(kept[0])
        found.append((None if i else number, kept[1]))
    if _structure(forms[0]) != _structure(forms[1]):
        raise fault(
            ValueError,
            "Incompatible return values of true_fn and false_fn in cond: the kinds of results differ",
            "return as many variables, in the same lists, from both",
        )
    count = len(list(_leaves(forms[0])))
    with parent.building():
        results = joined_branches(parent, found, count)
        label = unique_name.generate("cond")
        made = iter([parent.made(tensor, label=f"{label}.tmp") for tensor in results])
        return _rebuilt(forms[0], made)


def _leaf(block: Block, leaf: Any) -> Any:
    if isinstance(leaf, Variable):
        return block.value(leaf)
    return lifted(_core.tensor(leaf))


def case(
    pred_fn_pairs: Sequence[tuple[Variable, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Calls the function of the first condition that holds.

    Args:
        pred_fn_pairs: Conditions and functions, in order.
        default: What is called if none holds; the last function, if there is no other.
        name: For Fluid's programs.
    """
    pairs: list[Any] = listed(pred_fn_pairs, "pairs")
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise fault(TypeError, "`case` takes pairs of a condition and a function", "give at least one pair")
    if default is None:
        default = pairs.pop()[1]
    other: Any = default
    for pred, function in reversed(pairs):
        other = _chosen(pred, function, other)
    return other()


def _chosen(pred: Variable, then: Callable[[], Any], other: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: cond(pred, then, other)


def switch_case(
    branch_index: Variable,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Calls the function of a number.

    Args:
        branch_index: An integer variable of one element.
        branch_fns: Functions, or pairs of a number and a function, or a dict of them.
        default: What is called for other numbers; the function of the largest, if there is no other.
        name: For Fluid's programs.
    """
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    else:
        pairs = [item if isinstance(item, tuple) else (i, item) for i, item in enumerate(listed(branch_fns, "functions"))]
    numbers = [number for number, _ in pairs]
    if len(set(numbers)) != len(numbers):
        raise fault(ValueError, f"two functions have one number: {numbers}", "give each a number of its own")
    pairs.sort(key=lambda pair: pair[0])
    if default is None:
        default = pairs[-1][1]
        pairs = pairs[:-1]
    if not pairs:
        last: Any = default
        return last()
    choices: Any = [(branch_index == number, function) for number, function in pairs]
    return case(choices, default)


def while_loop(
    cond: Callable[..., Variable],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    is_test: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Repeats `body` on the loop variables as long as `cond` of them holds. The variables that are given stay as they
    are, in both modes; arrays are written in place.

    Args:
        cond: Takes the loop variables, gives a bool variable of one element.
        body: Takes the loop variables, gives the next ones.
        loop_vars: The first ones; also nested lists.
        is_test: For Fluid's programs.
        name: For Fluid's programs.
    """
    loop_vars = listed(loop_vars, "variables")
    if not loop_vars:
        raise fault(ValueError, "a loop needs loop variables", "give `loop_vars` at least one variable")
    if in_dygraph_mode():
        values = list(loop_vars)
        while bool(cond(*values)):
            found = body(*values)
            values = list(found) if isinstance(found, (list, tuple)) else [found]
            if len(values) != len(loop_vars):
                raise _wrong_count(len(values), len(loop_vars))
        return values
    block = default_main_program().current_block()
    with block.building():
        label = unique_name.generate("while_loop")
        leaves = _looped(block, loop_vars, label)
    variables = _rebuilt(list(loop_vars), iter(leaves))
    go_on = _owned(cond(*variables))
    loop = While(go_on)
    with loop.block():
        found = body(*variables)
        new = list(_leaves(list(found) if isinstance(found, (list, tuple)) else [found]))
        if len(new) != len(leaves):
            raise _wrong_count(len(new), len(leaves))
        inner = default_main_program().current_block()
        with inner.building():
            pairs = [pair for old, leaf in zip(leaves, new) for pair in _pairs(old, leaf)]
            values = [_leaf(inner, leaf) for _, leaf in pairs]
            for (old, _), value in zip(pairs, values):
                inner.write(old, value)
        again = cond(*variables)
        with inner.building():
            inner.write(go_on, inner.value(again))
    return _rebuilt(list(loop_vars), iter(leaves))


def _looped(block: Block, loop_vars: list[Any], label: str) -> list[Variable]:
    """The variables of a loop: copies of those that are given, but for arrays, which are written in place."""
    found: list[Variable] = []
    for leaf in _leaves(list(loop_vars)):
        is_array = isinstance(leaf, Variable) and leaf.type is VarType.LOD_TENSOR_ARRAY
        is_own = is_array and all(leaf is not other for other in found)
        found.append(leaf if is_own else _copied(block, leaf, label))
    return found


def _pairs(old: Variable, new: Any) -> list[tuple[Variable, Any]]:
    """A loop variable and its next value; of arrays those of the lengths of their elements, too."""
    is_array = isinstance(new, Variable) and new.type is VarType.LOD_TENSOR_ARRAY
    return list(zip(parts_of(old), parts_of(new))) if is_array else [(old, new)]


def _owned(var: Any) -> Variable:
    """A variable that nobody else reads."""
    if not isinstance(var, Variable):
        raise fault(TypeError, f"a condition is a variable, not {type(var).__name__}", "compare variables")
    block = default_main_program().current_block()
    with block.building():
        return _copied(block, var, unique_name.generate("while_loop.cond"))


def _copied(block: Block, leaf: Any, label: str) -> Variable:
    if isinstance(leaf, Variable) and leaf.type is VarType.LOD_TENSOR_ARRAY:
        return _copied_array(block, leaf)
    return block.made(_leaf(block, leaf), label=f"{label}.tmp")


def _copied_array(block: Block, array: Variable) -> Variable:
    made = new_array(block, array.dtype)
    made._lengths, made._sizes = array._lengths, array._sizes
    if array._lengths:
        made._lengths = tuple(_copied_array(block, part) for part in array._lengths)
    if has_value(block, array):
        block._values[made.name] = block.raw(array)
    return made


def _wrong_count(found: int, wanted: int) -> ValueError:
    return fault(ValueError, f"the body gives {found} variables for {wanted}", "return one for each loop variable")


def Assert(cond: Variable, data: Sequence[Variable] | None = None, summarize: int = 20, name: str | None = None) -> None:
    """Ends the run with an error unless a condition holds.

    Args:
        cond: A bool variable of one element.
        data: Variables whose values are shown.
        summarize: How many elements of each are shown, of the first eight.
        name: For Fluid's programs.
    """
    def shown(value: Any) -> Any:
        return value if summarize < 0 else _core.slice(_core.reshape(value, (-1,)), 0, 0, int(summarize))

    applied(
        lambda c, values: _core.assert_(
            _core.reshape(c, ()), "the condition of `layers.Assert` does not hold", [shown(value) for value in values]
        ),
        "assert", cond, [] if data is None else listed(data, "variables"),
    )  # fmt: skip


def is_empty(x: Variable, cond: Variable | None = None) -> Variable:
    """Whether a variable has no elements.

    Args:
        x: The variable.
        cond: The variable that gets the result.
    """
    from ..framework import store

    def empty(value: Any) -> Any:
        count: Any = _core.tensor(1, "int64")
        for size in value.shape:
            count = count * _core.dim_size(size, "int64")
        return _core.reshape(_core.eq(count, 0), (1,))

    found = applied(empty, "is_empty", x)
    if cond is None:
        return found
    store(found, cond)
    return cond
