"""Recurrent networks, with the weights of PyTorch's: `weight_ih_l0`, `weight_hh_l0`, …"""

from __future__ import annotations

from .. import _core
from ..initializer import bias_default
from ._layer import Layer
from ._parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._attr import AttrLike
    from .._core import DTypeLike, Tensor


class _Recurrent(Layer):
    _gates: int

    def __init__(
        self,
        inputs: int,
        hidden: int,
        layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        bias = bias and bias_attr is not False
        self.inputs, self.hidden, self.layers, self.has_bias = inputs, hidden, layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        rows, directions = self._gates * hidden, 1 + bidirectional
        for layer in range(layers):
            width = inputs if layer == 0 else directions * hidden
            for suffix in ["", "_reverse"][:directions]:
                shapes = {"weight_ih": (rows, width), "weight_hh": (rows, hidden)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}  # type: ignore[dict-item]
                for kind, shape in shapes.items():
                    attr = weight_attr if len(shape) == 2 else bias_attr
                    weight = Parameter(shape, dtype, bias_default(hidden), attr)
                    self.add_parameter(f"{kind}_l{layer}{suffix}", weight)

    def _options(self) -> dict[str, Any]:
        return {
            "layers": self.layers,
            "bidirectional": self.bidirectional,
            "bias": self.has_bias,
            "batch_first": self.batch_first,
            "dropout": self.dropout if self.training else 0.0,
        }

    def _weights(self) -> list[Tensor]:
        return list(self._parameters.values())

    def extra_repr(self) -> str:
        more = f", layers={self.layers}" if self.layers != 1 else ""
        more += ", bidirectional=True" if self.bidirectional else ""
        return f"{self.inputs}, {self.hidden}{more}"


class RNN(_Recurrent):
    """A recurrent network: `h' = tanh(w_ih · x + b_ih + w_hh · h + b_hh)`.

    Args:
        inputs: The number of features of an input.
        hidden: The number of features of the hidden state.
        layers: The number of layers, one on top of the other.
        bias: Whether there are biases.
        batch_first: Whether the batch is the first axis, and time the second.
        dropout: The probability of dropout between layers, in training.
        bidirectional: Whether a second network reads the sequence from its end.
        weight_attr: What is said of the weights.
        bias_attr: What is said of the biases.
        dtype: The element type of the parameters.
        name: The layer's name.
        nonlinearity: "tanh" or "relu".

    Shape:
        `[time, batch, inputs]` to `[time, batch, hidden]`, and the last hidden state of each layer.

    Example:
        >>> y, h = fl.nn.RNN(3, 5)(fl.full((7, 2, 3), 0.5))
        >>> y.shape, h.shape
        ((7, 2, 5), (1, 2, 5))
    """

    _gates = 1

    def __init__(
        self, inputs: int, hidden: int, *values: Any, nonlinearity: str = "tanh", **options: Any
    ) -> None:
        super().__init__(inputs, hidden, *values, **options)
        self.nonlinearity = nonlinearity

    def forward(
        self, x: Tensor, h0: Tensor | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        kind, options = self.nonlinearity, self._options()
        return _core.rnn(x, h0, self._weights(), lengths, nonlinearity=kind, **options)


class GRU(_Recurrent):
    """A recurrent network with gates for reset and update. Args are those of `RNN`.

    Example:
        >>> y, h = fl.nn.GRU(3, 5, bidirectional=True)(fl.full((7, 2, 3), 0.5))
        >>> y.shape, h.shape
        ((7, 2, 10), (2, 2, 5))
    """

    _gates = 3

    def forward(
        self, x: Tensor, h0: Tensor | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        return _core.gru(x, h0, self._weights(), lengths, **self._options())


class LSTM(_Recurrent):
    """A recurrent network with long short-term memory. Args are those of `RNN`.

    Its state is a pair of hidden state and memory.

    Example:
        >>> y, (h, c) = fl.nn.LSTM(3, 5, layers=2, batch_first=True)(fl.full((2, 7, 3), 0.5))
        >>> y.shape, h.shape, c.shape
        ((2, 7, 5), (2, 2, 5), (2, 2, 5))
    """

    _gates = 4

    def forward(
        self,
        x: Tensor,
        first: tuple[Tensor, Tensor] | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h0, c0 = first or (None, None)
        y, h, c = _core.lstm(x, h0, c0, self._weights(), lengths, **self._options())
        return y, (h, c)
