"""Lists whose length only the run knows."""

import fluvial as fl

from . import I, V, X, case


def positive(v):
    found = []
    for x in v:
        if x > 0:
            found.append(x)
    return found


@case(V, V + 2)
def item_at_a_place(v):
    found = positive(v)
    return found[0] + found[-1] + found[1]


@case((V, 0), (V, 1), (V, -1))
def item_at_a_place_of_the_run(v, i):
    found = positive(v)
    return found[i] * 2


@case((V, 17), (V, -9))
def item_out_of_range(v, i):
    found = positive(v)
    return found[i] * 2


@case(V, V + 2)
def set_an_item(v):
    found = positive(v)
    found[0] = found[0] * 10
    found[-1] = v[0] * 100
    return fl.stack(found)


@case((V, 0), (V, 2), (V, -2))
def set_an_item_of_the_run(v, i):
    found = positive(v)
    found[i] = v[0] * 100
    return fl.stack(found)


@case((V, 11), (V, -7))
def set_an_item_out_of_range(v, i):
    found = positive(v)
    found[i] = v[0] * 100
    return fl.stack(found)


@case(V, V + 2)
def add_to_an_item(v):
    found = positive(v)
    found[1] += 5.0
    found[-1] *= 2.0
    return fl.stack(found)


@case((X, 0), (X, 2))
def item_of_a_plain_list(x, i):
    rows = [x[0], x[1] * 2, x[2] * 3]
    return rows[i] + 1


@case((X, 0), (X, -1), (X, 3))
def item_of_a_plain_tuple(x, i):
    rows = (x[0], x[1] * 2, x[2] * 3)
    return rows[i] + 1


@case((X, 0), (X, 2))
def numbers_at_a_place_of_the_run(x, i):
    rates = [0.1, 0.5, 1.0]
    return x * rates[i]


@case((X, 1), (X, 2))
def set_an_item_of_a_plain_list(x, i):
    rows = [x[0], x[1], x[2]]
    rows[i] = x[0] * 10
    return rows


@case((X, 1), (X, -3), (X, 5))
def add_to_an_item_of_a_plain_list(x, i):
    rows = [x[0], x[1], x[2]]
    rows[i] += 1.5
    return fl.stack(rows)


@case(V, V + 2)
def slice_of_a_list(v):
    found = positive(v)
    return fl.stack(found[1:])


@case(V, V + 2)
def slices_of_a_list(v):
    found = positive(v)
    return fl.stack(found[:2]), fl.stack(found[:-1]), fl.stack(found[-2:]), fl.stack(found[::-1])


@case((V, 1), (V, 3), (V, 2))
def slice_of_the_run(v, n):
    found = positive(v)
    return fl.stack(found[:n])


@case(V, V + 2)
def copy_by_a_slice(v):
    found = positive(v)
    other = found[:]
    other.append(v[0])
    return len(found), len(other)


@case(V, V + 2)
def clear_a_list(v):
    found = positive(v)
    n = len(found)
    found.clear()
    found.append(v[1])
    return n, len(found), fl.stack(found)


@case(V, V + 2)
def clear_a_list_in_a_branch(v):
    found = positive(v)
    if len(found) > 4:
        found.clear()
    return len(found)


@case(V, V + 2)
def insert_into_a_list(v):
    found = positive(v)
    found.insert(0, v[0] * 5)
    found.insert(2, v[1] * 7)
    found.insert(-1, v[2] * 9)
    found.insert(100, v[2] * 11)
    return fl.stack(found)


@case((V, 0), (V, 2), (V, 9))
def insert_at_a_place_of_the_run(v, i):
    found = positive(v)
    found.insert(i, v[0] * 5)
    return fl.stack(found)


@case(V, V + 2)
def two_lists_in_one(v):
    a, b = positive(v), positive(v * 2)
    return fl.stack(a + b)


@case(V, V + 2)
def a_list_and_a_plain_list(v):
    a = positive(v)
    return fl.stack(a + [v[0], v[1]]), fl.stack([v[0]] + a)


@case(V, V + 2)
def a_list_several_times(v):
    a = positive(v)
    return fl.stack(a * 2), fl.stack(3 * a)



@case(V, V + 2)
def reverse_a_list(v):
    a = positive(v)
    a.reverse()
    return fl.stack(a)


@case(V, V + 2)
def go_backwards(v):
    s = v[0] * 0
    for x in reversed(positive(v)):
        s = s * 0.5 + x
    return s


@case(V, V + 2)
def least_and_greatest(v):
    a = positive(v)
    return min(a), max(a)


@case(V, -V)
def least_and_greatest_of_a_plain_list(v):
    a = [v[0], v[1], v[2]]
    return min(a), max(a), min(v[3], v[4], v[0])


@case(V, V + 2)
def sum_of_a_list(v):
    return sum(positive(v)), sum(positive(v), v[0])


@case(V, V + 2)
def sum_of_a_plain_list(v):
    return sum([v[0], v[1], v[2]]), sum(v), sum(x * 2 for x in v)


@case(V, V + 2)
def any_and_all_of_a_list(v):
    a = positive(v)
    big = [x > 2 for x in a]
    return any(big), all(big)


@case(V, V + 2)
def any_and_all_of_a_plain_list(v):
    flags = [v[0] > 1, v[1] > 1]
    out = 0
    if any(flags):
        out += 1
    if all(flags):
        out += 10
    return out


@case(V, V + 2, V - 9)
def any_and_all_of_a_generator(v):
    out = 0
    if any(x > 2 for x in v):
        out += 1
    if all(x > 0 for x in v):
        out += 10
    return out


@case(V, V + 2)
def any_and_all_of_a_tensor(v):
    return any(v > 2), all(v > 0)


@case(V, -V, V * 0)
def sorted_plain_list(v):
    return sorted([v[0], v[1], v[2]])


@case(V, -V)
def sorted_backwards(v):
    return sorted([v[0], v[1], v[2]], reverse=True)


@case(V, -V)
def sorted_by_a_key(v):
    return sorted([v[0], v[1], v[2]], key=lambda x: -x)


@case(V, -V)
def sorted_tensor(v):
    return sorted(v)


@case(V, V + 2)
def sorted_list_of_the_program(v):
    return fl.stack(sorted(positive(v)))


@case((V, 1.0), (V, 7.0))
def number_in_a_plain_list(v, x):
    out = 0
    if x in [v[0], v[1]]:
        out = 1
    if x not in [v[0], v[2]]:
        out += 10
    return out


@case((V, 1.0), (V, 7.0))
def number_in_a_list_of_the_program(v, x):
    out = 0
    if x in positive(v):
        out = 1
    return out


@case((I, 4), (I, 3))
def number_in_a_tuple_of_numbers(v, n):
    return 1 if n in (1, 2, 4) else 2


@case(I)
def number_in_a_range(v):
    out = 0
    for n in v:
        if n in range(1, 5):
            out += n
    return out


@case(V, V + 2)
def list_of_a_list(v):
    a = positive(v)
    b = list(a)
    b.append(v[0])
    return len(a), fl.stack(b)


@case(V)
def list_and_tuple_of_a_tensor(v):
    a, b = list(v), tuple(v)
    return a[0] + b[1], len(a), a[1:3]


@case(V)
def list_of_map_and_filter(v):
    return list(map(lambda x: x * 2, v)), list(map(lambda a, b: a * b, v, v))


@case(V)
def unpack_a_tensor(v):
    a, b, *rest = v
    (c, d), e = (rest[0], rest[1]), rest[2]
    return a + b * c, d - e


@case(V)
def unpack_a_list_of_known_length(v):
    found = []
    for x in v:
        found.append(x * 2)
    a, b, c, d, e = found
    return a * b, c - d + e
