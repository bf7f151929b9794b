"""Attention with several heads."""

from __future__ import annotations

from .. import _core
from .._attr import ParamAttr
from .._fault import fault
from ..initializer import XavierUniform, Zeros
from ._layer import Layer
from ._generated import Linear
from ._parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._attr import AttrLike
    from .._core import DTypeLike, Tensor


class MultiHeadAttention(Layer):
    """Attention with several heads, with the parameters of PyTorch's.

    Args:
        width: The number of features, of inputs and outputs.
        heads: The number of heads, which divides it.
        dropout: The probability that a weight of attention is dropped, in training.
        bias: Whether there are biases.
        batch_first: Whether the batch is the first axis, and the sequence the second.
        key_width: The number of features of keys; that of queries if nothing is said.
        value_width: The number of features of values.
        weight_attr: What is said of the weights.
        bias_attr: What is said of the biases.
        dtype: The element type of the parameters.
        name: The layer's name.

    Shape:
        `[sequence, batch, width]`, or `[sequence, width]`.

    Example:
        >>> layer = fl.nn.MultiHeadAttention(8, 2, batch_first=True)
        >>> layer(fl.full((3, 5, 8), 0.5), causal=True).shape
        (3, 5, 8)
    """

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        batch_first: bool = False,
        key_width: int | None = None,
        value_width: int | None = None,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        if heads < 1 or width % heads:
            raise fault(
                ValueError,
                f"{heads} heads do not divide {width} features",
                "choose a width that is a multiple of the number of heads",
            )
        self.width, self.heads, self.dropout, self.batch_first = width, heads, dropout, batch_first
        keys, values = key_width or width, value_width or width
        shapes = {"in_proj_weight": (3 * width, width)}
        if (keys, values) != (width, width):
            shapes = {
                "q_proj_weight": (width, width),
                "k_proj_weight": (width, keys),
                "v_proj_weight": (width, values),
            }
        for key, shape in shapes.items():
            self.add_parameter(key, Parameter(shape, dtype, XavierUniform(), weight_attr))
        bias = bias and bias_attr is not False
        self.in_proj_bias = Parameter((3 * width,), dtype, Zeros(), bias_attr) if bias else None
        said = ParamAttr.of(bias_attr or None)
        first = said.initializer or Zeros()
        last = ParamAttr(said.name, first, said.learning_rate, said.regularizer, said.trainable)
        self.out_proj = Linear(width, width, bias, weight_attr, last, dtype)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor | None = None,
        values: Tensor | None = None,
        attention_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
        average_weights: bool = True,
    ) -> Any:
        """What queries find.

        Args:
            queries: What looks.
            keys: What is looked at; the queries if nothing is said.
            values: What is found; the keys if nothing is said.
            attention_mask: `[queries, keys]`, or one for each head of each item: True where it
                may not look, or numbers that are added.
            key_mask: `[batch, keys]`, likewise.
            causal: Whether nothing may look at what comes after it.
            need_weights: Whether the weights are returned, too.
            average_weights: Whether these are the mean of all heads.
        """
        keys = queries if keys is None else keys
        values = keys if values is None else values
        q, k, v = self._projected([queries, keys, values])
        mask = self._mask(q, attention_mask, key_mask)
        dropout = self.dropout if self.training else 0.0
        if not need_weights:
            found = _core.scaled_dot_product_attention(
                q, k, v, mask, causal=causal, dropout=dropout
            )
            return self._joined(found, queries.ndim)
        weights = _core.attention_weights(q, k, mask, causal=causal, dropout=dropout)
        y = self._joined(_core.matmul(weights, v), queries.ndim)
        weights = _core.mean(weights, axis=1) if average_weights else weights
        return y, _core.squeeze(weights, [0]) if queries.ndim == 2 else weights

    def _projected(self, inputs: list[Tensor]) -> list[Tensor]:
        if {x.ndim for x in inputs} not in ({2}, {3}):
            types = ", ".join(x.type_text for x in inputs)
            raise fault(
                ValueError,
                "queries, keys and values have three axes, or two without a batch, "
                f"found {types}",
            )
        if "in_proj_weight" in self._parameters:
            joint = self.in_proj_weight
            weights = [self._third(joint, i) for i in range(3)]
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        bias = self.in_proj_bias
        return [
            self._head(x, weights[i], None if bias is None else self._third(bias, i))
            for i, x in enumerate(inputs)
        ]

    def _third(self, all: Tensor, i: int) -> Tensor:
        return _core.narrow(all, 0, i * self.width, self.width)

    def _head(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if x.ndim == 2:
            x = _core.unsqueeze(x, 0)
        elif not self.batch_first:
            x = _core.transpose(x, 0, 1)
        x = _core.linear(x, weight, bias)
        x = _core.reshape(x, (*x.shape[:2], self.heads, self.width // self.heads))
        return _core.permute(x, [0, 2, 1, 3])

    def _mask(self, q: Tensor, attention: Tensor | None, keys: Tensor | None) -> Tensor | None:
        def added(mask: Tensor) -> Tensor:
            if mask.dtype != "bool":
                return mask
            never, zero = _core.full((), float("-inf"), q.dtype), _core.full((), 0.0, q.dtype)
            return _core.where(mask, never, zero)

        if attention is not None:
            attention = added(attention)
            if attention.ndim == 3:
                attention = _core.reshape(attention, (-1, self.heads, *attention.shape[1:]))
        if keys is not None:
            keys = added(keys)
            if keys.ndim == 2:
                keys = _core.reshape(keys, (keys.shape[0], 1, 1, keys.shape[1]))
        if attention is not None and keys is not None:
            return attention + keys
        return keys if attention is None else attention

    def _joined(self, found: Tensor, rank: int) -> Tensor:
        batch, _, length, _ = found.shape
        y = _core.reshape(_core.permute(found, [0, 2, 1, 3]), (batch, length, self.width))
        y = self.out_proj(y)
        if rank == 2:
            return _core.squeeze(y, [0])
        return y if self.batch_first else _core.transpose(y, 0, 1)

    def extra_repr(self) -> str:
        return f"{self.width}, {self.heads}"
