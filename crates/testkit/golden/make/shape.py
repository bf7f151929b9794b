"""Shapes: other sizes and orders, pieces, repetition, padding, diagonals, windows."""

import numpy as np
import torch

from golden import Golden, numbers

g = Golden("shape")

for dims, shape in [((2, 3), (3, 2)), ((2, 3), (-1,)), ((2, 3, 4), (4, -1)), ((2, 3, 4), (2, -1, 2, 2)),
                    ((), (-1,)), ((), (1, 1)), ((0, 3), (3, 0)), ((1, 6), (6,))]:
    g.case("reshape", lambda x: x.reshape(shape), [numbers(*dims)], shape=shape)
for dims, start, end in [((2, 3, 4), 0, -1), ((2, 3, 4), 1, -1), ((2, 3, 4), 0, 1), ((2, 3), 1, 1), ((), 0, -1), ((0, 2), 0, 1)]:
    g.case("flatten", lambda x: torch.flatten(x, start, end), [numbers(*dims)], start=start, end=end)
for dims, a, b in [((2, 3), 0, 1), ((2, 3, 4), 0, -1), ((2, 3, 4), -2, -1), ((2, 3), 1, 1), ((2, 0), 0, 1)]:
    g.case("transpose", lambda x: x.transpose(a, b), [numbers(*dims)], a=a, b=b)
for dims, order in [((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (-1, -2, 0)), ((), ())]:
    g.case("permute", lambda x: x.permute(order), [numbers(*dims)], order=order)
for dims, a, b in [((2, 3, 4), [0], [-1]), ((2, 3, 4), [0, 1], [-1, 0]), ((2, 3, 4), [-1], [0]), ((2, 3, 4, 1), [3, 0], [0, 2]), ((2, 3), [], [])]:
    g.case("movedim", lambda x: torch.movedim(x, a, b), [numbers(*dims)], source=a, target=b)
for dims, axes in [((1, 2, 1), [0]), ((1, 2, 1), [-1]), ((1, 2, 1), [0, 2]), ((1, 1), [0, 1])]:
    g.case("squeeze", lambda x: torch.squeeze(x, axes), [numbers(*dims)], axes=axes)
g.case("squeeze", torch.squeeze, [numbers(1, 2, 1, 3)], axes=[])
for dims, axis in [((2, 3), 0), ((2, 3), 1), ((2, 3), 2), ((2, 3), -1), ((2, 3), -3), ((), 0), ((), -1)]:
    g.case("unsqueeze", lambda x: torch.unsqueeze(x, axis), [numbers(*dims)], axis=axis)
for dims, shape in [((3,), (2, 3)), ((2, 1), (2, 4)), ((2, 1), (3, 2, 4)), ((), (2, 2)), ((2, 1), (-1, 3)), ((1, 2), (0, 2))]:
    g.case("broadcast_to", lambda x: x.expand(shape), [numbers(*dims)], shape=shape)
for all_dims in [[(2, 1), (3,)], [(2, 1), (1, 3), ()], [(2,), (2,)]]:
    g.case("broadcast_tensors", lambda *x: torch.broadcast_tensors(*x), [numbers(*dims) for dims in all_dims])

for all_dims, axis in [([(2, 3), (1, 3)], 0), ([(2, 1), (2, 2), (2, 0)], -1), ([(3,)], 0), ([(2, 2, 1), (2, 1, 1)], 1)]:
    g.case("concat", lambda *x: torch.cat(x, axis), [numbers(*dims, seed=i) for i, dims in enumerate(all_dims)], axis=axis)
for dims, count, axis in [((2, 3), 2, 0), ((2, 3), 3, 1), ((2, 3), 2, -1), ((), 3, 0), ((2,), 1, -2)]:
    g.case("stack", lambda *x: torch.stack(x, axis), [numbers(*dims, seed=i) for i in range(count)], axis=axis)
for dims, sizes, axis in [((6,), [1, 2, 3], 0), ((2, 5), [4, 1], 1), ((2, 5), [2, 0, 3], -1), ((4, 2), [4], 0)]:
    g.case("split", lambda x: torch.split(x, sizes, axis), [numbers(*dims)], sizes=sizes, axis=axis)
for dims, count, axis in [((6,), 3, 0), ((7,), 3, 0), ((2, 5), 4, 1), ((2, 2), 5, -2), ((0, 2), 2, 0)]:
    g.case("chunk", lambda x: torch.chunk(x, count, axis), [numbers(*dims)], count=count, axis=axis)
for dims, axis in [((3,), 0), ((2, 3), 1), ((2, 3), -2), ((1, 2, 2), 2)]:
    g.case("unbind", lambda x: torch.unbind(x, axis), [numbers(*dims)], axis=axis)


def by_numbers(select):
    """A selection of elements as numpy makes it, on the elements' numbers; -1 stands for `value`."""

    def reference(x, value=0.0):
        places = np.asarray(select(np.arange(x.numel()).reshape(x.shape))).copy()
        places = torch.from_numpy(places)
        taken = x.reshape(-1)[places.clamp(min=0)] if x.numel() else torch.zeros(places.shape) + value
        return torch.where(places < 0, torch.full((), value, dtype=x.dtype), taken)

    return reference


for dims, axis, start, stop, step in [
    ((6,), 0, 1, 4, 1), ((6,), 0, None, None, 2), ((6,), 0, None, None, -1), ((6,), 0, -2, None, -2),
    ((6,), 0, 4, 1, 1), ((6,), 0, -100, 100, 5), ((3, 4), 1, 1, -1, 1), ((3, 4), -1, -1, -4, -2),
    ((3, 4), 0, 2, None, 1), ((0, 2), 0, None, None, -1), ((5, 2), -2, 3, 0, -1), ((5,), 0, None, -2, 3),
]:
    def select(n):
        key = [slice(None)] * n.ndim
        key[axis] = slice(start, stop, step)
        return n[tuple(key)]

    g.case("slice", by_numbers(select), [numbers(*dims)], axis=axis, start=start, stop=stop, step=step)
for dims, axes in [((3,), [0]), ((2, 3), [1]), ((2, 3), [0, -1]), ((2, 3, 2), [0, 2]), ((0, 2), [0])]:
    g.case("flip", lambda x: torch.flip(x, axes), [numbers(*dims)], axes=axes)
g.case("flip", lambda x: torch.flip(x, [0, 1]), [numbers(2, 3)], axes=[])
for dims, shifts, axes in [((5,), [1], [0]), ((5,), [-2], [0]), ((5,), [12], [0]), ((2, 3), [1, -1], [0, 1]), ((2, 3), [2], []), ((2, 3), [-7], []),
                           ((2, 3), [0], [1]), ((0, 3), [1], [0]), ((3, 2, 2), [1, 2], [-1, 0])]:
    g.case("roll", lambda x: torch.roll(x, shifts, axes), [numbers(*dims)], shifts=shifts, axes=axes)
for dims, turns, axes in [((2, 3), 1, [0, 1]), ((2, 3), 2, [0, 1]), ((2, 3), 3, [0, 1]), ((2, 3), 4, [0, 1]), ((2, 3), -1, [1, 0]), ((2, 3, 4), 1, [-1, 0])]:
    g.case("rot90", lambda x: torch.rot90(x, turns, axes), [numbers(*dims)], turns=turns, axes=axes)
for dims, repeats in [((3,), [2]), ((2, 2), [2, 3]), ((2, 2), [2]), ((2,), [2, 1, 3]), ((), [2, 2]), ((2, 2), [0, 1]), ((2, 3), [])]:
    g.case("tile", lambda x: torch.tile(x, repeats), [numbers(*dims)], repeats=repeats)
for dims, repeats, axis in [((3,), 2, 0), ((2, 3), 3, 0), ((2, 3), 2, -1), ((2, 2), 0, 1), ((2, 2), 1, 0)]:
    g.case("repeat_interleave", lambda x: torch.repeat_interleave(x, repeats, axis), [numbers(*dims)], repeats=repeats, axis=axis)
for dims, counts, axis in [((3,), [2, 0, 1], 0), ((2, 3), [1, 2, 3], -1), ((3, 2), [0, 0, 0], 0), ((2, 2), [3, 1], 0)]:
    g.case("repeat_interleave_counts", lambda x, c: torch.repeat_interleave(x, c, axis), [numbers(*dims), torch.tensor(counts)], axis=axis)

WORDS = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
for dims, before, after, modes in [
    ((3,), [1], [2], "constant reflect replicate circular"),
    ((3,), [2], [0], "constant reflect replicate circular"),
    ((2, 4), [1], [3], "constant reflect replicate circular"),
    ((3, 4), [2, 1], [1, 2], "constant reflect replicate circular"),
    ((2, 3, 3), [1, 0, 2], [1, 2, 1], "constant reflect replicate circular"),
    ((1, 3), [4, 0], [3, 0], "constant replicate"),
    ((1, 2, 3), [1, 1], [1, 1], "constant reflect replicate circular"),
    ((0, 2), [1, 1], [1, 1], "constant"),
    ((2, 2), [0, 0], [0, 0], "constant reflect replicate circular"),
    ((2, 2), [], [], "constant reflect"),
]:
    for mode in modes.split():
        if mode == "reflect" and any(max(b, a) >= n for n, b, a in zip(dims[len(dims) - len(before):], before, after)):
            continue
        if mode == "circular" and any(max(b, a) > n for n, b, a in zip(dims[len(dims) - len(before):], before, after)):
            continue

        def select(n):
            width = [(0, 0)] * (n.ndim - len(before)) + list(zip(before, after))
            if n.ndim == 0 or not before:
                return n
            return np.pad(n, width, WORDS[mode], **({"constant_values": -1} if mode == "constant" else {}))

        value = -1.5 if sum(before) % 2 else 0.0
        g.case("pad", lambda x: by_numbers(select)(x, value), [numbers(*dims)], before=before, after=after, mode=mode, value=value)
for dims, before, after in [((5,), [-1], [2]), ((4, 4), [-1, 1], [-2, -1]), ((3, 4), [1], [-4])]:
    sides = [n for pair in reversed(list(zip(before, after))) for n in pair]
    g.case("pad", lambda x: torch.nn.functional.pad(x, sides, value=0.5), [numbers(*dims)], before=before, after=after, mode="constant", value=0.5)

for dims, offset in [((3,), 0), ((3,), 1), ((2,), -2), ((2, 3), 0), ((2, 3), 1), ((3, 2), -1), ((2, 2), 3), ((0,), 1)]:
    g.case("diag", lambda x: torch.diag(x, offset), [numbers(*dims)], offset=offset)
for dims, offset, a, b in [((2, 3), 0, 0, 1), ((3, 3), 1, 0, 1), ((3, 3), -1, 0, 1), ((2, 3, 4), 0, 0, 2), ((2, 3, 4), 1, -1, 1), ((2, 3, 3, 2), -1, 1, 2), ((2, 2), 4, 0, 1)]:
    g.case("diagonal", lambda x: torch.diagonal(x, offset, a, b), [numbers(*dims)], offset=offset, a=a, b=b)
for dims, offset, a, b in [((3,), 0, -2, -1), ((2, 3), 1, -2, -1), ((2, 3), -1, 0, 2), ((2, 2, 2), 0, 3, 1)]:
    g.case("diag_embed", lambda x: torch.diag_embed(x, offset, a, b), [numbers(*dims)], offset=offset, a=a, b=b)
for dims, axis, size, step in [((5,), 0, 3, 1), ((7,), 0, 2, 3), ((4, 5), 1, 2, 2), ((4, 5), 0, 3, 1), ((3, 6, 2), -2, 4, 2), ((3,), 0, 3, 1), ((4,), -1, 1, 1)]:
    g.case("unfold_axis", lambda x: x.unfold(axis, size, step), [numbers(*dims)], axis=axis, size=size, step=step)

    def fold(windows):
        places = torch.arange(int(np.prod(dims))).reshape(dims).unfold(axis, size, step)
        flat = torch.zeros(int(np.prod(dims)), dtype=windows.dtype)
        return flat.index_add(0, places.reshape(-1), windows.reshape(-1)).reshape(dims)

    windows = torch.zeros(dims).unfold(axis, size, step).shape
    g.case("fold_axis", fold, [numbers(*windows)], axis=axis % len(dims), size=dims[axis], step=step)
g.write()
