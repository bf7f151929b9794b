"""What an optimizer trains: parameters by name, with what is said of each."""

from __future__ import annotations

import re

from .. import _core
from .._fault import fault
from ..nn import Layer, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    from .._core import Tensor
    from ..regularizer import Regularizer

    ParamLike: TypeAlias = Parameter | Layer | str


class Param:
    """A parameter of a layer, or the name of a state."""

    def __init__(self, source: Parameter | str) -> None:
        self._source = source

    @property
    def name(self) -> str:
        return self._source if isinstance(self._source, str) else self._source.name

    @property
    def is_trainable(self) -> bool:
        return isinstance(self._source, str) or self._source.is_trainable

    @property
    def factor(self) -> float:
        """The factor on the rate."""
        return 1.0 if isinstance(self._source, str) else self._source.attr.learning_rate

    @property
    def penalty(self) -> Regularizer | None:
        return None if isinstance(self._source, str) else self._source.attr.regularizer

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` has accumulated."""
        with _core.enable_grad():
            gradient = self.read().grad
        return gradient if isinstance(gradient, _core.Tensor) else None

    def read(self) -> Tensor:
        if isinstance(self._source, str):
            return _core.read_state(self._source)
        return self._source.get()

    def assign(self, value: Tensor) -> None:
        if isinstance(self._source, str):
            _core.assign_state(self._source, value)
        else:
            self._source.set(value)


def params_of(given: ParamLike | Iterable[ParamLike]) -> list[Param]:
    """What was given for parameters, each once."""
    items: Any = [given] if isinstance(given, (Parameter, Layer, str)) else given
    found: dict[str, Param] = {}
    for item in items:
        for source in item.parameters() if isinstance(item, Layer) else [item]:
            if not isinstance(source, (Parameter, str)):
                raise fault(
                    TypeError,
                    f"an optimizer cannot train {type(source).__name__} {source!r}",
                    "give `layer.parameters()`, layers, or names of states",
                )
            param = Param(source)
            found.setdefault(param.name, param)
    return list(found.values())


def used_params() -> list[Param]:
    """The trained parameters of layers that this step has read."""
    return [Param(parameter) for parameter in _core.used_in_step() if parameter.is_trainable]


def gradients_or_none(loss: Tensor, wrt: list[Tensor]) -> list[Tensor | None]:
    """Gradients, with None for what the loss does not depend on.

    `grad` refuses these one by one, by their number, so it is asked again without them.
    """
    left = list(range(len(wrt)))
    while left:
        try:
            found = _core.grad(loss, [wrt[i] for i in left], retain_graph=True)
        except RuntimeError as error:
            number = re.search(r"no output depends on value (\d+) of `wrt`", str(error))
            if number is None:
                raise
            del left[int(number[1])]
        else:
            result: list[Any] = [None] * len(wrt)
            for i, gradient in zip(left, found):
                result[i] = gradient
            return result
    return [None] * len(wrt)
