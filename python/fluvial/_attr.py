"""What a user says of a parameter."""

from __future__ import annotations

from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from ._core import Tensor
    from .regularizer import Regularizer

    Init: TypeAlias = Callable[[Any, Any], Tensor]
    AttrLike: TypeAlias = "ParamAttr | str | Init | bool | None"


class ParamAttr:
    """What is said of one parameter: its name, its initial value, and how it is trained.

    Every layer takes it for its weight and its bias. A name or an initialiser alone will do, too.

    Args:
        name: The name of its state, in place of the one made from the layer's place. Parameters
            of one name are one parameter.
        initializer: How the initial value is made, in place of the layer's own way.
        learning_rate: A factor on the optimizer's rate.
        regularizer: A penalty of its own, in place of the optimizer's weight decay.
        trainable: Whether it is trained.

    Example:
        >>> attr = fl.ParamAttr(initializer=fl.initializer.Constant(0.5), learning_rate=0.1)
        >>> layer = fl.nn.Linear(2, 1, weight_attr=attr)
        >>> layer.weight.tolist()
        [[0.5, 0.5]]
    """

    #: Whether it is trained as lengths and directions, as `fluvial.fluid.WeightNormParamAttr` says.
    is_divided = False

    def __init__(
        self,
        name: str | None = None,
        initializer: Init | None = None,
        learning_rate: float = 1.0,
        regularizer: Regularizer | None = None,
        trainable: bool = True,
    ) -> None:
        self.name = name
        self.initializer = initializer
        self.learning_rate = float(learning_rate)
        self.regularizer = regularizer
        self.trainable = trainable

    def __setattr__(self, name: str, value: Any) -> None:
        if "_owned" in self.__dict__:
            raise fault(
                AttributeError,
                f"`{name}` was said of a parameter that is made already",
                "set `parameter.requires_grad` or `parameter.data`, or give the layer another ParamAttr",
            )
        object.__setattr__(self, name, value)

    @staticmethod
    def of(said: AttrLike) -> ParamAttr:
        """What a parameter keeps of what its layer was given for it; it does not change any more.

        Args:
            said: Nothing, an attribute, a name, or an initialiser.
        """
        attr = ParamAttr._from(said)
        attr.__dict__["_owned"] = True
        return attr

    @staticmethod
    def _from(said: AttrLike) -> ParamAttr:
        if said is None or said is True:
            return ParamAttr()
        if isinstance(said, ParamAttr):
            return ParamAttr(
                said.name, said.initializer, said.learning_rate, said.regularizer, said.trainable
            )
        if isinstance(said, str):
            return ParamAttr(name=said)
        if callable(said):
            return ParamAttr(initializer=said)
        raise fault(
            TypeError,
            f"{said!r} says nothing of a parameter",
            "give a ParamAttr, a name or an initializer",
        )

    def __repr__(self) -> str:
        default = ParamAttr()
        said = [f"{k}={getattr(self, k)!r}" for k, v in vars(default).items() if getattr(self, k) != v]
        return f"ParamAttr({', '.join(said)})"
