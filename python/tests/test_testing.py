"""`fl.testing`: what it accepts, what it refuses, and what its messages say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl
from fluvial.testing import assert_close, both_modes, gradcheck

NAN, INF = float("nan"), float("inf")


def message(function, *args, kind=AssertionError, **options):
    """What the error says, after checking that it begins with this file's line."""
    with pytest.raises(kind) as caught:
        function(*args, **options)
    text = str(caught.value)
    place, _, rest = text.partition(": ")
    assert place.startswith(__file__), text
    return rest


class TestClose:
    @pytest.mark.parametrize(
        "actual, expected",
        [
            (fl.tensor([1.0, 2.0]), fl.tensor([1.0, 2.0])),
            (fl.tensor([1.0, 2.0]), np.array([1.0, 2.0], np.float32)),
            (fl.tensor([1.0, 2.0]), [1.0, 2.0]),
            ([1.0, 2.0], fl.tensor([1.0, 2.0])),
            (fl.tensor(2.0), 2),
            (1, 1.0),
            (2**70, 2**70),
            (fl.tensor([1.0 + 1e-6]), [1.0]),
            (fl.tensor([1.0], "bfloat16"), [1.01]),
            (fl.tensor([1.0], "float16"), [1.0009]),
            (fl.tensor([INF, -INF]), [INF, -INF]),
            (fl.full((0, 3), 1.0), np.zeros((0, 3), np.float32)),
            ({"a": [fl.tensor(1.0), 2], "b": ("x", None)}, {"a": [1.0, 2], "b": ("x", None)}),
            (fl.tensor([True, False]), [True, False]),
        ],
    )
    def test_agree(self, actual, expected):
        assert_close(actual, expected)

    def test_message_says_how_many_how_much_and_where(self):
        actual = fl.tensor([[1.0, 2.0], [3.0, 4.5]])
        text = message(assert_close, actual, [[1.0, 2.25], [3.0, 4.0]])
        assert text.splitlines() == [
            "2 of 4 elements differ by more than 1e-05 + 1.3e-06 * |expected|",
            "  largest absolute difference: 0.5 at (1, 1)",
            "  largest relative difference: 0.125 at (1, 1)",
            "  at (0, 1): 2.0, expected 2.25",
            "  at (1, 1): 4.5, expected 4.0",
        ]

    def test_parts_are_named(self):
        text = message(assert_close, {"net": [1.0, fl.tensor([2.0])]}, {"net": [1.0, [3.0]]})
        assert text.startswith('["net"][1]: 1 of 1 elements differs')
        assert message(assert_close, {"a": 1}, {"b": 1}).startswith(
            "the keys differ: missing ['b'], unexpected ['a']"
        )
        assert message(assert_close, [1], [1, 2]) == "there are 1 parts, expected 2"

    def test_types_and_shapes(self):
        x = fl.tensor([1.0])
        assert message(assert_close, x, np.ones(1)) == "the element type is float32, expected float64"
        assert message(assert_close, x, np.float64(1)) == "the element type is float32, expected float64"
        assert message(assert_close, x, 1.0) == "the shape is (1,), expected ()"
        assert message(assert_close, x, [[1.0]]) == "the shape is (1,), expected (1, 1)"
        assert message(assert_close, x, "one") == "`Tensor`, expected `str`"
        assert message(assert_close, "one", "two") == "'one', expected 'two'"
        assert "ragged" in message(assert_close, x, [[1.0], 2.0])

    def test_whole_numbers_are_exact(self):
        text = message(assert_close, fl.tensor([2**62, 1]), [-(2**62), 1])
        assert text.startswith("1 of 2 elements differs\n  largest absolute difference: 9.22")
        message(assert_close, fl.tensor([2**62 + 1]), [2**62])
        assert_close(fl.tensor([10]), [11], rtol=0, atol=1)

    def test_not_a_number(self):
        x = fl.tensor([NAN, 1.0])
        assert "1 of 2 elements differs" in message(assert_close, x, [NAN, 1.0])
        assert_close(x, [NAN, 1.0], equal_nan=True)
        assert "at (0,): nan, expected 3.0" in message(assert_close, x, [3.0, 1.0], equal_nan=True)
        assert "1 of 2" in message(assert_close, fl.tensor([INF, 1.0]), [-INF, 1.0])
        assert "1 of 1" in message(assert_close, fl.tensor([1.0]), [INF], rtol=1e-3, atol=0)

    def test_tolerances_come_together(self):
        assert_close(fl.tensor([1.0]), [1.1], rtol=0.1, atol=0)
        message(assert_close, fl.tensor([1.0]), [1.1], rtol=0.09, atol=0)
        assert "remedy: give both" in message(assert_close, 1, 1, rtol=1.0, kind=ValueError)

    def test_values_of_programs_have_no_elements(self):
        with fl.building() as b:
            x = b.input("x", "f32[2]")
            assert "run the program" in message(assert_close, x, [1.0, 2.0], kind=TypeError)
            b.output("y", x)


class TestGradcheck:
    def test_right_gradients(self):
        gradcheck(lambda x, y: fl.tanh(x) @ y, [np.ones((2, 3)), np.full((3, 2), 0.3)])
        gradcheck(lambda x, i: (x[i], fl.sum(x * x)), [[0.5, 1.5], np.array([1, 0])])
        gradcheck(lambda x: fl.exp(x), 0.5)
        gradcheck(fl.sum, fl.full((0, 2), 1.0))
        with fl.State():
            gradcheck(fl.nn.LSTM(2, 3).to("float64"), np.linspace(0, 1, 8).reshape(2, 2, 2))

    def test_control_flow_in_both_modes(self):
        def doubled(x):
            while fl.sum(x) < 10:
                x = x * 2
            return x

        gradcheck(doubled, fl.tensor([1.0, 2.0]))
        gradcheck(fl.function(doubled), fl.tensor([1.0, 2.0]))

    @pytest.mark.parametrize("mode", ["imperative", "program"])
    def test_wrong_gradient_is_named(self, mode):
        def half_detached(a, x):
            return a + 1, fl.stack([x[0] * 2, x[1].detach() * x[1]], 0)

        text = message(gradcheck, half_detached, [np.ones(2), np.array([3.0, 5.0])], modes=[mode])
        first, second, third = text.splitlines()
        assert first == (
            f"the gradient by input 1 is wrong at (1,), for output 1 at (1,), in mode {mode}"
        )
        assert second.startswith("  the gradient is 5.0, the slope by differences is 10.0")
        assert third.startswith("  1 of 8 derivatives")

    def test_refusals(self):
        text = message(gradcheck, lambda x: fl.dropout(x), fl.full((99,), 1.0), kind=ValueError)
        assert text.startswith("the function gave other numbers for the same inputs")
        assert "floats" in message(gradcheck, fl.abs, fl.tensor([1]), kind=ValueError)
        text = message(gradcheck, lambda x: x > 0, fl.tensor([1.0]), kind=ValueError)
        assert text.startswith("no output has real numbers")
        assert "`int`" in message(gradcheck, lambda x: 3, fl.tensor([1.0]), kind=TypeError)
        assert '"jit"' in message(gradcheck, fl.abs, 1.0, modes=["jit"], kind=ValueError)


class TestBothModes:
    seen = []

    def test_runs_in_the_mode(self, both_modes):
        self.seen.append(str(both_modes))
        assert fl.get_mode() == both_modes.name and both_modes == fl.get_mode()
        assert len(fl.State.current()) == 1
        built = []

        def halved(x):
            built.append(fl.is_building())
            while fl.sum(x) > 1:
                x = x / 2
            return x

        assert both_modes(halved)(fl.tensor([4.0])).tolist() == [1.0]
        assert built == [both_modes == "program"]
        fl.declare_state("left", (), init=1.0)

    def test_ran_in_each(self):
        assert self.seen == ["imperative", "program"]

    def test_random_numbers_agree(self, both_modes):
        drawn = both_modes(lambda: fl.uniform("f32[4]"))()
        with fl.State():
            fl.seed(0)
            assert drawn.tolist() == fl.uniform("f32[4]").tolist()

    def test_import_from_conftest(self, tmp_path):
        (tmp_path / "conftest.py").write_text("from fluvial.testing import both_modes\n")
        (tmp_path / "test_it.py").write_text(
            "import fluvial as fl\n"
            "def test_it(both_modes):\n"
            "    assert fl.get_mode() == 'imperative'\n"
        )
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=50)
        assert "test_it[program]" in run.stdout and "1 failed, 1 passed" in run.stdout


def test_lazily_loaded():
    script = (
        "import sys, fluvial as fl\n"
        "lazy = ['fluvial.testing', 'fluvial.debug', 'fluvial.summary', 'fluvial._torch', 'numpy', 'pytest']\n"
        "print([name for name in lazy if name in sys.modules])\n"
        "assert {'debug', 'testing', 'summary', 'load_torch'} <= set(dir(fl))\n"
        "fl.testing.assert_close(1.0, 1.0)\n"
        "print('pytest' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50)
    assert run.stdout.splitlines() == ["[]", "False"], run.stderr
    with pytest.raises(AttributeError, match="no attribute `nothing`"):
        fl.nothing
