"""Recurrent networks, conditional random fields, searches and losses over sequences, against NumPy, in both modes."""

import itertools

import numpy as np
import pytest
from test_ragged import LENGTHS, both, gradients, ints, make, normal, numbers, sequences

import fluvial as fl


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(rows, w, b, peepholes, h, c):
    """One sequence, by Fluid's formulas."""
    width = w.shape[1] // 4
    outs, cells = [], []
    for x in rows:
        sums = x + h @ w + (0 if b is None else b[: 4 * width])
        candidate, i, f, o = np.split(sums, 4)
        p, q, r = (b[4 * width : 5 * width], b[5 * width : 6 * width], b[6 * width :]) if peepholes else (0, 0, 0)
        i, f = sigmoid(i + p * c), sigmoid(f + q * c)
        c = f * c + i * np.tanh(candidate)
        h = sigmoid(o + r * c) * np.tanh(c)
        outs.append(h)
        cells.append(c)
    return np.reshape(outs, (-1, width)), np.reshape(cells, (-1, width))


class TestRecurrent:
    @pytest.mark.parametrize("peepholes", [True, False])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_lstm(self, peepholes, reverse):
        width = 2
        w, b = fl.tensor(normal(width, 4 * width, seed=3)), fl.tensor(normal((7 if peepholes else 4) * width, seed=4))
        cases = [
            (make(n, 4 * width), w, b, fl.tensor(normal(len(n), width, seed=5)), fl.tensor(normal(len(n), width, seed=6)))
            for n in LENGTHS
        ]
        found = both(
            lambda r, w, b, h, c: fl.dynamic_lstm(r.data, r.lengths, w, b, h, c, peepholes=peepholes, reverse=reverse),
            cases,
            5,
        )
        for (r, _, _, h, c), (outs, cells) in zip(cases, found):
            expected = []
            for i, rows in enumerate(sequences(r)):
                rows = rows[::-1] if reverse else rows
                pair = lstm(rows, w.numpy(), b.numpy(), peepholes, h.numpy()[i], c.numpy()[i])
                expected.append([part[::-1] if reverse else part for part in pair])
            np.testing.assert_allclose(outs.numpy(), np.concatenate([e[0] for e in expected]), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(cells.numpy(), np.concatenate([e[1] for e in expected]), rtol=1e-10, atol=1e-12)
        gradients(
            lambda x, w, b, h, c: fl.dynamic_lstm(x, ints(2, 0, 3), w, b, h, c, peepholes=peepholes, reverse=reverse),
            make([2, 0, 3], 4 * width).data, w, b, cases[0][3], cases[0][4],
        )  # fmt: skip

    def test_projected_lstm(self):
        width, out = 3, 2
        w, p = fl.tensor(normal(out, 4 * width, seed=3)), fl.tensor(normal(width, out, seed=4))
        r = make([2, 0, 3], 4 * width)
        outs, cells = fl.dynamic_lstmp(r.data, r.lengths, w, p, peepholes=False, cell_clip=0.5, proj_clip=0.3)
        expected = []
        for rows in sequences(r):
            h, c = np.zeros(out), np.zeros(width)
            for x in rows:
                candidate, i, f, o = np.split(x + h @ w.numpy(), 4)
                c = np.clip(sigmoid(f) * c + sigmoid(i) * np.tanh(candidate), -0.5, 0.5)
                h = np.clip(np.tanh((sigmoid(o) * np.tanh(c)) @ p.numpy()), -0.3, 0.3)
                expected.append(h)
        np.testing.assert_allclose(outs.numpy(), expected, rtol=1e-10)
        assert cells.shape == (5, width)
        both(
            lambda r, w, p: fl.dynamic_lstmp(r.data, r.lengths, w, p, peepholes=False),
            [(make(n, 4 * width), w, p) for n in LENGTHS],
        )
        gradients(
            lambda x, w, p: fl.dynamic_lstmp(x, ints(2, 0, 3), w, p, peepholes=False, reverse=True), r.data, w, p
        )

    @pytest.mark.parametrize("origin", [False, True])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_gru(self, origin, reverse):
        width = 2
        w, b = fl.tensor(normal(width, 3 * width, seed=3)), fl.tensor(normal(3 * width, seed=4))
        gates = w.numpy().ravel()[: 2 * width * width].reshape(width, 2 * width)
        candidates = w.numpy().ravel()[2 * width * width :].reshape(width, width)
        cases = [(make(n, 3 * width), w, b, fl.tensor(normal(len(n), width, seed=5))) for n in LENGTHS]
        found = both(
            lambda r, w, b, h: fl.dynamic_gru(r.data, r.lengths, w, b, h, reverse=reverse, origin_mode=origin), cases, 5
        )
        for (r, _, _, h0), outs in zip(cases, found):
            expected = []
            for rows, h in zip(sequences(r), h0.numpy()):
                own = []
                for x in rows[::-1] if reverse else rows:
                    x = x + b.numpy()
                    u, reset = np.split(sigmoid(x[: 2 * width] + h @ gates), 2)
                    new = np.tanh(x[2 * width :] + (reset * h) @ candidates)
                    h = u * h + (1 - u) * new if origin else (1 - u) * h + u * new
                    own.append(h)
                expected += own[::-1] if reverse else own
            np.testing.assert_allclose(outs.numpy(), np.reshape(expected, (-1, width)), rtol=1e-10, atol=1e-12)
        gradients(
            lambda x, w, b, h: fl.dynamic_gru(x, ints(2, 0, 3), w, b, h, reverse=reverse, origin_mode=origin),
            make([2, 0, 3], 3 * width).data, w, b, cases[0][3],
        )  # fmt: skip

    def test_units(self):
        x, h, w = fl.tensor(normal(2, 6)), fl.tensor(normal(2, 2, seed=1)), fl.tensor(normal(2, 6, seed=2))
        gradients(lambda x, h, w: fl.gru_unit(x, h, w), x, h, w)
        whole = fl.dynamic_gru(x, ints(1, 1), w, None, h)
        assert fl.gru_unit(x, h, w)[0].tolist() == whole.tolist()
        sums, c = fl.tensor(normal(2, 8)), fl.tensor(normal(2, 2, seed=1))
        i, f, o, j = np.split(sums.numpy(), 4, axis=1)
        cell = sigmoid(f + 0.5) * c.numpy() + sigmoid(i) * np.tanh(j)
        out, found = fl.lstm_unit(sums, c, 0.5)
        np.testing.assert_allclose(found.numpy(), cell)
        np.testing.assert_allclose(out.numpy(), sigmoid(o) * np.tanh(cell))
        gradients(lambda s, c: fl.lstm_unit(s, c, 0.5), sums, c)

    def test_steps_of_a_function(self):
        w = fl.tensor(normal(3, 3, seed=1))

        def run(r, w, reverse=False):
            def step(h, x):
                h = fl.tanh(x + h @ w)
                return h, (h, h * 2)

            return r.scan(step, fl.zeros_like(r.pool("sum")), reverse=reverse)

        cases = [(make(n), w) for n in LENGTHS]
        for (r, _), (last, (outs, twice)) in zip(cases, both(run, cases, 5)):
            for i, rows in enumerate(sequences(r)):
                h = np.zeros(3)
                for x, found in zip(rows, sequences(outs)[i], strict=True):
                    h = np.tanh(x + h @ w.numpy())
                    np.testing.assert_allclose(found, h)
                np.testing.assert_allclose(last.numpy()[i], h)
            np.testing.assert_allclose(twice.data.numpy(), outs.data.numpy() * 2)
        lengths = fl.tensor([2, 0, 3])
        gradients(lambda x, w: run(fl.Ragged.from_lengths(x, lengths), w, True)[1], make([2, 0, 3]).data, w)

    def test_steps_see_no_padding(self):
        # A logarithm of padding with zeros would give gradients that are not numbers.
        x = fl.tensor([1.0, 2.0, 3.0]).track()
        r = fl.Ragged.from_lengths(x, [2, 1])
        last, _ = r.scan(lambda h, x: (h + fl.log(x), h), fl.full((2,), 0.0))
        (gradient,) = fl.grad(fl.sum(last), [x])
        np.testing.assert_allclose(gradient.numpy(), [1, 1 / 2, 1 / 3], rtol=1e-6)

    def test_several_sequences_at_once(self):
        a, b = make([2, 1], 1), make([2, 1], 1, seed=1)
        last, outs = a.scan(lambda h, x, y: (h + x * y, h), fl.full((2, 1), 0.0, "float64"), others=[b])
        expected = [(x * y).sum() for x, y in zip(sequences(a), sequences(b))]
        np.testing.assert_allclose(last.numpy()[:, 0], expected)
        with pytest.raises(ValueError, match="do not go together"):
            a.scan(lambda h, x, y: (h, x), fl.full((2,), 0.0), others=[make([1, 2], 1)])


def scores_of(rows, transition, tags):
    score = transition[0, tags[0]] + transition[1, tags[-1]] + sum(row[tag] for row, tag in zip(rows, tags))
    return score + sum(transition[2 + a, b] for a, b in zip(tags, tags[1:]))


class TestRandomFields:
    def test_cost_and_decoding(self):
        n_tags = 3
        transition = fl.tensor(normal(n_tags + 2, n_tags, seed=1))
        cases = [(make(n, n_tags), transition, numbers(n, n_tags)) for n in LENGTHS]
        costs = both(lambda r, t, y: fl.linear_chain_crf(r.data, t, y.data, r.lengths), cases)
        paths = both(lambda r, t, y: fl.crf_decoding(r.data, t, r.lengths), cases)
        for (r, t, y), cost, path in zip(cases, costs, paths):
            assert cost.shape == (len(r), 1)
            start = 0
            for i, (rows, tags) in enumerate(zip(sequences(r), sequences(y))):
                if len(rows) == 0:
                    assert cost.numpy()[i] == 0
                    continue
                ways = list(itertools.product(range(n_tags), repeat=len(rows)))
                all_scores = np.array([scores_of(rows, t.numpy(), way) for way in ways])
                expected = np.log(np.exp(all_scores).sum()) - scores_of(rows, t.numpy(), tags)
                np.testing.assert_allclose(cost.numpy()[i, 0], expected, rtol=1e-10)
                best = ways[int(all_scores.argmax())]
                assert tuple(path.numpy()[start : start + len(rows)]) == best
                start += len(rows)
        label = numbers([2, 0, 3], n_tags).data
        gradients(lambda x, t: fl.linear_chain_crf(x, t, label, ints(2, 0, 3)), make([2, 0, 3], n_tags).data, transition)

    def test_refused(self):
        with pytest.raises(ValueError, match=r"\[tags \+ 2, tags\]"):
            fl.linear_chain_crf(normal(2, 3), normal(3, 3), ints(0, 1), ints(2))
        with pytest.raises(IndexError):
            fl.linear_chain_crf(normal(2, 3), normal(5, 3), ints(0, 3), ints(2))


class TestClassification:
    def test_greedy(self):
        scores = np.eye(3)[[0, 1, 1, 0, 1, 2, 2, 0, 0]]
        labels, lengths = fl.ctc_greedy_decoder(scores, ints(5, 2, 2), 0)
        assert (labels.tolist(), lengths.tolist()) == ([1, 1, 2], [2, 1, 0])
        # A repeat across a border counts.
        assert fl.ctc_greedy_decoder(np.eye(2)[[1, 1]], ints(1, 1), 0)[1].tolist() == [1, 1]
        both(lambda r: fl.ctc_greedy_decoder(r.data, r.lengths, 0), [(make(n),) for n in LENGTHS])

    def test_loss(self):
        n_steps, n_labels, classes = ints(4, 3), ints(2, 1), 3
        x, labels = make(n_steps.tolist(), classes), fl.Ragged.from_rows([[1, 2], [2]])
        losses = fl.warpctc(x.data, x.lengths, labels.data, labels.lengths)
        for i, (rows, own) in enumerate(zip(sequences(x), sequences(labels))):
            logs = rows - np.log(np.exp(rows).sum(1, keepdims=True))
            total = 0.0
            for way in itertools.product(range(classes), repeat=len(rows)):
                merged = [c for c, _ in itertools.groupby(way) if c != 0]
                if merged == own.tolist():
                    total += np.exp(sum(row[c] for row, c in zip(logs, way)))
            np.testing.assert_allclose(losses.numpy()[i, 0], -np.log(total), rtol=1e-10)
        gradients(lambda x: fl.warpctc(x, n_steps, labels.data, n_labels), x.data)
        tracked = x.data.track()
        (plain,) = fl.grad(fl.sum(fl.warpctc(tracked, n_steps, labels.data, n_labels)), [tracked])
        normed = fl.warpctc(tracked, n_steps, labels.data, n_labels, norm_by_times=True)
        np.testing.assert_allclose(normed.numpy(), losses.numpy())
        (slow,) = fl.grad(fl.sum(normed), [tracked])
        np.testing.assert_allclose(slow.numpy(), plain.numpy() / np.repeat(n_steps, n_steps)[:, None], rtol=1e-10)
        both(
            lambda r, y: fl.warpctc(r.data, r.lengths, y.data, y.lengths),
            [(make([n + 3 for n in c]), fl.Ragged.from_lengths(fl.tensor([1] * len(c)), [1] * len(c))) for c in LENGTHS],
        )

    def test_edit_distance(self):
        a, b = fl.Ragged.from_rows([[1, 2, 3], [], [4]]), fl.Ragged.from_rows([[2, 3, 4, 5], [1], [4]])
        assert fl.edit_distance(a.data, a.lengths, b.data, b.lengths).tolist() == [[3.0], [1.0], [0.0]]
        assert fl.edit_distance(a.data, a.lengths, b.data, b.lengths, True).tolist() == [[0.75], [1.0], [0.0]]

    def test_chunks(self):
        # IOB with two kinds: 0 = first of kind 0, 1 = inner, 2 = first of kind 1, 3 = inner, 4 = outside.
        label, found = ints(0, 1, 4, 2, 3, 0), ints(0, 1, 4, 2, 4, 0)
        precision, recall, f1, n_found, n_label, right = fl.chunk_eval(
            found, label, ints(5, 1), chunk_scheme="IOB", num_chunk_types=2
        )
        assert (n_found.tolist(), n_label.tolist(), right.tolist()) == ([3], [3], [2])
        np.testing.assert_allclose([precision.item(), recall.item(), f1.item()], [2 / 3] * 3, rtol=1e-6)

    @pytest.mark.parametrize("sampler", ["uniform", "log_uniform", "custom_dist"])
    def test_noise(self, sampler):
        x, w, b = fl.tensor(normal(4, 3)), fl.tensor(normal(5, 3, seed=1)), fl.tensor(normal(5, seed=2))
        label, weights = ints(1, 0, 4, 2), [0.1, 0.2, 0.3, 0.2, 0.2]
        options = {"num_neg_samples": 3, "sampler": sampler}
        if sampler == "custom_dist":
            options["custom_dist"] = weights

        def run(x, w, b):
            return fl.nce(x, label, w, b, **options)

        shares = {
            "uniform": np.full(5, 0.2), "custom_dist": np.array(weights),
            "log_uniform": np.log((np.arange(5) + 2) / (np.arange(5) + 1)) / np.log(6),
        }[sampler]  # fmt: skip
        np.testing.assert_allclose(shares.sum(), 1)
        with fl.State():
            fl.seed(3)
            found = run(x, w, b).numpy()
        # The part of the labels is known, that of the noise is between its least and its greatest.
        o = sigmoid(x.numpy() @ w.numpy().T + b.numpy())
        noise = 3 * shares
        own = np.array([-np.log(o[i, y] / (o[i, y] + noise[y])) for i, y in enumerate(label)])
        of_noise = -np.log(noise / (o + noise))
        rest = found[:, 0] - own
        assert (rest >= 3 * of_noise.min(1) - 1e-9).all() and (rest <= 3 * of_noise.max(1) + 1e-9).all()

        def seeded(x, w, b):
            fl.seed(3)
            return run(x, w, b)

        with fl.State():
            tracked = [t.track() for t in (x, w, b)]
            exact = fl.grad(fl.sum(seeded(*tracked)), tracked)
            moved = x.numpy().copy()
            moved[1, 2] += 1e-6
            difference = (fl.sum(seeded(fl.tensor(moved), w, b)) - fl.sum(seeded(x, w, b))).item() / 1e-6
            assert exact[0].numpy()[1, 2] == pytest.approx(difference, rel=1e-4, abs=1e-5)

    @pytest.mark.parametrize("classes", [2, 3, 5, 8])
    def test_tree(self, classes):
        x, w, b = fl.tensor(normal(4, 3)), fl.tensor(normal(classes - 1, 3, seed=1)), fl.tensor(normal(classes - 1, seed=2))
        # The probabilities of all classes add up to one.
        losses = [fl.hsigmoid(x, ints(y, y, y, y), w, b, None, None, classes).numpy()[:, 0] for y in range(classes)]
        np.testing.assert_allclose(np.exp(-np.array(losses)).sum(0), 1, rtol=1e-12)
        gradients(lambda x, w, b: fl.hsigmoid(x, ints(0, 1, classes - 1, 0), w, b, None, None, classes), x, w, b)
        with pytest.raises(IndexError):
            fl.hsigmoid(x, ints(classes, 0, 0, 0), w, b, None, None, classes)

    def test_own_tree(self):
        x, w = fl.tensor(normal(2, 3)), fl.tensor(normal(3, 3, seed=1))
        table, code = np.array([[0, 2, -1], [0, -1, -1]]), np.array([[1, 0, 0], [0, 0, 0]])
        found = fl.hsigmoid(x, ints(0, 1), w, None, table, code, 3).numpy()[:, 0]
        s = x.numpy() @ w.numpy().T
        expected = [-np.log(sigmoid(s[0, 0])) - np.log(1 - sigmoid(s[0, 2])), -np.log(1 - sigmoid(s[1, 0]))]
        np.testing.assert_allclose(found, expected)

    def test_sampling(self):
        assert fl.sampling_id(np.eye(2)[::-1].copy()).tolist() == [1, 0]


class TestSearch:
    def test_step(self):
        ids, scores, parents, lengths = fl.beam_search(
            ints(1, 2, 3), np.array([-1.0, -2.0, -0.5]), np.array([[4, 5], [6, 0], [7, 8]]),
            np.array([[-1.5, -2.0], [-2.1, -2.2], [-0.7, -3.0]]), ints(2, 1),
            beam_size=2, end_id=0,
        )  # fmt: skip
        assert ids.tolist() == [4, 5, 7, 8] and parents.tolist() == [0, 0, 2, 2] and lengths.tolist() == [2, 0, 2]
        assert scores.tolist() == pytest.approx([-1.5, -2.0, -0.7, -3.0])

    def test_finds_the_best_sentences(self):
        """With a beam as wide as there are sentences, the search finds the best ones."""
        n_words, n_steps, end = 3, 4, 0
        logs = np.log(np.random.default_rng(2).dirichlet(np.ones(n_words), size=(n_steps, n_words)))
        beam = 64
        ids, scores = [], []
        last, score, sources = fl.tensor([1]), fl.tensor([0.0], dtype="float64"), fl.tensor([1])
        steps = []
        for t in range(n_steps):
            table = score.reshape(-1, 1) + fl.tensor(logs[t])[last]
            last, score, _, lengths = fl.beam_search(last, score, None, table, sources, beam_size=beam, end_id=end)
            ids.append(last)
            scores.append(score)
            steps.append((sources, lengths))
            sources = fl.tensor([last.shape[0]])
        words, found, counts, sizes = fl.beam_search_decode(
            ids, scores, [a for a, _ in steps], [b for _, b in steps], beam_size=beam, end_id=end
        )
        expected = {}
        for way in itertools.product(range(n_words), repeat=n_steps):
            sentence, total, before = [], 0.0, 1
            for t, word in enumerate(way):
                sentence.append(word)
                total += logs[t, before, word]
                before = word
                if word == end:
                    break
            expected[tuple(sentence)] = total
        best = sorted(expected.items(), key=lambda item: -item[1])
        r = fl.Ragged.from_lengths(words, counts, sizes)
        assert r.tolist()[0] == [list(sentence) for sentence, _ in best[:beam]]
        ends = np.cumsum(sizes.tolist()) - 1
        np.testing.assert_allclose(found.numpy()[ends], [total for _, total in best[:beam]])

    def test_tree(self):
        ids = fl.tensor([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
        parents = fl.tensor([[[0, 0], [1, 1]], [[1, 0], [0, 0]], [[0, 0], [0, 1]]])
        assert fl.gather_tree(ids, parents).tolist() == [[[2, 2], [6, 6]], [[3, 3], [6, 1]], [[0, 1], [9, 0]]]


class TestPrograms:
    def test_files(self, tmp_path):
        """A saved program runs for any lengths, without the code that built it."""
        w = fl.tensor(normal(3, 8, seed=1).astype("f4"))
        h = fl.tensor(normal(2, 8, seed=2).astype("f4"))

        def model(words, lengths):
            r = fl.Ragged.from_lengths(words, lengths)
            outs, _ = fl.dynamic_lstm((r @ w).data, r.lengths, h, peepholes=False)
            outs = r.map(lambda _: outs)
            return {"pooled": outs.pool("max"), "shares": outs.softmax().data, "last": outs[-1]}

        program = fl.build(model, {"words": "f32[rows, 3]", "lengths": "i64[sequences]"})
        path = str(tmp_path / "model.flb")
        program.save(path)
        loaded = fl.Program.load(path)
        for lengths in LENGTHS:
            r = make(lengths, dtype="f4")
            expected = model(r.data, r.lengths)
            found = loaded.run(words=r.data, lengths=r.lengths)
            for name, value in expected.items():
                assert value.numpy().tobytes() == found[name].numpy().tobytes()

    def test_loops_and_branches(self):
        @fl.function
        def run(r, n):
            for _ in range(n):
                r = r * 2 + 1
            if fl.sum(r.data) > 0:
                r = -r
            else:
                r = r + 1
            return r

        for lengths in LENGTHS:
            r = make(lengths)
            expected = r
            for _ in range(3):
                expected = expected * 2 + 1
            expected = -expected if fl.sum(expected.data).item() > 0 else expected + 1
            found = run(r, 3)
            assert isinstance(found, fl.Ragged)
            assert found.data.numpy().tobytes() == expected.data.numpy().tobytes()

    def test_training(self):
        """Sums of sequences are learnt through an LSTM, in both modes to the same bits."""
        rng = np.random.default_rng(0)
        batches = []
        for _ in range(4):
            lengths = rng.integers(1, 5, 3)
            r = fl.Ragged.from_lengths(fl.tensor(rng.normal(size=(lengths.sum(), 2)).astype("f4")), lengths)
            batches.append((r, fl.sum(r.pool("sum"), 1, True)))

        def train(compiled):
            fl.seed(1)
            with fl.State():
                gates, out = fl.nn.Linear(2, 16), fl.nn.Linear(4, 1)
                weight = fl.nn.Parameter(fl.tensor(normal(4, 16, seed=3).astype("f4") * 0.3))
                adam = fl.optimizer.Adam([*gates.parameters(), *out.parameters(), weight], 0.05)

                def step(r, y):
                    hidden, _ = fl.dynamic_lstm(gates(r.data), r.lengths, weight, peepholes=False)
                    loss = fl.mean((out(fl.sequence_pool(hidden, r.lengths, pool="last")) - y) ** 2)
                    adam.minimize(loss)
                    return loss

                step = fl.function(step) if compiled else step
                return [step(*batches[i % 4]).item() for i in range(60)]

        line_by_line, program = train(False), train(True)
        assert line_by_line == program
        assert sum(line_by_line[-4:]) < sum(line_by_line[:4]) / 2
