"""Word vectors from a novel, by several tasks that change the same table without waiting for a common step ("Hogwild").

Each task goes over its own part of the text. It looks at the vectors of the moment, computes what should change, and updates
the table as it is by then: no change of another task is lost, though it may be newer than what the gradient was computed from.
The method is skip-gram with negative samples. All tasks are one program.

    python examples/concurrency/hogwild_word2vec.py [--tasks 2] [--steps 400]
"""

import argparse

import data
import fluvial as fl
import numpy as np


def pairs(count, vocabulary):
    """Numbers of words, and of words within two places of them, and the words by number."""
    text = data.words(count)
    names, numbers, often = np.unique(text, return_inverse=True, return_counts=True)
    order = np.argsort(-often, kind="stable")[:vocabulary]
    place = np.full(len(names), -1)
    place[order] = np.arange(len(order))
    known = place[numbers]
    known = known[known >= 0]
    found = [(known[:-d], known[d:]) for d in (1, 2)]
    both = np.concatenate([np.stack(each, 1) for each in found] + [np.stack(each[::-1], 1) for each in found])
    return np.random.RandomState(1).permutation(both).astype(np.int64), names[order]


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--words", type=int, default=20000)
    parser.add_argument("--vocabulary", type=int, default=300)
    parser.add_argument("--dim", type=int, default=16)
    options = parser.parse_args(arguments)
    fl.seed(1)
    found, names = pairs(options.words, options.vocabulary)
    examples = fl.tensor(found)
    n_words, batch, rate = len(names), 64, 0.5
    vectors = fl.nn.Parameter(fl.uniform(f"f32[2, {n_words}, {options.dim}]", -0.3, 0.3))

    def loss(table, rows, others):
        near = fl.gather(table[0], rows[:, 0], 0)
        good = fl.sum(near * fl.gather(table[1], rows[:, 1], 0), -1)
        bad = fl.sum(near[:, None] * fl.reshape(fl.gather(table[1], fl.reshape(others, (-1,)), 0), (batch, 4, -1)), -1)
        return fl.mean(fl.softplus(-good)) + fl.mean(fl.sum(fl.softplus(bad), 1))

    def work(table, first, steps):
        last = fl.tensor(0.0)
        for step in range(steps):
            rows = fl.gather(examples, (first + step * batch + fl.arange(0, batch)) % len(found), 0)
            others = fl.randint(0, n_words, (batch, 4))
            wrong, slope = fl.value_and_grad(loss)(table.get(), rows, others)
            table.update(lambda now, slope=slope: now - rate * slope)
            last = wrong
        return last

    @fl.function
    def train(steps):
        with fl.shared(vectors) as table:
            tasks = []
            for i in range(options.tasks):
                first = i * (len(found) // options.tasks)
                tasks.append(fl.go(work, table, first, steps))
            return fl.stack([task.wait() for task in tasks])

    before = loss(vectors.detach(), examples[:batch], fl.randint(0, n_words, (batch, 4))).item()
    losses = train(fl.tensor(options.steps)).tolist()
    print(f"loss {before:.3f} at first,", " ".join(f"{each:.3f}" for each in losses), "of the tasks at the end")
    return before, losses


if __name__ == "__main__":
    main()
