"""Layers that are stated in Rust: their classes are generated."""

from __future__ import annotations

from .. import _phase
from .._core import Statement
from ._layer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Stated(Layer):
    """A layer whose options, parameters and call are stated in Rust.

    Args:
        values: Options by position.
        options: Options by name, also by their names in PyTorch.
    """

    #: Which layer of Rust's it is.
    _kind: str
    _stated: Statement

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "_kind" in cls.__dict__:
            for name, option in Statement.signature(cls._kind)[0]:
                setattr(cls, name, Option(option))

    def __init__(self, *values: Any, **options: Any) -> None:
        stated, others = Statement.bind(self._kind, type(self).__name__, values, options)
        super().__init__(others.pop("name", None))
        object.__setattr__(self, "_stated", stated)
        for name, part in stated.parts(others):
            setattr(self, name, part)
        for name in stated.values():
            setattr(self, name, others.get(name))

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self._stated.call(self, inputs, named)

    def extra_repr(self) -> str:
        return self._stated.shown()

    def _fl_options(self) -> tuple[Any, ...]:
        return self._stated.options()

    def _put_back_options(self, options: tuple[Any, ...]) -> None:
        self._stated.put_back(options)


class Option:
    """An option of a layer, as an attribute of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, layer: Any, owner: type) -> Any:
        if layer is None:
            return self
        if _phase.LOCAL.noted is not None:
            _phase.note(layer)
        return layer._stated.get(self.name)

    def __set__(self, layer: Any, value: Any) -> None:
        _phase.changing(layer)
        layer._stated.set(self.name, value)


class _Signature:
    # What `help` and `inspect` show; a class of the user's with a constructor has its own.
    def __get__(self, layer: Any, owner: type[Stated]) -> Any:
        if owner.__init__ is not Stated.__init__ or "_kind" not in vars(owner):
            return None
        import inspect

        names: dict[str, Any] = {}
        exec(f"def made{Statement.signature(owner._kind)[1]}: ...", names)
        return inspect.signature(names["made"])


Stated.__signature__ = _Signature()  # type: ignore[attr-defined]
