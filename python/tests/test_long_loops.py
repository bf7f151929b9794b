"""Loops of Python with many trips become loops of the program; what needs the count while it is built stays unrolled."""

import subprocess
import sys

import numpy as np
import pytest
from debug_editor import environment

import fluvial as fl
from fluvial import nn

MANY = 3000


def n_lines(program):
    return program.text().count("\n")


def agree(function, *args):
    """The results of a function by its program and by its lines; the program."""
    built = fl.function(function)
    by_program, by_lines = built(*args), function(*args)
    assert np.array_equal(np.asarray(by_program.numpy()), np.asarray(by_lines.numpy()))
    (program,) = built.programs
    return program


X = np.linspace(-1, 1, 5, dtype="float32")


class TestRanges:
    def test_many_trips_are_one_body(self):
        def f(x, steps):
            for i in range(steps):
                x = x * 0.999 + i * 1e-6
            return x

        assert n_lines(agree(f, fl.tensor(X), MANY)) < 60

    @pytest.mark.parametrize("bounds", [(5, 3005), (3000, 0, -1), (0, 9000, 3)])
    def test_bounds_and_steps(self, bounds):
        def f(x, first, *more):
            for i in range(first, *more):
                x = x * 0.999 + i * 1e-6
            return x

        assert n_lines(agree(f, fl.tensor(X), *bounds)) < 60

    def test_break_else_and_a_name_bound_first_in_the_loop(self):
        def f(x, steps):
            last = None
            for i in range(steps):
                x = x * 1.01
                last = i
                if fl.sum(fl.abs(x)) > 1e3:
                    break
            else:
                x = x * 0.0
            return x + last

        assert n_lines(agree(f, fl.tensor(X), MANY)) < 100

    def test_short_ones_are_unrolled(self):
        def f(x):
            for i in range(100):
                x = x + i
            return x

        assert "while" not in agree(f, fl.tensor(X)).text()

    def test_a_list_of_layers(self):
        layers = [lambda x, k=k: x + k for k in range(300)]

        def f(x):
            for i in range(300):
                x = layers[i](x) * 0.5
            return x

        assert "while" not in agree(f, fl.tensor(X)).text()

    def test_a_table_of_numbers_is_python_s(self):
        import math

        def f(x):
            table = []
            for i in range(1000):
                table.append(math.sin(i))
            return x * table[7] + len(table)

        assert n_lines(agree(f, fl.tensor(X))) < 30

    def test_a_number_that_is_needed_behind_the_loop(self):
        def f(x):
            n = 0
            for i in range(400):
                x = x * 0.99
                n += i % 2
            return fl.reshape(x, [n // 40, 1])

        agree(f, fl.tensor(X))

    def test_a_list_that_grows(self):
        def f(x):
            seen = []
            for _ in range(400):
                x = x * 0.99
                seen.append(fl.sum(x))
            return fl.stack(seen)

        assert n_lines(agree(f, fl.tensor(X))) < 100

    def test_an_error_of_the_user_s(self):
        @fl.function
        def f(x):
            for i in range(1000):
                x = x + i
                if i == 700:
                    raise ValueError("seven hundred")
            return x

        with pytest.raises(ValueError, match="seven hundred"):
            f(fl.tensor(X))

    def test_a_while_with_a_count(self):
        def f(x):
            i = 0
            while i < 2000:
                x = x * 0.999 + i * 1e-6
                i += 1
            return x

        program = agree(f, fl.tensor(X))
        assert "while" in program.text()

    def test_gradients_and_a_training(self):
        results = []
        for compiled in (True, False):
            fl.seed(0)
            net = nn.Linear(5, 1)
            sgd = fl.optimizer.SGD(net.parameters(), 0.01)

            def train(x, steps, net=net, sgd=sgd):
                loss = fl.tensor(0.0)
                for _ in range(steps):
                    loss = fl.mean((net(x) - 1.0) ** 2)
                    sgd.minimize(loss)
                return loss

            step = fl.function(train) if compiled else train
            loss = step(fl.tensor(X[None]), 400)
            results.append((loss.item(), [p.numpy().tolist() for p in net.parameters()]))
            if compiled:
                assert n_lines(step.programs[0]) < 300
        assert results[0] == results[1]


SCRIPT = """
import sys
import fluvial as fl

x = fl.data("x", [5], "float32")

@fl.function
def f(x, steps):
    for i in range(steps):
        x = x * 0.999 + i * 1e-6
    return x

y = f(x, int(sys.argv[1]))
"""


def test_build_of_a_script(tmp_path):
    script, out = tmp_path / "steps.py", tmp_path / "steps.fl"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "fluvial._build", str(script), "-o", str(out), "--", str(MANY)]
    subprocess.run(command, env=environment(), check=True, timeout=120)
    assert out.read_text().count("\n") < 100
