"""How the attributes of a layer become its parameters, buffers and parts."""

from __future__ import annotations

from .. import _core, _phase
from .._fault import fault
from ._parameter import Buffer, Parameter
from ._place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._layer import Layer


class Attributes:
    """Parameters, buffers and layers that are assigned to attributes belong to the layer. Assigning
    a parameter or a layer replaces what was there; assigning a tensor to a parameter gives it this
    value.

    Args:
        name: The name of the model that begins here.
    """

    #: Whether the layer behaves as in training; `train` and `eval` set it.
    training: bool

    def __init__(self, name: str | None = None) -> None:
        set_ = object.__setattr__
        set_(self, "_parameters", {})
        set_(self, "_buffers", {})
        set_(self, "_sublayers", {})
        set_(self, "_pre_hooks", {})
        set_(self, "_hooks", {})
        set_(self, "_backward_hooks", {})
        set_(self, "_backward_pre_hooks", {})
        #: Attributes that are computed of others at each use; called with a value, such a function assigns it.
        set_(self, "_computed", {})
        set_(self, "_is_built", False)
        set_(self, "_place", Place(self, name))
        set_(self, "training", True)

    if TYPE_CHECKING:
        _parameters: dict[str, Parameter]
        _buffers: dict[str, Buffer]
        _sublayers: dict[str, Layer]
        _pre_hooks: dict[int, Callable[..., Any]]
        _hooks: dict[int, Callable[..., Any]]
        _backward_hooks: dict[int, Callable[..., Any]]
        _backward_pre_hooks: dict[int, Callable[..., Any]]
        _computed: dict[str, Callable[..., Any]]
        _is_built: bool
        _place: Place

    def __setattr__(self, name: str, value: Any) -> None:
        slots = self.__dict__.get("_parameters")
        if slots is None:
            raise fault(
                AttributeError,
                f"`{type(self).__name__}.{name}` was set before the layer was made",
                "call `super().__init__()` first in its `__init__`",
            )
        if isinstance(value, Parameter):
            if self._enter(name, value, self._buffers if value.is_buffer else slots):
                self._place.take(name, value)
        elif isinstance(value, Attributes):
            if self._enter(name, value, self._sublayers):
                value._place.move(self._place, name)
        elif name in self._computed:
            self._computed[name](self, value)
        elif name in slots or name in self._buffers:
            if value is None:
                self._forget(name)
                object.__setattr__(self, name, None)
            else:
                (slots if name in slots else self._buffers)[name].set(value)
        else:
            if name == "training":
                _phase.changing(self)  # type: ignore[arg-type]
            self._forget(name)
            object.__setattr__(self, name, value)
            _core.changed()

    def _enter(self, name: str, value: Any, among: dict[str, Any]) -> bool:
        """Makes it a part, unless it is this part already."""
        if "." in name:
            raise fault(ValueError, f"the name `{name}` of a part has a dot in it")
        if among.get(name) is value:
            return False
        _phase.changing(self)  # type: ignore[arg-type]
        if name not in among:
            self._forget(name)
        among[name] = value
        if hasattr(type(self), name):
            # An attribute of the class, such as `head = None`, would be found before the part.
            self.__dict__[name] = value
        return True

    def _forget(self, name: str) -> None:
        if name in self._parameters or name in self._buffers or name in self._sublayers:
            _phase.changing(self)  # type: ignore[arg-type]
        self.__dict__.pop(name, None)
        for among in (self._parameters, self._buffers, self._sublayers):
            among.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for among in ("_parameters", "_sublayers", "_buffers") if "_parameters" in own else ():
            if name in own[among]:
                if _phase.LOCAL.noted is not None:
                    _phase.note(self)  # type: ignore[arg-type]
                return own[among][name]
        if name in own.get("_computed", ()):
            if _phase.LOCAL.noted is not None:
                _phase.note(self)  # type: ignore[arg-type]
            return own["_computed"][name](self)
        from .._elsewhere import no_member

        raise no_member(self, name)

    def _layers(self) -> dict[str, Layer]:
        """The layers that are parts. A program that is being built is for these."""
        if _phase.LOCAL.noted is not None:
            _phase.note(self)  # type: ignore[arg-type]
        return self._sublayers

    def __delattr__(self, name: str) -> None:
        if name in self._parameters or name in self._buffers or name in self._sublayers:
            self._forget(name)
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parameters, *self._buffers, *self._sublayers]
