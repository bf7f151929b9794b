"""Jumps, scopes, functions in functions."""

import contextlib
import functools

import fluvial as fl

from . import V, X, case


@case(V, V + 2, V - 9)
def for_else(v):
    for x in v:
        if x < 0:
            out = x * 2
            break
    else:
        out = v[0] * 3
    return out


@case(V, V + 2)
def for_else_of_a_plain_loop(v):
    for i in range(3):
        if v[i] > 2:
            break
    else:
        return v * 2
    return v


@case(V, V + 20)
def while_else(v):
    n = 0
    while n < 5:
        n += 1
        if fl.sum(v) > 50:
            break
        v = v * 2
    else:
        v = v - 1
    return v, n


@case(V, V + 2)
def continue_in_finally(v):
    s, n = v[0] * 0, 0
    for x in v:
        try:
            if x < 1:
                continue
            s = s + x
        finally:
            n += 1
    return s, n


@case(V, V + 2)
def break_in_with(v):
    s = v[0] * 0
    for x in v:
        with contextlib.nullcontext():
            if x < 0:
                break
            s = s + x
    return s


@case(V, V + 2)
def continue_in_with(v):
    s = v[0] * 0
    for x in v:
        with contextlib.nullcontext() as _:
            if x < 1:
                continue
        s = s + x
    return s


@case(V, V + 2)
def return_in_a_loop_in_with(v):
    with contextlib.nullcontext():
        for x in v:
            if x < 1:
                return x
    return v[0] * 100


@case(V, V + 2)
def return_in_try_finally(v):
    try:
        for x in v:
            if x < 1:
                return x * 2
    finally:
        v = v + 1
    return v[0] * 100


@case(V, V + 2)
def return_in_nested_loops(v):
    for i in range(3):
        for x in v:
            if x * (i + 1) > 4:
                return x * 100 + i
    return v[0] * 0


@case(V, V + 2)
def break_of_two_loops(v):
    found = v[0] * 0
    for a in v:
        for b in v:
            if a * b > 2.5:
                found = a * 10 + b
                break
        else:
            continue
        break
    return found


@case(V, -V)
def nested_function_with_control_flow(v):
    def clipped(x, limit=1.0):
        if x > limit:
            return x * 0 + limit
        return x

    return [clipped(v[0]), clipped(v[1], limit=2.0), clipped(v[3])]


@case(V, -V)
def nested_function_that_reads_a_changing_name(v):
    scale = 1.0

    def scaled(x):
        return x * scale

    if v[0] > 0:
        scale = 2.0
    return scaled(v)


@case(V, -V)
def nonlocal_name(v):
    total = v[0] * 0

    def add(x):
        nonlocal total
        if x > 0:
            total = total + x

    for x in v:
        add(x)
    return total


@case(V, -V)
def recursion(v):
    def power(x, n):
        if n == 0:
            return x * 0 + 1
        if n % 2:
            return x * power(x, n - 1)
        half = power(x, n // 2)
        return half * half

    return power(v, 5)


@case(V, -V)
def recursion_with_tensor_conditions(v):
    def relu_sum(v, depth):
        if depth == 0:
            return v[0] * 0
        head = v[depth - 1]
        if head > 0:
            return head + relu_sum(v, depth - 1)
        return relu_sum(v, depth - 1)

    return relu_sum(v, 5)


@case(V, -V)
def lambdas(v):
    sign = lambda x: 1 if x > 0 else (-1 if x < 0 else 0)  # noqa: E731
    return [sign(x) for x in v], (lambda a, b: a if a > b else b)(v[0], v[1])


@case(V, -V)
def lambda_in_a_dict(v):
    table = {"a": lambda x: x * 2 if x > 0 else x, "b": lambda x: x + 1}
    return table["a"](v[0]), table["b"](v[1])


@case(V, V + 2)
def walrus_in_if(v):
    if (total := fl.sum(v)) > 6:
        return total * 2
    return total


@case(V, V + 20)
def walrus_in_while(v):
    n = 0
    while (total := fl.sum(v)) < 40:
        v = v * 2
        n += 1
    return v, n, total


@case(V, V + 2)
def walrus_behind_and(v):
    out = v[0]
    if v[0] > 3 and (second := v[1] * 2) > 1:
        out = second
    return out


@case(V)
def starred_arguments(v):
    def f(a, b, *rest, scale=1, **more):
        return (a + b + len(rest)) * scale + more["shift"]

    args = [v[0], v[1], v[2]]
    options = {"scale": 2, "shift": 3}
    return f(*args, **options)


@case(V, V + 2)
def chained_comparison(v):
    if -1 <= v[3] <= 2 > v[1]:
        return v * 2
    return v


@case(V, V + 2)
def nested_choices(v):
    return v * 2 if v[0] > 4 else v * 3 if v[1] > 0 else (v if v[2] > 0 else -v)


@case(V, V + 2)
def choice_of_numbers(v):
    return (1 if v[0] > 4 else 2) + (0.5 if v[1] > 2 else 1)


@case(V, V + 9)
def assert_with_a_message(v):
    assert v[0] < 10, f"the first is {v[0]}"
    return v * 2


@case(V, V + 9)
def assert_plain(v):
    assert v[0] < 10
    return v * 2


@case(V, V + 9)
def raise_in_a_branch(v):
    if v[0] > 10:
        raise ValueError("too much")
    return v * 2


@case(V, V + 9)
def raise_in_a_loop(v):
    s = v[0] * 0
    for x in v:
        if x > 10:
            raise OverflowError(f"no more than {10}")
        s = s + x
    return s


@case(V)
def delete_a_name(v):
    y = v * 2
    if v[0] > 0:
        z = y + 1
        v = z * 2
        del z
    del y
    return v


@case(V, -V)
def decorators(v):
    def twice(f):
        @functools.wraps(f)
        def g(x):
            return f(f(x))

        return g

    @twice
    def step(x):
        return x * 2 if x > 0 else x - 1

    return step(v[0])


@case(V, -V)
def decorator_with_a_cache(v):
    @functools.lru_cache
    def factor(n):
        return n * 2 if n > 1 else 1

    return v * factor(3)


@case(V, -V)
def class_in_a_function(v):
    class Box:
        scale = 2

        def __init__(self, value):
            self.value = value

        def positive(self):
            if self.value > 0:
                return self.value * self.scale
            return self.value

        @property
        def half(self):
            return self.value / 2 if self.value > 1 else self.value

        @staticmethod
        def plus(x):
            return x + 1 if x > 0 else x

    box = Box(v[0])
    return box.positive(), box.half, Box.plus(v[1])


@case(V, -V)
def generator_over_a_plain_source(v):
    def pairs(n):
        for i in range(n):
            yield v[i], v[i + 1]

    s = v[0] * 0
    for a, b in pairs(3):
        if a > b:
            s = s + a
    return s


@case(V, -V)
def generator_expression_in_sum(v):
    return sum(x * 2 if x > 0 else x for x in v)


@case(V, -V)
def exceptions_of_python(v):
    try:
        out = {"a": v}["b"]
    except KeyError:
        out = v * 2
    else:
        out = v * 3
    finally:
        out = out + 1 if v[0] > 0 else out
    return out


@case(V, -V)
def try_in_a_branch(v):
    if v[0] > 0:
        try:
            k = int("x")
        except ValueError:
            k = 2
        v = v * k
    return v


@case(V, -V)
def try_else_finally_in_a_loop(v):
    s = v[0] * 0
    for x in v:
        try:
            if x > 1:
                s = s + x
        except ZeroDivisionError:
            s = s * 0
        else:
            s = s + 1
        finally:
            s = s * 2
    return s


@case(V, -V)
def several_returns(v):
    if v[0] > 2:
        if v[1] > 2:
            return v, 1
        return v * 2, 2
    elif v[3] > 0:
        return v * 3, 3
    return v * 4, 4


@case(V, -V)
def return_nothing_or_something(v):
    def find(limit):
        for x in v:
            if x > limit:
                return x
        return v[0] * 0 - 1

    return find(2.5), find(100)


@case(V, -V)
def while_true(v):
    n = 0
    while True:
        v = v * 2
        n += 1
        if fl.sum(v * v) > 1000:
            break
    return v, n


@case(V, -V)
def while_true_return(v):
    n = 0
    while True:
        v = v * 2
        n += 1
        if fl.sum(v * v) > 1000:
            return v, n


@case(V, -V)
def while_with_not_and_or(v):
    n = 0
    while not fl.sum(v * v) > 100 and (n < 3 or v[0] > 0):
        v = v * 1.5
        n += 1
    return v, n


@case(V)
def partials(v):
    def scaled(x, k):
        return x * k if x > 1 else x

    double = functools.partial(scaled, k=2)
    return double(v[0]), double(v[3]), functools.reduce(lambda a, b: a + b if b > 0 else a, list(v))


@case(X, -X)
def keyword_only_and_defaults(x):
    def f(y, *, scale=2.0, flag=None):
        if flag is None:
            return y * scale
        return y if flag else -y

    return f(x), f(x, flag=x[0, 0] > 0), f(x, scale=3)


@case(V, -V)
def global_constant(v):
    if v[0] > LIMIT:
        return v * LIMIT
    return v


LIMIT = 2.5


@case(V, -V)
def pass_and_ellipsis(v):
    if v[0] > 0:
        pass
    else:
        ...
    while fl.sum(v) < -100:
        pass
    return v


@case(V, -V)
def closures_in_a_loop(v):
    made = []
    for k in (1.0, 2.0):
        made.append(lambda x, k=k: x * k if x > 0 else x)
    return [f(v[0]) for f in made]


@case(V, -V)
def star_in_calls_and_lists(v):
    a = [v[0], v[1]]
    b = [*a, *v[2:4]]
    return max(*b), [*b], {"x": b[0], **{"y": b[1]}}


@case(V, -V)
def string_building(v):
    name = "a" if v.shape[0] > 3 else "b"
    table = {"a": v * 2, "b": v}
    return table[name]


@case(V, -V)
def is_none(v):
    h = None
    for x in v:
        h = x if h is None else h * 0.5 + x
    return h


@case(V, -V)
def flags_as_bools(v):
    done, n = False, 0
    for x in v:
        if not done:
            n += 1
            if x < 0:
                done = True
    return n, done


@case(V, -V)
def fibonacci(v):
    a, b = 0, 1
    for x in v:
        if x > 0:
            a, b = b, a + b
    return a, b


@case(V, -V)
def walrus_behind_or(v):
    if v[0] > 2 or (total := fl.sum(v)) > 100:
        return v
    return v * total


@case(V, V + 9)
def raise_with_values(v):
    if v[0] > 10:
        raise ValueError(f"the first is {v[0]:.2f} of {v.shape}")
    return v * 2


@case(V, -V)
def property_of_a_class(v):
    return Pair(v[0], v[1]).greater * 2


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    @property
    def greater(self):
        return self.a if self.a > self.b else self.b


@case(V, -V)
def generator_of_conditions(v):
    return any(x > 1 for x in v if x < 3), all(x > -9 for x in [v[0], v[1]]), max(x * x for x in v)
