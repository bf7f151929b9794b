"""Losses and measures of `fluid.layers`."""

import numpy as np
import pytest
from layer_checks import check, numbers, run

import fluvial as fl
from fluvial.fluid.layers import loss, nn

LOGITS = numbers(4, 3)
LABELS = np.array([[0], [2], [1], [2]])


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def picked(p, labels):
    return -np.log(p[np.arange(len(p)), labels[:, 0]])[:, None]


def test_cross_entropy():
    p = softmax(LOGITS)
    check(loss.cross_entropy, [p, LABELS], picked(p, LABELS))
    check(loss.softmax_with_cross_entropy, [LOGITS, LABELS], picked(p, LABELS))
    check(loss.softmax_with_cross_entropy, [LOGITS, LABELS], [picked(p, LABELS), p], {"return_softmax": True}, gradient=False)
    some = picked(p, LABELS) * (LABELS != 2)
    check(loss.cross_entropy, [p, LABELS], some, {"ignore_index": 2})
    check(loss.softmax_with_cross_entropy, [LOGITS, LABELS], some, {"ignore_index": 2})
    soft = softmax(numbers(4, 3, seed=5))
    wanted = -(soft * np.log(p)).sum(1, keepdims=True)
    check(loss.cross_entropy, [p, soft], wanted, {"soft_label": True})
    check(loss.softmax_with_cross_entropy, [LOGITS, soft], wanted, {"soft_label": True})
    certain = np.array([[0.0, 1.0]], np.float32)
    check(loss.cross_entropy, [certain, certain], [[0.0]], {"soft_label": True}, open_batch=False, gradient=False)


def test_cross_entropy_with_more_axes():
    x = numbers(2, 5, 3)
    labels = np.random.default_rng(1).integers(0, 3, (2, 5, 1))
    p = softmax(x)
    wanted = -np.log(np.take_along_axis(p, labels, 2))
    check(loss.cross_entropy, [p, labels], wanted)
    check(loss.softmax_with_cross_entropy, [x, labels], wanted)
    moved = np.moveaxis(x, 2, 1)
    check(loss.softmax_with_cross_entropy, [moved, np.moveaxis(labels, 2, 1)], np.moveaxis(wanted, 2, 1), {"axis": 1})
    with pytest.raises(ValueError, match="more than one class for each row"):
        loss.cross_entropy(fl.tensor(p), fl.tensor(p).astype("int64"))


def test_losses_of_elements():
    x, y = numbers(4, 3), numbers(4, 3, seed=1)
    z = (y > 0).astype(np.float32)
    each = np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))
    check(loss.sigmoid_cross_entropy_with_logits, [x, z], each)
    z[0] = -1
    each = (np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))) * (z != -1)
    check(loss.sigmoid_cross_entropy_with_logits, [x, z], each / 9, {"ignore_index": -1, "normalize": True}, gradient=False)
    check(loss.square_error_cost, [x, y], (x - y) ** 2)
    check(loss.mse_loss, [x, y], np.array([((x - y) ** 2).mean()]))
    size = np.abs(y - x)
    check(loss.huber_loss, [x, y], np.where(size <= 0.7, 0.5 * size**2, 0.7 * (size - 0.35)), {"delta": 0.7})
    check(loss.rank_loss, [z[:, :1], x[:, :1], y[:, :1]], np.log1p(np.exp(x - y))[:, :1] - (z * (x - y))[:, :1])
    signs = np.sign(numbers(4, 3, seed=6))
    check(loss.margin_rank_loss, [signs, x, y], np.maximum(0, -signs * (x - y) + 0.1), gradient=False)
    p = numbers(4, 1, low=0.1, high=0.9)
    t = np.array([[0.0], [1.0], [1.0], [0.0]], np.float32)
    check(loss.log_loss, [p, t], -t * np.log(p + 1e-4) - (1 - t) * np.log(1 - p + 1e-4))


def test_smooth_l1():
    x, y, w = numbers(4, 3), numbers(4, 3, seed=1), numbers(4, 3, seed=2)

    def formula(d, sigma):
        return np.where(np.abs(d) < 1 / sigma**2, 0.5 * sigma**2 * d * d, np.abs(d) - 0.5 / sigma**2)

    check(loss.smooth_l1, [x, y], formula(x - y, 1.0).sum(1, keepdims=True))
    check(loss.smooth_l1, [x, y, w, w], (w * formula(w * (x - y), 2.0)).sum(1, keepdims=True), {"sigma": 2.0})
    with pytest.raises(ValueError, match="one of two weights"):
        loss.smooth_l1(fl.tensor(x), fl.tensor(y), fl.tensor(w))


def test_kldiv():
    x, t = np.log(softmax(LOGITS)), softmax(numbers(4, 3, seed=3))
    t[0, 0] = 0.0
    each = np.where(t > 0, t * (np.log(np.where(t > 0, t, 1)) - x), 0)
    for reduction, wanted in [
        ("none", each), ("mean", each.mean().reshape(1)), ("sum", each.sum().reshape(1)),
        ("batchmean", (each.sum() / 4).reshape(1)),
    ]:  # fmt: skip
        check(loss.kldiv_loss, [x, t], [np.asarray(wanted)], {"reduction": reduction}, gradient=False)
    check(lambda x: loss.kldiv_loss(x, fl.tensor(t.astype("float64")).astype(x.dtype)), [x], [each.mean().reshape(1)], open_batch=False)


def test_ranks_of_classes():
    other = np.arange(3) != LABELS
    right = np.take_along_axis(LOGITS, LABELS, 1)
    wanted = (np.log1p(np.exp(LOGITS - right)) * other).sum(1, keepdims=True) / 2
    check(loss.bpr_loss, [LOGITS, LABELS], wanted)


def test_dice():
    p = softmax(numbers(2, 4, 3))
    labels = np.random.default_rng(2).integers(0, 3, (2, 4, 1))
    hot = np.eye(3)[labels[..., 0]]
    score = 1 - 2 * (p * hot).sum((1, 2)) / (p.sum((1, 2)) + hot.sum((1, 2)) + 1e-5)
    check(loss.dice_loss, [p, labels], [score.mean().reshape(1)])


def test_npair():
    a, b = numbers(4, 3), numbers(4, 3, seed=1)
    labels = np.array([0.0, 1.0, 0.0, 2.0], np.float32)
    same = (labels[:, None] == labels).astype(float)
    wanted = same / same.sum(1, keepdims=True)
    each = -(wanted * np.log(softmax(a @ b.T))).sum(1, keepdims=True)
    penalty = 0.25 * 0.002 * ((a * a).sum(1).mean() + (b * b).sum(1).mean())
    found = penalty + (wanted * each).sum(0).mean()
    check(loss.npair_loss, [a, b, labels], [np.reshape(found, 1)], open_batch=False, gradient=False)
    check(lambda a, b: loss.npair_loss(a, b, fl.tensor(labels)), [a, b], [np.reshape(found, 1)], open_batch=False)


def test_teacher_and_student():
    x = np.array([[0.5], [-1.0], [2.0], [0.3]], np.float32)
    label = np.array([[-2.0], [-1.0], [0.3], [1.6]], np.float32)
    base = np.log1p(np.exp(x))
    wanted = np.array([base[0], base[1] - x[1], 2 * base[2] - x[2] * 0.3, 2 * base[3] - x[3] - x[3] * 0.6])
    check(loss.teacher_student_sigmoid_loss, [x, label], wanted, gradient=False)
    check(lambda x: loss.teacher_student_sigmoid_loss(x, fl.tensor(label).astype(x.dtype)), [x], wanted, open_batch=False)


def test_centers_move_towards_their_rows():
    x = numbers(3, 2)
    labels = np.array([[1], [1], [0]])
    attr = fl.ParamAttr(name="centers", initializer=fl.initializer.Constant(0.5))
    results = []
    for built in (False, True):
        with fl.State() as state:

            def step(x, labels):
                return loss.center_loss(x, labels, 3, 0.1, attr)

            run_it = fl.build(step, {"x": "f32[n, 2]", "y": "i64[n, 1]"}) if built else step
            each = run_it(fl.tensor(x), fl.tensor(labels)).numpy()
            np.testing.assert_allclose(each, 0.5 * ((x - 0.5) ** 2).sum(1, keepdims=True), rtol=1e-5)
            results.append(state["centers"].numpy())
    wanted = np.full((3, 2), 0.5)
    wanted[1] += 0.1 * (x[:2] - 0.5).sum(0) / 3
    wanted[0] += 0.1 * (x[2] - 0.5) / 2
    np.testing.assert_allclose(results[0], wanted, rtol=1e-5)
    assert results[0].tobytes() == results[1].tobytes()


def test_sampled_softmax():
    x = numbers(2, 6)
    labels = np.array([[3], [0]])
    samples = np.array([[3, 1, 3], [0, 2, 4]])
    chances = numbers(2, 3, low=0.1, high=0.9)
    logits = np.take_along_axis(x, samples, 1).astype(np.float64) - np.log(chances)
    logits[0, 2] -= 1e20
    wanted = -np.log(softmax(logits))[:, :1]

    def given(x, labels, samples, chances):
        return loss.sampled_softmax_with_cross_entropy(
            x, labels, 2, use_customized_samples=True, customized_samples=samples, customized_probabilities=chances
        )

    check(given, [x, labels, samples, chances], wanted, gradient=False)
    drawn = run(loss.sampled_softmax_with_cross_entropy, [x, labels], {"num_samples": 4, "seed": 3})[0]
    assert drawn.shape == (2, 1) and np.isfinite(drawn).all()
    every = run(loss.sampled_softmax_with_cross_entropy, [x, labels], {"num_samples": 6, "remove_accidental_hits": True})[0]
    np.testing.assert_allclose(every, picked(softmax(x), labels), rtol=1e-4)
    with pytest.raises(ValueError, match="draw fewer"):
        loss.sampled_softmax_with_cross_entropy(fl.tensor(x), fl.tensor(labels), 7)


def test_labels_made_smooth():
    hot = np.eye(3, dtype=np.float32)
    check(nn.label_smooth, [hot], hot * 0.9 + 0.1 / 3, gradient=False)
    prior = np.array([[0.5, 0.3, 0.2]], np.float32)
    check(nn.label_smooth, [hot, prior], hot * 0.8 + 0.2 * prior, {"epsilon": 0.2}, gradient=False)


def test_mean_iou():
    found, wanted = np.array([0, 1, 1, 2, 2]), np.array([0, 1, 2, 2, 0])
    check(nn.mean_iou, [found, wanted], [np.array([(1 / 2 + 1 / 2 + 1 / 3) / 3]), np.array([1, 1, 2, 0]), np.array([1, 1, 1, 0])], {"num_classes": 4}, gradient=False)
