"""Boxes that are chosen and matched, and losses of detectors, against loops in NumPy."""

import numpy as np
import pytest

import fluvial.fluid as fluid
import fluvial.fluid.layers as layers

PLACE = fluid.CPUPlace()
RNG = np.random.default_rng(7)


@pytest.fixture
def programs():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        yield main


def run(main, feed, fetch, **options):
    return fluid.Executor(PLACE).run(main, feed=feed, fetch_list=fetch, **options)


def boxes(*shape):
    corner, size = RNG.uniform(0, 0.6, (*shape, 2)), RNG.uniform(0.1, 0.4, (*shape, 2))
    return np.concatenate([corner, corner + size], -1).astype("float32")


def overlap(a, b):
    side = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    both = max(side[0], 0) * max(side[1], 0)
    return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def entropy(x, target):
    return np.maximum(x, 0) - x * target + np.log1p(np.exp(-np.abs(x)))


def test_multiclass_nms(programs):
    b, s = boxes(2, 12), RNG.dirichlet(np.ones(3), (2, 12)).transpose(0, 2, 1).astype("float32")
    x, y = layers.data("x", [12, 4]), layers.data("y", [3, 12])
    found = layers.multiclass_nms(x, y, 0.2, 8, 5, nms_threshold=0.4)
    (t,) = run(programs, {"x": b, "y": s}, [found], return_numpy=False)
    rows, lengths = [], []
    for image in range(2):
        kept = []
        for c in (1, 2):
            order = [i for i in np.argsort(-s[image, c], kind="stable") if s[image, c, i] > 0.2][:8]
            own = []
            for i in order:
                if all(overlap(b[image, i], b[image, j]) <= 0.4 for j in own):
                    own.append(i)
            kept += [(c, i) for i in own]
        kept = sorted(sorted(kept, key=lambda k: -s[image][k])[:5], key=lambda k: k[0])
        lengths.append(len(kept))
        rows += [[c, s[image, c, i], *b[image, i]] for c, i in kept]
    assert t.recursive_sequence_lengths() == [lengths]
    np.testing.assert_allclose(np.array(t), rows, rtol=1e-6)


def lod(rows, lengths):
    return fluid.create_lod_tensor(rows, [lengths], PLACE)


def test_matches_and_targets(programs):
    near = RNG.uniform(0, 1, (5, 4)).astype("float32")
    x = layers.data("x", [4], lod_level=1)
    label = layers.data("label", [1], lod_level=1)
    rows, how = layers.bipartite_match(x, "per_prediction", 0.6)
    out, weight = layers.target_assign(label, rows, mismatch_value=9)
    feed = {"x": lod(near, [2, 3]), "label": lod(np.arange(5, dtype="float32").reshape(5, 1), [2, 3])}
    r, h, o, w = run(programs, feed, [rows, how, out, weight])
    for image, part in enumerate((near[:2], near[2:])):
        left, want = part.copy(), np.full(4, -1)
        for _ in range(len(part)):
            i, j = np.unravel_index(left.argmax(), left.shape)
            want[j] = i
            left[i], left[:, j] = -1, -1
        for j in np.flatnonzero(want < 0):
            if part[:, j].max() >= 0.6:
                want[j] = part[:, j].argmax()
        assert r[image].tolist() == want.tolist()
        np.testing.assert_allclose(h[image], [part[i, j] if i >= 0 else 0 for j, i in enumerate(want)])
        assert o[image].ravel().tolist() == [9 if i < 0 else i + 2 * image for i in want]
        assert w[image].ravel().tolist() == [float(i >= 0) for i in want]


def test_ssd_loss(programs):
    """A loss by hand, and that its gradient brings it down."""
    n, c = 6, 3
    prior, places, scores = boxes(n), RNG.normal(0, 0.3, (2, n, 4)), RNG.normal(0, 1, (2, n, c))
    objects, labels, lengths = boxes(3), np.array([[1], [2], [1]]), [1, 2]
    variance = np.full((n, 4), 0.1, "float32")
    loc, conf = layers.data("loc", [n, 4]), layers.data("conf", [n, c])
    loc.stop_gradient = conf.stop_gradient = False
    box, label = layers.data("box", [4], lod_level=1), layers.data("label", [1], dtype="int64", lod_level=1)
    loss = layers.ssd_loss(loc, conf, box, label, layers.assign(prior), layers.assign(variance), normalize=False)
    slopes = fluid.gradients(layers.reduce_sum(loss), [loc, conf])
    feed = {"loc": places.astype("float32"), "conf": scores.astype("float32"), "box": lod(objects, lengths),
            "label": lod(labels, lengths)}  # fmt: skip
    found, *slopes = run(programs, feed, [loss, *slopes])
    start = 0
    for image, count in enumerate(lengths):
        own, kinds = objects[start : start + count], labels[start : start + count, 0]
        start += count
        near = np.array([[overlap(o, p) for p in prior] for o in own])
        left, match = near.copy(), np.full(n, -1)
        for _ in range(count):
            i, j = np.unravel_index(left.argmax(), left.shape)
            if left[i, j] > 1e-6:
                match[j] = i
            left[i], left[:, j] = -1, -1
        for j in np.flatnonzero(match < 0):
            if near[:, j].max() >= 0.5:
                match[j] = near[:, j].argmax()
        target = np.array([0 if i < 0 else kinds[i] for i in match])
        logs = scores[image] - np.log(np.exp(scores[image]).sum(-1, keepdims=True))
        each = -logs[np.arange(n), target]
        free = [j for j in np.argsort(-each, kind="stable") if match[j] < 0 and near[:, j].max() < 0.5]
        chosen = [*np.flatnonzero(match >= 0), *free[: 3 * (match >= 0).sum()]]
        total = each[chosen].sum()
        for j in np.flatnonzero(match >= 0):
            o, p = own[match[j]], prior[j]
            centre, size = (p[:2] + p[2:]) / 2, p[2:] - p[:2]
            code = np.concatenate([((o[:2] + o[2:]) / 2 - centre) / size, np.log((o[2:] - o[:2]) / size)]) / 0.1
            gap = np.abs(places[image, j] - code)
            total += np.where(gap < 1, 0.5 * gap**2, gap - 0.5).sum()
        assert found[image, 0] == pytest.approx(total, rel=1e-4)
    feed["conf"] = feed["conf"] - 0.01 * slopes[1]
    assert run(programs, feed, [loss])[0].sum() < found.sum()


def test_yolov3_loss(programs):
    size, classes, ratio = 4, 3, 8
    anchors, mask = [10, 12, 16, 8, 30, 24], [1, 2]
    x = RNG.normal(0, 1, (2, 2 * (5 + classes), size, size)).astype("float32")
    truth = RNG.uniform(0.1, 0.9, (2, 3, 4)).astype("float32")
    truth[1, 2] = 0
    label = RNG.integers(0, classes, (2, 3)).astype("int32")
    given, box, kind = layers.data("x", [16, 4, 4]), layers.data("b", [3, 4]), layers.data("l", [3], dtype="int32")
    given.stop_gradient = False
    loss = layers.yolov3_loss(given, box, kind, anchors, mask, classes, 0.5, ratio)
    (slope,) = fluid.gradients(layers.reduce_sum(loss), given)
    found, slope = run(programs, {"x": x, "b": truth, "l": label}, [loss, slope])

    def by_hand(x):
        whole, smooth, totals = ratio * size, min(1 / classes, 1 / 40), []

        def shared(a, b):
            corners = [np.concatenate([v[:2] - v[2:] / 2, v[:2] + v[2:] / 2]) for v in (a, b)]
            return overlap(*corners)

        for i in range(2):
            p, total = x[i].reshape(2, 5 + classes, size, size), 0.0
            state = np.zeros((2, size, size))
            for j in range(2):
                for k in range(size):
                    for m in range(size):
                        t = p[j, :, k, m]
                        w, h = anchors[2 * mask[j]], anchors[2 * mask[j] + 1]
                        at = np.array([(m + sigmoid(t[0])) / size, (k + sigmoid(t[1])) / size,
                                       np.exp(t[2]) * w / whole, np.exp(t[3]) * h / whole])  # fmt: skip
                        if max(shared(at, g) for g in truth[i] if g[2] > 1e-6) > 0.5:
                            state[j, k, m] = -1
            for g, c in zip(truth[i], label[i]):
                if g[2] < 1e-6:
                    continue
                forms = [shared(np.array([0, 0, *g[2:]]), np.array([0, 0, w / whole, h / whole]))
                         for w, h in zip(anchors[::2], anchors[1::2])]  # fmt: skip
                n = int(np.argmax(forms))
                if n not in mask:
                    continue
                j, m, k = mask.index(n), int(g[0] * size), int(g[1] * size)
                state[j, k, m] = 1
                t, scale = p[j, :, k, m], 2 - g[2] * g[3]
                logs = np.log(g[2:] * whole / np.array(anchors[2 * n : 2 * n + 2]))
                total += scale * (entropy(t[0], g[0] * size - m) + entropy(t[1], g[1] * size - k))
                total += scale * np.abs(t[2:4] - logs).sum()
                total += entropy(t[5:], np.where(np.arange(classes) == c, 1 - smooth, smooth)).sum()
            total += entropy(p[:, 4], 1.0)[state > 0].sum() + entropy(p[:, 4], 0.0)[state == 0].sum()
            totals.append(total)
        return np.array(totals)

    np.testing.assert_allclose(found, by_hand(x.astype("float64")), rtol=1e-4)
    way = RNG.normal(size=x.shape)
    step = 1e-5
    difference = (by_hand(x + step * way).sum() - by_hand(x - step * way).sum()) / (2 * step)
    assert float((slope * way).sum()) == pytest.approx(difference, rel=1e-2)


def test_regions(programs):
    x = layers.data("x", [2, 6, 6])
    x.stop_gradient = False
    rois = layers.data("rois", [4], lod_level=1)
    pooled, aligned = layers.roi_pool(x, rois, 2, 2), layers.roi_align(x, rois, 2, 2)
    (slope,) = fluid.gradients(layers.reduce_sum(pooled), x)
    images = RNG.permutation(144).reshape(2, 2, 6, 6).astype("float32")
    regions = np.array([[0, 0, 3, 3], [1, 2, 4, 5], [2, 2, 5, 5]], "float32")
    a, b, s = run(programs, {"x": images, "rois": lod(regions, [1, 2])}, [pooled, aligned, slope])
    assert b.shape == (3, 2, 2, 2)
    assert a[0, 0].tolist() == [[images[0, 0, i : i + 2, j : j + 2].max() for j in (0, 2)] for i in (0, 2)]
    assert a[1, 1].tolist() == [[images[1, 1, i : i + 2, j : j + 2].max() for j in (1, 3)] for i in (2, 4)]
    assert s.sum() == a.size


def test_boxes_at_the_edge(programs):
    x, info = layers.data("x", [4], lod_level=1), layers.data("info", [3])
    found = layers.box_clip(x, info)
    rows = np.array([[-1, 2, 30, 9], [0, 0, 5, 50]], "float32")
    feed = {"x": lod(rows, [1, 1]), "info": np.array([[10, 20, 1], [40, 8, 2]], "float32")}
    (t,) = run(programs, feed, [found], return_numpy=False)
    assert np.array(t).tolist() == [[0, 2, 19, 9], [0, 0, 3, 19]]
