"""Blocks of transformers, with the parameters of PyTorch's."""

from __future__ import annotations

from .. import _core
from ._attention import MultiHeadAttention
from ._containers import LayerList
from ._generated import LayerNorm, Linear
from ._layer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import DTypeLike, Tensor

    Masks = dict[str, Tensor | bool | None]


class _Block(Layer):
    """What both blocks share: options, feed-forward part and norms."""

    _attentions: tuple[str, ...]

    def __init__(
        self,
        width: int,
        heads: int,
        inner: int = 2048,
        dropout: float = 0.1,
        activation: Callable[[Tensor], Tensor] = _core.relu,
        eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.dropout, self.norm_first, self.activation = dropout, norm_first, activation
        for part in self._attentions:
            attention = MultiHeadAttention(width, heads, dropout, bias, batch_first, dtype=dtype)
            self.add_sublayer(part, attention)
        self.linear1 = Linear(width, inner, bias, dtype=dtype)
        self.linear2 = Linear(inner, width, bias, dtype=dtype)
        for i in range(len(self._attentions) + 1):
            norm = LayerNorm(width, eps, bias=bias, dtype=dtype)
            self.add_sublayer(f"norm{i + 1}", norm)

    def _dropped(self, x: Tensor) -> Tensor:
        return _core.dropout(x, self.dropout) if self.training and self.dropout != 0.0 else x

    def _feed(self, x: Tensor) -> Tensor:
        inner = self._dropped(self.activation(self.linear1(x)))
        return self._dropped(self.linear2(inner))

    def _residual(self, norm: Layer, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        return x + f(norm(x)) if self.norm_first else norm(x + f(x))


class TransformerEncoderLayer(_Block):
    """A block of an encoder: attention of a sequence to itself, then a feed-forward part.

    Args:
        width: The number of features.
        heads: The number of heads of attention.
        inner: The number of features within the feed-forward part.
        dropout: The probability of dropout, in training.
        activation: The function of the feed-forward part.
        eps: What is added to the variance in norms.
        batch_first: Whether the batch is the first axis, and the sequence the second.
        norm_first: Whether norms stand before the parts, not after.
        bias: Whether there are biases.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> fl.nn.TransformerEncoderLayer(8, 2, 16)(fl.full((5, 3, 8), 0.5)).shape
        (5, 3, 8)
    """

    _attentions = ("self_attn",)

    def forward(
        self,
        x: Tensor,
        attention_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        masks = {"attention_mask": attention_mask, "key_mask": key_mask, "causal": causal}
        x = self._residual(
            self.norm1, x, lambda x: self._dropped(self.self_attn(x, x, x, **masks))
        )
        return self._residual(self.norm2, x, self._feed)


class TransformerDecoderLayer(_Block):
    """A block of a decoder: attention to itself and to a memory, then a feed-forward part.

    Args are those of `TransformerEncoderLayer`.

    Example:
        >>> layer = fl.nn.TransformerDecoderLayer(8, 2, 16)
        >>> layer(fl.full((4, 3, 8), 0.5), fl.full((5, 3, 8), 0.5), causal=True).shape
        (4, 3, 8)
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        attention_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        causal: bool = False,
        memory_mask: Tensor | None = None,
        memory_key_mask: Tensor | None = None,
    ) -> Tensor:
        masks = {"attention_mask": attention_mask, "key_mask": key_mask, "causal": causal}
        of_memory = {"attention_mask": memory_mask, "key_mask": memory_key_mask}
        x = self._residual(
            self.norm1, x, lambda x: self._dropped(self.self_attn(x, x, x, **masks))
        )
        x = self._residual(
            self.norm2,
            x,
            lambda x: self._dropped(self.multihead_attn(x, memory, memory, **of_memory)),
        )
        return self._residual(self.norm3, x, self._feed)


class TransformerEncoder(Layer):
    """Blocks of an encoder, one after the other.

    Args:
        count: The number of blocks.
        block: Makes a block.
        norm: The number of features of a norm at the end, if there is one.
        name: The layer's name.

    Example:
        >>> block = lambda: fl.nn.TransformerEncoderLayer(8, 2, 16)
        >>> fl.nn.TransformerEncoder(2, block, norm=8)(fl.full((5, 3, 8), 0.5)).shape
        (5, 3, 8)
    """

    def __init__(
        self,
        count: int,
        block: Callable[[], Layer],
        norm: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.layers = LayerList(block() for _ in range(count))
        self.norm = None if norm is None else LayerNorm(norm)

    def forward(self, x: Tensor, **masks: Tensor | bool | None) -> Tensor:
        for layer in self.layers:
            x = layer(x, **masks)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(TransformerEncoder):
    """Blocks of a decoder, one after the other. Args are those of `TransformerEncoder`.

    Example:
        >>> block = lambda: fl.nn.TransformerDecoderLayer(8, 2, 16)
        >>> decoder = fl.nn.TransformerDecoder(2, block)
        >>> decoder(fl.full((4, 3, 8), 0.5), fl.full((5, 3, 8), 0.5)).shape
        (4, 3, 8)
    """

    def forward(  # type: ignore[override]
        self, x: Tensor, memory: Tensor, **masks: Tensor | bool | None
    ) -> Tensor:
        for layer in self.layers:
            x = layer(x, memory, **masks)
        return x if self.norm is None else self.norm(x)
