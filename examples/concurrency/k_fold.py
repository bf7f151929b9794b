"""Several models at once: each learns from all parts of the data but one, and is judged by that one.

`fl.parallel_for` calls the training of each fold in a thread of its own. The steps are compiled, so the threads do not wait
for Python's interpreter.

    python examples/concurrency/k_fold.py [--folds 4] [--steps 100]
"""

import argparse

import data
import fluvial as fl
import numpy as np


class Fold:
    """A model, and what it learns from and is judged by."""

    def __init__(self, seed, train, test):
        fl.seed(seed)
        self.net = fl.nn.Sequential(fl.nn.Linear(64, 32), fl.nn.ReLU(), fl.nn.Linear(32, 10))
        # Draws the initial values now: in the trips, the order of the threads would decide which are whose.
        self.net(train[0][:1])
        self.adam = fl.optimizer.Adam(self.net.parameters(), 5e-3)
        self.train, self.test = train, test


def learn(fold, steps):
    x, y = fold.train

    @fl.function
    def step():
        fold.adam.minimize(fl.mean(fl.cross_entropy(fold.net(x), y)))

    for _ in range(steps):
        step()
    x, y = fold.test
    return fl.mean(fl.cast(fl.argmax(fold.net(x), 1) == y, "float32")).item()


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--samples", type=int)
    options = parser.parse_args(arguments)
    images, labels = data.digits(options.samples)
    parts = np.random.RandomState(1).permutation(len(images)) % options.folds
    folds = []
    for part in range(options.folds):
        train, test = ((fl.tensor(images[rows]), fl.tensor(labels[rows])) for rows in (parts != part, parts == part))
        folds.append(Fold(part, train, test))
    scores = fl.parallel_for(folds, lambda fold: learn(fold, options.steps))
    print(" ".join(f"{score:.1%}" for score in scores), f"mean {np.mean(scores):.1%}")
    return scores


if __name__ == "__main__":
    main()
