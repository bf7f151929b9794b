"""Line by line, an update as one program: op by op, the memory of a parameter would be read and written
as often as the rule has ops."""

from __future__ import annotations

from .. import _core
from .._program import build, compile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from .._core import Compiled, Tensor
    from ._optimizer import Optimizer
    from ._update import Update

    Rule = TypeVar("Rule")

#: The programs of rules with their options, an element type and a rank; see `_built`.
_programs: dict[tuple[Any, ...], tuple[Compiled, dict[str, float], list[str]]] = {}

#: So many are kept at most.
_KEPT = 64

#: The element types that there are programs for, as programs call them.
_DTYPES = {"float32": "f32", "float64": "f64"}


def elementwise(rule: Rule) -> Rule:
    """Marks a rule that updates each element on its own and does nothing else."""
    rule.elementwise = True  # type: ignore[attr-defined]
    return rule


def options_of(optimizer: Optimizer, settings: dict[str, Any]) -> str | None:
    """What tells programs of a rule apart; nothing if there is none for it here."""
    if not getattr(type(optimizer).update, "elementwise", False):
        return None
    if _core.is_building() or _core.is_recording():
        return None
    return repr([settings[name] for name in optimizer.defaults])


def updated(optimizer: Optimizer, u: Update, options: str | None) -> Tensor:
    """The next value of a parameter, by the rule; what it remembers is put.

    Args:
        optimizer: Whose rule.
        u: The update.
        options: Of the rule, see `options_of`.
    """
    dtype, shape = u.param.dtype, u.param.shape
    if options is None or u.of_rows or dtype.name not in _DTYPES:
        return optimizer.update(u)
    if u.grad.dtype != dtype or u.grad.shape != shape:
        return optimizer.update(u)
    key = (type(optimizer).update, options, dtype.name, len(shape), len(u.shared))
    known = _programs.get(key)
    if known is None:
        new = optimizer.update(u)
        if len(_programs) >= _KEPT:
            _programs.clear()
        _programs[key] = _built(optimizer, u)
        return new
    program, slots, puts = known
    remembered = [u.slot(slot, first) for slot, first in slots.items()]
    results = program(u.param, u.grad, u.lr, *u.shared, *remembered)
    if not puts:
        return results
    for slot, value in zip(puts, results[1:]):
        u.put(slot, value)
    return results[0]


def _built(optimizer: Optimizer, u: Update) -> tuple[Compiled, dict[str, float], list[str]]:
    """The rule as a program of what an update has, with what it remembers: its names and first values, and
    the names under which it puts the results after the first."""
    slots, puts = dict(u.slots), list(dict.fromkeys(u.puts))
    sizes = ", ".join(f"n{axis}" for axis in range(u.param.ndim))
    dtype = _DTYPES[u.param.dtype.name]
    whole, one = f"{dtype}[{sizes}]", f"{dtype}[]"
    shared = [f"shared{i}" for i in range(len(u.shared))]
    remembered = [f"slot{i}" for i in range(len(slots))]
    inputs = {"param": whole, "grad": whole, "lr": one}
    inputs.update(dict.fromkeys(shared, one), **dict.fromkeys(remembered, whole))

    def rule(*given: Tensor) -> tuple[Tensor, ...]:
        traced, values = _Traced(), dict(zip(inputs, given))
        traced.settings, traced.weight_decay = u.settings, u.weight_decay
        traced.param, traced.grad, traced.lr = values["param"], values["grad"], values["lr"]
        traced.shared = [values[name] for name in shared]
        traced.slots = dict(zip(slots, (values[name] for name in remembered)))
        traced.results = {}
        new = optimizer.update(traced)  # type: ignore[arg-type]
        return new, *(traced.results[slot] for slot in puts)

    return compile(build(rule, inputs)), slots, puts


class _Traced:
    """An `Update` whose values are inputs of a program."""

    settings: dict[str, Any]
    weight_decay: float
    param: Tensor
    grad: Tensor
    lr: Tensor
    shared: list[Tensor]
    slots: dict[str, Tensor]
    results: dict[str, Tensor]

    def slot(self, slot: str, first: float = 0.0) -> Tensor:
        del first
        return self.slots[slot]

    def put(self, slot: str, value: Tensor) -> None:
        self.results[slot] = value
