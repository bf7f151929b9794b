"""Parts of images in boxes, against loops of NumPy."""

import math

import numpy as np
import pytest
from boxes import run
from layer_checks import numbers

import fluvial as fl
import fluvial.fluid as fluid
import fluvial.fluid.layers as layers
from fluvial.fluid.layers import _region_pools

ROIS = np.array([[0, 0, 5, 5], [2.5, 1, 6.5, 9.5], [-3, -3, 2, 2], [4, 4, 4, 4]], np.float32)
LENGTHS = [[2, 2]]
IMAGES = [0, 0, 1, 1]


def away(x):
    """Rounded, half away from zero."""
    return math.copysign(math.floor(abs(x) + 0.5), x)


def between(x, row, column):
    """The value between four elements, inside of the image."""
    r, c = int(row), int(column)
    r2, c2 = min(r + 1, x.shape[0] - 1), min(c + 1, x.shape[1] - 1)
    dy, dx = row - r, column - c
    return x[r, c] * (1 - dy) * (1 - dx) + x[r, c2] * (1 - dy) * dx + x[r2, c] * dy * (1 - dx) + x[r2, c2] * dy * dx


def raw(name):
    found = getattr(_region_pools, name)
    return getattr(found, "__wrapped__", found)


def check_gradients(name, x, *others, boxes=ROIS, with_boxes=False, **options):
    """Gradients against differences, of images and of what else has some."""
    lengths = fl.tensor(LENGTHS[0][: 2 if len(boxes) == 4 else 1])

    def call(x, *rest):
        rows = rest[0] if with_boxes else fl.tensor(boxes.astype("float64"))
        return raw(name)(x, fl.Ragged.from_lengths(rows, lengths), *rest[with_boxes:], **options)

    given = [x, *([boxes] if with_boxes else []), *others]
    fl.testing.gradcheck(call, [array.astype("float64") for array in given], modes=("imperative",))


def test_parts_with_channels_of_their_own():
    x, scale = numbers(2, 2 * 2 * 3, 6, 7), 0.8
    ((found, _),) = run(lambda x, rois: layers.psroi_pool(x, rois, 2, scale, 2, 3), x=x, rois=(ROIS, LENGTHS))
    wanted = np.zeros((4, 2, 2, 3))
    for n, c, i, j in np.ndindex(wanted.shape):
        left, top = (away(v) * scale for v in ROIS[n, :2])
        right, bottom = ((away(v) + 1) * scale for v in ROIS[n, 2:])
        h, w = max(bottom - top, 0.1) / 2, max(right - left, 0.1) / 3
        rows = range(max(math.floor(i * h + top), 0), min(math.ceil((i + 1) * h + top), 6))
        columns = range(max(math.floor(j * w + left), 0), min(math.ceil((j + 1) * w + left), 7))
        part = [x[IMAGES[n], (c * 2 + i) * 3 + j, a, b] for a in rows for b in columns]
        wanted[n, c, i, j] = np.mean(part) if part else 0
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    check_gradients("psroi_pool", x, output_channels=2, spatial_scale=scale, pooled_height=2, pooled_width=3)
    with pytest.raises(ValueError, match="12 channels for 3 of 2 by 3 parts"):
        run(lambda x, rois: layers.psroi_pool(x, rois, 3, scale, 2, 3), x=x, rois=(ROIS, LENGTHS))


def test_exact_means():
    x, scale, fine = numbers(2, 2, 6, 7), 0.8, 60
    ((found, _),) = run(lambda x, rois: layers.prroi_pool(x, rois, scale, 2, 3), x=x, rois=(ROIS, LENGTHS))
    padded = np.pad(x, [(0, 0), (0, 0), (12, 12), (12, 12)])
    for n, i, j in np.ndindex(3, 2, 3):
        left, top, right, bottom = ROIS[n] * scale + 12
        h, w = (bottom - top) / 2, (right - left) / 3
        steps = (np.arange(fine) + 0.5) / fine
        part = [between(padded[IMAGES[n]].transpose(1, 2, 0), top + (i + a) * h, left + (j + b) * w) for a in steps for b in steps]
        np.testing.assert_allclose(found[n, :, i, j], np.mean(part, axis=0), rtol=2e-3, atol=2e-3)
    assert not found[3].any(), "a box without a size has nothing"
    counts = np.array(LENGTHS[0])
    ((again, _),) = run(
        lambda x, rois, counts: layers.prroi_pool(x, rois, scale, 2, 3, batch_roi_nums=counts), x=x, rois=ROIS, counts=counts
    )
    np.testing.assert_array_equal(again, found)
    boxes = np.array([[0.3, 0.2, 5.1, 4.7], [1.3, 2.4, 4.6, 4.9]], np.float32)
    check_gradients("prroi_pool", x[:1], boxes=boxes, with_boxes=True, spatial_scale=0.9, pooled_height=2, pooled_width=2)


@pytest.mark.parametrize("kind", ["plain", "still", "sensitive"])
def test_parts_that_are_moved(kind):
    sensitive = kind == "sensitive"
    x, scale, samples = numbers(2, 12 if sensitive else 2, 6, 7), 0.73, 2
    trans = numbers(4, 4, 2, 2, seed=3)
    options = {
        "no_trans": kind == "still", "spatial_scale": scale, "pooled_height": 2, "pooled_width": 3, "part_size": [2, 2],
        "sample_per_part": samples, "trans_std": 0.2, "position_sensitive": sensitive,
        "group_size": [2, 3] if sensitive else [1, 1],
    }  # fmt: skip
    ((found, _),) = run(
        lambda x, rois, trans: layers.deformable_roi_pooling(x, rois, trans, **options), x=x, rois=(ROIS, LENGTHS), trans=trans
    )
    wanted = np.zeros((4, 2, 2, 3))
    for n, c, i, j in np.ndindex(wanted.shape):
        left, top = (away(v) * scale - 0.5 for v in ROIS[n, :2])
        right, bottom = ((away(v) + 1) * scale - 0.5 for v in ROIS[n, 2:])
        w, h = max(right - left, 0.1), max(bottom - top, 0.1)
        # Two classes, one for each channel.
        dx, dy = (0, 0) if kind == "still" else trans[n, 2 * c : 2 * c + 2, i, j * 2 // 3] * 0.2
        channel = (c * 2 + i) * 3 + j if sensitive else c
        points = []
        for a, b in np.ndindex(samples, samples):
            row, column = top + i * h / 2 + a * h / 4 + dy * h, left + j * w / 3 + b * w / 6 + dx * w
            if -0.5 <= row <= 5.5 and -0.5 <= column <= 6.5:
                points.append(between(x[IMAGES[n], channel], min(max(row, 0), 5), min(max(column, 0), 6)))
        wanted[n, c, i, j] = np.mean(points) if points else 0
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    boxes = np.array([[1, 1, 4, 4], [2, 1, 5, 4]], np.float32)
    check_gradients("deformable_roi_pooling", x[:1, :2], trans[:2, :2] * 0.3, boxes=boxes, spatial_scale=0.9, pooled_height=2, pooled_width=2)


def test_quadrangles_become_rectangles():
    x = numbers(2, 3, 8, 9)
    square = np.array([[1, 1, 5, 1, 5, 4, 1, 4]], np.float32)
    found, mask, matrix = run(
        lambda x, rois: layers.roi_perspective_transform(x, rois, 4, 5), x=x[:1], rois=(square, [[1]])
    )
    np.testing.assert_allclose(found[0], x[:1, :, 1:5, 1:6], rtol=1e-3, atol=1e-3)
    assert mask[0].shape == (1, 1, 4, 5) and mask[0].dtype == np.int32 and mask[0].all() and matrix[0].shape == (1, 9)
    slanted = np.array([[0.5, 1, 6.5, 2, 6, 6, 1, 7.5], [-4, -4, 3, -4, 3, 3, -4, 3]], np.float32)
    found, mask, matrix = (
        part[0] for part in run(lambda x, rois: layers.roi_perspective_transform(x, rois, 5, 6, 0.9), x=x, rois=(slanted, [[1, 1]]))
    )
    for n, i, j in np.ndindex(2, 5, 6):
        u, v, w = matrix[n].reshape(3, 3) @ [j, i, 1]
        column, row = u / w, v / w
        is_seen = bool(mask[n, 0, i, j])
        if is_seen:
            assert -0.5 < column < 8.5 and -0.5 < row < 7.5
            part = between(x[n].transpose(1, 2, 0), min(max(row, 0), 7), min(max(column, 0), 8))
            np.testing.assert_allclose(found[n, :, i, j], part, rtol=1e-3, atol=1e-4)
        else:
            assert not found[n, :, i, j].any()
    # The corner of the second quadrangle lies outside of the image.
    assert mask[1, 0, 0, 0] == 0 and mask[0, 0, 0, 0] == 1
    corners = [(matrix[0].reshape(3, 3) @ [j, i, 1]) for i, j in ((0, 0), (4, 0))]
    for corner, wanted in zip(corners, (slanted[0, :2], slanted[0, 6:])):
        np.testing.assert_allclose(corner[:2] / corner[2], wanted * 0.9, rtol=1e-3)


def test_no_boxes_at_all():
    x, none = numbers(1, 4, 5, 5), np.zeros((0, 4), np.float32)
    for build in (
        lambda x, rois: layers.psroi_pool(x, rois, 1, 1.0, 2, 2),
        lambda x, rois: layers.prroi_pool(x, rois, 1.0, 2, 2),
        lambda x, rois: layers.roi_align(x, rois, 2, 2),
    ):
        ((found, _),) = run(build, x=x, rois=(none, [[0]]))
        assert found.shape[0] == 0


def test_sequences_line_by_line():
    with fluid.dygraph.guard():
        given = fluid.create_lod_tensor(np.arange(3.0).reshape(3, 1), [[1, 2]], fluid.CPUPlace())
        var = fluid.dygraph.to_variable(given)
        assert var.lod_level == 1 and var.value().get_tensor().recursive_sequence_lengths() == [[1, 2]]
        assert layers.sequence_pool(var, "sum").numpy().ravel().tolist() == [0.0, 3.0]
        with pytest.raises(RuntimeError, match="has sequences of different lengths"):
            var.numpy()
