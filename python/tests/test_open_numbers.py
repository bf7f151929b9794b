"""Numbers that change from call to call are inputs of a program from their second value on, unless their value decides something."""

import collections
import dataclasses
import math
import warnings

import pytest

import fluvial as fl

X = fl.tensor([1.0, -2.0, 3.0])


def both(function, calls):
    """What each call gives in both modes, which must be the same to the bit; and the built function."""
    built = fl.function(function)
    for given in calls:
        with fl.mode("imperative"):
            wanted = function(*given)
        got = built(*given)
        assert painted(got) == painted(wanted), given
    return built


def painted(value):
    if isinstance(value, fl.Tensor):
        return (value.type_text, value.numpy().tobytes())
    if isinstance(value, (list, tuple)):
        return [painted(part) for part in value]
    if isinstance(value, dict):
        return {key: painted(part) for key, part in value.items()}
    return (type(value), repr(value))


def counted(calls, function):
    return len(both(function, calls).builds)


STEPS = [(X, i) for i in range(8)]
RATES = [(X, 0.1 * i - 0.2) for i in range(8)]

FUNCTIONS = {
    "times": lambda x, n: x * n,
    "left": lambda x, n: n - x,
    "both numbers": lambda x, n: x * (n * 2 + 1),
    "power": lambda x, n: x * 0.9**n,
    "power of the number": lambda x, n: x * n**2,
    "quotient": lambda x, n: x * (n / 7),
    "whole quotient": lambda x, n: x + n // 2 - n % 3,
    "math": lambda x, n: x * (0.5 * (1 + math.cos(math.pi * n / 8))),
    "sqrt": lambda x, n: x * math.sqrt(abs(n)),
    "returned": lambda x, n: (x, n, n + 1, n / 2, -n, abs(n)),
    "large": lambda x, n: (x * 0.5, n * 2**80),
    "rounded": lambda x, n: x * round(n * 1.3) + int(n * 0.7) + float(n),
    "maximum": lambda x, n: fl.maximum(x, n),
    "where": lambda x, n: fl.where(x > 0, n, x),
    "added in place": lambda x, n: fl.sum(x * 1.0 + n),
    "inner function": lambda x, n: (lambda v, k: v * k)(x, n + 1),
    "kept": lambda x, n: [x + n, {"n": n}],
    "type": lambda x, n: (x * 1.0, type(n) is int, isinstance(n, float), isinstance(n, (int, float))),
    "divmod": lambda x, n: x * divmod(n, 3)[0],
    "sum": lambda x, n: x * sum([n, 1, n]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("calls", [STEPS, RATES], ids=["ints", "floats"])
def test_numbers_that_count_are_inputs(name, calls):
    built = both(FUNCTIONS[name], calls)
    assert len(built.builds) == 2, built.builds
    assert built.builds[1] == "the argument `n` has changed"


def test_a_loop_of_the_run_takes_them():
    def f(x, n):
        total = n
        while fl.sum(x) < 20.0:
            x = x + n + 1
            total += 2
        return x, total

    assert counted(STEPS, f) == 2


def test_a_branch_of_the_run_takes_them():
    def f(x, n):
        k = n
        if fl.sum(x) > n:
            k = n * 2
        return x + k, k

    assert counted(STEPS, f) == 2


def test_a_condition_on_them_has_a_program_for_each_outcome():
    def f(x, n):
        if n % 3 == 0:
            return x * n
        return x + n

    built = both(f, STEPS)
    assert len(built.builds) == 3, built.builds
    assert "a condition on it is decided" in built.builds[2]


def test_an_index_of_a_tensor_is_an_input():
    table = fl.tensor([[float(i), 2.0 * i, 3.0 * i] for i in range(8)])
    assert counted([(table, i) for i in range(8)], lambda t, n: t[n]) == 2
    assert counted([(table, i) for i in range(8)], lambda t, n: t[n, 1] + t[7 - n, 0]) == 2


def test_a_window_is_an_input_where_it_lies_inside():
    data = fl.tensor([float(i) for i in range(10)])
    built = both(lambda x, n: x[n : n + 4], [(data, n) for n in (0, 2, 4, 6, 7, 9, 3)])
    assert painted(built(data, 5)) == painted(data[5:9])
    assert len(built.builds) <= 5, built.builds


DECIDED = {
    "size": lambda x, n: fl.zeros((n + 1,)) + fl.sum(x),
    "range": lambda x, n: sum(x * i for i in range(n + 1)),
    "place": lambda x, n: [x, x * 2.0, x * 3.0, x, x, x, x, x][n],
    "key": lambda x, n: {i: x * i for i in range(8)}[n],
    "slice": lambda x, n: fl.concat([x, x, x])[:n],
    "text": lambda x, n: (x * 1.0, f"{n} steps", str(n)),
    "member": lambda x, n: (x * 1.0, {1, 2, n}),
    "reshape": lambda x, n: fl.reshape(fl.concat([x] * (n + 1)), (n + 1, 3)),
    "option": lambda x, n: fl.clip(x, -1.0 * n, 1.0 * n),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_decides_something_is_built_for_each_value(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = both(DECIDED[name], STEPS)
        assert len(built.builds) <= 8
        n_builds = len(built.builds)
        for given in STEPS[-2:]:
            built(*given)
        assert len(built.builds) == n_builds


def test_the_warning_names_the_argument_and_the_line():
    f = fl.function(DECIDED["size"])
    with pytest.warns(RuntimeWarning, match="`n` has changed, and its value decides a size"):
        for n in range(8):
            f(X, n)


class Model:
    def __init__(self):
        self.count, self.rate, self.h = 0, 0.5, X * 1.0

    @fl.function
    def step(self, x):
        self.count += 1
        self.h = self.h + x * self.rate * self.count
        return self.h

    @fl.function
    def perhaps(self, x):
        if fl.sum(x) > 0.0:
            self.count += 1
        return x * self.count


@pytest.mark.parametrize("name", ["step", "perhaps"])
def test_attributes_that_count_are_inputs(name):
    found = []
    for mode in ("imperative", "program"):
        model = Model()
        with fl.mode(mode):
            for i in range(6):
                model.rate = 0.1 * i
                sign = -1.0 if i % 2 else 1.0
                found.append(painted([getattr(model, name)(X * sign), model.count, model.h]))
    assert found[:6] == found[6:]


def test_attributes_are_built_twice():
    before = len(Model.step.builds)
    model = Model()
    for i in range(9):
        model.rate = 0.1 * i
        model.step(X)
    assert len(Model.step.builds) - before <= 2, Model.step.builds
    assert model.count == 9 and type(model.count) is int


RATE = 0.5
TABLE = {"rate": 1, "w": X}


def test_globals_closures_and_entries():
    global RATE
    scale, count = 2.0, 0

    def f(x):
        nonlocal count
        count += 1
        return x * RATE * scale + TABLE["rate"], count

    built = fl.function(f)
    for i in range(6):
        RATE, scale, TABLE["rate"] = 0.25 * i, 2.0 + i, i
        got = built(X)
        wanted = X * RATE * scale + TABLE["rate"]
        assert got[0].tolist() == wanted.tolist() and got[1] == i + 1 == count
    assert len(built.builds) == 2, built.builds


@dataclasses.dataclass
class Settings:
    rate: float
    step: int
    w: object = None


def test_numbers_in_arguments_of_structure():
    calls = [(X, {"a": 0.5 * i, "b": [i, X]}, Settings(0.1 * i, i)) for i in range(6)]

    def f(x, d, s):
        s.step += 1
        return x * d["a"] + d["b"][0] * s.rate, s.step

    built = fl.function(f)
    for i, given in enumerate(calls):
        got = built(*given)
        wanted = X * (0.5 * i) + i * (0.1 * i)
        assert got[0].tolist() == wanted.tolist() and got[1] == i + 1 == given[2].step
    assert len(built.builds) == 2, built.builds


def test_a_container_that_is_looked_at_as_a_whole_is_guarded():
    def f(x, d):
        return x * sum(d.values()), list(d.values()), dict(d)

    assert counted([(X, {"a": i, "b": 2 * i}) for i in range(5)], f) <= 5


def test_keywords_in_any_order():
    f = fl.function(lambda x, a=1, b=2: x * a + b)
    for i in range(6):
        assert f(X, b=i, a=2 * i).tolist() == (X * (2 * i) + i).tolist()
        assert f(X, a=i, b=2 * i).tolist() == (X * i + 2 * i).tolist()
        assert f(X, i, b=7).tolist() == (X * i + 7).tolist()
    assert len(f.builds) <= 4, f.builds


def test_types_that_change_are_seen():
    calls = [(X, n) for n in (1, 2, 2.0, 3, 2.5, True, 4, False, -0.0, 0.0, 0, 2**70, 5)]
    both(lambda x, n: (x * 1.0, n, n + 1, n / 2 + 1), calls)


def test_failures_are_those_of_the_lines():
    f = fl.function(lambda x, n: x * (10 // n))
    assert f(X, 1).tolist() == (X * 10).tolist()
    assert f(X, 2).tolist() == (X * 5).tolist()
    with pytest.raises(ZeroDivisionError):
        f(X, 0)
    assert f(X, 3).tolist() == (X * 3).tolist()


def test_other_element_types():
    for dtype in ("float64", "int64", "int32", "float16"):
        x = fl.cast(X, dtype)
        both(lambda x, n: (x * n, x + n), [(x, n) for n in (1, 2, 3, 4)])
        both(lambda x, n: (x * n, x + n), [(x, n) for n in (0.1, 0.2, 0.3, 0.4)])


def test_gradients_pass_beside_them():
    f = fl.function(lambda x, rate, n: fl.sum(x * x * rate) / (n + 1))
    for n in range(4):
        x = fl.tensor([1.0, 2.0]).track()
        f(x, 0.1 * (n + 1), n).backward()
        y = fl.tensor([1.0, 2.0]).track()
        (fl.sum(y * y * (0.1 * (n + 1))) / (n + 1)).backward()
        assert x.grad.tolist() == y.grad.tolist()
    assert len(f.builds) == 2


def test_prints_show_them(capsys):
    @fl.function
    def f(x, n):
        print("step", n, f"{n:03d}")
        return x * n

    for n in range(4):
        f(X, n)
    assert capsys.readouterr().out == "".join(f"step {n} {n:03d}\n" for n in range(4))
    assert len(f.builds) == 2


def test_counters_of_a_collection():
    seen = collections.Counter()

    @fl.function
    def f(x, n):
        seen["calls"] += n
        return x * seen["calls"]

    total = 0
    for n in range(5):
        total += n
        assert f(X, n).tolist() == (X * total).tolist()
    assert seen["calls"] == total and type(seen["calls"]) is int
