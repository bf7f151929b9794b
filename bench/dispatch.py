"""What one small op costs from Python, beside PyTorch where it is installed.

Both are timed in turns in one process, so that a busy machine slows both; the fastest of the
repetitions counts. Times are nanoseconds per op.
"""

import argparse
import time

import fluvial as fl

try:
    import torch
except ImportError:
    torch = None


def seconds(statement, names, calls, per_trip=4):
    """The time of `calls` repetitions of a statement, some of which stand in one trip."""
    code = f"def run(trips):\n for _ in trips:\n  {'; '.join([statement] * per_trip)}"
    scope = dict(names)
    exec(compile(code, "<statement>", "exec"), scope)
    trips = range(calls // per_trip)
    start = time.perf_counter()
    scope["run"](trips)
    return time.perf_counter() - start


def ours():
    a, b = fl.tensor(1.5), fl.tensor(2.5)
    x, y = fl.full((16,), 1.5), fl.full((16,), 2.5)
    names = {"a": a, "b": b, "t": a.track(), "x": x, "y": y, "exp": fl.exp}
    f = fl.compile(fl.build(lambda x: x * 2, {"x": "f32[n]"}))
    predict = fl.function(fl.nn.Sequential(*[fl.nn.Linear(64, 64) for _ in range(4)]).forward)
    names |= {"predict": predict, "rows": fl.full((32, 64), 0.5), "no_grad": fl.no_grad}
    return names | {"f": f, "g": fl.function(lambda x: x * 2)}


def theirs():
    torch.set_num_threads(1)
    a, b = torch.tensor(1.5), torch.tensor(2.5)
    x, y = torch.full((16,), 1.5), torch.full((16,), 2.5)
    t = torch.tensor(1.5, requires_grad=True)
    return {"a": a, "b": b, "t": t, "x": x, "y": y, "exp": torch.exp}


CASES = {
    "add, 1 element": "a + b",
    "add, 1 element, recorded": "t + b",
    "add of a number": "a + 2.0",
    "mul, 1 element, recorded": "t * b",
    "add, 16 elements": "x + y",
    "exp, 1 element": "exp(a)",
}
# What only programs have.
OURS = {
    "x * 2, 16 elements": "x * 2",
    "as a compiled program": "f(x)",
    "as fl.function": "g(x)",
}
# A model of four layers as a function: a call that is recorded for gradients, beside one that is not.
PREDICT = ("predict(rows)", "with no_grad(): predict(rows)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--repetitions", type=int, default=25)
    options = parser.parse_args()

    sides = {"fluvial": ours()}
    if torch is not None:
        sides["torch"] = theirs()
    else:
        print("PyTorch is not installed here: ours only")
    heads = [*sides, "ratio"] if torch is not None else [*sides]
    print(f"{'':28}" + "".join(f"{head:>10}" for head in heads))
    for name, statement in (CASES | OURS).items():
        if name in OURS:
            sides = {"fluvial": sides["fluvial"]}
        best = dict.fromkeys(sides, float("inf"))
        for _ in range(options.repetitions):
            for side, names in sides.items():
                best[side] = min(best[side], seconds(statement, names, options.calls))
        row = [best[side] / options.calls * 1e9 for side in sides]
        ratio = f"{row[0] / row[1]:>10.2f}" if len(row) > 1 else ""
        print(f"{name:28}" + "".join(f"{ns:>10.0f}" for ns in row) + ratio)
    best = [float("inf")] * len(PREDICT)
    calls = max(options.calls // 20, 4)
    for _ in range(options.repetitions):
        for i, statement in enumerate(PREDICT):
            best[i] = min(best[i], seconds(statement, sides["fluvial"], calls, per_trip=1))
    recorded, bare = (time / calls * 1e9 for time in best)
    print(f"{'predict, without no_grad':28}{recorded:>10.0f}, with it {bare:.0f}: {recorded / bare:.2f}x")


if __name__ == "__main__":
    main()
