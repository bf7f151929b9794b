"""Four actors play, and a learner makes them better: policy gradients in one program.

A walker stands on a line of eleven places and shall reach the right end within twenty steps. Each actor plays episodes with
the policy of the moment, which the learner sends to it, and sends back what it saw, did and got. The learner waits for one
episode of each actor, changes the policy, and sends it on. Actors play at the same time, each with random numbers of its own.

    python examples/concurrency/actors_and_learner.py [--rounds 60]
"""

import argparse

import fluvial as fl

PLACES, LENGTH, WALKERS = 11, 20, 16


def play(policy):
    """Episodes of several walkers: where they were, whether they went right, and what each got at last."""
    place = fl.full((WALKERS,), PLACES // 2, "int64")
    places, moves = [], []
    for _ in range(LENGTH):
        chance = fl.sigmoid(fl.gather(policy, place, 0))
        right = fl.cast(fl.uniform(f"f32[{WALKERS}]", 0.0, 1.0) < chance, "int64")
        places.append(place)
        moves.append(fl.cast(right, "float32"))
        at_end = place == PLACES - 1
        place = fl.where(at_end, place, fl.clip(place + 2 * right - 1, 0, PLACES - 1))
    return fl.stack(places), fl.stack(moves), fl.cast(place == PLACES - 1, "float32")


def actor(policies, places_out, moves_out, gains_out):
    for policy in policies:
        places, moves, gains = play(policy)
        places_out.send(places)
        moves_out.send(moves)
        gains_out.send(gains)


def doubt(policy, places, moves, gains):
    """Less where moves that led to more than others are likely."""
    logits = fl.gather(policy, fl.reshape(places, (-1,)), 0)
    moves = fl.reshape(moves, (-1,))
    worth = fl.reshape(fl.broadcast_to(gains - fl.mean(gains), places.shape), (-1,))
    counts = fl.cast(fl.reshape(places, (-1,)) < PLACES - 1, "float32")
    return fl.sum((fl.softplus(logits) - moves * logits) * worth * counts) / WALKERS


def train(rounds, actors):
    channels = []
    for _ in range(actors):
        policies = fl.make_channel(f"f32[{PLACES}]")
        played = [fl.make_channel(f"{of}[{LENGTH}, {WALKERS}]", capacity=1) for of in ("i64", "f32")]
        channels.append((policies, *played, fl.make_channel(f"f32[{WALKERS}]", capacity=1)))
    tasks = [fl.go(actor, *each) for each in channels]
    policy = fl.zeros(PLACES)
    first, last = fl.tensor(0.0), fl.tensor(0.0)
    for number in range(rounds):
        for policies, *_ in channels:
            policies.send(policy)
        change, gain = fl.zeros(PLACES), fl.tensor(0.0)
        for _, places_in, moves_in, gains_in in channels:
            places, moves, gains = places_in.recv()[0], moves_in.recv()[0], gains_in.recv()[0]
            change = change + fl.grad(doubt)(policy, places, moves, gains)
            gain = gain + fl.mean(gains)
        policy = policy - 0.5 * change
        last = gain / actors
        if number == 0:
            first = last * 1.0
    for policies, *_ in channels:
        policies.close()
    for task in tasks:
        task.wait()
    return first, last


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--actors", type=int, default=4)
    options = parser.parse_args(arguments)
    fl.seed(1)
    first, last = fl.function(lambda rounds: train(rounds, options.actors))(fl.tensor(options.rounds))
    print(f"{first.item():.1%} reach the end at first, {last.item():.1%} at last")
    return first.item(), last.item()


if __name__ == "__main__":
    main()
