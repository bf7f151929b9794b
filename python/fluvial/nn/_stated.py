"""Layers that are stated in Rust: their classes are generated."""

from __future__ import annotations

from .. import _phase
from .._core import Statement, Tensor, tensor
from .._fault import fault
from ._layer import Layer
from ._parameter import Parameter

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
    #: The names of options that are functions.
    _functions: tuple[str, ...] = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "_kind" in cls.__dict__:
            options, cls._functions, _ = Statement.signature(cls._kind)
            for name, option in options:
                setattr(cls, name, Option(option))

    def __init__(self, *values: Any, **options: Any) -> None:
        self._begin(*Statement.bind(self._kind, type(self).__name__, values, options))

    @classmethod
    def _of(cls, stated: Statement, others: dict[str, Any]) -> Stated:
        """The layer with these options, as a part of another."""
        layer = cls.__new__(cls)
        layer._begin(stated, others)
        return layer

    def _begin(self, stated: Statement, others: dict[str, Any]) -> None:
        Layer.__init__(self, others.pop("name", None))
        object.__setattr__(self, "_stated", stated)
        for name, part in [*stated.parts(others), *stated.layers(others)]:
            setattr(self, name, part)
        for name in stated.values():
            setattr(self, name, others.get(name))

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self._stated.call(self, inputs, named)

    def extra_repr(self) -> str:
        return self._stated.shown()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._functions:
            _phase.changing(self)
        super().__setattr__(name, value)

    def _fl_options(self) -> tuple[Any, ...]:
        functions = [self.__dict__.get(name) for name in self._functions]
        return (*self._stated.options(), *functions)

    def _put_back_options(self, options: tuple[Any, ...]) -> None:
        self._stated.put_back(options)
        for name, function in zip(reversed(self._functions), reversed(options)):
            if function is not None:
                object.__setattr__(self, name, function)


class Table(Stated):
    """A layer whose `weight` is a table of rows."""

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> Any:
        """A layer with this table.

        Args:
            embeddings: The table, of two axes.
            freeze: Whether it is kept as it is; else it is trained further.
            options: Those of the layer, but for the number of rows and their size.

        Example:
            >>> layer = fl.nn.Embedding.from_pretrained(fl.tensor([[1.0, 2.0], [3.0, 4.0]]))
            >>> layer(fl.tensor([1])).tolist(), layer.weight.requires_grad
            ([[3.0, 4.0]], False)
        """
        table = embeddings if isinstance(embeddings, Tensor) else tensor(embeddings)
        if table.ndim != 2:
            raise fault(ValueError, f"a table has two axes, found {list(table.shape)}", "give rows of one size")
        layer = cls(*table.shape, dtype=table.dtype, **options)
        layer.weight = Parameter(table.detach(), requires_grad=not freeze)
        return layer


class Recurrent(Stated):
    """A layer over sequences, which also takes packed ones."""

    def forward(self, x: Any, *state: Any, **named: Any) -> Any:
        if isinstance(x, Tensor):
            return self._stated.call(self, (x, *state), named)
        from .utils._packed import PackedSequence, run_packed

        if not isinstance(x, PackedSequence):
            return self._stated.call(self, (x, *state), named)
        first = [*state, *named.values()]
        return run_packed(super().forward, self.batch_first, x, *first)  # type: ignore[attr-defined]


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
        for part, option, changed in layer._stated.set(self.name, value):
            within = getattr(layer, part)
            if hasattr(within, option):
                setattr(within, option, changed)


class _Signature:
    # What `help` and `inspect` show of the class; one of the user's with a constructor has its own, and a layer
    # is called as its `forward` is.
    def __get__(self, layer: Any, owner: type[Stated]) -> Any:
        is_own = owner.__init__ is not Stated.__init__ or "_kind" not in vars(owner)
        if layer is not None or is_own:
            return None
        import inspect

        names: dict[str, Any] = {}
        exec(f"def made{Statement.signature(owner._kind)[2]}: ...", names)
        return inspect.signature(names["made"])


Stated.__signature__ = _Signature()  # type: ignore[attr-defined]
