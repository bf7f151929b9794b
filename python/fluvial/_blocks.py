"""Control flow by explicit blocks: the forms that Fluid programs use.

A block is traced once, in both modes: into the program being built, or into a small program that
runs at once. So the body of a `with` may stand for many trips, or for none.
"""

from __future__ import annotations

from . import _core
from ._core import Tensor
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._core import Shape, TensorLike


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
) -> Any:
    """Calls one of two functions, as `fl.cond`; a missing one does nothing.

    Args:
        pred: A bool tensor of one element.
        true_fn: Returns a tensor or a tuple of tensors.
        false_fn: Returns the same types.

    Example:
        >>> x = fl.tensor(-3.0)
        >>> fl._blocks.cond(x < 0, lambda: -x, lambda: x).item()
        3.0
    """
    result = _core.cond(pred, true_fn or (lambda: None), false_fn or (lambda: None))
    return None if result == () else result


def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: Sequence[TensorLike]
) -> list[Tensor]:
    """Repeats `body` on the loop variables as long as `cond` of them holds.

    Args:
        cond: Takes the loop variables, returns a bool tensor of one element.
        body: Takes the loop variables, returns the next ones.
        loop_vars: The first ones.

    Example:
        >>> fl._blocks.while_loop(lambda i: i < 10, lambda i: i * 2, [fl.tensor(1)])
        [Tensor(i64[] 16)]
    """
    if not loop_vars:
        raise fault(ValueError, "a loop needs loop variables", "give `loop_vars` at least one tensor")
    start: Any = tuple(loop_vars)
    results: Any = _core.while_loop(cond, body, start)
    return list(results) if isinstance(results, tuple) else [results]


def case(
    pred_fn_pairs: Sequence[tuple[TensorLike, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
) -> Any:
    """Calls the function of the first condition that holds.

    Args:
        pred_fn_pairs: Conditions and functions, in order.
        default: What is called if none holds; the last function, if there is no other.

    Example:
        >>> x = fl.tensor(0.3)
        >>> pairs = [(x < 0.1, lambda: x * 0), (x < 0.5, lambda: x * 10)]
        >>> round(fl._blocks.case(pairs, default=lambda: x).item(), 4)
        3.0
    """
    if not pred_fn_pairs:
        raise fault(
            ValueError,
            "`case` needs a condition with its function",
            "give at least one pair of both",
        )
    *first, (last_pred, last) = pred_fn_pairs
    other: Any = last if default is None else lambda: _core.cond(last_pred, last, default)
    for pred, function in reversed(first):
        other = _chosen(pred, function, other)
    return other()


def _chosen(pred: TensorLike, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    return lambda: _core.cond(pred, then, other)


class _Body:
    """A block of the program being built; line by line, a program of its own."""

    def __init__(self) -> None:
        self.in_program = _core.is_building()

    def begin(self, values: Sequence[Tensor]) -> list[Tensor]:
        if self.in_program:
            return _core.begin_block([value.type_text for value in values])
        _core.begin_program()
        return [_core.program_input(f"x{i}", value) for i, value in enumerate(values)]

    def end(self, results: Sequence[TensorLike]) -> Any:
        if self.in_program:
            return _core.end_block(list(results))
        return _core.end_program({f"out{i}": result for i, result in enumerate(results)})

    def abort(self) -> None:
        _core.abort_block() if self.in_program else _core.abort_program()


def _as_tuple(values: Any) -> tuple[Tensor, ...]:
    return values if isinstance(values, tuple) else (values,)


class _Scope:
    """Enters and leaves by two functions; the second learns whether there was an exception."""

    def __init__(self, enter: Callable[[], Any], leave: Callable[[bool], None]) -> None:
        self.enter, self.leave = enter, leave

    def __enter__(self) -> Any:
        return self.enter()

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        self.leave(exception is not None)


def _truth(cond: TensorLike) -> Tensor:
    """A condition of one element, without axes."""
    found = _core.tensor(cond)
    is_one = found.ndim > 0 and all(isinstance(size, int) and size == 1 for size in found.shape)
    return _core.reshape(found, ()) if is_one else found


class While:
    """A loop whose body is the block of a `with`.

    Args:
        cond: The condition for the first trip: a bool tensor of one element.
        carried: The values that the loop changes. States that the block assigns are carried anyway.

    Example:
        >>> i, x = fl.tensor(0), fl.tensor([1.0, 2.0])
        >>> loop = fl._blocks.While(i < 3, carried=[i, x])
        >>> with loop.block() as (i, x):
        ...     i, x = i + 1, x * 2
        ...     loop.update(i < 3, i, x)
        >>> loop.output()[1].tolist()
        [8.0, 16.0]
    """

    def __init__(self, cond: TensorLike, carried: Sequence[TensorLike] = ()) -> None:
        self._first = _truth(cond)
        self._start = [_core.tensor(value) for value in carried]
        self._next: tuple[TensorLike, ...] | None = None
        self._results: list[Tensor] | None = None

    def block(self) -> _Scope:
        """The body: a context manager that gives the carried values of a trip."""
        if self._results is not None:
            raise fault(RuntimeError, "a loop has one block", "make another `While` for another loop")
        self._body = _Body()
        return _Scope(lambda: self._body.begin(self._start), self._leave)

    def update(self, cond: TensorLike, *values: TensorLike) -> None:
        """Says, inside the block, whether a further trip follows, and with which values."""
        if len(values) != len(self._start):
            raise fault(
                ValueError,
                f"the loop carries {len(self._start)} values, not {len(values)}",
                "give `update` one value for each that the loop began with",
            )
        self._next = (_truth(cond), *values)

    def _leave(self, failed: bool) -> None:
        if failed or self._next is None:
            self._body.abort()
            if not failed:
                raise fault(
                    RuntimeError,
                    "the block of a loop ends with `update`",
                    "call it with the next condition and the next values",
                )
            return
        body = self._body.end(self._next)
        if self._body.in_program:
            self._results = _core.while_of(self._first, self._start, body)
            return
        # Line by line: the loop as a program is run at once.
        _core.begin_program()
        try:
            inputs = [_core.program_input(f"x{i}", value) for i, value in enumerate(self._start)]
            first = _core.program_input("first", self._first)
            values = _core.begin_block([value.type_text for value in self._start])
            block = _core.end_block(list(_as_tuple(body(*values))))
            results = _core.while_of(first, inputs, block)
        except BaseException:
            _core.abort_program()
            raise
        loop = _core.end_program({f"out{i}": result for i, result in enumerate(results)})
        self._results = list(_as_tuple(loop(*self._start, self._first)))

    def output(self) -> list[Tensor]:
        """The carried values after the loop."""
        if self._results is None:
            raise fault(RuntimeError, "the loop has no block yet", "use `with loop.block():` first")
        return self._results


class IfElse:
    """Sends the rows of a batch through one of two blocks, and puts the results back in order.

    Args:
        cond: A bool tensor with one element for each row. It may be given at the end instead, `choice(cond)`: blocks
            then get whole tensors, and the results are chosen row by row.

    Example:
        >>> x = fl.tensor([-1.0, 2.0, -3.0])
        >>> choice = fl._blocks.IfElse(x < 0)
        >>> with choice.true_block():
        ...     choice.output(-choice.input(x))
        >>> with choice.false_block():
        ...     choice.output(choice.input(x) * 10)
        >>> choice()[0].tolist()
        [1.0, 20.0, 3.0]
    """

    def __init__(self, cond: TensorLike | None = None) -> None:
        self._mask = None if cond is None else _rows(cond)
        self._outputs: dict[bool, list[TensorLike]] = {}
        self._side: bool | None = None

    def true_block(self) -> _Scope:
        """The block for the rows where the condition holds."""
        return self._block(True)

    def false_block(self) -> _Scope:
        """The block for the other rows."""
        return self._block(False)

    def _block(self, side: bool) -> _Scope:
        def enter() -> IfElse:
            if self._side is not None or side in self._outputs:
                raise fault(
                    RuntimeError,
                    "each block of `IfElse` is entered once, and not in the other",
                    "put both blocks one after the other",
                )
            self._side = side
            self._outputs[side] = []
            return self

        def leave(_: bool) -> None:
            self._side = None

        return _Scope(enter, leave)

    def input(self, x: TensorLike) -> Tensor:
        """The rows of `x` that belong to the open block; all of them if the condition is given at the end."""
        side = self._open()
        if self._mask is None:
            return _core.tensor(x)
        yes, no = _core.split_rows(self._mask, x)
        return yes if side else no

    def output(self, *values: TensorLike) -> None:
        """Gives results of the open block: as many, of the same types, as the other block."""
        self._outputs[self._open()] += values

    def _open(self) -> bool:
        if self._side is None:
            raise fault(
                RuntimeError,
                "no block of this `IfElse` is open",
                "call it inside `with ie.true_block():` or `with ie.false_block():`",
            )
        return self._side

    def __call__(self, cond: TensorLike | None = None) -> list[Tensor]:
        """The results, their rows in the order of the inputs.

        Args:
            cond: The condition, if it was not given before.
        """
        if (cond is None) == (self._mask is None):
            raise fault(
                ValueError,
                "the condition of `IfElse` is given once",
                "write `IfElse(cond)` and `ie()`, or `IfElse()` and `ie(cond)`",
            )
        yes, no = self._outputs.get(True, []), self._outputs.get(False, [])
        if len(yes) != len(no):
            raise fault(
                ValueError,
                f"one block gives {len(yes)} outputs and the other {len(no)}",
                "call `output` in both with the same number of tensors",
            )
        if cond is not None:
            mask = _rows(cond)
            return [_by_row(mask, _core.tensor(a), _core.tensor(b)) for a, b in zip(yes, no)]
        return [_core.merge_rows(self._mask, a, b) for a, b in zip(yes, no)]  # type: ignore[arg-type]


def _rows(cond: TensorLike) -> Tensor:
    """A condition with one element for each row."""
    mask = _core.tensor(cond)
    return _core.reshape(mask, (mask.shape[0],)) if mask.ndim > 1 else mask


def _by_row(mask: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    """Each row from one of two tensors."""
    return _core.where(_core.reshape(mask, (*mask.shape, *(1,) * (yes.ndim - 1))), yes, no)


class Switch:
    """Runs the block of the first case whose condition holds.

    Example:
        >>> step = fl.tensor(150)
        >>> with fl._blocks.Switch() as rate:
        ...     with rate.case(step < 100):
        ...         rate.output(fl.tensor(0.1))
        ...     with rate.default():
        ...         rate.output(fl.tensor(0.01))
        >>> round(rate()[0].item(), 4)
        0.01
    """

    def __init__(self) -> None:
        self._cases: list[tuple[Any, _Body, Any]] = []
        self._results: list[Tensor] | None = None
        self._given: tuple[TensorLike, ...] = ()

    def __enter__(self) -> Switch:
        return self

    def case(self, condition: TensorLike) -> _Scope:
        """A block that runs if its condition holds, and none before it."""
        return self._block(_core.tensor(condition))

    def default(self) -> _Scope:
        """The block that runs if no condition holds."""
        return self._block(None)

    def output(self, *values: TensorLike) -> None:
        """Gives the results of the open block; all blocks give the same types."""
        self._given = values

    def _block(self, condition: Tensor | None) -> _Scope:
        if self._cases and self._cases[-1][0] is None:
            raise fault(RuntimeError, "nothing follows the default", "put the default last")
        body = _Body()

        def leave(failed: bool) -> None:
            if failed:
                body.abort()
            else:
                self._cases.append((condition, body, body.end(self._given)))
            self._given = ()

        return _Scope(lambda: body.begin([]), leave)

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        if exception is not None:
            return
        if not self._cases:
            raise fault(RuntimeError, "a switch needs a case", "use `with switch.case(condition):`")
        if not self._cases[0][1].in_program:
            chosen = (run for condition, _, run in self._cases if condition is None or condition)
            run = next(chosen, None)
            self._results = [] if run is None else list(_as_tuple(run()))
            return
        cases = list(self._cases)
        if cases[-1][0] is None:
            other = cases.pop()[2]
        else:
            _core.begin_block([])
            other = _core.end_block([])
        while cases:
            condition, _body, block = cases.pop()
            if cases:
                _core.begin_block([])
                other = _core.end_block(_core.cond_of(condition, block, other))
            else:
                self._results = _core.cond_of(condition, block, other)

    def __call__(self) -> list[Tensor]:
        """The results of the block that ran."""
        if self._results is None:
            raise fault(RuntimeError, "the switch is still open", "call it after its `with` block")
        return self._results


class StaticRNN:
    """A recurrent network whose step is the block of a `with`.

    Example:
        >>> x = fl.tensor([[1.0], [2.0], [3.0]])
        >>> rnn = fl._blocks.StaticRNN()
        >>> with rnn.step():
        ...     word = rnn.step_input(x)
        ...     total = rnn.memory(init=fl.tensor([0.0]))
        ...     rnn.update_memory(total, total + word)
        ...     rnn.step_output(total + word)
        >>> rnn().tolist()
        [[1.0], [3.0], [6.0]]
    """

    def __init__(self) -> None:
        self._inputs: list[tuple[Tensor, Tensor]] = []
        self._memories: list[list[Any]] = []
        self._outputs: list[TensorLike] = []
        self._results: list[Tensor] | None = None

    def step(self) -> _Scope:
        """The block of one step."""
        return _Scope(_core.begin_program, self._leave)

    def step_input(self, x: TensorLike) -> Tensor:
        """The slice of `x`, along its first axis, that belongs to a step."""
        x = _core.tensor(x)
        param = _core.program_input(f"x{len(self._inputs)}", x.dtype, x.shape[1:])
        self._inputs.append((x, param))
        return param

    def memory(
        self,
        init: TensorLike | None = None,
        shape: Shape | None = None,
        init_value: float = 0.0,
        dtype: str = "float32",
    ) -> Tensor:
        """A value that a step takes from the one before it.

        Args:
            init: Its initial value.
            shape: Its sizes, if there is no `init`.
            init_value: The number that it starts with, if there is no `init`.
            dtype: The element type, if there is no `init`.
        """
        if init is None and shape is None:
            raise fault(ValueError, "a memory needs `init` or `shape`", "give one of them")
        like = _core.tensor(init) if init is not None else None
        type_ = (dtype, shape) if like is None else (like.dtype, like.shape)
        param = _core.program_input(f"m{len(self._memories)}", *type_)
        self._memories.append([param, like, (shape, init_value, dtype), None])
        return param

    def update_memory(self, memory: Tensor, value: TensorLike) -> None:
        """Gives a memory its value for the next step."""
        for known in self._memories:
            if known[0] is memory:
                known[3] = value
                return
        raise fault(
            ValueError, "this is not memory of the network", "give what `memory` has returned"
        )

    def step_output(self, value: TensorLike) -> None:
        """Makes a value of each step an output."""
        self._outputs.append(value)

    def output(self, *values: TensorLike) -> None:
        """Makes values of each step outputs."""
        self._outputs += values

    def _leave(self, failed: bool) -> None:
        complete = self._inputs and self._outputs and all(m[3] is not None for m in self._memories)
        if failed or not complete:
            _core.abort_program()
            if not failed:
                raise fault(
                    RuntimeError,
                    "a step needs an input, an output, and a value for each memory",
                    "call `step_input`, `step_output`, and `update_memory` for each",
                )
            return
        # Inputs of the program are in the order of their declaration.
        results = [*(memory[3] for memory in self._memories), *self._outputs]
        program = _core.end_program({f"out{i}": value for i, value in enumerate(results)})
        n_memories = len(self._memories)
        names = list(program.inputs)
        starts = tuple(
            like if like is not None else _core.full(*spec) for _, like, spec, _ in self._memories
        )

        def one(carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]) -> tuple[tuple, tuple]:
            by_name = {f"m{i}": value for i, value in enumerate(carried)}
            by_name.update({f"x{i}": value for i, value in enumerate(slices)})
            values = _as_tuple(program(*[by_name[name] for name in names]))
            return values[:n_memories], values[n_memories:]

        _, stacks = _core.scan(one, starts, tuple(x for x, _ in self._inputs))
        self._results = list(_as_tuple(stacks))

    def __call__(self) -> Any:
        """The outputs of all steps, stacked along a new first axis: one, or a list."""
        if self._results is None:
            raise fault(RuntimeError, "the network has no step yet", "use `with rnn.step():` first")
        return self._results[0] if len(self._results) == 1 else self._results
