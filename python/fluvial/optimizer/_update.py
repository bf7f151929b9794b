"""From gradients to new values: accumulation, clipping, decay, then the rule."""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import DTypeLike, Tensor
    from ._optimizer import Optimizer
    from ._params import Param

    #: Group, parameter, gradient, and the numbers of the rows that it is of, if not of all.
    Item = tuple[int, Param, Tensor, Tensor | None]


def number(value: float) -> Tensor:
    """A scalar of f64."""
    return _core.tensor(value, "float64")


def in_dtype(value: Tensor, dtype: DTypeLike) -> Tensor:
    """The value in this element type."""
    return value if value.dtype == dtype else _core.cast(value, dtype)


def group_name(optimizer: str, slot: str, group: int) -> str:
    """The name of a state of a group."""
    return f"{optimizer}.{slot}.{group}" if group else f"{optimizer}.{slot}"


def number_state(name: str, first: float) -> Tensor:
    """A number that is remembered."""
    init = lambda shape, dtype: number(first)  # noqa: E731
    return _core.declare_state(name, (), "float64", init, "optimizer")


class Step:
    """The update that is made, for the numbers that parameters have in common."""

    def __init__(self, t: Tensor, optimizer: str, group: int) -> None:
        #: The number of the update, counted from one.
        self.t = t
        self._optimizer, self._group = optimizer, group

    def bias_correction(self, beta: float) -> Tensor:
        """`1 - beta^t`."""
        return 1.0 - _core.pow(number(beta), self.t)

    def number(self, slot: str, first: float) -> Tensor:
        """A number that is remembered for the group."""
        return number_state(group_name(self._optimizer, slot, self._group), first)

    def put_number(self, slot: str, value: Tensor) -> None:
        """Remembers a number."""
        _core.assign_state(group_name(self._optimizer, slot, self._group), value)


class Update:
    """The update of one parameter, as its rule sees it."""

    def __init__(
        self,
        optimizer: Optimizer,
        param: Param,
        gradient: Tensor,
        settings: dict[str, Any],
        lr: Tensor,
        shared: list[Tensor],
        rows: Tensor | None,
    ) -> None:
        #: The options of the group.
        self.settings = settings
        #: The rate, and what the group has in common, in the type of the gradient.
        self.lr, self.shared = lr, shared
        self._optimizer, self._name = optimizer.name, param.name
        whole = param.read()
        self._shape, self._dtype, self._rows = whole.shape, whole.dtype, rows
        value = whole if rows is None else _core.gather(whole, rows, 0)
        penalty = param.penalty or optimizer.regularization
        decay = 0.0 if penalty is not None else settings["weight_decay"]
        if penalty is not None:
            gradient = penalty.add_to(gradient, value)
        elif optimizer._kind == "coupled" and decay != 0.0:
            gradient = gradient + value * decay
        elif optimizer._kind == "decoupled" and decay != 0.0:
            value = value * (1.0 - lr * decay)
        #: The value before the update, and its gradient.
        self.param, self.grad = value, gradient
        #: For rules that see to weight decay themselves.
        self.weight_decay = decay if optimizer._kind == "rule" else 0.0

    def slot(self, slot: str, first: float = 0.0) -> Tensor:
        """What the rule remembers of the parameter."""
        name = f"{self._optimizer}.{slot}.{self._name}"
        whole = _core.declare_state(name, self._shape, self._dtype, first, "optimizer")
        return whole if self._rows is None else _core.gather(whole, self._rows, 0)

    def put(self, slot: str, value: Tensor) -> None:
        """Remembers something of the parameter."""
        self.assign(f"{self._optimizer}.{slot}.{self._name}", value)

    def at_once(self, rule: str, slots: list[str], numbers: list[float]) -> Tensor | None:
        """The new value by one kernel, line by line; None if it must be computed op by op, to the same bits.

        Args:
            rule: One that the core knows.
            slots: What is remembered; it gets its new values.
            numbers: The numbers of the rule.
        """
        if _core.is_building() or _core.is_recording():
            return None
        remembered = [self.slot(slot) for slot in slots]
        inputs = [self.param, self.grad, *remembered, self.lr, *self.shared]
        results = _core.update_at_once(rule, inputs, numbers)
        if results is None:
            return None
        for slot, value in zip(slots, results[1:]):
            self.put(slot, value)
        return results[0]

    def assign(self, name: str, value: Tensor) -> None:
        """Gives a state a new value, in the rows that are updated."""
        if self._rows is not None:
            value = _core.index_put(_core.read_state(name), self._rows, value, 0)
        _core.assign_state(name, value)

    @staticmethod
    def run(optimizer: Optimizer, items: list[Item]) -> None:
        """Accumulates gradients, and updates if it is time."""
        if optimizer.accumulate == 1:
            _update(optimizer, items)
        else:
            _accumulated(optimizer, items)


def _accumulated(optimizer: Optimizer, items: list[Item]) -> None:
    calls = optimizer.counter("calls") + 1
    names, sums = [], []
    for group, param, gradient, _ in items:
        name = f"{optimizer.name}.accumulated.{param.name}"
        before = _core.declare_state(name, gradient.shape, gradient.dtype, 0.0, "optimizer")
        total = before + gradient
        _core.assign_state(name, total)
        names.append(name)
        sums.append((group, param, total))

    def then() -> None:
        means: list[Any] = []
        for name, (group, param, total) in zip(names, sums):
            _core.assign_state(name, _core.zeros_like(total))
            means.append((group, param, total / float(optimizer.accumulate), None))
        _update(optimizer, means)
        _core.assign_state(f"{optimizer.name}.calls", _core.tensor(0, "int64"))

    def otherwise() -> None:
        _core.assign_state(f"{optimizer.name}.calls", calls)

    _core.cond(calls == optimizer.accumulate, then, otherwise)


def _update(optimizer: Optimizer, items: list[Item]) -> None:
    if optimizer.grad_clip is not None:
        clipped = optimizer.grad_clip([gradient for _, _, gradient, _ in items])
        items = [(group, param, g, rows) for (group, param, _, rows), g in zip(items, clipped)]
    done = optimizer.counter("step")
    following = done + 1
    t = in_dtype(following, "float64")
    for i, group in enumerate(optimizer.groups):
        own = [item for item in items if item[0] == i]
        if own:
            step = Step(t, optimizer.name, i)
            _update_group(optimizer, group.settings, own, step, optimizer.rate(i, done))
    _core.assign_state(f"{optimizer.name}.step", following)


def _update_group(
    optimizer: Optimizer,
    settings: dict[str, Any],
    items: list[Item],
    step: Step,
    rate: Tensor,
) -> None:
    shared = optimizer.shared(step, settings)
    # What parameters of one element type and factor share is computed once.
    rates: dict[tuple[str, float], Tensor] = {}
    casts: dict[str, list[Tensor]] = {}
    for _, param, gradient, rows in items:
        dtype, factor = gradient.dtype, param.factor
        if (dtype.name, factor) not in rates:
            scaled = rate if factor == 1.0 else rate * factor
            rates[dtype.name, factor] = in_dtype(scaled, dtype)
        if dtype.name not in casts:
            casts[dtype.name] = [in_dtype(value, dtype) for value in shared]
        lr = rates[dtype.name, factor]
        update = Update(optimizer, param, gradient, settings, lr, casts[dtype.name], rows)
        new = optimizer.update(update)
        param.assign(new if rows is None else _core.index_put(param.read(), rows, new, 0))
