"""`fl.layers.Print`, as Fluid has it, in both modes."""

import itertools
import pytest

import fluvial as fl
from fluvial.layers import Print


@pytest.fixture(params=["imperative", "program"])
def printed(request, capsys):
    """Runs a function in one of the modes; the lines that it prints."""

    def run(f, *args, times=1):
        capsys.readouterr()
        function = fl.function(f)
        for _ in range(times):
            if request.param == "imperative":
                with fl.mode("imperative"):
                    function(*args)
            else:
                function(*args)
        return capsys.readouterr().out.splitlines()

    return run


X = [1.0, 2.0, 3.0]


class TestValues:
    def test_message_type_and_elements(self, printed):
        assert printed(lambda x: Print(x, message="x"), fl.tensor(X)) == ["x: f32[3] [1.0, 2.0, 3.0]"]

    def test_the_line_stands_for_a_name(self, printed):
        (line,) = printed(lambda x: Print(x), fl.tensor(X))
        assert line.startswith("test_print.py:") and line.endswith(": f32[3] [1.0, 2.0, 3.0]")
        assert printed(lambda x: Print(x, print_tensor_name=False), fl.tensor(X)) == ["f32[3] [1.0, 2.0, 3.0]"]

    def test_summarize(self, printed):
        x = fl.tensor([[1, 2], [3, 4]])
        assert printed(lambda x: Print(x, message="x", summarize=3), x) == ["x: i64[2, 2] [1, 2, 3, ..]"]
        assert printed(lambda x: Print(x, message="x"), fl.zeros((21,)))[0].count("0.0") == 20
        assert printed(lambda x: Print(x, message="x", summarize=-1), fl.zeros((2000,)))[0].count("0.0") == 2000

    def test_without_the_type(self, printed):
        def f(x):
            return Print(x, message="x", print_tensor_type=False, print_tensor_shape=False)

        assert printed(f, fl.tensor(X)) == ["x: [1.0, 2.0, 3.0]"]

    def test_the_value_is_passed_on(self):
        assert Print(fl.tensor(X), message="x").tolist() == X
        assert Print(2.0, message="x").item() == 2.0

    def test_an_unknown_phase(self):
        with pytest.raises(ValueError, match=r'test_print.py:\d+: there is no phase "sideways"'):
            Print(fl.tensor(X), print_phase="sideways")


#: Messages are counted by process, so that each test has its own.
NUMBERS = itertools.count()


class TestTimes:
    def test_first_n_counts_runs(self, printed):
        message = f"runs {next(NUMBERS)}"
        found = printed(lambda x: Print(x, first_n=2, message=message), fl.tensor(X), times=4)
        assert len(found) == 2

    def test_first_n_counts_each_line(self, printed):
        message = f"lines {next(NUMBERS)}"

        def f(x):
            x = Print(x, first_n=1, message=message)
            return Print(x * 2.0, first_n=1, message=message)

        assert len(printed(f, fl.tensor(X), times=3)) == 2

    def test_loops(self, printed):
        def f(x):
            while fl.sum(x) > 1.0:
                x = Print(x / 2.0, message="x")
            return x

        assert printed(f, fl.tensor([2.0, 2.0])) == ["x: f32[2] [1.0, 1.0]", "x: f32[2] [0.5, 0.5]"]

    def test_first_n_counts_trips(self, printed):
        message = f"trips {next(NUMBERS)}"

        def f(x):
            while fl.sum(x) > 1.0:
                x = Print(x / 2.0, first_n=1, message=message)
            return x

        assert len(printed(f, fl.tensor([8.0, 8.0]))) == 1

    @pytest.mark.parametrize("x, expected", [(1.0, "positive: f32[] 1.0"), (-1.0, "negative: f32[] -1.0")])
    def test_branches(self, printed, x, expected):
        def f(x):
            if x > 0.0:
                y = Print(x, message="positive", summarize=1)
            else:
                y = Print(x, message="negative", summarize=1)
            return y

        assert printed(f, fl.tensor(x)) == [expected.replace("f32[] ", "f32[] [") + "]"]

    def test_nothing_else_uses_it(self, printed):
        def f(x):
            Print(x, message="x")
            return x + 1.0

        assert printed(f, fl.tensor([1.0])) == ["x: f32[1] [1.0]"]


class TestGradients:
    @pytest.mark.parametrize(
        "phase, expected",
        [
            ("forward", ["w: f32[2] [1.0, 2.0]"]),
            ("backward", ["w@GRAD: f32[2] [2.0, 4.0]"]),
            ("both", ["w: f32[2] [1.0, 2.0]", "w@GRAD: f32[2] [2.0, 4.0]"]),
        ],
    )
    def test_phases(self, printed, phase, expected):
        w = fl.tensor([1.0, 2.0]).track()

        def f(w):
            loss = fl.sum(Print(w, message="w", print_phase=phase) ** 2)
            return fl.grad(loss, w)

        assert printed(f, w) == expected

    def test_whole_numbers_have_none(self, printed):
        assert printed(lambda x: Print(x, message="x", print_phase="both"), fl.tensor([1, 2])) == ["x: i64[2] [1, 2]"]


def test_a_fluid_program(capsys):
    with fl.mode("program"):
        main, startup = fl.Program(), fl.Program()
        with fl.program_guard(main, startup):
            x = fl.data("x", (2,))
            y = Print(x * 2.0, message="twice")
        fl.Executor().run(main, {"x": [1.0, 2.0]}, [y])
    assert capsys.readouterr().out == "twice: f32[2] [2.0, 4.0]\n"
