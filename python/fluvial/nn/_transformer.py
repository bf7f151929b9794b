"""Blocks of transformers one after the other, and attention as PyTorch calls it."""

from __future__ import annotations

import copy

from .._fault import fault
from ._containers import LayerList
from ._generated import LayerNorm, MultiHeadAttention
from ._layer import Layer

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
