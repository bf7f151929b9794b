"""Functions that are called with each use of a layer."""

from __future__ import annotations

from .. import _core
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Handle:
    """Takes a hook away."""

    _next = 0

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks, self._id = hooks, Handle._next
        Handle._next += 1
        hooks[self._id] = hook
        _core.changed()

    def remove(self) -> None:
        """From here on the hook is no longer called."""
        self._hooks.pop(self._id, None)
        _core.changed()

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class WithOptions:
    """A hook that also gets what the layer is called with by name."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook


def handle(hooks: dict[int, Any], hook: Callable[..., Any], first: bool, with_options: bool) -> Handle:
    """Adds a hook to others, behind or before them."""
    own: Any = WithOptions(hook) if with_options else hook
    found = Handle(hooks, own)
    if first:
        others = [(number, other) for number, other in hooks.items() if number != found._id]
        for number, other in others:
            del hooks[number]
            hooks[number] = other
    return found


def before(layer: Any, hook: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a hook before `forward` makes of the inputs."""
    if isinstance(hook, WithOptions):
        changed = hook.hook(layer, inputs, options)
        if changed is None:
            return inputs, options
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise fault(RuntimeError, "a hook with options returns a pair or nothing", "return `(args, kwargs)`")
        return changed
    changed = hook(layer, inputs)
    if changed is None:
        return inputs, options
    return (changed if isinstance(changed, tuple) else (changed,)), options


def after(layer: Any, hook: Any, inputs: tuple[Any, ...], options: dict[str, Any], result: Any) -> Any:
    """What a hook after `forward` makes of the result."""
    changed = hook.hook(layer, inputs, options, result) if isinstance(hook, WithOptions) else hook(layer, inputs, result)
    return result if changed is None else changed


def with_backward_hooks(layer: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Calls a layer so that its hooks see the gradients of its inputs and outputs."""
    from .._tree import leaves

    passing = _Passing(layer)
    inputs = tuple(passing.entering(x) for x in inputs)
    result = layer._called(inputs, options)
    outputs = [y for _, y in leaves(result) if isinstance(y, _core.Tensor)]
    if isinstance(result, _core.Tensor):
        # Of its own, so that what comes from other uses of the same tensor is not seen.
        result = outputs[0] = _core.reshape(result, result.shape)
    passing.leaving(outputs)
    return result


class _Passing:
    """One call of a layer, through which gradients will pass."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._entered: list[Any] = []
        self._ins: list[Any] = []
        self._outs: list[Any] = []

    def entering(self, x: Any) -> Any:
        """The input, as one of the call's own."""
        number = len(self._ins)
        self._ins.append(None)
        if not isinstance(x, _core.Tensor) or "float" not in x.dtype.name:
            return x
        if not (_core.is_building() or x.is_tracked):
            return x
        own = _core.reshape(x, x.shape)
        own.register_hook(lambda grad: self._gives(number, grad))
        self._entered.append(number)
        return own

    def leaving(self, outputs: list[Any]) -> None:
        """Notes the outputs."""
        self._outs = [None] * len(outputs)
        for number, y in enumerate(outputs):
            if _core.is_building() or y.is_tracked:
                y.register_hook(lambda grad, number=number: self._gets(number, grad))

    def _gets(self, number: int, grad: Any) -> Any:
        self._outs[number] = grad
        changed = None
        for hook in tuple(self._layer._backward_pre_hooks.values()):
            given = hook(self._layer, tuple(self._outs))
            if given is not None:
                self._outs = list(given) if isinstance(given, (tuple, list)) else [given]
                changed = self._outs[number]
        if not self._entered:
            self._call()
        return changed

    def _gives(self, number: int, grad: Any) -> Any:
        self._ins[number] = grad
        if any(self._ins[entered] is None for entered in self._entered):
            return None
        return self._call(number)

    def _call(self, number: int | None = None) -> Any:
        changed = None
        for hook in tuple(self._layer._backward_hooks.values()):
            given = hook(self._layer, tuple(self._ins), tuple(self._outs))
            if given is None:
                continue
            if number is None or len(self._entered) > 1:
                raise fault(
                    RuntimeError,
                    f"a backward hook of `{self._layer.full_name}` changes gradients of {len(self._entered)} inputs",
                    "change them with `register_hook` of each input",
                )
            self._ins = list(given) if isinstance(given, (tuple, list)) else [given]
            changed = self._ins[number if len(self._ins) > 1 else 0]
        return changed
