"""What a user says of a parameter, with Fluid's arguments."""

from __future__ import annotations

from typing import Any

from .._attr import ParamAttr as _ParamAttr
from .._fault import fault

__all__ = ["ParamAttr", "WeightNormParamAttr"]


class ParamAttr(_ParamAttr):
    """What is said of one parameter: its name, its initial value, and how it is trained.

    Args:
        name: Its name; parameters of one name in one program are one.
        initializer: How its initial value is made.
        learning_rate: A factor on the optimizer's rate.
        regularizer: A penalty of its own, in place of the optimizer's.
        trainable: Whether it is trained.
        gradient_clip: How its gradient is cut down.
        do_model_average: Whether `ModelAverage` averages it.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        gradient_clip: Any = None,
        do_model_average: bool = True,
    ) -> None:
        super().__init__(name, initializer, learning_rate, regularizer, trainable)
        self.gradient_clip, self.do_model_average = gradient_clip, do_model_average

    @staticmethod
    def _to_attr(said: Any) -> ParamAttr:
        """What was given for a parameter as an attribute.

        Args:
            said: Nothing, an attribute, a name, or an initialiser.
        """
        if said is None or said is True:
            return ParamAttr()
        if isinstance(said, ParamAttr):
            return said
        if isinstance(said, _ParamAttr):
            return ParamAttr(said.name, said.initializer, said.learning_rate, said.regularizer, said.trainable)
        if isinstance(said, str):
            return ParamAttr(name=said)
        if isinstance(said, (list, tuple)):
            raise fault(TypeError, f"one parameter was given {len(said)} attributes", "give one")
        if callable(said):
            return ParamAttr(initializer=said)
        raise fault(TypeError, f"{said!r} says nothing of a parameter", "give a ParamAttr, a name or an initializer")


class WeightNormParamAttr(ParamAttr):
    """What is said of a weight that is trained as lengths and directions: `w = g * v / norm(v)`. Its parameters are
    `<name>_g`, which begins as the norms of the other one, and `<name>_v`.

    Args:
        dim: The axis whose slices have a length each; nothing for one length of all.
        name: What names of both begin with; like what follows, see `ParamAttr`.
    """

    is_divided = True

    def __init__(
        self,
        dim: int | None = None,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        gradient_clip: Any = None,
        do_model_average: bool = False,
    ) -> None:
        super().__init__(name, initializer, learning_rate, regularizer, trainable, gradient_clip, do_model_average)
        self.dim = dim
