"""Each construct of Python, converted: the same bits and gradients as line by line."""

import functools

import numpy as np
import pytest

import fluvial as fl

X = np.array([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]], np.float32)


@pytest.fixture(autouse=True)
def own_state():
    with fl.State() as state:
        yield state


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return [np.asarray(value)]


def check(function, *arrays, gradients=True):
    """Calls a function line by line and as a program; compares results and gradients."""
    inputs = [fl.tensor(np.asarray(array)) for array in arrays]

    def run(*inputs):
        tracked = [x.track() for x in inputs]
        result = function(*tracked)
        if not gradients:
            return result, ()
        first = result[0] if isinstance(result, (tuple, list)) else result
        total = fl.sum(first)
        for x in tracked:
            total = total + fl.sum(x)
        return result, fl.grad(total, tracked)

    with fl.State():
        expected = run(*inputs)
    converted = fl.function(run)
    with fl.State():
        found = converted(*inputs)
    for a, b in zip(leaves(expected[0]), leaves(found[0]), strict=True):
        assert a.tolist() == b.tolist() and a.shape == b.shape, str(converted.programs[0])
    for a, b in zip(leaves(expected[1]), leaves(found[1]), strict=True):
        np.testing.assert_allclose(a, b, 1e-6)
    return converted


def test_if_elif_else():
    def f(x):
        total = fl.sum(x)
        if total > 5:
            y = x * 2
        elif total > 0:
            y = x * 3
            if x[0, 0] > 0.5:
                y = y - 1
        else:
            y = -x
        return y

    for scale in (1, -1, 0.2, 0.9):
        program = check(f, X * np.float32(scale)).programs[0]
        assert str(program).count("cond") >= 3


def test_plain_conditions_stay_python():
    def f(x, flag=True):
        if flag:
            x = x + 1
        for i in range(3):
            if i == 1:
                continue
            x = x * i
        return x if flag else None

    assert "cond" not in str(check(f, X).programs[0])


def test_while_with_numbers_that_change():
    def f(x):
        n, factor = 0, 1.0
        while fl.sum(x * x) < 1000:
            x = x * 1.5
            n += 1
            factor = factor * 0.5
        return x, n, factor

    assert "while" in str(check(f, X).programs[0])


def test_while_else_break_continue():
    def f(x):
        n = 0
        while n < 10:
            n += 1
            if x[0, 0] < 0:
                continue
            x = x + 0.5
            if fl.sum(x) > 12:
                break
        else:
            x = x * 100
        return x, n

    for scale in (1, -1, 0.01, 5):
        check(f, X * np.float32(scale))


def test_for_over_ranges_with_tensor_bounds():
    def f(x):
        n = fl.sum(fl.cast(x > 0, "int64"))
        s = fl.zeros((2,), "float32")
        for i in range(n):
            s = s + x[0] * i
        for i in range(1, n, 2):
            s = s + i
        for i in range(n, 0, -2):
            s = s * 0.5 + i
        return s

    check(f, X)
    check(f, -np.abs(X))


def test_range_under_another_name():
    count = range

    def f(x):
        r = count
        for _ in r(fl.sum(fl.cast(x > 0, "int64"))):
            x = x * 2
        return x

    assert "while" in str(check(f, X).programs[0])


def test_for_over_tensors_enumerate_and_zip():
    def f(x):
        s, last = fl.zeros((2,), "float32"), 0
        for i, (row, other) in enumerate(zip(x, x * 2), start=1):
            s = s + row * other * i
            last = i
        for row in fl.flip(x, [0]):
            s = s * 0.5 + row
        return s, row, last

    assert str(check(f, X).programs[0]).count("while") >= 2


def test_for_over_other_iterables():
    def f(x):
        for name, factor in {"a": 2.0, "b": 3.0}.items():
            x = x * factor if name != "b" else x + factor
        for g in [fl.tanh, fl.exp]:
            x = g(x)
            if fl.sum(x) > 6:
                break
        for i in (j * j for j in range(3)):
            x = x + i
        return x

    for scale in (1, 3, -2):
        check(f, X * np.float32(scale))


def test_a_loop_becomes_one_of_the_program_midway(caplog):
    caplog.set_level("INFO", "fluvial.convert")

    def f(x):
        for i in range(100):
            x = x * 1.25
            if fl.sum(x) > 20:
                break
        return x, i

    program = check(f, X).programs[0]
    assert "while" in str(program) and str(program).count("mul") < 20
    assert "from trip 1 on" in caplog.text


def test_unrolling_is_logged(caplog):
    caplog.set_level("INFO", "fluvial.convert")

    def f(x):
        for _ in range(4):
            x = x * 2
        return x

    check(f, X)
    assert "unrolled, 4 trips" in caplog.text


def test_for_else():
    def f(x, limit):
        for row in x:
            if fl.sum(row) > limit:
                break
        else:
            return x * 0
        return x + row

    for limit in (2.0, 100.0):
        check(functools.partial(f, limit=limit), X)


def test_return_anywhere():
    def f(x):
        if fl.sum(x) < 0:
            return x * 0.5, 1
        for i, row in enumerate(x):
            while fl.sum(row) < 3:
                row = row + 1
                if row[0] > 2.5:
                    return x * row, 2
            if fl.sum(row) > 6:
                return x - row, 3
        if x[0, 0] > 3:
            return x, 4
        return x * x, 5

    for scale in (1, -1, 0.2, 2, 10, 0):
        check(f, X * np.float32(scale))


def test_boolean_operators_do_not_run_their_right_side():
    def f(x):
        calls = fl.declare_state("calls", (), "int64", init=0)
        if fl.sum(x) > 0 and counted(x) > 0:
            x = x + 1
        if fl.sum(x) > 100 and counted(x) > 0 or not (x[0, 0] < 0 or counted(x) < 0):
            x = x * 2
        return x, fl.read_state("calls"), calls

    def counted(x):
        fl.assign_state("calls", fl.read_state("calls") + 1)
        return fl.sum(x)

    for scale in (1, -1, 100):
        check(f, X * np.float32(scale))


def test_plain_boolean_operators_are_pythons():
    def f(x):
        empty = []
        one = empty or "text"
        two = one and 0 or None
        three = not empty
        return x * (one == "text") * (two is None) * three * (1 < 2 < 3 > 0)

    check(f, X)


def test_chained_comparisons_compute_each_part_once():
    def f(x):
        fl.declare_state("n", (), "int64", init=0)

        def middle():
            fl.assign_state("n", fl.read_state("n") + 1)
            return fl.sum(x)

        inside = 0 < middle() < 7 <= 7.0
        y = x if -1 < x[0, 0] < middle() else -x
        return y, inside, fl.read_state("n")

    for scale in (1, -1, 3):
        check(f, X * np.float32(scale))


def test_conditional_expressions():
    def f(x):
        y = x * 2 if fl.sum(x) > 0 else (x * 3 if x[0, 0] < -1 else x)
        pair = (y, 1) if fl.sum(y) > 3 else (x, 2)
        return pair[0] + (0 if fl.sum(x) > 0 else 1.5), pair[1]

    for scale in (1, -1, -0.5):
        check(f, X * np.float32(scale))


def test_assert_and_raise():
    @fl.function
    def f(x):
        assert fl.sum(x) > 0, "positive"
        if fl.sum(x) > 100:
            raise ValueError("too big")
        return x

    assert f(fl.tensor(X)).tolist() == X.tolist()
    with pytest.raises(AssertionError, match="positive"):
        f(fl.tensor(-X))
    with pytest.raises(ValueError, match="too big"):
        f(fl.tensor(X * 100))


def test_augmented_and_indexed_assignment():
    def f(x):
        y = x * 1
        table = {"n": 1}
        for i in range(3):
            y[i] = x[i] * i
            y[0] += 1.0
            table["n"] += i
            if fl.sum(y) > 3:
                y[:, 0] *= 2
        y /= 2
        return y, table["n"]

    converted = fl.function(f)
    y, n = converted(fl.tensor(X))
    expected = X.copy()
    for i in range(3):
        expected[i] = X[i] * i
        expected[0] += 1
        if expected.sum() > 3:
            expected[:, 0] *= 2
    assert y.tolist() == (expected / 2).tolist() and n == 4


def test_lists_in_loops():
    def f(x):
        rows, pairs = [], [(x[0], 0)]
        for i, row in enumerate(x):
            rows.append(row * 2)
            if fl.sum(row) > 0:
                pairs.append((row, i))
        while len(pairs) > 2:
            row, i = pairs.pop()
            rows.append(row * i)
        s = fl.sum(fl.stack(rows, 0), axis=0)
        for row, i in pairs:
            s = s + row * i
        return s, len(rows), rows[-1], pairs

    for scale in (1, -1):
        check(f, X * np.float32(scale))


def test_lists_after_functions_take_expressions():
    def f(x):
        rows = []
        for row in x:
            if fl.sum(row) > 0:
                rows.append(row * 2)
        return fl.stack(rows), fl.concat(rows)

    fl.Variable("A")
    check(f, X)


def test_a_pop_of_what_only_the_run_has():
    def f(x, stack):
        for row in x:
            if fl.sum(row) > 0:
                stack.append(row)
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(left * right)
        return stack.pop()

    with pytest.raises(IndexError, match="where this branch or loop .* is traced\n  remedy: begin"):
        fl.function(lambda x: f(x, [x[0]]), whole=True)(fl.tensor(X))
    x = np.array([[1.0, 2.0], [3.0, 4.0], [-1.0, -1.0], [5.0, 5.0]], np.float32)
    check(lambda x: f(x, [x[0], x[0]]), x)


def test_a_stack_of_work():
    def f(x):
        stack, s = [x[0]], x[0] * 0
        while stack:
            row = stack.pop()
            s = s + row
            if fl.sum(row * row) > 1:
                stack.append(row * 0.5)
                if row[0] > 0.75:
                    stack.append(row * 0.25)
        return s

    check(f, X)


def test_comprehensions():
    def f(x, n):
        doubled = [row * 2 for row in x]
        positive = [row for row in x if fl.sum(row) > 0]
        plain = [i * i for i in range(4) if i % 2]
        table = {i: row for i, row in enumerate([x[0], x[1]])}
        total = sum(row * i for i, row in table.items())
        return total + fl.stack(doubled, 0), positive, plain, {i for i in range(2)} == {0, 1}

    check(lambda x: f(x, 3), X)


def test_print(capfd):
    def f(x):
        print("sum", fl.sum(x))
        print("plain", 3)
        return x

    fl.function(f)(fl.tensor(X))
    out = capfd.readouterr().out
    assert "plain 3" in out and "sum" in out and "5.5" in out


def test_scopes():
    total = fl.tensor(0.0)

    def f(x):
        total = fl.sum(x) * 0

        def add(value):
            nonlocal total
            if value > 0:
                total = total + value
            else:
                total -= value

        for row in x:
            add(fl.sum(row))
        i = 5
        squares = [i * i for i in range(3)]
        del squares
        twice = lambda v: v * 2 if v > 0 else v  # noqa: E731
        return twice(total), i

    check(f, X)
    assert total.item() == 0.0


def test_methods_defaults_decorators_and_recursion():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs) + function(*args, **kwargs)

        return wrapper

    class Base:
        def scaled(self, x):
            return x * self.scale if fl.sum(x) > 0 else x

    class Model(Base):
        def __init__(self):
            self.scale = 3.0
            self.__hidden = 2.0

        @twice
        def scaled(self, x, *, more=1.0):
            y = super().scaled(x) * more
            if fl.sum(y) > 5:
                y = y / self.__hidden
            return y

        def __call__(self, x):
            return self.power(self.scaled(x), 3)

        def power(self, x, n):
            if n == 0:
                return x
            return self.power(x * 0.5 if fl.sum(x) > 1 else x + 1, n - 1)

    model = Model()
    for scale in (1, -1):
        check(lambda x: model(x), X * np.float32(scale))


def test_attributes_that_branches_and_loops_change():
    class Counter:
        def __init__(self, start):
            self.value = start

    def f(x):
        counter = Counter(fl.sum(x) * 0)
        for row in x:
            if fl.sum(row) > 0:
                counter.value = counter.value + row[0]
            else:
                counter.value -= 1
        return counter.value

    check(f, X)


def test_try_with_and_exceptions():
    def f(x):
        for row in x:
            try:
                if fl.sum(row) > 0:
                    try:
                        x = x * 2
                        {}["missing"]
                    except KeyError as error:
                        x = x + len(error.args)
                [][1]
            except IndexError:
                x = x + row
            else:
                x = x * 1000
            finally:
                x = x * 0.5
        with fl.no_grad():
            flag = fl.sum(x) > 0
        return x + 1 if flag else x

    for scale in (1, -1):
        check(f, X * np.float32(scale))


def test_exceptions_leave_a_branch_of_the_program():
    def f(x):
        try:
            if fl.sum(x) > 0:
                raise KeyError("q")
        except KeyError:
            x = x * 0.5
        return x

    for scale in (1, -1):
        check(f, X * np.float32(scale))
    assert not fl.is_building()


def test_captured_parameters_have_exact_gradients(own_state):
    def loss(x):
        w = fl.parameter("w", (2,), init=0.5)
        h = x[0]
        while fl.sum(h * h) > 0.1:
            h = h * w if h[0] > 0.2 else h * w * w
        states = []
        for row in x:
            h = fl.tanh(h + row * w)
            states.append(h)
        return fl.sum(fl.stack(states, 0) * x), w

    def step(x):
        value, w = loss(x)
        return value, fl.grad(value, w)

    expected = step(fl.tensor(X))
    found = fl.function(step)(fl.tensor(X))
    assert expected[0].item() == found[0].item()
    np.testing.assert_allclose(expected[1].numpy(), found[1].numpy(), 1e-6)


def test_promotion_of_branches_and_states():
    def f(x):
        n = 0
        y = 1
        for row in x:
            if fl.sum(row) > 0:
                n = n + row[0]
                y = 2.5
        return n * 1.0, y

    check(f, X)
