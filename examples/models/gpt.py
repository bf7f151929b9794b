"""A small GPT: a decoder that learns to continue a text."""

import fluvial as fl
from fluvial import nn
from model import Model

FIRST = fl.initializer.Normal(0.0, 0.02)
ZERO = fl.initializer.Zeros()


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, weight_attr=FIRST, bias_attr=ZERO)


class Block(nn.Layer):
    """Attention to what came before, then a feed-forward network, each added to its input."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = linear(dim, 3 * dim), linear(dim, dim)
        self.fc1, self.fc2 = linear(dim, 4 * dim), linear(4 * dim, dim)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.split(t) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        y = fl.scaled_dot_product_attention(q, k, v, causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.fc2(fl.gelu(self.fc1(self.norm2(x))))


class Gpt(Model):
    """Learned positions; the head is the table of tokens."""

    def __init__(self, vocab=96, dim=384, heads=6, layers=6, length=128):
        super().__init__("gpt")
        self.tok = nn.Embedding(vocab, dim, weight_attr=FIRST)
        self.pos = nn.Embedding(length, dim, weight_attr=FIRST)
        self.blocks = nn.LayerList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.tok(x) + self.pos.weight
        for block in self.blocks:
            x = block(x)
        return fl.linear(self.norm(x), self.tok.weight)

    def loss(self, x, y):
        return fl.cross_entropy(self(x).flatten(0, 1), y.flatten())
