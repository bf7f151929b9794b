"""Metrics over batches, line by line and inside programs, beside plain definitions in numpy."""

import math
from collections import Counter

import numpy as np
import pytest

import fluvial as fl

m = fl.metrics


@pytest.fixture(autouse=True)
def own_state():
    with fl.State():
        yield


def batches(rng, classes=4, n=3):
    for size in (7, 5, 9)[:n]:
        yield rng.random((size, classes)).astype("float32"), rng.integers(0, classes, size)


def both(metric, data):
    """The measure by lines and by a program, which must agree to the bit."""
    update = fl.function(lambda a, b: metric.update(a, b))
    found = []
    for step in (metric.update, update):
        metric.reset()
        for a, b in data:
            step(fl.tensor(a), fl.tensor(b))
        found.append(metric.compute())
    assert found[0].tolist() == found[1].tolist()
    return found[0]


def confusion(data, classes=4):
    matrix = np.zeros((classes, classes), int)
    for scores, target in data:
        for p, t in zip(scores.argmax(1), target):
            matrix[t, p] += 1
    return matrix


class TestClasses:
    def data(self):
        return list(batches(np.random.default_rng(0)))

    def test_accuracy(self):
        data, matrix = self.data(), confusion(self.data())
        assert both(m.Accuracy(), data).item() == pytest.approx(np.trace(matrix) / matrix.sum())
        best = sum((np.argsort(-s, 1)[:, :2] == t[:, None]).any(1).sum() for s, t in data)
        assert both(m.Accuracy(top_k=2), data).item() == pytest.approx(best / matrix.sum())
        binary = m.Accuracy()
        binary.update(fl.tensor([0.2, 0.8, 0.9]), fl.tensor([0, 1, 0]))
        assert binary.compute().item() == pytest.approx(2 / 3)
        some = m.Accuracy(ignore_index=-1)
        some.update(fl.tensor([1, 1, 0]), fl.tensor([1, -1, 1]))
        assert some.compute().item() == 0.5
        with pytest.raises(ValueError, match="do not fit targets"):
            m.Accuracy().update(fl.ones((2, 3, 4)), fl.tensor([1, 2]))

    def test_confusion(self):
        data, matrix = self.data(), confusion(self.data())
        assert both(m.ConfusionMatrix(4), data).tolist() == matrix.tolist()
        for kind, axis in (("true", 1), ("pred", 0), ("all", (0, 1))):
            wanted = matrix / matrix.sum(axis=axis, keepdims=True)
            np.testing.assert_allclose(both(m.ConfusionMatrix(4, normalize=kind), data).numpy(), wanted)
        with pytest.raises(AssertionError, match="none of 3"):
            m.ConfusionMatrix(3).update(fl.tensor([1]), fl.tensor([3]))

    @pytest.mark.parametrize("average", ["macro", "micro", "weighted", "none"])
    def test_precision_recall_and_f1(self, average):
        data, matrix = self.data(), confusion(self.data()).astype(float)
        right, predicted, there = np.diag(matrix), matrix.sum(0), matrix.sum(1)
        if average == "micro":
            right, predicted, there = right.sum(), predicted.sum(), there.sum()
        each = {m.Precision: right / predicted, m.Recall: right / there, m.F1: 2 * right / (predicted + there)}
        for kind, wanted in each.items():
            if average == "macro":
                wanted = wanted.mean()
            elif average == "weighted":
                wanted = (wanted * there).sum() / there.sum()
            np.testing.assert_allclose(both(kind(4, average), data).numpy(), wanted)

    def test_two_classes(self):
        scores, target = np.array([0.9, 0.8, 0.3, 0.6], "float32"), np.array([1, 0, 1, 1])
        assert both(m.Precision(), [(scores, target)]).item() == pytest.approx(2 / 3)
        assert both(m.Recall(threshold=0.7), [(scores, target)]).item() == pytest.approx(1 / 3)
        assert m.Precision()(fl.tensor([0, 0]), fl.tensor([1, 1])).item() == 0.0

    def test_auc_is_that_of_all_pairs(self):
        rng = np.random.default_rng(2)
        data = [(rng.random(50).astype("float32"), rng.integers(0, 2, 50)) for _ in range(3)]
        scores, target = (np.concatenate(parts) for parts in zip(*data))
        pairs = [(p > n) + 0.5 * (p == n) for p in scores[target == 1] for n in scores[target == 0]]
        assert both(m.AUC(1 << 20), data).item() == pytest.approx(np.mean(pairs), abs=1e-9)
        assert both(m.AUC(), data).item() == pytest.approx(np.mean(pairs), abs=1e-3)
        with pytest.raises(AssertionError, match="sigmoid"):
            m.AUC().update(fl.tensor([1.5]), fl.tensor([1]))


class TestMeans:
    def test_errors_and_perplexity(self):
        rng = np.random.default_rng(1)
        data = [(rng.random(n), rng.random(n)) for n in (3, 5)]
        a, b = (np.concatenate(parts) for parts in zip(*data))
        assert both(m.MeanSquaredError(), data).item() == pytest.approx(((a - b) ** 2).mean())
        assert both(m.MeanAbsoluteError(), data).item() == pytest.approx(np.abs(a - b).mean())
        data = [(rng.normal(size=(2, 3, 5)), rng.integers(-1, 5, (2, 3))) for _ in range(2)]
        logs = [(x - np.log(np.exp(x).sum(-1, keepdims=True)), t) for x, t in data]
        found = [row[t] for x, of in logs for row, t in zip(x.reshape(-1, 5), of.reshape(-1)) if t >= 0]
        assert both(m.Perplexity(ignore_index=-1), data).item() == pytest.approx(math.exp(-np.mean(found)))

    def test_weights_and_state(self):
        mean = m.Mean()
        mean.update(fl.tensor([1.0, 4.0]), fl.tensor([3.0, 1.0]))
        assert mean.compute().item() == 1.75
        again = m.Mean()
        again.load_state_dict(mean.state_dict())
        assert again.compute().item() == 1.75
        assert mean(2.0).item() == pytest.approx((1.75 * 4 + 2) / 5)

    def test_one_of_ones_own(self):
        class Largest(m.Metric):
            def __init__(self):
                super().__init__()
                self.count("largest")

            def update(self, x):
                self.largest = fl.maximum(self.largest, fl.cast(fl.max(x), "float64"))

            def compute(self):
                return self.largest.detach()

        metric = Largest()
        fl.function(lambda x: metric.update(x))(fl.tensor([1.0, 5.0, 2.0]))
        assert metric.compute().item() == 5.0
        metric.reset()
        assert metric.compute().item() == 0.0


def bleu(candidates, references, most=4, smooth=False):
    """By its definition."""
    matches, grams, length, theirs = [0] * most, [0] * most, 0, 0
    for words, others in zip(candidates, references):
        length += len(words)
        theirs += min((abs(len(r) - len(words)), len(r)) for r in others)[1]
        for n in range(1, most + 1):
            own = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
            of = [Counter(tuple(r[i : i + n]) for i in range(len(r) - n + 1)) for r in others]
            matches[n - 1] += sum(min(count, max(c[gram] for c in of)) for gram, count in own.items())
            grams[n - 1] += sum(own.values())
    if smooth:
        matches, grams = ([x + (i > 0) for i, x in enumerate(xs)] for xs in (matches, grams))
    if not all(matches):
        return 0.0
    shares = [a / b for a, b in zip(matches, grams)]
    return math.exp(min(0.0, 1.0 - theirs / length) + sum(map(math.log, shares)) / most)


class TestBleu:
    def corpus(self, seed):
        rng = np.random.default_rng(seed)
        sentence = lambda: [f"w{i}" for i in rng.integers(0, 4, rng.integers(4, 12))]  # noqa: E731
        return [sentence() for _ in range(6)], [[sentence() for _ in range(rng.integers(1, 4))] for _ in range(6)]

    @pytest.mark.parametrize("smooth", [False, True])
    @pytest.mark.parametrize("most", [1, 2, 4])
    def test_words(self, most, smooth):
        for seed in range(4):
            candidates, references = self.corpus(seed)
            metric = m.BLEU(most, smooth)
            metric.update(candidates[:3], references[:3])
            metric.update(candidates[3:], references[3:])
            assert metric.compute().item() == pytest.approx(bleu(candidates, references, most, smooth))

    def test_tokens_in_a_program(self):
        rng = np.random.default_rng(0)
        a, b = rng.integers(0, 4, (5, 9)), rng.integers(0, 4, (5, 2, 8))
        found = both(m.BLEU(2), [(a, b), (a, b)]).item()
        words = [[w for w in row if w] for row in a.tolist()]
        others = [[[w for w in row if w] for row in rows] for rows in b.tolist()]
        # Padding inside of a sentence stands between words; here it is at the ends only.
        full = lambda rows, n: [row + [0] * (n - len(row)) for row in rows]  # noqa: E731
        tight = np.array(full(words, 9)), np.array([full(rows, 8) for rows in others])
        assert both(m.BLEU(2), [tight]).item() == pytest.approx(bleu(words, others, 2))
        assert 0.0 <= found <= 1.0

    def test_references_are_lists_of_lists(self):
        with pytest.raises(ValueError, match="list of references"):
            m.BLEU().update([["a"]], [["a"]])
        assert m.BLEU()([["a"]], [[["b"]]]).item() == 0.0
