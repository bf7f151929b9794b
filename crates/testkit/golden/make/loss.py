"""Losses."""

import torch
import torch.nn.functional as F

from golden import Golden, distinct, ints, numbers

g = Golden("loss")
REDUCTIONS = ("mean", "sum", "none")
SHAPES = [(4,), (2, 3), ()]


def case(function, reference, inputs, constants, **attributes):
    """A case in which PyTorch has no gradient of some inputs."""
    held = lambda *x: reference(*(y.detach() if i in constants and y is not None else y for i, y in enumerate(x)))
    g.case(function, held, inputs, **attributes)
    for i in constants:
        g.lines[-1]["gradients"][i] = None


def probabilities(*dims, seed=0):
    return numbers(*dims, seed=seed, low=1 / 16, high=15 / 16)


def signs(*dims, seed=0):
    return torch.where(ints(*dims, low=0, high=2, seed=seed) == 0, -1.0, 1.0)


for i, shape in enumerate(SHAPES):
    x, y = distinct(*shape, seed=1, step=0.375), numbers(*shape, seed=2) + 1 / 64
    g.case("square_error_cost", lambda x, y: (x - y) ** 2, [x, y])
    for reduction in REDUCTIONS:
        r = dict(reduction=reduction)
        g.case("mse_loss", lambda x, y: F.mse_loss(x, y, **r), [x, y], **r)
        g.case("l1_loss", lambda x, y: F.l1_loss(x, y, **r), [x, y], **r)
        for delta in (1.0, 0.5, 2.0):
            g.case("huber_loss", lambda x, y: F.huber_loss(x, y, delta=delta, **r), [x, y], delta=delta, **r)
        for beta in (1.0, 0.25, 0.0):
            g.case("smooth_l1_loss", lambda x, y: F.smooth_l1_loss(x, y, beta=beta, **r), [x, y], beta=beta, **r)
        p, t = probabilities(*shape), numbers(*shape, seed=3, low=0, high=1)
        w = numbers(*shape, seed=4, low=0, high=2)
        g.case("binary_cross_entropy", lambda p, t, w: F.binary_cross_entropy(p, t, w, **r), [p, t, None], **r)
        case("binary_cross_entropy", lambda p, t, w: F.binary_cross_entropy(p, t, w, **r), [p, t, w], [2], **r)
        bce = F.binary_cross_entropy_with_logits
        g.case("binary_cross_entropy_with_logits", lambda x, t, w, pw: bce(x, t, **r), [x, t, None, None], **r)
        case("binary_cross_entropy_with_logits", lambda x, t, w, pw: bce(x, t, w, **r), [x, t, w, None], [2], **r)
        pw = numbers(*shape[-1:], seed=5, low=0.5, high=3)
        with_pos = lambda x, t, w, pw: bce(x, t, w, pos_weight=pw, **r)
        case("binary_cross_entropy_with_logits", with_pos, [x, t, w, pw], [2, 3], **r)
        s = signs(*shape, seed=6)
        case("soft_margin_loss", lambda x, s: F.soft_margin_loss(x, s, **r), [x, s], [1], **r)
        # All examples of that loss with the target -1 have a hinge at the margin.
        hinge_loss = lambda x, s: F.hinge_embedding_loss(x * s, -torch.ones_like(x), **r)
        case("hinge_loss", hinge_loss, [x, s], [1], **r)
        for margin in (1.0, 0.3):
            hinge = lambda x, s: F.hinge_embedding_loss(x, s, margin=margin, **r)
            case("hinge_embedding_loss", hinge, [x, s], [1], margin=margin, **r)
        x2 = numbers(*shape, seed=7) + 1 / 128
        for margin in (0.0, 0.5):
            ranked = lambda a, b, s: F.margin_ranking_loss(a, b, s, margin=margin, **r)
            g.case("margin_ranking_loss", ranked, [x, x2, s], margin=margin, **r)
        for log_input in (True, False):
            for full in (False, True):
                rate = x if log_input else probabilities(*shape, seed=8)
                counts = ints(*shape, low=0, high=6, seed=9).to(torch.float64)
                poisson = lambda x, c: F.poisson_nll_loss(x, c, log_input=log_input, full=full, **r)
                g.case("poisson_nll_loss", poisson, [rate, counts], grad=not full, log_input=log_input, full=full, **r)
        var = probabilities(*shape, seed=10)
        for full in (False, True):
            gaussian = lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=full, **r)
            g.case("gaussian_nll_loss", gaussian, [x, y, var], full=full, **r)

tiny = torch.tensor([1e-9, 0.5, 2.0])
g.case("gaussian_nll_loss", lambda x, y, v: F.gaussian_nll_loss(x, y, v), [numbers(3), numbers(3, seed=1), tiny], full=False, reduction="mean")
per_row = probabilities(2, 1)
g.case("gaussian_nll_loss", lambda x, y, v: F.gaussian_nll_loss(x, y, v), [numbers(2, 3), numbers(2, 3, seed=1), per_row], full=False, reduction="mean")

ends = torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0])
for reduction in REDUCTIONS:
    g.case("binary_cross_entropy", lambda p, t, w: F.binary_cross_entropy(p, t, reduction=reduction), [*ends, None], grad=False, reduction=reduction)
far = torch.tensor([1000.0, -1000.0, 1000.0, -1000.0, 0.0, 40.0, -40.0])
truth = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5])
for reduction in REDUCTIONS:
    g.case("binary_cross_entropy_with_logits", lambda x, t, w, pw: F.binary_cross_entropy_with_logits(x, t, reduction=reduction), [far, truth, None, None], reduction=reduction)
case("soft_margin_loss", lambda x, y: F.soft_margin_loss(x, y), [torch.tensor([1000.0, 0.0, 40.0]), torch.ones(3)], [1], reduction="mean")

# KL divergence.
for shape in [(4,), (2, 3), (2, 2, 2)]:
    x = torch.log_softmax(numbers(*shape), -1)
    for reduction in REDUCTIONS + ("batchmean",):
        for log_target in (False, True):
            y = probabilities(*shape, seed=1)
            y = y.log() if log_target else y
            g.case("kl_div", lambda x, y: F.kl_div(x, y, reduction=reduction, log_target=log_target), [x, y], reduction=reduction, log_target=log_target)
zeros = torch.tensor([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
g.case("kl_div", lambda x, y: F.kl_div(x, y, reduction="sum"), [torch.log_softmax(numbers(2, 3), -1), zeros], grad=False, reduction="sum", log_target=False)

# Labels.
CLASSES = [((5,), ()), ((3, 4), (3,)), ((2, 3, 2), (2, 2)), ((2, 3, 2, 2), (2, 2, 2)), ((1, 2), (1,))]
for x_shape, y_shape in CLASSES:
    classes = x_shape[min(1, len(x_shape) - 1)]
    x = numbers(*x_shape, seed=1)
    y = ints(*y_shape, low=0, high=classes, seed=2)
    ignored = torch.where(ints(*y_shape, low=0, high=3, seed=3) == 0, torch.tensor(-100), y)
    weight = numbers(classes, seed=4, low=0.25, high=2)
    soft = torch.softmax(numbers(*x_shape, seed=5), min(1, len(x_shape) - 1))
    for reduction in REDUCTIONS:
        for w in (None, weight):
            for labels, ignore in ((y, -100), (ignored, -100), (y, 0)):
                a = dict(reduction=reduction, ignore_index=ignore)
                case("nll_loss", lambda x, y, w: F.nll_loss(x, y, w, **a), [x, labels, w], [2], **a)
                for smoothing in (0.0, 0.1):
                    b = dict(a, label_smoothing=smoothing)
                    entropy = lambda x, y, w: F.cross_entropy(x, y, w, **b)
                    case("cross_entropy", entropy, [x, labels, w], [2], **b)
            for smoothing in (0.0, 0.25):
                b = dict(reduction=reduction, label_smoothing=smoothing)
                entropy = lambda x, y, w: F.cross_entropy(x, y, w, **b)
                case("cross_entropy", entropy, [x, soft, w], [2], ignore_index=-100, **b)
far = torch.tensor([[1000.0, -1000.0, 0.0], [-1000.0, 1000.0, 1000.0]])
for reduction in REDUCTIONS:
    a = dict(reduction=reduction, ignore_index=-100, label_smoothing=0.0)
    g.case("cross_entropy", lambda x, y, w: F.cross_entropy(x, y, **a), [far, torch.tensor([1, 2]), None], **a)
    nothing = torch.tensor([-100, -100])
    g.case("cross_entropy", lambda x, y, w: F.cross_entropy(x, y, **a), [numbers(2, 3), nothing, None], **a)
    g.case("nll_loss", lambda x, y, w: F.nll_loss(x, y, reduction=reduction), [numbers(2, 3), nothing, None], reduction=reduction, ignore_index=-100)

for shape, y_shape in [((3, 4), (3,)), ((1, 2), (1,)), ((5,), ())]:
    classes = shape[-1]
    x, y = distinct(*shape, seed=6, step=0.3), ints(*y_shape, low=0, high=classes, seed=7)
    weight = numbers(classes, seed=4, low=0.25, high=2)
    for reduction in REDUCTIONS:
        for p, margin in ((1, 1.0), (2, 0.5)):
            for w in (None, weight):
                a = dict(p=p, margin=margin, reduction=reduction)
                multi = lambda x, y, w: F.multi_margin_loss(x, y, weight=w, **a)
                case("multi_margin_loss", multi, [x, y, w], [2], **a)

# Distances.
for a, b in [((3, 4), (3, 4)), ((4,), (4,)), ((2, 3, 2), (2, 3, 2)), ((1, 3), (2, 3))]:
    for p in (1.0, 2.0, 3.0, float("inf")):
        for keepdims in (False, True):
            dist = lambda x, y: F.pairwise_distance(x, y, p=p, keepdim=keepdims)
            g.case("pairwise_distance", dist, [distinct(*a, seed=1), numbers(*b, seed=2) + 1 / 64], p=str(p), keepdims=keepdims)
for a, b, axis in [((2, 3), (2, 3), 1), ((2, 3), (2, 3), 0), ((4,), (4,), -1), ((2, 1, 3), (2, 3), -1), ((2, 3, 2), (2, 3, 2), 1)]:
    cosine = lambda x, y: F.cosine_similarity(x, y, dim=axis)
    g.case("cosine_similarity", cosine, [numbers(*a), numbers(*b, seed=1)], axis=axis)
g.case("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, dim=-1), [torch.zeros(2, 2), numbers(2, 2)], grad=False, axis=-1)
for reduction in REDUCTIONS:
    for margin in (0.0, 0.3):
        for shape in [(3, 4), (4,)]:
            s = signs(*shape[:-1], seed=3)
            a = dict(margin=margin, reduction=reduction)
            embed = lambda x, y, s: F.cosine_embedding_loss(x, y, s, **a)
            case("cosine_embedding_loss", embed, [numbers(*shape), numbers(*shape, seed=1), s], [2], **a)
    for margin, p, swap in ((1.0, 2.0, False), (0.5, 1.0, False), (2.0, 2.0, True), (1.0, 3.0, True)):
        a = dict(margin=margin, p=p, swap=swap, reduction=reduction)
        triplet = lambda x, y, z: F.triplet_margin_loss(x, y, z, **a)
        for shape in [(3, 4), (2,)]:
            g.case("triplet_margin_loss", triplet, [distinct(*shape, seed=1), numbers(*shape, seed=2), numbers(*shape, seed=3) + 1 / 64], **a)

# Alignments. PyTorch's gradient by the logarithms is right only behind a softmax, so that is in the function.
ALIGNED = [
    (4, 2, 3, [[1, 2], [2, 1]], [4, 4], [2, 2]),
    (4, 2, 3, [[1, 1], [2, 1]], [4, 3], [2, 1]),
    (5, 1, 3, [[1, 1, 2]], [5], [3]),
    (3, 1, 2, [[1]], [3], [1]),
    (3, 1, 2, [[1]], [1], [1]),
    (3, 2, 3, [[1, 2], [2, 2]], [3, 3], [2, 0]),
    (6, 3, 4, [[1, 2, 3], [3, 3, 1], [2, 1, 2]], [6, 5, 4], [3, 3, 2]),
    (2, 1, 3, [[1, 2]], [2], [2]),
]
for time, batch, classes, targets, times, lengths in ALIGNED:
    x = numbers(time, batch, classes, seed=1)
    fixed = [torch.tensor(targets), torch.tensor(times), torch.tensor(lengths)]
    for reduction in REDUCTIONS:
        for blank in (0, classes - 1):
            y = fixed[0] if blank == 0 else fixed[0] - 1
            a = dict(reduction=reduction, blank=blank)
            ctc = lambda x, y, t, n: F.ctc_loss(torch.log_softmax(x, -1), y, t, n, **a)
            g.case("ctc_loss", ctc, [x, y, *fixed[1:]], zero_infinity=False, **a)
impossible = [torch.tensor([[1, 1], [1, 2]]), torch.tensor([2, 3]), torch.tensor([2, 2])]
for reduction in REDUCTIONS:
    a = dict(reduction=reduction, zero_infinity=True)
    ctc = lambda x, y, t, n: F.ctc_loss(torch.log_softmax(x, -1), y, t, n, **a)
    g.case("ctc_loss", ctc, [numbers(3, 2, 3, seed=1), *impossible], blank=0, **a)
    b = dict(a, zero_infinity=False)
    ctc = lambda x, y, t, n: F.ctc_loss(torch.log_softmax(x, -1), y, t, n, **b)
    g.case("ctc_loss", ctc, [numbers(3, 2, 3, seed=1), *impossible], grad=False, blank=0, **b)
far = torch.tensor([[[1000.0, 0.0, -1000.0]], [[0.0, 1000.0, -1000.0]], [[1000.0, -1000.0, 0.0]]])
one = [torch.tensor([[2]]), torch.tensor([3]), torch.tensor([1])]
g.case("ctc_loss", lambda x, y, t, n: F.ctc_loss(torch.log_softmax(x, -1), y, t, n), [far, *one], reduction="mean", blank=0, zero_infinity=False)

g.write()
