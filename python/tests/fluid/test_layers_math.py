"""Arithmetic, activations and shapes of `fluid.layers`."""

import math

import numpy as np
import pytest
from layer_checks import check, numbers, raw, run

import fluvial as fl
from fluvial.fluid.layers import nn, ops, tensor

nn, ops, tensor = raw(nn), raw(ops), raw(tensor)
X = numbers(4, 3)
Y = numbers(4, 3, seed=1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


UNARY = [
    (ops.abs, np.abs), (ops.atan, np.arctan), (ops.cos, np.cos), (ops.cosh, np.cosh),
    (ops.exp, np.exp), (ops.sigmoid, sigmoid), (ops.sin, np.sin), (ops.sinh, np.sinh),
    (ops.softplus, lambda x: np.log1p(np.exp(x))), (ops.softsign, lambda x: x / (1 + np.abs(x))),
    (ops.square, np.square), (ops.tanh, np.tanh), (ops.tanh_shrink, lambda x: x - np.tanh(x)),
    (ops.logsigmoid, lambda x: np.log(sigmoid(x))), (ops.reciprocal, lambda x: 1 / x),
    (ops.softshrink, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    (ops.hard_shrink, lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    (ops.thresholded_relu, lambda x: np.where(x > 1, x, 0)),
    (ops.erf, np.vectorize(math.erf)), (ops.gelu, lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))),
    (nn.relu, lambda x: np.maximum(x, 0)), (nn.relu6, lambda x: np.clip(x, 0, 6)),
    (nn.leaky_relu, lambda x: np.where(x > 0, x, 0.02 * x)), (nn.elu, lambda x: np.where(x > 0, x, np.expm1(x))),
    (nn.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    (nn.brelu, lambda x: np.clip(x, 0, 24)), (nn.soft_relu, lambda x: np.log1p(np.exp(np.clip(x, -40, 40)))),
    (nn.stanh, lambda x: 1.7159 * np.tanh(0.67 * x)), (nn.hard_sigmoid, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    (nn.swish, lambda x: x * sigmoid(x)), (nn.hard_swish, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    (nn.mish, lambda x: x * np.tanh(np.log1p(np.exp(x)))), (nn.sign, np.sign),
]  # fmt: skip


@pytest.mark.parametrize("function, formula", UNARY, ids=lambda f: getattr(f, "__name__", ""))
def test_functions_of_one_value(function, formula):
    check(function, [X], formula(X))


POSITIVE = numbers(4, 3, low=0.1, high=0.9)


@pytest.mark.parametrize(
    "function, formula",
    [
        (ops.sqrt, np.sqrt), (ops.rsqrt, lambda x: 1 / np.sqrt(x)), (nn.log, np.log),
        (ops.acos, np.arccos), (ops.asin, np.arcsin), (nn.log1p, np.log1p),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)  # fmt: skip
def test_functions_of_positive_values(function, formula):
    check(function, [POSITIVE], formula(POSITIVE))


def test_constants_of_activations():
    check(nn.leaky_relu, [X], np.where(X > 0, X, 0.3 * X), {"alpha": 0.3})
    check(nn.hard_sigmoid, [X], np.clip(0.1 * X + 0.2, 0, 1), {"slope": 0.1, "offset": 0.2})
    check(nn.selu, [X], 2.0 * np.where(X > 0, X, 0.5 * np.expm1(X)), {"scale": 2.0, "alpha": 0.5})
    check(nn.swish, [X], X * sigmoid(2 * X), {"beta": 2.0})
    check(nn.relu6, [X], np.clip(X, 0, 1.5), {"threshold": 1.5})
    check(nn.hard_swish, [X], X * np.clip(X + 1, 0, 2) / 4, {"threshold": 2.0, "scale": 4.0, "offset": 1.0})
    check(nn.pow, [POSITIVE], POSITIVE**2.5, {"factor": 2.5})
    check(ops.hard_shrink, [X], np.where(np.abs(X) > 1, X, 0), {"threshold": 1.0})
    assert nn.mish(fl.tensor([30.0])).item() == 30.0
    halves = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997], np.float32)
    check(ops.round, [halves], [1, 2, 3, -1, -3, 0], gradient=False)


def test_activations_by_name():
    for act, formula in [
        ("leaky_relu", lambda x: np.where(x > 0, x, 0.02 * x)),
        ("hard_sigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
        ("swish", lambda x: x * sigmoid(x)),
        ("softmax", lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
        ({"type": "leaky_relu", "alpha": 0.5}, lambda x: np.where(x > 0, x, 0.5 * x)),
        (None, lambda x: x),
    ]:
        check(nn.elementwise_add, [X, Y], formula(X + Y), {"act": act})
    with pytest.raises(ValueError, match="no activation is named 'relux'"):
        nn.elementwise_add(fl.tensor(X), fl.tensor(Y), act="relux")


def test_elementwise():
    for function, formula in [
        (nn.elementwise_add, np.add), (nn.elementwise_sub, np.subtract), (nn.elementwise_mul, np.multiply),
        (nn.elementwise_div, np.divide), (nn.elementwise_max, np.maximum), (nn.elementwise_min, np.minimum),
    ]:  # fmt: skip
        check(function, [X, Y], formula(X, Y))
        check(function, [X, Y[0]], formula(X, Y[0]))
    check(nn.elementwise_pow, [POSITIVE, Y], POSITIVE**Y)
    whole = np.array([[7, -7, 9]]), np.array([[2, 2, 4]])
    check(nn.elementwise_mod, whole, [[1, 1, 1]], gradient=False)
    check(nn.elementwise_floordiv, whole, [[3, -4, 2]], gradient=False)
    check(nn.elementwise_div, whole, [[3, -3, 2]], gradient=False)


@pytest.mark.parametrize("axis, shape", [(0, (2,)), (1, (3,)), (1, (3, 4)), (0, (2, 3)), (2, (4, 5)), (1, (3, 1, 1, 1))])
def test_axes_of_the_second_operand(axis, shape):
    x, y = numbers(2, 3, 4, 5), numbers(*shape, seed=2)
    inner = y.reshape(y.shape[:1]) if y.ndim == 4 else y
    beside = inner.reshape(inner.shape + (1,) * (4 - axis - inner.ndim))
    check(nn.elementwise_add, [x, y], x + beside, {"axis": axis}, open_batch=False, gradient=False)


def test_an_axis_that_does_not_fit():
    with pytest.raises(ValueError, match="test_layers_math.py:.*the 2 axes of `y` do not fit"):
        nn.elementwise_add(fl.tensor(X), fl.tensor(Y), axis=1)


def test_reductions_have_one_axis_at_least():
    for function, formula in [
        (nn.reduce_sum, np.sum), (nn.reduce_mean, np.mean), (nn.reduce_max, np.max),
        (nn.reduce_min, np.min), (nn.reduce_prod, np.prod),
    ]:  # fmt: skip
        check(function, [X], [formula(X).reshape(1)])
        check(function, [X], [formula(X, 1)], {"dim": 1})
        check(function, [X], [formula(X).reshape(1)], {"dim": [0, 1]}, gradient=False)
        check(function, [X], [formula(X, -1, keepdims=True)], {"dim": -1, "keep_dim": True}, gradient=False)
    bools = X > 0
    check(nn.reduce_any, [bools], [bools.any(1)], {"dim": 1}, gradient=False)
    check(nn.reduce_all, [bools], [bools.all().reshape(1)], gradient=False)
    check(nn.mean, [X], [X.mean().reshape(1)])
    check(nn.logsumexp, [X], [np.log(np.exp(X).sum(1))], {"dim": 1})


def test_products():
    a, b = numbers(2, 3, 4), numbers(12, 5, seed=1)
    check(nn.mul, [a, b], a.reshape(2, 12) @ b)
    check(nn.mul, [numbers(4, 2, 3), numbers(2, 3, 5, seed=1)], numbers(4, 2, 3).reshape(4, 6) @ numbers(2, 3, 5, seed=1).reshape(6, 5), {"y_num_col_dims": 2})
    check(nn.matmul, [X, Y], X @ Y.T * 0.5, {"transpose_y": True, "alpha": 0.5}, open_batch=False)
    check(nn.matmul, [X, Y], X.T @ Y, {"transpose_x": True}, open_batch=False)
    check(nn.matmul, [X[0], Y[0]], [(X[0] @ Y[0]).reshape(1)], open_batch=False)
    check(nn.matmul, [X[0], Y[0]], np.outer(X[0], Y[0]), {"transpose_x": True, "transpose_y": True}, open_batch=False)
    check(nn.bmm, [a, numbers(2, 4, 5, seed=3)], a @ numbers(2, 4, 5, seed=3), open_batch=False)
    check(nn.dot, [X, Y], (X * Y).sum(1, keepdims=True), open_batch=False)
    check(nn.addmm, [np.ones((4, 4), np.float32), X, Y.T.copy()], 2 + 3 * (X @ Y.T), {"alpha": 3.0, "beta": 2.0}, open_batch=False)
    check(nn.addcmul, [X, Y, Y], X + 2 * Y * Y, {"value": 2.0})
    check(nn.dist, [X, Y], [np.sqrt(((X - Y) ** 2).sum()).reshape(1)])
    check(nn.cross, [X, Y], np.cross(X, Y), {"dim": 1})
    check(nn.cos_sim, [X, Y], ((X * Y).sum(1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1))[:, None], open_batch=False)
    check(nn.fsp_matrix, [numbers(2, 3, 2, 2), numbers(2, 4, 2, 2, seed=1)], np.einsum("bchw,bdhw->bcd", numbers(2, 3, 2, 2), numbers(2, 4, 2, 2, seed=1)) / 4)
    with pytest.raises(ValueError, match="give three each"):
        nn.bmm(fl.tensor(X), fl.tensor(Y))


def test_sums_and_scale():
    check(lambda x, y: nn.sum([x, y]), [X, Y], X + Y)
    check(lambda x, y: tensor.sums([x, y, x]), [X, Y], 2 * X + Y)
    check(nn.scale, [X], X * 3 + 1, {"scale": 3.0, "bias": 1.0})
    check(nn.scale, [X], (X + 1) * 3, {"scale": 3.0, "bias": 1.0, "bias_after_scale": False})
    check(nn.scale, [np.array([1, 2])], [2, 4], {"scale": 2.0}, gradient=False)
    check(nn.clip, [X], np.clip(X, -1, 0.5), {"min": -1.0, "max": 0.5})
    check(nn.clamp, [X], np.maximum(X, 0.5), {"min": 0.5})
    check(nn.clip_by_norm, [X], X / np.linalg.norm(X), {"max_norm": 1.0})
    check(nn.l2_normalize, [X], X / np.linalg.norm(X, axis=1, keepdims=True), {"axis": 1})
    check(nn.log_softmax, [X], X - np.log(np.exp(X).sum(1, keepdims=True)))
    check(nn.softmax, [X], np.exp(X) / np.exp(X).sum(0), {"axis": 0})
    check(ops.cumsum, [X], np.cumsum(X, 1))
    check(ops.cumsum, [X], np.cumsum(X, 0) - X, {"axis": 0, "exclusive": True})
    check(ops.cumsum, [X], np.cumsum(X[:, ::-1], 1)[:, ::-1], {"axis": 1, "reverse": True})
    with pytest.raises(ValueError, match="nothing to add"):
        nn.sum([])


def test_logic():
    a, b = X > 0, Y > 0
    check(nn.logical_and, [a, b], a & b, gradient=False)
    check(nn.logical_or, [a, b], a | b, gradient=False)
    check(nn.logical_xor, [a, b], a ^ b, gradient=False)
    check(nn.logical_not, [a], ~a, gradient=False)
    check(nn.elementwise_equal, [a, b], a == b, gradient=False)
    check(nn.allclose, [X, X + 1e-7], [np.array([True])], gradient=False)
    check(nn.allclose, [X, Y], [np.array([False])], gradient=False)
    out = fl.tensor(np.zeros((4, 3), bool))
    assert nn.logical_and(fl.tensor(a), fl.tensor(b), out=out) is out
    assert np.array_equal(out.numpy(), a & b)
    odd = np.array([1.0, np.nan, np.inf], np.float32)
    check(tensor.has_nan, [odd], [np.array([True])], gradient=False)
    check(tensor.has_inf, [odd[:2]], [np.array([False])], gradient=False)
    check(tensor.isfinite, [odd[:1]], [np.array([True])], open_batch=False, gradient=False)


def test_places():
    check(tensor.argmax, [X], X.argmax(0), gradient=False)
    check(tensor.argmin, [X], X.argmin(1), {"axis": 1}, gradient=False)
    check(tensor.argsort, [X], [np.sort(X, 1), np.argsort(X, 1)], gradient=False)
    check(tensor.argsort, [X], [-np.sort(-X, 0), np.argsort(-X, 0)], {"axis": 0, "descending": True}, gradient=False)
    check(nn.topk, [X], [-np.sort(-X, 1)[:, :2], np.argsort(-X, 1)[:, :2]], {"k": 2}, gradient=False)
    check(nn.where, [X > 0], np.argwhere(X > 0), gradient=False)
    check(nn.nonzero, [X > 0], np.argwhere(X > 0), gradient=False)
    pair = nn.nonzero(fl.tensor(X > 0), as_tuple=True)
    assert [part.shape[1] for part in pair] == [1, 1]
    ids = np.array([[1], [0], [2]])
    check(nn.one_hot, [ids], np.eye(4)[[1, 0, 2]], {"depth": 4}, gradient=False)
    check(nn.one_hot, [np.array([[1], [7]])], [[0, 1, 0], [0, 0, 0]], {"depth": 3, "allow_out_of_range": True}, gradient=False)
    check(nn.unique, [np.array([2, 3, 3, 1, 5, 3])], [[2, 3, 1, 5], [0, 1, 1, 2, 3, 1]], gradient=False)
    check(nn.unique_with_counts, [np.array([2, 3, 3, 1, 5, 3])], [[2, 3, 1, 5], [0, 1, 1, 2, 3, 1], [1, 3, 1, 1]], gradient=False)
    check(nn.shard_index, [np.array([[1], [6], [12], [19]])], [[1], [6], [-1], [-1]], {"index_num": 20, "nshards": 2, "shard_id": 0}, gradient=False)


def test_the_same_objects_in_both_fronts():
    for name in fl.layers.__all__:
        for module in (nn, ops, tensor):
            if name in module.__all__:
                assert getattr(fl.layers, name) is getattr(module, name)


def test_random_numbers_of_a_seed():
    def draw():
        return ops.uniform_random([3], seed=7), nn.gaussian_random([3], seed=7), nn.dropout(fl.ones((8,)), 0.5, seed=3)

    first, second = (run(lambda: draw(), []) for _ in range(2))
    for a, b in zip(first, second):
        assert a.tobytes() == b.tobytes()
    program = fl.build(draw, {})
    assert all(np.array_equal(a.numpy(), b) for a, b in zip(program(), first))
    assert all(np.array_equal(a.numpy(), b) for a, b in zip(program(), first))
    fl.seed(1)
    assert not np.array_equal(ops.uniform_random([3]).numpy(), ops.uniform_random([3]).numpy())


def test_random_numbers():
    like = fl.tensor(X)
    assert nn.uniform_random_batch_size_like(like, [-1, 5]).shape == (4, 5)
    assert nn.gaussian_random_batch_size_like(like, [7, -1], input_dim_idx=1, output_dim_idx=1).shape == (7, 3)
    assert tensor.fill_constant_batch_size_like(like, [-1, 2], "int64", 3).tolist() == [[3, 3]] * 4
    values = ops.uniform_random([1000], min=2.0, max=3.0).numpy()
    assert 2 <= values.min() and values.max() < 3
    assert sorted(nn.randperm(5).tolist()) == list(range(5))
    assert set(nn.randint(2, 4, [50]).tolist()) == {2, 3} and nn.randint(3).shape == (1,)
    certain = np.eye(3, dtype=np.float32)[[2, 0, 1]]
    check(nn.sampling_id, [certain], [2, 0, 1], gradient=False)
    picture = np.arange(2 * 3 * 6 * 6, dtype=np.float32).reshape(2, 3, 6, 6)
    part = run(nn.random_crop, [picture], {"shape": [3, 4, 4]})[0]
    assert part.shape == (2, 3, 4, 4)
    for crop, whole in zip(part, picture):
        row, column = divmod(int(crop[0, 0, 0] - whole[0, 0, 0]), 6)
        assert np.array_equal(crop, whole[:, row : row + 4, column : column + 4])


def test_dropout_makes_smaller_in_use_or_larger_in_training():
    x = np.ones((100, 10), np.float32)
    for way, kept in [("downgrade_in_infer", 1.0), ("upscale_in_train", 2.0)]:
        y = run(nn.dropout, [x], {"dropout_prob": 0.5, "dropout_implementation": way})[0]
        assert set(np.unique(y)) == {0.0, kept}
    check(nn.dropout, [x], x * 0.75, {"dropout_prob": 0.25, "is_test": True}, gradient=False)
    check(nn.dropout, [x], x, {"dropout_prob": 0.25, "is_test": True, "dropout_implementation": "upscale_in_train"}, gradient=False)
    with pytest.raises(ValueError, match='there is no dropout "both"'):
        nn.dropout(fl.tensor(x), 0.5, dropout_implementation="both")


def test_an_axis_in_the_place_of_a_flag():
    with pytest.raises(TypeError, match="`use_cudnn` is 1, and neither True nor False"):
        nn.softmax(fl.tensor(X), 1)
    with pytest.raises(TypeError, match="`overwrite` is 0"):
        nn.gather(fl.tensor(X), fl.tensor([0]), 0)
