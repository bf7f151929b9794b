"""A recurrent language model; its state goes on from one piece of the text to the next.

Data: sixteen chapters of Moby-Dick (see `examples/data`), a token for each character. `--data` may
be another file of text, or `synthetic`.

    python examples/models/ptb_lstm.py --mode imperative    # line by line
    python examples/models/ptb_lstm.py --save out --resume  # goes on from what was saved
    python examples/models/ptb_lstm.py --export ptb_lstm.flb  # for `fluvial run`
"""

import datasets
import fluvial as fl
import training
from fluvial import nn
from model import Model


class PtbLstm(Model):
    """An embedding, stacked LSTMs and a linear head."""

    def __init__(self, vocab=10_000, hidden=200, layers=2, batch=20):
        super().__init__("ptb_lstm")
        first = fl.initializer.Uniform(-0.1, 0.1)
        self.embed = nn.Embedding(vocab, hidden, weight_attr=first)
        self.lstm = nn.LSTM(
            hidden, hidden, layers, batch_first=True, weight_attr=first, bias_attr=first
        )
        self.head = nn.Linear(hidden, vocab, weight_attr=first, bias_attr=first)
        self.h = nn.Buffer((layers, batch, hidden), persistent=False)
        self.c = nn.Buffer((layers, batch, hidden), persistent=False)

    def run(self, x, state=None):
        """The logits, and the state after the text; a state of zeros by default."""
        y, state = self.lstm(self.embed(x), state)
        return self.head(y), state

    def forward(self, x):
        return self.run(x)[0]

    def loss(self, x, y):
        """Goes on from the state of the last batch, whose gradient ends here."""
        logits, (h, c) = self.run(x, (self.h, self.c))
        self.h, self.c = h.detach(), c.detach()
        return fl.cross_entropy(logits.flatten(0, 1), y.flatten())


def main(arguments=None, length=35, **sizes):
    def task(options):
        net = PtbLstm(vocab=len(datasets.CHARACTERS), batch=options.batch_size, **sizes)
        clip = fl.clip.GradientClipByGlobalNorm(1.0)
        optimizer = fl.optimizer.Adam(net.parameters(), 3e-3, grad_clip=clip)
        data = datasets.text(options, length, rows=options.batch_size)
        return training.Language(net, optimizer, data)

    return training.main(task, __doc__, arguments, epochs=5, batch_size=20)


if __name__ == "__main__":
    main()
