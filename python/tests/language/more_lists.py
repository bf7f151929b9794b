"""Lists whose length only the run knows, once more."""

import fluvial as fl

from . import V, X, case
from .lists import positive


@case(V)
def unpack_with_a_star(v):
    first, *middle, last = v
    return first, len(middle), middle[1], last


@case(V, V + 2)
def delete_the_last(v):
    found = positive(v)
    del found[-1]
    return fl.stack(found)


@case(V, V + 2)
def delete_an_item(v):
    found = positive(v)
    del found[0]
    del found[1]
    return fl.stack(found)


@case(V, V + 2)
def delete_a_slice(v):
    found = positive(v)
    del found[1:]
    return fl.stack(found)


@case(V, V + 2)
def a_queue(v):
    queue = positive(v)
    s = v[0] * 0
    while queue:
        s = s * 0.5 + queue.pop(0)
    return s


@case(V, V + 2)
def pop_from_the_middle(v):
    found = positive(v)
    x = found.pop(1)
    return x, fl.stack(found)


@case((V, 0), (V, 2), (V, -1))
def pop_at_a_place_of_the_run(v, i):
    found = positive(v)
    x = found.pop(i)
    return x, fl.stack(found)


@case(V, V + 2)
def copy_a_list(v):
    found = positive(v)
    other = found.copy()
    other.pop()
    return len(found), fl.stack(other)


@case(V, V + 2)
def extend_by_a_list(v):
    found = positive(v)
    found.extend(positive(v * 3))
    found += positive(v * 4)
    found.extend([v[0], v[1]])
    return fl.stack(found)


@case(V)
def extend_in_a_loop(v):
    found = []
    for x in v:
        if x > 0:
            found.extend([x, x * 2])
    return fl.stack(found)


@case(V, V + 2)
def enumerate_and_zip_a_list(v):
    found, s = positive(v), v[0] * 0
    for i, x in enumerate(found):
        s = s + i * x
    for a, b in zip(found, positive(v * 2)):
        s = s + a * b
    for i, (a, b) in enumerate(zip(found, reversed(found)), 1):
        s = s + i * a * b
    return s


@case(V, V + 2)
def comprehensions_over_a_list(v):
    found = positive(v)
    twice = [x * 2 for x in found]
    some = [x for x in twice if x > 3]
    return fl.stack(twice), len(some)


@case(V, V + 2)
def compare_lengths(v):
    found = positive(v)
    if len(found) == 4:
        return v * 2
    if len(found) > len(v) - 1:
        return v * 3
    return v


@case(V, V + 2, V - 9)
def empty_or_not(v):
    found = positive(v)
    if not found:
        return v
    if found and found[0] > 2:
        return v * 2
    return v * 3


@case(V, -V, V * 0)
def a_stack_popped_in_a_branch(v):
    stack = []
    s = v[0] * 0
    for x in v:
        if x > 0:
            stack.append(x)
        elif len(stack) > 0:
            s = s + stack.pop()
    return s, len(stack)


@case(V, V + 2)
def pop_everything(v):
    stack = []
    for x in v:
        stack.append(x)
    s = v[0] * 0
    while stack:
        s = s * 0.5 + stack.pop()
    return s


@case(V, V - 9)
def pop_of_an_empty_list(v):
    found = positive(v)
    return found.pop()


@case(V, V - 9)
def pop_the_first_of_an_empty_list(v):
    found = positive(v)
    return found.pop(0)


@case(V)
def lists_of_pairs(v):
    found = []
    for x in v:
        if x > 0:
            found.append((x, x * 2))
    s = v[0] * 0
    for a, b in found:
        s = s + a * b
    a, b = found[1]
    return s, a, b



@case(V)
def a_list_that_is_returned(v):
    found = []
    for x in v:
        found.append(x * x)
    return found


@case((V, 2), (V, 4), (V, 0))
def list_by_a_range_of_the_run(v, n):
    out = []
    for i in range(n):
        out.append(v[i] * i)
    return len(out), sum(out, v[0])


@case(X)
def nested_comprehension(x):
    return [[y * 2 for y in row] for row in x]


@case(X)
def two_fors_in_a_comprehension(x):
    return [y * 2 for row in x for y in row]


@case(X)
def dict_comprehension(x):
    return {i: row * 2 for i, row in enumerate(x)}


@case(V, V + 2)
def beams(v):
    best = [v[0], v[1]]
    for x in v:
        if x > best[0]:
            best = [x, best[0]]
        elif x > best[1]:
            best[1] = x
    return best


@case(V, V + 2)
def equal_lists(v):
    return [v[0], v[1]] == [v[0], v[1]]


@case(V, V + 2)
def the_first_after_a_filter(v):
    found = [x for x in v if x > 0.7]
    return found[0], found[-1], len(found)


@case(V, V + 2)
def join_and_reduce(v):
    found = positive(v)
    stacked = fl.stack(found)
    return fl.sum(stacked), fl.max(stacked), fl.stack(found, axis=0)


@case(X)
def concat_a_list(x):
    out = []
    for row in x:
        if row[0] > 0:
            out.append(row)
    return fl.concat(out, axis=0), fl.stack(out, axis=1)


@case(V, -V)
def swap_two_items(v):
    a = [v[0], v[1], v[2]]
    if a[0] > a[1]:
        a[0], a[1] = a[1], a[0]
    return a


@case(V, -V)
def bubble_sort(v):
    a = [v[0], v[1], v[2], v[3]]
    for i in range(4):
        for j in range(3 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


@case(V, V + 2)
def stacked_inside_the_loop(v):
    found, s = [], v[0] * 0
    for x in v:
        if x > 0:
            found.append(x)
        s = s + len(found)
        if len(found) > 1:
            s = s + fl.sum(fl.stack(found)) + found[-2]
    return s


@case(V, V + 2)
def zip_strictly(v):
    s = v[0] * 0
    for a, b in zip(positive(v), v, strict=True):
        s = s + a * b
    return s


@case(V, V * 0, -V * 0)
def sorted_with_signed_zeros(v):
    return sorted([v[3], v[0], v[1]]), sorted([v[0], v[3]], reverse=True)


@case(V, V + 2)
def numbers_of_python_in_a_list(v):
    found = []
    for x in v:
        if x > 0:
            found.append(x.item())
    return sum(found), max(found), found[0] * 0.1, len(found)


@case(V, V + 2)
def sort_in_place(v):
    found = positive(v)
    found.sort(reverse=True)
    found.insert(1, v[0])
    del found[0]
    return fl.stack(found), found[::-1][0], fl.stack(found[1::2])


@case(V, V - 9)
def least_of_nothing(v):
    return min(positive(v), default=v[0]), max(positive(v))


@case(V, V + 2)
def greatest_by_a_key(v):
    return max(positive(v), key=lambda x: -x), min(positive(v), key=lambda x: (x - 2) * (x - 2))
