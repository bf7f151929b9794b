"""`DGCMomentumOptimizer` against NumPy, and `PipelineOptimizer`, on one machine."""

import numpy as np
import pytest

import fluvial.fluid.layers as layers

SIZE = (128, 130)


def stepped(w, grads, rate, momentum, nesterov, begin, over, sparsity, norm, l2):
    """The parameter after each step, as the paper and Fluid have it."""
    w, u, v = w.astype("float64"), np.zeros(SIZE), np.zeros(SIZE)
    found = []
    for t, g in enumerate(grads):
        g = g.astype("float64")
        if t < begin:
            g = g + l2 * w
            u = momentum * u + g
            w = w - rate * (g + momentum * u if nesterov else u)
        else:
            if norm:
                g = g * min(1.0, norm / np.sqrt((g**2).sum()))
            g = g + l2 * w
            share = 1 - sparsity[min(int((t - begin) * len(sparsity) / over), len(sparsity) - 1)]
            u = momentum * (u + g) if nesterov else momentum * u + g
            v = v + u + (g if nesterov else 0)
            k = max(int(np.float32(np.float32(share) * np.float32(w.size))), 1)
            taken = np.zeros(w.size, bool)
            taken[np.argsort(-np.abs(v).ravel(), kind="stable")[:k]] = True
            taken = taken.reshape(SIZE)
            w = w - rate * np.where(taken, v, 0)
            u, v = np.where(taken, 0, u), np.where(taken, 0, v)
        found.append(w)
    return found


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("settings", [{}, {"norm": 0.7, "l2": 0.01}])
def test_elements_wait(fluid, nesterov, settings):
    norm, l2 = settings.get("norm", 0.0), settings.get("l2", 0.0)
    rng = np.random.default_rng(0)
    first, grads = rng.normal(size=SIZE).astype("float32"), rng.normal(size=(8, *SIZE)).astype("float32") * 0.01
    g = layers.data("g", list(SIZE), append_batch_size=False)
    w = layers.create_parameter(list(SIZE), "float32", name="w", default_initializer=fluid.initializer.NumpyArrayInitializer(first))
    b = layers.create_parameter([4], "float32", name="b", default_initializer=fluid.initializer.Constant(1.0))
    loss = layers.reduce_sum(w * g) + layers.reduce_sum(b)
    options = {"regularization": fluid.regularizer.L2Decay(l2)} if l2 else {}
    if norm:
        options.update(grad_clip=fluid.clip.GradientClipByNorm(norm * 2.0), num_trainers=4)
    optimizer = fluid.optimizer.DGCMomentumOptimizer(
        0.1, 0.9, rampup_begin_step=2, rampup_step=4, sparsity=[0.5, 0.9], use_nesterov=nesterov, **options
    )
    optimizer.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    wanted = stepped(first, grads, 0.1, 0.9, nesterov, 2, 4, [0.5, 0.9], norm, l2)
    changed = []
    before = first
    for grad, value in zip(grads, wanted):
        found, other = exe.run(feed={"g": grad}, fetch_list=["w", "b"])
        np.testing.assert_allclose(found, value, rtol=2e-4, atol=2e-5)
        changed.append((found != before).mean())
        before = found
    # All elements, then half of them, then a tenth.
    assert changed[1] > 0.99 and 0.45 < changed[2] < 0.51 and 0.08 < changed[-1] < 0.11
    assert other[0] < 0.5, "a small parameter is updated in every step"


def test_a_network_trains_though_most_waits(fluid):
    x, y = layers.data("x", [64]), layers.data("y", [1])
    hidden = layers.fc(x, 300, act="tanh")
    loss = layers.mean(layers.square_error_cost(layers.fc(hidden, 1), y))
    fluid.optimizer.DGCMomentumOptimizer(0.01, 0.9, 5, 10, [0.75, 0.9375, 0.99]).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    rng = np.random.default_rng(1)
    xs = rng.normal(size=(64, 64)).astype("float32")
    losses = [exe.run(feed={"x": xs, "y": xs[:, :1]}, fetch_list=[loss])[0][0] for _ in range(60)]
    assert losses[-1] < 0.2 * losses[0]


def test_what_does_not_fit(fluid):
    make = fluid.optimizer.DGCMomentumOptimizer
    with pytest.raises(ValueError, match=r"the shares \[1.5\] of elements wait"):
        make(0.1, 0.9, 0, sparsity=[1.5])
    with pytest.raises(ValueError, match="from step -1"):
        make(0.1, 0.9, -1)
    with pytest.raises(ValueError, match="`num_trainers` is None"):
        make(0.1, 0.9, 0, grad_clip=fluid.clip.GradientClipByNorm(1.0))
    with pytest.raises(TypeError, match="use `GradientClipByNorm`"):
        make(0.1, 0.9, 0, grad_clip=fluid.clip.GradientClipByValue(1.0), num_trainers=1)
    with fluid.dygraph.guard(), pytest.raises(NotImplementedError, match="In dygraph, don't support DGCMomentumOptimizer."):
        make(0.1, 0.9, 0)


def test_a_pipeline_of_one_device(fluid):
    losses = []
    for wrap in (lambda inner: inner, fluid.optimizer.PipelineOptimizer, lambda inner: fluid.optimizer.PipelineOptimizer(inner, [["x"]], place_list=[fluid.CPUPlace()])):
        main, startup = fluid.Program(), fluid.Program()
        startup.random_seed = 3
        with fluid.program_guard(main, startup), fluid.unique_name.guard():
            x = layers.data("x", [4])
            loss = layers.mean(layers.square(layers.fc(x, 3)))
            wrap(fluid.optimizer.Momentum(0.1, 0.9)).minimize(loss)
        with fluid.scope_guard(fluid.Scope()):
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            losses.append([exe.run(main, feed={"x": np.ones((2, 4), "float32")}, fetch_list=[loss])[0][0] for _ in range(4)])
    assert losses[0] == losses[1] == losses[2] and losses[0][-1] < losses[0][0]
    with pytest.raises(NotImplementedError, match="4 parts of a batch are not under way at a time"):
        fluid.optimizer.PipelineOptimizer(fluid.optimizer.SGD(0.1), num_microbatches=4)
