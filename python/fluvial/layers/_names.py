"""Names of functional layers: their place in the step."""

from __future__ import annotations

import threading

from ..nn import Layer, _state_dict, _step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from ..nn import Parameter

    Kept = TypeVar("Kept", Layer, Parameter)

_kept = threading.local()


class step:
    """A scope that is one step: layers called in it are counted from zero.

    A program is a step, and an update by an optimizer ends one. So a loop that trains needs no
    scope; one that only computes does.

    Example:
        >>> x = fl.full((1, 2), 1.0)
        >>> for _ in range(3):
        ...     with fl.layers.step():
        ...         y = fl.layers.fc(fl.layers.fc(x, 4), 1)
        >>> [name for name in fl.State.current().names() if name.startswith("fc")]
        ['fc_0.bias', 'fc_0.weight', 'fc_1.bias', 'fc_1.weight']
    """

    def __enter__(self) -> None:
        _step.begin()

    def __exit__(self, *exception: object) -> None:
        _step.begin()


def name_of(kind: str, name: str | None) -> str:
    """The name given to a layer, or else one made of its kind and its number in the step."""
    return name or f"{kind}_{_step.count(kind)}"


def keep(name: str, item: Kept) -> Kept:
    """Makes a layer or parameter one by its name: its parameters are those of the state scope, where
    the next step finds them again. It is kept until another one takes the name, so that optimizers
    find it."""
    if isinstance(item, Layer):
        for _, parameter in _state_dict.entries(item):
            parameter.share(parameter.attr.name or parameter.key)
    _kept.__dict__[name] = item
    return item
