"""A parameter or buffer of a layer: the name and type of a state, never the tensor."""

from __future__ import annotations

import copy
import math
import threading

from .. import _core
from .._attr import ParamAttr
from .._fault import fault
from ..initializer import Constant, Initializer
from ._place import Place
from ._step import note_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._attr import AttrLike, Init
    from typing import Any

    from .._core import DType, DTypeLike, Tensor, TensorLike
    from .._core import Tensor as _Read
else:
    _Read = object


# For type checkers it is the tensor that reading the attribute gives.
class Parameter(_Read):
    """A handle to a trained state of a layer.

    As an attribute of a layer it gets its name from there, and reading the attribute gives its
    value: a tensor, or a value of the program that is being built.

    Args:
        shape: Its sizes, or nothing if the first call of its layer gives them.
        dtype: The element type.
        init: How its first value is made, unless `attr` says it: a number, or a function of shape
            and dtype.
        attr: What else is said of it.

    Example:
        >>> class Scale(fl.nn.Layer):
        ...     def __init__(self):
        ...         super().__init__("scale")
        ...         self.factor = fl.nn.Parameter((2,), init=3.0)
        ...     def forward(self, x):
        ...         return x * self.factor
        >>> scale = Scale()
        >>> scale(fl.tensor([1.0, 2.0])).tolist()
        [3.0, 6.0]
        >>> scale.parameters()[0].name
        'scale.factor'
    """

    #: Whether it is a buffer, which is never trained.
    is_buffer = False
    #: Whether it is part of `state_dict`.
    is_persistent = True

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        dtype: DTypeLike = "float32",
        init: float | Init | None = None,
        attr: AttrLike = None,
    ) -> None:
        self.shape: Any = None if shape is None else tuple(shape)
        self.dtype: DType = _dtype(dtype)
        self.attr = ParamAttr.of(attr)
        self._init: Init = init if callable(init) else Constant(init or 0.0)
        self._place: Place | None = None
        self._key = ""
        self._settled: str | None = None
        #: The number of the step that knows of its use.
        self.noted_in = 0

    @property
    def key(self) -> str:
        """Its place in the model."""
        if self._place is None:
            raise fault(
                RuntimeError,
                "this parameter belongs to no layer, so it has no name",
                "make it an attribute of a layer, or give it a name by ParamAttr",
            )
        return self._place.join(self._key)

    @property
    def name(self) -> str:
        """The name of its state; it does not change once the parameter was used."""
        return self._settled or self.attr.name or self.key

    @property
    def is_trainable(self) -> bool:
        """Whether it is trained."""
        return self.attr.trainable and not self.is_buffer

    @property
    def is_sized(self) -> bool:
        """Whether its sizes are known."""
        return self.shape is not None

    @property
    def size(self) -> int:
        """The number of its elements.

        Example:
            >>> sum(parameter.size for parameter in fl.nn.Linear(3, 2).parameters())
            8
        """
        if self.shape is None:
            raise self._unsized()
        return math.prod(self.shape)

    def _unsized(self) -> RuntimeError:
        return fault(
            RuntimeError,
            f"the sizes of `{self.name}` are not known before its layer is called",
            "call the layer on an input first, or load its parameters from a file",
        )

    def sized(self, shape: Sequence[int]) -> None:
        """Gives a lazy parameter its sizes, at the first call; later ones change nothing.

        Args:
            shape: The sizes.
        """
        if self.shape is None:
            self.shape = tuple(shape)

    def get(self) -> Tensor:
        """Its value, in both modes; a leaf if it is trained. If there is none yet, it is made."""
        if self._settled is None:
            self._settled = self.name
        if self.shape is None:
            raise self._unsized()
        note_use(self)
        init: Any = self.attr.initializer or self._init
        trained = self.is_trainable
        # Only `parameter` draws from the stream of the name, so what is random begins as one.
        if trained or not _is_plain(init):
            value = _core.parameter(self._settled, self.shape, self.dtype, init)
        else:
            value = _core.declare_state(self._settled, self.shape, self.dtype, init)
        if not trained:
            return value.detach() if value.is_tracked else value
        if value.is_tracked or _core.is_building() or not _is_recording():
            return value
        # The state was made while the parameter was frozen, or by other code.
        _replace(self._settled, value, "parameter")
        return _core.read_state(self._settled)

    def set(self, value: TensorLike) -> None:
        """Assigns it, in both modes.

        Args:
            value: A value of its type.
        """
        self.get()
        _core.assign_state(self.name, value)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` has accumulated for it, if any, in both modes."""
        with _core.enable_grad():
            gradient = self.get().grad
        return gradient if isinstance(gradient, _core.Tensor) else None

    def zero_grad(self) -> None:
        """Forgets its gradient."""
        with _core.enable_grad():
            self.get().zero_grad()

    def to(self, dtype: DTypeLike) -> None:
        """Changes its element type, and its value if it has one.

        Args:
            dtype: The new one.
        """
        wanted = _dtype(dtype)
        if wanted != self.dtype:
            self.dtype = wanted
            name, scope = self.name, _core.State.current()
            if name in scope:
                role = "parameter" if self.is_trainable else "buffer"
                with _core.imperative(), _core.no_grad():
                    _replace(name, _core.cast(scope[name], wanted), role)

    def load(self, value: Tensor) -> None:
        """Takes a value over, in its element type; the state is made if there is none."""
        with _core.imperative(), _core.no_grad():
            self.sized(value.shape)  # type: ignore[arg-type]
            value = value if value.dtype == self.dtype else _core.cast(value, self.dtype)
            self._settled = self.name
            scope = _core.State.current()
            if self._settled in scope and scope[self._settled].shape == value.shape:
                scope[self._settled] = value
            else:
                _replace(self._settled, value, "parameter" if self.is_trainable else "buffer")

    def enter(self, place: Place, key: str) -> None:
        """Makes it a parameter of the layer at a place, unless it is one already."""
        if self._place is None:
            self._place, self._key = place, key

    def __deepcopy__(self, memo: dict[int, object]) -> Parameter:
        """A parameter of its own, with the value that this one has, if it has one."""
        copied = memo[id(self)] = type(self)(self.shape, self.dtype, None, self.attr)
        copied._init = copy.deepcopy(self._init, memo)
        copied._key, copied.is_persistent = self._key, self.is_persistent
        copied._place = copy.deepcopy(self._place, memo) if self._place is not None else None
        scope = _core.State.current()
        if self.name in scope and copied.name != self.name:
            copied.load(scope[self.name].detach())
        return copied

    def __getstate__(self) -> dict[str, object]:
        """What is pickled: the value, too, for scopes that do not have it."""
        scope = _core.State.current()
        known = self._settled is not None and self._settled in scope
        value = scope[self.name].detach().numpy() if known else None
        return {**self.__dict__, "dtype": self.dtype.name, "noted_in": 0, "value": value}

    def __setstate__(self, state: dict[str, object]) -> None:
        value = state.pop("value")
        self.__dict__.update(state)
        self.dtype = _dtype(self.dtype)
        if value is not None and self.name not in _core.State.current():
            self.load(_core.tensor(value))

    def __repr__(self) -> str:
        sizes = "?" if self.shape is None else ", ".join(map(str, self.shape))
        name = self.name if self._place is not None or self.attr.name else "?"
        return f"{type(self).__name__}({name}: {self.dtype.name}[{sizes}])"


class Buffer(Parameter):
    """A handle to a state of a layer that is not trained, such as a running mean.

    Args:
        shape: Its sizes, or nothing if the first call of its layer gives them.
        dtype: The element type.
        init: How its first value is made: a number, or a function of shape and dtype.
        attr: What else is said of it.
        persistent: Whether it is part of `state_dict`; checkpoints have it in any case.

    Example:
        >>> class Counter(fl.nn.Layer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.calls = fl.nn.Buffer((), "int64")
        ...     def forward(self, x):
        ...         self.calls = self.calls + 1
        ...         return x
        >>> counter = Counter()
        >>> _ = counter(counter(fl.tensor(1.0)))
        >>> counter.calls.item()
        2
    """

    is_buffer = True

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        dtype: DTypeLike = "float32",
        init: float | Init | None = None,
        attr: AttrLike = None,
        persistent: bool = True,
    ) -> None:
        super().__init__(shape, dtype, init, attr)
        self.is_persistent = persistent


def _dtype(dtype: DTypeLike) -> DType:
    if isinstance(dtype, _core.DType):
        return dtype
    with _core.imperative():
        return _core.full((), 0.0, dtype).dtype


def _is_plain(init: object) -> bool:
    return isinstance(init, Initializer) and not init.is_random


class _Leaf(threading.local):
    def __init__(self) -> None:
        self.tensor = _core.full((), 0.0).track()


_leaf = _Leaf()


def _is_recording() -> bool:
    """Whether ops are recorded: the core does not say it, so one is tried."""
    return (_leaf.tensor * 1.0).is_tracked


def _replace(name: str, value: Tensor, role: str) -> None:
    _core.State.current().remove(name)
    _core.declare_state(name, value.shape, value.dtype, value.detach(), role)
