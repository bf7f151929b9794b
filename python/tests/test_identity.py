"""What a function returns and leaves behind are the objects that the lines would give, also where only the run chooses them."""

import numpy as np
import pytest

import fluvial as fl


def facts(values):
    """Types and values of nested results, and which of the objects are one."""
    flat = []

    def go(value):
        if isinstance(value, (list, tuple)):
            flat.append(len(value))
            for part in value:
                go(part)
        elif isinstance(value, dict):
            flat.append(list(value))
            go(list(value.values()))
        else:
            flat.append(value)

    go(values)
    tensors = [value for value in flat if isinstance(value, fl.Tensor)]
    shown = [(v.type_text, v.tolist()) if isinstance(v, fl.Tensor) else (type(v), repr(v)) for v in flat]
    return shown, [[a is b for a in tensors] for b in tensors]


def check(make, calls):
    found = []
    for mode in ("imperative", "program"):
        made = make()
        function, *seen = made if isinstance(made, tuple) else (made,)
        with fl.mode(mode):
            run = fl.function(function)
            out = []
            for given in calls:
                given = [fl.tensor(x) for x in given]
                before = [list(x) if isinstance(x, list) else x for x in seen]
                result = run(*given)
                out.append(facts([result, given, seen, before]))
        found.append(out)
    assert found[0] == found[1]


CALLS = [
    ([1.0, 2.0], [1.0, 1.0]),
    ([100.0, 200.0], [1.0, 1.0]),
    ([1.0, 2.0], [20.0, 20.0]),
    ([-5.0, 0.25], [0.1, 0.1]),
    ([100.0, 200.0], [20.0, -50.0]),
]


def loop(x, y):
    while fl.sum(x) < 100.0:
        x = x * 2.0
    return x


def nested(x, y):
    z = y
    if fl.sum(x) > 100.0:
        if fl.sum(y) > 10.0:
            z = x
    return z, x, y


def made_or_given(x, y):
    z = x * 2.0
    a = z
    if fl.sum(y) > 4.0:
        a = y
    return a, z, y


def early(x, y):
    if fl.sum(y) > 4.0:
        if fl.sum(x) > 2.0:
            return x, y
    for r in y:
        if r > 10.0:
            return y, x
    return x, y


def in_a_loop(x, y):
    kept = y
    for r in x:
        if r > 1.5:
            kept = x
        elif r < 0.0:
            kept = kept + 1.0
    return kept, x, y


def chosen(x, y):
    a = x if fl.sum(x) > 5.0 else y
    b = a if fl.sum(y) > 5.0 else x
    return a, b, a is b, a is x, b is y, a is not x


def swapped(x, y):
    a, b = x, y
    for r in x:
        if r > 1.0:
            a, b = b, a
    return a, b


def lists(x, y):
    rows = [x, x * 2.0]
    for r in x:
        if r > 1.5:
            rows.append(x)
            rows.insert(0, rows[1])
    rows.reverse()
    return rows, rows[0], rows[-1], len(rows)


def comprehensions(x, y):
    rows = [r * 2.0 for r in x if r > 0.5]
    return rows, [r * 3.0 for r in x], [y for r in x if r > 0.0], [y for _ in range(2)]


def extended(x, y):
    rows = [x]
    for r in x:
        rows.extend(fl.stack([x, y]))
        rows += [y]
    return rows, x, y


@pytest.mark.parametrize(
    "function",
    [loop, nested, made_or_given, early, in_a_loop, chosen, swapped, lists, comprehensions, extended],
    ids=lambda function: function.__name__,
)
def test_tensors(function):
    check(lambda: function, CALLS)


def test_lists_from_outside_keep_their_elements():
    def make():
        items = [fl.tensor([1.0, 2.0]), fl.tensor([3.0, 4.0])]

        def f(x, y):
            if fl.sum(x) > 2.0:
                items.append(x)
                items.append(x * 2.0)
            return items[0], items[-1], x

        return f, items

    check(make, CALLS)


def test_containers_that_are_returned_early():
    def make():
        box = {"a": fl.tensor([1.0])}

        def f(x, y):
            if -1.0 < fl.sum(y) < 4.0:
                if fl.sum(x) > 2.0:
                    return box, x
            for r in y:
                if r > 10.0:
                    return box, x
            return box, x

        return f

    check(make, CALLS)
    assert fl.function(make())(*map(fl.tensor, CALLS[0]))[0] is not None


def int_or_float(x, y):
    k = 1 if fl.sum(x) > 2.0 else 0.5
    m = 2
    if fl.sum(x) > 10.0:
        m = 1.5
    j = k
    for r in x:
        j = j + m
    c = 1
    for r in x:
        if r > 1.5:
            c = c + 0.5
    return k, m, k * m, k + 1, j, j // 2, j % 2, m**2, c


def signs(x, y):
    k = 1 if fl.sum(x) > 2.0 else 0.5
    return -k, abs(k), -abs(-k) * 2


def number_or_tensor(x, y):
    k, n, flag = 0.5, 0, False
    if fl.sum(x) > 2.0:
        k = fl.sum(x)
    if fl.sum(y) > 5.0:
        n = n + fl.argmax(y)
        flag = fl.sum(x) > 3.0
    n = n + 2
    n += 1
    return k, n, flag, min(n, 3), (fl.sum(x) > 3.0) and flag


def sums(x, y):
    total, count = 0.0, 0
    while fl.sum(x) + count < 20.0:
        total = total + fl.sum(x)
        count += 1
    each = 0
    for r in x:
        each = each + r
    return total, count, each * 0.5


@pytest.mark.parametrize("function", [int_or_float, signs, number_or_tensor, sums], ids=lambda function: function.__name__)
def test_numbers(function):
    check(lambda: function, CALLS)


def test_a_number_or_a_tensor_beside_a_number_is_refused():
    @fl.function(whole=True)
    def f(x):
        k = 0.5
        if fl.sum(x) > 2.0:
            k = fl.sum(x)
        return k * 0.1

    with pytest.raises(TypeError, match="a value is a Python number or a tensor"):
        f(fl.tensor([1.0]))


def test_tensors_of_before_that_blocks_use_first():
    """A block may use a tensor of a list before a line has said where the list is from."""

    def make():
        items = [fl.tensor([1.5, -0.5]), fl.tensor([-1.0, 0.25])]

        def f(x, y):
            if fl.mean(x) <= 1000.0:
                pass
            else:

                def add():
                    items.append(x)

                add()
            items[0] = items[0] * 3.0
            return items[0] + x

        return f, items

    check(make, CALLS)


def test_a_tensor_from_outside_that_is_only_returned():
    base = fl.tensor([1.0])

    @fl.function
    def f(x):
        return x, base

    for number in range(3):
        base = fl.tensor([float(number)])
        assert f(fl.tensor([1.0]))[1] is base
    assert len(f.builds) == 1


# Containers and tensors of which the run knows which they are ------------------------------------------


def test_a_container_that_a_branch_or_a_loop_chooses_is_the_object_of_the_lines():
    """Which list or dict is given is data, in one program."""
    mine, other = [fl.tensor([3.0]), fl.tensor([1.0])], [fl.tensor([5.0]), fl.tensor([2.0])]

    @fl.function(whole=True)
    def branch(x, rows):
        if fl.sum(x) > 0:
            return [x, x + 1], rows
        return [x, x * 2], other

    @fl.function(whole=True)
    def loop(x, rows):
        while fl.sum(x) < 4.0:
            rows = [rows[0] + 1, rows[1]]
            x = x + 1
        return rows

    @fl.function(whole=True)
    def choice(x, rows):
        return rows if fl.sum(x) > 0 else [x, x]

    for _ in range(2):
        assert branch(fl.tensor([1.0]), mine)[1] is mine and branch(fl.tensor([-1.0]), mine)[1] is other
        assert loop(fl.tensor([9.0]), mine) is mine
        assert [v.item() for v in loop(fl.tensor([1.0]), mine)] == [6.0, 1.0]
        assert choice(fl.tensor([1.0]), mine) is mine and choice(fl.tensor([-1.0]), mine)[0].item() == -1.0
    assert [len(f.builds) for f in (branch, loop, choice)] == [1, 1, 1]


class Model:
    def __init__(self):
        self.h = fl.tensor([1.0, 2.0])
        self.rows = [fl.tensor([0.0, 1.0])]
        self.array = np.zeros(2, np.float32)


def one_object_after_a_loop(m, x):
    for row in x:
        m.h = m.h * 0.5
        a = m.h
    return a, x


def one_object_or_another_in_a_trip(m, x):
    kept = x
    for row in x:
        m.h = m.h * row
        kept = x if fl.sum(x) > 2.0 else m.h
    return kept, x


def a_list_of_an_attribute_that_grows(m, x):
    rows = m.rows
    i = 0
    while i < 3 and fl.sum(x) > 0.0:
        i += 1
        m.rows += [x * i]
    return rows is m.rows, len(rows)


def a_list_that_grows_outside_and_inside(m, x):
    m.rows.extend([x, x + 1])
    if fl.sum(x) > 0.0:
        m.rows.extend([x * 2, x])
    return x


def an_array_that_is_not_changed(m, x):
    if len(m.rows) > 100:
        if fl.sum(x) > 0.0:
            m.array[0] = 4.0
    return x * 1


def two_branches_and_a_change_in_place(m, x):
    y = x
    if fl.sum(x) > 0.0:
        if fl.max(x) > 2.0:
            y = x * 2
    elif fl.max(x) > -100.0:
        y = x * 3
    box = [y]
    box[0][0] = 9.0
    return y, x


def a_result_behind_an_attempt(m, x):
    try:
        if fl.sum(x) > 0.0:
            m.h = x
        y = m.h[fl.tensor([0])]
    finally:
        m.array = None
    return m.h, x


@pytest.mark.parametrize(
    "function",
    [
        one_object_after_a_loop,
        one_object_or_another_in_a_trip,
        a_list_of_an_attribute_that_grows,
        a_list_that_grows_outside_and_inside,
        an_array_that_is_not_changed,
        two_branches_and_a_change_in_place,
        a_result_behind_an_attempt,
    ],
    ids=lambda function: function.__name__,
)
def test_objects_that_loops_and_branches_change(function):
    found = []
    for mode in ("imperative", "program"):
        m, out = Model(), []
        with fl.mode(mode):
            f = fl.function(lambda x, m=m: function(m, x))
            for number, v in enumerate(([1.0, 2.0], [-1.0, 0.5], [3.0, -4.0], [1.0, 2.0])):
                if m.array is not None:
                    m.array[1] = number
                x = fl.tensor(v)
                result = f(x)
                array = None if m.array is None else m.array.tolist()
                out.append((facts([result, x, m.h, m.rows]), array))
        found.append(out)
    assert found[0] == found[1]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_pop_from_the_front_fails_with_the_words_of_the_lines(n):
    def f(x):
        rows, i = [x] * n, 0
        while i < 5 and fl.sum(x) > 0.0:
            i += 1
            x = rows.pop(0)
        return x

    said = []
    for mode in ("imperative", "program"):
        with fl.mode(mode), pytest.raises(IndexError) as error:
            fl.function(f)(fl.tensor([1.0]))
        said.append(str(error.value).split(": ")[-1])
    assert said[0] == said[1]
