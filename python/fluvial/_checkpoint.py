"""`fl.checkpoint`: a function whose values are computed again for its gradient, instead of being kept."""

from __future__ import annotations

from . import _core
from ._tree import flatten, is_tensor, mapped, rebuild, with_tensors
from ._vmap import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Tensor


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, **options: Any) -> Any:
    """Calls a function so that nothing between its arguments and its results is kept for gradients: the function runs again when
    they are asked for, on the same values, states and random numbers. Values and gradients have the same bits as without it.

    Line by line the lines are run twice, so what they print is printed twice, but a state is assigned once. In a program the
    function is an op of its own, which must have no effect.

    Args:
        function: The function, or a layer.
        args: Its arguments.
        use_reentrant: Taken for code that was written for PyTorch, which has two ways to do this; here there is one.
        options: Its arguments by name.

    Example:
        >>> layers = fl.nn.Sequential(fl.nn.Linear(4, 64), fl.nn.Tanh(), fl.nn.Linear(64, 4))
        >>> x = fl.full((2, 4), 0.5).track()
        >>> y = fl.checkpoint(layers, x)
        >>> bool(fl.all(fl.grad(fl.sum(y), x) == fl.grad(fl.sum(layers(x)), x)))
        True
    """
    args, options = with_tensors(args), with_tensors(options)
    if _core.is_building():
        return _in_program(function, args, options)
    if not _core.is_recording():
        return function(*args, **options)
    # Arguments that get another value later are what they were when the function runs again.
    own_args, own_options = mapped(_as_now, (args, options))

    def run() -> Any:
        fresh_args, fresh_options = mapped(_as_now, (own_args, own_options))
        return function(*fresh_args, **fresh_options)

    return _core.checkpointed(run)


def _as_now(value: Any) -> Any:
    if not is_tensor(value) or hasattr(value, "is_trainable"):
        return value
    return _core.alias(value) if value.is_tracked else value.detach()


def _in_program(function: Callable[..., Any], args: tuple, options: dict[str, Any]) -> Any:
    _core.begin_block([])
    try:
        result = called(function, args, options)
        found: list[Tensor] = []
        form = flatten(result, found, is_tensor)
    except BaseException:
        _core.abort_block()
        raise
    return rebuild(form, _core.checkpoint_of(_core.end_block(found)))
