"""Optimizers that follow rules of Rust's. Their classes are generated from `crates/fluvial/src/optim/rules`."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ._optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class RuleOptimizer(Optimizer):
    """An optimizer that follows a rule of Rust's."""

    def __init_subclass__(cls) -> None:
        kind = cls.__dict__.get("_kind")
        if kind is not None:
            cls._name = kind
            cls.defaults, cls._weight_decay, cls._decay, cls._rate = _core.rule_defaults(kind)


class WithMomentum(RuleOptimizer):
    """A rule without options that is `Momentum` if it is given one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        from ._generated import Momentum

        of_momentum = [name for name in Momentum.defaults if options.get(name)]
        if options.get("momentum"):
            self._kind, self._name, self.defaults = Momentum._kind, Momentum._name, Momentum.defaults
        elif of_momentum:
            raise fault(
                ValueError,
                f"`{of_momentum[0]}` says nothing without `momentum`",
                "give `momentum`, too, or leave it out",
            )
        else:
            options = {name: v for name, v in options.items() if name not in Momentum.defaults}
        super().__init__(*args, **options)
