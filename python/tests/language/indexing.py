"""Parts of tensors at places that only the run knows."""

import fluvial as fl

from . import V, X, case


@case((V, 0), (V, 3), (V, -1))
def element(v, i):
    return v[i]


@case((V, 5), (V, -6))
def element_out_of_range(v, i):
    return v[i]


@case((X, 0), (X, 2))
def row(x, i):
    return x[i]


@case((X, 0), (X, 2))
def column(x, i):
    return x[:, i // 2], x[..., i // 2]


@case((X, 0), (X, 2))
def element_of_two(x, i):
    return x[i, 1], x[i, i // 2], x[i][0]


@case((X, 0), (X, 2))
def row_and_slice(x, i):
    return x[i, 1:], x[i, :], x[i, ::-1]


@case((V, 0), (V, 3))
def window(v, i):
    return v[i : i + 2]



@case((V, 2), (V, 4))
def window_before(v, i):
    return v[i - 2 : i]


@case((V, 1), (V, 2))
def window_scaled(v, i):
    return v[i * 2 : i * 2 + 1], v[2 * i : 2 * i + 1]


@case((V, 1), (V, 3), (V, 9))
def from_the_start(v, i):
    return v[:i]


@case((V, 1), (V, 3), (V, -2))
def to_the_end(v, i):
    return v[i:]


@case((V, 1), (V, 3))
def between_two(v, i):
    return v[1:i], v[i - 1 : i + 1]


@case((X, 0), (X, 1))
def window_of_rows(x, i):
    return x[i : i + 2], x[i : i + 2, 0], x[0, i : i + 1]


@case((V, 0), (V, 3))
def narrow(v, i):
    return fl.narrow(v, 0, i, 2)


@case((X, 0), (X, 2))
def set_a_row(x, i):
    x[i] = x[0] * 10
    return x


@case((X, 0), (X, 2))
def add_to_a_row(x, i):
    x[i] += 1.0
    x[i, 0] *= 2.0
    return x


@case((V, 0), (V, 3))
def set_a_window(v, i):
    v[i : i + 2] = 7.0
    return v


@case((V, 0), (V, 3))
def set_a_window_to_values(v, i):
    v[i : i + 2] = v[:2] * 10
    return v


@case((V, 0), (V, 3))
def add_to_a_window(v, i):
    v[i : i + 2] += 1.5
    return v


@case((V, 2), (V, 3))
def set_to_the_end(v, i):
    v[i:] = 0.0
    v[: i - 1] = 1.0
    return v


@case(V)
def in_a_loop(v):
    out = v * 0
    for i in range(len(v)):
        if v[i] > 0:
            out[i] = v[i] * i
    return out


@case((V, 4), (V, 2))
def windows_in_a_loop(v, n):
    s = v[:2] * 0
    for i in range(n):
        s = s + v[i : i + 2]
    return s


@case((V, 4), (V, 2))
def cumulative(v, n):
    for i in range(1, n):
        v[i] = v[i] + v[i - 1]
    return v


@case((V, 4), (V, 2))
def step_of_a_slice(v, n):
    return v[::2], v[n - 1]


@case((X, 1), (X, 0))
def new_axis_and_place(x, i):
    return x[i, None], x[None, i]


@case((V, 1), (V, 3))
def window_by_a_length_of_the_run(v, n):
    return fl.sum(v[0:n]), fl.sum(v[n - 1 :])


@case((V, 0), (V, 1))
def batch_by_number(v, k):
    size = 2
    batch = v[k * size : (k + 1) * size]
    return fl.sum(batch)


@case((V, 0), (V, 2), (V, 3))
def last_batch_that_is_shorter(v, k):
    size = 2
    start = k * size
    return fl.sum(v[start : min(start + size, len(v))])


@case((V, -4), (V, -3))
def window_from_the_back(v, i):
    return v[i : i + 2]


@case((X, 0, 1), (X, 1, 0))
def two_places(x, i, j):
    x[i : i + 2, j] = x[0, j] * 10
    return x, x[i : i + 2, j : j + 1]


@case((V, 1), (V, 2))
def steps_from_a_place(v, i):
    return v[i::2], v[:i], v[-i:]


@case((V, 3.7), (V, 1.2))
def place_by_a_number_of_python(v, x):
    i = int(x)
    v[i] = 9.0
    return v[i - 1], v[i:], v
