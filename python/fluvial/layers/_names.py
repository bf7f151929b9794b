"""Names of functional layers: their place in the step."""

from __future__ import annotations

import sys
import threading

from .. import _core
from .._attr import ParamAttr
from .._fault import fault
from ..initializer import Constant, XavierUniform
from ..nn import Buffer, Layer, Parameter, _state_dict, _step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    from .._attr import AttrLike, Init
    from .._core import DTypeLike

    Kept = TypeVar("Kept", Layer, Parameter, Buffer)

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
        ['fc_0.b_0', 'fc_0.w_0', 'fc_1.b_0', 'fc_1.w_0']
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


class Owner:
    """One call of a function that has parameters: they are named after it, `fc_0.w_0`, `fc_0.b_0`.

    Args:
        kind: What the function is called.
        name: The name that the user gives it, or none.
    """

    def __init__(self, kind: str, name: str | None = None) -> None:
        self._front = _front(kind, name)
        self.name: str = self._front.name if self._front is not None else name_of(kind, name)
        self._counts = {"w": 0, "b": 0}

    def scope(self) -> Any:
        """A scope in which ops of a program are marked with its name."""
        return _core.in_layer(self.name)

    def weight(
        self, attr: AttrLike, shape: Sequence[int], dtype: DTypeLike, init: Init | None = None
    ) -> Any:
        """A weight; Xavier's numbers unless said otherwise."""
        return self._made("w", True if attr is False else attr, shape, dtype, init)

    def bias(
        self, attr: AttrLike, shape: Sequence[int], dtype: DTypeLike, init: Init | None = None
    ) -> Any:
        """A bias, which begins as zeros unless said otherwise; nothing if the attribute is False."""
        return None if attr is False else self._made("b", attr, shape, dtype, init)

    def _made(
        self, part: str, attr: AttrLike, shape: Sequence[int], dtype: DTypeLike, init: Init | None
    ) -> Any:
        if self._front is not None:
            return self._front.create_parameter(attr, list(shape), dtype, part == "b", init)
        said = ParamAttr.of(attr)
        if said.is_divided:
            raise fault(
                NotImplementedError,
                "a weight as length and direction is made by functions of `fluvial.fluid.layers`",
                "use `fl.nn.utils.weight_norm` for a layer",
            )
        # A named one does not take a number of its own, as in Fluid.
        name = said.name or self._next(part)
        first = init or (Constant(0.0) if part == "b" else XavierUniform())
        parameter = Parameter(tuple(shape), dtype, first, said)
        parameter.share(name)
        return keep(name, parameter)

    def buffer(self, name: str | None, shape: Sequence[int], dtype: DTypeLike, init: Init) -> Any:
        """A state that is not trained, such as a running mean; it has `get` and `set`."""
        if self._front is not None:
            return self._front.create_state(list(shape), init, dtype, name, "w")
        named = name or self._next("w")
        buffer = Buffer(tuple(shape), dtype, init)
        buffer.share(named)
        return keep(named, buffer)

    def rows(self, table: Any, ids: Any, is_sparse: bool) -> Any:
        """Rows of a table by number. `fluvial.fluid` hears of those that are sparse: there, updates may leave other rows alone."""
        found = _core.embedding(ids, table)
        if is_sparse and self._front is not None:
            self._front.looked_up(table, ids, found)
        return found

    def _next(self, part: str) -> str:
        self._counts[part] += 1
        return f"{self.name}.{part}_{self._counts[part] - 1}"


def _front(kind: str, name: str | None) -> Any:
    """What makes parameters in `fluvial.fluid`, if a function of its `layers` has called."""
    framework = sys.modules.get("fluvial.fluid.framework")
    if framework is None or (framework.CALLS.block is None and not framework.CALLS.depth):
        return None
    from ..fluid.layer_helper import LayerHelper

    return LayerHelper(kind, name)
