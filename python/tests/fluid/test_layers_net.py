"""Layers with parameters, and images, of `fluid.layers`."""

import numpy as np
import pytest
from layer_checks import check, numbers, run

import fluvial as fl
from fluvial.fluid.layers import nn

IMAGE = numbers(2, 3, 5, 5)


@pytest.fixture(autouse=True)
def own_state():
    """Each test has a state scope of its own."""
    with fl.State() as state:
        fl.seed(3)
        yield state


def given(*values):
    """An initial value."""
    return fl.initializer.NumpyArrayInitializer(*values)


W = numbers(12, 5, seed=7)
B = numbers(5, seed=8)


def test_fc():
    x = numbers(4, 3, 4)
    options = {"size": 5, "param_attr": given(W), "bias_attr": given(B)}
    check(nn.fc, [x], x.reshape(4, 12) @ W + B, options)
    deep = numbers(2, 2, 3, 4)
    check(nn.fc, [deep], np.maximum(deep.reshape(2, 2, 12) @ W + B, 0), {**options, "num_flatten_dims": 2, "act": "relu"})
    check(nn.fc, [x.reshape(4, 12)], x.reshape(4, 12) @ W, {**options, "bias_attr": False, "num_flatten_dims": -1})
    two = numbers(12, 5, seed=9)
    check(
        lambda a, b: nn.fc([a, b], 5, param_attr=[given(W), given(two)], bias_attr=False),
        [x.reshape(4, 12), x.reshape(4, 12)], x.reshape(4, 12) @ (W + two),
    )  # fmt: skip


def test_names_are_fluids(own_state):
    x = fl.tensor(numbers(2, 4))
    with fl.layers.step():
        nn.fc([x, x], 3, param_attr=fl.ParamAttr(learning_rate=0.5))
        nn.fc(x, 3, param_attr=fl.ParamAttr(name="mine"), name="named")
        nn.batch_norm(x)
        nn.embedding(fl.tensor([[1]]), [3, 2])
    names = set(own_state.names()) - {"rng"}
    assert names == {
        "fc_0.w_0", "fc_0.w_1", "fc_0.b_0", "mine", "named.b_0", "batch_norm_0.w_0", "batch_norm_0.b_0",
        "batch_norm_0.w_1", "batch_norm_0.w_2", "embedding_0.w_0",
    }  # fmt: skip


def test_fc_refuses_what_does_not_fit():
    x = fl.tensor(numbers(2, 4))
    with pytest.raises(ValueError, match="test_layers_net.py:.*2 of 2 axes cannot stay"):
        nn.fc(x, 3, num_flatten_dims=2)
    with pytest.raises(ValueError, match="2 attributes for 1 inputs"):
        nn.fc(x, 3, param_attr=[None, None])
    with pytest.raises(ValueError, match="the number of inputs is n, which only the run knows"):
        fl.build(lambda x: nn.fc(x, 3), {"x": "f32[4, n]"})


def test_numbers_whose_scale_follows_from_the_inputs():
    attr = fl.ParamAttr(name="w", initializer=fl.initializer.MSRA())
    nn.fc(fl.tensor(numbers(2, 400)), 4, param_attr=attr)
    assert fl.read_state("w").numpy().std() == pytest.approx(np.sqrt(2 / 400), rel=0.1)


def test_embedding():
    table = numbers(6, 2, seed=1)
    ids = np.array([[1], [5], [0]])
    check(nn.embedding, [ids], table[ids[:, 0]], {"size": [6, 2], "param_attr": given(table)}, gradient=False)
    wanted = table[ids[:, 0]].copy()
    wanted[1] = 0
    check(nn.embedding, [ids], wanted, {"size": [6, 2], "param_attr": given(table), "padding_idx": -1}, gradient=False)
    more = np.array([[[1], [2]], [[3], [4]]])
    assert run(nn.embedding, [more], {"size": [6, 2]})[0].shape == (2, 2, 2)


def convolved(x, w, stride, before, after, dilation=(1, 1)):
    x = np.pad(x, ((0, 0), (0, 0), (before[0], after[0]), (before[1], after[1]))).astype(np.float64)
    kh, kw = (w.shape[2] - 1) * dilation[0] + 1, (w.shape[3] - 1) * dilation[1] + 1
    h, v = (x.shape[2] - kh) // stride[0] + 1, (x.shape[3] - kw) // stride[1] + 1
    y = np.zeros((len(x), len(w), h, v))
    for i in range(h):
        for j in range(v):
            r, c = i * stride[0], j * stride[1]
            window = x[:, :, r : r + kh : dilation[0], c : c + kw : dilation[1]]
            y[:, :, i, j] = np.einsum("bchw,fchw->bf", window, w)
    return y


@pytest.mark.parametrize(
    "padding, before, after",
    [
        (1, (1, 1), (1, 1)), ([1, 2], (1, 2), (1, 2)), ([1, 0, 2, 1], (1, 2), (0, 1)), ("VALID", (0, 0), (0, 0)),
        ([[0, 0], [0, 0], [1, 0], [2, 1]], (1, 2), (0, 1)),
    ],
)  # fmt: skip
def test_conv2d(padding, before, after):
    w, b = numbers(4, 3, 2, 3, seed=1), numbers(4, seed=2)
    options = {"num_filters": 4, "filter_size": [2, 3], "stride": [2, 1], "padding": padding, "param_attr": given(w), "bias_attr": given(b)}
    wanted = convolved(IMAGE, w, (2, 1), before, after) + b[:, None, None]
    check(nn.conv2d, [IMAGE], wanted, options, rtol=1e-4, atol=1e-5, gradient=padding == 1)


def test_conv2d_same_and_last_channels():
    w = numbers(4, 3, 3, 3, seed=1)
    options = {"num_filters": 4, "filter_size": 3, "stride": 2, "padding": "SAME", "param_attr": given(w), "bias_attr": False}
    wanted = convolved(IMAGE, w, (2, 2), (1, 1), (1, 1))
    check(nn.conv2d, [IMAGE], wanted, options, rtol=1e-4, atol=1e-5, gradient=False)
    last = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
    check(nn.conv2d, [last], wanted.transpose(0, 2, 3, 1), {**options, "data_format": "NHWC"}, rtol=1e-4, atol=1e-5, gradient=False)
    with pytest.raises(ValueError, match='`data_format` is "CHW"'):
        nn.conv2d(fl.tensor(IMAGE), 4, 3, data_format="CHW")


def test_conv2d_in_groups():
    x, w = numbers(2, 4, 4, 4), numbers(6, 2, 3, 3, seed=1)
    wanted = np.concatenate([convolved(x[:, :2], w[:3], (1, 1), (0, 0), (0, 0)), convolved(x[:, 2:], w[3:], (1, 1), (0, 0), (0, 0))], 1)
    check(nn.conv2d, [x], wanted, {"num_filters": 6, "filter_size": 3, "groups": 2, "param_attr": given(w), "bias_attr": False}, rtol=1e-4, atol=1e-5, gradient=False)
    with pytest.raises(ValueError, match="not 3 equal groups"):
        nn.conv2d(fl.tensor(x), 6, 3, groups=3)


def test_transposed_convolutions_give_sizes_back():
    for options, size in [
        ({"filter_size": 3, "stride": 2}, 11), ({"filter_size": 3, "stride": 2, "padding": 1}, 9),
        ({"output_size": 12, "filter_size": 3, "stride": 2}, 12), ({"output_size": [12, 12], "stride": 2}, 12),
        ({"filter_size": 3, "stride": 2, "padding": [1, 0, 1, 0]}, 10),
    ]:  # fmt: skip
        assert run(nn.conv2d_transpose, [IMAGE], {"num_filters": 2, **options}, open_batch=True)[0].shape == (2, 2, size, size)
    with pytest.raises(ValueError, match="use a size from 11 to 12"):
        nn.conv2d_transpose(fl.tensor(IMAGE), 2, output_size=13, filter_size=3, stride=2)
    with pytest.raises(ValueError, match="an output of size 2 is too small"):
        nn.conv2d_transpose(fl.tensor(IMAGE), 2, 2, stride=2)
    w = numbers(3, 2, 3, 3, seed=1)
    y = run(nn.conv2d_transpose, [IMAGE], {"num_filters": 2, "filter_size": 3, "stride": 2, "param_attr": given(w), "bias_attr": False})[0]
    # It is the way back of a convolution: <conv(u), x> = <u, conv_transpose(x)>.
    u = numbers(2, 2, 11, 11, seed=4)
    left = (convolved(u, w, (2, 2), (0, 0), (0, 0)) * IMAGE).sum()
    assert left == pytest.approx((u * y).sum(), rel=1e-4)
    assert run(nn.conv3d, [numbers(1, 2, 4, 4, 4)], {"num_filters": 3, "filter_size": 3, "padding": 1})[0].shape == (1, 3, 4, 4, 4)
    assert run(nn.conv3d_transpose, [numbers(1, 2, 3, 3, 3)], {"num_filters": 3, "filter_size": 2, "stride": 2})[0].shape == (1, 3, 6, 6, 6)


def windows(x, k, s, p):
    padded = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)), constant_values=np.nan)
    n = (padded.shape[2] - k) // s + 1
    return np.stack([np.stack([padded[:, :, i * s : i * s + k, j * s : j * s + k].reshape(*x.shape[:2], -1) for j in range(n)], 2) for i in range(n)], 2)


def test_pools():
    every = windows(IMAGE, 3, 2, 1)
    base = {"pool_size": 3, "pool_stride": 2, "pool_padding": 1}
    check(nn.pool2d, [IMAGE], np.nanmax(every, -1), base)
    check(nn.pool2d, [IMAGE], np.nanmean(every, -1), {**base, "pool_type": "avg"})
    check(nn.pool2d, [IMAGE], np.nansum(every, -1) / 9, {**base, "pool_type": "avg", "exclusive": False})
    check(nn.pool2d, [IMAGE], IMAGE.max((2, 3), keepdims=True), {"global_pooling": True})
    check(nn.pool2d, [IMAGE], IMAGE.mean((2, 3), keepdims=True), {"global_pooling": True, "pool_type": "avg"})
    sided = np.pad(IMAGE, ((0, 0), (0, 0), (1, 0), (0, 1)), constant_values=np.nan)
    uneven = windows(sided, 2, 2, 0)
    options = {"pool_size": 2, "pool_stride": 2, "pool_padding": [1, 0, 0, 1]}
    check(nn.pool2d, [IMAGE], np.nanmax(uneven, -1), options)
    check(nn.pool2d, [IMAGE], np.nanmean(uneven, -1), {**options, "pool_type": "avg"})
    last = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
    check(nn.pool2d, [last], np.nanmax(every, -1).transpose(0, 2, 3, 1), {**base, "data_format": "NHWC"}, gradient=False)
    assert run(nn.pool2d, [IMAGE], {"pool_size": 2, "pool_stride": 2, "ceil_mode": True})[0].shape == (2, 3, 3, 3)
    cube = numbers(1, 2, 4, 4, 4)
    check(nn.pool3d, [cube], cube.reshape(1, 2, 2, 2, 2, 2, 2, 2).max((3, 5, 7)), {"pool_size": 2, "pool_stride": 2}, gradient=False)
    with pytest.raises(ValueError, match="give `pool_size`"):
        nn.pool2d(fl.tensor(IMAGE))
    with pytest.raises(ValueError, match="no pool is named 'sum'"):
        nn.pool2d(fl.tensor(IMAGE), 2, "sum")


def test_adaptive_pools():
    def cells(x, size, reduce):
        n = x.shape[2]
        ends = [(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
        return np.stack([np.stack([reduce(x[:, :, a:b, c:d].reshape(2, 3, -1), -1) for c, d in ends], -1) for a, b in ends], 2)

    check(nn.adaptive_pool2d, [IMAGE], cells(IMAGE, 3, np.max), {"pool_size": 3})
    check(nn.adaptive_pool2d, [IMAGE], cells(IMAGE, 3, np.mean), {"pool_size": [3, 3], "pool_type": "avg"})
    found, places = run(nn.adaptive_pool2d, [IMAGE], {"pool_size": 3, "require_index": True})
    np.testing.assert_array_equal(found, cells(IMAGE, 3, np.max))
    np.testing.assert_array_equal(np.take_along_axis(IMAGE.reshape(2, 3, 25), places.reshape(2, 3, 9), 2).reshape(found.shape), found)
    assert run(nn.adaptive_pool3d, [numbers(1, 2, 4, 4, 4)], {"pool_size": 2, "pool_type": "avg"})[0].shape == (1, 2, 2, 2, 2)


def test_batch_norm_and_its_running_statistics():
    x = numbers(6, 3)
    w, b = numbers(3, seed=1), numbers(3, seed=2)
    mean, variance = x.mean(0), x.var(0)
    options = {"param_attr": given(w), "bias_attr": given(b)}
    check(nn.batch_norm, [x], (x - mean) / np.sqrt(variance + 1e-5) * w + b, options, rtol=1e-4, atol=1e-5)
    for built in (False, True):
        with fl.State() as state:

            def step(x):
                return nn.batch_norm(x, momentum=0.8, moving_mean_name="m", moving_variance_name="v")

            (fl.build(step, {"x": "f32[n, 3]"}) if built else step)(fl.tensor(x))
            np.testing.assert_allclose(state["m"].numpy(), 0.2 * mean, rtol=1e-5)
            np.testing.assert_allclose(state["v"].numpy(), 0.8 + 0.2 * variance, rtol=1e-5)
    check(nn.batch_norm, [x], x / np.sqrt(1 + 1e-5), {"is_test": True}, gradient=False)
    check(nn.batch_norm, [x], x / np.sqrt(1 + 1e-5), {"use_global_stats": True}, gradient=False)
    image = IMAGE.transpose(0, 2, 3, 1)
    wanted = (image - image.mean((0, 1, 2))) / np.sqrt(image.var((0, 1, 2)) + 1e-5)
    check(nn.batch_norm, [np.ascontiguousarray(image)], wanted, {"data_layout": "NHWC"}, rtol=1e-4, atol=1e-5, gradient=False)
    check(nn.inplace_abn, [x], np.where((z := (x - mean) / np.sqrt(variance + 1e-5)) > 0, z, 0.1 * z), {"act": "leaky_relu", "act_alpha": 0.1}, rtol=1e-4, atol=1e-5, gradient=False)


def test_a_program_for_use_takes_running_statistics():
    def step(x):
        return nn.batch_norm(nn.dropout(x, 0.5))

    program = fl.build(step, {"x": "f32[n, 3]"}).for_inference()
    x = numbers(4, 3)
    np.testing.assert_allclose(program(x).numpy(), x * 0.5 / np.sqrt(1 + 1e-5), rtol=1e-5)


def test_other_norms():
    x = numbers(2, 4, 3)
    w, b = numbers(12, seed=1), numbers(12, seed=2)
    flat = x.reshape(2, 12)
    wanted = (flat - flat.mean(1, keepdims=True)) / np.sqrt(flat.var(1, keepdims=True) + 1e-5) * w + b
    check(nn.layer_norm, [x], wanted.reshape(x.shape), {"param_attr": given(w), "bias_attr": given(b)}, rtol=1e-4, atol=1e-5)
    last = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    check(nn.layer_norm, [x], last, {"begin_norm_axis": 2, "scale": False, "shift": False}, rtol=1e-4, atol=1e-5, gradient=False)
    parts = x.reshape(2, 2, 6)
    grouped = ((parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-5)).reshape(x.shape)
    check(nn.group_norm, [x], grouped, {"groups": 2}, rtol=1e-4, atol=1e-5)
    each = (IMAGE - IMAGE.mean((2, 3), keepdims=True)) / np.sqrt(IMAGE.var((2, 3), keepdims=True) + 1e-5)
    check(nn.instance_norm, [IMAGE], each, rtol=1e-4, atol=1e-5, gradient=False)
    squares = np.pad(IMAGE**2, ((0, 0), (1, 2), (0, 0), (0, 0)))
    total = sum(squares[:, i : i + 3] for i in range(4))
    check(nn.lrn, [IMAGE], IMAGE / (2 + 0.1 * total) ** 0.75, {"n": 4, "k": 2.0, "alpha": 0.1}, rtol=1e-4)
    weight = numbers(3, 4)
    found = run(nn.spectral_norm, [weight], {"power_iters": 50}, open_batch=False)[0]
    np.testing.assert_allclose(found, weight / np.linalg.norm(weight, 2), rtol=1e-4)


def test_data_norm_counts_its_rows(own_state):
    x = numbers(4, 3)
    y = nn.data_norm(fl.tensor(x), name="d", param_attr={"batch_size": 10.0, "batch_sum": 5.0, "batch_square": 40.0})
    np.testing.assert_allclose(y.numpy(), (x - 0.5) * 0.5, rtol=1e-5)
    np.testing.assert_allclose(own_state["d.batch_size"].numpy(), [14.0] * 3, rtol=1e-5)
    np.testing.assert_allclose(own_state["d.batch_sum"].numpy(), 5 + x.sum(0), rtol=1e-5)


def test_prelu():
    x = numbers(2, 3, 4)
    for mode, shape in [("all", (1,)), ("channel", (1, 3, 1)), ("element", (1, 3, 4))]:
        w = numbers(*shape, seed=1)
        check(nn.prelu, [x], np.where(x > 0, x, x * w), {"mode": mode, "param_attr": given(w)})
    check(nn.prelu, [x], np.where(x > 0, x, 0.25 * x), {"mode": "all"}, gradient=False)
    with pytest.raises(ValueError, match='there is no mode "row"'):
        nn.prelu(fl.tensor(x), "row")


def test_products_with_weights():
    x, y, w = numbers(4, 3), numbers(4, 2, seed=1), numbers(5, 3, 2, seed=2)
    check(nn.bilinear_tensor_product, [x, y], np.einsum("bm,smn,bn->bs", x, w, y), {"size": 5, "param_attr": given(w)}, gradient=False)
    steps, w = numbers(2, 4, 3), numbers(3, 3, seed=3)
    padded = np.pad(steps, ((0, 0), (0, 2), (0, 0)))
    wanted = sum(padded[:, i : i + 4] * w[i] for i in range(3))
    check(nn.row_conv, [steps], wanted, {"future_context_size": 2, "param_attr": given(w)})


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_cells():
    x, h, w, b = numbers(2, 9), numbers(2, 3, seed=1), numbers(3, 9, seed=2), numbers(1, 9, seed=3)
    flat = w.reshape(-1)
    gates, own = flat[:18].reshape(3, 6), flat[18:].reshape(3, 3)
    g = x + b
    both = sigmoid(g[:, :6] + h @ gates)
    u, r = both[:, :3], both[:, 3:]
    c = np.tanh(g[:, 6:] + (r * h) @ own)
    options = {"size": 9, "param_attr": given(w), "bias_attr": given(b)}
    check(nn.gru_unit, [x, h], [u * c + (1 - u) * h, r * h, np.concatenate([u, r, c], 1)], options)
    check(nn.gru_unit, [x, h], [(1 - u) * c + u * h, r * h, np.concatenate([u, r, c], 1)], {**options, "origin_mode": True}, gradient=False)
    inputs, cell, w = numbers(2, 4), numbers(2, 3, seed=5), numbers(7, 12, seed=6)
    i, f, o, g = np.split(np.concatenate([inputs, h], 1) @ w, 4, 1)
    new = sigmoid(f + 0.5) * cell + sigmoid(i) * np.tanh(g)
    check(nn.lstm_unit, [inputs, h, cell], [sigmoid(o) * np.tanh(new), new], {"forget_bias": 0.5, "param_attr": given(w)})


def test_lstm():
    x, h = numbers(5, 2, 3), np.zeros((4, 2, 4), np.float32)
    options = {"max_len": 5, "hidden_size": 4, "num_layers": 2, "is_bidirec": True}
    out, last_h, last_c = run(nn.lstm, [x, h, h], options, open_batch=False)
    assert out.shape == (5, 2, 8) and last_h.shape == last_c.shape == (4, 2, 4)
    np.testing.assert_allclose(out[-1, :, :4], last_h[2], rtol=1e-6)
    np.testing.assert_allclose(out[0, :, 4:], last_h[3], rtol=1e-6)


def test_deformable_convolution_with_whole_offsets():
    x, w = numbers(2, 2, 5, 5), numbers(3, 2, 3, 3, seed=1)
    offset, mask = np.zeros((2, 18, 5, 5), np.float32), np.full((2, 9, 5, 5), 0.5, np.float32)
    options = {"num_filters": 3, "filter_size": 3, "padding": 1, "param_attr": given(w), "bias_attr": False}
    wanted = convolved(x, w, (1, 1), (1, 1), (1, 1))
    check(nn.deformable_conv, [x, offset, mask], wanted * 0.5, options, rtol=1e-3, atol=1e-4, gradient=False)
    offset[:, 1::2] = 1.0
    moved = np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 1)))[..., 1:]
    inner = convolved(moved, w, (1, 1), (1, 1), (1, 1))[..., 1:-1]
    found = run(nn.deformable_conv, [x, offset, mask], options)[0]
    np.testing.assert_allclose(found[..., 1:-1], inner * 0.5, rtol=1e-3, atol=1e-4)


def test_a_given_initial_value_inside_of_a_build():
    def step(x):
        return nn.fc(x, 5, param_attr=given(W), bias_attr=False)

    x = numbers(2, 12)
    np.testing.assert_allclose(fl.build(step, {"x": "f32[n, 12]"})(x).numpy(), x @ W, rtol=1e-5)
