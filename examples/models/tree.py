"""A network that follows the tree of an expression: its control flow depends on the data.

It learns what `true false not and` and the like mean, from expressions (operators come last) and
their values alone. A token at a time, it keeps vectors on a stack: a value is pushed, an operator
takes its operands off and pushes what the network makes of them. How often the `while` runs and
which way each `if` goes is different for each expression; in a program they are loops and branches
of the program, the stack is a list of the program, and the gradient goes back through all of them.

Data: synthetic, random expressions of up to six values.

    python examples/models/tree.py                       # as a program
    python examples/models/tree.py --mode imperative     # line by line, with the same numbers
"""

import datasets
import fluvial as fl
import numpy as np
import training
from fluvial import nn
from model import Model

WORDS = END, FALSE, TRUE, NOT, AND, OR, XOR = range(7)
BINARY = {AND: np.logical_and, OR: np.logical_or, XOR: np.logical_xor}


class Tree(Model):
    """A vector for each word, a layer for operators of one operand, and one for those of two."""

    def __init__(self, dim=16):
        super().__init__("tree")
        self.dim = dim
        self.words = nn.Embedding(len(WORDS), dim)
        self.one = nn.Linear(dim, dim)
        self.two = nn.Linear(3 * dim, dim)
        self.head = nn.Linear(dim, 2)

    def value(self, tokens):
        """The vector of an expression, `tokens: i64[length]`, which ends with `END`."""
        # Below what is pushed there are two that no expression takes off.
        stack = [fl.zeros((self.dim,)), fl.zeros((self.dim,))]
        place, token = 0, tokens[0]
        while token != END:
            word = self.words(token)
            if token <= TRUE:
                stack.append(word)
            elif token == NOT:
                stack.append(fl.tanh(self.one(stack.pop())))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(fl.tanh(self.two(fl.concat([word, left, right], 0))))
            place += 1
            token = tokens[place]
        return stack.pop()

    def forward(self, x):
        values = []
        for tokens in x:
            values.append(self.value(tokens))
        return self.head(fl.stack(values))

    def loss(self, x, y):
        return fl.cross_entropy(self(x), y)


def expression(rng, n_values):
    """A random expression of so many values, as tokens, and what it is."""
    if n_values == 1:
        value = bool(rng.randint(2))
        tokens = [TRUE if value else FALSE]
    else:
        n_left = rng.randint(1, n_values)
        left, a = expression(rng, n_left)
        right, b = expression(rng, n_values - n_left)
        operator = rng.choice(list(BINARY))
        tokens, value = [*left, *right, operator], bool(BINARY[operator](a, b))
    if rng.rand() < 0.2:
        tokens, value = [*tokens, NOT], not value
    return tokens, value


def expressions(options, most_values):
    """Random expressions `x: i64[batch, length]`, filled up with `END`, and their values `y`."""

    def make():
        rng, n = np.random.RandomState(options.seed), datasets.number(options, 4000)
        made = [expression(rng, rng.randint(1, most_values + 1)) for _ in range(n)]
        x = np.full((n, 4 * most_values), END)
        for row, (tokens, _) in zip(x, made):
            row[: len(tokens)] = tokens
        return datasets.parted({"x": x, "y": np.array([int(value) for _, value in made])})

    name = f"expressions-{most_values}-{datasets.number(options, 4000)}-{options.seed}"
    what = f"synthetic expressions of up to {most_values} values"
    return datasets.opened(options, what, datasets.made(options, name, make))


def main(arguments=None, most_values=6, **sizes):
    def task(options):
        net = Tree(**sizes)
        optimizer = fl.optimizer.Adam(net.parameters(), 5e-3)
        return training.Task(net, optimizer, expressions(options, most_values))

    return training.main(task, __doc__, arguments, epochs=5, batch_size=16)


if __name__ == "__main__":
    main()
