"""Lists and dicts of which only the run knows which they are: changes are seen as line by line, or refused."""

import pytest

import fluvial as fl

V = fl.tensor([3.0, 1.0, 2.0, -1.0, 0.5])
WORKING, REFUSED = [], []


def shown(value):
    if isinstance(value, fl.Tensor):
        return (str(value.dtype), value.shape, repr(value.tolist()))
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(shown, value)]
    if isinstance(value, dict):
        return {key: shown(part) for key, part in value.items()}
    return (type(value).__name__, repr(value))


def works(function):
    WORKING.append(function)
    return function


def refused(function):
    REFUSED.append(function)
    return function


def positive(v):
    return [x for x in v if x > 0]


@refused
def one_of_two_by_a_choice(v):
    a, b = [v[0]], [v[1]]
    c = a if v[0] > 0 else b
    c.append(v[2])  # here
    return a, b, c


@refused
def one_of_two_by_a_branch(v):
    a, b = [v[0]], [v[1]]
    if v[0] > 0:
        c = a
    else:
        c = b
    c.append(v[1])  # here
    return a, b, c


@refused
def what_may_have_another_name(v):
    a, b = {"x": v[0]}, {"x": v[1]}
    if v[0] > 0:
        c = a
    else:
        c = b
    a["x"] = v[1]  # here
    return b, c


@refused
def two_names_on_one_path(v):
    if v[0] > 0:
        c = [v[0]]
        d = c
    else:
        c, d = [v[1]], [v[2]]
    c.append(v[1])  # here
    return c, d


@refused
def argument_or_its_own(v):
    def changed(s):
        if v[0] > 0:
            s = [v[1]]
        s.append(v[2])  # here
        return s

    q = [v[0]]
    return changed(q), q


@refused
def after_a_loop_without_a_trip(v):
    a = [v[0]]
    b = a
    for _ in range(int(v[0])):
        a = [a[0] + 1]
    a.append(v[1])  # here
    return a, b


@refused
def in_the_first_trip(v):
    a = [v[0]]
    b = a
    for _ in range(int(v[0])):
        a[0] = a[0] * 2  # here
        a = [a[0] + 1]
    return a, b


@refused
def element_of_a_list_of_the_program(v):
    out = []
    for x in v:
        if x > 0:
            out.append([x, x * 2])
    out[0][1] = v[0]  # here
    return out


@refused
def row_that_a_list_has_already(v):
    out = []
    for x in v:
        row = [x, x * 2]
        if x > 0:
            out.append(row)
        row[0] = row[0] + 1  # here
    return out


@refused
def list_at_a_place_of_the_run(v):
    lists = [[v[0]], [v[1]]]
    lists[int(v[1])].append(v[2])  # here
    return lists


@refused
def tensor_in_a_list(v):
    out, y = [], v * 2
    for x in v:
        if x > 0:
            out.append(y)
    y[0] = 9.0  # here
    return out


@refused
def tensor_at_a_place_of_the_run(v):
    tensors = [v * 1, v * 2]
    x = tensors[int(v[1])]
    x[0] = 100.0  # here
    return tensors


@works
def two_names_on_both_paths(v):
    if v[0] > 0:
        c = [v[0]]
        d = c
    else:
        c = [v[1]]
        d = c
    c.append(v[1])
    return c, d, c is d


@works
def bound_anew_in_a_branch(v):
    s = [v[0], v[1]]
    if v[0] > 0:
        s = [v[1], v[0]]
    s[0] = v[2]
    s.append(v[0])
    return s


@works
def bound_anew_in_a_loop(v):
    s = [v[0], v[1]]
    for x in v:
        if x > 0:
            s = [x, s[0]]
        s[0] = s[0] + 1
    s.append(v[2])
    return s


@works
def nested_in_a_loop(v):
    q = [[v[0], v[1]], [v[2]]]
    for x in v:
        if x > 0:
            q = [[x, q[0][0]], [q[1][0] + x]]
        q[0][0] = q[0][0] + 1
    return q


@works
def longer_by_both_ways(v):
    a = []
    for x in v:
        if x > 0:
            a = a + [x]
        a.append(x)
    a.append(v[0])
    return a


@works
def whose_other_name_is_gone(v):
    s = {"a": v[0]}
    c = s if v[0] > 0 else {"a": v[1]}
    s = None
    c["a"] = v[2]
    return c


@works
def chosen_and_looked_at(v):
    a, b = [v[0]], [v[1]]
    c = a if v[0] > 0 else b
    return c[0], len(c), a, b


@works
def attribute_of_an_object(v):
    class Holder: ...

    o = Holder()
    o.s = [v[0]]
    if v[0] > 0:
        o.s = [v[1]]
    o.s.append(v[2])
    o.s[0] = v[3]
    return o.s


@works
def argument_without_another_name(v):
    def changed(s):
        if v[0] > 0:
            s = [v[1]]
        s.append(v[2])
        return s

    return changed([v[0]])


@works
def names_of_one_list_of_the_program(v):
    a = positive(v)
    b = a
    b.append(v[0])
    b += [v[1]]
    b *= 2
    c, d, e = a.copy(), a[:], list(a)
    c.append(v[2])
    d.append(v[3])
    e.pop()
    return a, len(b), a is b, c, d, e


@works
def made_in_a_branch(v):
    if v[0] > 0:
        a = positive(v)
        a.append(v[1])
        a.insert(0, v[2])
    else:
        a = positive(v)
    return len(a), a


@works
def made_in_each_trip(v):
    s = v[0] * 0
    for x in v:
        a = [y for y in v if y > x]
        a.append(x)
        if x > 1:
            a.append(x)
        s = s + len(a) + fl.sum(fl.stack(a))
    return s


@works
def numbers_in_a_list(v):
    a = []
    for x in v:
        if x > -5:
            a.append(x.item() * 0.1)
    return fl.stack(a), a, sum(a), sum(a, 1), sum(a, 0.5), sum([1, 0.1, a[0], 0.2]), sorted(a)


def ran(function, mode, v, **options):
    with fl.mode(mode):
        return shown(fl.function(function, **options)(v * 1))


@pytest.mark.parametrize("function", WORKING, ids=lambda f: f.__name__)
def test_as_line_by_line(function):
    for v in (V, -V):
        assert ran(function, "program", v) == ran(function, "imperative", v)


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused_at_the_line(function):
    code = function.__code__
    with open(code.co_filename) as file:
        lines = file.read().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if i > code.co_firstlineno and text.endswith("# here"))
    with pytest.raises(TypeError, match=rf"test_convert_twins.py:{line}: .*only the run knows which other names or lists"):
        ran(function, "program", V, whole=True)


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_path_by_path_as_line_by_line(function):
    for v in (V, -V):
        assert ran(function, "program", v) == ran(function, "imperative", v)


GIVEN, ENTRIES = [1.0, 2.0], {"a": 1.0}

LOOKS = {
    "sum": lambda v: v * sum(GIVEN),
    "len": lambda v: v * len(GIVEN),
    "sorted": lambda v: v * sorted(GIVEN)[-1],
    "max": lambda v: v * max(*GIVEN),
    "any": lambda v: v * any(GIVEN),
    "in": lambda v: v * (3.0 in GIVEN),
    "equal": lambda v: v * (GIVEN == [1.0, 2.0]),
    "less": lambda v: v * (GIVEN < [1.0, 2.0, 0.0]),
    "list": lambda v: v * list(GIVEN)[-1],
    "comprehension": lambda v: [v * x for x in GIVEN][-1],
    "generator": lambda v: v * sum(x for x in GIVEN),
    "plus": lambda v: v * (GIVEN + [0.5])[-2],
    "enumerate": lambda v: v * [i * x for i, x in enumerate(GIVEN)][-1],
    "index": lambda v: v * GIVEN[int(v[1])],
    "truth": lambda v: v if GIVEN else v * 0,
    "entry": lambda v: v * ("b" in ENTRIES),
}


@pytest.mark.parametrize("name", LOOKS)
def test_containers_from_outside_are_guarded(name):
    found = {}
    for mode in ("imperative", "program"):
        with fl.mode(mode):
            function = fl.function(LOOKS[name])
            GIVEN[:] = [1.0, 2.0]
            ENTRIES.pop("b", None)
            found[mode] = [function(V).tolist()]
            GIVEN.append(3.0)
            ENTRIES["b"] = 2.0
            found[mode].append(function(V).tolist())
            GIVEN[1] = 7.0
            found[mode].append(function(V).tolist())
    assert found["program"] == found["imperative"]
