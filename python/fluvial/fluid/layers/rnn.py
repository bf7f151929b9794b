"""Cells as objects, and recurrent networks of them over steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._fault import fault, missing
from ...layers._arguments import known
from .. import unique_name
from ..framework import CALLS, applied, default_main_program
from ..layer_helper import LayerHelper
from ..param_attr import ParamAttr
from ._cells import gru_step, layers_of, leaves, lstm_step, mapped
from ._decode import BeamSearchDecoder, Decoder, dynamic_decode
from ._helpers import BasicDecoder, DecodeHelper, GreedyEmbeddingHelper, SampleEmbeddingHelper, TrainingHelper

__all__ = [
    "BasicDecoder", "BeamSearchDecoder", "DecodeHelper", "Decoder", "GRUCell", "GreedyEmbeddingHelper", "LSTMCell",
    "RNNCell", "SampleEmbeddingHelper", "TrainingHelper", "dynamic_decode", "rnn",
]  # fmt: skip


class RNNCell:
    """What a recurrent network does in a step: `call` takes inputs and states, and returns outputs and new states."""

    def call(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        """One step. A class of one's own has it.

        Args:
            inputs: What the step reads.
            states: The states before.
            kwargs: What else `rnn` was given.
        """
        raise missing(self, "call(self, inputs, states)")

    def __call__(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        return self.call(inputs, states, **kwargs)

    @property
    def state_shape(self) -> Any:
        """The sizes of states without the batch: a list, or a structure of lists."""
        raise missing(self, "state_shape(self)")

    @property
    def state_dtype(self) -> Any:
        """The element type of states."""
        return "float32"

    def get_initial_states(
        self, batch_ref: Any, shape: Any = None, dtype: Any = None, init_value: float = 0.0, batch_dim_idx: int = 0
    ) -> Any:
        """States of one number, for as many rows as another variable has.

        Args:
            batch_ref: The other variable, or a structure whose first one counts.
            shape: The sizes without the batch; those of `state_shape` unless said.
            dtype: The element type.
            init_value: The number.
            batch_dim_idx: Which axis of `batch_ref` is the batch.
        """
        like = leaves(batch_ref)[0]

        def made(sizes: Any) -> Any:
            if isinstance(sizes, (list, tuple)) and all(isinstance(size, int) for size in sizes):
                rest = [size for i, size in enumerate(sizes) if not (i == 0 and size == -1)]
                return layers_of().fill_constant_batch_size_like(
                    like, [-1, *rest], dtype or self.state_dtype, init_value, batch_dim_idx, 0
                )
            return type(sizes)(made(part) for part in sizes)

        return made(self.state_shape if shape is None else shape)


class _Weighted(RNNCell):
    """A cell with parameters, which all its calls share."""

    def __init__(self, name: str, param_attr: Any, bias_attr: Any, dtype: Any) -> None:
        self._name = unique_name.generate(name)
        self._attrs = {False: param_attr, True: bias_attr}
        self._dtype = dtype
        self._made: dict[tuple[Any, str], Any] = {}

    @property
    def state_dtype(self) -> Any:
        return self._dtype

    def _parameter(self, part: str, shape: Sequence[int], is_bias: bool = False) -> Any:
        owner = None if CALLS.dygraph else id(default_main_program())
        if (owner, part) not in self._made:
            said = ParamAttr._to_attr(self._attrs[is_bias])
            name = f"{said.name}_{part}" if said.name else f"{self._name}.{part}"
            attr = ParamAttr(
                name, said.initializer, said.learning_rate, said.regularizer, said.trainable, said.gradient_clip,
                said.do_model_average,
            )  # fmt: skip
            helper = LayerHelper(self._name, name=self._name)
            self._made[owner, part] = helper.new_parameter(attr, list(shape), self._dtype, is_bias)
        return self._made[owner, part]

    def parameters(self) -> list[Any]:
        """Its parameters, as far as calls have made them."""
        return list(self._made.values())

    def _linear(self, both: Any, part: str, size: int) -> Any:
        """A fully connected layer."""
        layers = layers_of()
        width = known(both.shape[1] if both.shape[1] >= 0 else both.shape, "the number of inputs")
        weight = self._parameter(f"{part}_w", (width, size))
        y = layers.matmul(both, weight)
        if self._attrs[True] is False:
            return y
        return layers.elementwise_add(y, self._parameter(f"{part}_b", (size,), True))


class GRUCell(_Weighted):
    """A gated recurrent unit: `h' = u · h + (1 - u) · act(W [x, r · h])`.

    Args:
        hidden_size: The size of the state.
        param_attr: What is said of the weights.
        bias_attr: What is said of the biases; False leaves them out.
        gate_activation: The function of the gates; `layers.sigmoid` unless said.
        activation: The function of the candidate; `layers.tanh` unless said.
        dtype: The element type.
        name: What the names of its parameters begin with.
    """

    def __init__(
        self,
        hidden_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Callable[[Any], Any] | None = None,
        activation: Callable[[Any], Any] | None = None,
        dtype: Any = "float32",
        name: str = "GRUCell",
    ) -> None:
        super().__init__(name, param_attr, bias_attr, dtype)
        self.hidden_size = hidden_size
        self._gate, self._act = gate_activation, activation

    def call(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        layers = layers_of()
        gate, act = self._gate or layers.sigmoid, self._act or layers.tanh
        new = gru_step(
            inputs, states, lambda both: gate(self._linear(both, "gate", 2 * self.hidden_size)),
            lambda both: act(self._linear(both, "candidate", self.hidden_size)),
        )  # fmt: skip
        return new, new

    @property
    def state_shape(self) -> Any:
        return [self.hidden_size]


class LSTMCell(_Weighted):
    """A cell of a long short-term memory. Its states are `[h, c]`.

    Args:
        hidden_size: The size of each state.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias; False leaves it out.
        gate_activation: The function of the gates; `layers.sigmoid` unless said.
        activation: The function of cell and candidate; `layers.tanh` unless said.
        forget_bias: What is added to the forget gate.
        dtype: The element type.
        name: What the names of its parameters begin with.
    """

    def __init__(
        self,
        hidden_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Callable[[Any], Any] | None = None,
        activation: Callable[[Any], Any] | None = None,
        forget_bias: float = 1.0,
        dtype: Any = "float32",
        name: str = "LSTMCell",
    ) -> None:
        super().__init__(name, param_attr, bias_attr, dtype)
        self.hidden_size, self.forget_bias = hidden_size, forget_bias
        self._gate, self._act = gate_activation, activation

    def call(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        layers = layers_of()
        gate, act = self._gate or layers.sigmoid, self._act or layers.tanh
        hidden, cell = states
        parts = self._linear(layers.concat([inputs, hidden], axis=1), "gate", 4 * self.hidden_size)
        new, new_cell = lstm_step(parts, cell, gate, act, self.forget_bias)
        return new, [new, new_cell]

    @property
    def state_shape(self) -> Any:
        return [[self.hidden_size], [self.hidden_size]]


def step_mask(lengths: Any, like: Any, dtype: Any) -> Any:
    """For steps first and sequences second: one where a sequence goes on, else zero."""

    def made(lengths: Any, like: Any) -> Any:
        steps = _core.unsqueeze(_core.iota(like.shape[0], "int64"), 1)
        return _core.cast(steps < _core.reshape(_core.cast(lengths, "int64"), (1, -1)), dtype)

    return applied(made, "sequence_mask", lengths, like)


def rnn(
    cell: RNNCell,
    inputs: Any,
    initial_states: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    is_reverse: bool = False,
    **kwargs: Any,
) -> Any:
    """A recurrent network: a cell called for each step.

    Args:
        cell: Takes inputs and states of a step, returns outputs and new states.
        inputs: The steps, `[batch, steps, ...]`, or a structure of such.
        initial_states: The first states; zeros unless said.
        sequence_length: How many steps of each sequence count: states stay behind its end.
        time_major: Whether steps are the first axis.
        is_reverse: Whether steps are gone through from the last.
        kwargs: What the cell gets, too.

    Returns:
        The outputs of all steps, and the last states.
    """
    layers = layers_of()
    if initial_states is None:
        initial_states = cell.get_initial_states(inputs, batch_dim_idx=1 if time_major else 0)
    first = leaves(inputs)[0]
    if len(first.shape) < 2:
        raise fault(ValueError, f"steps of {len(first.shape)} axes", "give batch and steps at least")

    def turned(x: Any) -> Any:
        return layers.transpose(x, [1, 0, *range(2, len(x.shape))])

    steps = inputs if time_major else mapped(turned, inputs)
    mask = None if sequence_length is None else step_mask(sequence_length, leaves(steps)[0], "float32")
    if is_reverse:
        steps = mapped(lambda x: layers.reverse(x, 0), steps)
        mask = None if mask is None else layers.reverse(mask, 0)

    def moved(x: Any, states: Any, going: Any) -> Any:
        outputs, new = cell(x, states, **kwargs)
        if going is not None:
            new = mapped(
                lambda old, now: layers.elementwise_mul(now, going, axis=0)
                + layers.elementwise_mul(old, 1.0 - going, axis=0),
                states, new,
            )  # fmt: skip
        return outputs, new

    outputs, states = (_at_once if CALLS.dygraph else _in_program)(moved, steps, mask, initial_states)
    if is_reverse:
        outputs = mapped(lambda x: layers.reverse(x, 0), outputs)
    return (outputs if time_major else mapped(turned, outputs)), states


def _at_once(moved: Callable[..., Any], steps: Any, mask: Any, states: Any) -> Any:
    layers, found = layers_of(), []
    for i in range(leaves(steps)[0].shape[0]):
        outputs, states = moved(mapped(lambda x: x[i], steps), states, None if mask is None else mask[i])
        found.append(outputs)
    return mapped(lambda *parts: layers.stack(list(parts), 0), *found), states


def _in_program(moved: Callable[..., Any], steps: Any, mask: Any, states: Any) -> Any:
    layers = layers_of()
    network = layers.StaticRNN()
    with network.step():
        x = mapped(network.step_input, steps)
        going = None if mask is None else network.step_input(mask)
        before = mapped(lambda state: network.memory(init=state), states)
        outputs, new = moved(x, before, going)
        for old, now in zip(leaves(before), leaves(new)):
            network.update_memory(old, now)
        for leaf in (*leaves(outputs), *leaves(new)):
            network.step_output(leaf)
    results = network()
    found = list(results) if isinstance(results, (list, tuple)) else [results]
    count = len(leaves(outputs))
    rest = iter(found)
    all_steps = mapped(lambda _: next(rest), outputs)
    last = iter([applied(lambda value: value[-1], "slice", x) for x in found[count:]])
    return all_steps, mapped(lambda _: next(last), new)


rnn.verbatim = True  # type: ignore[attr-defined]
