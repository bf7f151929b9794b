"""An encoder and a decoder with attention turn one sequence into another.

Data: synthetic, sequences of numbers, which it learns to write from the end to the beginning.

    python examples/models/transformer.py --mode imperative    # line by line
    python examples/models/transformer.py --save out --resume  # goes on from what was saved
    python examples/models/transformer.py --export transformer.flb  # for `fluvial run`
"""

import math

import datasets
import fluvial as fl
import numpy as np
import training
from fluvial import nn
from model import Model


def sinusoid(length, dim):
    """A table of positions, `[length, dim]`: sines in the first half of the columns, cosines after."""
    rate = np.exp(-np.log(10000.0) * np.arange(dim // 2) / (dim // 2))
    angle = np.arange(length)[:, None] * rate
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)


class Attention(nn.Layer):
    """Attention of `x` over `memory`; `mask` is true where a key may be seen."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory, mask):
        k, v = self.kv(memory).chunk(2, -1)
        q, k, v = self.split(self.q(x)), self.split(k), self.split(v)
        y = fl.scaled_dot_product_attention(q, k, v, mask)
        return self.out(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Layer):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(fl.relu(self.fc1(x)))


class EncoderLayer(nn.Layer):
    def __init__(self, dim, heads, ffn):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn, self.ffn = Attention(dim, heads), FeedForward(dim, ffn)

    def forward(self, x, mask):
        y = self.norm1(x)
        x = x + self.attn(y, y, mask)
        return x + self.ffn(self.norm2(x))


class DecoderLayer(nn.Layer):
    def __init__(self, dim, heads, ffn):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(dim) for _ in range(3))
        self.attn, self.cross = Attention(dim, heads), Attention(dim, heads)
        self.ffn = FeedForward(dim, ffn)

    def forward(self, x, memory, mask, memory_mask):
        y = self.norm1(x)
        x = x + self.attn(y, y, mask)
        x = x + self.cross(self.norm2(x), memory, memory_mask)
        return x + self.ffn(self.norm3(x))


class Transformer(Model):
    """Norms come first; the loss counts targets other than padding, with smoothed labels."""

    def __init__(
        self, vocab=8000, dim=256, heads=8, layers=3, ffn=1024, length=64, smoothing=0.1, pad=0
    ):
        super().__init__("transformer")
        self.pad, self.smoothing, self.scale = pad, smoothing, math.sqrt(dim)
        first = fl.initializer.Normal(0.0, 1 / self.scale)
        self.src_embed = nn.Embedding(vocab, dim, weight_attr=first)
        self.tgt_embed = nn.Embedding(vocab, dim, weight_attr=first)
        self.encoder = nn.LayerList(EncoderLayer(dim, heads, ffn) for _ in range(layers))
        self.encoder_norm = nn.LayerNorm(dim)
        self.decoder = nn.LayerList(DecoderLayer(dim, heads, ffn) for _ in range(layers))
        self.decoder_norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)
        self.positions = fl.tensor(sinusoid(length, dim))
        self.causal = fl.tensor(np.tri(length, dtype=bool))

    def forward(self, src, tgt):
        src_mask = (src != self.pad)[:, None, None, :]
        tgt_mask = (tgt != self.pad)[:, None, None, :] & self.causal
        memory = self.src_embed(src) * self.scale + self.positions
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        memory = self.encoder_norm(memory)
        x = self.tgt_embed(tgt) * self.scale + self.positions
        for layer in self.decoder:
            x = layer(x, memory, tgt_mask, src_mask)
        return self.head(self.decoder_norm(x))

    def loss(self, src, tgt, y):
        logits = self(src, tgt).flatten(0, 1)
        return fl.cross_entropy(
            logits, y.flatten(), ignore_index=self.pad, label_smoothing=self.smoothing
        )


class Reversal(training.Task):
    def measure(self, src, tgt, y):
        """How many numbers are right, each guessed after the right ones before it."""
        return super().measure(src=src, tgt=tgt, y=fl.where(y == self.net.pad, -1, y))


def main(arguments=None, vocab=32, length=16, **sizes):
    def task(options):
        sizes_ = {"dim": 64, "heads": 4, "layers": 2, "ffn": 256, "smoothing": 0.0, **sizes}
        net = Transformer(vocab=vocab, length=length, **sizes_)
        optimizer = fl.optimizer.Adam(net.parameters(), 1e-3, betas=(0.9, 0.98), eps=1e-9)
        return Reversal(net, optimizer, datasets.reversal(options, vocab, length))

    return training.main(task, __doc__, arguments, epochs=8, batch_size=32)


if __name__ == "__main__":
    main()
