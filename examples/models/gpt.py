"""A small GPT: a decoder that learns to continue a text.

Data: sixteen chapters of Moby-Dick (see `examples/data`), a token for each character. `--data` may
be another file of text, or `synthetic`. At the end it writes a text of its own.

    python examples/models/gpt.py --mode imperative    # line by line
    python examples/models/gpt.py --save out --resume  # goes on from what was saved
    python examples/models/gpt.py --export gpt.flb  # for `fluvial run`
"""

import datasets
import fluvial as fl
import training
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


class Text(training.Language):
    def finish(self):
        """Writes on from the beginning of the test data, a likely character at a time."""
        text = next(iter(self.data.test))[0][0].tolist()
        length = len(text)
        with fl.no_grad():
            for _ in range(200):
                logits = self.net(fl.tensor([text[-length:]]))[0, -1]
                text.append(int(fl.argmax(logits + 0.7 * gumbel(logits))))
        print("\n" + datasets.decoded(text[:length]) + " ...\n\n" + datasets.decoded(text[length:]))


def gumbel(like):
    """Noise that makes the largest of noisy logits a sample of their distribution."""
    return -fl.log(-fl.log(fl.uniform(like.type_text, 1e-6, 1.0)))


def main(arguments=None, length=128, **sizes):
    def task(options):
        sizes_ = {"dim": 128, "heads": 4, "layers": 4, **sizes}
        net = Gpt(vocab=len(datasets.CHARACTERS), length=length, **sizes_)
        data = datasets.text(options, length)
        steps = options.epochs * len(data.train)
        rate = fl.optimizer.lr.warm_up(100, 0.01, fl.optimizer.lr.cosine(steps))
        optimizer = fl.optimizer.AdamW(
            net.parameters(), 3e-3, betas=(0.9, 0.95), weight_decay=0.1, schedule=rate
        )
        return Text(net, optimizer, data)

    return training.main(task, __doc__, arguments, epochs=10, batch_size=8)


if __name__ == "__main__":
    main()
