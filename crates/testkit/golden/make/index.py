"""Indexing as numpy does it, and choosing and placing by position."""

import numpy as np
import torch

from golden import Golden, bools, distinct, ints, numbers

g = Golden("index")
ALL = slice(None)


def words(key, tensors):
    """A key for the file; its arrays are inputs, which are collected."""
    parts = []
    for part in key:
        if isinstance(part, slice):
            parts.append({"slice": [part.start, part.stop, part.step or 1]})
        elif part is Ellipsis:
            parts.append("...")
        elif part is None:
            parts.append(None)
        elif isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)):
            parts.append(int(part))
        else:
            parts.append({"tensor": len(tensors)})
            tensors.append(torch.from_numpy(np.asarray(part)))
    return parts


def get(dims, *key, function="getitem"):
    """A case of getitem: numpy selects the numbers of the elements."""
    x = numbers(*dims)
    places = torch.from_numpy(np.asarray(np.arange(x.numel()).reshape(dims)[key]).copy())
    tensors = [x]
    parts = words(key, tensors)
    g.case(function, lambda x, *_: x.reshape(-1)[places], tensors, index=parts)


def put(dims, value_dims, *key):
    """A case of setitem: numpy finds which number of the value each element gets."""
    x, value = numbers(*dims), numbers(*value_dims, seed=9)
    owner = np.full(dims, -1)
    owner[key] = np.arange(value.numel()).reshape(value_dims)
    owner = torch.from_numpy(owner)
    written = x.numpy().copy()
    written[key] = value.numpy()
    tensors = [x, value]
    parts = words(key, tensors)

    def reference(x, value, *_):
        taken = value.reshape(-1)[owner.clamp(min=0)] if value.numel() else torch.zeros(dims)
        y = torch.where(owner < 0, x, taken)
        assert np.array_equal(y.detach().numpy(), written)
        return y

    g.case("setitem", reference, tensors, index=parts)


a = np.array
M = np.array([[True, False, True], [False, True, True]])
V = np.array([True, False, True, True])

GETS = [
    ((4,), (2,)), ((4,), (-1,)), ((2, 3), (1,)), ((2, 3), (1, -3)), ((2, 3), (ALL, 1)), ((2, 3), ()),
    ((6,), (slice(1, 4),)), ((6,), (slice(None, None, -1),)), ((6,), (slice(4, None, -2),)), ((6,), (slice(-4, -1),)), ((6,), (slice(10, 20),)),
    ((3, 4), (slice(1, None), slice(None, None, 2))), ((3, 4), (Ellipsis, 0)), ((3, 4), (0, Ellipsis)), ((2, 3, 4), (1, Ellipsis, slice(None, -1))),
    ((2, 3, 4), (Ellipsis,)), ((2, 3), (None,)), ((2, 3), (ALL, None, ALL)), ((2, 3), (Ellipsis, None)), ((2, 3), (None, 1, None, slice(0, 2), None)), ((), (None,)), ((), (Ellipsis,)),
    ((4,), (a([0, 2, -1]),)), ((4,), (a([[0, 1], [3, 3]]),)), ((4,), (a(2),)), ((4,), (a([], dtype=np.int64),)), ((2, 3), (a([1, 0, 1]),)), ((2, 3), (ALL, a([2, 0]))),
    ((3, 4), (a([0, 2]), a([1, -1]))), ((3, 4), (a([[0], [2]]), a([1, -1, 0]))), ((3, 4), (1, a([1, 3]))), ((3, 4), (a([1, 2]), 0)), ((3, 4), (slice(0, 2), a([0, 0, 3]))),
    ((2, 3, 4), (ALL, a([0, 2]), a([1, 3]))), ((2, 3, 4), (a([0, 1]), ALL, a([1, 3]))), ((2, 3, 4), (a([[0], [1]]), ALL, a([1, 3]))), ((2, 3, 4), (0, ALL, a([1, 3]))),
    ((2, 3, 4), (ALL, a([0, 2]), None, a([1, 3]))), ((2, 3, 4), (ALL, a([0, 2]), Ellipsis, a([1, 3]))), ((2, 3, 4), (slice(None, None, -1), a([2, 0]), slice(1, 3))),
    ((2, 3, 4), (Ellipsis, a([3, 0, 0]))), ((2, 3, 4), (a([1, 1]), Ellipsis, slice(None, None, 3))), ((2, 3, 4), (None, a([1]), ALL, 2)), ((2, 3, 4), (ALL, a(1), a([0, 3]))),
    ((2, 3), (M,)), ((2, 3), (~M,)), ((2, 3), (np.zeros((2, 3), bool),)), ((4,), (V,)), ((4, 2), (V,)), ((4, 2), (V, ALL)), ((2, 4), (ALL, V)), ((2, 3, 2), (M,)), ((2, 2, 3), (ALL, M)),
    ((4, 3), (V, a([0, 1, 2]))), ((4, 3), (V, 1)), ((2, 3, 4), (M, a([0, 1, 2, 3]))), ((3,), (a(True),)), ((3,), (a(False),)),
    ((4, 4), (V, V)), ((2, 4, 3), (0, V)), ((2, 4, 3), (0, V, slice(None, 2))), ((3, 2, 4), (a([0, 2]), ALL, a([3, 0]))), ((4, 2, 4), (V, ALL, V)),
    ((2, 3, 2, 2), (a([0, 1]), ALL, a([1]), 0)), ((2, 3, 2, 2), (ALL, 1, a([0, 1]), ALL)), ((2, 3, 2, 2), (1, ALL, ALL, a([[0, 1], [1, 0]]))),
]
for dims, key in GETS:
    get(dims, *key)
# In a program, the size of what a mask finds is taken to be that of the other positions.
get((2, 3), ALL, a(True), a([0, 1, 0]), function="getitem_imperative")
get((3, 4), a([True, False, False]), a([0, 1, 0]), function="getitem_imperative")

PUTS = [
    ((4,), (), (2,)), ((4,), (), (slice(1, 3),)), ((4,), (2,), (slice(1, 3),)), ((4,), (4,), (slice(None, None, -1),)), ((4,), (2,), (slice(None, None, 2),)), ((6,), (2,), (slice(5, 0, -3),)),
    ((2, 3), (3,), (1,)), ((2, 3), (2, 1), (Ellipsis,)), ((2, 3), (2,), (ALL, -1)), ((2, 3), (1, 1, 3), (0,)), ((2, 3), (2, 2), (ALL, slice(0, 3, 2))), ((2, 3), (1,), ()),
    ((2, 3), (2, 1, 3), (ALL, None)), ((2, 3), (), (slice(5, 9),)), ((2, 3, 4), (3, 1), (0, Ellipsis)),
    ((4,), (3,), (a([0, 2, -1]),)), ((4,), (), (a([0, 2, 0]),)), ((4,), (4,), (a([1, 1, 2, 1]),)), ((4,), (2, 2), (a([[0, 1], [1, 3]]),)), ((2, 3), (3, 3), (a([1, 0, 1]),)),
    ((2, 3), (2, 2), (ALL, a([2, 0]))), ((2, 3), (2, 1), (ALL, a([2, 2]))), ((3, 4), (2,), (a([0, 2]), a([1, -1]))), ((3, 4), (2, 3), (a([[0], [2]]), a([1, -1, 0]))), ((3, 4), (2,), (1, a([1, 3]))),
    ((2, 3, 4), (2, 3), (a([0, 1]), ALL, a([1, 3]))), ((2, 3, 4), (2, 2), (ALL, a([0, 2]), a([1, 3]))), ((2, 3, 4), (2, 3), (0, ALL, a([1, 1]))),
    ((2, 3), (), (M,)), ((2, 3), (4,), (M,)), ((2, 3), (1,), (M,)), ((4, 2), (3, 2), (V,)), ((4, 2), (2,), (V,)), ((2, 4), (2, 3), (ALL, V)), ((2, 4), (2, 1), (ALL, V)), ((2, 3), (0,), (np.zeros((2, 3), bool),)),
    ((4, 3), (3,), (V, a([0, 1, 2]))), ((3,), (3,), (a(True),)), ((3,), (), (a(False),)), ((2, 3, 2), (4, 1), (M,)), ((), (), (Ellipsis,)), ((4,), (0,), (a([], dtype=np.int64),)),
]
for dims, value_dims, key in PUTS:
    put(dims, value_dims, *key)

for dims, index, axis in [((4,), [3, 0], 0), ((2, 3), [1, 1, 0], 0), ((2, 3), [[2, -1], [0, 1]], 1), ((2, 3), 1, -1), ((3, 2), [], 0)]:
    index = torch.tensor(index, dtype=torch.int64)
    size = dims[axis]
    g.case("gather", lambda x, i: torch.index_select(x, axis, i.reshape(-1) % size).reshape(dims[:axis % len(dims)] + tuple(i.shape) + dims[axis % len(dims) + 1:]), [numbers(*dims), index], axis=axis)
    if index.ndim == 1:
        g.case("index_select", lambda x, i: torch.index_select(x, axis, i % size), [numbers(*dims), index], axis=axis)
for dims, index, axis, size in [((3,), [0, 2, 0], 0, 4), ((3, 2), [1, 1, 0], 0, 2), ((2, 3), [4, 0, -1], 1, 5)]:
    def added(updates, i):
        into = list(updates.shape)
        into[axis] = size
        return torch.zeros(into, dtype=updates.dtype).index_add(axis, i % size, updates)

    g.case("index_add", added, [numbers(*dims), torch.tensor(index)], axis=axis, size=size)
    into = list(dims)
    into[axis] = size
    last = {i % size: k for k, i in enumerate(index)}

    def written(x, i, updates):
        at, taken = torch.tensor(list(last.keys())), torch.tensor(list(last.values()))
        return x.index_copy(axis, at, updates.index_select(axis, taken))

    g.case("index_put", written, [numbers(*into, seed=4), torch.tensor(index), numbers(*dims)], axis=axis)
for dims, index, axis in [((4,), (2,), 0), ((2, 3), (2, 3), 1), ((2, 3), (4, 3), 0), ((2, 3), (1, 3), 0), ((2, 3), (2, 1), -1), ((2, 3, 4), (2, 1, 4), 1), ((2, 3, 4), (1, 2, 4), 1), ((2, 1), (2, 5), 1), ((1, 3), (2, 3), 1)]:
    i = ints(*index, low=-dims[axis], high=dims[axis])
    others = [max(pair) for pair in zip(dims, index)]
    wide, chosen = list(others), list(others)
    wide[axis], chosen[axis] = dims[axis], index[axis]
    places = np.broadcast_to(np.arange(np.prod(dims)).reshape(dims), wide)
    taken = torch.from_numpy(np.take_along_axis(places, np.broadcast_to(i.numpy(), chosen), axis))
    g.case("take_along_axis", lambda x, _: x.reshape(-1)[taken], [numbers(*dims), i], axis=axis)
for dims, index, axis in [((4,), (6,), 0), ((3, 4), (2, 4), 0), ((3, 4), (3, 5), 1), ((2, 3, 2), (2, 4, 2), -2), ((5,), (3,), 0)]:
    i = ints(*index, low=0, high=dims[axis])
    order = np.full(dims, -1)
    for place in np.ndindex(*index):
        to = list(place)
        to[axis] = int(i[place])
        order[tuple(to)] = np.ravel_multi_index(place, index)
    order = torch.from_numpy(order)
    g.case("scatter", lambda x, _, u: torch.where(order < 0, x, u.reshape(-1)[order.clamp(min=0)]), [numbers(*dims), i, numbers(*index, seed=2)], axis=axis)
    g.case("scatter_add", lambda x, i, u: x.scatter_add(axis, i, u), [numbers(*dims), i, numbers(*index, seed=2)], axis=axis)
    for reduction, word in [("max", "amax"), ("min", "amin"), ("prod", "prod")]:
        g.case("scatter_reduce", lambda x, i, u: x.scatter_reduce(axis, i, u, word), [distinct(*dims), i, distinct(*index, seed=2, step=1 / 8)], axis=axis, reduction=reduction)
zeros = torch.tensor([0.0, 2.0, 3.0, 0.0])
g.case("scatter_reduce", lambda x, i, u: x.scatter_reduce(0, i, u, "prod"), [zeros, torch.tensor([0, 1, 1, 2, 3, 3]), torch.tensor([2.0, 0.0, 4.0, 5.0, 0.0, 3.0])], axis=0, reduction="prod")
g.case("scatter_reduce", lambda x, i, u: x.scatter_reduce(0, i, u, "amax"), [zeros, torch.tensor([0, 1, 1, 2]), torch.tensor([0.0, 2.0, 2.0, 5.0])], axis=0, reduction="max")
g.case("scatter", lambda x, i, u: x.scatter(1, i.expand(2, 1), u.expand(2, 1)), [numbers(2, 3), torch.tensor([[1]]), torch.tensor(4.0)], axis=1)

for dims, index in [((4,), [[3], [0], [-1]]), ((2, 3), [[0, 1], [1, -1]]), ((2, 3), [[1], [0], [1]]), ((2, 3, 2), [[[0, 1], [1, 2]], [[1, 0], [0, 0]]]), ((2, 3), [1, 2])]:
    i = torch.tensor(index)
    key = tuple(i[..., k] for k in range(i.shape[-1]))
    g.case("gather_nd", lambda x, _: x[key], [numbers(*dims), i])
    slices = torch.zeros(dims)[key].shape
    g.case("scatter_nd", lambda _, u: torch.zeros(dims, dtype=u.dtype).index_put(key, u, accumulate=True), [i, numbers(*slices)], shape=dims)
    g.case("scatter_nd_add", lambda x, _, u: x.index_put(key, u, accumulate=True), [numbers(*dims), i, numbers(*slices, seed=3)])
    owner = np.full(dims, -1)
    owner[tuple(k.numpy() for k in key)] = np.arange(int(np.prod(slices))).reshape(slices)
    owner = torch.from_numpy(owner)
    g.case("scatter_nd_update", lambda x, _, u: torch.where(owner < 0, x, u.reshape(-1)[owner.clamp(min=0)]), [numbers(*dims), i, numbers(*slices, seed=3)])
g.case("gather_nd", lambda x, _: x.expand(3, 2, 2), [numbers(2, 2), torch.zeros(3, 0, dtype=torch.int64)])
for dims, index, values in [((2, 3), [0, 4], (2,)), ((2, 3), [[0, 1], [5, -1]], (2, 2)), ((2, 3), [1, 2, 3], (2,)), ((2, 3), [1, 1], (3,)), ((3,), [2], ()), ((3,), [], (2,))]:
    i, v = torch.tensor(index, dtype=torch.int64), numbers(*values, seed=5)
    owner = np.full(dims, -1)
    np.put(owner, i.numpy(), np.arange(v.numel()).reshape(values))
    owner = torch.from_numpy(owner)
    g.case("put", lambda x, _, v: torch.where(owner < 0, x, v.reshape(-1)[owner.clamp(min=0)]), [numbers(*dims), i, v])
for dims, mask in [((4,), (4,)), ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), ()), ((), ())]:
    m = bools(*mask) if mask else torch.tensor(True)
    g.case("masked_fill", lambda x, m: x.masked_fill(m, -2.5), [numbers(*dims), m], value=-2.5)
    g.case("masked_select", torch.masked_select, [numbers(*dims), m])
g.case("masked_select", torch.masked_select, [numbers(3), bools(2, 3)])
for x in [torch.tensor([0.0, 1.0, 0.0, -2.0]), torch.tensor([[True, False], [True, True]]), torch.tensor([[0, 3], [0, 0]]), torch.zeros(2, 2)]:
    g.case("argwhere", lambda x: torch.argwhere(x), [x], grad=False)
    g.case("nonzero", lambda x: torch.nonzero(x, as_tuple=True), [x], grad=False)
for dims, index in [((2, 3), [[1, 0], [2, 1]]), ((4,), [[3, 1, 0]])]:
    i = torch.tensor(index)
    g.case("ravel_multi_index", lambda *i: torch.from_numpy(np.asarray(np.ravel_multi_index([k.numpy() for k in i], dims))), list(i), shape=dims)
for dims, axis, size in [((2, 3), 1, 4), ((3, 2), 0, 5)]:
    i = ints(*dims, low=0, high=size)
    whole = list(dims)
    whole[axis] = size
    g.case("along_index", lambda i: torch.from_numpy(np.take_along_axis(np.arange(int(np.prod(whole))).reshape(whole), i.numpy(), axis)), [i], axis=axis, size=size)
g.case("last_writes", lambda i: torch.tensor([False, True, True, True]), [torch.tensor([2, 0, 2, 1])], size=3)
g.case("repeat_index", lambda c: torch.repeat_interleave(torch.arange(3), c), [torch.tensor([2, 0, 3])])
g.case("element_numbers", lambda: torch.arange(6).reshape(2, 3), [], shape=[2, 3])
m = torch.tensor([True, False, True])
g.case("split_rows", lambda m, x: (x[m], x[~m]), [m, numbers(3, 2)])
g.case("merge_rows", lambda m, a, b: torch.zeros(3, 2, dtype=a.dtype).index_put((m,), a).index_put((~m,), b), [m, numbers(2, 2), numbers(1, 2, seed=1)])
for dims, axis, start, size in [((2, 4), 1, 1, 2), ((3,), 0, 0, 3), ((3, 2), -2, 3, 0)]:
    g.case("narrow", lambda x: torch.narrow(x, axis, start, size), [numbers(*dims)], axis=axis, start=start, size=size)
for dims, axis, size, start, step in [((2, 2), 1, 4, 1, 2), ((3,), 0, 3, 2, -1), ((2, 1), 0, 4, 0, 3)]:
    def place(x):
        into = list(dims)
        into[axis] = size
        at = torch.arange(dims[axis]) * step + start
        return torch.zeros(into, dtype=x.dtype).index_copy(axis, at, x)

    g.case("scatter_slice", place, [numbers(*dims)], axis=axis, size=size, start=start, step=step)
g.write()
