"""Names that are bound in a loop or in one branch."""

import fluvial as fl

from . import V, case


@case((V, 3), (V, 1), (V, 0))
def bound_in_a_loop(v, n):
    for i in range(n):
        y = v * i
    return y


@case((V, 3), (V, 1), (V, 0))
def loop_target_after_the_loop(v, n):
    for i in range(n):
        v = v + 1
    return v, i


@case(V)
def bound_in_a_loop_over_rows(v):
    for x in v:
        y = x * 2
    return x, y


@case(V, -V)
def bound_in_one_branch(v):
    if v[0] > 0:
        y = v * 2
    return y


@case(V, -V)
def bound_in_one_branch_used_in_another(v):
    flag = v[0] > 0
    if flag:
        y = v * 2
    if flag:
        v = y + 1
    return v


@case(V, -V)
def bound_in_the_other_branch(v):
    if v[0] > 0:
        v = v + 1
    else:
        y = v * 2
        v = y
    return v


@case(V, V + 20)
def bound_in_while(v):
    while fl.sum(v) < 20:
        y = v * 2
        v = v + 1
    return y


@case(V, V + 2)
def found_in_a_loop(v):
    for x in v:
        if x < 0:
            found = x
    return found


@case(V, V + 2)
def found_in_a_loop_with_break(v):
    for x in v:
        if x < 0:
            found = x * 2
            break
    return found


@case((V, 3), (V, 0))
def bound_and_only_used_in_the_loop(v, n):
    for i in range(n):
        t = v[i] * 2
        v = v + t
    return v


@case((V, 3), (V, 0))
def bound_in_a_nested_loop(v, n):
    for i in range(n):
        for x in v:
            last = x * i
    return last



@case(V, -V)
def number_bound_in_one_branch(v):
    if v[0] > 0:
        n = 3
    return v * n


@case(V, -V)
def tuple_bound_in_one_branch(v):
    if v[0] > 0:
        pair = (v[0], v[1])
    a, b = pair
    return a + b


@case(V, -V)
def deleted_in_one_branch(v):
    y = v * 2
    if v[0] > 0:
        del y
    return y


@case(V, -V)
def used_in_a_nested_function(v):
    if v[0] > 0:
        y = v * 2

    def read():
        return y

    return read()


@case(V, -V)
def bound_in_elif(v):
    if v[0] > 10:
        y = v
    elif v[0] > 0:
        y = v * 2
    return y


@case(V, -V)
def bound_in_both_after_nesting(v):
    if v[0] > 0:
        if v[1] > 0:
            y = v * 2
        else:
            y = v * 3
    else:
        y = v
    return y


@case(V, -V)
def augmented_where_unbound(v):
    if v[0] > 0:
        n = v[1]
    n += 1
    return n


@case(V, -V)
def never_bound_but_never_read(v):
    if v[0] > 0:
        unused = v * 2
    return v


@case((V, 3), (V, 0))
def bound_behind_a_break(v, n):
    for i in range(n):
        y = v * (i + 1)
        if y[0] > 5:
            break
    else:
        y = v * 100
    return y


@case(V, -V)
def bound_in_a_branch_that_goes_on(v):
    for x in v:
        if x < 0:
            continue
        y = x * 2
        v = v + y
    return v


@case(V, -V)
def unbound_in_a_lambda(v):
    if v[0] > 0:
        y = v * 2
    read = lambda: y + 1  # noqa: E731
    return read()


@case(V, -V)
def unbound_in_a_comprehension(v):
    if v[0] > 0:
        y = v * 2
    return [y[i] for i in range(2)]


@case(V, -V)
def list_bound_in_one_branch(v):
    if v[0] > 0:
        found = [x for x in v if x > 1]
    return len(found)
