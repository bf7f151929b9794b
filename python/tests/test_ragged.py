"""Sequences of different lengths: what they are, their functions against NumPy, in both modes, with gradients, in files."""

import numpy as np
import pytest

import fluvial as fl

#: Lengths that one program has to serve, in this order.
LENGTHS = ([2, 0, 3], [1, 4], [3, 3, 1, 2], [2], [0, 5, 1])


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def make(lengths, width=3, seed=0, dtype="f8"):
    return fl.Ragged.from_lengths(fl.tensor(normal(sum(lengths), width, seed=seed).astype(dtype)), lengths)


def numbers(lengths, classes, seed=0):
    data = np.random.default_rng(seed).integers(0, classes, sum(lengths))
    return fl.Ragged.from_lengths(fl.tensor(data), lengths)


def ints(*numbers):
    return np.array(numbers, dtype=np.int64)


def sequences(ragged):
    """The sequences as arrays."""
    ends = np.cumsum([0, *ragged.lengths.tolist()])
    data = ragged.data.numpy()
    return [data[a:b] for a, b in zip(ends, ends[1:])]


def flat(value):
    """The tensors of a result."""
    if isinstance(value, fl.Tensor):
        return [value]
    if isinstance(value, fl.Ragged):
        return [value.data, *value.row_lengths]
    return [part for item in value for part in flat(item)]


def both(function, cases, programs=4):
    """Both modes give the same bits for all cases, and few programs serve them; gives the results line by line."""
    compiled = fl.function(function)
    found = []
    for case in cases:
        expected = function(*case)
        result = compiled(*case)
        for a, b in zip(flat(expected), flat(result), strict=True):
            assert a.type_text == b.type_text
            assert a.numpy().tobytes() == b.numpy().tobytes(), (a, b)
        found.append(expected)
    assert len(compiled.programs) <= programs, compiled.programs
    return found


def gradients(function, *tensors, eps=1e-6, tolerance=1e-6):
    """The gradients of a sum of results, by differences, line by line and inside of a program."""
    weights = [fl.tensor(normal(*part.shape, seed=i)) for i, part in enumerate(flat(function(*tensors))) if part.dtype == fl.float64]

    def loss(*tensors):
        floats = [part for part in flat(function(*tensors)) if part.dtype == fl.float64]
        return sum(fl.sum(fl.assume_dims(part, weight.shape) * weight) for part, weight in zip(floats, weights))

    tracked = [x.track() for x in tensors]
    exact = fl.grad(loss(*tracked), tracked)
    inside = fl.function(lambda *xs: fl.grad(loss(*xs), list(xs)))(*tensors)
    for i, (x, one, other) in enumerate(zip(tensors, exact, inside)):
        assert one.numpy().tobytes() == other.numpy().tobytes() or np.allclose(one.numpy(), other.numpy(), rtol=1e-12)
        array = x.numpy()
        by_differences = np.zeros_like(array)
        for place in np.ndindex(*array.shape):
            values = []
            for sign in (1, -1):
                moved = array.copy()
                moved[place] += sign * eps
                values.append(loss(*tensors[:i], fl.tensor(moved), *tensors[i + 1 :]).item())
            by_differences[place] = (values[0] - values[1]) / (2 * eps)
        np.testing.assert_allclose(one.numpy(), by_differences, rtol=1e-5, atol=tolerance)


class TestWhatItIs:
    def test_parts(self):
        r = fl.Ragged(fl.tensor([1.0, 2.0, 3.0]), [0, 2, 2, 3])
        assert (len(r), r.lengths.tolist(), r.offsets.tolist()) == (3, [2, 0, 1], [0, 2, 2, 3])
        assert r.tolist() == [[1.0, 2.0], [], [3.0]]
        assert [x.tolist() for x in r] == r.tolist()
        assert r[0].tolist() == [1.0, 2.0] and r[-1].tolist() == [3.0]
        assert r[1:].tolist() == [[], [3.0]] and r[[2, 0, 2]].tolist() == [[3.0], [1.0, 2.0], [3.0]]
        assert [x.tolist() for x in r.numpy()] == r.tolist()
        assert repr(r) == "Ragged([[1.0, 2.0], [], [3.0]])"
        assert (r.recursive_sequence_lengths(), r.lod()) == ([[2, 0, 1]], [[0, 2, 2, 3]])
        assert (r.shape, r.dtype, r.ndim, r.levels) == ((3,), fl.float32, 1, 1)

    def test_from_rows(self):
        assert fl.Ragged.from_rows([[], [1, 2]]).data.dtype == fl.int64
        assert fl.Ragged.from_rows([np.ones((2, 3)), np.ones((0, 3))]).shape == (2, 3)
        assert fl.Ragged.from_rows([fl.tensor([1.0]), fl.tensor([2.0, 3.0])]).tolist() == [[1.0], [2.0, 3.0]]
        assert fl.Ragged.from_rows([[1, 2], [3]], dtype="float32").dtype == fl.float32
        assert fl.Ragged.from_rows([]).tolist() == []
        nested = fl.Ragged.from_rows([[[1], [2, 3]], [], [[4, 5, 6]]], levels=2)
        assert nested.recursive_sequence_lengths() == [[2, 0, 1], [1, 2, 3]]
        assert nested.tolist() == [[[1], [2, 3]], [], [[4, 5, 6]]]

    def test_nested(self):
        rows = [[[1.0], [2.0, 3.0]], [], [[4.0, 5.0, 6.0], []]]
        r = fl.Ragged.from_rows(rows, levels=2)
        assert len(r) == 3 and r[0].tolist() == rows[0] and r[2][0].tolist() == [4.0, 5.0, 6.0]
        assert r[[2, 0]].tolist() == [rows[2], rows[0]]
        assert r.padded().shape == (3, 2, 3)
        assert r.padded(9.0).tolist()[2] == [[4.0, 5.0, 6.0], [9.0, 9.0, 9.0]]
        pooled = r.pool("sum")
        assert pooled.tolist() == [[1.0, 5.0], [], [15.0, 0.0]]
        assert (r + fl.tensor([10.0, 20.0, 30.0])).tolist()[0] == [[11.0], [12.0, 13.0]]
        deep = fl.Ragged.from_lengths(fl.tensor(np.arange(6.0)), [2, 1], [1, 2, 0], [1, 3, 2])
        assert deep[0].tolist() == [[[0.0]], [[1.0, 2.0, 3.0], [4.0, 5.0]]]
        assert deep[1].tolist() == [[]]

    def test_padded(self):
        r = make([2, 0, 3])
        padded = r.padded(7.0).numpy()
        for i, rows in enumerate(sequences(r)):
            assert (padded[i, : len(rows)] == rows).all() and (padded[i, len(rows) :] == 7.0).all()
        again = fl.Ragged.from_padded(r.padded(), r.lengths)
        assert again.data.numpy().tobytes() == r.data.numpy().tobytes()
        assert r.padded(steps=5).shape == (3, 5, 3)
        assert r.mask().tolist() == [[True, True, False], [False] * 3, [True] * 3]

    def test_concat(self):
        a, b = make([2, 0]), make([1, 3], seed=1)
        assert fl.Ragged.concat([a, b]).lengths.tolist() == [2, 0, 1, 3]
        joined = fl.Ragged.concat([a, b], axis=1)
        expected = [np.concatenate(pair) for pair in zip(sequences(a), sequences(b))]
        assert all((x == y).all() for x, y in zip(sequences(joined), expected))

    @pytest.mark.parametrize(
        ("call", "error", "text"),
        [
            (lambda: fl.Ragged.from_lengths([1.0, 2.0], [1]), ValueError, "do not add up to 2 rows"),
            (lambda: fl.Ragged.from_lengths([1.0], [2, -1]), ValueError, "do not add up"),
            (lambda: fl.Ragged.from_lengths([1.0], [1.0]), TypeError, "give integers"),
            (lambda: fl.Ragged([1.0, 2.0], [1, 3]), ValueError, "begin with 1"),
            (lambda: fl.Ragged([1.0]), TypeError, "from_rows"),
            (lambda: fl.Ragged.from_rows([[[1], [2, 3]]]), ValueError, "levels=2"),
            (lambda: fl.Ragged.from_rows([1, 2]), ValueError, "a sequence is"),
            (lambda: make([1, 2]) + make([2, 1]), ValueError, "do not go together"),
            (lambda: make([1, 2]).padded(steps=1), ValueError, "do not fit into 1"),
            (lambda: make([1, 2])[2], IndexError, "2"),
            (lambda: make([1, 2])["a"], TypeError, "not a number of a sequence"),
            (lambda: bool(make([1])), TypeError, "neither true nor false"),
            (lambda: setattr(make([1]), "data", 1), AttributeError, "not changed in place"),
            (lambda: fl.sort(make([1, 2])), TypeError, "sequences of different lengths"),
            (lambda: make([1, 2]).map(lambda x: x[:1]), ValueError, "one row for each"),
            (lambda: make([1, 2]) + normal(3, 4, 5), ValueError, "does not go with rows"),
        ],
    )
    def test_refused(self, call, error, text):
        with pytest.raises(error, match=text):
            call()


class TestArithmetic:
    def test_operators(self):
        r, s = make([2, 1]), make([2, 1], seed=1)
        per_sequence = fl.tensor(normal(2, 3, seed=2))
        row = fl.tensor(normal(3, seed=3))
        long = np.repeat(per_sequence.numpy(), [2, 1], axis=0)
        a, b = r.data.numpy(), s.data.numpy()
        for found, expected in [
            (r + s, a + b), (r - 2, a - 2), (3 / r, 3 / a), (r * per_sequence, a * long), (row - r, row.numpy() - a),
            (per_sequence - r, long - a), (-r, -a), (abs(r), abs(a)), (r**2, a**2), (r > 0, a > 0), (r == s, a == b),
            (fl.exp(r), np.exp(a)), (fl.maximum(r, s), np.maximum(a, b)), (fl.where(r > 0, r, 0.0), np.where(a > 0, a, 0)),
            (normal(3) + r, normal(3) + a), (per_sequence.reshape(2, 1, 3) * r, long * a),
        ]:  # fmt: skip
            assert isinstance(found, fl.Ragged) and found.lengths.tolist() == [2, 1]
            np.testing.assert_allclose(found.data.numpy(), expected, rtol=1e-15)
        assert fl.sum(r).item() == pytest.approx(a.sum())

    def test_products(self):
        r, w = make([2, 0, 1]), fl.tensor(normal(3, 4, seed=1))
        np.testing.assert_allclose((r @ w).data.numpy(), r.data.numpy() @ w.numpy())
        each = fl.tensor(normal(3, 3, 2, seed=2))
        expected = [rows @ m for rows, m in zip(sequences(r), each.numpy())]
        np.testing.assert_allclose((r @ each).data.numpy(), np.concatenate(expected))
        np.testing.assert_allclose(fl.matmul(r, w).data.numpy(), (r @ w).data.numpy())

    def test_modes(self):
        both(lambda r, t: (r + 1) * t + fl.tanh(r) / (r * r + 1), [(make(n), fl.tensor(normal(len(n), 3))) for n in LENGTHS], 5)
        both(lambda r, w: (r @ w).softmax(), [(make(n), fl.tensor(normal(3, 2))) for n in LENGTHS])
        both(lambda r, s: r + s, [(make(n), make(n, seed=1)) for n in LENGTHS])
        with pytest.raises(AssertionError):
            fl.function(lambda r, s: r + s)(make([1, 2]), make([2, 1]))

    def test_index_in_program(self):
        both(lambda r: (r[0], r[-1], r[:1], r[[0, 0]]), [(make(n),) for n in LENGTHS])


def pooled(rows, kind, pad):
    if len(rows) == 0:
        return np.full(rows.shape[1:], pad)
    return {
        "sum": rows.sum(0), "average": rows.mean(0), "sqrt": rows.sum(0) / np.sqrt(len(rows)), "max": rows.max(0),
        "min": rows.min(0), "first": rows[0], "last": rows[-1],
    }[kind]  # fmt: skip


class TestSequenceFunctions:
    @pytest.mark.parametrize("kind", ["sum", "average", "sqrt", "max", "min", "first", "last"])
    @pytest.mark.parametrize("pad", [0.0, -1.5])
    def test_pool(self, kind, pad):
        cases = [(make(n),) for n in LENGTHS]
        for (r,), found in zip(cases, both(lambda r: r.pool(kind, pad), cases)):
            expected = [pooled(rows, kind, pad) for rows in sequences(r)]
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)
        gradients(lambda x: fl.sequence_pool(x, ints(2, 0, 3), pool=kind, pad_value=pad), make([2, 0, 3]).data)

    def test_pool_of_integers(self):
        r = fl.Ragged.from_rows([[3, 9], [], [2**60 + 1, 2**60]])
        assert r.pool("max", -1).tolist() == [9, -1, 2**60 + 1]

    def test_softmax(self):
        cases = [(make(n),) for n in LENGTHS]
        for (r,), found in zip(cases, both(lambda r: r.softmax(), cases)):
            for rows, own in zip(sequences(r), sequences(found)):
                np.testing.assert_allclose(own, np.exp(rows) / np.exp(rows).sum(0), rtol=1e-12)
        assert fl.Ragged.from_rows([[1000.0, 1000.0]]).softmax().tolist() == [[0.5, 0.5]]
        gradients(lambda x: fl.sequence_softmax(x, ints(2, 0, 3)), make([2, 0, 3]).data)

    @pytest.mark.parametrize(("size", "start"), [(3, None), (3, 0), (2, -3), (1, 2), (4, None)])
    def test_conv(self, size, start):
        w = fl.tensor(normal(size * 3, 2, seed=5))
        cases = [(make(n), w) for n in LENGTHS]
        found = both(
            lambda r, w: fl.sequence_conv(r.data, r.lengths, w, size=size, start=start), cases
        )
        first = -(size // 2) if start is None else start
        for (r, _), out in zip(cases, found):
            expected = []
            for rows in sequences(r):
                for i in range(len(rows)):
                    window = [rows[j] if 0 <= j < len(rows) else np.zeros(3) for j in range(i + first, i + first + size)]
                    expected.append(np.concatenate(window) @ w.numpy())
            np.testing.assert_allclose(out.numpy(), np.reshape(expected, (-1, 2)), rtol=1e-12)
        gradients(
            lambda x, w: fl.sequence_conv(x, ints(2, 0, 3), w, size=size, start=start), make([2, 0, 3]).data, w
        )

    def test_conv_with_trained_padding(self):
        x, w = fl.tensor(np.arange(1.0, 4.0).reshape(3, 1)), fl.tensor(np.array([[1.0], [10.0], [100.0]]))
        pad = fl.tensor([[7.0], [8.0], [9.0]], dtype="float64")
        # Two rows before and one behind would be windows of four; of three from -2 on there are two before.
        found = fl.sequence_conv(x, ints(2, 1), w, pad[:2], size=3, start=-2)
        expected = [7 + 80 + 100, 8 + 10 + 200, 7 + 80 + 300]
        assert found.numpy()[:, 0].tolist() == expected
        found = fl.sequence_conv(x, ints(2, 1), w, pad[1:], size=3, start=-1)
        assert found.numpy()[:, 0].tolist() == [8 + 10 + 200, 1 + 20 + 900, 8 + 30 + 900]
        gradients(lambda x, w, p: fl.sequence_conv(x, ints(2, 1), w, p, size=3, start=-1), x, w, pad[1:])
        with pytest.raises(ValueError, match="need 1 rows before and 1 behind"):
            fl.sequence_conv(x, ints(2, 1), w, pad, size=3, start=-1)

    def test_row_conv(self):
        x, w = make([2, 0, 3]), fl.tensor(normal(2, 3, seed=1))
        expected = [
            rows[i] * w.numpy()[0] + (rows[i + 1] * w.numpy()[1] if i + 1 < len(rows) else 0)
            for rows in sequences(x) for i in range(len(rows))
        ]  # fmt: skip
        np.testing.assert_allclose(fl.row_conv(x.data, x.lengths, w).numpy(), expected)
        gradients(lambda x, w: fl.row_conv(x, ints(2, 0, 3), w), x.data, w)

    def test_expand(self):
        cases = [(make(n), fl.tensor([i % 3 for i in range(len(n))])) for n in LENGTHS]
        found = both(lambda r, c: fl.sequence_expand(r.data, r.lengths, c), cases)
        for (r, counts), (rows, lengths) in zip(cases, found):
            expected = [s for s, count in zip(sequences(r), counts.tolist()) for _ in range(count)]
            assert lengths.tolist() == [len(s) for s in expected]
            np.testing.assert_array_equal(rows.numpy(), np.concatenate([np.zeros((0, 3)), *expected]))
        gradients(lambda x: fl.sequence_expand(x, ints(2, 0, 3), ints(2, 1, 0))[0], make([2, 0, 3]).data)
        r = make([2, 0, 3])
        assert r.expand(fl.tensor([1.0, 2.0, 3.0])).tolist() == [[1.0, 1.0], [], [3.0, 3.0, 3.0]]

    def test_pad_and_unpad(self):
        cases = [(make(n),) for n in LENGTHS]
        both(lambda r: r.padded(2.0), cases)
        both(lambda r: fl.Ragged.from_padded(r.padded() * 2, r.lengths), cases)
        gradients(lambda x: fl.sequence_pad(x, ints(2, 0, 3), 1.0), make([2, 0, 3]).data)
        gradients(lambda x: fl.sequence_unpad(x, ints(2, 0, 3)), fl.tensor(normal(3, 4, 2)))
        row = fl.tensor(normal(3, seed=1))
        assert (fl.sequence_pad(make([2, 1]).data, ints(2, 1), row)[1, 1] == row).all()
        gradients(lambda x, row: fl.sequence_pad(x, ints(2, 1), row), make([2, 1]).data, row)
        with pytest.raises(ValueError, match="sequence 1 has 2 rows; 3 from row 0 on"):
            fl.sequence_unpad(fl.tensor(normal(2, 2)), ints(2, 3))

    def test_reverse_slice_concat(self):
        cases = [(make(n),) for n in LENGTHS]
        for (r,), found in zip(cases, both(lambda r: r.reverse(), cases)):
            assert all((a == b[::-1]).all() for a, b in zip(sequences(found), sequences(r)))
        gradients(lambda x: fl.sequence_reverse(x, ints(2, 0, 3)), make([2, 0, 3]).data)
        x = make([2, 0, 3])
        part = fl.sequence_slice(x.data, x.lengths, ints(1, 0, 0), ints(1, 0, 2))
        expected = [s[a : a + n] for s, a, n in zip(sequences(x), [1, 0, 0], [1, 0, 2])]
        np.testing.assert_array_equal(part.numpy(), np.concatenate(expected))
        gradients(lambda x: fl.sequence_slice(x, ints(2, 0, 3), ints(1, 0, 0), ints(1, 0, 2)), x.data)
        with pytest.raises(ValueError, match="sequence 0 has 2 rows"):
            fl.sequence_slice(x.data, x.lengths, ints(1, 0, 0), ints(2, 0, 2))
        both(lambda a, b: fl.Ragged.concat([a, b, a], axis=1), [(make(n), make(n[::-1], seed=1)) for n in LENGTHS])
        gradients(lambda a, b: fl.sequence_concat([a, b], [ints(2, 0, 3), ints(1, 2, 0)])[0], x.data, make([1, 2, 0]).data)

    def test_numbers(self):
        r = fl.Ragged.from_rows([[1, 0, 2], [], [0, 0], [3]])
        rows, lengths = fl.sequence_erase(r.data, r.lengths, [0, 3])
        assert (rows.tolist(), lengths.tolist()) == ([1, 2], [2, 0, 0, 0])
        assert fl.sequence_enumerate(r.data, r.lengths, 2, 9).tolist() == [
            [1, 0], [0, 2], [2, 9], [0, 0], [0, 9], [3, 9],
        ]  # fmt: skip
        both(lambda r: fl.sequence_erase(r.data, r.lengths, [0]), [(numbers(n, 3),) for n in LENGTHS])
        assert fl.sequence_mask(np.array([[1], [3]])).shape == (2, 1, 3)
        assert fl.sequence_mask(ints(1, 2), steps=3, dtype="int64").tolist() == [[1, 0, 0], [1, 1, 0]]

    def test_reshape_and_scatter(self):
        r = make([2, 0, 4], width=3)
        rows, lengths = fl.sequence_reshape(r.data, r.lengths, 2)
        assert rows.shape == (9, 2) and lengths.tolist() == [3, 0, 6]
        assert fl.sequence_reshape(r.data, r.lengths, 1)[1].tolist() == [6, 0, 12]
        both(lambda r: fl.sequence_reshape(r.data, r.lengths, 2), [(make([2 * n for n in c]),) for c in LENGTHS])
        gradients(lambda x: fl.sequence_reshape(x, ints(2, 0, 4), 2)[0], r.data)
        with pytest.raises(AssertionError, match="divide by 2"):
            fl.sequence_reshape(make([1, 1]).data, ints(1, 1), 2)
        x, index, updates = fl.tensor(normal(3, 4)), ints(0, 3, 1, 1, 2), fl.tensor(normal(5, seed=1))
        expected = x.numpy().copy()
        for i, column, update in zip([0, 0, 2, 2, 2], index, updates.numpy()):
            expected[i, column] += update
        np.testing.assert_allclose(fl.sequence_scatter(x, index, updates, ints(2, 0, 3)).numpy(), expected)
        gradients(lambda x, u: fl.sequence_scatter(x, index, u, ints(2, 0, 3)), x, updates)
        with pytest.raises(IndexError):
            fl.sequence_scatter(x, ints(0, 4, 1, 1, 2), updates, ints(2, 0, 3))

    def test_images(self):
        x = fl.tensor(normal(2, 3, 4, 5))
        rows, lengths = fl.im2sequence(x, [2, 2], stride=[1, 2], padding=[0, 0, 0, 1])
        padded = np.pad(x.numpy(), ((0, 0), (0, 0), (0, 0), (0, 1)))
        expected = [
            padded[n, :, i : i + 2, j : j + 2].ravel() for n in range(2) for i in range(3) for j in range(0, 5, 2)
        ]
        np.testing.assert_array_equal(rows.numpy(), expected)
        assert lengths.tolist() == [9, 9]


LINES = [([1, 2], 0), ([3], 1), ([4, 5, 6], 0), ([], 1), ([7, 8], 0)]


class TestReaders:
    def reader(self, name=None):
        def lines():
            yield from LINES

        fields = {"words": "i64[n]", "label": "i64[]"}
        return fl.reader(lines, fields, name=name).ragged("words").batch(2)

    def test_line_by_line(self):
        found = [(words.tolist(), label.tolist()) for words, label in self.reader()]
        assert found == [([[1, 2], [3]], [0, 1]), ([[4, 5, 6], []], [0, 1]), ([[7, 8]], [0])]

    def test_in_programs(self):
        def sums(reader):
            total, count = fl.tensor([0, 0]), fl.tensor(0)
            for words, label in reader.iterate():
                total = total + fl.index_add(words.pool("sum"), label, 0, 2)
                count = count + fl.sum(words.lengths)
            return total, count

        with fl.State():
            expected = [x.tolist() for x in sums(self.reader("lines"))]
        with fl.State(), fl.mode("program"):
            reader = self.reader("lines")
            found = [x.tolist() for x in fl.function(lambda: sums(reader))()]
        assert found == expected == [[3 + 15 + 15, 3], 8]

    def test_stages(self):
        samples = [words.tolist() for words, _ in self.reader().take(1)]
        assert samples == [[[1, 2], [3]]]

        def lines():
            yield from LINES

        single = fl.reader(lines, {"words": "i64[n]", "label": "i64[]"}).ragged("words")
        assert [words.tolist() for words, _ in single] == [words for words, _ in LINES]
        with pytest.raises(ValueError, match="call `ragged` behind it"):
            single.select("words")

    def test_buckets(self):
        def lines():
            yield from LINES

        reader = fl.reader(lines, {"words": "i64[n]", "label": "i64[]"}).ragged("words").bucket(2, "words", [2, 4])
        found = [words.lengths.tolist() for words, _ in reader]
        assert sorted(sum(found, [])) == [0, 1, 2, 2, 3]
