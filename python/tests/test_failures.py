"""What fails, fails alike: the same exception, message and line, and the same states afterwards, in both modes.

PYTEST_DONT_REWRITE: messages of `assert` are what the functions say.
"""

import traceback
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl

HERE = Path(__file__).parent


class Custom(Exception):
    """An exception with an attribute of its own."""

    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code


class State:
    """Two states, as a model has them."""

    def __init__(self):
        self.a = fl.nn.Parameter(fl.tensor([1.0, 2.0]))
        self.b = fl.nn.Parameter(fl.tensor([10.0]))

    def values(self):
        return self.a.tolist(), self.b.tolist()


def line_of(error):
    """The last line of a test in the traceback, or the one that the message begins with."""
    said = getattr(error, "line", None)
    if said:
        return said
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == HERE]
    return f"{frames[-1].filename}:{frames[-1].lineno}"


def outcome(f, mode, *args):
    """How a call ends: its exception or result, and the states."""
    state = State()
    function = fl.function(lambda *given: f(state, *given))
    try:
        with fl.mode(mode):
            result = function(*args)
    except Exception as error:
        return type(error), str(error), line_of(error), state.values()
    return plain(result), state.values()


def plain(result):
    """A result with lists in the place of tensors."""
    if isinstance(result, tuple):
        return tuple(map(plain, result))
    return result.tolist() if isinstance(result, fl.Tensor) else result


def same(f, *args):
    """Runs both modes, compares, and gives the outcome."""
    line_by_line = outcome(f, "imperative", *args)
    program = outcome(f, "program", *args)
    assert program == line_by_line
    return program


X = fl.tensor([1.0, -2.0])
FAR = fl.tensor([7])


class TestStates:
    def test_assigned_before_an_index_out_of_range(self):
        def f(s, x, i):
            s.a.set(s.a + x)
            y = x[i]
            s.b.set(s.b * 2)
            return y

        assert same(f, X, FAR)[0] is IndexError
        assert same(f, X, fl.tensor([0]))[-1] == ([2.0, 0.0], [20.0])

    def test_assigned_after_an_unused_op_that_fails(self):
        def f(s, x, i):
            x[i]
            s.b.set(s.b * 2)
            return x

        assert same(f, X, FAR)[-1] == ([1.0, 2.0], [10.0])

    def test_the_first_error_wins(self):
        def f(s, x, i):
            a = fl.linalg.cholesky(fl.outer(x, x) * -1)
            s.a.set(s.a * 3)
            return a, x[i]

        assert same(f, X, FAR)[0] is ValueError

        def g(s, x, i):
            y = x[i]
            return y, fl.linalg.cholesky(fl.outer(x, x) * -1)

        assert same(g, X, FAR)[0] is IndexError

    def test_assert_between_assignments(self):
        def f(s, x):
            s.a.set(s.a + 1)
            assert fl.sum(x) > 0, "not positive"
            s.a.set(s.a * 2)
            return x

        assert same(f, X) == (AssertionError, "not positive", same(f, X)[2], ([2.0, 3.0], [10.0]))

    def test_in_a_loop(self):
        def f(s, x):
            n = fl.tensor(0)
            while n < 5:
                s.a.set(s.a + x)
                assert n < 2, "too far"
                s.b.set(s.b * 2)
                n = n + 1
            return x

        kind, text, _, states = same(f, X)
        assert (kind, text) == (AssertionError, "too far")
        assert states == ([4.0, -4.0], [40.0])

    def test_in_a_loop_before_the_first_assignment(self):
        def f(s, x):
            n = fl.tensor(0)
            while n < 5:
                assert n < 3
                s.a.set(s.a + x)
                s.a.set(s.a * 2)
                n = n + 1
            return x

        assert same(f, X)[0] is AssertionError

    def test_in_a_branch_in_a_loop(self):
        def f(s, x, i, n):
            for _ in range(n):
                s.b.set(s.b + 1)
                if s.b[0] > 12:
                    s.a.set(s.a * 10)
                    x = x + x[i]
                    s.a.set(s.a + 1)
                s.b.set(s.b + 0.5)
            return x

        assert same(f, X, FAR, fl.tensor(4))[-1] == ([10.0, 20.0], [12.5])

    def test_in_a_loop_in_a_loop(self):
        def f(s, x, n):
            for i in range(n):
                s.a.set(s.a + 1)
                for j in range(n):
                    s.b.set(s.b + 1)
                    assert i + j < 3, "sum"
                    s.a.set(s.a * 2)
            return x

        kind, text, _, states = same(f, X, fl.tensor(3))
        assert (kind, text) == (AssertionError, "sum")
        assert states == ([68.0, 100.0], [16.0])

    def test_in_a_recorded_call(self):
        def f(s, x, i):
            s.b.set(s.b * 2)
            return fl.sum(x * x[i])

        state = State()
        function = fl.function(lambda x, i: f(state, x, i))
        x = fl.tensor([1.0, 2.0]).track()
        for _ in range(3):
            function(x, fl.tensor([0])).backward()
        assert state.b.tolist() == [80.0]
        with pytest.raises(IndexError):
            function(x, FAR)
        assert state.b.tolist() == [160.0]


class TestRaise:
    def test_class_message_and_line(self):
        def f(s, x):
            if fl.sum(x) < 0:
                raise ValueError("negative")
            return x

        kind, text, line, _ = same(f, X)
        assert (kind, text) == (ValueError, "negative")
        assert Path(line.rpartition(":")[0]).name == "test_failures.py"

    def test_a_message_shows_values(self):
        def f(s, x):
            total = fl.sum(x)
            if total < 0:
                raise ValueError(f"the sum is {total}, {total:.3f}, {{}}, {x!r}")
            return x

        assert same(f, X)[1] == f"the sum is -1.0, -1.000, {{}}, {X!r}"

    def test_an_assert_shows_values(self):
        def f(s, x):
            assert fl.sum(x) > 0, f"{x} has sum {fl.sum(x)}"
            return x

        assert "has sum -1" in same(f, X)[1]

    def test_an_assert_of_any_message(self):
        def f(s, x):
            assert fl.sum(x) > 0, ("pair", 2)
            return x

        assert same(f, X)[1] == "('pair', 2)"

        def g(s, x):
            assert fl.sum(x) > 0
            return x

        assert same(g, X)[1] == ""

    def test_arguments_and_attributes(self):
        class Local(Exception):
            pass

        def f(s, x):
            if fl.sum(x) < 0:
                raise Custom(7)
            return x

        assert same(f, X)[1] == "code 7"
        with pytest.raises(Custom) as error, fl.mode("program"):
            fl.function(lambda x: f(None, x))(X)
        assert error.value.code == 7

        def g(s, x):
            if fl.sum(x) < 0:
                raise Local("one", 2)
            return x

        assert same(g, X)[:2] == (Local, "('one', 2)")

    def test_a_saved_program(self, tmp_path):
        def f(x):
            if fl.sum(x) < 0:
                raise ValueError(f"sum {fl.sum(x)}")
            return x

        program = fl.build(fl.function(f), {"x": "f32[2]"})
        for name in ("p.fl", "p.flb"):
            program.save(tmp_path / name)
            with pytest.raises(ValueError, match=r"^sum -1"):
                fl.Program.load(tmp_path / name).run(x=np.array([1, -2], np.float32))

    def test_what_begins_like_a_raise_is_none(self):
        with pytest.raises(AssertionError, match="raise ValueError: no"):
            fl.assert_(fl.tensor(False), "raise ValueError: no", [])


class TestNumbers:
    @pytest.mark.parametrize(
        "f",
        [
            lambda s, x: x // 0,
            lambda s, x: x % 0,
            lambda s, x: x // fl.tensor([0, 0]),
            lambda s, x: x % (x - x),
            lambda s, x: fl.tensor([2, 2]) ** x,
            lambda s, x: 10 // x,
        ],
    )
    def test_of_ints(self, f):
        same(f, fl.tensor([3, 0]))
        same(f, fl.tensor([3, -2]))

    @pytest.mark.parametrize("a, b", [(10, 0), (0, 0)])
    def test_of_pythons_ints(self, a, b):
        assert same(lambda s, x: x * (a // b), X)[0] is ZeroDivisionError
        assert same(lambda s, x: x * (a % b), X)[0] is ZeroDivisionError

    def test_matrices(self):
        zeros = fl.zeros((2, 2))
        for f in (fl.linalg.inv, fl.linalg.cholesky, lambda x: fl.linalg.solve(x, x)):
            assert same(lambda s, x, f=f: (s.b.set(s.b + 1), f(x), x)[2], zeros)[0] is ValueError


class TestObjects:
    """What the lines before a fault have changed of objects stays changed, whatever else they do."""

    def outcomes(self, f, *args):
        found = []
        for mode in ("imperative", "program"):
            world = {"log": [], "state": State(), "held": fl.tensor([0.0, 0.0]), "count": 0}
            function = fl.function(lambda *given, world=world: f(world, *given))
            calls = []
            for _ in range(2):
                try:
                    with fl.mode(mode):
                        calls.append(plain(function(*args)))
                except Exception as error:
                    calls.append((type(error), str(error)))
                log = [plain(x) for x in world["log"]]
                calls.append((log, world["state"].values(), world["held"].tolist(), world["count"]))
            found.append(calls)
        assert found[0] == found[1]
        return found[1]

    def test_with_states_and_prints(self, capsys):
        def f(world, x, i):
            world["log"].append(x * 2)
            world["state"].a.set(x * 3)
            print("before", x)
            world["held"][0] = fl.sum(x)
            y = x[i]
            world["log"].append("behind")
            world["count"] = 1
            return y

        found = self.outcomes(f, X, FAR)
        assert found[0][0] is IndexError and found[1][0] == [[2.0, -4.0]]
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 4 and len(set(lines)) == 1
        self.outcomes(f, X, fl.tensor([1]))

    def test_in_branches_and_loops(self):
        def f(world, x, n):
            world["log"].append("begin")
            for k in range(n):
                world["held"][0] = world["held"][0] + 1.0
                if fl.sum(world["held"]) > 2:
                    world["count"] = 7
                    raise ValueError("enough")
            world["count"] = 1
            return x

        for n in (1, 3, 6):
            self.outcomes(f, X, fl.tensor(n))

    def test_a_line_that_always_fails_in_a_branch(self):
        def f(world, x):
            world["count"] = 1
            if fl.sum(x) < 0:
                world["count"] = 2
                world["log"].append(x)
                [1, 2].index(3)
                world["count"] = 3
            else:
                world["count"] = 4
            return x

        assert self.outcomes(f, X)[0][0] is ValueError
        assert self.outcomes(f, -X)[0] == [-1.0, 2.0]

    def test_a_line_that_always_fails_in_a_loop(self):
        def f(world, x, n):
            k = 0
            for _ in range(n):
                k = k + 1
                world["count"] = world["count"] + 1
                x = x + fl.tensor([1.0, 2.0, 3.0])
            return x, k

        assert self.outcomes(f, X, fl.tensor(2))[0][0] is ValueError
        assert self.outcomes(f, X, fl.tensor(0))[0] == ([1.0, -2.0], 0)

    def test_both_branches_fail(self):
        def f(world, x):
            if fl.sum(x) < 0:
                world["count"] = 1
                {}["a"]
            else:
                world["count"] = 2
                x.nothing()
            return x

        assert self.outcomes(f, X)[0][0] is KeyError
        assert self.outcomes(f, -X)[0][0] is AttributeError

    def test_finally_changes_objects(self):
        def f(world, x, i):
            try:
                y = x[i]
            finally:
                world["log"].append("done")
                world["held"][1] = 9.0
            return y

        assert self.outcomes(f, X, FAR)[1][0] == ["done"]
        self.outcomes(f, X, fl.tensor([0]))
