"""`contrib.mixed_precision.decorate`: products and convolutions in float16, and the factor of the loss."""

import numpy as np
import pytest

import fluvial.fluid.layers as layers


def network(fluid):
    x = layers.data("x", shape=[1, 8, 8])
    y = layers.data("y", shape=[1], dtype="int64")
    hidden = fluid.nets.simple_img_conv_pool(x, 4, 3, 2, 2, act="relu")
    scores = layers.fc(layers.batch_norm(hidden), 3)
    return layers.mean(layers.softmax_with_cross_entropy(scores, y))


def batch():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, (16, 1))
    return {"x": (rng.normal(size=(16, 1, 8, 8)) + labels[:, :, None, None]).astype("float32"), "y": labels}


def losses(fluid, decorated, n=12, **said):
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3
    with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard(), fluid.program_guard(main, startup):
        loss = network(fluid)
        optimizer = fluid.optimizer.Momentum(0.1, 0.9)
        if decorated:
            optimizer = fluid.contrib.mixed_precision.decorate(optimizer, **said)
        optimizer.minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        fetch = [loss] + ([optimizer.get_loss_scaling(), optimizer.get_scaled_loss()] if decorated else [])
        return [[x.item() for x in exe.run(main, feed=batch(), fetch_list=fetch)] for _ in range(n)], str(main)


def test_training(fluid):
    full, listing = losses(fluid, False)
    narrow, rewritten = losses(fluid, True, init_loss_scaling=128.0)
    assert "f16" not in listing and rewritten.count("cast{dtype=f16}") >= 4
    np.testing.assert_allclose([x[0] for x in narrow], [x[0] for x in full], rtol=0.02, atol=0.01)
    assert [x[0] for x in narrow] != [x[0] for x in full]
    assert narrow[-1][0] < narrow[0][0] * 0.5
    assert narrow[0][1] == 128.0 and narrow[0][2] == pytest.approx(128.0 * narrow[0][0], rel=1e-6)


def test_the_factor_grows_and_falls(fluid):
    found, _ = losses(fluid, True, 5, init_loss_scaling=4.0, incr_every_n_steps=2, incr_ratio=2.0)
    assert [x[1] for x in found] == [4.0, 8.0, 8.0, 16.0, 16.0]
    # Gradients of float16 overflow: parameters stay, and the factor falls after two such steps.
    found, _ = losses(fluid, True, 5, init_loss_scaling=2.0**40, decr_every_n_nan_or_inf=2, decr_ratio=0.5)
    assert [x[1] / 2.0**40 for x in found] == [1.0, 0.5, 0.5, 0.25, 0.25]
    assert len({x[0] for x in found}) == 1
    found, _ = losses(fluid, True, 3, init_loss_scaling=8.0, use_dynamic_loss_scaling=False)
    assert [x[1] for x in found] == [8.0] * 3


def test_lists(fluid):
    amp = fluid.contrib.mixed_precision
    lists = amp.AutoMixedPrecisionLists(custom_black_list={"matmul", "mul", "softmax"})
    _, listing = losses(fluid, True, 0, amp_lists=lists)
    lines = [line for line in listing.splitlines() if "= matmul" in line]
    assert lines and all("f32" in line for line in lines)
    for said, match in (
        ({"custom_white_list": {"softmax"}}, "computes in float32"),
        ({"custom_black_list": {"mul"}}, "are one op here"),
        ({"custom_white_list": {"conv3d"}, "custom_black_list": {"conv3d"}}, "in both lists"),
        ({"custom_black_varnames": {"x"}}, "by their names"),
    ):
        with pytest.raises((NotImplementedError, ValueError), match=match):
            amp.AutoMixedPrecisionLists(**said)


def test_refusals(fluid):
    sgd = fluid.optimizer.SGD(0.1)
    with fluid.dygraph.guard(), pytest.raises(NotImplementedError, match="autocast"):
        fluid.contrib.mixed_precision.decorate(sgd)
    with pytest.raises(ValueError, match="grows by more than 1"):
        fluid.contrib.mixed_precision.decorate(sgd, incr_ratio=0.5)


def test_products_inside_of_blocks(fluid):
    x = layers.data("x", shape=[4, 4], append_batch_size=False)
    weight = layers.create_parameter([4, 4], "float32", name="w")
    total = layers.assign(x)
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
    going = layers.less_than(i, n)
    with layers.While(going).block():
        layers.assign(layers.matmul(total, weight), total)
        layers.increment(i)
        layers.less_than(i, n, cond=going)
    loss = layers.reduce_mean(total)
    fluid.contrib.mixed_precision.decorate(fluid.optimizer.SGD(0.1)).minimize(loss)
    assert "cast{dtype=f16}" in str(fluid.default_main_program())
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    before = np.array(fluid.global_scope().find_var("w").get_tensor())
    value = np.eye(4, dtype="float32")
    found, grad = exe.run(feed={"x": value}, fetch_list=[total, "w@GRAD"])
    np.testing.assert_allclose(found, np.linalg.matrix_power(before, 3), rtol=5e-3, atol=5e-3)
    assert np.isfinite(grad).all() and grad.shape == (4, 4)
