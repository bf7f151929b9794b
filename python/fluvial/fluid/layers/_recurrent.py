"""Cells, and recurrent layers over steps of one length."""

from __future__ import annotations

from ... import _core
from ..._attr import ParamAttr
from ..._fault import fault
from ...initializer import XavierUniform
from ...layers._activations import activation as acted
from ...layers._arguments import known
from ...layers._names import Owner
from ...layers._net import fc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._attr import AttrLike
    from ..._core import Tensor

__all__ = ["gru_unit", "lstm", "lstm_unit"]


def _gate(x: Tensor, name: str) -> Tensor:
    if name not in ("identity", "sigmoid", "tanh", "relu"):
        raise fault(ValueError, f"no gate is named {name!r}", "use identity, sigmoid, tanh or relu")
    return x if name == "identity" else acted(x, name)


def gru_unit(
    input: Tensor,
    hidden: Tensor,
    size: int,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    activation: str = "tanh",
    gate_activation: str = "sigmoid",
    origin_mode: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """One step of a gated recurrent unit.

    Args:
        input: What the step reads, already multiplied: `[batch, size]`.
        hidden: The state before, `[batch, size / 3]`.
        size: Three times the size of the state.
        param_attr: What is said of the weight, `[size / 3, size]`.
        bias_attr: What is said of the bias, `[1, size]`; False leaves it out.
        activation: The function of the candidate.
        gate_activation: The function of the gates.
        origin_mode: Whether the update gate keeps the state, not the candidate.

    Returns:
        The new state, the state behind the reset gate, and the gates.
    """
    if size % 3:
        raise fault(ValueError, f"a size of {size}", "give three times the size of the state")
    owner, width = Owner("gru_unit"), size // 3
    with owner.scope():
        weight = owner.weight(param_attr, (width, size), input.dtype)
        bias = owner.bias(bias_attr, (1, size), input.dtype)
        given = input if bias is None else input + bias
        # Fluid's weight is two matrices, one behind the other.
        flat = _core.reshape(weight, (-1,))
        gates = _core.reshape(_core.slice(flat, 0, 0, 2 * width * width), (width, 2 * width))
        own = _core.reshape(_core.slice(flat, 0, 2 * width * width, 3 * width * width), (width, width))
        both = _gate(_core.slice(given, 1, 0, 2 * width) + _core.matmul(hidden, gates), gate_activation)
        update, reset = _core.slice(both, 1, 0, width), _core.slice(both, 1, width, 2 * width)
        kept = reset * hidden
        new = _gate(_core.slice(given, 1, 2 * width, size) + _core.matmul(kept, own), activation)
        state = new + update * (hidden - new) if origin_mode else hidden + update * (new - hidden)
        return state, kept, _core.concat([both, new], 1)


def lstm_unit(
    x_t: Tensor,
    hidden_t_prev: Tensor,
    cell_t_prev: Tensor,
    forget_bias: float = 0.0,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: a fully connected layer over input and state gives its gates.

    Args:
        x_t: What the step reads, `[batch, features]`.
        hidden_t_prev: The state before.
        cell_t_prev: The cell before.
        forget_bias: What is added to the forget gate.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        name: The layer's name.

    Returns:
        The new state and the new cell.
    """
    for what, value in (("x_t", x_t), ("hidden_t_prev", hidden_t_prev), ("cell_t_prev", cell_t_prev)):
        if value.ndim != 2:
            raise fault(ValueError, f"`{what}` has {value.ndim} axes", "give two")
    width = known(cell_t_prev.shape[1], "the size of the cell")
    both = _core.concat([x_t, hidden_t_prev], 1)
    gates = fc(both, 4 * width, param_attr=param_attr, bias_attr=bias_attr, name=name)
    i, f, o, g = _core.split(gates, [width] * 4, 1)
    cell = _core.sigmoid(f + forget_bias) * cell_t_prev + _core.sigmoid(i) * _core.tanh(g)
    return _core.sigmoid(o) * _core.tanh(cell), cell


def lstm(
    input: Tensor,
    init_h: Tensor,
    init_c: Tensor,
    max_len: int,
    hidden_size: int,
    num_layers: int,
    dropout_prob: float = 0.0,
    is_bidirec: bool = False,
    is_test: bool = False,
    name: str | None = None,
    default_initializer: Any = None,
    seed: int = -1,
) -> tuple[Tensor, Tensor, Tensor]:
    """Layers of an LSTM over steps of one length.

    Its parameters are one tensor, as Fluid's: for each layer and direction the weights of the input and of the
    state, then for each the two biases; gates in the order input, forget, cell, output.

    Args:
        input: The steps, `[steps, batch, features]`.
        init_h: The first states, `[layers · directions, batch, hidden_size]`.
        init_c: The first cells.
        max_len: For Fluid's programs; the length is that of `input`.
        hidden_size: The size of a state.
        num_layers: How many layers there are.
        dropout_prob: The share of zeros between layers, in training.
        is_bidirec: Whether there is a direction back.
        is_test: Whether nothing is dropped.
        name: The layer's name.
        default_initializer: How the initial value of the parameters is made.
        seed: Where random numbers begin, anew in each run; -1 for those of the scope's stream.

    Returns:
        What each step gives, the last states and the last cells.
    """
    from ...layers._inplace import drawing

    owner = Owner("cudnn_lstm", name)
    ways = 2 if is_bidirec else 1
    features, shapes = known(input.shape[-1], "the number of features"), []
    biases: list[tuple[int, ...]] = []
    for layer in range(num_layers):
        width = features if layer == 0 else hidden_size * ways
        for _ in range(ways):
            shapes += [(4 * hidden_size, width), (4 * hidden_size, hidden_size)]
            biases += [(4 * hidden_size,), (4 * hidden_size,)]
    count = sum(a * b for a, b in shapes) + sum(b[0] for b in biases)
    with owner.scope():
        flat = owner.weight(ParamAttr(), (count,), input.dtype, default_initializer or _flat_xavier)
        parts, at = [], 0
        for shape in (*shapes, *biases):
            length = shape[0] * (shape[1] if len(shape) > 1 else 1)
            parts.append(_core.reshape(_core.slice(flat, 0, at, at + length), shape))
            at += length
        weights: list[Tensor] = []
        for i in range(num_layers * ways):
            weights += [*parts[2 * i : 2 * i + 2], *parts[len(shapes) + 2 * i : len(shapes) + 2 * i + 2]]
        with drawing(None if seed in (-1, None) else seed):
            return _core.lstm(
                input, init_h, init_c, weights, layers=num_layers, bidirectional=is_bidirec,
                dropout=0.0 if is_test else dropout_prob,
            )  # fmt: skip


def _flat_xavier(shape: Any, dtype: Any) -> Tensor:
    """Xavier's numbers of one axis, whose length is both counts of connections."""
    return _core.reshape(XavierUniform()((shape[0], 1), dtype), shape)
