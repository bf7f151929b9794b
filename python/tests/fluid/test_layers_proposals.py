"""Boxes that detectors propose and keep, against loops of NumPy."""

import math

import numpy as np
import pytest
from boxes import run
from layer_checks import numbers

import fluvial.fluid.layers as layers


def overlap(a, b, more=1.0):
    if b[0] > a[2] or b[2] < a[0] or b[1] > a[3] or b[3] < a[1]:
        return 0.0
    across, down = min(a[2], b[2]) - max(a[0], b[0]) + more, min(a[3], b[3]) - max(a[1], b[1]) + more
    areas = sum((box[2] - box[0] + more) * (box[3] - box[1] + more) for box in (a, b))
    return across * down / (areas - across * down)


def suppressed(boxes, scores, threshold, more=1.0):
    """The numbers of boxes that are kept, the best first."""
    kept = []
    for i in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(overlap(boxes[i], boxes[j], more) <= threshold for j in kept):
            kept.append(i)
    return kept


def decoded(anchor, code, largest=math.inf):
    w, h = anchor[2] - anchor[0] + 1, anchor[3] - anchor[1] + 1
    x, y = code[0] * w + anchor[0] + w / 2, code[1] * h + anchor[1] + h / 2
    w, h = math.exp(min(code[2], largest)) * w, math.exp(min(code[3], largest)) * h
    return [x - w / 2, y - h / 2, x + w / 2 - 1, y + h / 2 - 1]


@pytest.mark.parametrize("limit", [0.5, 0.0])
def test_proposals(limit):
    scores, deltas = numbers(2, 3, 4, 5), numbers(2, 12, 4, 5, seed=1)
    info = np.array([[40, 50, 1.0], [30, 60, 2.0]], np.float32)

    def build(scores, deltas, info):
        anchors, variances = layers.anchor_generator(scores, [12.0], [0.5, 1.0, 2.0], [0.5, 0.5, 1.0, 1.0], [10.0, 10.0])
        found = layers.generate_proposals(
            scores, deltas, info, anchors, variances, 30, 8, limit, 6.0, return_rois_num=True
        )
        return [*found, anchors]

    boxes, chances, ends, anchors = run(build, scores=scores, deltas=deltas, info=info)
    anchors = anchors[0].reshape(-1, 4)
    rows, lengths = [], []
    for n in range(2):
        score = scores[n].transpose(1, 2, 0).reshape(-1)
        code = deltas[n].transpose(1, 2, 0).reshape(-1, 4)
        high, wide, scale = info[n]
        best = sorted(range(60), key=lambda i: -score[i])[:30]
        kept = []
        for i in best:
            box = np.array(decoded(anchors[i], code[i] * [0.5, 0.5, 1, 1], math.log(1000 / 16)))
            box = np.clip(box, 0, [wide - 1, high - 1, wide - 1, high - 1])
            w, h = box[2] - box[0], box[3] - box[1]
            middle = box[0] + (w + 1) / 2, box[1] + (h + 1) / 2
            if w / scale + 1 >= 6 and h / scale + 1 >= 6 and middle[0] <= wide and middle[1] <= high:
                kept.append((score[i], box))
        if limit:
            chosen = suppressed([box for _, box in kept], [s for s, _ in kept], limit)[:8]
            kept = [kept[i] for i in chosen]
        rows += kept
        lengths.append(len(kept))
    assert boxes[1] == chances[1] == [lengths] and ends[0].tolist() == np.cumsum(lengths).tolist()
    assert 0 < lengths[0] and (not limit or max(lengths) <= 8)
    np.testing.assert_allclose(boxes[0], [box for _, box in rows], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(chances[0].ravel(), [s for s, _ in rows], rtol=1e-5)


def test_levels_of_a_pyramid():
    boxes = np.array([[0, 0, 9, 9], [0, 0, 500, 500], [5, 5, 100, 110], [0, 0, 223, 223], [3, 3, 1, 1]], np.float32)
    parts = run(lambda boxes: layers.distribute_fpn_proposals(boxes, 2, 5, 4, 224), boxes=(boxes, [[2, 0, 3]]))
    restored = parts.pop()[0]
    assert restored.dtype == np.int32 and restored.shape == (5, 1)
    wanted = []
    for box in boxes:
        area = (box[2] - box[0] + 1) * (box[3] - box[1] + 1) if box[2] >= box[0] else 0
        wanted.append(min(max(math.floor(math.log2(math.sqrt(area) / 224 + 1e-6) + 4), 2), 5))
    assert wanted == [2, 5, 2, 4, 2]
    for level, (rows, lengths) in enumerate(parts, 2):
        chosen = [i for i in range(5) if wanted[i] == level]
        np.testing.assert_array_equal(rows, boxes[chosen])
        assert lengths == [[sum(i < 2 for i in chosen), 0, sum(i >= 2 for i in chosen)]]
    everything = np.concatenate([rows for rows, _ in parts])
    np.testing.assert_array_equal(everything[restored[:, 0]], boxes)


def test_the_best_of_a_pyramid():
    boxes = np.arange(28, dtype=np.float32).reshape(7, 4)
    scores = np.array([[0.3], [0.9], [0.1], [0.8], [0.5], [0.9], [0.2]], np.float32)
    ((found, lengths),) = run(
        lambda a, s, b, t: layers.collect_fpn_proposals([a, b], [s, t], 2, 3, 5),
        a=(boxes[:4], [[3, 1]]), s=(scores[:4], [[3, 1]]), b=(boxes[4:], [[1, 2]]), t=(scores[4:], [[1, 2]]),
    )  # fmt: skip
    # The first image has 0, 1, 2 and 4, the second one 3, 5 and 6; the worst two are left out.
    np.testing.assert_array_equal(found, boxes[[1, 4, 0, 5, 3]])
    assert lengths == [[3, 2]]
    with pytest.raises(ValueError, match="1 boxes and 1 scores for 2 levels"):
        run(lambda a, s: layers.collect_fpn_proposals([a], [s], 2, 3, 5), a=(boxes, [[7]]), s=(scores, [[7]]))


def test_what_a_pyramid_finds():
    rng = np.random.default_rng(4)
    counts, classes = (12, 5), 3
    anchors = [np.concatenate([p, p + rng.uniform(8, 20, (n, 2))], 1).astype("float32") for n in counts for p in [rng.uniform(0, 30, (n, 2))]]
    codes = [numbers(2, n, 4, seed=n, low=-0.3, high=0.3) for n in counts]
    scores = [numbers(2, n, classes, seed=n + 1, low=0.0, high=1.0) for n in counts]
    info = np.array([[60, 70, 1.0], [55, 45, 1.5]], np.float32)

    def build(c0, c1, s0, s1, info):
        fixed = [layers.assign(array) for array in anchors]
        return layers.retinanet_detection_output([c0, c1], [s0, s1], fixed, info, 0.4, 15, 6, 0.4)

    ((found, lengths),) = run(build, c0=codes[0], c1=codes[1], s0=scores[0], s1=scores[1], info=info)
    rows, wanted = [], []
    for n in range(2):
        high, wide, scale = info[n]
        limits = np.array([round(wide / scale), round(high / scale)] * 2) - 1
        by_class = {c: [] for c in range(classes)}
        for level in range(2):
            flat = scores[level][n].reshape(-1)
            chosen = [i for i in np.argsort(-flat, kind="stable") if flat[i] > (0.4 if level == 0 else 0.0)][:15]
            for i in chosen:
                box = np.array(decoded(anchors[level][i // classes], codes[level][n, i // classes])) / scale
                by_class[i % classes].append((flat[i], np.clip(box, 0, limits)))
        kept = []
        for c, given in by_class.items():
            kept += [(c, *given[i]) for i in suppressed([box for _, box in given], [s for s, _ in given], 0.4)]
        kept = sorted(kept, key=lambda row: -row[1])[:6]
        wanted.append(len(kept))
        rows += [[c + 1, score, *box] for c, score, box in kept]
    assert lengths == [wanted]
    np.testing.assert_allclose(found, rows, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("use_gaussian", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_scores_that_fall_with_overlap(use_gaussian, normalized):
    rng = np.random.default_rng(2)
    corners = rng.uniform(0, 10, (2, 9, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(2, 8, (2, 9, 2))], 2).astype("float32")
    scores = rng.uniform(0, 1, (2, 3, 9)).astype("float32")
    options = {"use_gaussian": use_gaussian, "normalized": normalized, "return_index": True, "background_label": 1}
    (found, lengths), (index, _) = run(
        lambda boxes, scores: layers.matrix_nms(boxes, scores, 0.2, 0.1, 6, 5, **options), boxes=boxes, scores=scores
    )
    rows, numbers_of, wanted = [], [], []
    for n in range(2):
        kept = []
        for c in (0, 2):
            order = [i for i in np.argsort(-scores[n, c], kind="stable") if scores[n, c, i] > 0.2][:6]
            shared = [[overlap(boxes[n, a], boxes[n, b], 0.0 if normalized else 1.0) for b in order] for a in order]
            most = [max(shared[i][:i], default=0.0) for i in range(len(order))]
            for i, box in enumerate(order):
                falls = [
                    math.exp((most[j] ** 2 - shared[i][j] ** 2) * 2.0) if use_gaussian else (1 - shared[i][j]) / (1 - most[j])
                    for j in range(i)
                ]
                score = min([1.0, *falls]) * scores[n, c, box]
                if score > 0.1:
                    kept.append((c, score, box))
        kept = sorted(kept, key=lambda row: -row[1])[:5]
        wanted.append(len(kept))
        rows += [[c, score, *boxes[n, box]] for c, score, box in kept]
        numbers_of += [n * 9 + box for _, _, box in kept]
    assert lengths == [wanted] and index.ravel().tolist() == numbers_of
    np.testing.assert_allclose(found, rows, rtol=1e-4)


def test_neighbours_are_merged():
    boxes = np.array([[[0, 0, 10, 10], [0, 0, 10, 8], [20, 20, 30, 30], [1, 1, 10, 10]]], np.float32)
    scores = np.array([[[0.25, 0.75, 0.9, 0.5]]], np.float32)
    ((found, lengths),) = run(
        lambda boxes, scores: layers.locality_aware_nms(boxes, scores, 0.1, -1, -1, 0.5), boxes=boxes, scores=scores
    )
    # The first two are one of score 1, which then leaves the last one out.
    np.testing.assert_allclose(found, [[0, 1.0, 0, 0, 10, 8.5], [0, 0.9, 20, 20, 30, 30]], rtol=1e-5)
    assert lengths == [[2]]
    with pytest.raises(NotImplementedError, match="boxes of 8 numbers are polygons"):
        run(lambda b, s: layers.locality_aware_nms(b, s, 0.1, -1, -1), b=np.zeros((1, 2, 8), np.float32), s=scores[:, :, :2])


def measured(found, objects, overlap_threshold, difficult, version):
    """The mean precision of classes, box by box."""
    hits, totals = {}, {}
    for rows, given in zip(found, objects):
        for g in given:
            totals[g[0]] = totals.get(g[0], 0) + (difficult or not g[1])
        used = set()
        for row in sorted(rows, key=lambda row: -row[1]):
            box = np.clip(row[2:], 0, 1)
            near = [(overlap(box, g[2:], 0.0), i) for i, g in enumerate(given) if g[0] == row[0]]
            best, i = max(near, key=lambda pair: pair[0], default=(-1, -1))
            if best > overlap_threshold:
                if difficult or not given[i][1]:
                    hits.setdefault(row[0], []).append((row[1], i not in used))
                    used.add(i)
            else:
                hits.setdefault(row[0], []).append((row[1], False))
    precisions = []
    for c, total in totals.items():
        if not total:
            continue
        flags = [flag for _, flag in sorted(hits.get(c, []), key=lambda pair: -pair[0])]
        sums = np.cumsum(flags)
        precision = [s / (i + 1) for i, s in enumerate(sums)]
        if version == "11point":
            precisions.append(np.mean([max([p for p, s in zip(precision, sums) if s / total >= j / 10], default=0) for j in range(11)]))
        else:
            precisions.append(sum(p for p, flag in zip(precision, flags) if flag) / total)
    return np.mean(precisions) if precisions else 0.0


def batch_of_objects(seed):
    rng = np.random.default_rng(seed)
    found, objects = [], []
    for n_found, n_objects in ((6, 3), (0, 2), (5, 0), (7, 4)):
        corner = rng.uniform(0, 0.6, (n_objects, 2))
        edges = np.concatenate([corner, corner + rng.uniform(0.2, 0.4, (n_objects, 2))], 1)
        kinds, hard = rng.integers(1, 4, n_objects), rng.integers(0, 2, n_objects)
        objects.append(np.column_stack([kinds, hard, edges]).astype("float32"))
        near = edges[rng.integers(0, n_objects, n_found)] if n_objects else rng.uniform(0, 1, (n_found, 4))
        kinds = kinds[rng.integers(0, n_objects, n_found)] if n_objects else rng.integers(1, 4, n_found)
        rows = np.column_stack([kinds, rng.uniform(0, 1, n_found), near + rng.normal(0, 0.05, (n_found, 4))])
        found.append(rows.astype("float32"))
    return found, objects


@pytest.mark.parametrize("version", ["integral", "11point"])
@pytest.mark.parametrize("difficult", [True, False])
def test_mean_precision(version, difficult):
    for seed in range(4):
        found, objects = batch_of_objects(seed)
        ((value, _),) = run(
            lambda found, objects: layers.detection_map(found, objects, 4, 0, 0.3, difficult, ap_version=version),
            found=(np.concatenate(found), [[len(rows) for rows in found]]),
            objects=(np.concatenate(objects), [[len(rows) for rows in objects]]),
        )
        assert value.shape == (1,)
        assert value[0] == pytest.approx(measured(found, objects, 0.3, difficult, version), abs=1e-5)


def test_precision_over_batches(fluid):
    found = layers.data("found", [6], lod_level=1)
    kinds, hard, edges = (layers.data(name, [size], lod_level=1) for name, size in (("kinds", 1), ("hard", 1), ("edges", 4)))
    measure = fluid.metrics.DetectionMAP(found, kinds, edges, hard, 4, overlap_threshold=0.3, evaluate_difficult=False)
    now, all_of_them = measure.get_map_var()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for _ in range(2):
        seen = [], []
        for seed in range(3):
            rows, objects = batch_of_objects(seed)
            lengths = [[len(part) for part in rows]], [[len(part) for part in objects]]
            given = np.concatenate(objects)
            fed = {"found": (np.concatenate(rows), lengths[0]), "kinds": (given[:, :1], lengths[1]), "hard": (given[:, 1:2], lengths[1]), "edges": (given[:, 2:], lengths[1])}
            values = exe.run(feed={name: fluid.create_lod_tensor(*value, fluid.CPUPlace()) for name, value in fed.items()}, fetch_list=[now, all_of_them])
            for kept, part in zip(seen, (rows, objects)):
                kept.extend(part)
            assert values[0][0] == pytest.approx(measured(rows, objects, 0.3, False, "integral"), abs=1e-5)
            assert values[1][0] == pytest.approx(measured(*seen, 0.3, False, "integral"), abs=1e-5)
        measure.reset(exe)


def test_rows_with_a_tag():
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    tags = (np.array([[0], [1], [1], [0], [2], [3]]), [[1, 2, 2, 1]])
    look = np.array([2, 7])
    (found, lengths), (weight, _) = run(
        lambda x, tags, look: layers.filter_by_instag(x, tags, look, True), x=(rows, [[1, 2, 2, 1]]), tags=tags, look=look
    )
    np.testing.assert_array_equal(found, rows[3:5])
    assert lengths == [[2]] and weight.tolist() == [[1.0]]
    (found, _), (weight, _) = run(
        lambda x, tags, look: layers.filter_by_instag(x, tags, look, False), x=rows[:4], tags=tags, look=np.array([0, 3])
    )
    np.testing.assert_array_equal(found, rows[[0, 2, 3]])
    assert weight.tolist() == [[1.0]] * 3
    (found, _), (weight, _) = run(
        lambda x, tags, look: layers.filter_by_instag(x, tags, look, False, 5), x=rows[:4], tags=tags, look=np.array([9])
    )
    assert found.tolist() == [[5.0, 5.0]] and weight.tolist() == [[0.0]]
