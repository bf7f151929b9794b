"""A network in two stages, each a task with parameters of its own; activations go forth and gradients come back on channels.

While the second stage works on a batch, the first one computes the next: it sends a batch ahead before it takes the gradient
of the one before, and one too many at the end. Messages carry no gradient, so each stage asks for its own: the second one for that of what it received,
the first one for what this means for its parameters. `minimize` wants the gradients of its own parameters only.

    python examples/concurrency/pipeline.py [--steps 300]
"""

import argparse

import data
import fluvial as fl


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args(arguments)
    fl.seed(1)
    images, labels = map(fl.tensor, data.digits())
    lower = fl.nn.Sequential(fl.nn.Linear(64, 48), fl.nn.ReLU())
    upper = fl.nn.Sequential(fl.nn.Linear(48, 32), fl.nn.ReLU(), fl.nn.Linear(32, 10))
    of_lower = fl.optimizer.SGD(lower.parameters(), 0.2)
    of_upper = fl.optimizer.SGD(upper.parameters(), 0.2)
    batch = options.batch

    def rows_of(step):
        return (step * batch + fl.arange(0, batch)) % 1500

    def ahead(step, there):
        with fl.no_grad():
            there.send(lower(fl.gather(images, rows_of(step), 0)))

    def learn(step, back):
        slope, _ = back.recv()
        hidden = lower(fl.gather(images, rows_of(step), 0))
        of_lower.minimize(fl.sum(hidden * slope))

    def second(steps, there, back):
        loss = fl.tensor(0.0)
        for step in range(steps):
            hidden, _ = there.recv()
            rows = rows_of(step)
            y = fl.gather(labels, rows, 0)
            slope = fl.grad(lambda h: fl.mean(fl.cross_entropy(upper(h), y)))(hidden)
            back.send(slope.detach())
            wrong = fl.mean(fl.cross_entropy(upper(hidden), y))
            of_upper.minimize(wrong)
            loss = wrong.detach()
        there.recv()
        return loss

    def first(steps, there, back):
        ahead(0, there)
        for step in range(steps):
            ahead(step + 1, there)
            learn(step, back)

    @fl.function
    def train(steps):
        there = fl.make_channel(f"f32[{batch}, 48]", capacity=1)
        back = fl.make_channel(f"f32[{batch}, 48]", capacity=1)
        stages = [fl.go(first, steps, there, back), fl.go(second, steps, there, back)]
        return [stage.wait() for stage in stages][1]

    loss = train(fl.tensor(options.steps)).item()
    right = fl.mean(fl.cast(fl.argmax(upper(lower(images[1500:])), 1) == labels[1500:], "float32")).item()
    print(f"loss {loss:.3f}, {right:.1%} of the test right")
    return right


if __name__ == "__main__":
    main()
