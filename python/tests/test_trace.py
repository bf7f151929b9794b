"""`fl.debug.trace`: every op of a call, in both modes."""

import numpy as np
import pytest

import fluvial as fl
from fluvial import nn


def line_of(text):
    """The place in this file of the line that ends in a comment of this text."""
    with open(__file__, encoding="utf-8") as file:
        for i, line in enumerate(file, 1):
            if line.rstrip().endswith(f"# {text}"):
                return f"{__file__}:{i}"
    raise AssertionError(text)


def halved(x):
    y = fl.log(x)  # log
    while fl.sum(x) > 1.0:  # loop
        x = x / 2.0  # half
    return fl.sum(y) + fl.sum(x)


def doubled(x):
    return fl.sum(fl.log(x) * 2.0)  # once


COMPILED = fl.function(halved)
PROGRAM = fl.build(doubled, {"x": "f32[n]"})


def ops(trace, leave_out=("constant", "while")):
    return [(row.line, row.op) for row in trace if row.op not in leave_out]


class TestModes:
    def test_a_function_line_by_line_and_compiled_runs_the_same_ops(self):
        x = fl.tensor([1.0, 2.0, 5.0])
        with fl.mode("imperative"):
            by_line = fl.debug.trace(COMPILED, x)
        compiled = fl.debug.trace(COMPILED, x)
        assert ops(by_line) == ops(compiled) == ops(fl.debug.trace(halved, x))
        assert by_line.result.tolist() == compiled.result.tolist() == halved(x).tolist()
        assert ops(compiled)[0] == (line_of("log"), "log")
        assert ops(compiled).count((line_of("half"), "div")) == 3

    def test_what_a_loop_runs_stands_behind_it_and_deeper(self):
        rows = fl.debug.trace(COMPILED, fl.tensor([4.0])).rows
        loop = next(i for i, row in enumerate(rows) if row.op == "while")
        inside = [row for row in rows[loop + 1 :] if row.depth == 1]
        assert rows[loop].depth == 0 and rows[loop].line == line_of("loop")
        assert rows[loop + 1 : loop + 1 + len(inside)] == inside
        assert sum(row.op == "div" for row in inside) == 2
        assert rows[loop].seconds >= max(row.seconds for row in inside)

    @pytest.mark.parametrize("make", [lambda: PROGRAM, lambda: fl.compile(PROGRAM)])
    def test_programs_run_unfused(self, make):
        program = make()
        x = fl.tensor([1.0, 2.0])
        trace = fl.debug.trace(program, x)
        assert ops(trace) == [(line_of("once"), op) for op in ("log", "mul", "sum")]
        assert trace.result.tolist() == program(x).tolist()
        assert fl.debug.trace(program, x=x).rows[0].inputs == ("f32[2]",)

    def test_gradients_have_the_lines_of_what_they_differentiate(self):
        w = fl.tensor([1.0, 2.0]).track()

        def step():
            loss = fl.sum(fl.exp(w))  # forward
            loss.backward()

        lines = [row.line for row in fl.debug.trace(step) if row.op in ("exp", "mul")]
        assert lines == [line_of("forward")] * len(lines) and len(lines) >= 2

    def test_a_training_step_in_both_modes(self):
        net = nn.Linear(3, 1, name="traced")
        sgd = fl.optimizer.SGD(net.parameters(), 0.1)

        @fl.function
        def step(x):
            loss = fl.mean(net(x) ** 2)
            sgd.minimize(loss)
            return loss

        x = fl.ones((2, 3))
        step(x)
        with fl.mode("imperative"):
            by_line = {row.op for row in fl.debug.trace(step, x)}
        compiled = {row.op for row in fl.debug.trace(step, x)}
        assert "matmul" in by_line & compiled

    def test_nothing_is_traced_outside(self):
        tracer = fl._core.Tracer()
        with tracer:
            fl.exp(fl.tensor(1.0))
        fl.exp(fl.tensor(1.0))
        PROGRAM(fl.tensor([1.0]))
        assert [row[1] for row in tracer.rows()] == ["exp"]

    def test_an_inner_trace_has_its_ops_alone(self):
        inner = []

        def outer(x):
            y = fl.exp(x)
            inner.append(fl.debug.trace(fl.sin, y))
            return fl.cos(y)

        assert [row.op for row in fl.debug.trace(outer, fl.tensor(1.0))] == ["exp", "cos"]
        assert [row.op for row in inner[0]] == ["sin"]


class TestNumbers:
    @pytest.mark.parametrize("compiled", [False, True])
    def test_ranges_are_of_finite_elements(self, compiled):
        f = fl.function(lambda x: fl.log(x)) if compiled else fl.log
        trace = fl.debug.trace(f, fl.tensor([1.0, -1.0, 0.0, 0.0, np.e**2]))
        (row,) = trace.rows
        (output,) = row.outputs
        assert output.type == "f32[5]" and row.inputs == ("f32[5]",)
        assert (output.min, output.n_nan, output.n_inf) == (0.0, 1, 2)
        assert output.max == pytest.approx(2.0) and output.mean == pytest.approx(1.0)
        assert row.seconds > 0 and not row.is_finite

    def test_the_first_nan_is_inside_of_the_loop_that_carries_it(self):
        @fl.function
        def falling(x):
            y = x
            while x > -2.0:
                x = x - 1.0
                y = fl.sqrt(x)  # root
            return y

        row = fl.debug.trace(falling, fl.tensor(1.5)).first_not_finite()
        assert (row.op, row.line) == ("sqrt", line_of("root"))
        assert fl.debug.trace(fl.exp, fl.tensor(1.0)).first_not_finite() is None

    def test_several_outputs_and_none(self):
        trace = fl.debug.trace(fl.qr, fl.tensor([[1.0, 2.0], [3.0, 4.0]]))
        wide = max(trace, key=lambda row: len(row.outputs))
        assert len(wide.outputs) == 2
        assert len(fl.debug.trace(lambda: 3)) == 0
        empty = fl.debug.trace(fl.exp, fl.zeros((0,))).rows[0].outputs[0]
        assert (empty.type, empty.n_nan) == ("f32[0]", 0) and np.isnan(empty.mean)


class TestTable:
    def test_columns(self):
        text = str(fl.debug.trace(doubled, fl.tensor([1.0, -2.0])))
        head, log, mul, total = text.splitlines()
        assert head.split() == "line op takes gives us min max mean not finite".split()
        assert "log" in log and "f32[2]" in log and log.endswith("1 nan")
        assert mul.split()[1] == "mul" and total.split()[1] == "sum"

    def test_depth_is_shown(self):
        lines = str(fl.debug.trace(COMPILED, fl.tensor([4.0]))).splitlines()
        assert any("    div" in line for line in lines)
        assert repr(fl.debug.trace(fl.exp, fl.tensor(1.0))) == "<trace of 1 ops>"

    def test_at_most_the_last_rows(self):
        trace = fl.debug.trace(doubled, fl.tensor([1.0]))
        assert [line.split()[1] for line in trace.table(most=1).splitlines()[1:]] == ["sum"]
        assert len(trace.table(most=0).splitlines()) == 1

    def test_too_many_ops_are_counted(self):
        def many(x):
            for _ in range(100_005):
                x = x + 1.0

        trace = fl.debug.trace(many, fl.tensor(0.0))
        assert (len(trace), trace.n_left_out) == (100_000, 5)
        assert trace.table(most=1).splitlines()[-1] == "and 5 more ops"


class TestFaults:
    def test_an_error_has_the_last_ops_and_ends_the_trace(self):
        def wrong(x):
            return fl.exp(x) + fl.ones((3,))  # wrong

        with pytest.raises(ValueError, match="do not broadcast") as caught:
            fl.debug.trace(wrong, fl.ones((2,)))
        notes = getattr(caught.value, "__notes__", ["exp"])
        assert "exp" in notes[0]
        tracer = fl._core.Tracer()
        with tracer:
            pass
        fl.exp(fl.tensor(1.0))
        assert tracer.rows() == []

    def test_an_error_inside_of_a_loop_leaves_depths_right(self):
        @fl.function
        def failing(x):
            while x < 3.0:
                x = x + 1.0
                assert x < 2.0, "too large"
            return x

        with pytest.raises(AssertionError, match="too large"):
            fl.debug.trace(failing, fl.tensor(0.0))
        assert [row.depth for row in fl.debug.trace(fl.exp, fl.tensor(0.0))] == [0]
