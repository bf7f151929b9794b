"""One training function, run line by line and as a program, with the same numbers.

A small network learns a noisy line. The whole training is one function: a loop with an unknown
number of trips, a choice of the learning rate, dropout, gradients and the update of parameters.
"""

import numpy as np

import fluvial as fl

STEPS = 20


def normal(shape, dtype):
    return fl.normal((dtype, shape), std=0.5)


def model(x):
    hidden = x @ fl.parameter("hidden.w", (3, 8), init=normal) + fl.parameter("hidden.b", (8,))
    hidden = fl.dropout(fl.tanh(hidden), 0.1)
    return hidden @ fl.parameter("out.w", (8, 1), init=normal) + fl.parameter("out.b", (1,))


def train(x, y):
    """Trains for at most `STEPS` steps; returns the number of steps and the last loss."""

    def unfinished(step, loss):
        return (step < STEPS) & (loss > 0.02)

    def train_step(step, loss):
        error = model(x) - y
        loss = fl.mean(error * error)
        names = ["hidden.w", "hidden.b", "out.w", "out.b"]
        parameters = [fl.read_state(name) for name in names]
        rate = fl.cond(loss > 0.5, lambda: fl.tensor(0.2), lambda: fl.tensor(0.1))
        for name, parameter, gradient in zip(names, parameters, fl.grad(loss, parameters)):
            fl.assign_state(name, parameter - rate * gradient)
        return step + 1, loss.detach()

    return fl.while_loop(unfinished, train_step, (0, fl.full((), 1.0)))


def data():
    generator = np.random.default_rng(7)
    x = generator.normal(size=(32, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.3
    return x, y


def run(mode):
    """Trains from the start in one of the two modes; returns steps, loss and parameters."""
    x, y = (fl.tensor(array) for array in data())
    with fl.State() as state:
        fl.seed(42)
        if mode == "imperative":
            steps, loss = train(x, y)
        else:
            program = fl.build(train, {"x": "f32[rows, 3]", "y": "f32[rows, 1]"})
            steps, loss = program.run(x=x, y=y).values()
    return int(steps), float(loss), {name: state[name].numpy() for name in state.names()}


def main():
    for mode in ["imperative", "program"]:
        steps, loss, parameters = run(mode)
        print(f"{mode:>10}: {steps} steps, loss {loss!r}, out.b {parameters['out.b'].item()!r}")


if __name__ == "__main__":
    main()
