"""Constructs in combination: the same bits and gradients in both modes."""

import dataclasses
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl

sys.path.insert(0, str(Path(__file__).parent))
from test_convert_constructs import X, check  # noqa: E402


def breaks_of_nested_ranges(x):
    n = 0
    for i in range(4):
        for j in range(4):
            n = n + 1
            x = x + 0.25
            if fl.sum(x) > 9:
                break
        if fl.sum(x) > 14:
            break
    return x, n, i, j


def an_endless_iterator(x):
    for i in itertools.count():
        x = x * 1.5
        if i > 5:
            break
    return x


def an_early_exit_from_a_list_of_functions(x):
    outs = []
    for f in (fl.tanh, fl.sin, fl.cos):
        x = f(x)
        outs.append(x)
        if fl.sum(x) > 2:
            break
    return x, len(outs)


def a_list_and_an_early_exit(x):
    outs = []
    for _ in range(6):
        x = x * 1.2
        outs.append(fl.sum(x))
        if fl.sum(x) > 9:
            break
    return fl.stack(outs, 0), len(outs)


def a_dict_that_changes(x):
    d = {"a": x[0], "b": x[1] * 0}
    for r in x:
        d["b"] = d["b"] + r
        if r[0] > 0:
            d["a"] = r
    return d["a"] + d["b"], d


def nested_tuples(x):
    s = (x[0], (x[1], 0))
    while fl.sum(s[0]) < 10:
        s = (s[0] + 1, (s[1][0] * 0.5, s[1][1] + 1))
    return s[0], s


def closures_made_in_a_loop(x):
    functions = []
    for i in range(3):

        def g(v, k=i):
            if fl.sum(v) > k:
                return v * k
            return v + k

        functions.append(g)
    for g in functions:
        x = g(x)
    return x


def while_else_return(x):
    k = 0
    while fl.sum(x) < 20:
        x = x + 1
        k += 1
        if k == 3:
            return x * 2, k
    else:
        return x * 3, k


def values_of_boolean_operators(x):
    total = sum([fl.sum(r) for r in [x[0], x[1]]])
    return total + (x[0, 0] or x[0, 1]), x[0, 0] and x[0, 1]


@dataclasses.dataclass
class Pair:
    a: object
    b: object


def an_attribute_that_changes(x):
    p = Pair(x[0], 1)
    if fl.sum(x) > 0:
        p.a = p.a * 2
    for r in x:
        p.a = p.a + r
    return p.a


def a_number_that_changes(x):
    rate = 1.0
    for _ in range(3):
        rate *= 0.5
    if fl.sum(x) > 0:
        rate = rate * 0.25
    return x * rate


def rows_set_by_a_tensor(x):
    i = fl.tensor(0)
    out = fl.zeros((3, 2), "float32")
    while i < 3:
        out = out.setitem(i, x[i] * 2)
        i += 1
    return out


def starred_assignment(x):
    a = b = c = x[0]
    (a, *rest), d = (a, b, c), 3
    if fl.sum(a) < 0:
        a, *rest = rest[0] * 2, a * 1, c
    return a + rest[0] + d


def returns_of_inner_functions(x):
    def pick(v):
        for r in v:
            if r[0] > 2:
                return r
        return v[0]

    return pick(x) + pick(-x)


def continue_break_else(x):
    for i in range(3):
        if i == 1:
            continue
        x = x * 2 if fl.sum(x) > 0 else x
        if i == 2:
            break
    else:
        x = x * 1000
    return x


def an_iterator_in_a_condition(x):
    s = fl.zeros((), "float32")
    numbers = iter([1.0, 2.0, 3.0])
    while (v := next(numbers, None)) is not None:
        s = s + v * x[0, 0]
    return s


def while_else_continue_in_a_loop(x):
    k = 0
    while k < 3 and fl.sum(x) < 100:
        inner = 0
        while inner < 2:
            if fl.sum(x) > 50:
                break
            x = x * 1.5
            inner += 1
        else:
            k += 1
            continue
        k += 2
    return x, k


def a_stack_of_numbers(x):
    stack = [0]
    total, n_pops = x[0, 0] * 0, 0
    while stack and n_pops < 10:
        n = stack.pop()
        n_pops += 1
        total = total + n
        if total < 5:
            stack.append(n + 1)
            stack.append(n + 2)
    return total, n_pops


def a_loop_that_only_returns_end(x):
    while True:
        if fl.sum(x) > 100:
            return x
        if fl.sum(x) < -100:
            return -x
        x = x * 2 + 0.001


def inner_lists(x):
    out = []
    for r in x:
        inner = []
        for v in r:
            if v > 0:
                inner.append(v)
            else:
                inner.append(v * 0.5)
        out.append(fl.stack(inner, 0))
    return fl.stack(out, 0)


def a_long_chain(x):
    t = fl.sum(x)
    if t > 100:
        r = 1
    elif t > 10:
        r = 2
    elif t > 1:
        r = 3
    elif t > 0.1:
        r = 4
    elif t > -1:
        r = 5
    else:
        r = 6
    return x * r, r


def continue_and_break_in_tensor_loops(x):
    s = 0.0
    for a in x:
        for b in x:
            if fl.sum(a * b) < 0:
                continue
            if fl.sum(a) > 4:
                break
            s = s + fl.sum(a * b)
        else:
            s = s + 1
    return s * 1.0


FUNCTIONS = [
    a_loop_that_only_returns_end,
    inner_lists,
    a_long_chain,
    continue_and_break_in_tensor_loops,
    breaks_of_nested_ranges,
    an_endless_iterator,
    an_early_exit_from_a_list_of_functions,
    a_list_and_an_early_exit,
    a_dict_that_changes,
    nested_tuples,
    closures_made_in_a_loop,
    while_else_return,
    values_of_boolean_operators,
    an_attribute_that_changes,
    a_number_that_changes,
    rows_set_by_a_tensor,
    starred_assignment,
    returns_of_inner_functions,
    continue_break_else,
    an_iterator_in_a_condition,
    while_else_continue_in_a_loop,
    a_stack_of_numbers,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("scale", [1.0, -1.0, 0.1])
def test_combined(function, scale):
    check(function, X * np.float32(scale))


def test_values_that_begin_as_none_or_a_number():
    def f(x):
        best, total, rows = None, 0, []
        for row in x:
            if best is None:
                best = row
            else:
                best = fl.maximum(best, row)
            total = total + row
            rows.append(total)
        return best + total, rows

    converted = check(f, X)
    assert "while" in str(converted.programs[0])
    summed = fl.function(f)
    for n in (2, 3, 4, 5):
        x = fl.full((n, 2), 1.0)
        result, rows = summed(x)
        assert result.tolist() == [n + 1.0] * 2 and len(rows) == n
    assert len(summed.programs) == 2


def test_loops_without_an_end_of_their_own():
    def f(x):
        n = 0
        while True:
            n += 1
            x = x * 1.5
            if fl.sum(x * x) > 1000:
                break
        while (n := n + 1) < 30 and fl.sum(x) < 1000:
            x = x + 1
        return x, n

    check(f, X)


def test_match_global_and_del():
    def f(x, kind="wide"):
        global COUNTER
        match kind:
            case "wide" if fl.sum(x).ndim == 0:
                y = x * 2
            case _:
                y = x
        COUNTER = 0
        for row in x:
            if fl.sum(row) > 0:
                COUNTER = COUNTER + 1
        z = y
        if fl.sum(x) > 0:
            del z
        return y, COUNTER

    check(f, X)


def test_return_inside_with_and_try_in_loops():
    def f(x):
        for i, row in enumerate(x):
            with fl.no_grad():
                limit = fl.sum(row) > 3
            try:
                if limit:
                    return x * i
                x = x + row
            finally:
                x = x * 0.5
        return x

    for scale in (1, 10, -1):
        check(f, X * np.float32(scale))


def test_functions_made_in_branches_and_loops():
    def f(x):
        functions = [lambda v, i=i: v * i if fl.sum(v) > 0 else v - i for i in range(3)]
        for g in functions:
            x = g(x)

        def clipped(v, low=-1.0):
            return fl.tensor(low) if v < low else v

        s = 0.0
        for row in x:
            s = s + clipped(row[0])
        return x, s, max(s, x[0, 0], 0.5), min(x[0, 0], s)

    for scale in (1, -1):
        check(f, X * np.float32(scale))
