"""Costs of channels and tasks, and how much faster a parallel loop is.

    python bench/concurrency.py [--messages 10000000]
"""

import argparse
import resource
import time

import fluvial as fl


def timed(f, repeat=3):
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - begin)
    return best


@fl.function
def within_a_task(n):
    ch = fl.make_channel("i64[]", capacity=1)
    i, total = fl.tensor(0), fl.tensor(0)
    while i < n:
        ch.send(i)
        x, _ = ch.recv()
        total = total + x
        i = i + 1
    return total


@fl.function
def nothing(n):
    i, total = fl.tensor(0), fl.tensor(0)
    while i < n:
        total = total + i
        i = i + 1
    return total


@fl.function
def across(n):
    ch = fl.make_channel("i64[]", capacity=64)

    def produce():
        i = fl.tensor(0)
        while i < n:
            ch.send(i)
            i = i + 1
        ch.close()

    fl.go(produce)
    total = fl.tensor(0)
    for x in ch:
        total = total + x
    return total


@fl.function
def hand_over(n):
    there, back = fl.make_channel("i64[]"), fl.make_channel("i64[]")

    def answer():
        for x in there:
            back.send(x)

    fl.go(answer)
    i = fl.tensor(0)
    while i < n:
        there.send(i)
        i = back.recv()[0] + 1
    there.close()
    return i


def mlp(seed):
    fl.seed(seed)
    return fl.nn.Sequential(fl.nn.Linear(64, 128), fl.nn.ReLU(), fl.nn.Linear(128, 10))


def trainings():
    x, y = fl.uniform("f32[256, 64]", -1.0, 1.0), fl.uniform("f32[256, 10]", -1.0, 1.0)
    steps = []
    for seed in range(8):
        net = mlp(seed)
        optimizer = fl.optimizer.SGD(net.parameters(), 0.01)

        def step(net=net, optimizer=optimizer):
            for _ in range(50):
                loss = fl.mean((net(x) - y) ** 2)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return loss

        function = fl.function(step)
        function()
        steps.append(function)
    return steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=1_000_000)
    n = parser.parse_args().messages
    small = fl.tensor(100_000)
    for f in (within_a_task, nothing, across, hand_over):
        f(fl.tensor(10))
    own = (timed(lambda: within_a_task(small)) - timed(lambda: nothing(small))) / 100_000
    print(f"send and receive within a task: {own * 1e9:.0f} ns")
    print(f"a message between threads, capacity 64: {timed(lambda: across(small)) / 1e5 * 1e6:.2f} us")
    few = fl.tensor(10_000)
    print(f"a message between threads, handed over: {timed(lambda: hand_over(few)) / 2e4 * 1e6:.2f} us")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    across(fl.tensor(n))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{n} messages: {time.perf_counter() - begin:.1f} s, {after - before} kB more memory")
    steps = trainings()
    fl.set_num_threads(1)
    one = timed(lambda: [step() for step in steps])
    fl.set_num_threads(2)
    two = timed(lambda: fl.parallel_for(steps, lambda step: step()))
    print(f"8 trainings: {one:.3f} s one after the other, {two:.3f} s on two threads: {one / two:.2f}x")


if __name__ == "__main__":
    main()
