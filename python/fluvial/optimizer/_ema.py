"""Averages of parameters over the steps."""

from __future__ import annotations

from .. import _core
from ._optimizer import sources_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import Applied
    from ._optimizer import ParamLike


class EMA:
    """Fading averages of parameters, which it owns; listings show them as `ema.shadow.fc.weight`.

    Args:
        parameters: Which parameters.
        decay: The share of the average that a step leaves.
        warm_up: Whether early steps leave less of it.
        name: If given, the state scope keeps the averages, under this name.

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
        name: str | None = None,
    ) -> None:
        self.params, self.decay, self.warm_up = sources_of(parameters), decay, warm_up
        self.name = name or "ema"
        self._averages = _core.Averages(self.params, decay, warm_up, name)

    def update(self) -> None:
        """Takes the parameters of this step in, in both modes."""
        self._averages.update()

    def apply(self) -> Applied:
        """Gives the parameters their averages, until `restore` or the end of the `with`."""
        return self._averages.apply()
