"""What boxes of detectors should become, against loops of NumPy; and a detector that trains with them."""

import numpy as np
import pytest
from boxes import run
from layer_checks import numbers

import fluvial.fluid.layers as layers


def shared(a, b):
    across = max(min(a[2], b[2]) - max(a[0], b[0]) + 1, 0)
    down = max(min(a[3], b[3]) - max(a[1], b[1]) + 1, 0)
    areas = sum((box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (a, b))
    return across * down / (areas - across * down) if across * down else 0.0


def code(box, target):
    size, size2 = box[2:] - box[:2] + 1, target[2:] - target[:2] + 1
    return [*((target[:2] + size2 / 2 - box[:2] - size / 2) / size), *np.log(size2 / size)]


def some_boxes(n, seed, far=40, low=4, high=24):
    rng = np.random.default_rng(seed)
    corner = rng.uniform(-5, far, (n, 2))
    return np.concatenate([corner, corner + rng.uniform(low, high, (n, 2))], 1).astype("float32")


OBJECTS = np.array([[2, 2, 12, 14], [20, 6, 34, 30], [5, 20, 15, 28], [10, 10, 30, 30], [1, 1, 4, 4]], np.float32)
CROWD = np.array([[0], [1], [0], [0], [0]], np.int32)
LENGTHS = [[3, 0, 2]]
INFO = np.array([[48, 50, 1.5], [40, 40, 1.0], [44, 46, 1.2]], np.float32)


def assigned(anchors, n, positive, negative, straddle, size, share):
    """Anchors that stand for objects, their weights and objects, and those of background, in order."""
    begin = sum(LENGTHS[0][:n])
    rows = [i for i in range(begin, begin + LENGTHS[0][n]) if not CROWD[i, 0]]
    objects = OBJECTS[rows] * INFO[n, 2]
    high, wide, _ = INFO[n]
    inside = [
        i for i, a in enumerate(anchors)
        if straddle < 0 or (a[:2] >= -straddle).all() and a[2] < wide + straddle and a[3] < high + straddle
    ]  # fmt: skip
    table = {i: [shared(anchors[i], o) for o in objects] for i in inside}
    most = {i: max(table[i], default=-1) for i in inside}
    best = [max(table[i][j] for i in inside) for j in range(len(objects))]
    front = [i for i in inside if most[i] >= positive or any(abs(table[i][j] - best[j]) < 1e-5 for j in range(len(objects)))]
    back = [i for i in inside if most[i] < negative]
    if size:
        front = front[: int(size * share)]
        back = back[: size - len(front)]
    fakes = front[:1] * len(set(front) & set(back))
    real = [i for i in front if i not in back]
    nearest = {i: int(np.argmax(table[i])) for i in front}
    weights = [0.0] * len(fakes) + [1.0] * len(real)
    targets = [code(anchors[i], objects[nearest[i]]) for i in fakes + real]
    return fakes + real, weights, targets, real, back, {i: rows[nearest[i]] for i in real}


@pytest.mark.parametrize("straddle", [0.0, -1.0])
def test_first_stage(straddle):
    anchors = some_boxes(60, 1)
    places, scores = numbers(3, 60, 4), numbers(3, 60, 1, seed=2)

    def build(places, scores, objects, crowd, info, anchors):
        return layers.rpn_target_assign(
            places, scores, anchors, anchors, objects, crowd, info, 12, straddle, 0.5, 0.6, 0.3, use_random=False
        )

    def of_known(places, scores, objects, crowd, info):
        fixed = layers.assign(anchors)
        return build(places, scores, objects, crowd, info, fixed)

    found = run(of_known, places=places, scores=scores, objects=(OBJECTS, LENGTHS), crowd=(CROWD, LENGTHS), info=INFO)
    chosen_scores, chosen_places, labels, targets, weights = (part[0] for part in found)
    wanted = [[], [], [], [], []]
    for n in range(3):
        loc, weight, target, real, back, _ = assigned(anchors, n, 0.6, 0.3, straddle, 12, 0.5)
        for kept, part in zip(wanted, (scores[n, real + back], places[n, loc], [1] * len(real) + [0] * len(back), target, weight)):
            kept.extend(part)
    np.testing.assert_array_equal(chosen_scores, wanted[0])
    np.testing.assert_array_equal(chosen_places, wanted[1])
    assert labels.dtype == np.int32 and labels.ravel().tolist() == wanted[2] and 1 in wanted[2] and 0 in wanted[2]
    np.testing.assert_allclose(targets, wanted[3], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(weights, np.repeat(np.array(wanted[4])[:, None], 4, 1))


def test_an_anchor_that_is_both():
    # Nothing overlaps much, so that the nearest anchor of the object is background, too.
    anchors = np.array([[0, 0, 9, 9], [30, 30, 39, 39], [20, 20, 29, 29]], np.float32)
    objects = (np.array([[7, 7, 30, 30]], np.float32), [[1]])
    found = run(
        lambda places, scores, objects, crowd, info: layers.rpn_target_assign(
            places, scores, layers.assign(anchors), None, objects, crowd, info, 4, 0.0, 0.5, 0.9, 0.5, False
        ),
        places=numbers(1, 3, 4), scores=numbers(1, 3, 1), objects=objects, crowd=(np.zeros((1, 1), np.int32), [[1]]),
        info=np.array([[50, 50, 1]], np.float32),
    )  # fmt: skip
    labels, weights = found[2][0], found[4][0]
    assert labels.ravel().tolist() == [0, 0, 0] and weights.tolist() == [[0.0] * 4]


def test_a_pyramid():
    anchors = some_boxes(40, 5)
    places, scores = numbers(3, 40, 4), numbers(3, 40, 3, seed=2)
    kinds = np.array([[1], [2], [3], [2], [1]], np.int32)
    found = run(
        lambda places, scores, objects, kinds, crowd, info: layers.retinanet_target_assign(
            places, scores, layers.assign(anchors), None, objects, kinds, crowd, info, 3, 0.5, 0.4
        ),
        places=places, scores=scores, objects=(OBJECTS, LENGTHS), kinds=(kinds, LENGTHS), crowd=(CROWD, LENGTHS), info=INFO,
    )  # fmt: skip
    chosen_scores, chosen_places, labels, targets, weights, counts = (part[0] for part in found)
    wanted = [[], [], [], [], [], []]
    for n in range(3):
        loc, weight, target, real, back, objects = assigned(anchors, n, 0.5, 0.4, -1, 0, 0)
        label = [kinds[objects[i], 0] for i in real] + [0] * len(back)
        for kept, part in zip(wanted, (scores[n, real + back], places[n, loc], label, target, weight, [len(loc) + 1])):
            kept.extend(part)
    np.testing.assert_array_equal(chosen_scores, wanted[0])
    np.testing.assert_array_equal(chosen_places, wanted[1])
    assert labels.ravel().tolist() == wanted[2] and max(wanted[2]) > 1
    np.testing.assert_allclose(targets, wanted[3], rtol=1e-4, atol=1e-5)
    assert weights[:, 0].tolist() == wanted[4] and counts.ravel().tolist() == wanted[5]


@pytest.mark.parametrize("cascade", [False, True])
@pytest.mark.parametrize("agnostic", [False, True])
def test_second_stage(cascade, agnostic):
    classes, size, share = (2 if agnostic else 4), 10, 0.4
    kinds = np.array([[1], [2], [3], [2], [1]], np.int32)
    proposed = [np.concatenate([OBJECTS[a:b], some_boxes(9, n, 50, 6, 30)]) for n, (a, b) in enumerate(((0, 3), (3, 3), (3, 5)))]
    proposed[1] = proposed[1][:0]
    lengths = [[len(part) for part in proposed]]
    options = {"class_nums": classes, "use_random": False, "is_cls_agnostic": agnostic, "is_cascade_rcnn": cascade}
    found = run(
        lambda boxes, kinds, crowd, objects, info: layers.generate_proposal_labels(
            boxes, kinds, crowd, objects, info, size, share, 0.5, 0.5, 0.0, **options
        ),
        boxes=(np.concatenate(proposed), lengths), kinds=(kinds, LENGTHS), crowd=(CROWD, LENGTHS), objects=(OBJECTS, LENGTHS),
        info=INFO,
    )  # fmt: skip
    wanted, counts = [[], [], [], []], []
    for n in range(3):
        begin = sum(LENGTHS[0][:n])
        own = OBJECTS[begin : begin + LENGTHS[0][n]]
        crowd = CROWD[begin : begin + LENGTHS[0][n], 0]
        scale = INFO[n, 2]
        if not len(proposed[n]):
            counts.append(0)
            continue
        if cascade:
            boxes = np.concatenate([proposed[n][: len(own)], proposed[n][len(own) :] / scale])
        else:
            boxes = np.concatenate([own, proposed[n] / scale])
        front, back = [], []
        for i, box in enumerate(boxes):
            table = [shared(box, o) for o in own]
            most = -1.0 if i < len(own) and crowd[i] else max(table)
            if most >= 0.5:
                front.append((i, int(np.argmax(table))))
            elif 0.0 <= most < 0.5:
                back.append((i, None))
        if not cascade:
            front = front[: int(size * share)]
            back = back[: size - len(front)]
        counts.append(len(front) + len(back))
        for i, j in front + back:
            label = 0 if j is None else kinds[begin + j, 0]
            target, weight = np.zeros((classes, 4)), np.zeros((classes, 4))
            if label:
                column = 1 if agnostic else label
                target[column] = np.array(code(boxes[i], own[j])) / [0.1, 0.1, 0.2, 0.2]
                weight[column] = 1
            for kept, part in zip(wanted, (boxes[i] * scale, label, target.ravel(), weight.ravel())):
                kept.append(part)
    assert all(part[1] == [counts] for part in found) and counts[0] > 0
    rows, labels, targets, inside, outside = (part[0] for part in found)
    np.testing.assert_allclose(rows, wanted[0], rtol=1e-4, atol=1e-4)
    assert labels.dtype == np.int32 and labels.ravel().tolist() == wanted[1] and max(wanted[1]) > 1
    np.testing.assert_allclose(targets, wanted[2], rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(inside, wanted[3])
    np.testing.assert_array_equal(outside, wanted[3])


def test_boxes_are_drawn(fluid):
    boxes = np.concatenate([OBJECTS[:3], some_boxes(60, 3, 50, 6, 30)])
    names = {"boxes": (boxes, [[63]]), "kinds": (np.array([[1], [2], [3]], np.int32), [[3]]), "crowd": (CROWD[:3] * 0, [[3]]), "objects": (OBJECTS[:3], [[3]])}
    given = {name: layers.data(name, [array.shape[1]], dtype=array.dtype.name, lod_level=1) for name, (array, _) in names.items()}
    info = layers.data("info", [3])
    rows = layers.generate_proposal_labels(given["boxes"], given["kinds"], given["crowd"], given["objects"], info, 16, 0.5, 0.3, 0.3, class_nums=4)
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {name: fluid.create_lod_tensor(array, lengths, fluid.CPUPlace()) for name, (array, lengths) in names.items()}
    feed["info"] = np.array([[100, 100, 1]], np.float32)
    drawn = set()
    for _ in range(6):
        found = exe.run(feed=feed, fetch_list=[rows[0], rows[1]], return_numpy=False)
        kept, labels = np.array(found[0]), np.array(found[1])
        assert len(kept) == 16 and len({tuple(row) for row in kept}) >= 14 and 0 < (labels > 0).sum() <= 8
        drawn.add(kept.tobytes())
    assert len(drawn) > 1


def inside(x, y, polygon):
    """Whether a point lies in a polygon."""
    crossings = 0
    for (x0, y0), (x1, y1) in zip(polygon, np.roll(polygon, -1, 0)):
        if (y0 > y) != (y1 > y) and x < (x1 - x0) * (y - y0) / (y1 - y0) + x0:
            crossings += 1
    return crossings % 2


def test_masks():
    # Two objects in the first image, one of two polygons; one that is a crowd and one in the last image.
    polygons = [
        [[2, 2], [12, 3], [11, 14], [3, 12]], [[20, 6], [34, 8], [30, 30]], [[21, 25], [26, 30], [20, 31]],
        [[0, 0], [40, 0], [40, 40]], [[10, 10], [30, 12], [28, 30], [9, 28]],
    ]  # fmt: skip
    corners = np.concatenate(polygons).astype("float32")
    levels = [[3, 0, 1], [1, 2, 1, 1], [len(p) for p in polygons]]
    kinds = (np.array([[1], [2], [1], [2]], np.int32), [[3, 0, 1]])
    crowd = (np.array([[0], [0], [1], [0]], np.int32), [[3, 0, 1]])
    rois = np.array([[3, 3, 18, 21], [30, 9, 51, 45], [0, 0, 3, 3], [5, 5, 9, 9], [9, 9, 31, 31], [0, 0, 8, 8]], np.float32)
    scale = np.array([[60, 60, 1.5], [50, 50, 1.0], [50, 50, 1.0]], np.float32)
    labels = (np.array([[1], [2], [0], [0], [2], [0]], np.int32), [[3, 1, 2]])
    found = run(
        lambda info, kinds, crowd, segms, rois, labels: layers.generate_mask_labels(info, kinds, crowd, segms, rois, labels, 3, 14),
        info=scale, kinds=kinds, crowd=crowd, segms=(corners, levels), rois=(rois, [[3, 1, 2]]), labels=labels,
    )  # fmt: skip
    assert all(part[1] == [[2, 1, 1]] for part in found)
    boxes, numbers_of, masks = (part[0] for part in found)
    np.testing.assert_array_equal(boxes, rois[[0, 1, 3, 4]])
    assert numbers_of.ravel().tolist() == [0, 1, 0, 0] and masks.dtype == np.int32
    masks = masks.reshape(4, 3, 14, 14)
    assert (masks[2] == -1).all(), "an image without objects has a mask that does not count"
    for n, kind, factor, of_object in ((0, 1, 1.5, [0]), (1, 2, 1.5, [1, 2]), (3, 2, 1.0, [4])):
        box = boxes[n] / factor
        step = (box[2:] - box[:2]) / 14
        wanted = np.array([[any(inside(box[0] + (j + 0.5) * step[0], box[1] + (i + 0.5) * step[1], np.array(polygons[p], float)) for p in of_object) for j in range(14)] for i in range(14)])
        assert (masks[n, [c for c in range(3) if c != kind]] == -1).all()
        # Edges are drawn on a grid, so that elements at them may differ.
        assert (masks[n, kind] != wanted).mean() < 0.06 and 0.2 < wanted.mean() < 0.95


def test_a_detector_of_two_stages_trains(fluid):
    """Anchors, proposals, targets and regions in one program, with gradients through all of it."""
    image = layers.data("image", [3, 32, 32])
    objects, kinds, crowd = layers.data("objects", [4], lod_level=1), layers.data("kinds", [1], dtype="int32", lod_level=1), layers.data("crowd", [1], dtype="int32", lod_level=1)
    info = layers.data("info", [3])
    features = layers.conv2d(layers.conv2d(image, 8, 3, 2, 1, act="relu"), 8, 3, 2, 1, act="relu")
    anchors, variances = layers.anchor_generator(features, [8.0, 16.0], [1.0], [1.0, 1.0, 1.0, 1.0], [4.0, 4.0])
    score, delta = layers.conv2d(features, 2, 1), layers.conv2d(features, 8, 1)
    flat_score = layers.reshape(layers.transpose(score, [0, 2, 3, 1]), [0, -1, 1])
    flat_delta = layers.reshape(layers.transpose(delta, [0, 2, 3, 1]), [0, -1, 4])
    predicted, places, label, target, weight = layers.rpn_target_assign(
        flat_delta, flat_score, layers.reshape(anchors, [-1, 4]), layers.reshape(variances, [-1, 4]), objects, crowd, info, 32, use_random=False
    )
    first = layers.reduce_mean(layers.sigmoid_cross_entropy_with_logits(predicted, layers.cast(label, "float32")))
    second = layers.reduce_mean(layers.smooth_l1(places, target, weight, weight))
    rois, _ = layers.generate_proposals(layers.sigmoid(score), delta, info, anchors, variances, 64, 16, 0.7, 2.0)
    boxes, classes, targets, inner, outer = layers.generate_proposal_labels(rois, kinds, crowd, objects, info, 16, class_nums=3, use_random=False)
    parts = layers.roi_align(features, boxes, 3, 3, 0.25, 2)
    hidden = layers.fc(parts, 16, act="relu")
    third = layers.reduce_mean(layers.softmax_with_cross_entropy(layers.fc(hidden, 3), layers.cast(classes, "int64")))
    fourth = layers.reduce_mean(layers.smooth_l1(layers.fc(hidden, 12), targets, inner, outer))
    loss = first + second + third + fourth
    fluid.optimizer.Adam(0.01).minimize(loss)
    fluid.default_startup_program().random_seed = 3
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    rng = np.random.default_rng(0)
    images = rng.normal(0, 0.1, (2, 3, 32, 32)).astype("float32")
    images[0, :, 4:16, 4:16] += 1
    images[1, 0, 12:28, 8:24] += 1
    lod = lambda array: fluid.create_lod_tensor(array, [[1, 1]], fluid.CPUPlace())  # noqa: E731
    feed = {
        "image": images, "objects": lod(np.array([[4, 4, 15, 15], [8, 12, 23, 27]], "float32")), "kinds": lod(np.array([[1], [2]], "int32")),
        "crowd": lod(np.zeros((2, 1), "int32")), "info": np.array([[32, 32, 1.0]] * 2, "float32"),
    }  # fmt: skip
    losses = [exe.run(feed=feed, fetch_list=[loss])[0][0] for _ in range(25)]
    assert np.isfinite(losses).all() and losses[-1] < 0.6 * losses[0]
