"""A task makes the next batches while the network learns from this one.

The work of the task is the user's own: it moves each digit by a pixel at random, adds noise, and sends the batch. The channel
holds two batches, so the task is at most that far ahead. All of it is one program, which needs no Python when it runs.

    python examples/concurrency/reading_ahead.py [--steps 300]
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
    net = fl.nn.Sequential(fl.nn.Linear(64, 64), fl.nn.ReLU(), fl.nn.Linear(64, 10))
    adam = fl.optimizer.Adam(net.parameters(), 3e-3)
    batch = options.batch

    def prepare(steps, images_out, labels_out):
        for _ in range(steps):
            rows = fl.randint(0, 1500, (batch,))
            x = fl.reshape(fl.gather(images, rows, 0), (batch, 8, 8))
            moved = fl.where(fl.uniform(f"f32[{batch}, 1, 1]", 0.0, 1.0) < 0.5, x, fl.roll(x, 1, 2))
            images_out.send(fl.reshape(moved + 0.1 * fl.normal(f"f32[{batch}, 8, 8]"), (batch, 64)))
            labels_out.send(fl.gather(labels, rows, 0))
        images_out.close()

    @fl.function
    def train(steps):
        xs = fl.make_channel(f"f32[{batch}, 64]", capacity=2)
        ys = fl.make_channel(f"i64[{batch}]", capacity=2)
        ahead = fl.go(prepare, steps, xs, ys)
        last = fl.tensor(0.0)
        for x in xs:
            y, _ = ys.recv()
            loss = fl.mean(fl.cross_entropy(net(x), y))
            adam.minimize(loss)
            last = loss.detach()
        ahead.wait()
        return last

    loss = train(fl.tensor(options.steps)).item()
    right = fl.mean(fl.cast(fl.argmax(net(images[1500:]), 1) == labels[1500:], "float32")).item()
    print(f"loss {loss:.3f}, {right:.1%} of the test right")
    return right


if __name__ == "__main__":
    main()
