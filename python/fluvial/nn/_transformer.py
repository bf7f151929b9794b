"""Blocks of transformers one after the other, and attention as PyTorch calls it."""

from __future__ import annotations

import copy

from .. import _core
from .._attr import ParamAttr
from .._fault import fault
from ..initializer import XavierUniform
from ._containers import LayerList
from ._generated import (
    LayerNorm,
    Linear,
    MultiHeadAttention,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from ._layer import Layer
from ._parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._core import Tensor


class MultiheadAttention(MultiHeadAttention):
    """`MultiHeadAttention` that is called as PyTorch's, and gives a pair: the output and the weights.

    Example:
        >>> layer = fl.nn.MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True)
        >>> x = fl.full((3, 5, 8), 0.5)
        >>> y, weights = layer(x, x, x)
        >>> y.shape, weights.shape
        ((3, 5, 8), (3, 5, 5))
    """

    _kind = "MultiHeadAttention"

    def forward(  # type: ignore[override]
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        found: Any = super().forward(
            query, key, value, attn_mask, key_padding_mask, is_causal, need_weights,
            average_attn_weights,
        )  # fmt: skip
        return found if need_weights else (found, None)


#: The most blocks above one another; each has parameters of its own.
_MOST = 1 << 12


class _Stack(Layer):
    def __init__(
        self,
        block: Layer | Callable[[], Layer],
        count: int,
        norm: Layer | int | None,
        name: str | None,
    ) -> None:
        super().__init__(name)
        if not callable(block):
            what = f"`{type(self).__name__}` takes a block first, found {block!r}"
            raise fault(TypeError, what, "give a layer, which is copied, and the number of blocks")
        if count > _MOST:
            raise fault(ValueError, f"{count} blocks are more than can be made", f"use at most {_MOST}")
        is_layer = isinstance(block, Layer)
        self.layers = LayerList(
            copy.deepcopy(block) if is_layer else block() for _ in range(count)
        )
        self.norm = LayerNorm(norm) if isinstance(norm, int) else norm

    def _run(self, x: Tensor, *inputs: Any, **masks: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *inputs, **masks)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """Blocks of an encoder, one after the other.

    Args:
        encoder_layer: A block, which is copied; or a function that makes one.
        num_layers: The number of blocks.
        norm: A layer at the end, or the number of features of a `LayerNorm`.
        name: The layer's name.

    Example:
        >>> block = fl.nn.TransformerEncoderLayer(8, 2, 16)
        >>> fl.nn.TransformerEncoder(block, 2, norm=8)(fl.full((5, 3, 8), 0.5)).shape
        (5, 3, 8)
    """

    def __init__(
        self,
        encoder_layer: Layer | Callable[[], Layer],
        num_layers: int,
        norm: Layer | int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm, name)

    def forward(self, x: Tensor, *masks: Any, **named: Any) -> Tensor:
        """The output. Masks are those of a block, by position or by name; `mask` is `attention_mask`."""
        if "mask" in named:
            named["attention_mask"] = named.pop("mask")
        return self._run(x, *masks, **named)


class TransformerDecoder(_Stack):
    """Blocks of a decoder, one after the other.

    Args:
        decoder_layer: A block, which is copied; or a function that makes one.
        num_layers: The number of blocks.
        norm: A layer at the end, or the number of features of a `LayerNorm`.
        name: The layer's name.

    Example:
        >>> decoder = fl.nn.TransformerDecoder(fl.nn.TransformerDecoderLayer(8, 2, 16), 2)
        >>> decoder(fl.full((4, 3, 8), 0.5), fl.full((5, 3, 8), 0.5)).shape
        (4, 3, 8)
    """

    def __init__(
        self,
        decoder_layer: Layer | Callable[[], Layer],
        num_layers: int,
        norm: Layer | int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(decoder_layer, num_layers, norm, name)

    def forward(self, x: Tensor, memory: Tensor, *masks: Any, **named: Any) -> Tensor:
        """The output. Masks are those of a block, by position or by name."""
        return self._run(x, memory, *masks, **named)


class Transformer(Layer):
    """An encoder and a decoder that attends to what it gives, with the parameters and initial values of PyTorch's.

    Args:
        d_model: The number of features.
        nhead: The number of heads of attention.
        num_encoder_layers: The number of blocks of the encoder.
        num_decoder_layers: The number of blocks of the decoder.
        dim_feedforward: The number of features between the linear layers of a block.
        dropout: The probability of dropout, in training.
        activation: The function between the linear layers, or its name.
        custom_encoder: A layer in place of the encoder.
        custom_decoder: A layer in place of the decoder.
        layer_norm_eps: What is added to the variance in norms.
        batch_first: Whether the batch is the first axis, and the sequence the second.
        norm_first: Whether norms stand before the parts of a block, not after.
        bias: Whether there are biases.
        name: The layer's name.

    Example:
        >>> net = fl.nn.Transformer(8, 2, 1, 1, 16)
        >>> net(fl.full((5, 3, 8), 0.5), fl.full((4, 3, 8), 0.5)).shape
        (4, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        custom_encoder: Layer | None = None,
        custom_decoder: Layer | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        shared = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        matrix = ParamAttr(initializer=XavierUniform())

        def block(kind: Any) -> Layer:
            made = kind(*shared)
            # What is a matrix begins as Xavier's numbers, as PyTorch's does.
            for part in made.sublayers():
                if isinstance(part, Linear):
                    sizes: Any = part.weight.shape
                    part.weight = Parameter(sizes, "float32", attr=matrix)
            return made

        def norm() -> Layer:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias)

        self.encoder = custom_encoder or TransformerEncoder(
            lambda: block(TransformerEncoderLayer), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            lambda: block(TransformerDecoderLayer), num_decoder_layers, norm()
        )

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The output for `tgt`. Masks are true where nothing may be looked at, or numbers that are added."""
        memory = self.encoder(
            src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int) -> Tensor:
        """A mask for `sz` queries and keys: zeros up to the query's own place, and minus infinity behind it.

        Args:
            sz: How many.

        Example:
            >>> fl.nn.Transformer.generate_square_subsequent_mask(2).tolist()
            [[0.0, -inf], [0.0, 0.0]]
        """
        return _core.triu(_core.full((sz, sz), float("-inf")), 1)
