"""Recurrent networks of Fluid's `contrib`, made of basic functions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...dygraph.layers import Layer
from ...layers._cells import gru_step, layers_of, lstm_step
from ...layers.rnn import RNNCell, rnn, step_mask
from ...param_attr import ParamAttr

__all__ = ["BasicGRUUnit", "BasicLSTMUnit", "basic_gru", "basic_lstm"]


def _named(attr: Any, suffix: str) -> Any:
    """What is said of a parameter, with another name if it has one."""
    if attr is False:
        return False
    said = copy.copy(ParamAttr._to_attr(attr))
    if said.name is None:
        return attr
    said.name += suffix
    return said


class _Unit(Layer):
    def __init__(
        self, name_scope: str, hidden_size: int, param_attr: Any, bias_attr: Any, gate_activation: Any, activation: Any,
        dtype: Any,
    ) -> None:  # fmt: skip
        super().__init__(name_scope, dtype)
        layers = layers_of()
        self._hidden_size, self._param_attr, self._bias_attr = hidden_size, param_attr, bias_attr
        self._gate, self._act = gate_activation or layers.sigmoid, activation or layers.tanh

    def _pair(self, width: int, size: int, suffix: str = "") -> tuple[Any, Any]:
        """A weight and a bias."""
        weight = self.create_parameter([width, size], _named(self._param_attr, suffix))
        return weight, self.create_parameter([size], _named(self._bias_attr, suffix), is_bias=True)


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    y = layers_of().matmul(x, weight)
    return y if bias is None else layers_of().elementwise_add(y, bias)


class BasicGRUUnit(_Unit):
    """A step of a gated recurrent unit: `unit(input, pre_hidden)` gives the next state.

    Args:
        name_scope: What its name begins with.
        hidden_size: The size of the state.
        param_attr: What is said of the weights; a name is followed by "_gate" or "_candidate".
        bias_attr: What is said of the biases; False leaves them out.
        gate_activation: The function of the gates; `layers.sigmoid` unless said.
        activation: The function of the candidate; `layers.tanh` unless said.
        dtype: The element type.
    """

    def __init__(
        self, name_scope: str, hidden_size: int, param_attr: Any = None, bias_attr: Any = None,
        gate_activation: Callable[[Any], Any] | None = None, activation: Callable[[Any], Any] | None = None,
        dtype: Any = "float32",
    ) -> None:  # fmt: skip
        super().__init__(name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype)

    def _build_once(self, input: Any, pre_hidden: Any) -> None:
        width = input.shape[-1] + self._hidden_size
        self._gate_weight, self._gate_bias = self._pair(width, 2 * self._hidden_size, "_gate")
        self._candidate_weight, self._candidate_bias = self._pair(width, self._hidden_size, "_candidate")

    def forward(self, input: Any, pre_hidden: Any) -> Any:
        return gru_step(
            input, pre_hidden, lambda both: self._gate(_linear(both, self._gate_weight, self._gate_bias)),
            lambda both: self._act(_linear(both, self._candidate_weight, self._candidate_bias)),
        )  # fmt: skip


class BasicLSTMUnit(_Unit):
    """A step of a long short-term memory: `unit(input, pre_hidden, pre_cell)` gives the next state and cell.

    Args:
        name_scope: What its name begins with.
        hidden_size: The size of state and cell.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias; False leaves it out.
        gate_activation: The function of the gates; `layers.sigmoid` unless said.
        activation: The function of cell and candidate; `layers.tanh` unless said.
        forget_bias: What is added to the forget gate.
        dtype: The element type.
    """

    def __init__(
        self, name_scope: str, hidden_size: int, param_attr: Any = None, bias_attr: Any = None,
        gate_activation: Callable[[Any], Any] | None = None, activation: Callable[[Any], Any] | None = None,
        forget_bias: float = 1.0, dtype: Any = "float32",
    ) -> None:  # fmt: skip
        super().__init__(name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype)
        self._forget_bias = forget_bias

    def _build_once(self, input: Any, pre_hidden: Any, pre_cell: Any) -> None:
        self._weight, self._bias = self._pair(input.shape[-1] + self._hidden_size, 4 * self._hidden_size)

    def forward(self, input: Any, pre_hidden: Any, pre_cell: Any) -> Any:
        parts = _linear(layers_of().concat([input, pre_hidden], axis=1), self._weight, self._bias)
        return lstm_step(parts, pre_cell, self._gate, self._act, self._forget_bias)


class _Stack(RNNCell):
    """Units one above the other as a cell of `layers.rnn`, which gives the output of the last one, and all states."""

    def __init__(self, units: list[Any], dropout_prob: float | None) -> None:
        self.units, self.dropout_prob = units, dropout_prob

    def call(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        layers, new = layers_of(), []
        for unit, state in zip(self.units, states):
            found = unit(inputs, *state)
            new.append(list(found) if isinstance(found, tuple) else [found])
            inputs = new[-1][0]
            if self.dropout_prob:
                inputs = layers.dropout(inputs, dropout_prob=self.dropout_prob)
        return inputs, new


def _network(
    make: Callable[..., Any], input: Any, inits: list[Any], hidden_size: int, num_layers: int, sequence_length: Any,
    dropout_prob: float | None, bidirectional: bool, batch_first: bool, param_attr: Any, bias_attr: Any, dtype: Any,
    name: str,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """The outputs of all steps, and the last values of each kind of state: `[layers · ways, batch, hidden_size]`."""
    layers, ways = layers_of(), 2 if bidirectional else 1
    # First states may also stand one below the other, `[layers · ways · batch, hidden_size]`.
    inits = [
        init if init is None or len(init.shape) > 2 else layers.reshape(init, [num_layers * ways, -1, hidden_size])
        for init in inits
    ]
    outs, lasts = [], []
    for way in range(ways):
        tag, label = ("_bw", "_reverse_layers_") if way else ("_fw", "_layers_")
        units = [
            make(f"{name}{label}{i}", _named(param_attr, f"{tag}_w_{i}"), _named(bias_attr, f"{tag}_b_{i}"))
            for i in range(num_layers)
        ]
        states = [[_first(init, input, i * ways + way, hidden_size, dtype, batch_first) for init in inits]
                  for i in range(num_layers)]  # fmt: skip
        out, last = rnn(
            _Stack(units, dropout_prob), input, states, sequence_length, not batch_first, is_reverse=bool(way)
        )
        if sequence_length is not None:
            # Behind the end of a sequence, Fluid's basic networks give the state that stays.
            held = states[-1][0] if way else last[-1][0]
            out = _held(out, held, sequence_length, dropout_prob, batch_first)
        outs.append(out)
        lasts.append(last)
    ends = [
        layers.stack([lasts[way][i][kind] for i in range(num_layers) for way in range(ways)], axis=0)
        for kind in range(len(inits))
    ]
    return (layers.concat(outs, axis=2) if bidirectional else outs[0]), ends


def _held(out: Any, state: Any, lengths: Any, dropout_prob: float | None, batch_first: bool) -> Any:
    """The outputs of all steps, with a state in place of those behind the ends of sequences."""
    layers, batch = layers_of(), 0 if batch_first else 1
    going = step_mask(lengths, layers.transpose(out, [1, 0, 2]) if batch_first else out, out.dtype)
    if batch_first:
        going = layers.transpose(going, [1, 0])
    stays = layers.elementwise_add(layers.zeros_like(out), layers.unsqueeze(state, [1 - batch]))
    if dropout_prob:
        stays = layers.dropout(stays, dropout_prob=dropout_prob)
    return layers.elementwise_mul(out, going, axis=0) + layers.elementwise_mul(stays, 1.0 - going, axis=0)


def _first(init: Any, input: Any, place: int, hidden_size: int, dtype: Any, batch_first: bool) -> Any:
    """The initial value of a state: a part of what is given, or zeros."""
    layers = layers_of()
    if init is None:
        return layers.fill_constant_batch_size_like(input, [-1, hidden_size], dtype, 0.0, 0 if batch_first else 1, 0)
    return layers.squeeze(layers.slice(init, [0], [place], [place + 1]), [0])


def basic_gru(
    input: Any,
    init_hidden: Any,
    hidden_size: int,
    num_layers: int = 1,
    sequence_length: Any = None,
    dropout_prob: float = 0.0,
    bidirectional: bool = False,
    batch_first: bool = True,
    param_attr: Any = None,
    bias_attr: Any = None,
    gate_activation: Callable[[Any], Any] | None = None,
    activation: Callable[[Any], Any] | None = None,
    dtype: Any = "float32",
    name: str = "basic_gru",
) -> tuple[Any, Any]:
    """Layers of gated recurrent units over steps, made of basic functions.

    Args:
        input: The steps, `[batch, steps, features]`.
        init_hidden: The first states, `[layers · ways, batch, hidden_size]`; zeros if None.
        hidden_size: The size of a state.
        num_layers: How many layers there are.
        sequence_length: How many steps of each sequence count; all if None.
        dropout_prob: The share of zeros behind each layer, in training.
        bidirectional: Whether there is a way back.
        batch_first: Whether the batch is the first axis, not the steps.
        param_attr: What is said of the weights.
        bias_attr: What is said of the biases; False leaves them out.
        gate_activation: The function of the gates; `layers.sigmoid` unless said.
        activation: The function of the candidate; `layers.tanh` unless said.
        dtype: The element type.
        name: What the names of its parameters begin with.

    Returns:
        What each step gives, and the last states.
    """

    def make(scope: str, weights: Any, biases: Any) -> BasicGRUUnit:
        return BasicGRUUnit(scope, hidden_size, weights, biases, gate_activation, activation, dtype)

    out, (last,) = _network(
        make, input, [init_hidden], hidden_size, num_layers, sequence_length, dropout_prob, bidirectional, batch_first,
        param_attr, bias_attr, dtype, name,
    )  # fmt: skip
    return out, last


def basic_lstm(
    input: Any,
    init_hidden: Any,
    init_cell: Any,
    hidden_size: int,
    num_layers: int = 1,
    sequence_length: Any = None,
    dropout_prob: float = 0.0,
    bidirectional: bool = False,
    batch_first: bool = True,
    param_attr: Any = None,
    bias_attr: Any = None,
    gate_activation: Callable[[Any], Any] | None = None,
    activation: Callable[[Any], Any] | None = None,
    forget_bias: float = 1.0,
    dtype: Any = "float32",
    name: str = "basic_lstm",
) -> tuple[Any, Any, Any]:
    """Layers of a long short-term memory over steps, made of basic functions.

    Args:
        input: The steps, `[batch, steps, features]`.
        init_hidden: The first states, `[layers · ways, batch, hidden_size]`; zeros if None.
        init_cell: The first cells, as large.
        hidden_size: The size of state and cell.
        num_layers: How many layers there are.
        sequence_length: How many steps of each sequence count; all if None.
        dropout_prob: The share of zeros behind each layer, in training.
        bidirectional: Whether there is a way back.
        batch_first: Whether the batch is the first axis, not the steps.
        param_attr: What is said of the weights.
        bias_attr: What is said of the biases; False leaves them out.
        gate_activation: The function of the gates; `layers.sigmoid` unless said.
        activation: The function of cell and candidate; `layers.tanh` unless said.
        forget_bias: What is added to the forget gate.
        dtype: The element type.
        name: What the names of its parameters begin with.

    Returns:
        What each step gives, the last states and the last cells.
    """

    def make(scope: str, weights: Any, biases: Any) -> BasicLSTMUnit:
        return BasicLSTMUnit(scope, hidden_size, weights, biases, gate_activation, activation, forget_bias, dtype)

    out, (last, cell) = _network(
        make, input, [init_hidden, init_cell], hidden_size, num_layers, sequence_length, dropout_prob, bidirectional,
        batch_first, param_attr, bias_attr, dtype, name,
    )  # fmt: skip
    return out, last, cell
