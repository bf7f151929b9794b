"""Parameters and variables on their own, with Fluid's arguments."""


from __future__ import annotations

from .. import _core
from .._sequence import listed
from ..initializer import Constant, XavierUniform
from ..nn import Parameter
from ._names import keep, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._attr import AttrLike, Init
    from .._core import DTypeLike, Tensor


def create_parameter(
    shape: Sequence[int],
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: AttrLike = None,
    is_bias: bool = False,
    default_initializer: Init | None = None,
) -> Tensor:
    """A trained parameter, in both modes.

    Args:
        shape: Its sizes.
        dtype: Its element type.
        name: Its name; otherwise made from its place in the step.
        attr: What is said of it.
        is_bias: Whether it begins with zeros, not with Xavier's numbers.
        default_initializer: How its initial value is made, unless `attr` says it.

    Example:
        >>> fl.layers.create_parameter([2, 3], name="w").shape
        (2, 3)
    """
    init = default_initializer or (Constant(0.0) if is_bias else XavierUniform())
    parameter = Parameter(tuple(listed(shape, "sizes")), dtype, init, attr)
    parameter.share(parameter.attr.name or name_of("parameter", name))
    return keep(parameter.name, parameter)


def create_global_var(
    shape: Sequence[int],
    value: float,
    dtype: DTypeLike = "float32",
    persistable: bool = True,
    force_cpu: bool = False,
    name: str | None = None,
) -> Tensor:
    """A state that is not trained, in both modes; `fl.assign_state` changes it.

    Args:
        shape: Its sizes.
        value: The initial value of all elements.
        dtype: Its element type.
        persistable: For Fluid's programs; it is kept.
        force_cpu: For Fluid's programs; there is one device, the CPU.
        name: Its name; otherwise made from its place in the step.
    """
    return _core.declare_state(name_of("global_var", name), tuple(listed(shape, "sizes")), dtype, value)
