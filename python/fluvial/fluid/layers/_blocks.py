"""Blocks that are closed: what they take, what they wrote, and how they become blocks of the core."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._fault import fault
from ..._ragged import Ragged
from .. import _ragged, unique_name
from ..core import VarType
from ..framework import Block, Program, State, Variable, default_main_program, in_dygraph_mode

__all__ = ["Closed", "Guard", "element_of", "joined_branches", "lifted"]


def lifted(tensor: Any) -> Any:
    """A value with at least one axis, as Fluid's have it."""
    is_number = isinstance(tensor, _core.Tensor) and not tensor.type_text.startswith(("list", "chan")) and tensor.ndim == 0
    return _core.reshape(tensor, (1,)) if is_number else tensor


def element_of(tensor: Any) -> str:
    """The type of the elements of a list."""
    return tensor.type_text.removeprefix("list ")


class Guard:
    """The scope of a block: what is called in it is appended to it.

    Args:
        leave: Called with the block at its end.
        what: What it belongs to, for messages.
    """

    def __init__(self, leave: Callable[[Block], None], what: str, enter: Callable[[Block], Any] | None = None) -> None:
        self._leave, self._what, self._enter = leave, what, enter

    def __enter__(self) -> Any:
        if in_dygraph_mode():
            raise fault(
                RuntimeError,
                f"`{self._what}` builds a block of a program, and ops run at once here",
                "use Python's own `if`, `for` and `while`, or `layers.cond` and `layers.while_loop`",
            )
        self._program: Program = default_main_program()
        self._block = self._program._create_block()
        return None if self._enter is None else self._enter(self._block)

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        self._program._rollback()
        if exception is None:
            self._leave(self._block)


class Closed:
    """A block that gets no more calls.

    Args:
        block: The block.
        results: What it gives besides the variables of outer blocks that it wrote.
    """

    def __init__(self, block: Block, results: Sequence[Any] = ()) -> None:
        self.block = block
        _keep_persistent(block)
        block._await()
        #: What it wrote of outer blocks, but for states.
        self.written = [var for var in block._written.values() if var.block is not block]
        with block.building():
            values = [lifted(tensor) for tensor in results]
            values += [lifted(block._values[var.name]) for var in self.written]
        for value in values:
            if not isinstance(value, _core.Tensor):
                raise fault(
                    NotImplementedError,
                    "a block gives sequences of different lengths to what is outside of it",
                    "pool or pad them inside of the block: `layers.sequence_pool`, `layers.sequence_pad`",
                )
        self.values = values
        #: The inputs of the block by the names of variables.
        self.labels = {var.name: label for label, var in block._inputs.items()}
        self.program = block._core.snapshot({f"out{i}": value for i, value in enumerate(values)})
        self.n_results = len(results)

    def arguments(self, parent: Block) -> dict[str, Any]:
        """The values of what it reads, by input, in the block around it, which is being built."""
        found: dict[str, Any] = {}
        for label, var in self.block._inputs.items():
            if var.type is VarType.LOD_TENSOR_ARRAY and not has_value(parent, var):
                inner = self.block._values[var.name]
                found[label] = _core.list_new(element_of(inner))
                continue
            value = parent.value(var)
            if isinstance(value, Ragged):
                found.update(zip(_ragged.input_names(label, value), [value.data, *value.row_lengths]))
            else:
                found[label] = value
        return found

    def call(self, arguments: dict[str, Any], replaced: dict[str, Any]) -> list[Any]:
        """Its calls, appended to what is being built; gives its results and what it wrote.

        Args:
            arguments: What `arguments` gave.
            replaced: Other values, by the names of variables, or by input.
        """
        given = dict(arguments)
        given.update({self.labels.get(name, name): value for name, value in replaced.items()})
        found = self.program(*(given[label] for label in self.program.inputs))
        if not self.values:
            return []
        return list(found) if isinstance(found, tuple) else [found]


def _keep_persistent(block: Block) -> None:
    """Makes states of variables of a block that the user has made persistent, so that the last value outlives it."""
    for var in [var for var in block.vars.values() if var.persistable and not isinstance(var, State)]:
        tensor = block._values.get(var.name)
        if tensor is None:
            continue
        sizes = lifted(tensor).shape if isinstance(tensor, _core.Tensor) else ()
        is_list = isinstance(tensor, _core.Tensor) and tensor.type_text.startswith("list")
        if not isinstance(tensor, _core.Tensor) or is_list or not all(isinstance(size, int) for size in sizes):
            what = "an array" if is_list else "sequences" if not isinstance(tensor, _core.Tensor) else f"of the sizes {list(sizes)}"
            raise fault(
                NotImplementedError,
                f"`{var.name}` of a block is to persist, and is {what}, which only the run knows",
                "write it to a variable from outside of the block with `layers.assign(x, out)`",
            )
        state = State.of(block.program.global_block(), var.name, sizes, tensor.dtype.name, None)
        state.stop_gradient = True
        with block.building():
            block.write(state, tensor.detach())


def has_value(block: Block, var: Variable) -> bool:
    """Whether a variable has a value in a block or further out."""
    around: Block | None = block
    while around is not None:
        if var.name in around._values:
            return True
        around = around.parent
    return False


def joined_branches(
    parent: Block, cases: Sequence[tuple[Any, Closed | None]], n_results: int = 0
) -> list[Any]:
    """The first of several blocks whose condition holds, in a block that is being built.

    Args:
        parent: The block around them.
        cases: Conditions, the last of which may be None, with blocks; None for a block that does nothing.
        n_results: How many results each block gives.

    Returns:
        The results. Variables that a block wrote have their new values.
    """
    written: dict[str, Variable] = {}
    for _, closed in cases:
        if closed is not None:
            written.update({var.name: var for var in closed.written})
    before: dict[str, Any] = {}
    for name, var in written.items():
        if has_value(parent, var):
            before[name] = parent.value(var)
        elif any(closed is None or name not in {v.name for v in closed.written} for _, closed in cases):
            raise fault(
                RuntimeError,
                f"`{name}` gets a value in some of the blocks only, and has none before",
                "give it a value before, or write it in every block and in a default",
            )
    arguments = [None if closed is None else closed.arguments(parent) for _, closed in cases]

    def parts(closed: Closed | None, found: list[Any]) -> list[Any]:
        """Results, then a value for each variable that any of the blocks wrote."""
        if closed is None:
            return [before[name] for name in written]
        own = {var.name: value for var, value in zip(closed.written, found[closed.n_results :])}
        return [*found[: closed.n_results], *(own.get(name, before.get(name)) for name in written)]

    # What has other sizes in another block goes out as the only element of a list, whose sizes the run knows.
    opened = _opened([parts(closed, [] if closed is None else closed.values) for _, closed in cases])

    def run(number: int) -> list[Any]:
        closed = cases[number][1]
        values = parts(closed, [] if closed is None else closed.call(arguments[number] or {}, {}))
        fitting = [_fitting(value, before.get(name)) for value, name in zip(values[n_results:], written)]
        return [
            value if element is None else _core.list_push(_core.list_new(element), value)
            for value, element in zip([*values[:n_results], *fitting], opened)
        ]

    def block_of(number: int) -> Any:
        _core.begin_block([])
        try:
            results = run(number) if number == len(cases) - 1 else choice(number)
        except BaseException:
            _core.abort_block()
            raise
        return _core.end_block(results)

    def choice(number: int) -> list[Any]:
        condition = cases[number][0]
        _core.begin_block([])
        try:
            results = run(number)
        except BaseException:
            _core.abort_block()
            raise
        return _core.cond_of(condition, _core.end_block(results), block_of(number + 1))

    found = [
        value if element is None else _core.list_get(value, _core.full((), 0, "int64"), False)
        for value, element in zip(run(0) if len(cases) == 1 and cases[0][0] is None else choice(0), opened)
    ]
    for name, value in zip(written, found[n_results:]):
        parent.write(written[name], value)
    return list(found[:n_results])


def _opened(values: Sequence[Sequence[Any]]) -> list[str | None]:
    """By place: the type of an element with open sizes, if the values there differ in sizes, or None.

    Args:
        values: What each of several blocks gives.
    """
    found: list[str | None] = []
    for place, row in enumerate(zip(*values)):
        kinds = {value.type_text.partition("[")[0] for value in row}
        if len(kinds) > 1 or kinds.pop().startswith("list") or len({value.ndim for value in row}) > 1:
            found.append(None)
            continue
        label = re.sub(r"\W", "_", unique_name.generate("choice"))
        sizes: list[str] = []
        is_open = False
        for axis, same in enumerate(zip(*(value.shape for value in row))):
            texts = {repr(size) for size in same}
            # A size that only the run knows has a name of its own in each block.
            is_known = len(texts) == 1 and not next(iter(texts)).startswith("_")
            is_open = is_open or not is_known
            sizes.append(texts.pop() if is_known else f"{label}_{axis}")
        kind = row[0].type_text.partition("[")[0]
        found.append(f"{kind}[{', '.join(sizes)}]" if is_open else None)
    return found


def _fitting(value: Any, before: Any) -> Any:
    """A value in the element type that its variable had."""
    if before is None or not isinstance(before, _core.Tensor) or before.type_text.startswith("list"):
        return value
    return value if value.dtype == before.dtype else _core.cast(value, before.dtype)
