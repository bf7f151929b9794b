"""One step of recurrent networks."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ..initializer import bias_default
from ._layer import Layer
from ._parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._attr import AttrLike
    from .._core import DTypeLike, Tensor


class _Cell(Layer):
    _gates: int

    def __init__(
        self,
        inputs: int,
        hidden: int,
        bias: bool = True,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.inputs, self.hidden = inputs, hidden
        rows, init = self._gates * hidden, bias_default(hidden)
        self.weight_ih = Parameter((rows, inputs), dtype, init, weight_attr)
        self.weight_hh = Parameter((rows, hidden), dtype, init, weight_attr)
        self.bias_ih = self.bias_hh = None
        if bias and bias_attr is not False:
            self.bias_ih = Parameter((rows,), dtype, init, bias_attr)
            self.bias_hh = Parameter((rows,), dtype, init, bias_attr)

    def _state(self, x: Tensor, given: Tensor | None) -> Tensor:
        if given is not None:
            return given
        if x.ndim == 0:
            raise fault(ValueError, f"a cell needs an axis of features, found {x.type_text}")
        return _core.full((*x.shape[:-1], self.hidden), 0.0, x.dtype)

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self) -> str:
        return f"{self.inputs}, {self.hidden}"


class RNNCell(_Cell):
    """One step of `RNN`.

    Args:
        inputs: The number of features of an input.
        hidden: The number of features of the hidden state.
        bias: Whether there are biases.
        weight_attr: What is said of the weights.
        bias_attr: What is said of the biases.
        dtype: The element type of the parameters.
        name: The layer's name.
        nonlinearity: "tanh" or "relu".

    Example:
        >>> fl.nn.RNNCell(3, 5)(fl.full((2, 3), 0.5)).shape
        (2, 5)
    """

    _gates = 1

    def __init__(
        self, inputs: int, hidden: int, *values: Any, nonlinearity: str = "tanh", **options: Any
    ) -> None:
        super().__init__(inputs, hidden, *values, **options)
        self.nonlinearity = nonlinearity

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        w_ih, w_hh, b_ih, b_hh = self._weights()
        return _core.rnn_cell(x, self._state(x, h), w_ih, w_hh, b_ih, b_hh, self.nonlinearity)


class GRUCell(_Cell):
    """One step of `GRU`. Args are those of `RNNCell`.

    Example:
        >>> fl.nn.GRUCell(3, 5)(fl.full((2, 3), 0.5)).shape
        (2, 5)
    """

    _gates = 3

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        return _core.gru_cell(x, self._state(x, h), *self._weights())


class LSTMCell(_Cell):
    """One step of `LSTM`: from and to a pair of hidden state and memory. Args as `RNNCell`.

    Example:
        >>> h, c = fl.nn.LSTMCell(3, 5)(fl.full((2, 3), 0.5))
        >>> h.shape, c.shape
        ((2, 5), (2, 5))
    """

    _gates = 4

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        h, c = state or (None, None)
        return _core.lstm_cell(x, self._state(x, h), self._state(x, c), *self._weights())
