"""A task judges the network while it goes on learning.

Now and then the training offers what the parameters are. If the task is still busy with the ones before, the offer is
dropped: the training never waits. Tensors cannot be changed by others, so what was sent stays what it was.

    python examples/concurrency/evaluation_beside.py [--steps 200]
"""

import argparse

import data
import fluvial as fl


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=20)
    options = parser.parse_args(arguments)
    fl.seed(1)
    images, labels = map(fl.tensor, data.digits())
    net = fl.nn.Sequential(fl.nn.Linear(64, 10))
    # A layer may have other parameters for a call, but not while somebody else calls it.
    judged = fl.nn.Sequential(fl.nn.Linear(64, 10))
    adam = fl.optimizer.Adam(net.parameters(), 1e-2)

    @fl.function
    def step():
        loss = fl.mean(fl.cross_entropy(net(images[:1500]), labels[:1500]))
        adam.minimize(loss)
        return loss

    @fl.function
    def score(weight, bias):
        guess = fl.functional_call(judged, {"0.weight": weight, "0.bias": bias}, images[1500:])
        return fl.mean(fl.cast(fl.argmax(guess, 1) == labels[1500:], "float32"))

    offers = fl.make_channel("f32[10, 65]")

    def now():
        with fl.no_grad():
            return fl.concat([net[0].weight, net[0].bias[:, None]], 1)

    def judge():
        scores = []
        for both in offers:
            scores.append(score(both[:, :-1], both[:, -1]).item())
        return scores

    task = fl.go(judge)
    dropped = 0
    for number in range(options.steps):
        step()
        if number % options.every == 0:
            both = now()
            with fl.Select() as s:
                with s.case(fl.channel_send, offers, both):
                    pass
                with s.default():
                    dropped += 1
    offers.send(now())
    offers.close()
    scores = task.wait()
    print(" ".join(f"{each:.1%}" for each in scores), f"and {dropped} offers dropped")
    return scores


if __name__ == "__main__":
    main()
