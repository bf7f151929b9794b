"""Boxes of `fluid.layers`."""

import math

import numpy as np
import pytest
from layer_checks import check, numbers, run

import fluvial as fl
from fluvial.fluid.layers import _regions, detection

BOXES = np.array([[0.1, 0.1, 0.5, 0.6], [0.2, 0.3, 0.9, 0.8]], np.float32)
OTHERS = np.array([[0.1, 0.1, 0.5, 0.6], [0.6, 0.7, 0.8, 0.9], [0.3, 0.2, 0.7, 0.7]], np.float32)


def overlap(a, b, more):
    across = max(min(a[2], b[2]) - max(a[0], b[0]) + more, 0)
    down = max(min(a[3], b[3]) - max(a[1], b[1]) + more, 0)
    areas = sum((box[2] - box[0] + more) * (box[3] - box[1] + more) for box in (a, b))
    return across * down / (areas - across * down + 1e-10)


@pytest.mark.parametrize("normalized", [True, False])
def test_overlaps(normalized):
    more = 0 if normalized else 1
    wanted = [[overlap(a, b, more) for b in OTHERS] for a in BOXES]
    check(detection.iou_similarity, [BOXES, OTHERS], np.array(wanted), {"box_normalized": normalized}, gradient=False)


@pytest.mark.parametrize("normalized", [True, False])
def test_codes_and_back(normalized):
    scale = numbers(3, 4, low=0.1, high=0.3)
    options = {"box_normalized": normalized}
    code = run(detection.box_coder, [OTHERS, scale, BOXES], options)[0]
    more = 0 if normalized else 1
    w = OTHERS[1, 2] - OTHERS[1, 0] + more
    tw = BOXES[0, 2] - BOXES[0, 0] + more
    wanted = ((BOXES[0, 0] + BOXES[0, 2]) / 2 - (OTHERS[1, 0] + w / 2)) / w / scale[1, 0]
    assert code[0, 1, 0] == pytest.approx(wanted, rel=1e-4)
    assert code[0, 1, 2] == pytest.approx(math.log(tw / w) / scale[1, 2], rel=1e-4)
    back = run(detection.box_coder, [OTHERS, scale, code], {**options, "code_type": "decode_center_size"}, open_batch=False)[0]
    shift = 0.5 * more
    np.testing.assert_allclose(back[:, 0], BOXES + (-shift if more else 0), atol=1e-4)
    plain = run(lambda p, t: detection.box_coder(p, [0.1, 0.1, 0.2, 0.2], t), [OTHERS, BOXES])[0]
    none = run(lambda p, t: detection.box_coder(p, None, t), [OTHERS, BOXES])[0]
    np.testing.assert_allclose(plain * [0.1, 0.1, 0.2, 0.2], none, rtol=1e-4)
    with pytest.raises(ValueError, match='there is no code "corner"'):
        detection.box_coder(fl.tensor(OTHERS), None, fl.tensor(BOXES), code_type="corner")


def test_prior_boxes():
    feature, image = np.zeros((1, 1, 2, 3), np.float32), np.zeros((1, 3, 20, 30), np.float32)
    options = {"min_sizes": [4.0], "max_sizes": [9.0], "aspect_ratios": [1.0, 2.0], "flip": True, "clip": True}
    boxes, scales = run(detection.prior_box, [feature, image], options, open_batch=False)
    assert boxes.shape == scales.shape == (2, 3, 4, 4) and scales[1, 1, 1].tolist() == pytest.approx([0.1, 0.1, 0.2, 0.2])
    x, y = 15 / 30, 5 / 20
    for i, (w, h) in enumerate([(4, 4), (4 * math.sqrt(2), 4 / math.sqrt(2)), (4 / math.sqrt(2), 4 * math.sqrt(2)), (6, 6)]):
        np.testing.assert_allclose(boxes[0, 1, i], [x - w / 60, y - h / 40, x + w / 60, y + h / 40], rtol=1e-5)
    second = run(detection.prior_box, [feature, image], {**options, "min_max_aspect_ratios_order": True}, open_batch=False)[0]
    np.testing.assert_array_equal(second[:, :, [0, 2, 3, 1]], boxes)
    dense, _ = run(detection.density_prior_box, [feature, image], {"densities": [2], "fixed_sizes": [4.0], "fixed_ratios": [1.0]}, open_batch=False)
    np.testing.assert_allclose(dense[0, 1, 1], [(15 - 5 + 2.5 + 5 - 2) / 30, (5 - 5 + 2.5 - 2) / 20, (15 + 2.5 + 2) / 30, (2.5 + 2) / 20], rtol=1e-5)
    assert run(detection.density_prior_box, [feature, image], {"densities": [2], "fixed_sizes": [4.0], "fixed_ratios": [1.0], "flatten_to_2d": True}, open_batch=False)[0].shape == (24, 4)


def test_anchors():
    feature = np.zeros((1, 1, 2, 2), np.float32)
    anchors, _ = run(detection.anchor_generator, [feature], {"anchor_sizes": [64.0], "aspect_ratios": [0.5, 1.0], "stride": [16.0, 16.0]}, open_batch=False)
    assert anchors.shape == (2, 2, 2, 4)
    center = 16 + 0.5 * 15
    base = round(math.sqrt(256 / 0.5))
    w, h = 4 * base, 4 * round(base * 0.5)
    np.testing.assert_allclose(anchors[0, 1, 0], [center - (w - 1) / 2, 7.5 - (h - 1) / 2, center + (w - 1) / 2, 7.5 + (h - 1) / 2])


def test_the_head_of_a_detector():
    maps = [np.zeros((2, 4, n, n), np.float32) for n in (4, 2, 1)]
    image = np.zeros((2, 3, 32, 32), np.float32)

    def head(a, b, c, image):
        return detection.multi_box_head([a, b, c], image, 32, 5, [[2.0], [2.0], [2.0]], min_ratio=20, max_ratio=90)

    places, scores, boxes, scales = run(head, [*maps, image])
    count = (16 + 4 + 1) * 4
    assert places.shape == (2, count, 4) and scores.shape == (2, count, 5)
    assert boxes.shape == scales.shape == (count, 4)


def test_yolo_boxes():
    x = numbers(2, 2 * 7, 3, 3)
    sizes = np.array([[60, 90], [30, 30]], np.int32)
    options = {"anchors": [10, 13, 16, 30], "class_num": 2, "conf_thresh": 0.5, "downsample_ratio": 32}
    boxes, scores = run(detection.yolo_box, [x, sizes], options)
    sigmoid = lambda v: 1 / (1 + math.exp(-v))  # noqa: E731
    for n, a, i, j in np.ndindex(2, 2, 3, 3):
        part, row = x[n, a * 7 : a * 7 + 7, i, j], (a * 3 + i) * 3 + j
        height, width = sizes[n]
        if sigmoid(part[4]) < 0.5:
            assert not boxes[n, row].any() and not scores[n, row].any()
            continue
        cx, cy = (j + sigmoid(part[0])) * width / 3, (i + sigmoid(part[1])) * height / 3
        w = math.exp(part[2]) * options["anchors"][2 * a] * width / 96
        h = math.exp(part[3]) * options["anchors"][2 * a + 1] * height / 96
        wanted = [max(cx - w / 2, 0), max(cy - h / 2, 0), min(cx + w / 2, width - 1), min(cy + h / 2, height - 1)]
        np.testing.assert_allclose(boxes[n, row], wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(scores[n, row], [sigmoid(part[4]) * sigmoid(v) for v in part[5:]], rtol=1e-5)


def test_focal_loss():
    x = numbers(3, 4)
    label, count = np.array([[2], [0], [-1]], np.int32), np.array([2], np.int32)
    p = 1 / (1 + np.exp(-x.astype(np.float64)))
    right = label == np.arange(4) + 1
    wanted = np.where(right, -((1 - p) ** 2) * np.log(p) * 0.25, -(p**2) * np.log(1 - p) * 0.75) / 2
    wanted[2] = 0
    check(detection.sigmoid_focal_loss, [x, label, count], wanted, open_batch=False)


def test_quadrangles():
    x = numbers(2, 4, 3, 5)
    wanted = np.empty_like(x)
    wanted[:, ::2] = np.arange(5) * 4 - x[:, ::2]
    wanted[:, 1::2] = np.arange(3)[:, None] * 4 - x[:, 1::2]
    check(detection.polygon_box_transform, [x], wanted)


def test_boxes_of_the_best_class():
    prior = np.array([[0, 0, 9, 9], [10, 10, 29, 19]], np.float32)
    code, scores = numbers(2, 12), np.array([[0.9, 0.1, 0.5], [0.1, 0.6, 0.2]], np.float32)
    scale = np.array([0.1, 0.1, 0.2, 0.2], np.float32)
    every, best = run(detection.box_decoder_and_assign, [prior, scale, code, scores], {"box_clip": 4.0})
    assert every.shape == (2, 12)
    np.testing.assert_array_equal(best, [every[0, 8:12], every[1, 4:8]])
    w = 10.0
    cx = 0.1 * code[0, 0] * w + 5
    half = math.exp(0.2 * code[0, 2]) * w / 2
    np.testing.assert_allclose(every[0, [0, 2]], [cx - half, cx + half - 1], rtol=1e-4)


def aligned(x, box, rows, columns, ratio):
    """The formula, point by point."""
    height, width = x.shape[1:]
    h, w = max(box[3] - box[1], 1), max(box[2] - box[0], 1)
    out = np.zeros((len(x), rows, columns))
    gh, gw = (ratio, ratio) if ratio > 0 else (math.ceil(h / rows), math.ceil(w / columns))
    for i, j in np.ndindex(rows, columns):
        for a, b in np.ndindex(gh, gw):
            y, v = box[1] + i * h / rows + (a + 0.5) * h / rows / gh, box[0] + j * w / columns + (b + 0.5) * w / columns / gw
            if y < -1 or y > height or v < -1 or v > width:
                continue
            y, v = min(max(y, 0), height - 1), min(max(v, 0), width - 1)
            r, c = int(y), int(v)
            r2, c2 = min(r + 1, height - 1), min(c + 1, width - 1)
            dy, dx = y - r, v - c
            out[:, i, j] += x[:, r, c] * (1 - dy) * (1 - dx) + x[:, r, c2] * (1 - dy) * dx + x[:, r2, c] * dy * (1 - dx) + x[:, r2, c2] * dy * dx
    return out / (gh * gw)


@pytest.mark.parametrize("ratio", [2, -1])
def test_parts_of_images(ratio):
    x = numbers(2, 3, 6, 7)
    boxes = np.array([[0, 0, 5, 5], [2.5, 1, 6.5, 9.5], [-3, -3, 2, 2]], np.float32)
    begins = np.array([0, 2, 3])
    wanted = np.stack([aligned(x[n], box * 0.8, 2, 3, ratio) for n, box in zip([0, 0, 1], boxes)])

    def part(x, boxes, begins):
        return _regions.roi_align(x, boxes, 2, 3, 0.8, ratio, rois_lod=begins)

    check(part, [x, boxes, begins], wanted, rtol=1e-4, atol=1e-5, gradient=False)
    fl.testing.gradcheck(lambda x: part(x, fl.tensor(boxes.astype("float64")), fl.tensor(begins)), [x.astype("float64")], modes=("imperative",))
    with pytest.raises(ValueError, match="which image a box belongs to"):
        _regions.roi_align(fl.tensor(x), fl.tensor(boxes))
