"""Averages of parameters over the steps."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ._params import params_of
from ._update import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import Tensor
    from ._params import Param, ParamLike


class EMA:
    """Fading averages of parameters, in states such as `ema.shadow.fc.weight`.

    Args:
        parameters: Which parameters.
        decay: The share of the average that a step leaves.
        warm_up: Whether early steps leave less of it.
        name: The name of its states.

    Example:
        >>> net = fl.nn.Linear(2, 1, name="net")
        >>> ema = fl.optimizer.EMA(net.parameters(), 0.5)
        >>> before = net.bias.item()
        >>> ema.update()
        >>> net.bias = net.bias + 1.0
        >>> ema.update()
        >>> with ema.apply():
        ...     print(round(net.bias.item() - before, 3))
        0.5
        >>> round(net.bias.item() - before, 3)
        1.0
    """

    def __init__(
        self,
        parameters: ParamLike | Iterable[ParamLike],
        decay: float = 0.999,
        warm_up: bool = False,
        name: str = "ema",
    ) -> None:
        if not 0.0 <= decay < 1.0:
            raise fault(ValueError, f"the decay of averages is {decay}, but must be in [0, 1)")
        self.params, self.decay, self.warm_up = params_of(parameters), decay, warm_up
        self.name = name

    def _step(self) -> Tensor:
        return _core.declare_state(f"{self.name}.step", (), "int64", 0, "counter")

    def _shadow(self, name: str, like: Tensor) -> Tensor:
        shadow = f"{self.name}.shadow.{name}"
        return _core.declare_state(shadow, like.shape, like.dtype, 0.0, "optimizer")

    def update(self) -> None:
        """Takes the parameters of this step in, in both modes."""
        with _core.updating():
            step = self._step()
            t, decay = _core.cast(step, "float64"), number(self.decay)
            if self.warm_up:
                early = (t + 1.0) / (t + 10.0)
                decay = _core.where(early < decay, early, decay)
            decay = _core.where(t > number(0.0), decay, number(0.0))
            for param in self.params:
                value = param.read()
                kept = _core.cast(decay, value.dtype)
                average = self._shadow(param.name, value) * kept + value * (1.0 - kept)
                _core.assign_state(f"{self.name}.shadow.{param.name}", average)
            _core.assign_state(f"{self.name}.step", step + 1)

    def apply(self) -> Applied:
        """Gives the parameters their averages, until `restore` or the end of the `with`."""
        with _core.no_grad():
            begun = self._step() > _core.tensor(0, "int64")
            saved = [(param, param.read().detach()) for param in self.params]
            averages = [
                _core.where(begun, self._shadow(param.name, value), value) for param, value in saved
            ]
            for (param, _), average in zip(saved, averages):
                param.assign(average)
        return Applied(saved)


class Applied:
    """Puts parameters back."""

    def __init__(self, saved: list[tuple[Param, Tensor]]) -> None:
        self._saved = saved

    def restore(self) -> None:
        """Gives the parameters the values that they had."""
        saved, self._saved = self._saved, []
        for param, value in saved:
            param.assign(value)

    def __enter__(self) -> Applied:
        return self

    def __exit__(self, *exception: object) -> None:
        self.restore()
